"""What a live page shows is what PyTorch gives, for inputs that nobody recorded, or the page refuses in a sentence."""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from lessonpress.worker import recorded, run
from tests import tiers
from tests.browser.opening import make_preview, open_page
from tests.truth_architectures import ARCHITECTURES
from tests.truth_lessons import ALL, TruthLesson
from tests.truth_models import MODELS

pytestmark = pytest.mark.browser
# By the dtype in which a shown array was computed; float64 in both interpreters otherwise.
TOLERANCE = {"bfloat16": 2e-2, "float16": 2e-3, "float32": 1e-5}
ASK = """([inputs, shapes]) => {
  try {
    const answer = lesson.run("one", inputs);
    const arrays = Object.entries(inputs).map(([name, numbers]) => {
      const [shape, kind] = shapes[name];
      const strides = shape.map((_, d) => shape.slice(d + 1).reduce((n, m) => n * m, 1));
      return [name, { data: Float64Array.from(numbers), shape, strides, offset: 0, kind }];
    });
    const refused = lesson.move(Object.fromEntries(arrays));
    return refused ? { error: `Error: ${refused}` } : answer;
  } catch (error) {
    return { error: `${error.name}: ${error.message}` };
  }
}"""
WORDS = re.compile(r"\w*(Error|Exception)\b|undefined|null|opaque|slot|\[object|NaN is not", re.ASCII)
Moves = dict[str, list[float]]


def list_moves(lesson: TruthLesson, base: Mapping[str, list[float]], dice: random.Random) -> list[tuple[str, Moves]]:
    """Inputs to be tried, with what they are: small and large moves, no numbers, and what no id can be."""
    moves: list[tuple[str, Moves]] = []
    for kind in ("near", "near", "far", "far", "far"):
        moved: Moves = {}
        for name, spec in lesson.inputs.items():
            if "float" in spec["dtype"]:
                near = [v + dice.uniform(-0.002, 0.002) for v in base[name]]
                far = [round(dice.uniform(-3, 3), 3) for _ in base[name]]
                moved[name] = near if kind == "near" else far
            else:
                moved[name] = dice.sample(base[name], len(base[name]))
        moves.append((kind, moved))
    for name, spec in lesson.inputs.items():
        odd = (0.0, 1e9, -1e-9) if "float" in spec["dtype"] else (3.5, -1, -2, 0, 4, 5, 120, 1e6)
        moves += [("odd", {name: [value, *base[name][1:]]}) for value in odd]
    return moves


def ask_torch(lesson: TruthLesson, folder: Path, inputs: Moves) -> tuple[np.ndarray[Any, Any], str] | None:
    """What PyTorch gives for these inputs with its dtype, or None where it refuses them."""
    specs: list[Any] = []
    for name, spec in lesson.inputs.items():
        if "int" in spec["dtype"]:
            low, high = (-128, 127) if spec["dtype"] == "int8" else (-(2**62), 2**62)
            if not all(float(v).is_integer() and low <= v <= high for v in inputs[name]):
                return None
        values = [int(v) if "int" in spec["dtype"] else v for v in inputs[name]]
        specs.append([name, {"values": values, "shape": spec["shape"], "dtype": spec["dtype"]}])
    case = {"id": "one", "kind": "case", "seed": 3, "mode": "eval", "dtype": "float64", "args": {}, "weights": None,
            "parameters": {}, "inputs": specs}  # fmt: skip
    plan: Any = {"runs": [case], "model": {"file": "model.py", "class": "Net"}}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what torch says of `float(tensor)` is said to the curator
            captured = run.run_plan(plan, str(folder))
    except run.Failed:
        return None
    one = captured["runs"]["one"]
    [leaf] = [leaf for _, leaf in recorded.leaves(one["output"])]
    numbers = recorded.Runs(captured)["one"][lesson.output].astype(np.float64).ravel()
    return numbers, one["values"][leaf["tensor"]]["dtype"]


def differs(seen: float | str | None, right: float, allowed: float) -> bool:
    """Whether a shown number is another than the right one."""
    number = math.nan if seen is None else float(str(seen).replace("\N{MINUS SIGN}", "-"))
    if math.isnan(number) or math.isnan(right) or math.isinf(right):
        return not (number == right or (math.isnan(number) and math.isnan(right)))
    return abs(number - right) > allowed * max(1.0, abs(right))


def find_faults(
    page: Page, lesson: TruthLesson, inputs: Moves, right: np.ndarray[Any, Any] | None, dtype: str
) -> tuple[str, list[str]]:
    """What the page did ("followed", "refused", "still") and what is wrong with it."""
    shapes = {name: [spec["shape"], 2 if "float" in spec["dtype"] else 1] for name, spec in lesson.inputs.items()}
    answer = page.evaluate(ASK, [inputs, shapes])
    if "error" in answer:
        kind, _, why = answer["error"].partition(": ")
        bad = kind != "Error" or not 0 < len(why) <= 300 or WORDS.search(why)
        return "refused", [f"breaks: {answer['error']}"] if bad else []
    shown = page.locator(":is([data-case=one], [data-shows=one]) figure")
    cells = shown.locator(".pair tbody td").all_text_contents()
    marked = shown.locator(".recorded-only").count() > 0
    [figure], metrics = answer["matrices"], answer["metrics"]
    if figure is None:
        return "still", [] if marked else ["shows recorded numbers beside moved inputs, and does not say so"]
    if right is None:
        return "followed", ["shows numbers where PyTorch refuses"]
    allowed, faults = TOLERANCE.get(dtype, 1e-9), []
    if len(figure) != right.size or any(differs(a, b, allowed) for a, b in zip(figure, right.tolist(), strict=True)):
        faults.append(f"computes {figure}, PyTorch {right.tolist()}")
    if any(differs(a, b, max(allowed, 1e-3)) for a, b in zip(cells, right.tolist(), strict=True)):
        faults.append(f"shows {cells}, PyTorch gives {right.tolist()}")
    if dtype == "float64" and right.size:
        wanted = [int(np.argmax(right)), int(np.argmin(right)), float(np.sqrt(np.sum(right * right)))]
        if any(differs(a, b, 1e-9) for a, b in zip(metrics, wanted, strict=True)):
            faults.append(f"metrics {metrics}, of PyTorch's numbers {wanted}")
    return "followed", faults


LESSONS = {**ALL, **ARCHITECTURES, **MODELS}


@pytest.mark.parametrize("name", tiers.some(LESSONS, 11))
def test_a_page_shows_pytorchs_numbers_or_refuses(name: str, browser: Browser, tmp_path: Path) -> None:
    """Numbers, metrics and the cells on the screen, for small moves, large ones, and ids that are none."""
    lesson = LESSONS[name]
    folder = lesson.write(tmp_path / name)
    page = open_page(browser, (make_preview(folder, tmp_path / "revision") / "index.html").as_uri())
    if not page.evaluate("typeof globalThis.lesson !== 'undefined'"):
        assert lesson.follows == "nothing"
        reason = page.locator(".recorded-only").first.inner_text()
        assert len(reason) <= 400
        assert not WORDS.search(reason)
        return
    base: Moves = {each: page.evaluate("(n) => lesson.input('one', n)", each) for each in lesson.inputs}
    did: dict[str, list[str]] = {"near": [], "far": [], "odd": []}
    faults = []
    for kind, inputs in list_moves(lesson, base, random.Random(5)):
        right, dtype = ask_torch(lesson, folder, {**base, **inputs}) or (None, "float64")
        seen, wrong = find_faults(page, lesson, inputs, right, dtype)
        did[kind].append(seen if right is not None else "rightly refused")
        faults += [f"{kind} {inputs}: {fault}" for fault in wrong]
    assert faults == []
    wanted = {"all": {"near", "far"}, "near": {"near"}, "nothing": set[str]()}[lesson.follows]
    assert all(set(did[kind]) <= {"followed", "rightly refused"} for kind in wanted), did
    assert lesson.follows != "nothing" or "followed" not in did["far"], did
