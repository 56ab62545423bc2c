"""What the worker is asked to do: every default and inheritance written out."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessonpress.lesson import plan, reader
from lessonpress.lesson.recipe import Recipe, Spec
from tests import tiny


def recipe(**more: Any) -> Recipe:
    """A small recipe."""
    base = {"schema": 1, "slug": "a", "title": "A", "model": {"class": "A", "args": {"width": 2, "deep": True}}}
    inputs = {"x": {"shape": [2], "dtype": "float32", "fill": "randn"}, "n": {"literal": 3}}
    return Recipe.model_validate({**base, "execution": {"seed": 4, "inputs": inputs}, **more})


def test_without_an_experiment_there_is_one_run() -> None:
    """The execution is planned with the recipe's seed, mode, dtype and constructor arguments."""
    assert plan.plan_runs(recipe())["runs"] == [
        {
            "id": "execution",
            "kind": "execution",
            "seed": 4,
            "mode": "eval",
            "dtype": "float32",
            "args": {"width": 2, "deep": True},
            "weights": None,
            "parameters": {},
            "inputs": [["x", {"shape": [2], "dtype": "float32", "fill": "randn"}], ["n", {"literal": 3}]],
        }
    ]


def test_runs_come_in_order_execution_cases_probes() -> None:
    """The order of runs is the recipe's, and each knows its kind."""
    runs = plan.plan_runs(recipe(experiment={"cases": [{"id": "b"}, {"id": "a"}], "probes": [{"id": "p"}]}))["runs"]
    assert [(run["id"], run["kind"]) for run in runs] == [
        ("execution", "execution"),
        ("b", "case"),
        ("a", "case"),
        ("p", "probe"),
    ]


def test_a_case_overrides_experiment_overrides_execution() -> None:
    """What is said further in wins; what is not said is inherited, and the order of inputs stays forward()'s."""
    experiment = {
        "seed": 9,
        "inputs": {"x": {"fill": 0}},
        "cases": [
            {"id": "a", "inputs": {"n": {"literal": 5}}, "args": {"width": 7}},
            {"id": "b", "inputs": {"x": {"fill": 1}}},
        ],
    }
    a, b = plan.plan_runs(recipe(experiment=experiment))["runs"][1:]
    assert a["inputs"] == [["x", {"shape": [2], "dtype": "float32", "fill": 0}], ["n", {"literal": 5}]]
    assert a["args"] == {"width": 7, "deep": True}
    assert b["inputs"] == [["x", {"shape": [2], "dtype": "float32", "fill": 1}], ["n", {"literal": 3}]]
    assert (a["seed"], a["dtype"], a["mode"]) == (9, "float64", "eval")


def test_an_experiment_inherits_seed_and_mode_of_the_execution() -> None:
    """Only the dtype has a default of its own: recording is in float64."""
    run = plan.plan_runs(recipe(execution={"seed": 3, "mode": "train"}, experiment={"cases": [{"id": "a"}]}))["runs"][1]
    assert (run["seed"], run["mode"], run["dtype"]) == (3, "train", "float64")


@pytest.mark.parametrize(
    ("base", "over", "whole"),
    [
        ({"shape": [2], "dtype": "int64", "fill": "ones"}, {"fill": 0}, {"shape": [2], "dtype": "int64", "fill": 0}),
        ({"shape": [2], "fill": "ramp", "start": 1}, {"fill": 0}, {"shape": [2], "fill": 0}),
        (
            {"shape": [2], "fill": "ramp", "start": 1},
            {"step": 2},
            {"shape": [2], "fill": "ramp", "start": 1, "step": 2},
        ),
        (
            {"shape": [2], "dtype": "int64", "fill": 1},
            {"values": [3, 4]},
            {"shape": [2], "dtype": "int64", "values": [3, 4]},
        ),
        ({"values": [1, 2], "dtype": "int64"}, {"dtype": "int32"}, {"values": [1, 2], "dtype": "int32"}),
        ({"shape": [2], "fill": 1}, {"literal": None}, {"literal": None}),
        ({"literal": 3}, {"shape": [1], "fill": 0}, {"shape": [1], "fill": 0}),
        ({"list": [{"literal": 1}]}, {"list": []}, {"list": []}),
        (
            {"dict": {"a": {"shape": [2], "fill": 1}, "b": {"literal": 1}}},
            {"dict": {"a": {"fill": 2}}},
            {"dict": {"a": {"shape": [2], "fill": 2}, "b": {"literal": 1}}},
        ),
        ({}, {"values": [1]}, {"values": [1]}),
    ],
)
def test_a_spec_inherits_what_it_does_not_say(base: Any, over: Any, whole: Any) -> None:
    """A new way of saying the values replaces the old one whole; shape and dtype stay."""
    assert plan.overlay_spec(base, over) == whole


def test_what_is_filled_is_float32_unless_it_says_otherwise() -> None:
    """The default is written out at the root, so that a case's literal values inherit it too."""
    inputs = {"x": {"shape": [2], "fill": 0}, "y": {"list": [{"dict": {"a": {"shape": [1], "fill": 1}}}]}}
    experiment = {"cases": [{"id": "a", "inputs": {"x": {"values": [1, 2]}}}]}
    execution, case = plan.plan_runs(recipe(execution={"inputs": inputs}, experiment=experiment))["runs"]
    assert dict(execution["inputs"])["x"]["dtype"] == "float32"
    assert dict(execution["inputs"])["y"]["list"][0]["dict"]["a"]["dtype"] == "float32"
    assert dict(case["inputs"])["x"] == {"shape": [2], "dtype": "float32", "values": [1, 2]}


def test_only_given_keys_are_planned() -> None:
    """A literal None was said; a missing key was not."""
    assert plan.write_spec(Spec.model_validate({"literal": None})) == {"literal": None}
    nested = {"dict": {"a": {"list": [{"tuple": [{"literal": 1}]}]}}}
    assert plan.write_spec(Spec.model_validate(nested)) == nested


NUMBERS = st.floats() | st.integers() | st.none() | st.booleans() | st.text(max_size=3)


@given(st.recursive(NUMBERS, lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=3), x, max_size=3)))
def test_every_value_becomes_strict_json(value: object) -> None:
    """NaN and the infinities are spelled out, so that the plan is JSON anywhere."""
    json.dumps(plan.to_json(value), allow_nan=False)


def test_numbers_that_are_none_are_named() -> None:
    """The worker reads them back from these words."""
    values = plan.to_json([float("nan"), float("inf"), -float("inf"), 1.5])
    assert values == [{"float": "NaN"}, {"float": "Infinity"}, {"float": "-Infinity"}, 1.5]


def test_the_tiny_lessons_plan_says_what_is_cut_out() -> None:
    """The reader's tools find in the plan what is recorded, and how it is cut."""
    planned = plan.plan_runs(reader.read(Path(tiny.LESSON)).recipe)
    assert [entry["id"] for entry in planned["record"]] == ["mapped", "halves", "shift", "corner"]
    assert planned["record"][3] == {"id": "corner", "tensor": "output[0]", "select": "[0, 0]", "reshape": None}
    assert planned["metrics"][2] == {"id": "spread", "value": "metric_spread", "of": "mapped"}
    assert planned["runs"][3]["parameters"]["line.bias"] == {"values": [1, 2, 3]}


@pytest.mark.parametrize(
    ("execution", "experiment", "case", "planned"),
    [
        (None, None, None, [None, None]),
        ("late", None, None, ["late", "late"]),
        ("late", "early", None, ["late", "early"]),
        ("late", "early", "drawn", ["late", None]),
        ("late", "drawn", None, ["late", None]),
        (None, None, "early", [None, "early"]),
    ],
)
def test_weights_are_those_of_the_innermost_word(
    execution: str | None, experiment: str | None, case: str | None, planned: list[str | None]
) -> None:
    """A case before the experiment before the execution; `drawn` and silence everywhere mean what the seed draws."""
    whole = recipe(prepare={}, experiment={"weights": experiment, "cases": [{"id": "a", "weights": case}]})
    whole = whole.model_copy(update={"execution": whole.execution.model_copy(update={"weights": execution})})
    assert [run["weights"] for run in plan.plan_runs(whole)["runs"]] == planned


@pytest.mark.parametrize(("own", "experiment", "seed"), [(None, None, 4), (None, 9, 9), (7, 9, 7)])
def test_training_begins_with_the_weights_that_the_cases_draw(own: Any, experiment: Any, seed: int) -> None:
    """Its seed is its own, or the experiment's, or the execution's."""
    whole = recipe(prepare={"seed": own}, experiment={"seed": experiment, "cases": [{"id": "a"}]})
    task = plan.plan_runs(whole)["prepare"]
    assert task["seed"] == seed
    assert (task["file"], task["function"], task["mode"]) == ("model.py", "prepare", "train")
    assert plan.plan_runs(recipe())["prepare"] is None
