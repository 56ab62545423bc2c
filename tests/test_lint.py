"""Reading a lesson closely: what publishing would refuse, and what is doubtful, each with file and line."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest

from lessonpress.authoring import lint
from lessonpress.authoring.lint.model_file import explain_mismatch
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import python_ast
from tests import tiny

RECIPE = """\
schema: 1
slug: echo
title: Echo
description: A number $x$ comes back, or {{ one.all | max }}.
model: {file: model.py, class: Echo}
execution:
  inputs:
    x: {shape: [2, 3], dtype: float32, fill: ones}
experiment:
  control: {input: x, range: [-1, 1]}
  cases:
    - {id: one}
    - {id: two, note: Twice $2 x$., inputs: {x: {fill: 2}}}
  record:
    matrices:
      - {id: all, tensor: "input:x", rows: {labels: [a, b]}}
    metrics:
      - {id: own, value: metric_own, of: all}
checks: checks.py
mutants:
  - {id: lost, sentence: Nothing is added., replace: {file: model.py, find: " + 1", with: ""}, breaks: [check_it]}
"""
MODEL = "from torch import nn\n\n\nclass Echo(nn.Module):\n    def forward(self, x):\n        return x + 1\n"
CHECKS = '''\
import numpy as np


def check_it(runs):
    """One is added, $y = x + 1$."""
    return {"measured": 0.0, "bound": 0.0, "sense": "<="}


def metric_own(values):
    return np.sum(values)
'''
ANOTHER = 'def check_more(runs):\n    """So."""\n    return {}\n\n\n'
GOOD = {"recipe": RECIPE, "model": MODEL, "checks": CHECKS}


def linted(folder: Path, file: str = "", old: str = "", new: str = "", **more: str) -> str:
    """What lint reports about the good lesson with one text replaced; places begin at the lesson's folder."""
    texts = {**GOOD, **more}
    if old:
        assert texts[file].count(old) == 1
        texts[file] = texts[file].replace(old, new)
    tiny.write(folder / "echo", **texts)
    try:
        report = lint.lint_lesson(Config(lessons=str(folder)), "echo")
    except LessonError as error:
        report = error.message()
    return report.replace(os.path.relpath(folder) + "/", "")


def test_a_good_lesson_is_good(tmp_path: Path) -> None:
    """What the tests below break is whole to begin with, and not doubtful."""
    assert linted(tmp_path) == "echo: good"


MISTAKES = {
    "syntax of the model": ("model", "def forward(self, x):", "def forward(self, x:",
                            "echo/model.py:5: this is no Python: "),
    "syntax of the checks": ("checks", "def check_it(runs):", "def check_it(runs)",
                             "echo/checks.py:4: this is no Python: expected ':'; the line reads `def check_it(runs)`; "
                             "code that Python 3."),
    "a class that is not there": ("recipe", "class: Echo", "class: Ecko",
                                  "echo/lesson.yaml:5: model.class: model.py has no class Ecko; classes there: Echo. "
                                  "Did you mean Echo?"),
    "a forward that takes less": ("model", "(self, x)", "(self)",
                                  "echo/lesson.yaml:7: execution.inputs: forward cannot take these inputs: "
                                  "too many positional arguments; it takes nothing (echo/model.py:5)."),
    "a forward that needs more": ("model", "(self, x)", "(self, x, mask)",
                                  "echo/lesson.yaml:7: execution.inputs: forward cannot take these inputs: "
                                  "missing a required argument: 'mask'; it takes x, mask (echo/model.py:5)."),
    "a file without a check": ("checks", "def check_it", "def chek_it",
                               "echo/checks.py: there is no check here; functions named check_…"),
    "a check that takes nothing": ("checks", "check_it(runs)", "check_it()",
                                   "echo/checks.py:4: check_it cannot be called with one argument; "
                                   "def check_it(runs):."),
    "two checks of one name": ("checks", "def metric_own(values):", "def check_it(runs):\n    return {}\n\n\n"
                               "def metric_own(values):", "echo/checks.py:4: check_it stands here 2 times; "),
    "a metric that is not there": ("recipe", "value: metric_own", "value: metric_other",
                                   "echo/lesson.yaml:18: experiment.record.metrics[0].value: checks.py has no function "
                                   "metric_other; metrics there: metric_own."),
    "a variant that breaks nothing known": ("recipe", "breaks: [check_it]", "breaks: [check_it, check_other]",
                                            "echo/lesson.yaml:21: mutants[0].breaks[1]: no check is called "
                                            "check_other; checks: check_it."),
    "a check that nothing breaks": ("checks", "def metric_own", f"{ANOTHER}def metric_own",
                                    "echo/checks.py:9: no broken variant shows that check_more can fail; an entry of "
                                    "lesson.yaml's `mutants:`"),
    "too many labels": ("recipe", "labels: [a, b]", "labels: [a, b, c]",
                        "echo/lesson.yaml:16: experiment.record.matrices[0].rows.labels: 3 labels given; the axis has "
                        "2 places, the array the shape [2, 3]. Label every place, or none."),
    "too many labels of a new shape": ("recipe", 'tensor: "input:x"', "tensor: output, reshape: [1, 6]",
                                       "experiment.record.matrices[0].rows.labels: 2 labels given; the axis has 1 "
                                       "place, the array the shape [1, 6]."),
    "a cut that does not fit": ("recipe", 'tensor: "input:x"', 'tensor: "input:x", select: "[7]"',
                                "echo/lesson.yaml:16: experiment.record.matrices[0]: input:x cannot be cut so: index 7 "
                                "is out of bounds"),
    "a range that is reversed": ("recipe", "range: [-1, 1]", "range: [1, -1]",
                                 "echo/lesson.yaml:10: experiment.control.range: [1, -1] given; two numbers, the "
                                 "smaller one first. Write [-1, 1]."),
    "a range without an end": ("recipe", "range: [-1, 1]", "range: [-1, .inf]",
                               "echo/lesson.yaml:10: experiment.control.range: [-1, inf] given; "),
    "a range of nothing": ("recipe", "range: [-1, 1]", "range: [1, 1]",
                           "echo/lesson.yaml:10: experiment.control.range: [1, 1] given; "),
    "maths in a description": ("recipe", "$x$", r"$\fraq{x}$",
                               "echo/lesson.yaml:4: description: unknown TeX command '\\\\fraq'"),
    "maths in a note": ("recipe", "$2 x$", r"$2 \nix$",
                        "echo/lesson.yaml:13: experiment.cases[1].note: unknown TeX command"),
    "maths in a check": ("checks", "$y = x + 1$", r"$y \eq x + 1$",
                         "echo/checks.py:4: check_it: unknown TeX command '\\\\eq'"),
    "maths in a variant": ("recipe", "Nothing is added.", r"Nothing $\nix$.",
                           "echo/lesson.yaml:21: mutants[0].sentence: unknown TeX command"),
    "a package that readers lack": ("model", "from torch import nn", "import pandas as pd\nfrom torch import nn",
                                    "echo/model.py:1: pandas is imported; readers have torch, numpy, safetensors and "
                                    "Python's own library."),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_message_with_its_line(tmp_path: Path, mistake: str) -> None:
    """File, line, what was seen, what was expected, what to do."""
    file, old, new, message = MISTAKES[mistake]
    assert message in linted(tmp_path, file, old, new)


DOUBTS = {
    "a check without a sentence": ("checks", '"""One is added, $y = x + 1$."""\n    ', "",
                                   "echo/checks.py:4: check_it has no docstring; "),
    "labels for some places": ("recipe", "labels: [a, b]", "labels: [a]",
                               "echo/lesson.yaml:16: experiment.record.matrices[0].rows.labels: 1 label given; "),
    "an input that holds NaN": ("recipe", "x: {fill: 2}", "x: {fill: .nan}",
                                "echo/lesson.yaml:13: experiment.cases[1].inputs.x: the input holds NaN; "),
    "a name that forward does not know": (
        "model", "x):\n        return x", "y, z=0):\n        return y",
        "echo/lesson.yaml:8: execution.inputs.x: no parameter of forward is called x, so the input is passed by its "
        "position; forward takes y, z (echo/model.py:5). Give the input its parameter's name.\n"),
    "the clock": ("model", "x + 1", "x + 1 + clock() * 0", "echo/model.py:7: time.time is called; it tells the time"),
    "chance of the system": ("checks", "np.sum(values)", "np.random.default_rng().random()",
                             "echo/checks.py:10: numpy.random.default_rng is called; no seed decides what it gives."),
    "a record that follows nothing": (
        "recipe", 'tensor: "input:x"', 'tensor: "param:w"',
        "echo/lesson.yaml:10: experiment.control.input: nothing on the page will follow x; every recorded tensor is a "
        "parameter, a buffer or another input. Record what follows it, or take `control:` out."),
    "an input that is not read": (
        "model", "return x + 1", "return 1 + 1",
        "echo/lesson.yaml:10: experiment.control.input: nothing on the page will follow x; the model's forward does "
        "not read it."),
    "an operation that no page repeats": (
        "model", "x + 1", "torch.histc(x + 1)",
        "echo/model.py:7: torch.histc is called; where the model calls it, the page will show what follows from it as "
        "it was recorded. Use operations that docs/reference.md lists, or take `control:` out."),
    "a decomposition": ("model", "x + 1", "nn.init.orthogonal_(x + 1)",
                        "echo/model.py:6: torch.nn.init.orthogonal_ is called; its last digits depend on"),
}  # fmt: skip


@pytest.mark.parametrize("doubt", DOUBTS)
def test_a_doubt_is_a_hint_and_the_lesson_is_good(tmp_path: Path, doubt: str) -> None:
    """What is allowed and seldom meant is a hint, and stops nothing."""
    file, old, new, message = DOUBTS[doubt]
    head = {"the clock": "from time import time as clock\n"}.get(doubt, "import torch\n" if "torch." in new else "")
    model = head + MODEL
    report = linted(tmp_path, file, old, new, model=model)
    assert report.startswith("hint: " + message)
    assert report.endswith("\necho: good")


@pytest.mark.parametrize(
    "call",
    ["os.urandom(4)", "time.time()", "time.perf_counter()", "random.SystemRandom()", "torch.seed()", "uuid.uuid4()",
     "secrets.token_bytes(4)", "datetime.datetime.now()", "random.seed()", "numpy.random.seed()"],
)  # fmt: skip
def test_every_call_that_no_seed_decides_is_pointed_out(tmp_path: Path, call: str) -> None:
    """A model that asks the clock or the system would publish once and never verify."""
    model = f"import {call.split('.')[0]}\n{MODEL}".replace("x + 1", f"x + 1 if {call} else x")
    report = linted(tmp_path, model=model)
    assert f"{call.partition('(')[0]} is called" in report


@pytest.mark.parametrize("takes", ["y, /", "*all", "**all", "y, *, x", "x, y=1"])
def test_a_name_that_cannot_be_known_otherwise_is_no_doubt(tmp_path: Path, takes: str) -> None:
    """Parameters without a name to call them by are filled in order, and that is how it is meant."""
    report = linted(tmp_path, "model", "(self, x)", f"(self, {takes})")
    assert "passed by its position" not in report


@pytest.mark.parametrize("call", [
    "torch.softmax(x, 0)", "F.gelu(x)", "torch.linalg.norm(x)", "torch.special.expit(x)", "torch.no_grad()",
    "torch.func.functional_call(self, {}, (x,))", "torch.Size([1])", "nn.Parameter(x)",
    "torch.relu_(x)", "torch.manual_seed(1)", "torch.vmap(len)(x)", "torch.autograd.grad(x, x)",
    "torch.func.grad(len)(x)",
])  # fmt: skip
def test_what_a_page_may_repeat_is_not_pointed_out(tmp_path: Path, call: str) -> None:
    """Operations of the table, whatever their spelling, and what is none."""
    head = "import torch\nfrom torch.nn import functional as F\n"
    assert "is called" not in linted(tmp_path, model=f"{head}{MODEL}".replace("x + 1", f"x + 1 if {call} else x"))


SEEDED = ["random.seed(3)", "numpy.random.default_rng(0)", "torch.manual_seed(1)", "os.getcwd()"]


@pytest.mark.parametrize("call", SEEDED)
def test_what_a_seed_decides_is_not_pointed_out(tmp_path: Path, call: str) -> None:
    """A hint that comes for nothing is not read the next time."""
    model = f"import {call.split('.')[0]}\n{MODEL}".replace("x + 1", f"x + 1 if {call} else x")
    assert linted(tmp_path, model=model) == "echo: good"


def test_the_lessons_own_files_and_what_it_can_do_without_are_no_packages(tmp_path: Path) -> None:
    """Siblings, folders of the lesson, and imports inside a `try` need no requirements.txt."""
    (tmp_path / "echo" / "parts").mkdir(parents=True)
    (tmp_path / "echo" / "parts" / "deep.py").write_text("import sibling\n")
    model = f"import sibling\nfrom parts import deep\ntry:\n    import pandas\nexcept ImportError:\n    pass\n{MODEL}"
    assert linted(tmp_path, model=model, sibling="x = 1\n") == "echo: good"


def test_a_file_called_like_an_installed_package_is_a_mistake(tmp_path: Path) -> None:
    """Here the package would be taken, at a reader's the file."""
    (tmp_path / "echo" / "parts").mkdir(parents=True)
    (tmp_path / "echo" / "parts" / "pandas.py").write_text("x = 1\n")
    report = linted(tmp_path, model=f"import pandas\n{MODEL}")
    assert "model.py:1: pandas is the lesson's own and also a package that is installed here" in report


def test_several_mistakes_are_reported_together(tmp_path: Path) -> None:
    """A curator mends all of them in one go."""
    report = linted(tmp_path, model="import pandas\nimport scipy\n" + MODEL.replace("Echo", "Other"))
    assert len(report.splitlines()) == 3


def test_a_class_from_elsewhere_may_be_there(tmp_path: Path) -> None:
    """What an import or an assignment brings is not held against the file, and its forward is not guessed."""
    assert linted(tmp_path, model="from sibling import Echo  #  + 1\n", sibling=MODEL) == "echo: good"
    assert linted(tmp_path, model="from torch import nn\nEcho = nn.Identity  #  + 1\n") == "echo: good"


def test_an_inherited_forward_is_found(tmp_path: Path) -> None:
    """A base class in the same file is looked into."""
    base = MODEL.replace("Echo(nn.Module)", "Base(nn.Module)").replace("self, x", "self")
    model = f"{base}\n\nclass Echo(Base):\n    pass\n"
    assert "too many positional arguments" in linted(tmp_path, model=model)


def test_a_lesson_without_checks_is_doubtful(tmp_path: Path) -> None:
    """It publishes, and nothing proves it."""
    assert "the lesson has no checks" in linted(tmp_path, recipe=tiny.RECIPE)


@pytest.mark.parametrize(
    ("signature", "names", "fits"),
    [
        ("self, a, b", ["a", "b"], True),
        ("self, a, b", ["b", "a"], True),
        ("self, a, b", ["x", "y"], True),
        ("self, a, b", ["a"], False),
        ("self, a, b=1", ["a"], True),
        ("self, a", ["a", "b"], False),
        ("self, *rest", ["a", "b"], True),
        ("self, **rest", ["a", "b"], True),
        ("self, a, *, b", ["a", "b"], True),
        ("self, a, *, b", ["a", "c"], False),
        ("self, a, /, b", ["a", "b"], True),
        ("self, a, b", ["b", "x"], True),
        ("self, a, b", ["b", "x", "a"], False),
    ],
)
def test_inputs_are_passed_as_the_worker_passes_them(signature: str, names: list[str], fits: bool) -> None:
    """By name where the signature allows it, else in order: Python itself, calling such a function, is the oracle."""
    file = python_ast.read(f"class A:\n    def forward({signature}): pass\n".encode(), "m")
    method = file.classes[0].methods["forward"]
    scope: dict[str, object] = {}
    exec(f"def forward({signature}): pass", scope)
    function = scope["forward"]
    assert callable(function)
    kinds = inspect.signature(function).parameters.values()
    by_name = [p.name for p in kinds if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    open_ended = any(p.kind is p.VAR_KEYWORD for p in kinds)
    cut = max((at + 1 for at, name in enumerate(names) if name not in by_name and not open_ended), default=0)
    try:
        function(None, *names[:cut], **dict.fromkeys(names[cut:]))
        worked = True
    except TypeError:
        worked = False
    assert (worked, explain_mismatch(method.parameters, names) == "") == (fits, fits)


def test_all_lessons_are_found_by_their_folders(tmp_path: Path) -> None:
    """Folders with odd names or without a recipe are listed, those with nothing but caches are not."""
    for name in ("b", "A b", "empty/__pycache__", ".hidden"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "model.py").write_text("")
    assert lint.list_slugs(Config(lessons=str(tmp_path))) == ["A b", "b"]


def test_no_folder_and_no_lesson_are_errors(tmp_path: Path) -> None:
    """Nothing to read is no success."""
    with pytest.raises(LessonError, match="there is no folder"):
        lint.list_slugs(Config(lessons=str(tmp_path / "nowhere")))
    with pytest.raises(LessonError, match="there is no lesson here"):
        lint.list_slugs(Config(lessons=str(tmp_path)))


def test_a_huge_input_is_not_made(tmp_path: Path) -> None:
    """Shapes are worked out, but no recipe makes lint fill the memory."""
    report = linted(tmp_path, recipe=RECIPE.replace("shape: [2, 3]", "shape: [1000000, 1000000]").replace(
        'tensor: "input:x"', 'tensor: "input:x", reshape: [-1, 1]'))  # fmt: skip
    assert report == "echo: good"


EXPRESSIONS = {
    "{{ uno.all | max }}": "{{ uno.all | max }} names no case: uno; cases: ",
    "{{ one.al | max }}": "{{ one.al | max }} names no record: al; recorded: all, own.",
    "{{ one.all | maxx }}": "cannot be evaluated (No filter named 'maxx'); filters: abs, argmax, ",
    "{{ one.all[ }}": "cannot be evaluated",
    "{{ one.own ** 2 }}": "cannot be evaluated (it is too long or has a power)",
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_that_no_run_can_fill_is_reported(tmp_path: Path, expression: str) -> None:
    """Cases, records and filters are known before anything is run."""
    report = linted(tmp_path, "recipe", "{{ one.all | max }}", expression)
    assert report.startswith("echo/lesson.yaml:4: description: {{ ")
    assert EXPRESSIONS[expression] in report


@pytest.mark.parametrize(
    "expression", ['{{ cases["one"].all | max }}', "{{ one.own * 2 }}", "{{ two.all[0, 1] }}", "{{ 1 }}"]
)
def test_an_expression_that_a_run_can_fill_is_good(tmp_path: Path, expression: str) -> None:
    """There is no message about what may be right."""
    assert linted(tmp_path, "recipe", "{{ one.all | max }}", expression) == "echo: good"


def test_an_expression_without_its_white_space_is_pointed_out(tmp_path: Path) -> None:
    """It would stand in the page as it is typed; TeX's own braces are left alone."""
    report = linted(tmp_path, "recipe", "{{ one.all | max }}", "{{one.all|max}} and ${{x}}$")
    assert report.splitlines() == [
        "hint: echo/lesson.yaml:4: description: {{one.all|max}} is no expression and stays as it is typed. "
        "Write {{ one.all|max }}.", "echo: good"]  # fmt: skip


def test_a_questions_answer_is_read_too(tmp_path: Path) -> None:
    """It is an expression without braces."""
    question = "questions: [{id: q, prompt: Which?, answer: one.al | max}]\n"
    assert "questions[0].answer: {{ one.al | max }} names no record: al" in linted(tmp_path, recipe=RECIPE + question)


YAML = {
    "a tab": ("  inputs:\n    x: {shape", "\tinputs:\n    x: {shape", 7, "Indent with spaces."),
    "a key without a colon": ("title: Echo", "title Echo", 3, "Write the key, a colon, a space, the value."),
    "a text with a colon": ("title: Echo", "title: Echo: one", 3, "Put a text with a colon into quotes."),
    "a key out of its column": ("  control:", " control:", 11, "in the same column."),
    "an open bracket": ("range: [-1, 1]}", "range: [-1, 1}", 10, "Close the bracket, "),
}


@pytest.mark.parametrize("mistake", YAML)
def test_what_is_no_yaml_is_reported_with_its_usual_cause(tmp_path: Path, mistake: str) -> None:
    """The line where it is, and what to type instead."""
    old, new, line, fix = YAML[mistake]
    report = linted(tmp_path, "recipe", old, new)
    assert report.startswith(f"echo/lesson.yaml:{line}: this is no YAML: ")
    assert fix in report


def test_a_lesson_that_is_not_there_is_reported_with_what_to_type(tmp_path: Path) -> None:
    """A slip of the pen, a lesson that was never begun, a recipe under another ending."""
    tiny.write(tmp_path / "echo", **GOOD)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "lesson.yml").touch()
    config = Config(lessons=str(tmp_path))
    fixes = {"ecko": "Did you mean echo?", "mine": "type: lessonpress new mine", "other": "Rename lesson.yml."}
    for slug, fix in fixes.items():
        with pytest.raises(LessonError) as caught:
            lint.lint_lesson(config, slug)
        assert caught.value.message().endswith(fix)
