"""What Snakemake needs to know at parse time: which code each stage runs, and which lessons are due.

Fast, and with no imports that Snakemake has not made: this is read on every run, also when there is nothing to do.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lessonpress import canon, shipped
from lessonpress.errors import LessonError
from lessonpress.settings import Config

Seen = list[list[Any]]  # path, size and time of change of each file
PACKAGE = Path(__file__).parent
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
LESSON = ("documents", "errors", "lesson", "places", "recipe", "settings", "wording")
CONFINED = ("canon", "capture", "failures", "supervise/*", "worker/*")
RENDERED = (
    *LESSON, "bundle", "canon", "config", "graph", "identity", "layout/*", "manifest", "operations/*", "page/*",
    "picture", "plan", "prepared", "prose", "provenance", "render", "replay", "schema", "shipped", "stages",
    "weights", "worker/*", "templates/*",
)  # fmt: skip
# Templates of files that a person goes on to edit: what changes in them changes no page.
STARTERS = ("init", "new")
# The rooms that each verb runs, directly or not; a test holds this against the imports.
ROOMS: Mapping[str, tuple[str, ...]] = {
    "hash": (*LESSON, "canon", "hashing", "plan", "prepared", "specs", "weights"),
    "execute": (*LESSON, *CONFINED, "execute"),
    "record": (*LESSON, *CONFINED, "axes", "judging", "record"),
    "check": (*LESSON, *CONFINED, "judging", "check"),
    "render": RENDERED,
    # Where only numbers differ, publish records and renders once more.
    "publish": (*RENDERED, "axes", "capture", "changes", "comparison", "failures", "history", "integrity", "judging",
                "lock", "packages", "publish", "published", "record", "standing", "supervise/*", "syntax"),
    "site": (*LESSON, "bundle", "canon", "config", "history", "identity", "integrity", "layout/*", "lock",
             "operations/*", "page/*", "prose", "replay", "shipped", "site", "stages", "worker/*", "templates/*"),
}  # fmt: skip


def settings(given: Mapping[str, Any]) -> Config:
    """Snakemake's configuration as our settings; `note` belongs to the run and is no setting.

    Raises LessonError at the line of config.yaml that is wrong.
    """
    try:
        return Config.model_validate({key: value for key, value in given.items() if key != "note"})
    except ValidationError as error:
        # Only now: the YAML reader with its line numbers costs as much as all the rest of this module.
        importlib.import_module("lessonpress.config").read()
        raise LessonError("snakemake --config", " ".join(str(error).split())) from None


def put_python_first() -> None:
    """Let `python` in a rule's shell command be the interpreter that runs Snakemake, whatever its folder is called."""
    here = str(Path(sys.executable).parent)
    paths = os.environ.get("PATH", "").split(os.pathsep)
    if paths[0] != here:
        os.environ["PATH"] = os.pathsep.join([here, *paths])


def pass_settings(chosen: Config) -> None:
    """Hand the settings to the verbs by the environment: what Snakemake has validated need not be read again."""
    os.environ["LESSONPRESS_SETTINGS"] = chosen.model_dump_json()


def pass_note(given: Mapping[str, Any]) -> None:
    """Hand `--config note=…` to the verb by the environment; as a parameter of its rule it would make the rule run."""
    if given.get("note") is not None:
        os.environ["LESSONPRESS_NOTE"] = str(given["note"])


def files(stage: str) -> list[Path]:
    """The files whose content decides what a stage's verb does."""
    out: list[Path] = []
    for room in ROOMS[stage]:
        if room == "templates/*":
            out += _templates()
        elif room.endswith("/*"):
            out += [path for path in (PACKAGE / room[:-2]).rglob("*") if path.suffix in (".py", ".js")]
        else:
            out.append(PACKAGE / f"{room}.py")
    return sorted(out)


def _templates() -> list[Path]:
    folder = shipped.path("templates")
    return [path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder).parts[0] not in STARTERS]


def digest(stage: str) -> str:
    """The SHA-256 of a stage's code; the same for an installed lessonpress and one that runs from its sources."""
    return digests()[stage]


def digests() -> dict[str, str]:
    """The SHA-256 of every stage's code."""
    return _digests(PACKAGE)


@functools.cache
def _digests(package: Path) -> dict[str, str]:
    known: dict[Path, bytes] = {}
    out = {}
    for stage in ROOMS:
        whole, named = hashlib.sha256(), {_name(path): path for path in files(stage)}
        for name, path in sorted(named.items()):
            if path not in known:
                known[path] = hashlib.sha256(path.read_bytes()).digest()
            whole.update(name.encode() + b"\0" + known[path])
        out[stage] = whole.hexdigest()
    return out


def code() -> str:
    """One digest of all that takes a lesson from its source to its published revision."""
    told = "".join(f"{stage} {value}\n" for stage, value in digests().items() if stage != "site")
    return hashlib.sha256(told.encode()).hexdigest()


def _name(path: Path) -> str:
    """A file's name inside the package, in which an installed lessonpress carries its templates."""
    templates = shipped.path("templates")
    inside = Path("templates") / path.relative_to(templates) if templates in path.parents else path.relative_to(PACKAGE)
    return inside.as_posix()


def note_code(work: Path) -> None:
    """Keep a stage's digest in `work/code/<stage>.sha256`; a file changes only when the code did.

    As an input of a rule it makes Snakemake run the rule again. (A `params:` entry would do the same, but makes every
    Snakemake run import pandas.)
    """
    (work / "code").mkdir(parents=True, exist_ok=True)
    for stage, value in {**digests(), "all": code()}.items():
        path, text = work / "code" / f"{stage}.sha256", value + "\n"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def ask_again(work: Path) -> None:
    """Make `work/code/asked` another file, so that what has it as an input is done whenever Snakemake needs it."""
    (work / "code" / "asked").write_text(f"{time.time_ns()}\n", encoding="utf-8")


def due(slugs: Sequence[str], chosen: Config, *, dry: bool = False) -> list[str]:
    """The lessons whose published revision is not what their source and our code give now; `dry` notes no times."""
    now = code()
    return [slug for slug in slugs if not _stands(slug, chosen, now, dry)]


def _stands(slug: str, chosen: Config, now: str, dry: bool) -> bool:
    """Whether a lesson was produced from this source by this code, and is published as it was produced."""
    room, folder = Path(chosen.work) / slug, Path(chosen.results) / "models" / slug
    made, receipt = _told(room / "made.json"), _told(room / "published.json")
    if made.get("code") != now or not receipt:
        return False
    if (room / "published.json").stat().st_mtime_ns < (room / "made.json").stat().st_mtime_ns:
        return False
    # A receipt outlives what it stands for when `results/` is deleted or rolled back.
    revision = str(receipt.get("revision"))
    if not (folder / revision).is_dir() or revision != _latest(folder / "revisions.json"):
        return False
    now_seen = seen(Path(chosen.lessons) / slug)
    return bool(made.get("seen") == now_seen or _only_touched(room, Path(chosen.lessons) / slug, made, now_seen, dry))


def _only_touched(room: Path, lesson: Path, made: dict[str, Any], now_seen: Seen, dry: bool) -> bool:
    """Whether files have other times and the same bytes; then the times are noted, for the next look."""
    kept = {file["path"]: file["sha256"] for file in _told(room / "source.json").get("files", ())}
    if not made.get("seen") or kept.keys() != {path for path, _, _ in now_seen}:
        return False
    try:
        if any(hashlib.sha256((lesson / path).read_bytes()).hexdigest() != sha for path, sha in kept.items()):
            return False
    except FileNotFoundError:  # gone since it was listed
        return False
    if dry:
        return True
    record = room / "made.json"
    times = record.stat()
    beside = record.with_name(f".made.json.tmp-{os.getpid()}")
    beside.write_text(json.dumps({**made, "seen": now_seen}), encoding="utf-8")
    os.utime(beside, ns=(times.st_atime_ns, times.st_mtime_ns))
    beside.replace(record)
    return True


def drop_stale_pages(work: Path, results: Path, about: Mapping[str, Any]) -> None:
    """Remove the receipt of the pages around the lessons where these are to be made again."""
    if stale_pages(work, results, about):
        (work / "site.json").unlink()


def stale_pages(work: Path, results: Path, about: Mapping[str, Any]) -> bool:
    """Whether the pages around the lessons have a receipt that is no longer true: a page is not as it was written, the
    site is called otherwise (`about`), or a lesson was published after it."""
    pages = work / "site.json"
    if not pages.is_file():
        return False
    made = pages.stat().st_mtime_ns
    later = any(receipt.stat().st_mtime_ns > made for receipt in work.glob("*/published.json"))
    told = _told(pages)
    known = told.get("pages")
    there = {path.relative_to(results).as_posix() for path in results.glob("models/*/revisions.json")}
    same = (isinstance(known, dict) and there <= known.keys()
            and all(canon.stamp(results / name) == then for name, then in known.items()))  # fmt: skip
    return bool(later or not same or told.get("about") != about)


def _told(path: Path) -> dict[str, Any]:
    """The JSON in a file; nothing where there is none."""
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return {}


def _latest(history: Path) -> str | None:
    """The revision that a history names last: what stands for the lesson, whatever stood for it before."""
    try:
        return str(_told(history)["revisions"][-1]["revision"])
    except (KeyError, IndexError, TypeError):
        return None


def lessons(folder: Path) -> list[str]:
    """The slugs of all lessons in a folder; those that no slug can name are `odd`.

    Raises LessonError where there is no such folder: a run without lessons would be a silent success.
    """
    return [name for name in _named(folder) if SLUG.fullmatch(name)]


def odd(folder: Path) -> list[str]:
    """The names of lessons' folders that no rule can carry: what stands in them must not stop the others."""
    return [name for name in _named(folder) if not SLUG.fullmatch(name)]


def _named(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise LessonError("config.yaml: lessons", f"there is no folder {str(folder)!r} here",
                          "the folder that holds one folder for each lesson",
                          "Go to the repository's root, name the folder, or type: lessonpress new SLUG.")  # fmt: skip
    return sorted(path.parent.name for path in folder.glob("*/lesson.yaml") if not path.parent.name.startswith("."))


def sources(folder: Path) -> list[str]:
    """A lesson's own files, as Snakemake's inputs; the same ones that `lesson.read` reads."""
    return [str(folder / path) for path, _, _ in seen(folder)]


def seen(folder: Path) -> Seen:
    """Path, size and time of every file of a lesson, sorted: whatever somebody does to a file shows here."""
    return sorted(_walk(str(folder), "")) if folder.is_dir() else []


def _walk(folder: str, below: str) -> Iterator[list[Any]]:
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.name == "__pycache__":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path, f"{below}{entry.name}/")
            elif entry.is_file() and not entry.name.endswith((".pyc", "~")):
                with contextlib.suppress(FileNotFoundError):  # an editor's own file, gone since it was listed
                    told = entry.stat()
                    yield [f"{below}{entry.name}", told.st_size, told.st_mtime_ns]
