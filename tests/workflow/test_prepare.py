"""Training a lesson with the real worker: stored, repeated, compared, published, repeated again by a reader."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow.conftest import House

pytestmark = pytest.mark.workflow

FIT = "tiny-fit"
STORED = ("prepared.json", "prepared.safetensors")


@pytest.fixture
def trained(tmp_path: Path, project: Path) -> House:
    """Give a house with the trained lesson alone."""
    folder = tmp_path / "a curator's house"
    folder.mkdir()
    for name in ("workflow", "profiles"):
        shutil.copytree(project / name, folder / name)
    for name in ("Snakefile", "config.yaml"):
        shutil.copy(project / name, folder / name)
    shutil.copytree(project / "tests" / "lessons" / FIT, folder / "lessons" / FIT)
    return House(folder)


def lesson_of(house: House) -> Path:
    """The trained lesson's folder."""
    return house.folder / "lessons" / FIT


def edit(house: House, file: str, old: str, new: str) -> None:
    """Replace a text that stands once in a file of the trained lesson."""
    path = lesson_of(house) / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_training_again_gives_the_stored_weights(trained: House) -> None:
    """The stored bytes come out again; from nothing the same two files are made."""
    before = {name: (lesson_of(trained) / name).read_bytes() for name in STORED}
    done = trained.run("lessonpress", "prepare", FIT)
    assert done.returncode == 0, done.stderr
    assert f"{FIT}: unchanged, the weights halfway (loss 1.425), trained (loss 1.417)" in done.stdout
    for name in STORED:
        (lesson_of(trained) / name).unlink()
    done = trained.run("lessonpress", "prepare", FIT)
    assert f"{FIT}: stored the weights" in done.stdout
    assert {name: (lesson_of(trained) / name).read_bytes() for name in STORED} == before


def test_a_name_that_the_training_misspells_is_reported_at_once(trained: House) -> None:
    """The preparation says which runs ask for what it does not keep, with the names that there are; so do the rules."""
    edit(trained, "fit.py", 'yield "trained"', 'yield "traind"')
    done = trained.run("lessonpress", "prepare", FIT)
    assert done.returncode == 0, done.stderr
    said = "execution.weights: no weights called 'trained' have been prepared; kept are: halfway, traind. Did you mean "
    assert "the weights halfway" in done.stdout
    assert re.search(rf"(?m)^warning: lessons/{FIT}/lesson\.yaml:\d+: {re.escape(said)}traind\?$", done.stdout)
    published = trained.snakemake()
    assert published.returncode == 1
    assert f"{said}traind?" in published.stdout + published.stderr
    assert not (trained.folder / "results" / "models" / FIT).exists()


def test_the_target_repeats_the_training_and_writes_nothing(trained: House) -> None:
    """`snakemake repeat_training` compares with what is stored, says how far it is off, and fails out of tolerance."""
    before = {path: path.read_bytes() for path in lesson_of(trained).iterdir()}
    done = trained.snakemake("repeat_training")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{FIT}: the training repeats, bit for bit" in done.stdout + done.stderr
    assert {path: path.read_bytes() for path in lesson_of(trained).iterdir() if path.is_file()} == before
    edit(trained, "fit.py", "lr=rate", "lr=0.9 * rate")
    done = trained.snakemake("repeat_training")
    said = done.stdout + done.stderr
    assert done.returncode == 1
    other = r"prepared\.json: the training gives other weights: .* at \S.* \(fit\.py changed since\)"
    assert re.search(other, said), said
    assert "Traceback" not in said


def test_a_trained_lesson_is_published_from_its_stored_weights(trained: House) -> None:
    """The runs start from them, the page says how they were made, and publishing trains nothing."""
    edit(trained, "fit.py", "    x = torch", "    raise RuntimeError('publishing does not train')\n    x = torch")
    done = trained.snakemake()
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "these weights were made before fit.py changed; run `lessonpress prepare tiny-fit`" in said
    [folder] = [path for path in (trained.folder / "results" / "models" / FIT).iterdir() if path.is_dir()]
    prepared = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["provenance"]["prepared"]
    assert prepared["changedSince"] == ["fit.py"]
    assert prepared["runs"]["after"] == "trained"
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "200 steps, loss 4.674 → 1.417. They are older than fit.py." in page
    assert {*STORED, "fit.py"} <= {path.name for path in folder.iterdir()}


def test_a_reader_repeats_the_run_or_the_training(trained: House) -> None:
    """With the bundle's files alone: `--compare` starts from the stored weights, `--prepare` makes them again."""
    out = trained.folder / "out"
    done = trained.run("lessonpress", "preview", f"lessons/{FIT}", "--out", str(out))
    assert done.returncode == 0, done.stderr
    for arguments, words in (
        (["run.py"], "[8,1]"), (["run.py", "--compare"], "In all: 0.0e+00, 0 out of tolerance."),
        (["run.py", "--prepare"], "In all: 0 out of tolerance."), (["verify.py", "--digests"], "every file"),
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, *arguments], cwd=out, env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert (done.returncode, words in done.stdout) == (0, True), (arguments, done.stdout, done.stderr)
    record = out / "prepared.json"
    record.write_text(record.read_text(encoding="utf-8").replace('"loss": 1.42', '"loss": 1.52'), encoding="utf-8")
    done = subprocess.run([sys.executable, "run.py", "--prepare"], cwd=out, capture_output=True, text=True, timeout=120,
                          check=False)  # fmt: skip
    assert done.returncode == 1
    assert re.search(r"OUT OF TOLERANCE\s+1\.0e-01\s+halfway: loss", done.stdout), done.stdout


def test_progress_is_plain_lines_where_there_is_no_terminal(trained: House) -> None:
    """Every few seconds one line on standard error; the answer alone is on standard output."""
    edit(trained, "fit.py", "        loss = ((", "        time.sleep(0.04)\n        loss = ((")
    edit(trained, "fit.py", "import torch\n", "import time\n\nimport torch\n")
    done = trained.run("lessonpress", "prepare", FIT)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"(tiny-fit: step \d+ of 200, loss [\d.]+, \d+ s\n)+", done.stderr), done.stderr
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize(("arguments", "words", "code"), [
    ([], "name the lessons", 2), (["nowhere"], "lessons/nowhere: ", 2),
])  # fmt: skip
def test_wrong_usage_is_reported(trained: House, arguments: list[str], words: str, code: int) -> None:
    """Without a name nothing is trained by accident."""
    done = trained.run("lessonpress", "prepare", *arguments)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr


def test_weights_that_no_longer_fit_name_the_recipes_line(trained: House) -> None:
    """Another size of layer: which number is missing or misshapen, where it is asked for, and what to type."""
    edit(trained, "model.py", "nn.Linear(1, 1)", "nn.Linear(1, 1, bias=False)")
    done = trained.run("lessonpress", "preview", f"lessons/{FIT}", "--out", "out")
    assert done.returncode == 1
    assert (
        "lessons/tiny-fit/lesson.yaml:15: execution.weights: the prepared weights 'trained' hold line.bias; "
        "the model has no parameter of this name. Run `lessonpress prepare tiny-fit`."
    ) in done.stderr
    assert not (trained.folder / "out").exists()
