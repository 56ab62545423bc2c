"""A short selection of `make processors`: the operation table, and one lesson the whole way, on emulated processors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.processors import rig

try:
    rig.emulator()
except rig.NoEmulator as error:
    pytestmark = pytest.mark.skip(reason=str(error))
else:
    pytestmark = pytest.mark.workflow

# Without AVX and FMA, and of another maker with both: what any two processors may disagree in, these do.
MODELS = ("Nehalem", "EPYC")
REQUEST: Mapping[str, object] = {"groups": ["function", "operation", "product", "drawing", "judge"]}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> rig.Answers:
    """What this machine computes."""
    return rig.ask(rig.started(rig.HERE), REQUEST, tmp_path_factory.mktemp("here"))


@pytest.mark.parametrize("model", MODELS)
def test_operations_are_the_same_bytes(model: str, here: rig.Answers, tmp_path: Path) -> None:
    """Every function, every row of the operation table, what is drawn, and what checks compute with."""
    assert len(here) > 2000
    assert rig.compare(here, rig.ask(rig.started(model), REQUEST, tmp_path)) == []


def test_a_processor_that_is_not_pinned_is_noticed(here: rig.Answers, tmp_path: Path) -> None:
    """Without the settings of the record, numpy and the C library choose by processor: the rig has teeth."""
    loose = {"GLIBC_TUNABLES": "", "NPY_DISABLE_CPU_FEATURES": "", "OPENBLAS_CORETYPE": ""}
    request = {"groups": ["judge"]}
    free, pinned = (rig.ask(rig.started(MODELS[0]), request, tmp_path, **more) for more in (loose, {}))
    assert not rig.compare(pinned, {name: here[name] for name in pinned})
    ours = rig.ask(rig.started(rig.HERE), request, tmp_path, **loose)
    assert rig.compare(ours, free)


def test_a_lesson_has_one_identity(tmp_path: Path) -> None:
    """The smallest lesson of the tests, from its source to identity.json, here and on the other maker's processor."""
    lesson = rig.PROJECT / "tests" / "lessons" / "tiny-affine"
    ours, theirs = (rig.identity(model, lesson, tmp_path / model) for model in (rig.HERE, MODELS[1]))
    assert ours == theirs


def test_differences_are_counted_and_measured() -> None:
    """One ulp in one number of three is one difference of one number; NaN is NaN; a lost array is infinitely far."""
    one = {"facts": np.array("a"), "g/x/float64.0": np.array([1.0, np.nan, 2.0]), "g/y/float64.0": np.zeros(2)}
    other = {"facts": np.array("b"), "g/x/float64.0": np.array([1.0, np.nan, 2.0 + 2**-51])}
    found = rig.compare(one, other)
    assert [(d.group, d.name, d.cells, d.relative) for d in found] == [
        ("g", "x/float64.0", 1, 2.0**-52), ("g", "y/float64.0", -1, np.inf)]  # fmt: skip
    assert [rig.tolerated(d) for d in found] == [True, False]
