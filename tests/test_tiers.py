"""The tiers of the tests: what is fast stays fast."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_make_fast_uses_the_switch(project: Path) -> None:
    """In as many processes as there are cores."""
    [command] = re.findall(r"^fast:.*\n\t@(.*)$", (project / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert "--fast" in command
    assert "--numprocesses auto" in command
