"""Revisions that an earlier lessonpress has published stay readable, and new ones are published beside them.

`tests/data/older.tar.xz` holds a lesson with two revisions, as they were made before manifests named their templates,
`adopter-0.1.0.tar.xz` what somebody had committed who began with `lessonpress init` of 0.1.0 and published twice.
"""

import io
import re
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from lessonpress import __version__
from lessonpress.authoring import repository
from lessonpress.core import canonical_json
from lessonpress.publishing import diff, doctor, integrity, prune, publish, site, upgrade, verify
from lessonpress.revision import history
from tests.workflow.conftest import TINY, House, build
from tests.workflow.owners import Owner, good, run
from tests.workflow.revisions import regenerated

pytestmark = pytest.mark.workflow


@pytest.fixture
def older(tmp_path: Path, project: Path) -> House:
    """Give a house whose lesson was published twice by an earlier lessonpress."""
    house = build(tmp_path / "house", project)
    house.edit("lesson.yaml", "What does a shift", "What can a shift")
    packed = (project / "tests" / "data" / "older.tar.xz").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(house.published.parent, filter="data")
    site.write_site(house.settings)
    return house


def test_they_are_whole_and_can_be_read(older: House) -> None:
    """Digests, history and differences: nothing asks an old revision for what it never had."""
    config = older.settings
    assert doctor.find_faults(config) == []
    one, two = older.revisions()[::-1]
    assert "templatesSha256" not in canonical_json.read(older.published / one / "manifest.json")["provenance"]
    difference = diff.diff(config, TINY)
    assert (difference.old, difference.new, difference.reasons) == (one, two, ("prose",))
    assert [line.split()[0] for line in prune.list_history(config, TINY).splitlines()] == [two, one]
    shutil.rmtree(older.published / one / "worker")
    assert [fault.where for fault in integrity.find_revision_faults(older.published / one, TINY)]


def test_a_new_revision_stands_beside_them(older: House) -> None:
    """Other words and other templates are different reasons; publishing adds, and then all of it verifies."""
    config, before = older.settings, older.bytes()
    older.edit("lesson.yaml", "What can a shift", "What may a shift")
    drift = verify.verify_lesson(config, TINY)
    assert drift.faults == ()
    assert drift.changes is not None
    assert {"prose", "templates"} <= set(drift.changes["reasons"])
    done = older.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"because of: .*prose \(.*, templates \(", done.stdout + done.stderr)
    after = older.bytes()
    assert all(after[name] == data for name, data in before.items() if "/" in name.removeprefix(f"models/{TINY}/"))
    assert verify.verify(config) is True
    assert doctor.find_faults(config) == []
    last = history.read_history(older.published, TINY)["revisions"][-1]
    assert {"prose", "templates"} <= set(last["reasons"])
    assert str(publish.publish(regenerated(older)).words).startswith(f"{TINY}: unchanged")


@pytest.fixture
def adopter(tmp_path: Path, project: Path) -> Owner:
    """Give the repository of somebody whose first lesson was published twice by 0.1.0, with the files of its `init`."""
    folder = tmp_path / "adopter"
    with tarfile.open(project / "tests" / "data" / "adopter-0.1.0.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    owner = Owner(Path(sys.executable), folder)
    owner.git("init", "--quiet")
    owner.commit()
    return owner


@pytest.mark.parametrize("way", ["upgrade", "snakemake"])
def test_a_repository_that_0_1_0_began_upgrades(adopter: Owner, way: str) -> None:
    """The command that the doctor names, or a plain run, leads to a good state: one event more, with its reason.

    Every file of every revision keeps its bytes, every page its address, and old revisions verify by themselves.
    """
    results, lesson = adopter.folder / "results", adopter.folder / "results" / "models" / repository.LESSON
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    old = history.read_history(lesson, repository.LESSON)
    assert "lessonpress==0.1.0" in (adopter.folder / "requirements.txt").read_text(encoding="utf-8")
    doctored = adopter.python_m("lessonpress", "doctor")
    assert doctored.returncode == 1
    assert all("lessonpress site" in line for line in doctored.stdout.strip().splitlines())  # the revisions are whole
    if way == "upgrade":
        said = good(adopter.python_m("lessonpress", "upgrade"))
        assert f"1 {upgrade.IDENTICAL} (lessonpress 0.1.0 → {__version__})" in said
        assert f"requirements.txt says lessonpress ==0.1.0: write lessonpress=={__version__}" in said
        assert "requirements.txt does not name torch: write torch==" in said
    else:
        assert "because of: environment (settings" in adopter.snakemake()
        assert f"1 {upgrade.SAME}" in good(adopter.python_m("lessonpress", "upgrade"))
    assert "Nothing to be done" in adopter.snakemake() or way == "upgrade"
    new = history.read_history(lesson, repository.LESSON)
    assert new["revisions"][:-1] == old["revisions"]
    last = new["revisions"][-1]
    assert set(last["reasons"]) == {"environment", "templates"}
    assert last["note"] == (f"lessonpress 0.1.0 → {__version__}" if way == "upgrade" else None)
    assert new["current"] == last["revision"]
    for path, data in before.items():
        assert path.is_file()
        assert path.read_bytes() == data or path.parent in (results, lesson, results / "schema")
    for event in old["revisions"]:
        good(run([sys.executable, "-I", "verify.py", "--digests"], lesson / event["revision"]))
    assert "All is good" in adopter.snakemake("verify")
    good(adopter.python_m("lessonpress", "doctor"))
    good(adopter.python_m("lessonpress", "merge", "--setup"))
    assert "merge=lessonpress" in (adopter.folder / ".gitattributes").read_text(encoding="utf-8")
    adopter.commit()
    good(adopter.python_m("lessonpress", "doctor"))
