"""Whether what is published is what was published: every file's digest, every revision's name, every history."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lessonpress.core import canonical_json
from lessonpress.core.errors import LessonError, visible
from lessonpress.revision import bundle, history, identity
from lessonpress.revision.history import History
from lessonpress.web.page import volatile

NAME = re.compile(r"[0-9a-f]{16}")
FOLDER = re.compile(r"models/[^/]+/[0-9a-f]{16}(?=/|$)")
LEFTOVER = re.compile(r"\..*\.tmp-\d+")
NAMED = 3  # files of a folder that are named in its line
PAGES = frozenset({"index.html", history.FILE})
LEFT_OUT = bundle.NOT_BUNDLED | {"preview.svg", "graph.tensorviz.json"}  # by this or an older lessonpress
MISSING, CHANGED, EXTRA = "the file is missing", "its bytes are not the published ones", "no file of this revision"
SUMS = "SHA256SUMS"
# What is raised where a document is read that is damaged.
READ_ERRORS = (ValueError, KeyError, IndexError, TypeError, AttributeError)
CORE = ("identity.json", "manifest.json", SUMS, "bundle.zip")


@dataclass(frozen=True)
class Fault:
    """One thing in the published site that is not as it was published, and what mends it.

    Names of files are anybody's, so every part is text that may go to a terminal and into a report.
    """

    where: str  # a path below results/
    what: str
    mend: str

    def __post_init__(self) -> None:
        for part, text in vars(self).copy().items():
            object.__setattr__(self, part, visible(text).replace("\n", "\\n"))

    def words(self) -> str:
        """The fault in a line."""
        return f"{self.where}: {self.what}. {self.mend}"


@contextmanager
def explain_damage(*folders: Path) -> Iterator[None]:
    """Read published revisions: what cannot be read because somebody has changed one is told as that.

    Raises LessonError for a changed folder; an error that no folder explains stays as it is.
    """
    try:
        yield
    except READ_ERRORS:
        for folder in folders:
            require_whole(folder)
        raise


def require_whole(folder: Path) -> None:
    """A published folder is as it was published. Raises LessonError where somebody has changed it."""
    found = find_revision_faults(folder, folder.parent.name)
    if found:
        changed = f"this published revision was changed: {found[0].where}: {found[0].what}"
        raise LessonError(os.path.relpath(folder), changed, "the bytes that were published",
                          "Take the folder back from git, or delete it and run again.") from None  # fmt: skip


def group_faults(faults: Sequence[Fault]) -> list[Fault]:
    """The faults with those of one revision folder made one, which names its first files; for people to read."""
    groups: dict[str, list[Fault]] = {}
    for fault in faults:
        folder = FOLDER.match(fault.where)
        groups.setdefault(folder[0] if folder else f"{fault.where}\n{fault.what}", []).append(fault)
    return [found[0] if len(found) == 1 else _one(where, found) for where, found in groups.items()]


def _one(folder: str, faults: Sequence[Fault]) -> Fault:
    told: dict[str, list[str]] = {}
    for fault in faults:
        told.setdefault(fault.what, []).extend([fault.where[len(folder) + 1 :]] if fault.where != folder else [])
    words = "; ".join(f"{what} ({_some(names)})" if names else what for what, names in told.items())
    return Fault(folder, words, " ".join(dict.fromkeys(fault.mend for fault in faults)))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def find_lesson_faults(models: Path, slug: str) -> list[Fault]:
    """Every fault of a lesson's folder: its history and all of its revisions, not only the current one."""
    folder = models / slug
    at = f"models/{slug}"
    found = list(_strays(folder, at))
    try:
        told = history.read_history(folder, slug)
    except LessonError as error:
        told = history.start_history(slug)
        found.append(Fault(f"{at}/{history.FILE}", error.seen, error.fix))
    found += _history(folder, told, at)
    for revision in list_revisions(folder):
        found += find_revision_faults(folder / revision, slug)
    return found


def list_revisions(folder: Path) -> list[str]:
    """The names of all revision folders of a lesson, sorted."""
    return sorted(path.name for path in folder.glob("*") if path.is_dir() and NAME.fullmatch(path.name))


def _strays(folder: Path, at: str) -> Iterator[Fault]:
    for path in (folder, *sorted(folder.iterdir())):
        if path.is_symlink():
            name = at if path == folder else f"{at}/{path.name}"
            yield Fault(name, "a link, which leads where nobody publishes", "Put in its place what it leads to.")
        elif path == folder:
            continue
        elif LEFTOVER.fullmatch(path.name):
            yield Fault(
                f"{at}/{path.name}", "a publisher that was killed left this", "The next publication removes it."
            )
        elif not ((path.name in PAGES and path.is_file()) or (NAME.fullmatch(path.name) and path.is_dir())):
            yield Fault(f"{at}/{path.name}", "nothing that is published has this name", "Delete it.")


def _history(folder: Path, told: History, at: str) -> Iterator[Fault]:
    """Faults of a history: what it names must be there, and what is there must be named."""
    file, named = f"{at}/{history.FILE}", [event["revision"] for event in told["revisions"]]
    present = list_revisions(folder)
    if (folder / history.FILE).is_file():
        if told["slug"] != folder.name:
            yield Fault(file, f"it is the history of {told['slug']!r}", "Take the file back from git.")
        # The earliest histories have no seal.
        known = (history.serialise(told).encode(), canonical_json.pretty(told).encode())
        if (folder / history.FILE).read_bytes() not in known:
            yield Fault(
                file,
                "it was edited by hand: its seal does not fit",
                f"Take the file back from git; after a merge: lessonpress doctor --accept {folder.name}.",
            )
        yield from _events(told, file)
        for fault in history.find_faults(told):
            yield Fault(file, fault, "Take the file back from git, or pin the revision that is meant.")
    for revision in sorted(set(named) - set(present)):
        yield Fault(f"{at}/{revision}", "the history names this revision, but its folder is gone",
                    "Take the folder back from git.")  # fmt: skip
    for revision in sorted(set(present) - set(named)):
        yield Fault(f"{at}/{revision}", "the history does not name this revision",
                    "Publish again (a publisher was stopped), or delete it if it is in no commit.")  # fmt: skip
    for event in told["revisions"]:
        yield from _dated(folder, event, file)


def _events(told: Mapping[str, Any], file: str) -> Iterator[Fault]:
    for number, event in enumerate(told["revisions"]):
        strange = sorted(event.keys() - {"revision", "publishedAt", "reasons", "note"})
        if strange:
            yield Fault(file, f"event {number + 1} is not as lessonpress writes it ({', '.join(strange)})",
                        "Take the file back from git.")  # fmt: skip


def _dated(folder: Path, event: Mapping[str, Any], file: str) -> Iterator[Fault]:
    """An event tells the moment that its revision's manifest tells."""
    try:
        at = canonical_json.read(folder / event["revision"] / "manifest.json")["provenance"]["capturedAt"]
    except (OSError, ValueError, KeyError, TypeError):
        return  # the folder's own faults say what is wrong with it
    if event.get("publishedAt") != at:
        remade = f"revision {event['revision']} was made at {at}, but published at {event.get('publishedAt')}"
        yield Fault(file, f"{remade}: its folder was made again, or the date was edited",
                    "Take the folder and this file back from git; where no commit holds them, "
                    f"`lessonpress doctor --accept {folder.name}` dates the event by the folder.")  # fmt: skip


def find_revision_faults(folder: Path, slug: str) -> list[Fault]:
    """Every fault of one revision folder: a changed, missing or extra file, or a name that is not its content's."""
    at = f"models/{slug}/{folder.name}"
    odd = [path for path in folder.rglob("*") if path.is_symlink() or not (path.is_file() or path.is_dir())]
    if odd:
        names = [path.relative_to(folder).as_posix() for path in odd]
        return [Fault(f"{at}/{name}", "no plain file", "Take the folder back from git.") for name in names]
    empty = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*"))
             if path.is_dir() and not any(path.iterdir())]  # fmt: skip
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
    found = [*find_file_faults(files, slug, folder.name), *((name, EXTRA) for name in empty)]
    return [Fault(f"{at}/{name}" if name else at, what, _mended(what)) for name, what in found]


def _mended(what: str) -> str:
    return "Delete it." if what == EXTRA else "Take the folder back from git."


def find_file_faults(files: Mapping[str, bytes], slug: str, revision: str) -> Iterator[tuple[str, str]]:
    """What is wrong with a revision's files, as (file name, words); the empty name is the folder itself."""
    told = dict(reversed(list(_faults(files, slug, revision))))  # of several faults of one file the first says most
    yield from sorted(told.items())


def _faults(files: Mapping[str, bytes], slug: str, revision: str) -> Iterator[tuple[str, str]]:
    missing = [name for name in CORE if name not in files]
    yield from ((name, MISSING) for name in missing)
    digests = {name: canonical_json.digest(data) for name, data in files.items()}
    told = [_document(files.get(name, b"{}")) for name in ("identity.json", "manifest.json")]
    vouched = _vouched(*told)
    extra = set()
    for name, what in compare_sums(files[SUMS], digests) if SUMS in files else ():
        fault = _attributed(name, what, digests, vouched)
        extra |= {name} if fault == (name, EXTRA) else set()
        yield fault
    own = {name: data for name, data in files.items() if name not in extra}
    try:
        yield from _named(own, digests, told[0], told[1], slug, revision)
    except (ValueError, KeyError, TypeError, AttributeError):
        yield "", "identity.json or manifest.json cannot be read"
    if "bundle.zip" in own and not missing:
        yield from _bundled(own, slug, revision)


def _document(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


def _vouched(told: Any, says: Any) -> dict[str, str]:
    """The digests by file name that identity.json and manifest.json hold; none for a file that hangs on all others."""
    try:
        listed = {name: str(file["sha256"]) for name, file in says["files"].items()}
        return {**dict.fromkeys(identity.DERIVED, ""), **told["files"], **listed}
    except (KeyError, TypeError, AttributeError):
        return {}


def _attributed(name: str, what: str, digests: Mapping[str, str], vouched: Mapping[str, str]) -> tuple[str, str]:
    """A fault that SHA256SUMS finds is its own where identity and manifest say otherwise."""
    if what == CHANGED and vouched.get(name) == digests[name]:
        return SUMS, f"it gives another digest of {name} than the manifest"
    if what == EXTRA and name in vouched:
        return SUMS, f"it does not list {name}"
    if what == MISSING and vouched and name not in vouched:
        return SUMS, f"it lists {name}, which is no file of this revision"
    return name, what


def compare_sums(sums: bytes, digests: Mapping[str, str]) -> list[tuple[str, str]]:
    """What SHA256SUMS finds wrong with the digests of the files beside it; it lists all but itself and the zip."""
    listed = _listed(sums)
    if listed is None:
        return [(SUMS, "this is no list of digests")]
    here = {name: digest for name, digest in digests.items() if name not in bundle.NOT_SUMMED}
    return [
        *((name, MISSING) for name in listed if name not in here),
        *((name, CHANGED) for name, digest in here.items() if listed.get(name, digest) != digest),
        *((name, EXTRA) for name in here if name not in listed),
    ]


def _listed(sums: bytes) -> dict[str, str] | None:
    """The digests by file name that SHA256SUMS holds, or None when its bytes are not what it would be written as."""
    try:
        lines = [line.split("  ", 1) for line in sums.decode("utf-8").splitlines()]
        listed = {name: digest for digest, name in lines}
    except ValueError:
        return None
    written = "".join(f"{digest}  {name}\n" for name, digest in sorted(listed.items()))
    return listed if written.encode() == sums else None


def _named(
    files: Mapping[str, bytes], digests: Mapping[str, str], is_: Mapping[str, Any], says: Mapping[str, Any],
    slug: str, revision: str,
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """The identity gives the folder's name and holds every visible file; the manifest says the same."""
    if "identity.json" in files:
        made = digests["identity.json"][: len(revision)]
        if made != revision:
            yield "identity.json", f"it gives revision {made}, not the folder's name"
        yield from _identified(files, digests, is_, revision)
    if "manifest.json" in files:
        for key, expected in (("slug", slug), ("revision", revision)):
            if says.get(key) != expected:
                yield "manifest.json", f"it says {key} {says.get(key)!r}"
        for name, told in says.get("files", {}).items():
            if name not in files:
                yield name, "the manifest lists this file, but it is missing"
            elif (told["sha256"], told["bytes"]) != (digests[name], len(files[name])):
                yield name, "the manifest gives another digest or size"


def _identified(
    files: Mapping[str, bytes], digests: Mapping[str, str], told: Mapping[str, Any], revision: str
) -> Iterator[tuple[str, str]]:
    for name, digest in told["files"].items():
        if name not in files:
            yield name, "the identity names this file, but it is missing"
        elif digest != (_blanked(files[name], revision) if name == "index.html" else digests[name]):
            yield name, "the identity gives another digest"
    yield from ((name, "the identity does not name this file") for name in files
                if name not in told["files"] and name not in identity.DERIVED)  # fmt: skip


def _blanked(data: bytes, revision: str) -> str:
    """The digest with which the page enters the identity: without its name and its volatile parts."""
    return canonical_json.digest(volatile.blank_page(data.decode("utf-8", "replace"), revision))


def _bundled(files: Mapping[str, bytes], slug: str, revision: str) -> Iterator[tuple[str, str]]:
    """The bundle must be, byte for byte, what the folder's files make; which of them it leaves out has changed once."""
    folder = f"{slug}-{revision}"
    try:
        with zipfile.ZipFile(io.BytesIO(files["bundle.zip"])) as archive:
            held = {name.removeprefix(f"{folder}/"): archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, ValueError, IndexError):
        yield "bundle.zip", f"{CHANGED} (it cannot be unpacked)"
        return
    other = sorted(name for name in held if held[name] != files.get(name))
    lacking = sorted(set(files) - set(held) - LEFT_OUT)
    if other or lacking:
        yield "bundle.zip", f"it does not hold the files of this folder ({', '.join([*other, *lacking][:3])})"
    elif bundle.zip_folder(held, folder) != files["bundle.zip"]:
        yield "bundle.zip", CHANGED
