"""The verbs that Snakemake calls, and those of the arrows from source to site, without an option parser to import.

`python -m lessonpress produce SLUG…` comes here; everything else (options, help, verbs for people) goes to `cli`.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lessonpress.errors import LessonError, LessonErrors

SETTINGS = "LESSONPRESS_SETTINGS"  # the variable by which Snakemake hands its validated settings to the verbs
# Verb → room and function; each takes the settings and one slug, and answers what it did in words, or nothing.
ARROWS = {
    "hash": ("hashing", "hash_lesson"),
    "execute": ("execute", "execute"),
    "record": ("record", "record"),
    "check": ("check", "check"),
    "render": ("render", "render"),
    "publish": ("publish", "publish"),
}


def room(name: str) -> Any:
    """A room, imported when its verb runs: no verb pays for another one's libraries."""
    return importlib.import_module(f"lessonpress.{name}")


def settings(file: Path | None = None) -> Any:
    """The settings of a config file (config.yaml here, when no other is named), or those that Snakemake hands on."""
    handed = os.environ.get(SETTINGS)
    if file in (None, Path("config.yaml")) and handed:
        return room("settings").Config.model_validate_json(handed)
    return room("config").read(*([file] if file else []))


def go(verb: str, slugs: Sequence[str], *, config: Any, **options: Any) -> None:
    """Do one verb for every lesson. Raises LessonErrors after all of them were tried."""
    name, function = ARROWS[verb]
    act = getattr(room(name), function)
    each(slugs, lambda slug: act(config, slug, **options))


def each(slugs: Sequence[str], verb: Callable[[str], str | None]) -> None:
    """Do something for every lesson; all are tried, and all mistakes are told together."""
    failed: list[LessonError] = []
    for slug in slugs:
        try:
            words = verb(slug)
            if words:
                print(words, flush=True)
        except LessonError as error:
            failed += error.errors if isinstance(error, LessonErrors) else [error]
    if failed:
        raise LessonErrors(failed)


def produce(slugs: Sequence[str], *, config: Any, jobs: int = 1) -> None:
    """Take lessons through all arrows but the last. Raises LessonErrors after all of them were tried."""
    mistakes = [mistake for outcome in room("batch").produce(config, slugs, jobs) for mistake in outcome.mistakes]
    if mistakes:
        raise LessonErrors(mistakes)


def batch(threads: str, plan: str, done: str, log: str) -> None:
    """Produce a batch's lessons, as the rule calls it."""
    room("batch").run(settings(), Path(plan), Path(done), Path(log), int(threads))


def gather(log: str, *done: str) -> None:
    """Publish what batches produced, as the rule calls it."""
    room("gather").gather(settings(), [Path(path) for path in done], Path(log))


def plain(arguments: Sequence[str]) -> bool:
    """Whether these are a bare verb, as the rules call it; then it is done here."""
    verb, words = (arguments[0], arguments[1:]) if arguments else ("", ())
    if any(word.startswith("-") for word in words):
        return False
    bare: dict[str, Callable[[], Any]] = {
        "batch": lambda: batch(*words), "gather": lambda: gather(*words),
        "produce": lambda: produce(words, config=settings()), "site": lambda: print(room("site").site(settings())),
    }  # fmt: skip
    if verb in ARROWS and words:
        caught(lambda: go(verb, words, config=settings()))
    elif verb in bare and bool(words) == (verb != "site"):
        caught(bare[verb])
    else:
        return False
    return True


def caught(act: Callable[[], Any]) -> None:
    """Run something; a user's mistake is its message on standard error and its exit code, never a traceback."""
    try:
        act()
    except LessonError as error:
        print(error.message(), file=sys.stderr)
        sys.exit(error.code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        name = error.filename2 or error.filename
        where = f"{name}: " if name else ""
        print(f"{where}{error.strerror or error}.", file=sys.stderr)
        sys.exit(2 if error.errno == errno.ENAMETOOLONG else 1)  # only what was typed can be as long
