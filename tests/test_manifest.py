"""The manifest has every key that earlier readers know, and its schema admits both theirs and ours."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lessonpress.build import record, source_record
from lessonpress.core import canonical_json
from lessonpress.graph import graph
from lessonpress.lesson import reader
from lessonpress.revision import manifest, manifest_schema
from tests import tiny
from tests.test_record import RECIPE

# A manifest of the site that lessonpress follows: its keys, ids and figures; its words are replaced.
SEED = canonical_json.read(Path(__file__).parent / "data" / "seed_manifest.json")
SCHEMA = manifest_schema.make_schema()
CHECKS = [
    {
        "id": "check_a",
        "sentence": "It holds.",
        "passed": True,
        "measured": 0.0,
        "bound": 1e-12,
        "sense": "<=",
        "margin": 1e-12,
        "line": 3,
    }
]
REPLAY = {"covered": True, "maxDifference": 0.0, "uncovered": []}
PROSE = """\
steps: [{id: see, target: part.line, title: See, note: Look.}]
milestone: {name: A, year: 2014, kind: B, fidelity: C, papers: [{title: D, url: "https://a.example"}]}
glossary: [{term: a, beginner: b, expert: c}]
"""


def made(folder: Path, recipe: str = RECIPE + PROSE) -> dict[str, Any]:
    """A whole manifest of the hand-made runs."""
    read = reader.read(tiny.write(folder / "echo", recipe=recipe, checks=""))
    captured = tiny.capture()
    cases = record.cut_cases(read, captured, lambda tasks: {(t["run"], t["id"]): 1.0 for t in tasks})
    source, drawn = source_record.make_source_record(read), graph.build_graph(captured)
    body = manifest.make_manifest(read.recipe, source, captured, drawn, cases, CHECKS, REPLAY, "0" * 64, {}, "1" * 64)
    file = {"url": "/models/echo/0123456789abcdef/model.py", "sha256": "0" * 64, "bytes": 3}
    return {**body, "revision": "0123456789abcdef", "files": {"model.py": file}}


def valid(document: Any) -> bool:
    """What an independent reader of JSON Schema says."""
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(document)


def test_the_schema_is_a_schema() -> None:
    """JSON Schema's own rules hold for it."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_earlier_manifest_is_valid() -> None:
    """A file of the site that we follow is one of ours."""
    jsonschema.Draft202012Validator(SCHEMA).validate(SEED)
    manifest_schema.validate_manifest(SEED)


def test_our_manifest_is_valid(tmp_path: Path) -> None:
    """What we make fits what we publish."""
    jsonschema.Draft202012Validator(SCHEMA).validate(made(tmp_path))
    manifest_schema.validate_manifest(made(tmp_path))


def lacking(theirs: Any, ours: Any, path: str = "") -> list[str]:
    """Every key of theirs that ours has not in the same place (the first entry of a list stands for all)."""
    if isinstance(theirs, dict) and path not in (".layers[].params", ".files"):
        out = [f"{path}.{key}" for key in theirs if key not in ours]
        return out + [
            missing for key in theirs if key in ours for missing in lacking(theirs[key], ours[key], f"{path}.{key}")
        ]
    if isinstance(theirs, list) and theirs and isinstance(theirs[0], dict):
        shared = set.intersection(*(set(entry) for entry in theirs))
        return [missing for entry in ours for missing in lacking({k: theirs[0][k] for k in shared}, entry, f"{path}[]")]
    return []


def test_every_key_that_earlier_readers_know_is_there(tmp_path: Path) -> None:
    """A reader written for the earlier files reads ours: same names, same places."""
    assert lacking(SEED, made(tmp_path)) == []


def test_the_values_have_the_earlier_forms(tmp_path: Path) -> None:
    """Matrices are nested lists, vectors lists, the inputs a positional list, the kind `matrices`."""
    ours = made(tmp_path)
    assert ours["experiment"]["kind"] == SEED["experiment"]["kind"] == "matrices"
    assert isinstance(ours["provenance"]["execution"]["inputs"]["args"], list)
    one = ours["experiment"]["cases"][0]
    assert one["vectors"][0]["values"] == [1.0, 5.0, 9.0]
    assert one["vectors"][1]["values"] == [21.0]
    assert one["metrics"][0] == {"id": "total", "label": "total", "value": 66.0}


SPOILT: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no title": lambda m: m.pop("title"),
    "another version": lambda m: m.update(schemaVersion=2),
    "a short revision": lambda m: m.update(revision="abc"),
    "a layer without an id": lambda m: m["layers"][0].pop("id"),
    "a layer of another kind": lambda m: m["layers"][0].update(kind="blob"),
    "tags that are text": lambda m: m.update(tags="a"),
    "a file without a digest": lambda m: next(iter(m["files"].values())).pop("sha256"),
    "a connection to nowhere said": lambda m: m["connections"][0].pop("target"),
    "a year in words": lambda m: m["milestone"].update(year="last"),
    "a case without vectors": lambda m: m["experiment"]["cases"][0].pop("vectors"),
}


@pytest.mark.parametrize("spoiled", SPOILT)
@pytest.mark.parametrize("whose", ["theirs", "ours"])
def test_the_schema_refuses_what_is_no_manifest(tmp_path: Path, spoiled: str, whose: str) -> None:
    """A schema that admits everything would prove nothing."""
    document = copy.deepcopy(SEED) if whose == "theirs" else made(tmp_path)
    assert valid(document)
    SPOILT[spoiled](document)
    assert not valid(document)


def test_a_reader_must_accept_keys_that_it_does_not_know(tmp_path: Path) -> None:
    """Adding is free: later manifests have more keys."""
    assert valid({**made(tmp_path), "somethingNew": {"x": 1}})


@pytest.mark.parametrize(
    ("more", "tolerance"),
    [
        ("", {"atol": 1e-12, "rtol": 1e-12}),
        ("tolerance: {atol: 1, rtol: 0.5}\n", {"atol": 1.0, "rtol": 0.5}),
    ],
)
def test_the_tolerance_is_the_recipes_or_the_dtypes(tmp_path: Path, more: str, tolerance: dict[str, float]) -> None:
    """Float64 records are compared within 1e-12 unless the recipe says otherwise."""
    assert made(tmp_path, RECIPE + more)["tolerance"] == tolerance


def test_float32_is_compared_more_loosely(tmp_path: Path) -> None:
    """A run in single precision has seven digits."""
    assert made(tmp_path, RECIPE.replace("  cases:", "  dtype: float32\n  cases:"))["tolerance"] == {
        "atol": 1e-5,
        "rtol": 1e-5,
    }


def test_a_lesson_without_an_experiment_has_a_manifest(tmp_path: Path) -> None:
    """Five keys in the recipe are enough for every required key of the manifest."""
    ours = made(tmp_path, tiny.RECIPE.replace("x: {shape: [2, 3], dtype: float32, fill: ones}", "batch: {literal: 1}"))
    assert ours["experiment"] is None
    assert ours["milestone"] is None
    assert valid(ours)


def test_large_arrays_lie_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit the manifest holds the file's name, the shape and a sample."""
    monkeypatch.setattr(manifest, "INLINE", 10)
    both, total = made(tmp_path)["experiment"]["cases"][1]["matrices"]
    assert both["values"]["file"] == "values/two-both.npy"
    assert both["values"]["shape"] == [2, 2, 3]
    assert both["values"]["sample"][:8] == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 0.0, 4.0]
    assert isinstance(total["values"], list)


def test_the_published_schema_is_the_generated_one(project: Path) -> None:
    """templates/manifest.schema.json is what schema.py says; `make schemas` writes it anew."""
    text = (project / "templates" / "manifest.schema.json").read_text(encoding="utf-8")
    assert text == canonical_json.pretty(manifest_schema.make_schema())
