"""Benchmarks call only what exists: no test runs them, so a renamed function would be noticed months later."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_documents import PROJECT, list_names

BENCHMARKS = sorted((PROJECT / "benchmarks").glob("*.py"))


def list_programs(file: Path) -> Iterator[ast.Module]:
    """Yield a benchmark, and each Python program that it holds as text (with fields to fill) and runs in a process."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    yield tree
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "from lessonpress" in node.value:
            yield ast.parse(node.value.replace("{save}", "pass").replace("{folder!r}", '""').replace("{plan!r}", '""'))


def list_uses(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield (module, name) for what a program imports from our package, and for attributes of modules imported so."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lessonpress"):
            module = (node.module or "").removeprefix("lessonpress").removeprefix(".")
            for alias in node.names:
                inner = f"{module}.{alias.name}".strip(".")
                if list_names(inner):
                    modules[alias.asname or alias.name] = inner
                elif module:
                    yield module, alias.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield modules[node.value.id], node.attr


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda file: file.name)
def test_a_benchmark_calls_only_what_exists(file: Path) -> None:
    """Each function of ours that a benchmark, or a program inside one, uses is defined in the module that it names."""
    wrong = [f"{module}.{name}" for tree in list_programs(file) for module, name in list_uses(tree)
             if name not in list_names(module)]  # fmt: skip
    assert not wrong


def test_a_function_that_is_missing_is_noticed() -> None:
    """The rule itself can fail: for an imported function, and for an attribute of an imported module."""
    tree = ast.parse("from lessonpress.worker.run import never\nfrom lessonpress.worker import load\nload.nowhere()")
    assert list(list_uses(tree)) == [("worker.run", "never"), ("worker.load", "nowhere")]
    assert not {"never", "nowhere"} & (list_names("worker.run") | list_names("worker.load"))
