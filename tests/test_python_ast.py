"""Python files are read without being run."""

from __future__ import annotations

import pytest

from lessonpress.core.errors import LessonError
from lessonpress.lesson import python_ast

TEXT = '''\
import time as clock
import numpy as np
from os import urandom
try:
    import pandas
except ImportError:
    pandas = None
from . import layers


class Base(Other):
    def forward(self, x, /, y, *rest, scale=2, **more):
        """Say."""
        return clock.time() + np.random.default_rng(3).random() + urandom(4)


@decorated
def check_it(runs):
    return self.time()
'''


BORNE = """\
from typing import TYPE_CHECKING
from contextlib import suppress
if TYPE_CHECKING:
    import a
with suppress(ImportError):
    import b
try:
    import c
except (KeyError, ModuleNotFoundError):
    import d
try:
    import e
except* ImportError:
    pass
try:
    import f
except ValueError:
    pass
try:
    import g
finally:
    pass
with open("x"):
    import h
"""


def read(text: str) -> python_ast.Source:
    """What a text says."""
    return python_ast.read(text.encode(), "x/model.py")


def test_classes_functions_imports_and_calls_are_reported() -> None:
    """Each with its line; calls by their full names, whatever the file calls a module."""
    source = read(TEXT)
    [base], [check] = source.classes, source.functions
    assert (base.name, base.line, base.bases) == ("Base", 11, ("Other",))
    forward = base.methods["forward"]
    assert forward.docstring == "Say."
    assert [str(p.kind.name) for p in forward.parameters] == [
        "POSITIONAL_ONLY", "POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD",
    ]  # fmt: skip
    assert (check.name, check.line, check.decorated) == ("check_it", 18, True)
    assert {(each.module, each.optional) for each in source.imports} == {
        ("time", False), ("numpy", False), ("os", False), ("pandas", True),
    }  # fmt: skip
    assert {(each.name, each.line, each.arguments) for each in source.calls} == {
        ("time.time", 14, 0), ("numpy.random.default_rng", 14, 1), ("os.urandom", 14, 1),
    }  # fmt: skip
    assert source.may_have("pandas")
    assert not source.may_have("Other")


def test_after_a_star_import_any_name_may_be_there() -> None:
    """What only running the file would show is not held against it."""
    assert read("from torch.nn import *\n").may_have("Anything")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ndef f(:\n", "x/model.py:2: this is no Python: invalid syntax; the line reads `def f(:`; code that "),
        ("if x:\npass\n", "x/model.py:2: this is no Python: expected an indented block"),
        ("x = 'a\n", "x/model.py:1: this is no Python: unterminated string literal"),
        ("a\0b", "x/model.py"),
        ("(" * 300 + ")" * 300, "x/model.py:1: this is no Python: too many nested parentheses"),
        ("-" * 100_000 + "1", "x/model.py: this is no Python: it is nested too deeply; code that Python 3."),
        ("a" + "+a" * 200_000, "x/model.py: this is no Python: maximum recursion depth"),
    ],
)
def test_what_is_no_python_is_reported_with_its_line(text: str, message: str) -> None:
    """One message, no traceback."""
    with pytest.raises(LessonError) as caught:
        read(text)
    assert caught.value.message().startswith(message)


def test_a_deep_expression_is_read() -> None:
    """A long chain of attributes is no reason to stop."""
    assert read("import a\na" + ".b" * 900 + "()\n").calls[0].name.startswith("a.b.b")


def test_a_doubtful_escape_is_no_mistake() -> None:
    """Warnings of Python's own reader are not ours to raise."""
    assert read("x = '\\d'\n").names == {"x"}


def test_an_import_is_borne_where_a_missing_package_is() -> None:
    """By who catches its exception, and where only a checker of types reads it; any other `try` bears nothing."""
    source = read(BORNE).imports
    assert {each.module for each in source if each.optional} == {"a", "b", "c", "d", "e"}
    assert {each.module for each in source if not each.optional} == {"typing", "contextlib", "f", "g", "h"}
