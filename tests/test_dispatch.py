"""What a run of Snakemake sets out to do: batches that are its own, and a dry run that leaves no trace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lessonpress import canon, dispatch
from lessonpress.settings import Config
from tests import tiny


def test_batches_hold_every_due_lesson_once(tmp_path: Path) -> None:
    """As many to a batch as may be, and their plans say which."""
    slugs = [f"lesson-{n}" for n in range(7)]
    names = dispatch.batches(slugs, tmp_path, 3)
    plans = [(tmp_path / "batches" / f"{name}.plan").read_text().split() for name in names]
    assert [len(plan) for plan in plans] == [3, 3, 1]
    assert [slug for plan in plans for slug in plan] == slugs
    assert set(names).isdisjoint(dispatch.batches(slugs, tmp_path, 3))  # two runs at once do not share files
    assert len(dispatch.batches(slugs, tmp_path, None)) == 1  # on one machine


def ended() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


HERE = os.uname().nodename
OWNERS = {
    "runs here": (f"{HERE} {os.getpid()}", True), "has ended here": (f"{HERE} {ended()}", False),
    "runs elsewhere": ("elsewhere 1", True), "was killed while it wrote": ("", False),
}  # fmt: skip


@pytest.mark.parametrize("owner", OWNERS)
def test_batches_go_with_their_run(tmp_path: Path, owner: str) -> None:
    """With nothing to do, what ended runs left behind is taken away, and nothing of one that may go on still."""
    told, stays = OWNERS[owner]
    names = dispatch.batches(["one", "two"], tmp_path, 1)
    folder = tmp_path / "batches"
    for name in names:
        for ending in ("done", "log", "tsv"):
            canon.write(folder / f"{name}.{ending}", "{}")
    [owned] = folder.glob(f"*{dispatch.OWNER}")
    owned.write_text(told, encoding="utf-8")
    canon.write(folder / "three-abcdef.plan", "three")  # of a run that nobody owns
    before = {path.name for path in folder.iterdir()} - {"three-abcdef.plan"}
    assert dispatch.batches([], tmp_path, 1) == []
    assert ({path.name for path in folder.glob("*")} == before) is stays
    assert folder.exists() is stays


def test_a_plan_makes_the_pages_receipt_give_way(tmp_path: Path) -> None:
    """Else Snakemake would see no need to publish; a dry run takes nothing away and notes a reason of its own."""
    config = Config(lessons=str(tmp_path / "lessons"), results=str(tmp_path / "results"), work=str(tmp_path / "work"))
    work = Path(config.work)
    tiny.write(tmp_path / "lessons" / "echo")
    dispatch.planned([], config, work)
    canon.write(work / "site.json", "{}")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    aside = dispatch.notes(work, dry=True)
    [name] = dispatch.planned(["echo"], config, aside)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert (aside / "batches" / f"{name}.plan").read_text() == "echo\n"
    assert (aside / "code" / "site.sha256").stat().st_mtime_ns > before[work / "site.json"]
    assert dispatch.notes(work, dry=False) == work
    dispatch.planned(["echo"], config, work)
    assert not (work / "site.json").exists()
