"""Reading a lesson's folder: every mistake is one message with file, line, key, what was seen and what was expected."""

import json
import os
import re
from pathlib import Path

import pytest

from lessonpress.build import source_record
from lessonpress.core.errors import LessonError
from lessonpress.lesson import reader
from tests import tiny

FULL = """\
schema: 1
slug: echo
title: Echo
model: {file: model.py, class: Echo, args: {}}
execution:
  inputs:
    x: {shape: [1, 8], dtype: float32, fill: ones}
    ids: {values: [1, 2], dtype: int64}
experiment:
  inputs:
    x: {fill: 2}
  control: {input: x, range: [-1, 1]}
  cases:
    - id: zero
      inputs: {x: {fill: 0}}
    - id: one
      inputs:
        x: {fill: 1}
  probes:
    - id: off
      parameters:
        w: {fill: 0}
  record:
    matrices:
      - {id: all, tensor: output}
    vectors:
      - {id: row, tensor: output, select: "[0]"}
    metrics:
      - {id: total, value: sum, of: all}
checks: checks.py
opening_step: see
steps:
  - {id: see, target: output, title: See}
  - {id: more, target: output, title: More}
"""
MUTANT = """\
mutants:
  - {id: plain, sentence: "", replace: {file: model.py, find: x + 1, with: x}, breaks: [check_it]}"""


def read(folder: Path) -> None:
    """Everything that is noticed without running the lesson."""
    source_record.make_source_record(reader.read(folder))


def mistake(folder: Path, recipe: str, **files: str) -> str:
    """The message that a recipe earns, its places given from the lesson's folder on."""
    tiny.write(folder / "echo", recipe=recipe, **{"checks": "", **files})
    with pytest.raises(LessonError) as caught:
        read(folder / "echo")
    return caught.value.message().replace(os.path.relpath(folder) + "/", "")


def changed(old: str, new: str) -> str:
    """The full recipe with one text replaced."""
    assert FULL.count(old) == 1
    return FULL.replace(old, new)


def test_the_full_recipe_is_good(tmp_path: Path) -> None:
    """What the tests below break is whole to begin with."""
    read(tiny.write(tmp_path / "echo", recipe=FULL, checks=""))


def test_the_smallest_recipe_is_good(tmp_path: Path) -> None:
    """Five keys make a lesson."""
    read(tiny.write(tmp_path / "echo"))


MISTAKES = {
    "unknown key": (
        "title: Echo",
        "titel: Echo",
        "echo/lesson.yaml:3: titel: unknown key; known here: attribution, category, ",
    ),
    "unknown key deep inside": (
        "x: {fill: 1}",
        "x: {fil: 1}",
        "echo/lesson.yaml:18: experiment.cases[1].inputs.x.fil: unknown key; known here: data, dict, dtype, fill, "
        "list, literal, "
        "shape, start, step, tuple, values, vocabulary, words. Did you mean fill?",
    ),
    "unknown key of a case": (
        "- id: one",
        "- id: one\n      lable: One",
        "echo/lesson.yaml:17: experiment.cases[1].lable: unknown key; known here: args, id, inputs, label, "
        "note, parameters, "
        "target, weights. Did you mean label?",
    ),
    "unknown key of an axis": (
        "{id: all, tensor: output}",
        "{id: all, tensor: output, rows: {nam: x}}",
        "echo/lesson.yaml:25: experiment.record.matrices[0].rows.nam: unknown key; known here: labels, name. "
        "Did you mean name?",
    ),
    "missing key": ("title: Echo\n", "", "echo/lesson.yaml:1: title: this key is missing; it is required."),
    "missing key inside": (
        "model: {file: model.py, class: Echo, args: {}}",
        "model: {file: model.py}",
        "echo/lesson.yaml:4: model.class: this key is missing; it is required.",
    ),
    "text for a number": (
        "schema: 1",
        "schema: one",
        "echo/lesson.yaml:1: schema: 'one' given; expected 1.",
    ),
    "number for text": ("title: Echo", "title: 5", "echo/lesson.yaml:3: title: 5 given; expected text."),
    "text for a list": (
        "title: Echo",
        "title: Echo\ntags: attention",
        "echo/lesson.yaml:4: tags: 'attention' given; expected a list.",
    ),
    "list for a mapping": (
        "model: {file: model.py, class: Echo, args: {}}",
        "model: [model.py]",
        "echo/lesson.yaml:4: model: ['model.py'] given; expected a mapping.",
    ),
    "text for a seed": (
        "execution:\n",
        "execution:\n  seed: zero\n",
        "echo/lesson.yaml:6: execution.seed: 'zero' given; expected a whole number.",
    ),
    "dtype that torch lacks": (
        "dtype: float32",
        "dtype: float31",
        "echo/lesson.yaml:7: execution.inputs.x.dtype: 'float31' given; expected 'float32', ",
    ),
    "fill that nobody knows": (
        "fill: ones",
        "fill: gauss",
        "echo/lesson.yaml:7: execution.inputs.x.fill: 'gauss' given; expected 'zeros', ",
    ),
    "size below zero": (
        "shape: [1, 8]",
        "shape: [1, -8]",
        "echo/lesson.yaml:7: execution.inputs.x.shape[1]: -8 given; expected: ",
    ),
    "slug with capitals": ("slug: echo", "slug: Echo", "echo/lesson.yaml:2: slug: 'Echo' given; text that matches "),
    "slug that is not the folder": (
        "slug: echo",
        "slug: other",
        "echo/lesson.yaml:2: slug: 'other' given; the folder is called 'echo'.",
    ),
    "model file that is not there": (
        "file: model.py",
        "file: modle.py",
        "echo/lesson.yaml:4: model.file: there is no modle.py in the folder; Python files there: checks.py, model.py.",
    ),
    "checks file that is not there": (
        "checks: checks.py",
        "checks: check.py",
        "echo/lesson.yaml:30: checks: there is no check.py in the folder; Python files there: checks.py, model.py.",
    ),
    "wrong input in a case": (
        "x: {fill: 1}",
        "y: {fill: 1}",
        "echo/lesson.yaml:18: experiment.cases[1].inputs.y: no input is called 'y'; inputs: ids, x.",
    ),
    "wrong input under the control": (
        "control: {input: x",
        "control: {input: z",
        "echo/lesson.yaml:12: experiment.control.input: no input is called 'z'; inputs: ids, x.",
    ),
    "id of a case twice": (
        "- id: one",
        "- id: zero",
        "echo/lesson.yaml:16: experiment.cases[1].id: the id 'zero' stands here a second time; line 14 has it already.",
    ),
    "id of a probe that a case has": (
        "- id: off",
        "- id: one",
        "echo/lesson.yaml:20: experiment.probes[0].id: the id 'one' stands here a second time; line 16 has it already.",
    ),
    "id of a record twice": (
        "{id: row,",
        "{id: all,",
        "echo/lesson.yaml:27: experiment.record.vectors[0].id: the id 'all' stands here a second",
    ),
    "id of a step twice": (
        "{id: more,",
        "{id: see,",
        "echo/lesson.yaml:34: steps[1].id: the id 'see' stands here a second time",
    ),
    "id with a space": (
        "- id: one",
        "- id: one more",
        "echo/lesson.yaml:16: experiment.cases[1].id: 'one more' given; text that matches ",
    ),
    "case called execution": (
        "- id: one",
        "- id: execution",
        "echo/lesson.yaml:16: experiment.cases[1].id: 'execution' is the name of the execution's own run; another name",
    ),
    "broken variant of no code": (
        "opening_step: see",
        MUTANT.replace("file: model.py", "file: checks.py"),
        "echo/lesson.yaml:32: mutants[0].replace.file: checks.py is no code that the run uses; one of: model.py.",
    ),
    "broken variant that breaks nothing": (
        "opening_step: see",
        MUTANT.replace("with: x", "with: x + 1"),
        "echo/lesson.yaml:32: mutants[0].replace.with: it is what stands there already; code that breaks something.",
    ),
    "broken variant of a text that stands nowhere": (
        "opening_step: see",
        MUTANT.replace("find: x + 1", "find: x - 1"),
        "echo/lesson.yaml:32: mutants[0].replace.find: 'x - 1' stands in model.py 0 times; exactly once. "
        "Copy more of the line, so that it names one place.",
    ),
    "broken variant of a text that stands twice": (
        "opening_step: see",
        MUTANT.replace("find: x + 1", "find: x"),
        "echo/lesson.yaml:32: mutants[0].replace.find: 'x' stands in model.py 2 times (lines 5, 6); exactly once. ",
    ),
    "broken variant that breaks no check": (
        "opening_step: see",
        MUTANT.replace("[check_it]", "[it]"),
        "echo/lesson.yaml:32: mutants[0].breaks[0]: 'it' given; text that matches ^check_",
    ),
    "broken variant without checks": (
        "checks: checks.py\nopening_step: see",
        MUTANT,
        "echo/lesson.yaml:31: mutants[0].breaks: a broken variant needs checks that fail on it; `checks:` names their",
    ),
    "broken variant twice": (
        "opening_step: see",
        MUTANT + "\n" + MUTANT.splitlines()[-1],
        "echo/lesson.yaml:33: mutants[1].id: the id 'plain' stands here a second time; line 32 has it already.",
    ),
    "metric of nothing recorded": (
        "of: all",
        "of: al",
        "echo/lesson.yaml:29: experiment.record.metrics[0].of: nothing recorded is called 'al'; recorded: all, row.",
    ),
    "metric that nobody knows": (
        "value: sum",
        "value: median",
        "echo/lesson.yaml:29: experiment.record.metrics[0].value: 'median' given; ",
    ),
    "opening step that is none": (
        "opening_step: see",
        "opening_step: sea",
        "echo/lesson.yaml:31: opening_step: no step is called 'sea'; steps: ",
    ),
    "two ways at once": (
        "{shape: [1, 8], dtype: float32, fill: ones}",
        "{shape: [1, 8], fill: ones, values: [1]}",
        "echo/lesson.yaml:7: execution.inputs.x: fill and values stand side by side; one way of saying what "
        "the input is.",
    ),
    "two ways in what cases share": (
        "    x: {fill: 2}",
        "    x: {fill: 2, literal: 3}",
        "echo/lesson.yaml:11: experiment.inputs.x: fill and literal stand side by side",
    ),
    "no way at all": (
        "{shape: [1, 8], dtype: float32, fill: ones}",
        "{shape: [1, 8]}",
        "echo/lesson.yaml:7: execution.inputs.x: nothing says what this input holds",
    ),
    "fill without a shape": (
        "{shape: [1, 8], dtype: float32, fill: ones}",
        "{fill: ones}",
        "echo/lesson.yaml:7: execution.inputs.x: a fill without a shape",
    ),
    "too few values for an inherited shape": (
        "        x: {fill: 1}",
        "        x: {values: [1, 2, 3, 4, 5, 6, 7]}",
        "echo/lesson.yaml:18: experiment.cases[1].inputs.x: 7 values given, the input has shape [1, 8]. "
        "Give 8 values or a single fill.",
    ),
    "one value for an inherited shape": (
        "        x: {fill: 1}",
        "        x: {values: 7}",
        "echo/lesson.yaml:18: experiment.cases[1].inputs.x: 1 value given, the input has shape [1, 8]. ",
    ),
    "too many values in what cases share": (
        "    x: {fill: 2}",
        "    x: {values: [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}",
        "echo/lesson.yaml:11: experiment.inputs.x: 9 values given, the input has shape [1, 8]. ",
    ),
    "a shape that the inherited values lack": (
        "        x: {fill: 1}",
        "        ids: {shape: [3]}",
        "echo/lesson.yaml:18: experiment.cases[1].inputs.ids: 2 values given, the input has shape [3]. Give 3 values",
    ),
    "rows of different length": (
        "        x: {fill: 1}",
        "        ids: {values: [[1, 2], [3]]}",
        "echo/lesson.yaml:18: experiment.cases[1].inputs.ids: rows of shape [2] and [1] stand side by side. "
        "Give every row the same number of values.",
    ),
    "numbers beside rows": (
        "        x: {fill: 1}",
        "        ids: {values: [[1, 2], 3]}",
        "echo/lesson.yaml:18: experiment.cases[1].inputs.ids: rows of shape [2] and [] stand side by side.",
    ),
    "a fraction where whole numbers are held": (
        "        x: {fill: 1}",
        "        ids: {values: [1, 2.5]}",
        "echo/lesson.yaml:18: experiment.cases[1].inputs.ids: 2.5 given; int64 holds whole numbers.",
    ),
    "a number that does not fit": (
        "ids: {values: [1, 2], dtype: int64}",
        "ids: {values: [1, 300], dtype: uint8}",
        "echo/lesson.yaml:8: execution.inputs.ids: 300 given; uint8 holds 0 to 255.",
    ),
    "text among the values": (
        "ids: {values: [1, 2]",
        "ids: {values: [1, two]",
        "echo/lesson.yaml:8: execution.inputs.ids: 'two' given; expected numbers.",
    ),
    "a parameter without numbers": (
        "        w: {fill: 0}",
        "        w: {dtype: float32}",
        "echo/lesson.yaml:22: experiment.probes[0].parameters.w: nothing says what it holds; fill or values.",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_the_recipe_is_one_message(tmp_path: Path, name: str) -> None:
    """File, line, key; what stood there; what was expected; what to do about it."""
    old, new, message = MISTAKES[name]
    messages = mistake(tmp_path, changed(old, new)).splitlines()
    assert messages[0].startswith(message) or any(line.startswith(message) for line in messages)
    assert all(re.match(r"echo/lesson\.yaml:\d+: ", line) for line in messages)


@pytest.mark.parametrize("slug", ["diff", "good", "logs", "site", "verify"])
def test_a_lesson_is_not_called_like_a_folder_of_ours(tmp_path: Path, slug: str) -> None:
    """Its work folder would be the folder in which logs, receipts or reports lie."""
    echo = tiny.write(tmp_path / "echo")
    text = (echo / "lesson.yaml").read_text(encoding="utf-8").replace("slug: echo", f"slug: {slug}")
    (echo / "lesson.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(LessonError, match=rf"lesson.yaml:\d+: slug: '{slug}' is a folder of lessonpress's own"):
        reader.read(echo.rename(tmp_path / slug))


def test_a_shared_mistake_is_reported_once(tmp_path: Path) -> None:
    """Three runs that inherit one wrong input are one mistake."""
    messages = mistake(
        tmp_path, changed("    x: {fill: 2}", "    x: {shape: [2, 2], values: [1, 2, 3]}\n    y: {literal: 1}")
    )
    assert messages.count("\n") == 0


def test_all_mistakes_are_reported_at_once_in_the_files_order(tmp_path: Path) -> None:
    """A curator sees the whole list, top to bottom."""
    recipe = (
        FULL.replace("title: Echo", "titel: Echo")
        .replace("fill: ones", "fill: gauss")
        .replace("value: sum", "value: 1")
    )
    lines = [int(number) for number in re.findall(r"lesson\.yaml:(\d+)", mistake(tmp_path, recipe))]
    assert lines == sorted(lines)
    assert set(lines) >= {3, 7, 29}


def test_a_metric_function_needs_a_file(tmp_path: Path) -> None:
    """`metric_…` is looked for in the file that `checks:` names."""
    recipe = FULL.replace("checks: checks.py\n", "").replace("value: sum", "value: metric_own")
    assert "metrics[0].value: a function needs `checks:` to name its file" in mistake(tmp_path, recipe)


@pytest.mark.parametrize("text", ["", "just words", "[1, 2]", "5"])
def test_a_recipe_is_a_mapping(tmp_path: Path, text: str) -> None:
    """An empty file, a word or a list says nothing about a lesson."""
    assert mistake(tmp_path, text).startswith("echo/lesson.yaml:1: the file holds no mapping; keys such as schema")


def test_a_folder_without_a_recipe_is_no_lesson(tmp_path: Path) -> None:
    """The message names the folder that was looked into."""
    with pytest.raises(LessonError, match="nowhere: there is no such folder"):
        reader.read(tmp_path / "nowhere")


def test_a_recipe_that_is_no_text_is_one_message(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are reported with their position."""
    folder = tiny.write(tmp_path / "echo")
    (folder / "lesson.yaml").write_bytes(b"title: \xff\n")
    with pytest.raises(LessonError, match="byte 7 is no UTF-8"):
        reader.read(folder)


@pytest.mark.parametrize("link", ["notes.txt", "folder", "broken"])
def test_links_are_refused(tmp_path: Path, link: str) -> None:
    """A lesson is what lies in its folder; a link would publish what does not."""
    folder = tiny.write(tmp_path / "echo")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "notes.txt").write_text("secret")
    target = {
        "notes.txt": tmp_path / "secret" / "notes.txt",
        "folder": tmp_path / "secret",
        "broken": tmp_path / "gone",
    }[link]
    (folder / link).symlink_to(target)
    with pytest.raises(LessonError, match=f"{link}: this is a link"):
        reader.read(folder)


def test_special_files_are_refused(tmp_path: Path) -> None:
    """Reading a pipe would wait for ever."""
    folder = tiny.write(tmp_path / "echo")
    os.mkfifo(folder / "pipe")
    with pytest.raises(LessonError, match="pipe: this is a link or a special file"):
        reader.read(folder)


@pytest.mark.parametrize("name", ["run.py", "manifest.json", "worker/own.py", "values/x.npy", "SHA256SUMS"])
def test_published_names_are_reserved(tmp_path: Path, name: str) -> None:
    """A lesson's file never hides one that is published beside it."""
    path = tiny.write(tmp_path / "echo") / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    with pytest.raises(LessonError, match=r"a published file has this name; another name\. Rename yours"):
        reader.read(tmp_path / "echo")


def test_caches_and_hidden_files_are_no_part_of_a_lesson(tmp_path: Path) -> None:
    """What editors and Python leave behind changes nothing; everything else is source, also in folders."""
    folder = tiny.write(tmp_path / "echo")
    for name in ("__pycache__/model.pyc", ".git/config", ".hidden", "model.py~", "parts/deep.py", "data.npy"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    assert sorted(reader.read(folder).files) == ["data.npy", "lesson.yaml", "model.py", "parts/deep.py"]


def test_a_byte_order_mark_is_no_part_of_the_recipe(tmp_path: Path) -> None:
    """Some editors write one; the first key is still a key."""
    folder = tiny.write(tmp_path / "echo", recipe="\ufeff" + tiny.RECIPE)
    assert reader.read(folder).recipe.slug == "echo"


def test_the_recipe_is_one_frozen_record(tmp_path: Path) -> None:
    """Nobody further down changes what a lesson says."""
    recipe = reader.read(tiny.write(tmp_path / "echo", recipe=FULL, checks="")).recipe
    with pytest.raises(ValueError, match="frozen"):
        recipe.title = "Other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("number", "key", "place"),
    [
        (0, ("inputs", "x"), ("execution", "inputs", "x")),
        (1, ("inputs", "x"), ("experiment", "cases", 0, "inputs", "x")),
        (1, ("inputs", "ids"), ("execution", "inputs", "ids")),
        (3, ("inputs", "x"), ("experiment", "inputs", "x")),
        (3, ("parameters", "w"), ("experiment", "probes", 0, "parameters", "w")),
        (2, ("args",), ("model", "args")),
        (2, ("nothing",), ("experiment", "cases", 1)),
    ],
)
def test_what_a_run_inherits_is_found_where_it_was_said(
    tmp_path: Path, number: int, key: tuple[str, ...], place: tuple[str | int, ...]
) -> None:
    """A mistake points at the innermost place that says the thing: the case, the experiment, the execution."""
    read_lesson = reader.read(tiny.write(tmp_path / "echo", recipe=FULL, checks=""))
    assert read_lesson.setting_place(number, *key) == place


def test_the_tiny_lesson_is_good() -> None:
    """The lesson that many tests share reads without a mistake, and its source is JSON."""
    assert json.loads(json.dumps(source_record.make_source_record(reader.read(tiny.LESSON))))["slug"] == tiny.SLUG
