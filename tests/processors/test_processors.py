"""A short selection of `make processors`: the operation table, and one lesson the whole way, on emulated processors."""

from __future__ import annotations

import platform
from collections.abc import Mapping
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
REQUEST: Mapping[str, object] = {"groups": ["function", "operation", "product", "drawing", "judge"]}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> rig.Answers:
    """What this machine computes."""
    return rig.ask(rig.started(rig.HERE), REQUEST, tmp_path_factory.mktemp("here"))


@pytest.mark.parametrize("model", tiers.some(MODELS, len(MODELS)))
def test_operations_are_the_same_bytes(model: str, here: rig.Answers, tmp_path: Path) -> None:
    """Every function, every row of the operation table, what is drawn, and what checks compute with."""
    assert len(here) > 2000
    assert rig.compare(here, rig.ask(rig.started(model), REQUEST, tmp_path)) == []


def test_without_the_settings_processors_differ(tmp_path: Path) -> None:
    """The C library, numpy and OpenBLAS then choose by processor: so the rig sees what the settings are for."""
    loose = {"GLIBC_TUNABLES": "", "NPY_DISABLE_CPU_FEATURES": "", "OPENBLAS_CORETYPE": ""}
    ours, theirs = (rig.ask(rig.started(model), {"groups": ["judge"]}, tmp_path, **loose) for model in MODELS)
    assert {one.name.split("/")[0] for one in rig.compare(ours, theirs)} >= {"math exp", "numpy matmul", "numpy tanh"}


def test_a_lesson_has_one_identity(tmp_path: Path) -> None:
    """A small lesson, from its source to identity.json, here and without AVX and FMA."""
    lesson = rig.PROJECT / "tests" / "lessons" / "tiny-affine"
    ours, theirs = (rig.identity(model, lesson, tmp_path / model) for model in (rig.HERE, MODELS[0]))
    assert ours == theirs


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
