"""The answer of a lesson's own checks is read as hostile data too; what it measured becomes a verdict here."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessonpress.build import check, check_runner
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import reader
from lessonpress.sandbox import Confinement, WorkerResult, capture
from lessonpress.worker import judge
from tests import tiny

GOOD = {"id": "check_a", "sentence": "It holds.", "measured": 0.5, "bound": 1.0, "sense": "<=", "line": 3}
METRIC = {"id": "m", "run": "one", "value": 2.0}
TASK = {"id": "m", "function": "metric_m", "run": "one", "address": "output", "select": None, "reshape": None}


MISSING = object()
MUTANT = """\
mutants:
  - {id: broken, sentence: It is broken., replace: {file: model.py, find: x + 1, with: x}, breaks: [check_a]}
"""


def asked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *lines: bytes,
    code: int = 0,
    limit: str | None = None,
    tasks: Any = None,
    mutant: str = "",
) -> Any:
    """What `judging` makes of a process that answered these lines."""
    folder = tiny.write(tmp_path / "echo", recipe=tiny.RECIPE + "checks: checks.py\n" + mutant, checks="")
    confinement = Confinement("posix-basic", {"wall_seconds": 60, "cpu_seconds": 60, "memory_mib": 99})
    ended = WorkerResult(tuple(lines), "some words", code, limit, confinement)
    monkeypatch.setattr(check_runner.sandbox, "run", lambda *_, **__: ended)
    read = reader.read(folder)
    if tasks is None:
        return check_runner.run_checks(Config(), read, b"{}", b"{}" if mutant else None)[0]
    return check_runner.run_metrics(Config(), read, b"{}", tasks)


def ok(checks: Any, metrics: Any, mutants: Any = MISSING) -> bytes:
    """A judge's answer."""
    answer = {"checks": checks, "metrics": metrics, "mutants": {} if mutants is MISSING else mutants}
    return json.dumps({"ok": answer}).encode()


def test_a_good_answer_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks as they come, metrics by case and id."""
    assert asked(tmp_path, monkeypatch, ok([GOOD], [])) == [GOOD]
    assert asked(tmp_path, monkeypatch, ok([], [METRIC]), tasks=[TASK]) == {("one", "m"): 2.0}


FORGED = [
    b"nonsense",
    b"[]",
    b"{}",
    b'{"ok": 5}',
    b'{"ok": {}}',
    b'{"ok": {"checks": 5, "metrics": [], "mutants": {}}}',
    b'{"ok": {"checks": [], "metrics": []}}',
    ok([GOOD], [], {"unasked": [GOOD]}),
    ok([GOOD], [], 5),
    b'{"error": 5}',
    b"null",
    ok([5], []),
    ok({"a": 1}, []),
    ok([[]], []),
    ok([{**GOOD, "sense": "<"}], []),
    ok([{**GOOD, "id": 5}], []),
    ok([{**GOOD, "sentence": None}], []),
    ok([{**GOOD, "line": "3"}], []),
    ok([{**GOOD, "line": True}], []),
    ok([{**GOOD, "measured": "big"}], []),
    ok([{**GOOD, "measured": None}], []),
    ok([{**GOOD, "bound": [1]}], []),
    ok([{**GOOD, "bound": {}}], []),
    ok([{**GOOD, "measured": True}], []),
    ok([{**GOOD, "passed": True}], []),
    ok([{key: GOOD[key] for key in GOOD if key != "bound"}], []),
    ok([GOOD], [METRIC]),
    ok([GOOD], [5]),
    ok([GOOD], None),
    b'{"ok": {"checks": [], "checks": [], "metrics": [], "mutants": {}}}',
    ok([GOOD], []).replace(b"0.5", b"1e999"),
    ok([GOOD], []).replace(b"0.5", b"NaN"),
]


@pytest.mark.parametrize("line", FORGED)
def test_a_forged_answer_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    """Whatever a lesson writes in the judge's place, no exception of another kind escapes."""
    with pytest.raises(LessonError, match=r"echo/checks\.py: the answer of the checks cannot be read: "):
        asked(tmp_path, monkeypatch, line)


@pytest.mark.parametrize(
    "mutants", [{}, None, [], {"other": [GOOD]}, {"broken": [5]}, {"broken": []}, {"broken": [GOOD, GOOD]},
                {"broken": [{**GOOD, "id": "check_b"}]}, {"broken": [{**GOOD, "measured": "much"}]}]
)  # fmt: skip
def test_a_broken_variant_is_judged_by_the_same_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutants: Any
) -> None:
    """One verdict of each check for each variant that was handed over, and nothing else."""
    assert asked(tmp_path, monkeypatch, ok([GOOD], [], {"broken": [GOOD]}), mutant=MUTANT) == [GOOD]
    with pytest.raises(LessonError, match="cannot be read"):
        asked(tmp_path / "again", monkeypatch, ok([GOOD], [], mutants), mutant=MUTANT)


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"broken": 5}', '{"broken": {}}', "[" * 100_000])
def test_what_variants_recorded_is_read_in_confinement(text: str) -> None:
    """Only the judge reads it, and whatever a lesson has sent in its place is one of the judge's own errors."""
    with pytest.raises(judge.Failed, match="what the broken variants recorded is not the worker's"):
        list(judge._variants(text))


@pytest.mark.parametrize(
    "metrics", [[], [METRIC, METRIC], [{**METRIC, "run": "two"}], [{**METRIC, "value": "x"}], [{}]]
)
def test_metrics_are_those_that_were_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metrics: Any) -> None:
    """One number for each task, in order."""
    with pytest.raises(LessonError, match="cannot be read"):
        asked(tmp_path, monkeypatch, ok([], metrics), tasks=[TASK])


@given(
    st.binary(max_size=30)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["ok", "error", "checks", "metrics", "mutants", "id", "run", *GOOD]), inner, max_size=4
            )
        ),
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_answer_is_checks_or_malformed(line: bytes) -> None:
    """The reader itself lets nothing else out."""
    try:
        judgement = check_runner._validate(capture.loads(line), {"metrics": [], "mutants": {}})
    except (capture.Malformed, KeyError):
        return
    assert judgement == {"checks": [], "metrics": [], "mutants": {}}


@pytest.mark.parametrize("lines", [(), (ok([GOOD], []), ok([GOOD], []))])
def test_anything_but_one_line_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: tuple[bytes, ...]
) -> None:
    """A process that ended early, or that said something twice, is reported with what it printed."""
    with pytest.raises(LessonError) as caught:
        asked(tmp_path, monkeypatch, *lines, code=3)
    assert "echo: running checks.py: " in caught.value.message()
    assert ("exit code 3." in caught.value.message()) == (not lines)
    assert "it printed: some words" in caught.value.message()


def test_a_limit_is_reported_with_its_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which limit, how much it is, and where it is raised."""
    with pytest.raises(LessonError, match=r"it passed the time limit of 60 s.*config\.yaml"):
        asked(tmp_path, monkeypatch, limit="wall_seconds")


@pytest.mark.parametrize(
    ("sense", "measured", "bound", "passed", "margin"),
    [
        ("<=", 0.25, 1.0, True, 0.75),
        ("<=", 1.0, 1.0, True, 0.0),
        ("<=", 2.0, 1.0, False, -1.0),
        (">=", 2.0, 0.5, True, 1.5),
        (">=", 0.25, 0.5, False, -0.25),
        ("<=", "NaN", 1.0, False, "NaN"),
        (">=", "Infinity", 1.0, True, "Infinity"),
        ("<=", "Infinity", 1.0, False, "-Infinity"),
        ("<=", 1.0, "Infinity", True, "Infinity"),
        ("<=", "Infinity", "Infinity", True, "NaN"),
    ],
)
def test_a_verdict_is_measured_sense_bound(sense: str, measured: Any, bound: Any, passed: bool, margin: Any) -> None:
    """It passes when measured sense bound; the margin is their distance, negative when it fails."""
    answer = check.make_verdict({**GOOD, "sense": sense, "measured": measured, "bound": bound})
    assert (answer["passed"], answer["margin"]) == (passed, margin)
    assert json.dumps(answer, allow_nan=False)
