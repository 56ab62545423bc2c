"""Many lessons on a real Slurm cluster of two nodes give the same bytes as on this machine, also when a node dies."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import tiers, tiny
from tests.workflow import slurm

pytestmark = [pytest.mark.workflow, pytest.mark.skipif(bool(slurm.missing()), reason=slurm.missing())]

COUNT = tiers.amount(6, 50)
IN_ONE_JOB = tiers.amount(3, 13)
PROJECT = Path(__file__).parents[2]
SECONDS = 600


@dataclass(frozen=True)
class Repository:
    """A repository of lessons that are all different, and a folder for temporary files that all nodes share."""

    folder: Path
    temporary: Path

    def snakemake(self, *arguments: str, plugin: Path | None = None) -> subprocess.Popen[bytes]:
        """Start Snakemake here, on the cluster where the executor is there; what it says goes to the file `said`."""
        groups = [f"{group}={IN_ONE_JOB}" for group in ("lesson", "compare")]
        profile = ["--workflow-profile", "profiles/slurm", "--seconds-between-status-checks", "1"]
        cluster = [*profile, "--group-components", *groups] if plugin else []
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "TMPDIR": str(self.temporary)}
        environment |= {"PYTHONPATH": str(plugin)} if plugin else {}
        with (self.folder / "said").open("wb") as said:
            return subprocess.Popen([sys.executable, "-m", "snakemake", *arguments, *cluster], cwd=self.folder,
                                    env=environment, stdout=said, stderr=subprocess.STDOUT,
                                    stdin=subprocess.DEVNULL)  # fmt: skip

    def said(self) -> str:
        """What Snakemake said last."""
        return (self.folder / "said").read_text(encoding="utf-8")

    def published(self) -> dict[str, bytes]:
        """Every published file's bytes by its name."""
        results = self.folder / "results"
        return {str(path.relative_to(results)): path.read_bytes() for path in results.rglob("*") if path.is_file()}

    def left_over(self) -> list[str]:
        """What lies in the folder for temporary files when servers have had the time to end."""
        end = time.monotonic() + 10
        while (names := [path.name for path in self.temporary.iterdir()]) and time.monotonic() < end:
            time.sleep(0.1)
        return names


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
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, bytes]]:
    """What this machine alone publishes of these lessons."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as temporary:
        shared = make_repository(tmp_path_factory.mktemp("local"), Path(temporary))
        assert shared.snakemake("--cores", "2").wait(SECONDS) == 0, shared.said()
        assert shared.left_over() == []
        yield shared.published()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """A repository on the cluster, for the tests of a node's ordinary life."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as temporary:  # short: a socket's name has few characters
        yield make_repository(tmp_path_factory.mktemp("shared"), Path(temporary))


def make_repository(folder: Path, temporary: Path) -> Repository:
    """Many lessons that are all different."""
    for name in ("Snakefile", "workflow", "profiles", "templates"):
        source = PROJECT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    (folder / "config.yaml").write_text("isolation: {minimum: posix-basic}\n", encoding="utf-8")
    for number in range(COUNT):
        slug = f"line-{number:02}"
        lesson = folder / "lessons" / slug
        shutil.copytree(tiny.LESSON, lesson, ignore=shutil.ignore_patterns("__pycache__"))
        recipe = (lesson / "lesson.yaml").read_text(encoding="utf-8")
        recipe = recipe.replace(f"slug: {tiny.SLUG}", f"slug: {slug}").replace("seed: 6", f"seed: {number}")
        (lesson / "lesson.yaml").write_text(recipe, encoding="utf-8")
    return Repository(folder, temporary)


def unlike(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """The files that are not the same in both."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def test_a_cluster_publishes_the_same_bytes(
    plugin: Path, cluster: slurm.Cluster, local: dict[str, bytes], shared: Repository
) -> None:
    """Both nodes make lessons, many in one job, and the submitting machine publishes: no byte is another one."""
    assert shared.snakemake(plugin=plugin).wait(SECONDS) == 0, shared.said()
    assert list(cluster.outcomes().values()) == ["COMPLETED"] * -(-COUNT // IN_ONE_JOB)
    assert unlike(shared.published(), local) == []
    # Each job had servers of its own, one worker for its one processor, and all are gone.
    logs = [path.read_text() for path in (shared.folder / ".snakemake" / "log").glob("lessonpress-run-*.log")]
    assert [log.count("starts\n") for log in logs if "execute line-" in log] == [1] * -(-COUNT // IN_ONE_JOB)
    assert shared.left_over() == []


def test_a_mistake_fails_no_job(plugin: Path, cluster: slurm.Cluster, shared: Repository) -> None:
    """It is a result, which the last rule reports; the job itself succeeds."""
    before = cluster.outcomes()
    (shared.folder / "lessons" / f"line-{COUNT - 1:02}" / "layers.py").write_text("import nowhere\n", encoding="utf-8")
    assert shared.snakemake(plugin=plugin).wait(SECONDS) == 1, shared.said()
    assert "nowhere" in shared.said()
    assert "Trying to restart" not in shared.said()
    assert [state for job, state in cluster.outcomes().items() if job not in before] == ["COMPLETED"]


def test_a_node_that_dies_loses_nothing(
    plugin: Path, cluster: slurm.Cluster, local: dict[str, bytes], tmp_path: Path
) -> None:
    """Its jobs are done again on the other node, in the same run of Snakemake."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as temporary:
        shared = make_repository(tmp_path, Path(temporary))
        done = shared.snakemake(plugin=plugin)
        end = time.monotonic() + SECONDS
        while not begun(shared) and done.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        assert done.poll() is None, shared.said()
        cluster.kill(slurm.NODES[0])
        assert done.wait(SECONDS) == 0, shared.said()
    assert cluster.states()[slurm.NODES[0]] == "down"
    assert "Trying to restart" in shared.said()
    assert unlike(shared.published(), local) == []


def begun(shared: Repository) -> bool:
    """Whether both nodes are in the middle of their work."""
    return len(list((shared.folder / "work").glob("*/*/capture.json"))) > max(2, COUNT // 10)
