"""Fifty lessons on a real Slurm cluster of two nodes give the same bytes as on this machine, also when a node dies."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import tiny
from tests.workflow import slurm

pytestmark = [pytest.mark.workflow, pytest.mark.skipif(bool(slurm.missing()), reason=slurm.missing())]

COUNT = 50
PROJECT = Path(__file__).parents[2]
SECONDS = 600


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The executor, in a folder of its own as docs/scaling.md says."""
    folder = tmp_path_factory.mktemp("slurm") / "plugin"
    subprocess.run(["bash", "scripts/slurm_plugin.sh", str(folder)], cwd=PROJECT, check=True, timeout=SECONDS)
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurm.Cluster]:
    """Two idle nodes."""
    with slurm.running(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What this machine alone publishes of the fifty lessons."""
    room = repository(tmp_path_factory.mktemp("local"))
    done = snakemake(room, "--cores", "2")
    assert done.wait(SECONDS) == 0, (room / "said").read_text(encoding="utf-8")
    return published(room)


def repository(room: Path) -> Path:
    """A repository of lessons that are all different."""
    for name in ("Snakefile", "workflow", "profiles", "templates"):
        source = PROJECT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, room / name)
    (room / "config.yaml").write_text("batch: 13\nisolation: {minimum: posix-basic}\n", encoding="utf-8")
    for number in range(COUNT):
        slug = f"line-{number:02}"
        folder = room / "lessons" / slug
        shutil.copytree(tiny.LESSON, folder, ignore=shutil.ignore_patterns("__pycache__"))
        recipe = (folder / "lesson.yaml").read_text(encoding="utf-8")
        recipe = recipe.replace(f"slug: {tiny.SLUG}", f"slug: {slug}").replace("seed: 6", f"seed: {number}")
        (folder / "lesson.yaml").write_text(recipe, encoding="utf-8")
    return room


def snakemake(room: Path, *arguments: str, plugin: Path | None = None) -> subprocess.Popen[bytes]:
    """Start Snakemake in a repository; what it says goes to the file `said`."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **({"PYTHONPATH": str(plugin)} if plugin else {})}
    with (room / "said").open("wb") as said:
        return subprocess.Popen([sys.executable, "-m", "snakemake", *arguments], cwd=room, env=environment, stdout=said,
                                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)  # fmt: skip


def published(room: Path) -> dict[str, bytes]:
    """Every published file's bytes by its name."""
    results = room / "results"
    return {str(path.relative_to(results)): path.read_bytes() for path in results.rglob("*") if path.is_file()}


def unlike(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """The files that are not the same in both."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def test_a_cluster_publishes_the_same_bytes(
    plugin: Path, cluster: slurm.Cluster, local: dict[str, bytes], tmp_path: Path
) -> None:
    """Workers on both nodes produce, the submitting machine publishes, and no byte is another one."""
    room = repository(tmp_path)
    done = snakemake(room, "--workflow-profile", "profiles/slurm", plugin=plugin)
    assert done.wait(SECONDS) == 0, (room / "said").read_text(encoding="utf-8")
    assert len(list((room / "results" / "models").iterdir())) == COUNT
    assert unlike(published(room), local) == []


def test_a_node_that_dies_loses_nothing(
    plugin: Path, cluster: slurm.Cluster, local: dict[str, bytes], tmp_path: Path
) -> None:
    """Its jobs are done again on the other node, in the same run of Snakemake."""
    room = repository(tmp_path)
    done = snakemake(room, "--workflow-profile", "profiles/slurm", plugin=plugin)
    end = time.monotonic() + SECONDS
    while slurm.NODES[0] not in cluster.jobs() and done.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    assert done.poll() is None, (room / "said").read_text(encoding="utf-8")
    time.sleep(2)  # into its work
    cluster.kill(slurm.NODES[0])
    assert done.wait(SECONDS) == 0, (room / "said").read_text(encoding="utf-8")
    assert cluster.states()[slurm.NODES[0]] == "down"
    assert unlike(published(room), local) == []
