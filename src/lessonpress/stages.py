"""What Snakemake needs to know at parse time: which code each stage runs, and which receipts still hold.

Fast, and with no imports that Snakemake has not made: this is read on every run, also when there is nothing to do.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lessonpress import shipped
from lessonpress.errors import LessonError
from lessonpress.settings import Config

PACKAGE = Path(__file__).parent
SLUG = re.compile(r"[a-z0-9][a-z0-9-]*")
LESSON = ("documents", "errors", "lesson", "places", "recipe", "settings")
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
    "hash": (*LESSON, "canon", "hashing", "plan", "prepared", "specs"),
    "execute": (*LESSON, *CONFINED, "execute"),
    "record": (*LESSON, *CONFINED, "axes", "judging", "record"),
    "check": (*LESSON, *CONFINED, "judging", "check"),
    "render": RENDERED,
    # Where only numbers differ, publish records and renders once more.
    "publish": (*RENDERED, "axes", "capture", "changes", "comparison", "failures", "history", "integrity", "judging",
                "lock", "publish", "published", "record", "standing", "supervise/*"),
    "site": (*LESSON, "canon", "history", "layout/*", "lock", "operations/*", "page/*", "prose",
             "replay", "shipped", "site", "worker/*", "templates/*"),
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
    whole, named = hashlib.sha256(), {_name(path): path for path in files(stage)}
    for name, path in sorted(named.items()):
        whole.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


def _name(path: Path) -> str:
    """A file's name inside the package, in which an installed lessonpress carries its templates."""
    templates = shipped.path("templates")
    inside = Path("templates") / path.relative_to(templates) if templates in path.parents else path.relative_to(PACKAGE)
    return inside.as_posix()


def note_code(work: Path) -> None:
    """Keep a stage's digest in `work/code/<stage>.sha256`; a file changes only when the code did.

    As an input of the stage's rule it makes Snakemake run the rule again. (A `params:` entry would do the same, but
    makes every Snakemake run import pandas.)
    """
    (work / "code").mkdir(parents=True, exist_ok=True)
    for stage in ROOMS:
        path, text = work / "code" / f"{stage}.sha256", digest(stage) + "\n"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def ask_again(work: Path) -> None:
    """Make `work/code/asked` another file, so that what has it as an input is done whenever Snakemake needs it."""
    (work / "code" / "asked").write_text(f"{time.time_ns()}\n", encoding="utf-8")


def drop_stale_receipts(work: Path, results: Path) -> None:
    """A receipt outlives what it stands for when `results/` is deleted or rolled back: remove such receipts."""
    for receipt in work.glob("*/published.json"):
        told = json.loads(receipt.read_text(encoding="utf-8"))
        folder = results / "models" / told["slug"]
        history = folder / "revisions.json"
        if not (folder / told["revision"]).is_dir() or told["revision"] not in _text(history):
            receipt.unlink()
            # Snakemake makes a missing file anew only where something that is to be made needs it.
            (work / "site.json").unlink(missing_ok=True)
    pages = work / "site.json"
    if pages.is_file() and not all((results / name).is_file() for name in json.loads(_text(pages))["pages"]):
        pages.unlink()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


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
    return sorted(path.parent.name for path in folder.glob("*/lesson.yaml"))


def sources(folder: Path) -> list[str]:
    """A lesson's own files, as Snakemake's inputs; the same ones that `lesson.read` reads."""
    return sorted(
        str(path) for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.endswith((".pyc", "~"))
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )  # fmt: skip
