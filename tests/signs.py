"""Every sign in a lesson's model, flipped one at a time: the mathematics that its checks must notice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

OTHER: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
SPELLED = {ast.Add: "+", ast.Sub: "-"}
# What these give is no number of the lesson's: a sign in front of it says nothing about its maths.
SILENT = frozenset({"super", "range", "len", "zip", "enumerate", "isinstance", "print", "list", "tuple", "dict", "set"})


@dataclass(frozen=True)
class Flip:
    """A file with one sign flipped: the line's text, what became what, and the whole new text."""

    line: str
    flip: str
    text: str


def flips(text: str) -> Iterator[Flip]:
    """Every flip of a file: + and - exchanged, a minus dropped, a product or the value of a call negated.

    The function `prepare` is left alone: the weights that it trains are stored, and no run calls it.
    """
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    data = text.encode()
    for node in _maths(ast.parse(text)):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        old = data[begin:end].decode()
        new = _flipped(node, old, data, starts)
        if new is not None:
            whole = (data[:begin] + new.encode() + data[end:]).decode()
            yield Flip(lines[node.lineno - 1].strip(), f"{old} -> {new}", whole)


def _maths(tree: ast.AST) -> Iterator[ast.expr | ast.AugAssign]:
    """Every node that a sign belongs to, in the file's order."""
    if isinstance(tree, ast.FunctionDef) and tree.name == "prepare":
        return
    for node in ast.iter_child_nodes(tree):
        idle = isinstance(tree, ast.Expr) and isinstance(node, ast.Call)  # nobody takes its value
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.AugAssign)) or (isinstance(node, ast.Call) and not idle):
            yield node
        yield from _maths(node)


def _flipped(node: ast.expr | ast.AugAssign, old: str, data: bytes, starts: list[int]) -> str | None:
    """The node's text with its sign flipped; None where it has none."""
    if isinstance(node, ast.UnaryOp):
        return old[1:].lstrip() if isinstance(node.op, ast.USub) else None
    if isinstance(node, ast.AugAssign):
        if type(node.op) in OTHER:
            sign = SPELLED[type(node.op)]  # type: ignore[index]
            return old.replace(f"{sign}=", f"{SPELLED[OTHER[type(node.op)]]}=", 1)  # type: ignore[index]
        return None
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        return None if name in SILENT else f"(-{old})"
    assert isinstance(node, ast.BinOp)
    if type(node.op) in OTHER:
        left, right = _text(node.left, data, starts), _text(node.right, data, starts)
        return f"(({left}) {SPELLED[OTHER[type(node.op)]]} ({right}))"  # type: ignore[index]
    return f"(-({old}))" if isinstance(node.op, (ast.Mult, ast.MatMult, ast.Div)) else None


def _text(node: ast.expr, data: bytes, starts: list[int]) -> str:
    begin = starts[node.lineno - 1] + node.col_offset
    return data[begin : starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)].decode()
