"""The code that run.py makes its inputs with gives the same tensors as the worker does."""

import ast
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lessonpress.lesson import input_specs, plan
from lessonpress.lesson.recipe import Dtype, Fill
from lessonpress.revision import bundle
from lessonpress.worker import inputs

RUNS = ("float32", "float64", "float16", "bfloat16")
DTYPES = Dtype.__args__  # type: ignore[attr-defined]
FILLS = Fill.__args__  # type: ignore[attr-defined]
NAN, INF = float("nan"), float("inf")
SPECS: list[dict[str, Any]] = [
    {"values": [1, 2, 3]},
    {"values": [[0.1, 2.5], [NAN, -INF]]},
    {"values": 7},
    {"values": [0.1], "dtype": "float32"},
    {"values": [0.1], "dtype": "float64"},
    {"values": [0.1, 1e5], "dtype": "float16"},
    {"values": [0.1], "dtype": "bfloat16"},
    {"values": [1, 2], "dtype": "int8"},
    {"values": [True, False]},
    {"values": [1, 0], "dtype": "bool"},
    {"values": ["1+2j", 3, "nan+1j"], "dtype": "complex64"},
    {"values": ["-0.5j"], "dtype": "complex128"},
    {"values": [1, 2, 3, 4, 5, 6], "shape": [2, 3]},
    {"values": [[1, 2], [3, 4]], "shape": [4], "dtype": "float32"},
    {"values": []},
    {"shape": [0, 3], "fill": "ones"},
    {"shape": [], "fill": 2.5},
    {"shape": [2], "fill": NAN},
    {"shape": [2], "fill": -INF},
    {"shape": [2], "fill": 0.1},
    {"shape": [2], "fill": True},
    {"shape": [2], "fill": True, "dtype": "bool"},
    {"shape": [2, 2], "fill": 0.1, "dtype": "float64"},
    {"shape": [2, 3], "fill": "ramp", "start": -1, "step": 0.1},
    {"shape": [4], "fill": "ramp", "step": 1e-9, "dtype": "float64"},
    {"shape": [4], "fill": "ramp", "start": 5, "step": -2, "dtype": "int32"},
    {"shape": [3], "fill": "ramp"},
    {"literal": None},
    {"literal": "text"},
    {"literal": [1, {"a": NAN}]},
    {"literal": {"deep": [True, 0.5]}},
    {"list": [{"literal": 1}, {"shape": [2], "fill": "randn"}]},
    {"tuple": [{"values": [1]}]},
    {"tuple": []},
    {"list": []},
    {"dict": {"a b": {"tuple": [{"shape": [2], "fill": "rand"}, {"dict": {}}]}, "'": {"literal": "'"}}},
]
SPECS += [
    {"shape": [2, 3], "fill": fill, "dtype": dtype}
    for fill in FILLS
    for dtype in DTYPES
    if not (fill == "ramp" and dtype in ("bool",))
]


def same(one: Any, two: Any) -> bool:
    """Equal kinds, dtypes, shapes and bits (NaN is NaN)."""
    if isinstance(one, torch.Tensor):
        return (
            isinstance(two, torch.Tensor)
            and one.dtype == two.dtype
            and torch.equal(one.nan_to_num(nan=7), two.nan_to_num(nan=7))
            and torch.equal(one.isnan(), two.isnan())
        )
    if isinstance(one, dict):
        return isinstance(two, dict) and list(one) == list(two) and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list | tuple):
        return type(one) is type(two) and len(one) == len(two) and all(map(same, one, two))
    return type(one) is type(two) and (one == two or (one != one and two != two))


def drawn(make: Any) -> Any:
    """What comes out of a freshly seeded generator."""
    torch.manual_seed(3)
    return make()


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_the_script_makes_the_workers_inputs(spec: dict[str, Any], run: str) -> None:
    """Bit for bit, for every fill, dtype and nesting, in every precision of the run."""
    planned = plan.complete_spec(plan.to_json(spec))
    expected = drawn(lambda: inputs.make(planned, getattr(torch, run)))
    assert same(drawn(lambda: eval(bundle.make_input_code(planned, run), {"torch": torch})), expected)


@given(
    st.lists(st.floats(width=32) | st.integers(-9, 9), min_size=1, max_size=5),
    st.sampled_from(["float32", "float64", None]),
    st.sampled_from(["float32", "float64"]),
)
def test_literal_numbers_keep_their_bits(numbers: list[float], dtype: str | None, run: str) -> None:
    """Whatever numbers a recipe writes down, the reader's script starts from the same."""
    spec = plan.to_json({"values": numbers, **({"dtype": dtype} if dtype else {})})
    assert not list(input_specs.find_faults(spec))
    assert same(eval(bundle.make_input_code(spec, run), {"torch": torch}), inputs.make(spec, getattr(torch, run)))


def test_the_whole_script_compiles_with_every_input(project: Path) -> None:
    """One script with all of them is Python."""
    run = {"seed": 0, "mode": "eval", "dtype": "float32", "args": {}}
    given_ = [[f"x{i}", plan.complete_spec(plan.to_json(spec))] for i, spec in enumerate(SPECS)]
    planned = {"model": {"file": "model.py", "class": "A"}, "runs": [{**run, "inputs": given_}]}
    ast.parse(bundle.make_run_script((project / "templates" / "run.py.txt").read_text("utf-8"), planned, ["[1]"]))
