"""Any model as a picture: by the command, confined, and by `lessonpress.trace` in the process that made it."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib import util
from pathlib import Path
from typing import Any

import html5lib
import pytest
import torch
from torch import nn

import lessonpress
from lessonpress.authoring import draw
from lessonpress.core.errors import LessonError, WrongUsage
from lessonpress.core.settings import Config
from lessonpress.sandbox import capture
from lessonpress.web.page import model_graph

MODEL = """\
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.up = nn.Linear(5, width)
        self.tied = nn.Linear(width, width, bias=False)
        self.again = nn.Linear(width, width, bias=False)
        self.again.weight = self.tied.weight
        self.spare = nn.Linear(2, 2)

    def forward(self, x, scale=1.0):
        hidden = torch.relu(self.up(x))
        return self.again(self.tied(hidden)) * scale


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(3, 2)

    def forward(self, ids, mask):
        return self.table(ids) * mask


class Wrong(nn.Module):
    def forward(self, x):
        return x @ x


class Writes(nn.Module):
    def forward(self, x):
        open(__file__, "a").write("# changed")
        return x
"""
OPTIONS = draw.Options(("x=2x5", "scale:=2.0"), ("width=7",))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with models."""
    path = tmp_path_factory.mktemp("models") / "gate.py"
    path.write_text(MODEL, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def drawn(file: Path) -> model_graph.ModelGraph:
    """One of them, drawn by the command."""
    return draw.draw_model(Config(), f"{file}:Gate", OPTIONS)


def build(file: Path, name: str, **options: Any) -> nn.Module:
    """One of them, built here."""
    spec = util.spec_from_file_location("gate", file)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)(**options).eval()


def test_every_node_has_its_shapes_parameters_and_line(file: Path, drawn: model_graph.ModelGraph) -> None:
    """The oracle is the model itself; what is shared is counted once, what never ran counts too."""
    model = build(file, "Gate", width=7)
    assert drawn.parameters == sum(parameter.numel() for parameter in model.parameters())
    rows = {row.id: row for row in drawn.rows}
    for name in ("up", "tied", "again"):
        assert rows[name].parameters == sum(p.numel() for p in model.get_submodule(name).parameters())
    assert rows["up"].output == "[2,7] float32"
    assert rows["output"].output == f"{str(list(model(torch.ones(2, 5)).shape)).replace(' ', '')} float32"
    line = MODEL[: MODEL.index("torch.relu")].count("\n") + 1
    assert rows["up"].place == rows["relu@Gate#0"].place == f"gate.py:{line}"
    assert drawn.graph["idle"] == ["spare"]
    table = drawn.table().splitlines()
    assert table[0] == f"Gate: 8 nodes, {drawn.parameters:,} parameters"
    assert len(table) == len(drawn.rows) + 2


def test_picture_and_page_are_written_together(drawn: model_graph.ModelGraph, tmp_path: Path) -> None:
    """The picture is XML that names every node; the page is whole HTML, whose places lead to lines that it has."""
    svg, page = draw.write_drawing(drawn, tmp_path)
    assert [path.name for path in (svg, page)] == ["Gate.svg", "Gate.html"] == sorted(
        path.name for path in tmp_path.iterdir())[::-1]  # fmt: skip
    named = {element.get("data-id") for element in ET.fromstring(svg.read_text("utf-8")).iter()}
    assert {row.id for row in drawn.rows} <= named
    text = page.read_text("utf-8")
    html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    assert "<script" not in text
    assert all(f'href="#{row.anchor}"' in text and f'id="{row.anchor}"' in text for row in drawn.rows if row.anchor)


def test_a_trace_is_the_same_picture(file: Path, drawn: model_graph.ModelGraph) -> None:
    """A notebook shows it; the call gave what the model gives, and every patch is gone again."""
    model, x = build(file, "Gate", width=7), torch.ones(2, 5)
    before = (nn.Module.__call__, vars(torch.autograd.Function)["apply"], torch.get_rng_state())
    traced = lessonpress.trace(model, x, scale=2.0)
    assert traced._repr_svg_() == traced.svg == drawn.svg
    assert traced.parameters == drawn.parameters
    assert torch.equal(traced.returned, model(x, scale=2.0))
    assert (nn.Module.__call__, vars(torch.autograd.Function)["apply"]) == before[:2]
    assert torch.equal(torch.get_rng_state(), before[2])
    assert repr(traced).splitlines()[0] == drawn.table().splitlines()[0]


def test_a_trace_is_saved_as_its_ending_says(file: Path, tmp_path: Path) -> None:
    """A picture, or a page; another ending is a mistake of the call."""
    traced = lessonpress.trace(build(file, "Gate"), torch.ones(1, 5))
    assert traced.save(tmp_path / "a.svg").read_text("utf-8") == traced.svg
    assert traced.save(tmp_path / "a.html").read_text("utf-8").startswith("<!doctype html>")
    with pytest.raises(ValueError, match=r"\.svg"):
        traced.save(tmp_path / "a.png")


def test_a_trace_of_a_librarys_model_names_no_line_of_whoever_asked() -> None:
    """The line that called `trace` is no place of a model that torch wrote; unnamed inputs are numbered."""
    traced = lessonpress.trace(nn.Sequential(nn.Linear(3, 2), nn.Tanh()), torch.ones(1, 3))
    assert [row.place for row in traced.drawn.rows if row.id in ("0", "1")] == ["", ""]
    pair = lessonpress.trace(Two(), torch.ones(2), torch.ones(2))
    assert [layer["id"] for layer in pair.graph["layers"] if layer["kind"] == "input"] == ["input:arg0", "input:arg1"]
    assert next(row for row in pair.drawn.rows if row.id == "add@Two#0").place.startswith("tests/worker/test_draw.py:")


class Two(nn.Module):
    """Takes what comes."""

    def forward(self, *parts: torch.Tensor) -> torch.Tensor:
        """The sum of two."""
        return parts[0] + parts[1]


def test_a_trace_leaves_the_process_as_it_was() -> None:
    """No setting of torch changes, and `import lessonpress` alone does not load it."""
    code = (
        "import sys, lessonpress; assert 'torch' not in sys.modules\n"
        "import json, torch\n"
        "from torch import nn\n"
        "def state(): return [torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(),"
        " torch._C._get_mkldnn_enabled(), str(torch.get_default_dtype()), torch.is_grad_enabled(), torch.compile"
        " is compile]\n"
        "compile = torch.compile\n"
        "before = state()\n"
        "lessonpress.trace(nn.Linear(2, 2), torch.ones(1, 2))\n"
        "print(json.dumps([before, state()]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    before, after = json.loads(done.stdout)
    assert before == after


def test_integers_booleans_and_a_dtype(file: Path) -> None:
    """Integers are zeros, which every table has; parameters and float inputs are cast."""
    options = draw.Options(("ids=1x4:int64", "mask=4x1:bool"), dtype="float64")
    words = draw.draw_model(Config(), f"{file}:Words", options)
    assert [row.output for row in words.rows] == ["[1,4] int64", "[4,1] bool", "[1,4,2] float64", "[1,4,2] float64",
                                                  "[1,4,2] float64"]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "options", "error", "message"),
    [
        ("nothing.py:Gate", OPTIONS, WrongUsage, "there is no file nothing.py"),
        ("{}:Gat", OPTIONS, WrongUsage, "has no class Gat; classes there: Gate, Words, Wrong, Writes. "),
        ("{}", OPTIONS, WrongUsage, "no class is named; classes there: Gate"),
        ("{}:Gate", draw.Options(("x",)), WrongUsage, "--input: 'x' was given; NAME=SHAPE, such as x=1x5"),
        ("{}:Gate", draw.Options(("x=1x5:int7",)), WrongUsage, "--input: 'x=1x5:int7' was given"),
        ("{}:Gate", draw.Options(("x=1x5",), ("7",)), WrongUsage, "--arg: '7' was given; NAME=VALUE"),
        ("{}:Gate", draw.Options(("x=1x5",), dtype="int8"), WrongUsage, "--dtype: int8 was given; one of float16"),
        ("{}:Gate", draw.Options(("x=1x5",), mode="test"), WrongUsage, "--mode: test was given; eval or train"),
        ("{}:Gate", draw.Options(), LessonError, "missing 1 required positional argument: 'x'"),
        ("{}:Wrong", draw.Options(("x=1x5",)), LessonError, "gate.py:30: calling the model of Wrong: RuntimeError: "),
        ("{}:Writes", draw.Options(("x=1",)), LessonError, "gate.py:35: calling the model of Writes: OSError"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    file: Path, target: str, options: draw.Options, error: type[LessonError], message: str
) -> None:
    """In words, with the model's line; the model runs confined, so its own file stays as it is."""
    with pytest.raises(error) as caught:
        draw.draw_model(Config(), target.format(file), options)
    assert message in caught.value.message()
    assert file.read_text("utf-8") == MODEL


def test_an_outline_that_brings_bytes_is_refused() -> None:
    """An outline's values have no bytes, and a record's have: neither passes for the other."""
    run = {"kind": "execution", "seed": 0, "dtype": "float32", "mode": "eval", "inputs": [], "output": None,
           "calls": [{"layer": "", "op": "Module", "kind": "module", "inside": None, "at": None, "args": [],
                      "kwargs": {}, "out": None}],
           "params": {}, "buffers": {}, "values": [{"dtype": "float32", "shape": [1], "blob": ""}]}  # fmt: skip
    module = {"class": "A", "leaf": False, "parent": None, "params": {}, "source": None, "aliases": [],
              "training": False, "parameters": {}, "buffers": {}}  # fmt: skip
    answer = {"runs": {"execution": run}, "modules": {"": module}, "blobs": {}}
    plan = draw.make_plan("a.py", "A", draw.Options())
    assert capture.validate(answer, plan, {}, outline=True) == answer
    with pytest.raises(capture.Malformed):
        capture.validate(answer, plan, {})
    with pytest.raises(capture.Malformed):
        capture.validate({**answer, "blobs": {"a": "AA=="}}, plan, {}, outline=True)
