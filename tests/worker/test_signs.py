"""A lesson's checks notice any one flipped sign in its model, except where a proof says that nothing changes."""

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lessonpress.build import source_record
from lessonpress.lesson import reader
from lessonpress.worker import judge, run
from tests import signs, tiers

pytestmark = pytest.mark.workflow

PROJECT = Path(__file__).parents[2]
LESSONS = sorted(path.parent for path in (PROJECT / "lessons").glob("*/lesson.yaml"))
PROOFS = "equivalent.json"  # in a lesson's folder: the flips that change nothing, [{line, flip, proof}]


@pytest.fixture(autouse=True)
def forgetting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what the lessons import, and keep no bytecode: files change within a second, and often not in size."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    modules, finders = set(sys.modules), list(sys.meta_path)
    yield
    sys.meta_path[:] = finders
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def caught(plan: dict[str, Any], folder: Path) -> bool:
    """Whether a lesson cannot run, or a check fails on what it records."""
    try:
        capture = json.loads(json.dumps(run.run_plan(plan, str(folder)), allow_nan=False))
        entries = judge.judge(capture, str(folder), {"file": plan["checks"], "checks": True, "metrics": []})["checks"]
    except (run.Failed, judge.Failed):
        return True
    return any(not passed(entry) for entry in entries)


def passed(entry: dict[str, Any]) -> bool:
    """A check's verdict, from the promise: it passes when `measured sense bound`."""
    measured, bound = float(entry["measured"]), float(entry["bound"])
    return not math.isnan(measured) and (measured <= bound if entry["sense"] == "<=" else measured >= bound)


def test_every_sign_is_found() -> None:
    """Sums exchange theirs, a minus goes, products and calls turn negative; `prepare` and idle calls are left alone."""
    text = """\
def forward(x, y):
    x += 1
    use(x)
    return torch.tanh(x - y) * -2


def prepare(model):
    return 1 - 2
"""
    entries = [(flip.line, flip.flip) for flip in signs.flips(text)]
    last = "return torch.tanh(x - y) * -2"
    assert entries == [
        ("x += 1", "x += 1 -> x -= 1"),
        (last, "torch.tanh(x - y) * -2 -> (-(torch.tanh(x - y) * -2))"),
        (last, "torch.tanh(x - y) -> (-torch.tanh(x - y))"),
        (last, "x - y -> ((x) + (y))"),
        (last, "-2 -> 2"),
    ]
    assert "    return torch.tanh(((x) + (y))) * -2\n" in next(f.text for f in signs.flips(text) if "((x)" in f.text)


@pytest.mark.parametrize("folder", tiers.some(LESSONS, 3, lambda folder: folder.name))
def test_no_flipped_sign_goes_unnoticed(folder: Path, tmp_path: Path) -> None:
    """One flip at a time, through every run and every check; survivors are those that the lesson proves equivalent."""
    run.settle()
    read = reader.read(folder)
    plan = source_record.make_source_record(read)["plan"]
    trained = (plan["prepare"] or {"file": None})["file"]  # a file of its own for the training is used by no run
    idle = {plan["checks"], trained if trained != plan["model"]["file"] else None}
    code = [name for name in read.files if name.endswith(".py") and name not in idle]
    proofs = json.loads(read.files.get(PROOFS, b"[]"))
    assert all(entry["proof"].strip() for entry in proofs)
    for name, data in read.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert not caught(plan, tmp_path)
    tried, survivors = 0, []
    for name in code:
        for flip in signs.flips(read.files[name].decode()):
            (tmp_path / name).write_text(flip.text, encoding="utf-8")
            tried += 1
            if not caught(plan, tmp_path):
                survivors.append({"line": flip.line, "flip": flip.flip})
        (tmp_path / name).write_bytes(read.files[name])
    assert tried > 0
    assert survivors == [{"line": entry["line"], "flip": entry["flip"]} for entry in proofs]
