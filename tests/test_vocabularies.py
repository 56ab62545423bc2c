"""Words in the place of numbers: what the plan holds for them, and what is no word."""

from __future__ import annotations

from pathlib import Path

import pytest

from lessonpress.core.errors import LessonError
from lessonpress.lesson import plan, reader
from tests import tiny

RECIPE = """\
schema: 1
slug: echo
title: Echo
model: {file: model.py, class: Echo}
vocabularies: {source: [the, cat, sat], target: [le, chat]}
execution:
  inputs:
    x: {words: the cat the, vocabulary: source}
    pair: {tuple: [{words: [[le, chat]], vocabulary: target}, {literal: 1}]}
experiment:
  cases:
    - {id: other, inputs: {x: {words: [sat, the]}}}
    - {id: ids, inputs: {x: {values: [2, 2]}}}
    - {id: shaped, inputs: {x: {words: cat sat, vocabulary: source, shape: [1, 2], dtype: int32}}}
"""


def read(folder: Path, recipe: str) -> reader.Lesson:
    """The lesson with a recipe."""
    return reader.read(tiny.write(folder / "echo", recipe=recipe))


def test_words_are_their_places_in_the_vocabulary(tmp_path: Path) -> None:
    """Worked out by hand; a case inherits the vocabulary, and may say numbers instead."""
    runs = {run["id"]: dict(run["inputs"]) for run in plan.plan_runs(read(tmp_path, RECIPE).recipe)["runs"]}
    assert runs["execution"]["x"] == {"values": [0, 1, 0], "dtype": "int64"}
    assert runs["execution"]["pair"]["tuple"][0] == {"values": [[0, 1]], "dtype": "int64"}
    assert runs["other"]["x"] == {"values": [2, 0], "dtype": "int64"}
    assert runs["ids"]["x"] == {"values": [2, 2]}
    assert runs["shaped"]["x"] == {"values": [1, 2], "dtype": "int32", "shape": [1, 2]}


MISTAKES = {
    "another word": ("the cat the", "the hat the", "inputs.x.words: 'hat' is not in the vocabulary source. Did"),
    "a case's word": ("[sat, the]", "[le]", "experiment.cases[0].inputs.x.words: 'le' is not in the vocabulary source"),
    "no vocabulary": (", vocabulary: source}\n    pair", "}\n    pair", "x.words: nothing says which numbers these"),
    "another vocabulary": ("vocabulary: target", "vocabulary: targets", "no vocabulary is called 'targets'"),
    "a word twice": ("[le, chat]}\n", "[le, le]}\n", "vocabularies.target[1]: 'le' stands in it twice; each word once"),
    "two words": ("[the, cat, sat]", "[the cat, cat, the]", "vocabularies.source[0]: 'the cat' is no single word"),
    "words and values": ("{words: the cat the,", "{words: the, values: [1],", "values and words stand side by side"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_no_word_is_a_mistake(tmp_path: Path, name: str) -> None:
    """At its line, before anything runs."""
    old, new, message = MISTAKES[name]
    assert RECIPE.count(old) == 1
    with pytest.raises(LessonError) as caught:
        read(tmp_path, RECIPE.replace(old, new))
    assert message in caught.value.message()
