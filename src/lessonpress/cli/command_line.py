"""Runs a command line, of a person or of a rule; a user's mistake becomes a message without a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from lessonpress.cli import commands
from lessonpress.core.errors import LessonError


def main(arguments: Sequence[str]) -> None:
    """Run a command line; the option parser is imported only where there is something to parse."""
    name = arguments[0] if arguments else ""
    parsed = commands.parse_arguments(arguments[1:]) if name in commands.COMMANDS else None
    commands.OVERRIDES.clear()  # of the command before this one
    if parsed and bool(parsed.names) == (name not in commands.WITHOUT_NAMES):
        known = parsed
        report_errors(lambda: commands.COMMANDS[name](known))
        return
    from lessonpress.cli import main

    rest, commands.OVERRIDES[:] = split_overrides(arguments)
    report_errors(lambda: main.app(rest, prog_name="lessonpress"))


def split_overrides(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """A command line without its `--set KEY=VALUE`, which every command takes, and the values of these."""
    rest, values, words = list[str](), list[str](), iter(arguments)
    for word in words:
        if word == "--set" and (value := next(words, None)) is not None:
            values.append(value)
        elif word.startswith("--set="):
            values.append(word.removeprefix("--set="))
        else:
            rest.append(word)
    return rest, values


def report_errors(act: Callable[[], object]) -> None:
    """Call `act`; a user's mistake becomes a message on standard error and an exit code, never a traceback."""
    try:
        act()
    except LessonError as error:
        print(error.message(), file=sys.stderr)
        sys.exit(error.code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        described = commands.describe_os_error(error)
        print(described.message(), file=sys.stderr)
        sys.exit(described.code)
