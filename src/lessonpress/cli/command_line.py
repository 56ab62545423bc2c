"""A command line, typed or of a rule: does what it says, and tells a user's mistake without a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from lessonpress.cli import commands
from lessonpress.core.errors import LessonError


def main(arguments: Sequence[str]) -> None:
    """Do what a command line says; the option parser is imported only where there is something to parse."""
    verb = arguments[0] if arguments else ""
    told = commands.parse_arguments(arguments[1:]) if verb in commands.COMMANDS else None
    commands.OVERRIDES.clear()  # of the command before this one
    if told and bool(told.words) == (verb not in commands.WITHOUT_WORDS):
        words = told
        report_errors(lambda: commands.COMMANDS[verb](words))
        return
    from lessonpress.cli import main

    rest, commands.OVERRIDES[:] = split_overrides(arguments)
    report_errors(lambda: main.app(rest, prog_name="lessonpress"))


def split_overrides(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """A command line without its `--set KEY=VALUE`, and the values of these; every command takes them."""
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
        told = commands.describe_os_error(error)
        print(told.message(), file=sys.stderr)
        sys.exit(told.code)
