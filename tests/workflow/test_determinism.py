"""The same lesson becomes the same bytes, whatever the machine, the user and the folder say."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from lessonpress.build import execute, source_record
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import reader
from tests import tiers, tiny
from tests.workflow import determinism

pytestmark = pytest.mark.workflow


def test_the_selection_holds_every_pair() -> None:
    """Every two values of two factors occur together, in far fewer runs than the product has."""
    chosen = determinism.pairwise()
    for one, two in itertools.combinations(range(len(determinism.FACTORS)), 2):
        values = list(determinism.FACTORS.values())
        wanted = set(itertools.product(values[one], values[two]))
        assert {(run[one], run[two]) for run in chosen} == wanted
    assert len(chosen) * 8 < len(determinism.product())
    for at, values in enumerate(determinism.FACTORS.values()):
        assert {run[at] for run in determinism.each_value()} == set(values)


@pytest.mark.parametrize("folder", tiers.some(determinism.lessons(), 100, lambda folder: folder.name))
def test_surroundings_do_not_show(folder: Path) -> None:
    """Processor hints, threads, hash seed, locale, time zone and the folder's name change no byte of a revision."""
    tried = determinism.pairwise() if tiers.NIGHTLY else determinism.each_value()
    assert determinism.different(folder, tried) == []


def test_an_operation_that_cannot_repeat_itself_is_named(tmp_path: Path) -> None:
    """torch knows operations whose result depends on who comes first; a lesson that uses one fails at its own line."""
    model = tiny.MODEL.replace("x + 1", "x.clone().put_(x.long(), x)")
    config = Config(lessons=str(tmp_path / "lessons"), work=str(tmp_path / "work"))
    read = reader.read(tiny.write(config.lesson("echo"), model=model))
    with pytest.raises(LessonError) as caught:
        execute.run_lesson(config, source_record.make_source_record(read), config.lesson("echo"))
    assert "echo/model.py:6: calling the model of Echo" in caught.value.message()
    assert "put_ does not have a deterministic implementation" in caught.value.message()
