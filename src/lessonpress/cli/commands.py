"""The commands that the rules call, without the import of an option parser; `main` has them too, and all others.

`python -m lessonpress check SLUG` comes here. In a Snakemake run a lesson's mistake is a result: the command succeeds,
and the last rule (`mistakes`) reports it. A command that a person types fails with the mistake.
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
OVERRIDES: list[str] = []  # the values of `--set` on a command line that the option parser read


@dataclass(frozen=True)
class Arguments:
    """A rule's command: lessons or files by name, the key that Snakemake knows, a receipt to write, settings."""

    names: tuple[str, ...]
    key: str | None = None
    receipt: Path | None = None
    overrides: tuple[str, ...] = ()
    config: Path = CONFIG

    def settings(self) -> Config:
        """The settings of config.yaml in the working folder, with the values of `--set` in place of its own."""
        return read_settings(self.config, self.overrides)


def read_settings(file: Path = CONFIG, overrides: Sequence[str] = ()) -> Config:
    """The settings of a file (by default config.yaml in the working folder), with `KEY=VALUE` in place of its own.

    Raises LessonError where the file or an override is wrong.
    """
    from lessonpress.core import config

    return config.override(config.read(file), [*OVERRIDES, *overrides])


def run_step(name: StepName, arguments: Arguments) -> None:
    """Do one step for lessons. Raises LessonErrors after all of them were tried."""
    from lessonpress.build import steps
    from lessonpress.build.steps import Done

    config = arguments.settings()

    def one(slug: str) -> Done:
        warm_up(config, slug, name)
        work = steps.open_build(config, slug, arguments.key)
        done = steps.perform(work, name)
        if name == "render":  # a bundle that does not run is no revision; mistakes are passed on to what is left
            tried = steps.perform(work, "rehearse")
            done = Done(done.words, tried.mistakes, done.passed_over and tried.passed_over)
        if name == "hash" and not done.mistakes and not steps.has_earlier_result(work, "execute"):
            load_servers(config)
        return done

    run_for_each(arguments, name, config, one)


def warm_up(config: Config, slug: str, name: StepName) -> None:
    """Where servers are kept: start to load torch while a lesson is read that was never run."""
    if name == "hash" and not any(config.work_dir(slug).glob("*/capture.json")):
        load_servers(config)


def load_servers(config: Config) -> None:
    """Where servers are kept, start to load the libraries that run and check lessons."""
    from lessonpress import sandbox

    for program in (sandbox.MODEL, sandbox.JUDGE) if sandbox.keeps_servers() else ():
        sandbox.warm_up(program, config.limits, config.isolation)


def publish(arguments: Arguments, note: str | None = None) -> None:
    """Publish lessons. Raises LessonErrors after all of them were tried."""
    from lessonpress.build import steps
    from lessonpress.publishing import publish as publisher

    config = arguments.settings()

    def one(slug: str) -> Done:
        work = steps.open_build(config, slug, arguments.key)
        steps.perform(work, "rehearse", again=False)
        done = publisher.publish(work, note=note, receipt=arguments.receipt)
        steps.sweep_states(work)
        return done

    run_for_each(arguments, "publish", config, one)


def for_each_lesson(slugs: Sequence[str], act: Callable[[str], str | None]) -> None:
    """Do something for every lesson, and print what it returns. Raises LessonErrors after all of them were tried."""
    failed: list[LessonError] = []
    for slug in slugs:
        try:
            say(act(slug))
        except LessonError as error:
            failed += error.errors if isinstance(error, LessonErrors) else [error]
    if failed:
        raise LessonErrors(failed)


def run_for_each(arguments: Arguments, name: str, config: Config, act: Callable[[str], Done]) -> None:
    """Do a step of every lesson, with a log. Raises LessonErrors after all of them were tried."""
    failed: list[LessonError] = []
    for slug in arguments.names:
        with open_log(arguments, config.work_dir(slug) / (arguments.key or ""), name) as log:
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
                say(f"{slug}: {name}: a mistake, which is reported at the end", log)
    if failed:
        raise LessonErrors(failed)


def describe_os_error(error: OSError) -> LessonError:
    """An error of the operating system as a message; a name that is too long can only have been typed."""
    kind = WrongUsage if error.errno == errno.ENAMETOOLONG else RetryableError
    name = error.filename2 or error.filename
    if error.errno == errno.ENOENT:
        return kind(str(name), "the file was taken away while it was read",
                    "one run at a time in a lesson's work folder",
                    "If another one is at work, wait for its end; then run the same command again.")  # fmt: skip
    return kind(str(name or "the system refuses"), error.strerror or str(error))


@contextmanager
def open_log(arguments: Arguments, folder: Path, name: str) -> Iterator[TextIO | None]:
    """The rule's log, beside what the command makes; a command that a person types has none."""
    from lessonpress.build import artifact

    if arguments.key is None:
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


def site(arguments: Arguments) -> None:
    """Renew the pages around the lessons."""
    from lessonpress.publishing import site as pages

    say(pages.write_site(arguments.settings(), receipt=arguments.receipt))
    if arguments.receipt:
        remove_old_receipts(arguments.receipt)


def remove_old_receipts(receipt: Path, keep: int = 9) -> None:
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


def mistakes(arguments: Arguments) -> None:
    """Report the mistakes of all lessons. Raises LessonErrors where there are any, else writes the receipt."""
    from lessonpress.publishing import mistakes as collector

    config = arguments.settings()
    by_lesson = collector.collect_mistakes(config)
    if not by_lesson:
        if arguments.receipt:
            collector.write_receipt(arguments.receipt)
            remove_old_receipts(arguments.receipt)
        return
    print(collector.summarise(config, by_lesson), flush=True)
    raise LessonErrors([error for errors in by_lesson.values() for error in errors])


def name(arguments: Arguments) -> None:
    """Copy files of a lesson's present state to the names that other workflows use: work/<slug>/<file>."""
    from lessonpress.publishing import mistakes as collector

    slug, *files = arguments.names
    collector.copy_to_stable_names(arguments.settings(), slug, arguments.key, files)


def compare(arguments: Arguments) -> None:
    """Regenerate one lesson, compare it with what is published, and write the verdict."""
    from lessonpress.publishing import verify

    if arguments.receipt is None or len(arguments.names) != 1:
        raise WrongUsage("lessonpress compare", "only the rules use this command", "one lesson, and --receipt FILE",
                         "Type: lessonpress verify SLUG")  # fmt: skip
    verify.write_verdict(arguments.settings(), arguments.names[0], arguments.receipt)


def report(arguments: Arguments) -> None:
    """Write the reports of the verdicts in a folder."""
    from lessonpress.publishing import verify

    [folder] = arguments.names
    print(verify.report_verdicts(arguments.settings(), Path(folder)), flush=True)


def _step(name: StepName) -> Callable[[Arguments], None]:
    return lambda arguments: run_step(name, arguments)


COMMANDS: dict[str, Callable[[Arguments], None]] = {
    "hash": _step("hash"), "execute": _step("execute"), "record": _step("record"), "check": _step("check"),
    "render": _step("render"), "rehearse": _step("rehearse"), "publish": publish, "site": site, "mistakes": mistakes,
    "name": name, "compare": compare, "report": report,
}  # fmt: skip
WITHOUT_NAMES = ("site", "mistakes")


def parse_arguments(arguments: Sequence[str]) -> Arguments | None:
    """The arguments of a rule's command; None where there are others, which only the option parser knows."""
    names: list[str] = []
    options: dict[str, list[str]] = {"--key": [], "--receipt": [], "--set": []}
    rest = iter(arguments)
    for word in rest:
        if word in options and (value := next(rest, None)) is not None:
            options[word].append(value)
        elif word.startswith("-"):
            return None
        else:
            names.append(word)
    key, receipt = (values[-1] if (values := options[name]) else None for name in ("--key", "--receipt"))
    return Arguments(tuple(names), key, Path(receipt) if receipt else None, tuple(options["--set"]))
