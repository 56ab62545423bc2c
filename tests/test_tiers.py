"""The tiers of the tests: what is fast stays fast."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests import tiers


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("import", ("torch", None)),
        ("import", ("torch.nn", None)),
        ("import", ("snakemake.cli", None)),
        ("subprocess.Popen", ("/usr/bin/chromium", ["/usr/bin/chromium", "--headless"], None, None)),
        ("subprocess.Popen", (sys.executable, [sys.executable, "-m", "snakemake", "--cores", "1"], None, None)),
        ("subprocess.Popen", ("node", [b"node", Path("kernels.js")], None, None)),
        ("os.posix_spawn", ("/usr/bin/node", ["node"], None)),
    ],
)
def test_a_fast_test_starts_nothing_slow(event: str, arguments: tuple[object, ...]) -> None:
    """Neither torch nor a browser nor Snakemake, whether it is imported or started."""
    with pytest.raises(tiers.NotFastError, match=r"a fast test (imports|starts) "):
        tiers.refuse_slow(event, arguments)


def test_a_fast_test_may_start_what_is_quick() -> None:
    """git, our own programs, and modules of ours that have a slow one's name in theirs."""
    tiers.refuse_slow("import", ("lessonpress.cli.snakemake_session", None))
    tiers.refuse_slow("subprocess.Popen", ("git", ["git", "rev-parse", "HEAD"], None, None))
    tiers.refuse_slow("subprocess.Popen", (sys.executable, [sys.executable, "-m", "lessonpress", "lint"], None, None))
    tiers.refuse_slow("open", ("torch", "r", 0))


@pytest.mark.parametrize("deed", ["import torch", "import subprocess; subprocess.run(['node', '--version'])"])
def test_the_switch_holds_the_whole_process_to_it(deed: str, project: Path) -> None:
    """Python itself asks before it imports or starts anything, and no `except Exception` hides the answer."""
    code = f"from tests import tiers\ntiers.hold_to_fast()\ntry:\n    {deed}\nexcept Exception:\n    pass"
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "NotFastError: a fast test " in done.stderr


def test_it_can_be_too_late(project: Path) -> None:
    """Where something slow is there already, fast tests do not begin."""
    code = "import sys, tests.tiers as tiers\nsys.modules['torch'] = sys\ntiers.hold_to_fast()"
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=False)
    assert "NotFastError: torch: imported before the first test" in done.stderr


def test_every_folder_of_tests_has_its_tier(project: Path) -> None:
    """The fast tests lie beside this file; a folder of tests is one that `make fast` leaves out."""
    folders = {path.parent.name for path in (project / "tests").glob("*/test_*.py")}
    assert folders == tiers.SLOW_FOLDERS
    assert not list((project / "tests").glob("*/*/test_*.py"))


@pytest.mark.parametrize(("line", "whole"), [
    ("pytestmark = pytest.mark.slow  # why", True), ("pytestmark = [pytest.mark.workflow,", True),
    ("pytestmark = pytest.mark.skipif(True)", False), ("    pytestmark = pytest.mark.slow", False),
    ("@pytest.mark.slow", False),
])  # fmt: skip
def test_a_module_that_is_slow_as_a_whole_is_not_imported(line: str, whole: bool) -> None:
    """Its mark is read in its text, so that `make fast` does not pay for its imports."""
    assert bool(tiers.SLOW_MODULE.search(f"import pytest\n\n{line}\n")) is whole


def test_make_fast_uses_the_switch(project: Path) -> None:
    """In several processes."""
    [command] = re.findall(r"^fast:.*\n\t@(.*)$", (project / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert "--fast" in command
    assert "--numprocesses" in command


# Tests that install packages from an index, torch among them: gigabytes for some. By day no test needs a network.
INSTALLING = {
    "tests/workflow/test_actions.py::test_what_fetches_packages_does_its_work",
    "tests/workflow/test_other_torch.py::test_every_lesson_says_what_another_torch_changes",
    "tests/workflow/test_other_torch.py::test_an_upgrade_publishes_beside_what_was_there",
}


@pytest.fixture(scope="module")
def jobs() -> list[dict[str, str]]:
    """Give the nightly workflow's jobs, each with its command and with the environment that its tests see."""
    file = Path(__file__).resolve().parents[1] / ".github" / "workflows" / "nightly.yml"
    job = YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))["jobs"]["heavy"]
    return [{**one, **{name: filled(value, one) for name, value in job["env"].items()}}
            for one in job["strategy"]["matrix"]["include"]]  # fmt: skip


def filled(value: str, job: dict[str, str]) -> str:
    """A variable's value in a job of the matrix."""
    return re.sub(r"\$\{\{ *matrix\.(\w+) *\}\}", lambda match: job.get(match[1], ""), value)


def collected(project: Path, *arguments: str, night: str = "0") -> tuple[set[str], dict[str, set[str]]]:
    """The tests that a plain run would take, and those that it leaves out, with their marks."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-p", "tests.left_out"]
    around = {**os.environ, "LESSONPRESS_NIGHTLY": night}
    done = subprocess.run([*command, *arguments], cwd=project, env=around, capture_output=True, text=True,
                          timeout=300, check=True)  # fmt: skip
    lines = done.stdout.splitlines()
    out = [line.split("\t")[1:] for line in lines if line.startswith("left out\t")]
    return {line for line in lines if "::" in line and "\t" not in line}, {name: set(marks) for name, *marks in out}


def names(nodes: Iterable[str]) -> set[str]:
    """The functions of tests, without their parameters."""
    return {node.partition("[")[0] for node in nodes}


@pytest.mark.workflow
def test_the_day_leaves_out_nothing_but_cases_for_the_night(project: Path) -> None:
    """`make test` tries some cases of every kind; what it leaves out is marked, and no benchmark is among it."""
    day, left_out = collected(project)
    night = {name for name, marks in left_out.items() if "nightly" in marks}
    assert {name for name, marks in left_out.items() if "benchmark" not in marks} == night
    assert len(night) > 500
    assert names(night) - names(day) == INSTALLING


@pytest.mark.workflow
def test_the_night_takes_what_the_day_leaves_out(jobs: list[dict[str, str]], project: Path) -> None:
    """The nightly `make test` takes all cases, marked or not."""
    [whole] = [job for job in jobs if job["command"] == "make test"]
    file = "tests/processors/test_processors.py"
    day, left_out = collected(project, file)
    night, nothing = collected(project, file, night=whole["LESSONPRESS_NIGHTLY"])
    assert left_out
    assert nothing == {}
    assert night == day | left_out.keys()


def test_make_test_selects_nothing(project: Path) -> None:
    """So that by day and by night it is the marks alone which decide."""
    [recipe] = re.findall(r"^test:.*\n((?:\t.*\n)+)", (project / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert "pytest" in recipe
    assert not re.search(r"--fast| -k | -m (?!pytest)|--ignore|--deselect|tests/", recipe.replace("$(PY) -m", "$(PY)"))


@pytest.mark.parametrize(
    ("variable", "file", "least"),
    [
        ("LESSONPRESS_SEQUENCES", "tests/workflow/test_no_edit_is_lost.py", 500),
        ("LESSONPRESS_CRASHES", "tests/workflow/test_crash.py", 200),
    ],
)
def test_a_nightly_job_draws_many(
    jobs: list[dict[str, str]], project: Path, variable: str, file: str, least: int
) -> None:
    """Random edits and crashes have a job of their own, with far more of them than by day."""
    assert variable in (project / file).read_text(encoding="utf-8")
    amounts = [int(job[variable]) for job in jobs if file in job["command"]]
    assert max(amounts) >= least


def test_an_amount_can_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment variable goes before day and night, and an empty one is none."""
    monkeypatch.setattr(tiers, "NIGHTLY", False)
    assert tiers.amount(2, 9, "LESSONPRESS_SOME") == 2
    monkeypatch.setattr(tiers, "NIGHTLY", True)
    monkeypatch.setenv("LESSONPRESS_SOME", "")
    assert tiers.amount(2, 9, "LESSONPRESS_SOME") == 9
    monkeypatch.setenv("LESSONPRESS_SOME", "40")
    assert tiers.amount(2, 9, "LESSONPRESS_SOME") == 40


def test_some_of_many_are_for_the_day() -> None:
    """The first, and then one in so many; each keeps its name."""
    params: list[Any] = tiers.some("abcde", 2)
    assert [param.id for param in params] == list("abcde")
    assert [param.id for param in params if not param.marks] == ["a", "c", "e"]


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("tests/test_page.py::test_a", "tests/test_page.py::test_b[x]", True),
        ("tests/test_page.py::test_a", "tests/test_site.py::test_a", False),
        ("tests/hostile/test_fuzz.py::test_a[0]", "tests/hostile/test_fuzz.py::test_a[100]", False),
        (
            "tests/browser/test_lessons_in_browser.py::test_axe[layer-norm-dark]",
            "tests/browser/test_lessons_in_browser.py::test_no_state_scrolls_sideways[layer-norm-320]",
            True,
        ),
        (
            "tests/browser/test_lessons_in_browser.py::test_axe[layer-norm-dark]",
            "tests/browser/test_lessons_in_browser.py::test_axe[lstm-gates-dark]",
            False,
        ),
    ],
)
def test_what_shares_something_stays_together(one: str, other: str, together: bool) -> None:
    """A file's tests, and those of one lesson's page, are one process's work."""
    assert (tiers.unit(one) == tiers.unit(other)) is together


def test_what_takes_long_begins_first() -> None:
    """So that in the end no process works alone."""
    names = ["tests/test_page.py::a", "tests/workflow/test_crash.py::b", "tests/browser/test_site_in_browser.py::c"]
    assert sorted(names, key=tiers.rank) == [names[1], names[2], names[0]]
