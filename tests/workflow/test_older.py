"""Revisions that an earlier lessonpress has published stay readable, and new ones are published beside them.

`tests/data/older.tar.xz` holds a lesson with two revisions, as they were made before manifests named their templates.
"""

import io
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from lessonpress.core import canonical_json
from lessonpress.publishing import diff, doctor, integrity, prune, publish, site, verify
from lessonpress.revision import history
from tests.workflow.conftest import TINY, House, build
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
