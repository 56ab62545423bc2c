"""What git must know of a repository with lessons: attributes of published files, and the driver that merges them.

The driver is a setting of each clone: git takes none from a repository, because it is a program.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from lessonpress.core import atomic_io, git, packaged_files
from lessonpress.core.settings import Config
from lessonpress.revision import history, united_history

FILE, TEMPLATE = ".gitattributes", "templates/init/gitattributes"
DRIVER = "merge.lessonpress"
SETUP = "lessonpress merge --setup"
# By what one file of each kind must be: a path below the site, an attribute, its value.
WANTED = (
    ("index.html", "text", "unset"), ("index.html", "merge", "lessonpress"),
    ("index.html", "linguist-generated", "set"),
    (f"models/a/{history.FILE}", "merge", "lessonpress"), ("models/a/0000000000000000/run.py", "text", "unset"),
)  # fmt: skip


def format_attributes(results: str, lessons: str) -> str:
    """The lines of .gitattributes for a site and its lessons in these folders."""
    text = packaged_files.path(TEMPLATE).read_text(encoding="utf-8")
    marks = (("@RESULTS@", results), ("@LESSONS@", lessons))
    out = []
    for line in text.splitlines():
        pattern, _, rest = line.partition(" ")
        for mark, folder in marks:
            pattern = pattern.replace(mark, Path(folder).as_posix())
        quoted = f'"{pattern}"' if " " in pattern else pattern
        out.append(f"{quoted} {rest}" if rest else quoted)
    return "\n".join(out) + "\n"


def lacks_attributes(config: Config) -> bool:
    """Whether git would treat published files as any others: the attributes are missing, or name another folder."""
    results = Path(config.results)
    return bool(git.find_top(Path())) and any(
        git.read_attribute(Path(), results / name, attribute) != value for name, attribute, value in WANTED
    )


def lacks_driver(folder: Path = Path()) -> bool:
    """Whether this clone has no driver for published files."""
    return bool(git.find_top(folder)) and not git.read_setting(folder, f"{DRIVER}.driver")


def set_up(config: Config) -> Iterator[str]:
    """Add what is missing to .gitattributes in the working folder, and set the driver; says what was done."""
    if lacks_attributes(config):
        path = Path(FILE)
        before = path.read_text(encoding="utf-8") if path.is_file() else ""
        gap = "" if not before or before.endswith("\n") else "\n"
        atomic_io.write(path, before + gap + format_attributes(config.results, config.lessons))
        yield f"{FILE}: how git treats {config.results}/ is added; commit it"
    yield from set_driver(Path())


def set_driver(folder: Path) -> Iterator[str]:
    """Tell git how histories and pages are merged, in this clone; says so where it is new."""
    top = git.find_top(folder)
    command = f"{_find_python(top)} -m lessonpress merge --driver %O %A %B %P"
    if top is None or git.read_setting(folder, f"{DRIVER}.driver") == command:
        return
    git.write_setting(folder, f"{DRIVER}.name", "histories of lessons unite, pages are made again")
    if git.write_setting(folder, f"{DRIVER}.driver", command):
        yield "this clone merges histories by itself now; after a merge type: lessonpress merge"


def _find_python(top: Path | None) -> str:
    """This Python: git starts a driver at the top of the working tree, which may be moved with its environment."""
    here = Path(sys.executable)
    inside = top is not None and top.resolve() in here.parents
    return shlex.quote(os.path.relpath(here, top.resolve()) if inside and top else str(here))


def run_driver(base: Path, ours: Path, theirs: Path, name: str) -> bool:
    """Merge one file as git asks (the result goes into `ours`); False leaves it in conflict.

    Histories unite. Our copy of a page stays, because it is made again from the merged histories.
    """
    if Path(name).name != history.FILE:
        return True
    sides = [history.parse_history(path.read_bytes()) for path in (ours, theirs)]
    known = [side for side in sides if side]
    if len(known) < 2 or known[0]["slug"] != known[1]["slug"]:
        return False
    pinned = united_history.choose_pin(known[0], known[1], history.parse_history(base.read_bytes()))
    united = united_history.unite_histories(known[0]["slug"], known, pinned=pinned)
    ours.write_text(history.serialise(united), encoding="utf-8")
    return True
