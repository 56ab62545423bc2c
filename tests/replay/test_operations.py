"""The operation table against torch: every kernel, in Python and in JavaScript, on the same arguments."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import get_testing_overrides

from lessonpress.replay import operations
from lessonpress.replay.operations.torch_cases import SQUARE, N, case
from tests import javascript_runner
from tests.operation_cases import ALL, FAMILIES, Case, LayerCase

KINDS = {"b": 0, "i": 1, "f": 2}
# The numbers of each operation's cases in `ALL`: one test tries all cases of one operation.
BY_NAME = {
    name: list(numbers)
    for name, numbers in groupby(sorted(range(len(ALL)), key=lambda at: ALL[at].op), lambda at: ALL[at].op)
}
TOLERANCE = 2e-14  # relative to max(1, |x|): some tens of rounding errors of float64


def plain(value: Any) -> Any:
    """torch's arguments as the table's: tensors as arrays, dtypes as names."""
    if isinstance(value, torch.Tensor):
        return value.detach().double().numpy().copy() if value.is_floating_point() else value.numpy().copy()
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, slice):
        return slice(plain(value.start), plain(value.stop), plain(value.step))
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return type(value)(plain(part) for part in value) if type(value) in (list, tuple) else value


def bound(one: Case | LayerCase) -> operations.Bound:
    """A case's row with its arguments in the row's order."""
    args, kwargs = plain(one.args), plain(one.kwargs)
    if isinstance(one, Case):
        return operations.resolve(one.op, args, kwargs)
    return operations.resolve_layer(one.op, plain(dict(one.module.state_dict())), plain(one.params), args, kwargs)


def for_javascript(value: Any, index: bool = False) -> Any:
    """Arguments as JSON: arrays with their kind, whole floats marked, an index as the list of its parts."""
    if index:
        parts = value if isinstance(value, tuple) else (value,)
        return [for_javascript(np.asarray(part) if isinstance(part, list) else part) for part in parts]
    if isinstance(value, np.ndarray):
        numbers = [
            v if math.isfinite(v) else str(v).replace("inf", "Infinity").replace("nan", "NaN")
            for v in value.ravel().tolist()
        ]
        return {"array": numbers, "shape": list(value.shape), "kind": KINDS[value.dtype.kind]}
    if isinstance(value, float) and (value.is_integer() or not math.isfinite(value)):
        return {"float": str(value).replace("inf", "Infinity").replace("nan", "NaN")}
    if isinstance(value, slice):
        return {"slice": [for_javascript(part) for part in (value.start, value.stop, value.step)]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, dict):
        return {"dict": {key: for_javascript(part) for key, part in value.items()}}
    return [for_javascript(part) for part in value] if isinstance(value, list | tuple) else value


def leaves(value: Any) -> list[Any]:
    """The arrays inside a nested result, in order."""
    if value is None:
        return []
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, list | tuple) else [value]


def difference(seen: Any, expected: Any) -> float:
    """The largest distance relative to max(1, |expected|); equal NaN and infinities do not count."""
    a, b = np.asarray(seen, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b) / np.maximum(1, np.abs(b)))
    return float(np.nan_to_num(off, nan=np.inf).max(initial=0.0))


def assert_same(seen: list[tuple[tuple[int, ...], int, Any]], expected: list[np.ndarray[Any, Any]]) -> None:
    """Same number of arrays, shapes, kinds and, within the tolerance, values."""
    assert [(shape, kind) for shape, kind, _ in seen] == [(x.shape, KINDS[x.dtype.kind]) for x in expected]
    for (_, _, values), right in zip(seen, expected, strict=True):
        assert difference(np.reshape(values, right.shape), right) <= TOLERANCE


def failing(name: str, attempt: Callable[[int], None]) -> dict[str, str]:
    """The cases of an operation for which an attempt raises, each with what it raised."""
    failed = {}
    for at, number in enumerate(BY_NAME[name]):
        try:
            attempt(number)
        except Exception as error:
            failed[f"case {at + 1} of {name}: {described(ALL[number])}"] = f"{type(error).__name__}: {error}"
    return failed


def described(one: Case | LayerCase) -> str:
    """A case's arguments in a few words: tensors by their dtype and shape."""
    layer = {} if isinstance(one, Case) else one.params
    words = [short(arg) for arg in one.args] + [f"{key}={short(arg)}" for key, arg in {**layer, **one.kwargs}.items()]
    return f"({', '.join(words)})"


def short(value: Any) -> str:
    """An argument in a few words."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(short, value))}]"
    return repr(value)


def expected(one: Case | LayerCase) -> list[np.ndarray[Any, Any]]:
    """torch's result as arrays; a Python bool or number is an array without axes."""
    torch.set_default_dtype(torch.float64)
    try:
        result = one.expected()
    finally:
        torch.set_default_dtype(torch.float32)
    return [np.asarray(plain(x)) for x in leaves(tuple(result) if isinstance(result, torch.Size) else result)]


# Numbers for which torch raises an error: a page must not show a number there.
REFUSED = [
    case("embedding", torch.tensor([0, -1]), SQUARE),
    case("embedding", torch.tensor([4]), SQUARE),
    *[case("gather", SQUARE, 1, torch.tensor([[at], [0]])) for at in (-1, 4)],
    *[case("index_select", SQUARE, 0, torch.tensor([at])) for at in (-1, 4)],
    *[case("scatter", SQUARE, 1, torch.tensor([[at], [0]]), 2.0) for at in (-1, 4)],
    *[case("scatter_add", SQUARE, 1, torch.tensor([[at], [0]]), SQUARE) for at in (-1, 4)],
    *[case("index_add", SQUARE, 0, torch.tensor([at]), SQUARE[:1]) for at in (-1, 4)],
    *[case("index_copy", SQUARE, 0, torch.tensor([at]), SQUARE[:1]) for at in (-1, 4)],
    *[case("getitem", SQUARE, torch.tensor([at]), oracle=lambda x, i: x[i]) for at in (-5, 4)],
    *[case("nll_loss", SQUARE, torch.tensor([at, 0, 0, 0])) for at in (-1, 4)],
    *[case("cross_entropy", SQUARE, torch.tensor([at, 0, 0, 0])) for at in (-1, 4)],
    *[case("one_hot", torch.tensor([at]), 3) for at in (-1, 4)],
    case("binary_cross_entropy", SQUARE * 9, SQUARE.sigmoid()),
    *[case(op, N, torch.zeros_like(N)) for op in ("floor_divide", "remainder", "fmod")],
    *[case("div", N, torch.zeros_like(N), rounding_mode=mode) for mode in ("floor", "trunc")],
    case("number_div", torch.tensor(1.5), 0.0, oracle=lambda x, y: x.item() / y),
    *[case("number_pow", torch.tensor(x, dtype=torch.float64), y, oracle=lambda x, y: real_power(x.item(), y))
      for x, y in ((0.0, -1.0), (-2.5, 0.5), (1e200, 3.0))],
]  # fmt: skip


def real_power(x: float, y: float) -> float:
    """Python's power, where that is a real number; ValueError where it is a complex one."""
    power = x**y
    if isinstance(power, complex):
        raise ValueError(power)
    return float(power)


def test_what_torch_refuses_both_kernels_refuse(tmp_path: Path) -> None:
    """Ids beyond a table, places before the first, classes that are none, whole numbers divided by zero …"""
    for one in REFUSED:
        with pytest.raises((RuntimeError, IndexError, ArithmeticError, ValueError)):
            one.expected()
        ready = bound(one)
        with pytest.raises((operations.Unsupported, IndexError)):
            operations.perform(ready, ready.args)
    names = {bound(one).operation.name for one in REFUSED}
    scripts = {name: operations.javascript([name]) for name in names}
    data = {"cases": [job(bound(one)) for one in REFUSED], "scripts": scripts}
    harness = Path(__file__).parents[1].joinpath("js", "kernels.js").read_text(encoding="utf-8")
    answers = javascript_runner.run(operations.javascript(operations.kernels()) + harness, data, folder=tmp_path)
    shown = {described(one): answer for one, answer in zip(REFUSED, answers, strict=True)}
    assert {case: answer for case, answer in shown.items() if not str(answer.get("error")).startswith("Error: ")} == {}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What the JavaScript kernels make of every case, each from the script of its operation alone."""
    cases = [job(bound(one)) for one in ALL]
    data = {"cases": cases, "scripts": {name: operations.javascript([name]) for name in operations.TABLE}}
    harness = Path(__file__).parents[1].joinpath("js", "kernels.js").read_text(encoding="utf-8")
    script = operations.javascript(operations.kernels()) + harness
    results: list[Any] = javascript_runner.run(script, data, folder=tmp_path_factory.mktemp("js"))
    return results


def job(ready: operations.Bound) -> dict[str, Any]:
    """A bound call as JSON."""
    row = ready.operation
    args = [
        for_javascript(arg, index=name == "index" and row.name in ("getitem", "setitem"))
        for name, arg in zip(row.parameters, ready.args, strict=True)
    ]
    return {"op": row.name, "inplace": ready.inplace, "args": args}


@pytest.mark.parametrize("name", BY_NAME)
def test_numpy_kernel_equals_torch(name: str) -> None:
    """The numpy kernel gives torch's shapes, kinds and values in every case of an operation."""

    def attempt(number: int) -> None:
        ready = bound(ALL[number])
        seen = leaves(operations.perform(ready, ready.args))
        assert_same([(x.shape, KINDS[x.dtype.kind], x) for x in seen], expected(ALL[number]))

    assert failing(name, attempt) == {}


@pytest.mark.browser
@pytest.mark.parametrize("name", BY_NAME)
def test_javascript_kernel_equals_torch(name: str, answers: list[Any]) -> None:
    """The JavaScript kernel gives torch's shapes, kinds and values in every case of an operation."""

    def attempt(number: int) -> None:
        answer = answers[number]
        assert "error" not in answer, answer["error"]
        seen = [(tuple(x["shape"]), x["kind"], [float(v) for v in x["array"]]) for x in leaves(answer["result"])]
        assert_same(seen, expected(ALL[number]))

    assert failing(name, attempt) == {}


def test_a_failing_case_is_named() -> None:
    """One wrong case does not hide the others, and the failure says which call it was."""

    def attempt(number: int) -> None:
        assert number != BY_NAME["clamp"][1], "wrong on purpose"

    [(case, why)] = failing("clamp", attempt).items()
    assert case.startswith("case 2 of clamp: (float64[2, 3, 4]")
    assert "wrong on purpose" in why


def test_both_sets_of_kernels_are_equal() -> None:
    """Every row has a numpy and a JavaScript kernel; beside them JavaScript has what holds a step to plain values."""
    assert operations.kernels() == {*operations.TABLE, "guard"}


def test_every_row_is_tried() -> None:
    """No row of the table goes without a case in its own family's folder."""
    for family, cases in FAMILIES.items():
        rows = {name for name, row in operations.TABLE.items() if row.family == family}
        assert rows <= {bound(one).operation.name for one in cases}, family


# Names that torch keeps for old code, or that its own tests spell in another way than the functions do.
FOREIGN = {
    "weight", "size_average", "reduce", "pos_weight", "cudnn_enabled", "out_dtype", "out", "names", "kwargs", "train",
    "axis0", "axis1", "reps", "descending", "x", "y", "tensor", "ord", "mat", "vec", "batch1", "batch2",
    "prepend", "append",
}  # fmt: skip
ELSEWHERE = {"gather", "scatter", "unfold", "dot"}  # other functions of these names, and one misspelt stand-in
# Stand-ins that call an argument otherwise than the function itself does, or stand for two rows.
SPELLED = {"cholesky_solve": ["input", "input2", "upper"], "linalg_det": ["A"], "linalg_inv": ["A"],
           "linalg_slogdet": ["A"], "median": ["input"]}  # fmt: skip


def test_parameters_stand_in_torchs_order() -> None:
    """Positional arguments get the names that torch's own list of overridable functions gives them."""
    checked = 0
    for function, stand_in in get_testing_overrides().items():
        name = operations.plain_name(getattr(function, "__name__", ""))
        row = operations.TABLE.get(name)
        if (
            row is None
            or row.variadic
            or name in ELSEWHERE
            or (name, getattr(function, "__module__", "")) == ("batch_norm", "torch")
        ):
            continue
        spelled = ["input" if p == "self" else p for p in inspect.signature(stand_in).parameters]
        spelled = SPELLED.get(name, spelled)
        theirs = [p for p in spelled if p not in FOREIGN | operations.WITHOUT_EFFECT]
        assert [p for p in row.parameters if p in theirs] == theirs, name
        checked += 1
    assert checked > 150
