"""The tiny lesson all the way from its folder to a published revision, read as an outsider would."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from lessonpress.build.lesson_build import LessonBuild
from lessonpress.core import canonical_json
from lessonpress.core.settings import Config
from lessonpress.publishing import publish, site
from lessonpress.sandbox import capture
from tests import tiny
from tests.test_capture import read_whole
from tests.test_manifest import SEED, lacking
from tests.test_weights import read

pytestmark = pytest.mark.workflow


def published(config: Config) -> LessonBuild:
    """Take the lesson all the way; answers the build that was published."""
    work = tiny.made(config)
    assert not publish.publish(work).mistakes
    site.write_site(config)
    return work


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> LessonBuild:
    """One for all tests here."""
    return published(tiny.repository(tmp_path_factory.mktemp("one")))


@pytest.fixture(scope="module")
def config(work: LessonBuild) -> Config:
    """The settings of its repository."""
    return work.config


@pytest.fixture(scope="module")
def folder(work: LessonBuild) -> Path:
    """The published revision's folder."""
    return work.config.published(tiny.SLUG) / tiny.revision(work)


@pytest.fixture(scope="module")
def manifest(folder: Path) -> dict[str, Any]:
    """The published manifest."""
    return dict(canonical_json.read(folder / "manifest.json"))


def test_a_real_capture_is_valid_twice(work: LessonBuild) -> None:
    """What the real worker answered passes validation as it is, and everything in it can be read."""
    answer = {key: work.body("capture.json")[key] for key in ("runs", "modules", "blobs")}
    files = {file["path"]: (work.source_dir / file["path"]).read_bytes() for file in work.source["files"]}
    assert capture.validate(answer, work.source["plan"], files) == answer
    read_whole(answer)


def test_provenance_says_who_ran_it(work: LessonBuild) -> None:
    """The parent wrote down versions, settings and isolation; the caller's user is there, its secrets are not."""
    provenance = work.body("capture.json")["provenance"]
    assert provenance["initialisation"] == "portable-1"
    assert provenance["host"]["user"] == os.getuid()
    assert provenance["settings"]["OMP_NUM_THREADS"] == "1"
    assert "+" not in provenance["torch"]
    assert provenance["isolation"]["profile"] in ("posix-basic", "linux-seccomp", "linux-strict")


def test_the_manifest_fits_the_published_schema(config: Config, manifest: dict[str, Any]) -> None:
    """An independent validator accepts it, and every key that earlier readers know is there."""
    schema = canonical_json.read(Path(config.results) / "schema" / "manifest.schema.json")
    jsonschema.Draft202012Validator(schema).validate(manifest)
    assert lacking({key: value for key, value in SEED.items() if key != "milestone"}, manifest) == []
    assert "milestone" in manifest


def test_the_graph_tells_the_truth(manifest: dict[str, Any]) -> None:
    """One input node per input, a layer per module however often it is called, edges only where data flows."""
    layers = {layer["id"]: layer for layer in manifest["layers"]}
    assert [layer["id"] for layer in manifest["layers"] if layer["kind"] == "input"] == ["input:points", "input:shift"]
    assert layers["halve"]["calls"] == 2
    edges = {(c["source"], c["target"], c.get("targetCall")) for c in manifest["connections"]}
    assert ("input:points", "line", None) in edges
    assert ("input:shift", "output", None) in edges
    assert ("input:points", "output", None) not in edges
    assert all(c["shape"] and c["dtype"] == "float32" for c in manifest["connections"])


def test_places_are_the_lines_of_the_source(manifest: dict[str, Any], folder: Path) -> None:
    """Where a layer is declared and where it is called, by line and column, in the file that says so."""
    lines = (folder / "model.py").read_text().splitlines()
    line = next(layer for layer in manifest["layers"] if layer["id"] == "line")
    assert "nn.Linear(2, width)" in lines[line["source"]["line"] - 1]
    (call,) = line["called"]
    assert lines[call["line"] - 1][call["column"] - 1 : call["endColumn"] - 1] == "self.line(points)"


def test_recorded_numbers_are_those_of_numpy(manifest: dict[str, Any], folder: Path) -> None:
    """The published arrays follow from the published weights, by hand."""
    stored = read((folder / "weights.safetensors").read_bytes())
    weight = np.array(stored["experiment/line.weight"][2]).reshape(3, 2)
    bias = np.array(stored["experiment/line.bias"][2])
    assert set(stored) == {
        "execution/line.weight",
        "execution/line.bias",
        "experiment/line.weight",
        "experiment/line.bias",
        "case:flat/line.weight",
        "case:flat/line.bias",
    }
    points = None
    for case in manifest["experiment"]["cases"]:
        arrays = {entry["id"]: np.array(entry["values"]) for entry in (*case["matrices"], *case["vectors"])}
        # Solve for the points that the case drew: they are the same in both cases, and give back the map.
        solved = np.linalg.lstsq(weight, (arrays["mapped"] - bias).T, rcond=None)[0].T
        points = solved if points is None else points
        assert np.abs(solved - points).max() < 1e-12
        assert np.abs(points @ weight.T + bias - arrays["mapped"]).max() < 1e-12
        halves = (arrays["mapped"] + arrays["shift"]) / np.array([2.0, 4.0]).reshape(2, 1, 1)
        assert np.abs(arrays["halves"] - halves).max() < 1e-15
        assert arrays["corner"].tolist() == [arrays["halves"][1, 0, 0]]


def test_the_replay_certificate_covers_the_lesson(manifest: dict[str, Any]) -> None:
    """The published graph with its weights gives back every recorded tensor; the execution is in float32."""
    assert manifest["replay"]["covered"] is True
    assert manifest["replay"]["maxDifference"] <= 1e-6


def test_every_file_is_what_the_lists_say(manifest: dict[str, Any], folder: Path) -> None:
    """SHA256SUMS and the manifest agree with the bytes, and nothing is left out."""
    sums = dict(reversed(line.split("  ", 1)) for line in (folder / "SHA256SUMS").read_text().splitlines())
    here = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert set(here) - set(sums) == {"SHA256SUMS", "bundle.zip"}
    for name, data in here.items():
        assert sums.get(name, hashlib.sha256(data).hexdigest()) == hashlib.sha256(data).hexdigest()
    for name, entry in manifest["files"].items():
        assert (entry["sha256"], entry["bytes"]) == (hashlib.sha256(here[name]).hexdigest(), len(here[name]))
        assert entry["url"] == f"/models/{tiny.SLUG}/{folder.name}/{name}"


@pytest.mark.parametrize(
    ("arguments", "last"),
    [
        (["run.py"], ["[4,3]", "[3]"]),
        (["verify.py"], None),
        (["run.py", "--compare"], ["[4,3]", "[3]"]),
        (["run.py", "--prepare"], ["Nothing is trained here: the weights are those that the seed draws."]),
    ],
)
def test_a_reader_gets_the_same(folder: Path, arguments: list[str], last: list[str] | None) -> None:
    """The scripts run with nothing of ours on the path, and agree."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "OUT OF TOLERANCE" not in done.stdout
    if last:
        assert done.stdout.splitlines()[-2:] == last


def test_another_clone_makes_the_same_bytes(
    config: Config, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From an empty repository elsewhere: the same name; under one SOURCE_DATE_EPOCH, the same bytes everywhere."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    one, two = (published(tiny.repository(tmp_path / name)).config for name in ("one", "two"))
    trees = [
        {p.relative_to(c.results): p.read_bytes() for p in Path(c.results).rglob("*") if p.is_file()}
        for c in (one, two)
    ]
    assert trees[0] == trees[1]
    assert (one.published(tiny.SLUG) / folder.name).is_dir()


def test_publishing_again_writes_nothing(config: Config) -> None:
    """From nothing once more: every time and every byte under results/ stays."""
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in Path(config.results).rglob("*") if p.is_file()}
    published(config.model_copy(update={"work": f"{config.work}-again"}))
    assert {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in Path(config.results).rglob("*") if p.is_file()} == before


def test_published_json_is_strict(config: Config) -> None:
    """No bare NaN, no doubled key, in any JSON file of the site."""
    for path in Path(config.results).rglob("*.json"):
        assert capture.loads(path.read_bytes()) == json.loads(path.read_text("utf-8"))
