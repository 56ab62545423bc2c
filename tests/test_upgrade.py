"""An upgrade says which lessons it changes and which keep their numbers, and publishes with that reason."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lessonpress.build.steps import Made
from lessonpress.core.errors import RetryableError
from lessonpress.core.settings import Config
from lessonpress.publishing import doctor, publish, site, upgrade
from lessonpress.revision import history
from lessonpress.sandbox import worker_errors
from tests import curators, tiny

SLUG = "echo"


@pytest.fixture
def house(tmp_path: Path) -> Config:
    """Give a repository that has published a lesson under torch 2.13.0."""
    config = tiny.at(tmp_path)
    tiny.write(config.lesson(SLUG), recipe=tiny.RECORDED, checks=tiny.CHECKS)
    assert not publish.publish(tiny.without_worker(config, tiny.capture(), [tiny.verdict()])).mistakes
    site.write_site(config)
    return config


def run(config: Config, torch: str, factor: float = 1.0, **options: bool) -> list[upgrade.Lesson]:
    """Upgrade, with a torch of this version that computes all numbers so much larger."""
    from tests.test_publish import rounded

    captured = rounded(factor) if factor != 1.0 else tiny.capture()
    captured["provenance"]["torch"] = torch
    shutil.rmtree(config.work_dir(SLUG))  # as another environment has another key
    made = {"execute": Made(captured, {"mutants.json": b"{}"}), "check": Made({"checks": [tiny.verdict()]})}
    with tiny.standing_in(**made, rehearse=Made({"slug": SLUG})):
        lessons, mistakes = upgrade.upgrade(config, **options)
    assert mistakes == []
    return lessons


def events(config: Config) -> list[history.Event]:
    """The publications of the lesson."""
    return history.read_history(config.published(SLUG), SLUG)["revisions"]


@pytest.mark.parametrize(("factor", "outcome"), [
    (1.0, upgrade.IDENTICAL), (1 + 1e-14, upgrade.WITHIN), (1 + 1e-3, upgrade.OTHER),
])  # fmt: skip
def test_another_torch_is_published_with_its_reason(house: Config, factor: float, outcome: str) -> None:
    """Whether the numbers are the same ones is said; the old revision and its requirements stay."""
    [first] = events(house)
    [planned] = run(house, "2.14.0", factor, dry_run=True)
    assert planned.outcome == outcome
    assert len(events(house)) == 1
    [done] = run(house, "2.14.0", factor)
    assert (done.outcome, done.versions) == (outcome, ("torch 2.13.0 → 2.14.0",))
    last = events(house)[-1]
    assert last["note"] == "torch 2.13.0 → 2.14.0"
    assert "environment" in last["reasons"]
    assert ("numbers" in last["reasons"]) == (outcome != upgrade.IDENTICAL)
    assert "Commit it" in upgrade.format_table([done], dry_run=False)
    site.write_site(house)
    assert doctor.find_faults(house) == []
    old = house.published(SLUG) / first["revision"]
    command = [sys.executable, "-I", "verify.py", "--digests"]
    verified = subprocess.run(command, cwd=old, capture_output=True, timeout=60, check=False)
    assert verified.returncode == 0
    assert (old / "requirements.txt").is_file()
    assert run(house, "2.14.0", factor) == [upgrade.Lesson(SLUG, upgrade.SAME, f"revision {last['revision']}", ())]


def test_the_versions_that_publish_are_to_be_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What requirements.txt does not fix, another clone would install otherwise; what it fixes needs no word."""
    monkeypatch.setattr(upgrade.bundle, "read_version", {"lessonpress": "1.2", "torch": "2.14.1"}.__getitem__)
    assert list(upgrade.check_requirements(tmp_path)) == []
    for text, said in {
        "lessonpress==1.2\ntorch==2.14.1\n": [], "lessonpress[sigstore] == 1.2  # ours\nTorch==2.14.1": [],
        "lessonpress @ git+https://example.org/x@0123\ntorch==2.14.1": [],
        "lessonpress==1.2\ntorchvision==2.14.1\n# torch==2.14.1": ["does not name torch: write torch==2.14.1,"],
        "lessonpress==1.1\ntorch==2.14.10": ["says lessonpress ==1.1: write lessonpress==1.2,",
                                             "says torch ==2.14.10: write torch==2.14.1,"],
        "lessonpress\ntorch>=2.14": ["says lessonpress: write", "says torch >=2.14: write"],
        "lessonpress==1.2\ntorch==2.14.*": ["says torch ==2.14.*: write"],
    }.items():  # fmt: skip
        (tmp_path / "requirements.txt").write_text(text, encoding="utf-8")
        advice = list(upgrade.check_requirements(tmp_path))
        assert len(advice) == len(said), advice
        assert all(words in line for words, line in zip(said, advice, strict=True)), advice


def test_an_edit_does_not_hide_behind_an_upgrade(house: Config) -> None:
    """What was edited and not published is published first, under its own reason."""
    tiny.edit(house.lesson(SLUG) / "lesson.yaml", "title: Echo", "title: Edited")
    with curators.without_worker():
        lessons, [mistake] = upgrade.upgrade(house)
    assert lessons == []
    assert "it was edited (prose) and not published" in mistake.seen
    assert len(events(house)) == 1


def test_a_package_of_another_environment_is_no_fault_of_the_lesson(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the package and where to install it, and no line of the lesson; it is tried again next time."""
    package = tmp_path / "other" / "site-packages" / "elsewhere_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    assert worker_errors.find_foreign_package("ModuleNotFoundError", "No module named 'elsewhere_package'") is None
    monkeypatch.syspath_prepend(package.parent)
    error = worker_errors.find_foreign_package("ModuleNotFoundError", "No module named 'elsewhere_package'")
    assert isinstance(error, RetryableError)
    assert "another environment" in error.seen
    assert f"{sys.executable} -m pip install elsewhere_package" in error.fix
    denied = f"[Errno 13] Permission denied: '{package}/__init__.py'"
    assert worker_errors.find_foreign_package("PermissionError", denied)
    assert worker_errors.find_foreign_package("PermissionError", "[Errno 13] Permission denied: '/etc/shadow'") is None
    assert worker_errors.find_foreign_package("ModuleNotFoundError", "No module named 'nowhere_at_all'") is None
    assert json.dumps(error.message())
