"""The commands that the rules call, without an option parser to import; `cli` has them too, and those for people.

`python -m lessonpress check SLUG` comes here. Where Snakemake runs, a lesson's mistake is a result that the last rule
tells (`mistakes`), and the command succeeds; typed by a person it ends with the mistake.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from lessonpress.core import variables
from lessonpress.core.errors import LessonError, LessonErrors, RetryableError, WrongUsage

if TYPE_CHECKING:
    from lessonpress.build.code_digest import StepName
    from lessonpress.build.steps import Done
    from lessonpress.core.settings import Config

CONFIG = Path("config.yaml")
OVERRIDES: list[str] = []  # what `--set` said on a command line that the option parser read


@dataclass(frozen=True)
class Arguments:
    """What a rule's command is told: lessons or files, the key that Snakemake knows, a receipt to write, settings."""

    words: tuple[str, ...]
    key: str | None = None
    receipt: Path | None = None
    overrides: tuple[str, ...] = ()
    config: Path = CONFIG

    def settings(self) -> Config:
        """The settings of config.yaml here, with what `--set` says instead."""
        return read_settings(self.config, self.overrides)


def read_settings(file: Path = CONFIG, overrides: Sequence[str] = ()) -> Config:
    """The settings of a config file (config.yaml here, when no other is named), with `KEY=VALUE` instead of its own.

    Raises LessonError where the file or an override is wrong.
    """
    from lessonpress.core import config

    return config.overridden(config.read(file), [*OVERRIDES, *overrides])


def run_step(name: StepName, told: Arguments) -> None:
    """Do one step for lessons. Raises LessonErrors after all of them were tried."""
    from lessonpress.build import steps

    config = told.settings()

    def one(slug: str) -> Done:
        warm_up(config, slug, name)
        work = steps.open_build(config, slug, told.key)
        done = steps.perform(work, name)
        if name == "hash" and not done.mistakes and not steps.has_earlier_result(work, "execute"):
            load_servers(config)
        return done

    run_for_each(told, name, config, one)


def warm_up(config: Config, slug: str, name: StepName) -> None:
    """Where servers are kept: let torch load while a lesson is read that was never run."""
    if name == "hash" and not any(config.work_dir(slug).glob("*/capture.json")):
        load_servers(config)


def load_servers(config: Config) -> None:
    """Where servers are kept, let them load what runs and checks lessons."""
    from lessonpress import sandbox

    for program in (sandbox.MODEL, sandbox.JUDGE) if sandbox.keeps() else ():
        sandbox.warm(program, config.limits, config.isolation)


def publish(told: Arguments, note: str | None = None) -> None:
    """Publish lessons. Raises LessonErrors after all of them were tried."""
    from lessonpress.build import steps
    from lessonpress.publishing import publish as publisher

    config = told.settings()

    def one(slug: str) -> Done:
        work = steps.open_build(config, slug, told.key)
        steps.perform(work, "render", again=False)
        done = publisher.publish(work, note=note, receipt=told.receipt)
        steps.sweep_states(work)
        return done

    run_for_each(told, "publish", config, one)


def for_each_lesson(slugs: Sequence[str], act: Callable[[str], str | None]) -> None:
    """Do something for every lesson, and say what it answers; all are tried, and all mistakes are told together."""
    failed: list[LessonError] = []
    for slug in slugs:
        try:
            say(act(slug))
        except LessonError as error:
            failed += error.errors if isinstance(error, LessonErrors) else [error]
    if failed:
        raise LessonErrors(failed)


def run_for_each(told: Arguments, name: str, config: Config, act: Callable[[str], Done]) -> None:
    """Do something for every lesson; all are tried, and all that is wrong is told together."""
    failed: list[LessonError] = []
    for slug in told.words:
        with open_log(told, config.work_dir(slug) / (told.key or ""), name) as log:
            try:
                done = act(slug)
            except (LessonError, OSError) as caught:
                error = caught if isinstance(caught, LessonError) else describe_os_error(caught)
                if log:
                    print(error.message(), file=log)
                failed += error.errors if isinstance(error, LessonErrors) else [error]
                continue
            say(done.words, log)
            if variables.RUN not in os.environ:
                failed += done.mistakes
            elif done.mistakes and not done.passed_over:
                say(f"{slug}: {name}: a mistake, which is told at the end", log)
    if failed:
        raise LessonErrors(failed)


def describe_os_error(error: OSError) -> LessonError:
    """What the system refuses, in words; a name that is too long can only have been typed."""
    kind = WrongUsage if error.errno == errno.ENAMETOOLONG else RetryableError
    name = error.filename2 or error.filename
    return kind(str(name or "the system refuses"), error.strerror or str(error))


@contextmanager
def open_log(told: Arguments, folder: Path, name: str) -> Iterator[TextIO | None]:
    """The rule's log, which lies beside what the command makes; typed by a person a command has none."""
    from lessonpress.build import artifact

    if told.key is None:
        yield None
        return
    folder.mkdir(parents=True, exist_ok=True)
    artifact.settle_times(folder)
    with (folder / f"{name}.log").open("w", encoding="utf-8") as log:
        yield log


def say(words: str | None, log: TextIO | None = None) -> None:
    """Print words, if there are any, on the terminal and into a log."""
    if words:
        print(words, flush=True)
        if log:
            print(words, file=log)


def site(told: Arguments) -> None:
    """Renew the pages around the lessons."""
    from lessonpress.publishing import site as pages

    say(pages.write_site(told.settings(), receipt=told.receipt))
    if told.receipt:
        sweep(told.receipt)


def sweep(receipt: Path, keep: int = 9) -> None:
    """Remove all but the last few receipts beside one, and their logs."""
    others = sorted(receipt.parent.glob("*.json"), key=_age, reverse=True)
    for old in [path for path in others if path != receipt][keep:]:
        old.unlink(missing_ok=True)
        old.with_suffix(".log").unlink(missing_ok=True)


def _age(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # another run has just removed it
        return 0


def mistakes(told: Arguments) -> None:
    """Tell the mistakes of all lessons together. Raises LessonErrors where there are any, else writes the receipt."""
    from lessonpress.publishing import mistakes as book

    config = told.settings()
    found = book.collect_mistakes(config)
    if not found:
        if told.receipt:
            book.write_receipt(told.receipt)
            sweep(told.receipt)
        return
    print(book.summarise(config, found), flush=True)
    raise LessonErrors([error for errors in found.values() for error in errors])


def name(told: Arguments) -> None:
    """Give files of a lesson's present state the names that other workflows use: work/<slug>/<file>."""
    from lessonpress.publishing import mistakes as book

    slug, *files = told.words
    book.copy_to_stable_names(told.settings(), slug, told.key, files)


def compare(told: Arguments) -> None:
    """Regenerate one lesson and write the verdict of the comparison with what is published."""
    from lessonpress.publishing import verify

    if told.receipt is None or len(told.words) != 1:
        raise WrongUsage("lessonpress compare", "this is the rules' command", "one lesson, and --receipt FILE",
                         "Type: lessonpress verify SLUG")  # fmt: skip
    verify.write_verdict(told.settings(), told.words[0], told.receipt)


def report(told: Arguments) -> None:
    """Write the reports of the verdicts in a folder."""
    from lessonpress.publishing import verify

    [folder] = told.words
    print(verify.report_verdicts(told.settings(), Path(folder)), flush=True)


def _step(name: StepName) -> Callable[[Arguments], None]:
    return lambda told: run_step(name, told)


COMMANDS: dict[str, Callable[[Arguments], None]] = {
    "hash": _step("hash"), "execute": _step("execute"), "record": _step("record"), "check": _step("check"),
    "render": _step("render"), "publish": publish, "site": site, "mistakes": mistakes, "name": name,
    "compare": compare, "report": report,
}  # fmt: skip
WITHOUT_WORDS = ("site", "mistakes")


def parse_arguments(arguments: Sequence[str]) -> Arguments | None:
    """The words of a rule's command; None where there is something that only the option parser knows."""
    words: list[str] = []
    options: dict[str, list[str]] = {"--key": [], "--receipt": [], "--set": []}
    rest = iter(arguments)
    for word in rest:
        if word in options and (value := next(rest, None)) is not None:
            options[word].append(value)
        elif word.startswith("-"):
            return None
        else:
            words.append(word)
    key, receipt = (values[-1] if (values := options[name]) else None for name in ("--key", "--receipt"))
    return Arguments(tuple(words), key, Path(receipt) if receipt else None, tuple(options["--set"]))
