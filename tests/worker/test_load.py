"""Importing a lesson: several files, packages, names of standard modules, and mistakes reported with their line."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from watching import Watched

from lessonpress.worker import run

Lesson = Callable[..., Watched]
VECTOR = [["x", {"values": [1.0, 2.0], "dtype": "float32"}]]
MODEL = "from torch import nn\n{0}\n\nclass Model(nn.Module):\n    def forward(self, x):\n        return x * {1}\n"


@pytest.mark.parametrize(("file", "files"), [
    ("model.py", {"model.py": MODEL.format("from helpers import BY", "BY"), "helpers.py": "BY = 4\n"}),
    ("model.py", {"model.py": MODEL.format("from parts.inner import BY", "BY"), "parts/__init__.py": "",
                  "parts/inner.py": "from .deep import BY\n", "parts/deep.py": "BY = 4\n"}),
    ("net/model.py", {"net/model.py": MODEL.format("from .helpers import BY", "BY"), "net/__init__.py": "",
                      "net/helpers.py": "from constants import BY\n", "constants.py": "BY = 4\n"}),
    ("model.py", {"model.py": MODEL.format("from .helpers import BY", "BY"), "__init__.py": "",
                  "helpers.py": "BY = 4\n"}),
    ("model.py", {"model.py": MODEL.format("from .helpers import BY", "BY"), "helpers.py": "from .more import BY\n",
                  "more.py": "BY = 4\n"}),
    ("net/model.py", {"net/model.py": MODEL.format("from .helpers import BY", "BY"), "net/helpers.py": "BY = 4\n"}),
    ("net/model.py", {"net/model.py": MODEL.format("from beside import BY", "BY"), "net/beside.py": "BY = 4\n"}),
    ("random.py", {"random.py": MODEL.format("BY = 4", "BY")}),
    ("torch.py", {"torch.py": MODEL.format("BY = 4", "BY")}),
    ("model.py", {"model.py": MODEL.format("import random, types, yaml_like\nBY = yaml_like.BY", "BY"),
                  "yaml_like.py": "BY = 4\n", "random.py": "raise RuntimeError", "types.py": "raise RuntimeError",
                  "numpy.py": "raise RuntimeError"}),
])  # fmt: skip
def test_lessons_of_several_files(lesson: Lesson, file: str, files: dict[str, str]) -> None:
    """Siblings, packages, relative imports and files named like standard modules all load, and hide nothing."""
    assert lesson(files, VECTOR, file=file).value("output").tolist() == [4, 8]
    assert random.randint(1, 1) == 1


def fail(lesson: Lesson, text: str | dict[str, str], **plan: Any) -> dict[str, Any]:
    """How a failing lesson's error is reported."""
    with pytest.raises(run.Failed) as raised:
        lesson(text, VECTOR, **plan)
    return raised.value.record


def test_a_missing_or_wrong_class_names_what_is_there(lesson: Lesson) -> None:
    """The classes that the file has are listed."""
    text = MODEL.format("", "2") + "\n\nclass Plain:\n    pass\n"
    missing = fail(lesson, text, kind_of="Modell")
    assert missing["stage"] == "class"
    assert "Modell" in missing["message"]
    assert "Model, Plain" in missing["expected"]
    assert "no nn.Module" in fail(lesson, text, kind_of="Plain")["message"]


@pytest.mark.parametrize(("text", "stage", "line", "kind"), [
    ("import torch\nx = 1 / 0\n", "import", 2, "ZeroDivisionError"), ("x = (\n", "import", 1, "SyntaxError"),
    ("import no_such_module\n", "import", 1, "ModuleNotFoundError"),
    (MODEL.format("", "2").replace("def f", "def __init__(self):\n        self.a = nn.ReLU()\n\n    def f"), "build", 6,
     "AttributeError"),
    (MODEL.format("", "nn.Linear(3, 3)(x)"), "call", 6, "RuntimeError"),
    (MODEL.format("from ..above import BY", "BY"), "import", 2, "ImportError"),
])  # fmt: skip
def test_errors_are_reported_with_the_lessons_line(lesson: Lesson, text: str, stage: str, line: int, kind: str) -> None:
    """Stage, exception, file and line, and the line's own text."""
    error = fail(lesson, text)
    assert (error["stage"], error["type"], error["place"]["file"], error["place"]["line"]) == (
        stage,
        kind,
        "model.py",
        line,
    )
    assert error["code"] == text.splitlines()[line - 1].strip()


def test_an_error_in_another_file_names_that_file(lesson: Lesson) -> None:
    """The innermost place of the lesson's own code counts."""
    files = {"model.py": MODEL.format("from helpers import by", "by(x)"), "helpers.py": "def by(x):\n    return x[9]\n"}
    assert fail(lesson, files)["place"] | {"column": 0, "endColumn": 0} == {
        "file": "helpers.py", "line": 2, "endLine": 2, "column": 0, "endColumn": 0}  # fmt: skip


def test_two_lessons_do_not_share_their_siblings(tmp_path: Path) -> None:
    """Each is imported in a process of its own."""
    import subprocess
    import sys

    for by in (2, 3):
        folder = tmp_path / str(by)
        folder.mkdir()
        (folder / "model.py").write_text(MODEL.format("from helpers import BY", "BY"), encoding="utf-8")
        (folder / "helpers.py").write_text(f"BY = {by}\n", encoding="utf-8")
        code = ("import sys; from lessonpress.worker import load; import torch; "
                f"print(load.import_class({str(folder)!r}, 'model.py', 'Model')()(torch.ones(1)).item())")  # fmt: skip
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
        assert float(done.stdout) == by
