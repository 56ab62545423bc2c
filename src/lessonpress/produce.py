"""Verb produce: take a lesson from its source to its rendered revision, doing only what its changes ask for.

Each arrow keeps a key of everything that goes into it: the digest of its code and of what it reads. Where key and files
are as they were, the arrow is passed over: other words do not run the model again, another template renders only.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lessonpress import canon, stages, supervise
from lessonpress.settings import Config

RECORD = "made.json"  # what was produced, from what, and by which code; stages reads it to see what is due
NOT_RUN = ("record", "metrics", "checks")  # what a plan says about reading the runs, not about running


@dataclass(frozen=True)
class Arrow:
    """One verb between two files: its room and function, what it writes, and what goes into it."""

    room: str
    function: str
    made: tuple[str, ...]
    inputs: Callable[[Mapping[str, Any], Path], list[Any]]


def _files(*names: str) -> Callable[[Path], list[str]]:
    return lambda room: [canon.digest((room / name).read_bytes()) for name in names]


def _run(source: Mapping[str, Any], room: Path) -> list[Any]:
    """What the runs hang on: the plan of them, and every file but recipe and checks."""
    plan = {key: part for key, part in source["plan"].items() if key not in NOT_RUN}
    return [plan, source["digests"]["source"]]


def _words(source: Mapping[str, Any]) -> list[Any]:
    return [source["digests"], [(file["path"], file["sha256"]) for file in source["files"]]]


ARROWS = {
    "execute": Arrow("execute", "execute", ("capture.json", "mutants.json"), _run),
    "record": Arrow("record", "record", ("cases.json", "cases.csv"),
                    lambda source, room: [*_words(source), *_files("capture.json")(room)]),
    "check": Arrow("check", "check", ("checks.json",),
                   lambda source, room: [source["digests"]["checks"], source["digests"]["recipe"], _run(source, room),
                                         *_files("capture.json", "mutants.json")(room)]),
    "render": Arrow("render", "render", ("rendered.json", "revision/identity.json"),
                    lambda source, room: [*_words(source), *_files("capture.json", "cases.json", "cases.csv",
                                                                   "checks.json")(room)]),
}  # fmt: skip


def produce(config: Config, slug: str) -> str | None:
    """Bring `work/<slug>/` up to date with the lesson; answers what the verbs had to say.

    Raises LessonError for the lesson's mistakes; what was made before them stays.
    """
    room = config.room(slug)
    if not (room / "capture.json").is_file():
        _load(config)  # it will run, whatever its recipe says
    before, code = told(room), stages.digests()
    keys: dict[str, str] = {}
    seen = stages.seen(config.lesson(slug))  # before the files are read: a later change shows
    whole, words = False, []
    try:
        if before.get("seen") != seen or before.get("hashed") != code["hash"] or not (room / "source.json").is_file():
            words.append(_verb("hashing", "hash_lesson")(config, slug))
        source = canon.read(room / "source.json")
        words += [_arrow(config, slug, name, source, before.get("keys", {}), keys, code) for name in ARROWS]
        made = [name for arrow in ARROWS.values() for name in _made(arrow, room)]
        canon.flush([room / name for name in ("source.json", *made)])  # before the record says that they are there
        whole = True
    finally:
        canon.write(room / RECORD, canon.pretty({
            "seen": seen if whole else None, "hashed": code["hash"] if whole else None, "code": stages.code(),
            "keys": {**before.get("keys", {}), **keys},
        }))  # fmt: skip
    return "\n".join(each for each in words if each) or None


def _arrow(
    config: Config, slug: str, name: str, source: Mapping[str, Any], before: Mapping[str, str], keys: dict[str, str],
    code: Mapping[str, str],
) -> str | None:  # fmt: skip
    """Do one arrow where its key is new, or its files are gone or not those that it made."""
    arrow, room = ARROWS[name], config.room(slug)
    key = [code[name], *arrow.inputs(source, room)]
    words = None
    if before.get(name) != _sealed(key, arrow, room):
        if name == "execute":  # torch loads while this process imports what it needs for the rest
            _load(config)
            for later in ARROWS.values():
                _verb(later.room, later.function)
            _warm()
        words = _verb(arrow.room, arrow.function)(config, slug)
    keys[name] = _sealed(key, arrow, room)
    return words


def _sealed(key: list[Any], arrow: Arrow, room: Path) -> str:
    """One digest of what goes into an arrow and of what it made: a file that somebody else wrote does not count."""
    made = _made(arrow, room)
    there = all((room / name).is_file() for name in made)
    return canon.digest_of([*key, *_files(*made)(room)]) if there else ""


def _made(arrow: Arrow, room: Path) -> list[str]:
    """Everything that an arrow wrote: of a rendering, the whole revision, which is what is published."""
    if arrow.room != "render":
        return [*arrow.made]
    try:
        return [*arrow.made, *(f"revision/{name}" for name in canon.read(room / "rendered.json")["files"])]
    except (OSError, ValueError, KeyError, TypeError):  # no rendering, which its own digest shows
        return [*arrow.made]


def _load(config: Config) -> None:
    """Let the servers load their libraries while this process does something else."""
    supervise.warm(supervise.MODEL, config.limits, config.isolation)
    supervise.warm(supervise.JUDGE, config.limits, config.isolation)


@functools.cache
def _warm() -> None:
    """Prepare for pages while another process loads torch."""
    importlib.import_module("lessonpress.page").warm()


def _verb(room: str, function: str) -> Callable[[Config, str], str | None]:
    """A verb, its room imported only now: nobody waits for libraries that nothing needs."""
    verb: Callable[[Config, str], str | None] = getattr(importlib.import_module(f"lessonpress.{room}"), function)
    return verb


def told(room: Path) -> dict[str, Any]:
    """What is on record about a lesson's files; nothing where there is no record, or none that can be read."""
    try:
        return dict(canon.read(room / RECORD))
    except (OSError, ValueError, TypeError):
        return {}
