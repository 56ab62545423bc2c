"""Whether what is published still is what was published: digests of files, names of revisions, histories."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from lessonpress.core import canonical_json
from lessonpress.core.errors import LessonError, escape_invisible
from lessonpress.publishing import signatures
from lessonpress.revision import bundle, history, identity, packed
from lessonpress.revision.history import TAKE_BACK, Event, History
from lessonpress.web.page import volatile

NAME = re.compile(r"[0-9a-f]{16}")
FOLDER = re.compile(r"models/[^/]+/[0-9a-f]{16}(?:\.tar\.xz)?(?=/|$)")
ARCHIVE = re.compile(rf"[0-9a-f]{{16}}{re.escape(packed.SUFFIX)}|{packed.SHARED.pattern}")
LEFTOVER = re.compile(r"\..*\.tmp-\d+")
SHOWN_NAMES = 3  # files of a folder that are named in its line
PAGES = re.compile(rf"index\.html|revisions\.html|[0-9a-f]{{16}}\.html|{re.escape(history.FILE)}")
NOT_BUNDLED = bundle.NOT_BUNDLED | {"preview.svg", "graph.tensorviz.json"}  # by this or an older lessonpress
MISSING, CHANGED, EXTRA = "the file is missing", "its bytes are not the published ones", "no file of this revision"
SUMS = "SHA256SUMS"
# What reading a damaged document raises.
READ_ERRORS = (ValueError, KeyError, IndexError, TypeError, AttributeError)
CORE = ("identity.json", "manifest.json", SUMS, "bundle.zip")


# A document of the published site before it is checked: anybody may have written anything into it.
Unchecked: TypeAlias = Any


@dataclass(frozen=True)
class Fault:
    """One thing in the published site that is not as it was published, and how to mend it.

    Anybody may have named a file, so every part is made safe to print on a terminal and in a report.
    """

    where: str  # a path below results/
    what: str
    mend: str

    def __post_init__(self) -> None:
        for part, text in vars(self).copy().items():
            object.__setattr__(self, part, escape_invisible(text).replace("\n", "\\n"))

    def words(self) -> str:
        """The fault in a line."""
        return f"{self.where}: {self.what}. {self.mend}"


@contextmanager
def explain_damage(*folders: Path) -> Iterator[None]:
    """While published revisions are read, report an error that comes from a changed folder as that change.

    Raises LessonError for a changed folder; an error that no folder explains is raised as it is.
    """
    try:
        yield
    except READ_ERRORS:
        for folder in folders:
            require_whole(folder)
        raise


def require_whole(folder: Path) -> None:
    """Make sure that a published folder is as it was published. Raises LessonError where somebody has changed it."""
    faults = find_revision_faults(folder, folder.parent.name)
    if faults:
        changed = f"this published revision was changed: {faults[0].where}: {faults[0].what}"
        raise LessonError(os.path.relpath(folder), changed, "the bytes that were published",
                          f"{TAKE_BACK} Or delete the folder and run again.") from None  # fmt: skip


def group_faults(faults: Sequence[Fault]) -> list[Fault]:
    """The faults for people to read: all faults of one revision folder become one, which names its first files."""
    groups: dict[str, list[Fault]] = {}
    for fault in faults:
        folder = FOLDER.match(fault.where)
        groups.setdefault(folder[0] if folder else f"{fault.where}\n{fault.what}", []).append(fault)
    return [group[0] if len(group) == 1 else _merge_faults(where, group) for where, group in groups.items()]


def _merge_faults(folder: str, faults: Sequence[Fault]) -> Fault:
    names_by_fault: dict[str, list[str]] = {}
    for fault in faults:
        name = [fault.where[len(folder) + 1 :]] if fault.where != folder else []
        names_by_fault.setdefault(fault.what, []).extend(name)
    words = "; ".join(f"{what} ({_list_names(names)})" if names else what for what, names in names_by_fault.items())
    return Fault(folder, words, " ".join(dict.fromkeys(fault.mend for fault in faults)))


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more


def find_lesson_faults(models: Path, slug: str) -> list[Fault]:
    """Every fault of a lesson's folder: of its history and of all revisions, not only of the current one."""
    folder = models / slug
    at = f"models/{slug}"
    faults = list(_find_strange_files(folder, at))
    try:
        events = history.read_history(folder, slug)
    except LessonError as error:
        events = history.start_history(slug)
        faults.append(Fault(f"{at}/{history.FILE}", error.seen, error.fix))
    faults += _find_history_faults(folder, events, at)
    for revision in list_revisions(folder):
        faults += find_revision_faults(folder / revision, slug)
    return faults


def list_revisions(folder: Path) -> list[str]:
    """The names of all revisions of a lesson, plain or packed, sorted."""
    return packed.list_revisions(folder)


def _find_strange_files(folder: Path, at: str) -> Iterator[Fault]:
    """Links, leftovers, and whatever else lessonpress does not put into a lesson's folder."""
    for path in (folder, *sorted(folder.iterdir())):
        if path.is_symlink():
            name = at if path == folder else f"{at}/{path.name}"
            yield Fault(name, "a link, which leads outside the published site", "Replace it by what it leads to.")
        elif path == folder:
            continue
        elif LEFTOVER.fullmatch(path.name):
            yield Fault(f"{at}/{path.name}", "a publisher that was killed left this",
                        "The next publication removes it.")  # fmt: skip
        elif path.is_file() and (signatures.FILE.fullmatch(path.name) or ARCHIVE.fullmatch(path.name)):
            continue
        elif not ((PAGES.fullmatch(path.name) and path.is_file()) or (NAME.fullmatch(path.name) and path.is_dir())):
            yield Fault(f"{at}/{path.name}", "no published file has this name", "Delete it.")


def _find_history_faults(folder: Path, lesson_history: History, at: str) -> Iterator[Fault]:
    """Faults of a history: what it names must be there, and what is there must be named."""
    file, named = f"{at}/{history.FILE}", [event["revision"] for event in lesson_history["revisions"]]
    present = list_revisions(folder)
    if (folder / history.FILE).is_file():
        if lesson_history["slug"] != folder.name:
            yield Fault(file, f"it is the history of {lesson_history['slug']!r}", TAKE_BACK)
        # The earliest histories have no seal.
        valid = (history.serialise(lesson_history).encode(), canonical_json.pretty(lesson_history).encode())
        if (folder / history.FILE).read_bytes() not in valid:
            yield Fault(file, "it was edited by hand: its seal does not fit",
                        f"{TAKE_BACK} Outside git: lessonpress doctor --accept {folder.name}")  # fmt: skip
        yield from _find_event_faults(lesson_history, file)
        for fault in history.find_faults(lesson_history):
            yield Fault(file, fault, f"{TAKE_BACK} Or pin the revision that is meant.")
    elif present:
        yield Fault(file, "the history is lost, though revisions are here",
                    f"{TAKE_BACK} Outside git: lessonpress doctor --rebuild {folder.name}")  # fmt: skip
        return
    for revision in sorted(set(named) - set(present)):
        yield Fault(f"{at}/{revision}", "the history names this revision, but its folder is gone", TAKE_BACK)
    for revision in sorted(set(present) - set(named)):
        yield Fault(f"{at}/{revision}", "the history does not name this revision",
                    f"{TAKE_BACK} Or delete it if it is in no commit.")  # fmt: skip
    for event in lesson_history["revisions"]:
        yield from _find_date_fault(folder, event, file)


def _find_event_faults(lesson_history: History, file: str) -> Iterator[Fault]:
    for number, event in enumerate(lesson_history["revisions"]):
        strange = sorted(event.keys() - history.Event.__annotations__.keys())
        if strange:
            yield Fault(file, f"event {number + 1} is not as lessonpress writes it ({', '.join(strange)})", TAKE_BACK)


def _find_date_fault(folder: Path, event: Event, file: str) -> Iterator[Fault]:
    """No revision was published before it ran, as its manifest says."""
    try:
        place = packed.open_revision(folder / event["revision"])
        at = canonical_json.read(place / "manifest.json")["provenance"]["capturedAt"]
    except (OSError, ValueError, KeyError, TypeError, LessonError):
        return  # the folder's own faults say what is wrong with it
    if not isinstance(at, str) or event["publishedAt"] < at:
        remade = f"revision {event['revision']} ran at {at}, but was published at {event['publishedAt']}"
        yield Fault(file, f"{remade}: its folder was made again, or the date was edited",
                    f"{TAKE_BACK} Where no commit holds them, "
                    f"`lessonpress doctor --accept {folder.name}` dates the event by the folder.")  # fmt: skip


def find_revision_faults(folder: Path, slug: str) -> list[Fault]:
    """Every fault of one revision folder: changed, missing and extra files, or a name that does not fit its content."""
    at = f"models/{slug}/{folder.name}"
    if not folder.is_dir() and packed.exists(folder):
        return _find_archive_faults(folder, slug, at)
    special = [path for path in folder.rglob("*") if path.is_symlink() or not (path.is_file() or path.is_dir())]
    if special:
        names = [path.relative_to(folder).as_posix() for path in special]
        return [Fault(f"{at}/{name}", "not a plain file", TAKE_BACK) for name in names]
    empty = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*"))
             if path.is_dir() and not any(path.iterdir())]  # fmt: skip
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
    faults = [*find_file_faults(files, slug, folder.name), *((name, EXTRA) for name in empty)]
    return [Fault(f"{at}/{name}" if name else at, what, _choose_remedy(what)) for name, what in faults]


def _find_archive_faults(place: Path, slug: str, at: str) -> list[Fault]:
    """Every fault of a packed revision, as of a folder."""
    try:
        files = packed.read_files(place)
    except LessonError as error:
        return [Fault(at + packed.SUFFIX, error.seen, error.fix)]
    return [Fault(f"{at}{packed.SUFFIX}/{name}" if name else at + packed.SUFFIX, what, TAKE_BACK)
            for name, what in find_file_faults(files, slug, place.name)]  # fmt: skip


def _choose_remedy(what: str) -> str:
    return "Delete it." if what == EXTRA else TAKE_BACK


def find_file_faults(files: Mapping[str, bytes], slug: str, revision: str) -> Iterator[tuple[str, str]]:
    """What is wrong with a revision's files, as (file name, words); the empty name is the folder itself."""
    faults = list(_find_all_file_faults(files, slug, revision))
    first_by_name = dict(reversed(faults))  # of several faults of one file the first says most
    yield from sorted(first_by_name.items())


def _find_all_file_faults(files: Mapping[str, bytes], slug: str, revision: str) -> Iterator[tuple[str, str]]:
    missing = [name for name in CORE if name not in files]
    yield from ((name, MISSING) for name in missing)
    digests = {name: canonical_json.digest(data) for name, data in files.items()}
    identity_file, manifest = (_parse_json(files.get(name, b"{}")) for name in ("identity.json", "manifest.json"))
    confirmed = _list_confirmed_digests(identity_file, manifest)
    extra = set()
    for name, what in compare_sums(files[SUMS], digests) if SUMS in files else ():
        fault = _attribute_fault(name, what, digests, confirmed)
        extra |= {name} if fault == (name, EXTRA) else set()
        yield fault
    own = {name: data for name, data in files.items() if name not in extra}
    try:
        yield from _find_name_faults(own, digests, identity_file, manifest, slug, revision)
    except (ValueError, KeyError, TypeError, AttributeError):
        yield "", "identity.json or manifest.json cannot be read"
    if "bundle.zip" in own and not missing:
        yield from _find_bundle_fault(own, slug, revision)


def _parse_json(data: bytes) -> Unchecked:
    try:
        return canonical_json.loads(data)
    except ValueError:
        return None


def _list_confirmed_digests(identity_file: Unchecked, manifest: Unchecked) -> dict[str, str]:
    """The digests by file name in identity.json and manifest.json; an empty one for files that depend on all others."""
    try:
        listed = {name: str(file["sha256"]) for name, file in manifest["files"].items()}
        return {**dict.fromkeys(identity.DERIVED, ""), **identity_file["files"], **listed}
    except (KeyError, TypeError, AttributeError):
        return {}


def _attribute_fault(
    name: str, what: str, digests: Mapping[str, str], confirmed: Mapping[str, str]
) -> tuple[str, str]:  # fmt: skip
    """A fault that SHA256SUMS reports is its own fault where identity and manifest contradict it."""
    if what == CHANGED and confirmed.get(name) == digests[name]:
        return SUMS, f"it gives another digest of {name} than the manifest"
    if what == EXTRA and name in confirmed:
        return SUMS, f"it does not list {name}"
    if what == MISSING and confirmed and name not in confirmed:
        return SUMS, f"it lists {name}, which is no file of this revision"
    return name, what


def compare_sums(sums: bytes, digests: Mapping[str, str]) -> list[tuple[str, str]]:
    """How the files beside SHA256SUMS differ from what it lists: all of them but itself and the zip."""
    listed = _read_sums(sums)
    if listed is None:
        return [(SUMS, "it is not a list of digests")]
    here = {name: digest for name, digest in digests.items() if name not in bundle.NOT_SUMMED}
    return [
        *((name, MISSING) for name in listed if name not in here),
        *((name, CHANGED) for name, digest in here.items() if listed.get(name, digest) != digest),
        *((name, EXTRA) for name in here if name not in listed),
    ]


def _read_sums(sums: bytes) -> dict[str, str] | None:
    """The digests by file name in SHA256SUMS, or None when its bytes are not in the form in which it is written."""
    try:
        lines = [line.split("  ", 1) for line in sums.decode("utf-8").splitlines()]
        listed = {name: digest for digest, name in lines}
    except ValueError:
        return None
    written = "".join(f"{digest}  {name}\n" for name, digest in sorted(listed.items()))
    return listed if written.encode() == sums else None


def _find_name_faults(
    files: Mapping[str, bytes], digests: Mapping[str, str], identity_file: Unchecked, manifest: Unchecked,
    slug: str, revision: str,
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """The identity must give the folder's name and hold every visible file; the manifest must agree with it."""
    if "identity.json" in files:
        made = digests["identity.json"][: len(revision)]
        if made != revision:
            yield "identity.json", f"it gives revision {made}, not the folder's name"
        yield from _find_identity_faults(files, digests, identity_file, revision)
    if "manifest.json" in files:
        for key, expected in (("slug", slug), ("revision", revision)):
            if manifest.get(key) != expected:
                yield "manifest.json", f"it says {key} {manifest.get(key)!r}"
        for name, file in manifest.get("files", {}).items():
            if name not in files:
                yield name, "the manifest lists this file, but it is missing"
            elif (file["sha256"], file["bytes"]) != (digests[name], len(files[name])):
                yield name, "the manifest gives another digest or size"


def _find_identity_faults(
    files: Mapping[str, bytes], digests: Mapping[str, str], identity_file: Unchecked, revision: str
) -> Iterator[tuple[str, str]]:
    for name, digest in identity_file["files"].items():
        if name not in files:
            yield name, "the identity names this file, but it is missing"
        elif digest != (_digest_page(files[name], revision) if name == "index.html" else digests[name]):
            yield name, "the identity gives another digest"
    yield from ((name, "the identity does not name this file") for name in files
                if name not in identity_file["files"] and name not in identity.DERIVED)  # fmt: skip


def _digest_page(data: bytes, revision: str) -> str:
    """The digest of a page as the identity holds it: without the revision's name and the volatile parts."""
    return canonical_json.digest(volatile.blank_page(data.decode("utf-8", "replace"), revision))


def _find_bundle_fault(files: Mapping[str, bytes], slug: str, revision: str) -> Iterator[tuple[str, str]]:
    """The bundle must be, byte for byte, what the folder's files make; earlier versions left out two files more."""
    folder = f"{slug}-{revision}"
    try:
        with zipfile.ZipFile(io.BytesIO(files["bundle.zip"])) as archive:
            bundled = {name.removeprefix(f"{folder}/"): archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, ValueError, IndexError):
        yield "bundle.zip", f"{CHANGED} (it cannot be unpacked)"
        return
    other = sorted(name for name in bundled if bundled[name] != files.get(name))
    missing = sorted(set(files) - set(bundled) - NOT_BUNDLED)
    if other or missing:
        yield "bundle.zip", f"it does not hold the files of this folder ({', '.join([*other, *missing][:3])})"
    elif bundle.zip_folder(bundled, folder) != files["bundle.zip"]:
        yield "bundle.zip", CHANGED
