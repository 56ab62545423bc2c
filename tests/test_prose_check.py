"""Words that the page cannot show are reported at their own line, by lint and by render alike."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lessonpress.core.errors import LessonError
from lessonpress.lesson import reader
from lessonpress.web.page import prose_check
from tests import tiny

# Every text that a recipe can hold, each on a line of its own.
RECIPE = """\
schema: 1
slug: echo
title: TITLE
question: QUESTION
description: |-
  Two lines, and {{ one.total }}.
  DESCRIPTION
category: Tests
curator: CURATOR
attribution: ATTRIBUTION
license: LICENSE
limitations: LIMITATIONS
milestone:
  name: NAME
  fidelity: FIDELITY
model: {file: model.py, class: Echo}
execution: {seed: 1, dtype: float64, inputs: {batch: {dict: {x: {shape: [2, 3], dtype: float64, fill: arange}}}}}
experiment:
  title: EXAMPLE
  description: EXPERIMENT
  cases:
    - id: one
      label: LABEL
      note: NOTE
    - id: two
  record:
    matrices:
      - id: sum
        label: MATRIX
        tensor: "output[sum]"
    vectors:
      - id: row
        label: VECTOR
        tensor: "output[sum]"
        select: "[0]"
    metrics:
      - id: total
        label: METRIC
        value: sum
        of: sum
checks: checks.py
scope: SCOPE
steps:
  - id: see
    target: part.line
    title: STEP
    note: STORY
questions:
  - id: ask
    prompt: PROMPT
    options:
      - OPTION
      - no
    answer: "0"
glossary:
  - term: TERM
    beginner: BEGINNER
    expert: EXPERT
"""
WORDS = sorted({word for word in RECIPE.replace(":", " ").split() if word.isupper() and word.isalpha()})


def rendered(folder: Path, recipe: str, sentence: str = "It adds up.") -> None:
    """Render the hand-made runs with a recipe."""
    config = tiny.at(folder)
    tiny.write(config.lesson("echo"), recipe=recipe, checks=tiny.CHECKS)
    tiny.without_worker(config, tiny.capture(), [tiny.verdict(sentence=sentence, mutants=[])])


def test_the_whole_recipe_renders(tmp_path: Path) -> None:
    """What the tests below break is whole to begin with, and there are texts to break."""
    rendered(tmp_path, RECIPE)
    assert len(WORDS) > 20


@pytest.mark.parametrize("word", WORDS)
def test_every_text_is_reported_at_its_line(tmp_path: Path, word: str) -> None:
    """Lint and render say the same: file, line, key, and what is wrong with the maths."""
    recipe = RECIPE.replace(f" {word}\n", " Here $\\nix$.\n")
    lesson = reader.read(tiny.write(tmp_path / "lessons" / "echo", recipe=recipe, checks=tiny.CHECKS))
    [error] = prose_check.find_unreadable(lesson)
    before = RECIPE[: RECIPE.index(f" {word}\n")]
    line = before.count("\n") + (-1 if word == "DESCRIPTION" else 1)
    assert error.message().startswith(f"{os.path.relpath(tmp_path)}/lessons/echo/lesson.yaml:{line}: ")
    assert "unknown TeX command '\\\\nix'" in error.message()
    with pytest.raises(LessonError) as caught:
        rendered(tmp_path, recipe)
    assert caught.value.message() == error.message()


def test_a_checks_sentence_is_reported_at_its_line(tmp_path: Path) -> None:
    """Its words stand in the checks' file."""
    with pytest.raises(LessonError) as caught:
        rendered(tmp_path, RECIPE, sentence="So $\\nix$.")
    assert caught.value.where.endswith("lessons/echo/checks.py:7: check_it")


def test_several_texts_are_reported_together(tmp_path: Path) -> None:
    """A curator mends all of them in one go."""
    with pytest.raises(LessonError) as caught:
        rendered(tmp_path, RECIPE.replace(" NOTE\n", " $\\nix$\n").replace(" STORY\n", " $\\nay$\n"))
    assert len(caught.value.message().splitlines()) == 2
