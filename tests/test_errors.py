"""How a mistake is reported: where, what was seen, what was expected, what to do."""

import pickle

import pytest

from lessonpress.core.errors import LessonError, LessonErrors, RetryableError, WrongUsage, is_proven


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("a:1", "seen"), "a:1: seen."),
        (("a:1", "seen.", "expected."), "a:1: seen; expected."),
        (("a:1", "seen", "expected", "Fix it."), "a:1: seen; expected. Fix it."),
        (("a:1", "seen", "", "Fix it."), "a:1: seen. Fix it."),
    ],
)
def test_a_mistake_is_one_line(parts: tuple[str, ...], text: str) -> None:
    """Parts that are empty are left out, and full stops are never doubled."""
    assert str(LessonError(*parts)) == LessonError(*parts).message() == text


def test_several_mistakes_are_a_line_each() -> None:
    """What was noticed together is reported together, each mistake with its own place."""
    both = LessonErrors([LessonError("a:1", "one"), LessonError("a:2", "two")])
    assert both.message() == "a:1: one.\na:2: two."
    assert str(both) == both.message()
    assert isinstance(both, LessonError)


@pytest.mark.parametrize(
    ("error", "proven"),
    [
        (LessonError("a", "b"), True),
        (RetryableError("a", "a limit"), False),
        (WrongUsage("a", "no such lesson"), False),
        (LessonErrors([LessonError("a", "b"), LessonError("c", "d")]), True),
        (LessonErrors([LessonError("a", "b"), RetryableError("c", "d")]), False),
    ],
)
def test_only_a_lessons_own_mistake_stays_until_its_files_change(error: LessonError, proven: bool) -> None:
    """A limit, a kill, a name that was misspelt say nothing about it; one of several is enough to try again."""
    assert is_proven(error) is proven
    assert is_proven(pickle.loads(pickle.dumps(error))) is proven
    assert error.code == (2 if isinstance(error, WrongUsage) else 1)


def test_wrong_usage_stays_wrong_usage() -> None:
    """Reported together with other mistakes, and on the way from one process to another, the exit code is kept."""
    usage, mistake = WrongUsage("a", "no such lesson"), LessonError("b", "wrong")
    assert (mistake.code, usage.code) == (1, 2)
    assert (LessonErrors([mistake]).code, LessonErrors([mistake, usage]).code) == (1, 2)
    assert pickle.loads(pickle.dumps(LessonErrors([mistake, usage]))).code == 2
