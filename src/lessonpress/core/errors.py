"""The one kind of error that a user meets: where, what was seen, what was expected, what to do."""

from __future__ import annotations

import re
from typing import Any

# What would act on a terminal or disguise a message: controls but tab and line feed, overrides, halves of characters.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_invisible(text: str) -> str:
    """A text with escapes for what cannot be seen, or would act on a terminal."""
    return _UNSEEN.sub(lambda match: ascii(match.group())[1:-1], text)


class LessonError(Exception):
    """Something a person can mend: printed without a traceback; `code` is the exit code.

    `where` is a place such as `lessons/x/lesson.yaml:41`, `seen` what stood there, `expected` what should have,
    `fix` what to type. Empty parts are left out of the message.
    """

    code = 1

    def __init__(self, where: str, seen: str, expected: str = "", fix: str = "") -> None:
        self.where, self.seen, self.expected, self.fix = where, seen, expected, fix
        super().__init__(self.message())

    def __reduce__(self) -> tuple[Any, ...]:
        """How it goes from one process to another: by its parts."""
        return type(self), (self.where, self.seen, self.expected, self.fix)

    def message(self) -> str:
        """The whole error as text: `where: seen; expected. fix`, with escapes for what cannot be seen."""
        fact = self.seen.rstrip(".")
        if self.expected:
            fact += f"; {self.expected.rstrip('.')}"
        whole = f"{self.where}: {fact}." + (f" {self.fix}" if self.fix else "")
        return escape_invisible(whole)


class WrongUsage(LessonError):
    """What was typed cannot be done, whatever the lessons hold: a name that no lesson has, a port that is taken."""

    code = 2


class RetryableError(LessonError):
    """What the lesson itself does not prove: a limit, a kill, a full disk, files that changed meanwhile.

    It is not kept among the lesson's mistakes; the next run does the same step again.
    """


def is_proven(error: LessonError) -> bool:
    """Whether an error is the lesson's own mistake, which stays until its files change."""
    if isinstance(error, LessonErrors):
        return all(is_proven(each) for each in error.errors)
    return not isinstance(error, (RetryableError, WrongUsage))


class LessonErrors(LessonError):
    """Several mistakes that were noticed together, one line each."""

    def __init__(self, errors: list[LessonError]) -> None:
        self.errors = errors
        self.code = max(error.code for error in errors)
        super().__init__(errors[0].where, errors[0].seen, errors[0].expected, errors[0].fix)

    def __reduce__(self) -> tuple[Any, ...]:
        """How it goes from one process to another: by its parts."""
        return LessonErrors, (self.errors,)

    def message(self) -> str:
        """Every mistake's message, a line each."""
        return "\n".join(error.message() for error in self.errors)
