"""Does a verb to many lessons, on several cores where there are any; one lesson's failure is none of the others'.

Each process keeps its servers from lesson to lesson, so the libraries are loaded once a process and not once a lesson;
every lesson still runs in a worker of its own.
"""

from __future__ import annotations

import atexit
import errno
import importlib
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from lessonpress import canon, pace, supervise
from lessonpress.errors import LessonError, LessonErrors, WrongUsage
from lessonpress.settings import Config


@dataclass(frozen=True)
class Outcome:
    """What came of one lesson: what the verb answered, or the lesson's mistakes."""

    slug: str
    answer: Any = None
    mistakes: tuple[LessonError, ...] = ()

    def words(self) -> str:
        """The mistakes as text."""
        return "\n".join(mistake.message() for mistake in self.mistakes)


def each(config: Config, verb: tuple[str, str], slugs: Sequence[str], jobs: int = 1) -> Iterator[Outcome]:
    """Do `verb`, a room and its function, to every lesson; yields the outcomes as they come."""
    if min(jobs, len(slugs)) <= 1:
        with supervise.kept():
            yield from (_one(config, verb, slug) for slug in slugs)
        return
    pool = ProcessPoolExecutor(min(jobs, len(slugs)), mp_context=get_context("spawn"), initializer=_keep)
    with pool:
        asked = {pool.submit(_one, config, verb, slug): slug for slug in slugs}
        yield from (_heard(future, asked[future]) for future in as_completed(asked))


def _keep() -> None:
    """In a process of the pool: keep servers until it ends."""
    stack = ExitStack()
    stack.enter_context(supervise.kept())
    atexit.register(stack.close)


def _one(config: Config, verb: tuple[str, str], slug: str) -> Outcome:
    room, function = verb
    try:
        return Outcome(slug, getattr(importlib.import_module(f"lessonpress.{room}"), function)(config, slug))
    except LessonError as error:
        return Outcome(slug, None, tuple(error.errors if isinstance(error, LessonErrors) else [error]))
    except OSError as error:
        where = str(error.filename or config.room(slug))
        kind = WrongUsage if error.errno == errno.ENAMETOOLONG else LessonError
        return Outcome(slug, None, (kind(where, f"the system refuses: {error.strerror or error}"),))
    except Exception as error:  # a fault of ours in one lesson is none of the others'
        traceback.print_exc()
        seen = f"lessonpress itself failed ({type(error).__name__}: {error})"
        return Outcome(slug, None, (LessonError(slug, seen, "", "Please report it, with the lines above."),))


def _heard(future: Future[Outcome], slug: str) -> Outcome:
    try:
        return future.result()
    except BrokenProcessPool:
        seen = "the process that worked on it was killed (probably the machine's memory ran out)"
        return Outcome(slug, None, (LessonError(slug, seen, "", "Run the same command again; what is done stays."),))


def produce(config: Config, slugs: Sequence[str], jobs: int = 1, log: Path | None = None) -> list[Outcome]:
    """Produce lessons, telling how far it is; answers every outcome."""
    found = []
    with pace.of("producing", len(slugs), log) as told:
        for outcome in each(config, ("produce", "produce"), slugs, jobs):
            told.advance(f"{outcome.slug}: failed" if outcome.mistakes else outcome.answer or "",
                         failed=bool(outcome.mistakes))  # fmt: skip
            found.append(outcome)
    return found


def run(config: Config, plan: Path, done: Path, log: Path, jobs: int) -> None:
    """Produce the lessons that `plan` names, a slug a line, and write into `done` what came of each.

    A lesson's mistake is told there, for whoever gathers: a job that failed would take the others with it.
    """
    slugs = plan.read_text(encoding="utf-8").split()
    outcomes = produce(config, slugs, jobs, log)
    mistakes = {outcome.slug: [[m.where, m.seen, m.expected, m.fix] for m in outcome.mistakes] for outcome in outcomes}
    canon.write(done, canon.pretty({slug: mistakes[slug] for slug in slugs}))


def read(done: Path) -> list[Outcome]:
    """What `run` wrote."""
    return [Outcome(slug, None, tuple(LessonError(*parts) for parts in mistakes))
            for slug, mistakes in canon.read(done).items()]  # fmt: skip
