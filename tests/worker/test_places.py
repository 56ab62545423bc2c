"""Where in the lesson's files each operation was called and each module declared."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from watching import Watched

from lessonpress.worker.places import Places

Lesson = Callable[..., Watched]
VECTOR = [["x", {"values": [[1.0, 2.0, 3.0]], "dtype": "float32"}]]
HEAD = "import copy\nimport torch\nfrom torch import nn\n\n\n"


def text_at(folder: Path, place: dict[str, Any]) -> str:
    """The source text that a place spans."""
    lines = (folder / place["file"]).read_text(encoding="utf-8").splitlines()[place["line"] - 1 : place["endLine"]]
    lines[-1] = lines[-1][: place["endColumn"] - 1]
    lines[0] = lines[0][place["column"] - 1 :]
    return "\n".join(lines)


def called(seen: Watched, folder: Path) -> dict[str, list[str]]:
    """The source text of every place at which each layer was called."""
    return {name: [text_at(folder, place) for place in layer["called"]] for name, layer in seen.layers.items()
            if layer["kind"] not in ("input", "output")}  # fmt: skip


def body(*lines: str) -> str:
    """A model whose forward has these lines."""
    return (
        HEAD
        + "class Model(nn.Module):\n    def forward(self, x):\n"
        + textwrap.indent("\n".join(lines), " " * 8)
        + "\n"
    )


def test_operations_on_one_line_have_their_own_columns(lesson: Lesson, tmp_path: Path) -> None:
    """Each operation of an expression spans exactly its own text, operators and calls alike."""
    seen = lesson(body("return (-x + torch.tanh(x)) * x[0, 1:].sum()"), VECTOR)
    assert called(seen, tmp_path) == {
        "neg@Model#0": ["-x"], "tanh@Model#0": ["torch.tanh(x)"], "add@Model#0": ["-x + torch.tanh(x)"],
        "getitem@Model#0": ["x[0, 1:]"], "sum@Model#0": ["x[0, 1:].sum()"],
        "mul@Model#0": ["(-x + torch.tanh(x)) * x[0, 1:].sum()"]}  # fmt: skip


def test_columns_count_characters(lesson: Lesson, tmp_path: Path) -> None:
    """Letters that take several bytes count once."""
    seen = lesson(body("größe, 層 = x, 2.0", "return größe * 層 + größe"), VECTOR)
    assert called(seen, tmp_path) == {"mul@Model#0": ["größe * 層"], "add@Model#0": ["größe * 層 + größe"]}


def test_calls_over_several_lines_and_in_comprehensions(lesson: Lesson, tmp_path: Path) -> None:
    """A call that spans lines says where it ends; comprehensions, lambdas and generators have their own places."""
    seen = lesson(body("y = torch.cat(", "    [x, x],", "    dim=0,", ")", "z = [row.exp() for row in (y,)]",
                       "return (lambda t: t.abs())(z[0]) + sum(r.cos() for r in z)"), VECTOR)  # fmt: skip
    places = called(seen, tmp_path)
    assert places["cat@Model#0"] == ["torch.cat(\n            [x, x],\n            dim=0,\n        )"]
    assert [places[f"{op}@Model#0"] for op in ("exp", "abs", "cos")] == [["row.exp()"], ["t.abs()"], ["r.cos()"]]


def test_helpers_in_other_files_have_their_own_places(lesson: Lesson, tmp_path: Path) -> None:
    """An operation inside a function of another file is called there, also behind a decorator or a partial."""
    helpers = HEAD + textwrap.dedent("""
        import functools

        def loud(function):
            @functools.wraps(function)
            def wrapped(*args):
                return function(*args).abs()
            return wrapped

        @loud
        def scaled(x, by):
            return x * by
        """)
    model = (
        HEAD + "import functools\nfrom helpers import scaled\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
    )
    seen = lesson(
        {"model.py": model + "        return functools.partial(scaled, x)(2)\n", "helpers.py": helpers}, VECTOR
    )
    layers = seen.layers
    assert {layers[name]["called"][0]["file"] for name in ("mul@Model#0", "abs@Model#0")} == {"helpers.py"}
    assert called(seen, tmp_path) == {"mul@Model#0": ["x * by"], "abs@Model#0": ["function(*args).abs()"]}


def test_layers_know_all_places_that_call_them(lesson: Lesson, tmp_path: Path) -> None:
    """A module called twice on one line and once in a loop has each place once."""
    text = HEAD + textwrap.dedent("""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = nn.Linear(3, 3)

            def forward(self, x):
                x = self.part(x) + self.part(-x)
                for _ in range(3):
                    x = self.part(x)
                return x
        """)
    seen = lesson(text, VECTOR)
    assert called(seen, tmp_path)["part"] == ["self.part(x)", "self.part(-x)", "self.part(x)"]
    assert seen.layers["part"]["calls"] == 5


def test_operations_of_the_library_are_called_where_the_lesson_called_it(lesson: Lesson, tmp_path: Path) -> None:
    """What runs inside a library's composite has the place of the call that led there."""
    text = HEAD + textwrap.dedent("""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

            def forward(self, x):
                return self.block(x)
        """)
    places = called(lesson(text, VECTOR), tmp_path)
    assert places == {name: ["self.block(x)"] for name in ("block", "block.0", "block.1")}


DECLARED = HEAD + textwrap.dedent("""
    def pair(size):
        return nn.Linear(size, size), nn.Tanh()


    class Block(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.inner = nn.Linear(size, size)

        def forward(self, x):
            return self.inner(x)


    class Late(nn.Linear):
        def __init__(self, size):
            self.size = size if False else None
            self.prepare(size)

        def prepare(self, size):
            super().__init__(size, size)


    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.chain = nn.Sequential(
                nn.Linear(3, 3),
                nn.Sequential(nn.ReLU(),
                              nn.Tanh()),
            )
            self.many = nn.ModuleList(Block(3) for _ in range(2))
            self.first, self.second = pair(3)
            self.copies = nn.ModuleList([copy.deepcopy(self.first)])
            self.stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(3, 1, 4), 1, enable_nested_tensor=False)
            self.table = nn.ModuleDict({"a": nn.Identity()})
            self.late = Late(3)

        def forward(self, x):
            self.made = nn.ReLU()
            return self.made(x)
    """)


def test_modules_are_declared_where_the_lesson_asks_for_them(lesson: Lesson, tmp_path: Path) -> None:
    """Parts of a Sequential, comprehensions, helpers, copies, library composites and late modules at their lines."""
    sources = {path: module["source"] for path, module in lesson(DECLARED, VECTOR).captured["modules"].items()}
    texts = {path: text_at(tmp_path, source) for path, source in sources.items() if source and path}
    chosen = ("chain.0", "chain.1.0", "chain.1.1", "many.0", "many.1", "many.0.inner")
    assert {path: texts[path] for path in chosen} == {
        "chain.0": "nn.Linear(3, 3)", "chain.1.0": "nn.ReLU()", "chain.1.1": "nn.Tanh()", "many.0": "Block(3)",
        "many.1": "Block(3)", "many.0.inner": "nn.Linear(size, size)"}  # fmt: skip
    assert (texts["first"], texts["second"], texts["copies.0"]) == (
        "nn.Linear(size, size)", "nn.Tanh()", "copy.deepcopy(self.first)")  # fmt: skip
    assert texts["stack.layers.0.linear1"].startswith("nn.TransformerEncoder(")
    assert (texts["table"], texts["table.a"]) == ('nn.ModuleDict({"a": nn.Identity()})', "nn.Identity()")
    assert (texts["late"], texts["made"]) == ("Late(3)", "nn.ReLU()")
    assert texts["chain"].startswith("nn.Sequential(\n")


@pytest.mark.parametrize(("code", "expected"), [
    ("raise ValueError('no')", "raise ValueError('no')"), ("return x @ x", "x @ x"),
    ("return nn.Linear(2, 2)(x)", "nn.Linear(2, 2)(x)"),
])  # fmt: skip
def test_an_exception_s_place_is_the_innermost_of_the_lesson(tmp_path: Path, code: str, expected: str) -> None:
    """Also when it was raised inside torch."""
    import torch
    from torch import nn

    path = tmp_path / "model.py"
    path.write_text(f"def fails(x):\n    {code}\n", encoding="utf-8")
    scope: dict[str, Any] = {"torch": torch, "nn": nn}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    with pytest.raises((ValueError, RuntimeError)) as raised:
        scope["fails"](torch.ones(1, 3))
    place = Places(str(tmp_path)).of_traceback(raised.value.__traceback__)
    assert place is not None
    assert (place["line"], text_at(tmp_path, place)) == (2, expected)


def test_the_worker_s_own_code_is_never_the_lesson_s() -> None:
    """A revision's folder holds the worker beside the model: its frames are not lesson frames."""
    here = Places(str(Path(Places.here.__code__.co_filename).parents[1]))
    assert here.file_of(Places.here.__code__) is None
