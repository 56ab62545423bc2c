"""What a reader downloads works on its own: in a fresh environment, with nothing of ours installed."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lessonpress.revision import bundle
from tests import tiers
from tests.workflow import environments

pytestmark = pytest.mark.workflow

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a Python that has what requirements.txt asks for and nothing else; at night pip installs it."""
    folder = tmp_path_factory.mktemp("a fresh environment")
    if not tiers.NIGHTLY:
        asked = [line for line in bundle.list_requirements().splitlines() if not line.startswith("#")]
        return environments.make(folder / "venv", asked)
    (folder / "requirements.txt").write_text(bundle.list_requirements(), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    install = ["-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([python, *install, "-r", folder / "requirements.txt"], check=True, timeout=1200)
    return python


LESSONS = sorted(path.parent for path in PROJECT.glob("lessons/*/lesson.yaml"))


@pytest.fixture(scope="module", params=tiers.some(LESSONS, 6, lambda lesson: lesson.name))
def bundle_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the unpacked bundle of some of the project's lessons, at night of each."""
    folder = tmp_path_factory.mktemp("bundle")
    command = [sys.executable, "-m", "lessonpress", "preview", request.param, "--out", folder / "revision"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    with zipfile.ZipFile(folder / "revision" / "bundle.zip") as archive:
        archive.extractall(folder / "unpacked")
    [unpacked] = (folder / "unpacked").iterdir()
    return unpacked


def run(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the bundle, isolated from this test's own environment."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder.parent)}
    command = [str(python), *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_run_prints_the_promised_shape(fresh: Path, bundle_folder: Path, tmp_path: Path) -> None:
    """Four files in a folder of their own print the shapes that the script's first lines promise, one a line."""
    for name in (
        "run.py",
        "requirements.txt",
        "weights.safetensors",
        *(p.name for p in bundle_folder.glob("model*.py")),
    ):
        shutil.copy(bundle_folder / name, tmp_path / name)
    done = run(fresh, tmp_path, "run.py")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "run.py").read_text(encoding="utf-8")
    promised = re.search(r"# its last lines? (?:is|are) (.*)", text)
    assert promised
    shapes = promised[1].split(", ")
    assert done.stdout.splitlines()[-len(shapes) :] == shapes


def test_compare_agrees_with_the_record(fresh: Path, bundle_folder: Path) -> None:
    """Every array is the recorded one to the bit, every check passes, and the last line is still the shape."""
    done = run(fresh, bundle_folder, "run.py", "--compare")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "In all: 0.0e+00, 0 out of tolerance." in done.stdout
    assert "FAILS" not in done.stdout
    assert "this machine's own initialisers: " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("[")


def test_compare_sees_a_nudged_number(fresh: Path, bundle_folder: Path, tmp_path: Path) -> None:
    """A recorded value changed by 1e-6 is out of tolerance and ends in exit 1."""
    copy = tmp_path / "copy"
    shutil.copytree(bundle_folder, copy)
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    case = manifest["experiment"]["cases"][0]
    row = [*case["matrices"], *case["vectors"]][-1]["values"]
    while isinstance(row[0], list):
        row = row[0]
    row[0] += 1e-6
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    done = run(fresh, copy, "run.py", "--compare")
    assert done.returncode == 1
    assert "OUT OF TOLERANCE" in done.stdout


def test_verify_finds_a_changed_byte(fresh: Path, bundle_folder: Path, tmp_path: Path) -> None:
    """verify.py, with the standard library alone, accepts the bundle and refuses one with another byte."""
    copy = tmp_path / "copy"
    shutil.copytree(bundle_folder, copy)
    assert run(fresh, copy, "-I", "verify.py").returncode == 0
    data = bytearray((copy / "weights.safetensors").read_bytes())
    data[-1] ^= 1
    (copy / "weights.safetensors").write_bytes(data)
    done = run(fresh, copy, "-I", "verify.py")
    assert done.returncode == 1
    assert "weights.safetensors" in done.stdout


def test_the_published_graph_is_enough_to_run_it(bundle_folder: Path) -> None:
    """The replay reproduces every recorded tensor of every run, or the manifest names what it does not cover."""
    replay = json.loads((bundle_folder / "manifest.json").read_text(encoding="utf-8"))["replay"]
    assert replay["covered"] == (not replay["uncovered"])
    assert replay["maxDifference"] <= 1e-5
