"""Broken variants run with the lesson, record what their own arithmetic gives, and every check must fail on its own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from lessonpress.build import check, steps
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.cli import main
from lessonpress.core import canonical_json
from lessonpress.core.errors import LessonError
from lessonpress.publishing import publish
from lessonpress.worker import recorded
from tests import tiny

pytestmark = pytest.mark.workflow

PARTS = ("runs", "modules", "blobs")
FIND = "self.halve(self.halve(moved))"


def executed(root: Path, *changes: tuple[str, str]) -> LessonBuild:
    """The build of the tiny lesson in a repository of its own, its recipe changed, read and run."""
    config = tiny.repository(root)
    for old, new in changes:
        tiny.edit(config.lesson(tiny.SLUG) / "lesson.yaml", old, new)
    return tiny.made(config, last="execute")


def variants(work: LessonBuild) -> dict[str, recorded.Runs]:
    """What each broken variant recorded."""
    return {name: recorded.Runs(record) for name, record in canonical_json.loads(work.bytes("mutants.json")).items()}


def checked(work: LessonBuild) -> list[Mapping[str, Any]]:
    """The verdicts on the lesson."""
    steps.perform(work, "check")
    return work.checks


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> LessonBuild:
    """The tiny lesson as it is."""
    return executed(tmp_path_factory.mktemp("good"))


def test_a_variant_records_its_own_arithmetic(good: LessonBuild) -> None:
    """In every run, and by hand: halved once instead of twice, or never shifted."""
    broken = variants(good)
    for name in ("plain", "moved", "flat"):
        for mutant, wanted in (
            ("halved_once", lambda line, shift: (line + shift) / 2),
            ("unmoved", lambda line, _: line / 4),
        ):
            run = broken[mutant][name]
            line = run["input:points"] @ run["param:line.weight"].T + run["param:line.bias"]
            assert np.allclose(run["output[0]"], wanted(line, run["input:shift"]), rtol=0, atol=1e-15)


def test_variants_leave_no_trace_in_the_lessons_own_record(good: LessonBuild, tmp_path: Path) -> None:
    """The capture is the same, byte for byte, as that of the lesson without its variants."""
    config = tiny.repository(tmp_path)
    path = config.lesson(tiny.SLUG) / "lesson.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index("mutants:")] + text[text.index("scope:") :], encoding="utf-8")
    alone = tiny.made(config, last="execute")
    one, other = (work.body("capture.json") for work in (good, alone))
    assert canonical_json.compact([one[key] for key in PARTS]) == canonical_json.compact([other[key] for key in PARTS])
    assert canonical_json.loads(alone.bytes("mutants.json")) == {}


def test_a_file_beside_the_model_can_be_broken(tmp_path: Path) -> None:
    """The variant imports its own copy of the sibling, not the one that the lesson imported before it."""
    old = f'file: model.py, find: "{FIND}", with: "self.halve(moved)"'
    run = variants(executed(tmp_path, (old, 'file: layers.py, find: "0.5", with: "0.25"')))["halved_once"]["plain"]
    line = run["input:points"] @ run["param:line.weight"].T + run["param:line.bias"]
    assert np.allclose(run["output[0]"], line / 16, rtol=0, atol=1e-15)


@pytest.mark.parametrize("package", [True, False])
def test_a_file_in_a_folder_can_be_broken(tmp_path: Path, package: bool) -> None:
    """Be the folder a package or not: a variant never gets the module that the lesson imported before it."""
    config = tiny.repository(tmp_path)
    folder = config.lesson(tiny.SLUG)
    (folder / "parts").mkdir()
    (folder / "layers.py").rename(folder / "parts" / "layers.py")
    if package:
        (folder / "parts" / "__init__.py").write_text("")
    for name, old, new in (
        ("model.py", "from layers import", "from parts.layers import"),
        ("lesson.yaml", f'file: model.py, find: "{FIND}", with: "self.halve(moved)"',
         'file: parts/layers.py, find: "0.5", with: "0.25"'),
    ):  # fmt: skip
        tiny.edit(folder / name, old, new)
    run = variants(tiny.made(config, last="execute"))["halved_once"]["plain"]
    line = run["input:points"] @ run["param:line.weight"].T + run["param:line.bias"]
    assert np.allclose(run["output[0]"], line / 16, rtol=0, atol=1e-15)


def test_each_check_is_reported_with_the_variants_that_name_it(good: LessonBuild) -> None:
    """And with what it measured there."""
    quarter, moves = checked(good)
    assert [(m["id"], m["failed"]) for m in quarter["mutants"]] == [("halved_once", True), ("unmoved", True)]
    assert [(m["id"], m["failed"], m["measured"]) for m in moves["mutants"]] == [("unmoved", True, 0.0)]
    # Where the shift of 8 is a quarter of itself too much: (line + 8) / 2 against (line + 8) / 4.
    assert quarter["mutants"][0]["measured"] > 1


def test_a_check_that_cannot_measure_a_variant_has_failed_on_it(tmp_path: Path) -> None:
    """Its broken model has other operations than the check looks for."""
    named = ("breaks: [check_result_is_a_quarter_of_the_shifted_map]", "breaks: [check_the_shift_moves_every_number]")
    _, moves = checked(executed(tmp_path, named))
    assert [(m["id"], m["failed"], m["measured"]) for m in moves["mutants"]] == [
        ("halved_once", True, "NaN"), ("unmoved", True, 0.0),
    ]  # fmt: skip


def test_a_check_that_survives_is_not_published(tmp_path: Path) -> None:
    """Publish names the check, the variant, and what was measured."""
    work = executed(tmp_path, ('with: "self.line(points) + 0 * shift"', 'with: "self.line(points) + 1 * shift"'))
    assert not checked(work)[1]["mutants"][0]["failed"]
    steps.perform_all(work)
    message = "\n".join(tiny.words(publish.publish(work).mistakes))
    assert (
        "checks.py:19: check_the_shift_moves_every_number: the check passes on the broken variant unmoved: " in message
    )
    assert "it must fail there, and be >= 0.5 only on the lesson itself" in message
    assert not Path(work.config.results).exists()


def test_a_check_without_teeth_is_previewed_but_not_published(tmp_path: Path) -> None:
    """Publish says what to write; preview says it too, and makes the page."""
    work = executed(tmp_path, (", check_the_shift_moves_every_number]", "]"))
    steps.perform_all(work)
    wanted = "check_the_shift_moves_every_number: no broken variant shows that this check can fail"
    [message] = tiny.words(publish.publish(work).mistakes)
    assert wanted in message
    out = tmp_path / "out"
    done = CliRunner().invoke(main.app, ["preview", str(work.source_dir), "--out", str(out)])
    assert done.exit_code == 0
    assert wanted in done.stderr
    assert "not yet publishable: " in done.stderr
    assert (out / "index.html").is_file()


def test_a_variant_names_checks_that_there_are(tmp_path: Path) -> None:
    """Another name is the recipe's mistake, at its line."""
    work = executed(tmp_path, ("breaks: [check_result_is_a_quarter_of_the_shifted_map]", "breaks: [check_quarter]"))
    with pytest.raises(
        LessonError, match=r"lesson\.yaml:\d+: mutants\[0\]\.breaks\[0\]: no check is called check_quarter"
    ):
        checked(work)


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("self.nothing(moved)", r"model\.py:18: calling the model of ShiftedLine in the broken variant halved_once: "
                                r"AttributeError: .* a broken variant runs to its end"),
        ("self.halve(moved", r"model\.py:18: importing the file of ShiftedLine in the broken variant halved_once: "
                             r"SyntaxError: "),
    ],
)  # fmt: skip
def test_a_variant_that_cannot_run_is_reported(tmp_path: Path, code: str, seen: str) -> None:
    """A model that breaks down proves nothing about a check."""
    with pytest.raises(LessonError, match=seen):
        executed(tmp_path, ('with: "self.halve(moved)"', f'with: "{code}"'))


def test_the_page_and_the_manifest_say_it(good: LessonBuild) -> None:
    """In words beside the margin, and as data, each variant with the sentence that the recipe says of it."""
    steps.perform_all(good)
    page = (good.revision / "index.html").read_text(encoding="utf-8")
    assert "fails on 2 of 2 broken variants" in page
    assert "fails on 1 of 1 broken variant<" in page
    assert "The map is halved once, not twice." in page
    checks = canonical_json.read(good.revision / "manifest.json")["checks"]
    assert checks[0]["mutants"][0]["sentence"] == "The map is halved once, not twice."
    assert [[m["id"] for m in entry["mutants"]] for entry in checks] == [["halved_once", "unmoved"], ["unmoved"]]


def test_a_folder_in_a_folder_is_imported_anew(tmp_path: Path) -> None:
    """Neither is a package, and each variant finds its own."""
    config = tiny.repository(tmp_path)
    folder = config.lesson(tiny.SLUG)
    (folder / "parts" / "inner").mkdir(parents=True)
    (folder / "layers.py").rename(folder / "parts" / "inner" / "layers.py")
    model = folder / "model.py"
    model.write_text(model.read_text(encoding="utf-8").replace("from layers", "from parts.inner.layers"))
    assert list(variants(tiny.made(config, last="execute"))) == ["halved_once", "unmoved"]


def test_a_check_sees_of_a_lesson_what_it_sees_of_a_variant(tmp_path: Path) -> None:
    """What only one of both has is an error at once, and no reason to call the variant broken."""
    config = tiny.repository(tmp_path)
    path = config.lesson(tiny.SLUG) / "checks.py"
    text = path.read_text(encoding="utf-8") + """

def check_that_looks_behind(runs):
    kinds = [call["kind"] for call in runs["plain"].run["calls"]]
    return {"measured": len(kinds), "bound": 1, "sense": ">="}
"""
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LessonError, match=r"checks\.py:\d+: .*KeyError: 'kind'"):
        tiny.made(config, last="check")


def test_a_lost_record_of_the_variants_is_one_message(tmp_path: Path) -> None:
    """An empty file is no record of none."""
    work = tiny.made(tiny.repository(tmp_path), last="execute")
    with pytest.raises(LessonError, match="what the broken variants recorded is not the worker's"):
        check.judge_checks(work.config, work.lesson, work.bytes("capture.json"), b"")
