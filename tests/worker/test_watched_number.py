"""Numbers that Python reads from tensors: followed as data where they only compute, noted where they decide."""

from __future__ import annotations

import copy
import json
import math
import pickle
import statistics
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from watching import Does, Watched

from lessonpress.graph import graph
from lessonpress.worker import rewriting
from lessonpress.worker.watched_number import WatchedNumber

Watch = Callable[..., Watched]
GRID = torch.tensor([[1.5, -2.0, 0.25], [3.0, 0.5, -0.75]])


def number(value: float = 2.5) -> Any:
    """A watched number that nobody listens to."""

    class Deaf:
        def __getattr__(self, name: str) -> Callable[..., Any]:
            return lambda *args: args[1] if name == "compute" else None

    return WatchedNumber(value, torch.tensor(value), Deaf())  # type: ignore[arg-type]


USES: list[Callable[[Any], Any]] = [
    lambda n: n + 1, lambda n: 1 - n, lambda n: n * True, lambda n: 2 / n, lambda n: n**2, lambda n: 2**n, lambda n: -n,
    lambda n: +n, abs, lambda n: n % 2, lambda n: 7 % n, lambda n: n // 2, lambda n: divmod(n, 2), round,
    lambda n: round(n, 1), int, float, bool, str, repr, lambda n: f"{n:.3f}", lambda n: f"{n}",
    math.floor, math.ceil, math.trunc, math.sqrt, lambda n: math.isclose(n, 2.5), lambda n: n == 2.5, lambda n: n != n,
    lambda n: n < 3, lambda n: n >= 3, lambda n: 2 < n < 3, lambda n: max(n, 1), lambda n: min(1, n),
    lambda n: sum([n, n]), lambda n: sorted([n, 1.0, 9]), lambda n: {n: 1}[2.5], lambda n: n.is_integer(),
    lambda n: n.as_integer_ratio(), lambda n: n.real, lambda n: n.hex(), lambda n: isinstance(n, float),
    lambda n: isinstance(n, int), lambda n: np.float64(n), lambda n: np.array([n, n]), lambda n: np.arange(3.0) * n,
    lambda n: np.sqrt(n), lambda n: n * np.arange(3.0), complex, lambda n: [1, 2, 3][int(n)], lambda n: n or 7,
    lambda n: copy.deepcopy(n), lambda n: copy.copy(n), lambda n: pickle.loads(pickle.dumps(n)),
    lambda n: (-n) ** 0.5,
    lambda n: torch.tensor([1.0, 2.0]) * n, lambda n: n / torch.tensor([1.0, 2.0]), lambda n: torch.full((2,), n),
    lambda n: torch.tensor([1.0, 4.0]) > n, lambda n: F.leaky_relu(torch.tensor([-1.0]), n),
    lambda n: torch.linspace(0, n, 3), lambda n: torch.ones(2).clamp(max=n), lambda n: n == torch.tensor(2.5),
    lambda n: torch.ones(2).fill_(n), lambda n: torch.where(torch.tensor([True, False]), n, 0.0),
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(USES)))
def test_it_behaves_as_the_float_that_it_is(at: int) -> None:
    """Whatever is done with it gives what is done with the plain number, of the same type or of one that equals it."""
    seen, right = USES[at](number()), USES[at](2.5)
    if isinstance(right, Tensor | np.ndarray):
        assert np.array_equal(np.asarray(seen), np.asarray(right))
        assert seen.dtype == right.dtype
    else:
        assert seen == right or str(seen) == str(right)
        assert isinstance(seen, type(right))


@pytest.mark.parametrize("wrong", [lambda n: n.shape, lambda n: n["x"], lambda n: n + "x", lambda n: n / 0, len])
def test_what_a_float_cannot_do_it_cannot_do(wrong: Callable[[Any], Any]) -> None:
    """The same kind of error."""
    with pytest.raises((AttributeError, TypeError, ZeroDivisionError)) as right:
        wrong(2.5)
    with pytest.raises(right.type):
        wrong(number())


def guards(seen: Watched) -> list[tuple[str, Any]]:
    """What Python went on with, by operation."""
    plain = [call for call in seen.calls if not graph.is_node(call) and call["out"] is not None]
    return [(call["op"].removeprefix("torch."), call["out"]) for call in plain]


def test_a_number_that_only_computes_is_data(watch: Watch) -> None:
    """`item`, `tolist`, Python's arithmetic and the way back into a tensor are nodes; nothing was decided."""

    def computes(_: Any, x: Tensor) -> Any:
        scaled = x * (1 + 2 * x.sum().item())
        return scaled, torch.tensor([v / 2 for v in x[0].tolist()]), torch.full_like(x, x[1, 1].item())

    seen = watch(Does(computes), GRID)
    assert guards(seen) == []
    assert {"sum@Does#0 -> item@Does#0", "item@Does#0 -> mul@Does#0", "mul@Does#0 -> add@Does#0",
            "add@Does#0 -> mul@Does#1", "tolist@Does#0[1] -> div@Does#1", "div@Does#1 -> tensor@Does#0",
            "item@Does#1 -> full_like@Does#0"} <= seen.edges  # fmt: skip
    assert seen.value("add@Does#0") == 1 + 2 * GRID.sum().item()


def test_a_number_by_which_python_decides_is_noted(watch: Watch) -> None:
    """A comparison by its outcome, a whole part by what it is, everything else by the number itself, once.

    Nothing is computed with the first number, so that it is no node.
    """

    def decides(_: Any, x: Tensor) -> Any:
        total, first = x.sum().item(), x[0, 0].item()
        if total > 0 and f"{first}" and f"{first}" and math.sin(first) > 0:
            return x * int(total)
        return x

    assert guards(watch(Does(decides), GRID)) == [("item", 1.5), ("gt", True), ("trunc", 2)]


def test_a_number_that_nothing_uses_leaves_no_trace(watch: Watch) -> None:
    """A list of losses that only grows is neither node nor decision."""

    def logs(module: Any, x: Tensor) -> Any:
        module.log = [x.mean().item() * 2, x.max().item()]
        return x + 1

    seen = watch(Does(logs), GRID)
    assert seen.ops == ["mean", "max", "add"]
    assert guards(seen) == []


def test_a_number_may_be_returned(watch: Watch) -> None:
    """What the model gives as a number is still the number that a tensor held."""
    seen = watch(Does(lambda _, x: (x + 1, x.sum().item())), GRID)
    assert seen.value("output[1]") == 2.5
    assert "item@Does#0 -> output[1]" in seen.edges


@pytest.mark.parametrize(("leaves", "op"), [
    (lambda x: float(x.numpy().max()), "numpy"), (lambda x: float(np.asarray(x).max()), "array"),
    (lambda x: float(np.from_dlpack(x).max()), "dlpack"), (lambda x: len(str(x)), "repr"),
    (lambda x: len(f"{x.sum():.2f}"), "format"),
])  # fmt: skip
def test_numbers_that_leave_at_once_must_all_stay(watch: Watch, leaves: Callable[[Any], Any], op: str) -> None:
    """NumPy and text are not followed, so the whole tensor is noted as it was."""
    noted = guards(watch(Does(lambda _, x: x * leaves(x + 0)), GRID))
    assert [name for name, _ in noted] == [op]
    assert noted[0][1]["list"] == ([2.5] if op == "format" else GRID.flatten().tolist())


def test_a_later_write_is_seen_through_numpy(watch: Watch) -> None:
    """NumPy looks at the memory itself, so what is written into it leaves too."""

    def writes(_: Any, x: Tensor) -> Any:
        y = x * 0
        seen = y.numpy()
        y += 2
        return x * float(seen.max())

    assert [out["list"][0] for _, out in guards(watch(Does(writes), GRID))] == [0.0, 2.0]


SOURCE = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        scale = float(x.sum())  # a comment

        print(f"{x.sum():.1f}", "is printed",
              scale)
        return x * scale, float("1.5"), float(3), [float(v) for v in x[0]], 1 / 0
"""


def test_float_and_print_are_seen(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """`float` of a tensor gives a number that is followed, text for the terminal decides nothing, lines stay."""
    file = tmp_path / "rewritten_lesson.py"
    file.write_text(SOURCE, encoding="utf-8")
    loader = rewriting.RewritingLoader("rewritten_lesson", str(file))
    import importlib.util

    spec = importlib.util.spec_from_loader("rewritten_lesson", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    with pytest.raises(ZeroDivisionError) as raised:
        module.Model()(GRID)
    assert raised.traceback[-1].lineno + 1 == SOURCE.splitlines().index(SOURCE.splitlines()[-1]) + 1
    assert capsys.readouterr().out == "2.5 is printed 2.5\n"
    assert not (tmp_path / "__pycache__").exists()


def test_print_decides_nothing(watch: Watch) -> None:
    """Also not by numbers that are made into text for it."""

    def prints(_: Any, x: Tensor) -> Any:
        number = rewriting.number_of(float, x.sum())
        with rewriting.printing():
            print(f"{x.sum():.2f}", number, x)
        return x * number

    seen = watch(Does(prints), GRID)
    assert guards(seen) == []
    assert "float@Does#0 -> mul@Does#0" in seen.edges


@pytest.mark.parametrize("wants", [json.dumps, lambda n: statistics.mean([n, 1.5]), lambda n: float.hex(n)])
def test_what_wants_a_float_and_nothing_else_fails(wants: Callable[[Any], Any]) -> None:
    """It gives no wrong answer; the run is then repeated with plain numbers."""
    wants(2.5)
    with pytest.raises(TypeError):
        wants(number())


def run_lesson(lesson: Callable[..., Watched], body: str, parts: str = "") -> Watched:
    """Run a lesson's forward on the numbers 0.1, 0.2 … 0.6."""
    forward = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
    head = f"import torch\n{textwrap.dedent(parts)}\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
    values = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
    return lesson(f"{head}{forward}\n", [["x", {"values": values, "shape": [2, 3], "dtype": "float32"}]])


def test_only_the_line_that_prints_decides_nothing(lesson: Callable[..., Watched], capfd: Any) -> None:
    """What it calls may decide, and the type of a number is a float's."""
    seen = run_lesson(lesson, """
        def scale(v):
            return 2.0 if v.sum().item() > 0 else 3.0
        number = x.sum().item()
        print([f"{v:.1f}" for v in x[0].tolist()], "much" if number > 9 else "little", scale(x))
        return x * (1 if type(number) is float else 2)
        """)
    assert "['0.1', '0.2', '0.3'] little 2.0" in capfd.readouterr().out
    assert float(seen.value("output")[0][0]) == pytest.approx(0.1)
    assert guards(seen) == [("gt", True)]


def test_errors_of_arithmetic_that_are_caught_hold_their_numbers(watch: Watch) -> None:
    """The lesson goes on by the error, which other numbers may not raise."""

    def divides(_: Any, x: Tensor) -> Any:
        number = (x * 0).sum().item()
        try:
            return x * (1 / number)
        except ZeroDivisionError:
            return x * 2

    assert guards(watch(Does(divides), GRID)) == [("item", 0.0)]


def test_errors_of_operations_that_are_caught_are_noted(watch: Watch) -> None:
    """With what the operation was given."""

    def decomposes(_: Any, x: Tensor) -> Any:
        try:
            return torch.linalg.cholesky(x @ x.T - 99)
        except torch.linalg.LinAlgError:
            return x * 2

    [raised] = [call for call in watch(Does(decomposes), GRID).calls if "raised" in call]
    assert raised["op"] == "torch.linalg_cholesky"
    assert raised["args"][0]["from"]


UNSEEN = {
    "hook": """
        x = x.clone().requires_grad_()
        h = x * 2
        h.register_hook(lambda g: seen.append(g.norm().item()))
        h.sum().backward()
        """,
    "kept for the way back": """
        with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.sum().item()) or t, lambda t: t):
            y = x.clone().requires_grad_() ** 2
        """,
    "function": """
        Note.apply(x)
        """,
    "transform": """
        torch.func.grad(lambda v: (seen.append(v.sum().item()), v.sum())[1])(x)
        """,
}  # fmt: skip
NOTE = """
seen = []
class Note(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        print("only printed", v.sum().item())
        seen.append(float(v.sum()))
        return v * 2
"""


@pytest.mark.parametrize("body", UNSEEN.values(), ids=UNSEEN)
def test_numbers_that_leave_inside_a_call_are_noted(body: str, lesson: Callable[..., Watched]) -> None:
    """A page cannot watch them."""
    seen = run_lesson(lesson, textwrap.dedent(body) + "return x.detach() * seen[0]", NOTE)
    assert sum("left" in call for call in seen.calls) == 1


def test_a_number_that_is_used_inside_a_call_must_stay(watch: Watch) -> None:
    """A function of the author's own may take it from around itself."""

    def scales(_: Any, x: Tensor) -> Any:
        number = x.sum().item()

        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, value: Tensor) -> Tensor:
                return value * number

        return Scale.apply(x)

    assert guards(watch(Does(scales), GRID)) == [("item", 2.5)]
