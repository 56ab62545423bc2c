"""A short selection of `make processors`: the operation table, and one lesson the whole way, on emulated processors."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from lessonpress.sandbox import SETTINGS
from tests import tiers
from tests.processors import rig

try:
    rig.emulator()
except rig.NoEmulator as error:
    pytestmark = pytest.mark.skip(reason=str(error))

# Without AVX and FMA, and of another maker with both: what any two processors may disagree in, these do.
MODELS = ("Nehalem", "EPYC")
LESSON = rig.PROJECT / "tests" / "lessons" / "tiny-affine"
REQUEST: Mapping[str, object] = {
    "groups": ["function", "operation", "product", "drawing", "judge"],
    "step": tiers.amount(4, 1),  # of an operation's cases, by day the first one and every fourth after it
    "lessons": {LESSON.name: rig.lesson_request(LESSON)},
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], rig.Answers]:
    """Give what computes everything on a processor, once."""
    return cache(lambda model: rig.ask(rig.started(model), REQUEST, tmp_path_factory.mktemp("answers")))


@pytest.mark.parametrize("model", tiers.some(MODELS, len(MODELS)))
def test_operations_are_the_same_bytes(model: str, answers: Callable[[str], rig.Answers]) -> None:
    """Every function, every row of the operation table, what is drawn, and what checks compute with."""
    here = answers(rig.HERE)
    assert len(here) > 1200
    assert rig.compare(here, answers(model)) == []


def test_without_the_settings_processors_differ(tmp_path: Path) -> None:
    """The C library, numpy and OpenBLAS then choose by processor: so the rig sees what the settings are for."""
    loose = {"GLIBC_TUNABLES": "", "NPY_DISABLE_CPU_FEATURES": "", "OPENBLAS_CORETYPE": ""}
    ours, theirs = (rig.ask_judge(rig.started(model), tmp_path, **loose) for model in MODELS)
    assert {one.name.split("/")[0] for one in rig.compare(ours, theirs)} >= {"math exp", "numpy matmul", "numpy tanh"}


@pytest.mark.parametrize("way", ["runs", pytest.param("whole", marks=pytest.mark.nightly)])
def test_a_lesson_has_one_identity(way: str, answers: Callable[[str], rig.Answers], tmp_path: Path) -> None:
    """What a small lesson computes, and its whole way from source to identity.json, here and without AVX and FMA."""
    models = (rig.HERE, MODELS[0])
    if way == "whole":
        ours, theirs = (rig.identity(model, LESSON, tmp_path / model) for model in models)
        assert ours == theirs
        return
    runs = [{name: array.tobytes() for name, array in answers(model).items() if name.startswith("lesson/")}
            for model in models]  # fmt: skip
    assert runs[0] == runs[1]
    assert len(runs[0]) > 3


def test_differences_are_counted_and_measured() -> None:
    """One ulp in one number of three is one difference of one number; NaN is NaN; a lost array is infinitely far."""
    one = {"facts": np.array("a"), "g/x/float64.0": np.array([1.0, np.nan, 2.0]), "g/y/float64.0": np.zeros(2)}
    other = {"facts": np.array("b"), "g/x/float64.0": np.array([1.0, np.nan, 2.0 + 2**-51])}
    found = rig.compare(one, other)
    assert [(d.group, d.name, d.cells, d.relative) for d in found] == [
        ("g", "x/float64.0", 1, 2.0**-52), ("g", "y/float64.0", -1, np.inf)]  # fmt: skip
    assert [rig.is_tolerated(d) for d in found] == [True, False]


def test_numpy_is_held_to_all_that_it_cannot_do_without() -> None:
    """The settings name every group of instructions that numpy chooses by; a new numpy may have others."""
    from numpy._core._multiarray_umath import __cpu_dispatch__

    if platform.machine() != "x86_64":
        pytest.skip("the settings name what numpy chooses by on x86-64")
    assert set(SETTINGS["NPY_DISABLE_CPU_FEATURES"].split()) == set(__cpu_dispatch__)
