"""Lessons that bring a `reference.json` reproduce the figures which somebody else published of the same experiment."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import tiers

pytestmark = pytest.mark.workflow

PROJECT = Path(__file__).resolve().parents[2]
REFERENCES = sorted(PROJECT.glob("lessons/*/reference.json"))
# Those whose weights are drawn, with how far torch's own initialisers are off at each capability level.
DRAWN = [path for path in REFERENCES if "native" in json.loads(path.read_text(encoding="utf-8"))]
BY_DAY, AT_NIGHT = ("default", "avx512"), ("avx2",)


@pytest.fixture(scope="module", params=REFERENCES, ids=lambda path: path.parent.name)
def lesson(request: pytest.FixtureRequest) -> Path:
    """Give the folder of each lesson with a reference."""
    return request.param.parent


@pytest.fixture(scope="module")
def reference(lesson: Path) -> dict[str, Any]:
    """Give its figures."""
    return json.loads((lesson / "reference.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def previews(lesson: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Give the revision folder as made under each processor capability in the surrounding environment."""
    out = {}
    for capability in (*BY_DAY, *AT_NIGHT) if tiers.NIGHTLY else BY_DAY:
        out[capability] = tmp_path_factory.mktemp(capability) / "revision"
        command = [sys.executable, "-m", "lessonpress", "preview", str(lesson), "--out", str(out[capability])]
        environment = {**os.environ, "ATEN_CPU_CAPABILITY": capability, "SOURCE_DATE_EPOCH": "0"}
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=300)
    return out


@pytest.fixture(scope="module")
def manifest(previews: dict[str, Path]) -> dict[str, Any]:
    """Give the manifest."""
    return json.loads((previews["default"] / "manifest.json").read_text(encoding="utf-8"))


def test_the_processor_changes_no_byte(previews: dict[str, Path]) -> None:
    """Every file is the same under every capability level of the surrounding environment."""
    whole = {c: {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()} for c, folder in previews.items()}
    assert len(whole) > 1
    assert [name for name, files in whole.items() if files != whole["default"]] == []


def test_recorded_values_are_the_published_ones(manifest: dict[str, Any], reference: dict[str, Any]) -> None:
    """Arrays agree within the stated tolerance, metrics within theirs."""
    cases = {case["id"]: case for case in manifest["experiment"]["cases"]}
    for name, arrays in reference["cases"].items():
        recorded = {entry["id"]: entry["values"] for entry in cases[name]["matrices"] + cases[name]["vectors"]}
        for key, expected in arrays.items():
            assert np.abs(np.array(recorded[key]) - np.array(expected)).max() <= reference["tolerance"], (name, key)
    for name, metrics in reference.get("metrics", {}).items():
        recorded = {entry["id"]: entry["value"] for entry in cases[name]["metrics"]}
        for key, (expected, within) in metrics.items():
            assert abs(recorded[key] - expected) <= within, (name, key)


def test_rounded_to_the_published_digits_values_are_equal(manifest: dict[str, Any], reference: dict[str, Any]) -> None:
    """A figure that was published as text comes out again, digit for digit, when ours is rounded to its decimals."""
    cases = {case["id"]: case for case in manifest["experiment"]["cases"]}
    for name, arrays in reference.get("digits", {}).items():
        recorded = {entry["id"]: entry["values"] for entry in cases[name]["vectors"]}
        for key, texts in arrays.items():
            for value, text in zip(recorded[key], texts, strict=True):
                if text is not None:  # a figure that was not published
                    assert f"{Decimal(value).quantize(Decimal(text), rounding=ROUND_HALF_UP)}" == text, (name, key)


def test_tables_print_the_published_digits(previews: dict[str, Path], reference: dict[str, Any]) -> None:
    """Each row of the value table stands in the page digit for digit, and so do the extremes."""
    page = (previews["default"] / "index.html").read_text(encoding="utf-8")
    rows = ["".join(cells) for cells in _table_rows(page)]
    for tables in reference.get("printed", {}).values():
        for table in tables.values():
            for row in table:
                assert "".join(row) in rows, row
    for extremes in reference.get("extremes", {}).values():
        for low, high in extremes.values():
            assert f"Min {low} · Max {high}" in page


def _table_rows(page: str) -> list[list[str]]:
    """The data cells of every table row of a page."""

    class Rows(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.rows: list[list[str]] = []
            self.inside = False

        def handle_starttag(self, tag: str, attrs: Any) -> None:
            if tag == "tr":
                self.rows.append([])
            if tag == "td" and self.rows:
                self.rows[-1].append("")
            self.inside = tag == "td" or (self.inside and tag not in ("tr", "th"))

        def handle_endtag(self, tag: str) -> None:
            self.inside = self.inside and tag != "td"

        def handle_data(self, data: str) -> None:
            if self.inside and self.rows and self.rows[-1]:
                self.rows[-1][-1] += data.strip()

    parser = Rows()
    parser.feed(page)
    return parser.rows


def test_the_graph_has_the_published_nodes(manifest: dict[str, Any], reference: dict[str, Any]) -> None:
    """Every node id of the reference is there, and an input feeds only what reads it."""
    layers = {layer["id"]: layer for layer in manifest["layers"]}
    assert set(reference.get("nodes", ())) <= set(layers)
    for connection in manifest["connections"]:
        assert layers[connection["target"]]["kind"] in ("layer", "output")
        assert layers[connection["source"]]["kind"] in ("layer", "input")


@pytest.mark.parametrize("lesson", DRAWN, indirect=True, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("capability", [*BY_DAY, *(pytest.param(name, marks=pytest.mark.nightly) for name in AT_NIGHT)])
def test_without_portable_initialisation_numbers_drift(
    lesson: Path, previews: dict[str, Path], reference: dict[str, Any], capability: str
) -> None:
    """torch's own initialisers are off by no more than the reference says for this level, and not exact: the reason
    why ours are portable."""
    script = (
        "import json,sys,numpy as n\n"
        "from lessonpress.worker import run,recorded\n"
        "run.settle();plan=json.load(open(sys.argv[1]));c=recorded.Runs(run.run_plan(plan,sys.argv[2],native=True))\n"
        "cut={e['id']:e for e in plan['record']};r=json.load(open(sys.argv[3]))['cases']\n"
        "print(max(float(abs(recorded.select(c[k][cut[i]['tensor']],cut[i]['select'],cut[i]['reshape'])-n.array(v)).max())"
        " for k,a in r.items() for i,v in a.items()))\n"
    )
    plan = str(previews["default"] / "plan.json")
    command = [sys.executable, "-c", script, plan, str(lesson), str(lesson / "reference.json")]
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": capability}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert 1e-14 < float(done.stdout) <= 1.1 * reference["native"][capability]
