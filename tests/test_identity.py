"""A revision's name follows from what it is, and anyone can recompute it."""

import copy
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from lessonpress.revision import identity
from lessonpress.web.page.volatile import NO_REVISION, blank_page
from tests import tiny

SOURCE = {"slug": "pair", "digests": {"source": "s", "recipe": "r", "prose": "p", "checks": "c"}}
CASES = {
    "cases": {
        "one": {
            "arrays": {
                "m": {"dtype": "float64", "shape": [2], "values": [0.1, "NaN"]},
                "big": {"dtype": "float64", "shape": [9], "values": [1.0] * 9},
            },
            "metrics": {"total": 3},
        },
    }
}
FILES = {
    "model.py": b"x = 1\n",
    "run.py": b"run",
    "compare.py": b"compare",
    "worker/run.py": b"worker",
    "values/one-big.npy": b"npy",
    "manifest.json": b"1",
    "bundle.zip": b"2",
    "SHA256SUMS": b"3",
    "index.html": b"4",
}


def made(**change: Any) -> str:
    """identity.json of a small revision, with some part changed."""
    parts: dict[str, Any] = {
        "source": SOURCE,
        "captured": tiny.capture(),
        "cases": CASES,
        "files": FILES,
        "page": "<p>",
        "weights": "w" * 64,
        **change,
    }
    return identity.make_identity(**parts)


def test_the_name_is_the_files_own_digest() -> None:
    """Sixteen hex digits of SHA-256 over the bytes of identity.json: hashlib is all that it takes."""
    text = made()
    assert identity.compute_revision(text) == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_the_text_is_canonical_json() -> None:
    """Sorted keys, no spaces, one line feed: json is all that it takes to write it again."""
    text = made()
    again = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    assert text == again


def test_visible_files_enter_by_digest_and_derived_ones_do_not() -> None:
    """Files that hold the id or a date follow from the rest; the page enters blanked."""
    files = json.loads(made())["files"]
    assert set(files) == {"model.py", "run.py", "compare.py", "worker/run.py", "values/one-big.npy", "index.html"}
    assert files["model.py"] == hashlib.sha256(b"x = 1\n").hexdigest()
    assert files["index.html"] == hashlib.sha256(b"<p>").hexdigest()


def test_recorded_numbers_enter_in_full_unless_a_file_holds_them() -> None:
    """Every recorded value is part of what the revision is; a large array enters by its file's digest."""
    assert json.loads(made())["recorded"] == {"one": {"m": [0.1, "NaN"], "total": 3}}


def test_machine_facts_are_no_part_of_it() -> None:
    """Time, commit, host, processor, isolation and Python's patch version may all change without a new revision."""
    captured = tiny.capture()
    captured["provenance"] |= {
        "capturedAt": "2030-01-01T00:00:00+00:00",
        "productRevision": "abc",
        "host": {"kernel": "9"},
        "cpu": {"capability": "AVX512"},
        "isolation": {"profile": "other"},
        "python": "3.11.1",
    }
    assert made(captured=captured) == made()


def test_the_order_of_files_is_no_part_of_it() -> None:
    """Files come from a walk through folders; its order says nothing."""
    assert made(files=dict(reversed(FILES.items()))) == made()


def provenance(**facts: Any) -> dict[str, Any]:
    """The capture with other facts of its environment."""
    captured = tiny.capture()
    captured["provenance"] |= facts
    return captured


def digests(**parts: str) -> dict[str, Any]:
    """The source with other digests."""
    return {**SOURCE, "digests": {**SOURCE["digests"], **parts}}  # type: ignore[dict-item]


def numbers(value: float) -> dict[str, Any]:
    """The cases with another recorded number."""
    cases = copy.deepcopy(CASES)
    cases["cases"]["one"]["arrays"]["m"]["values"][0] = value  # type: ignore[index]
    return cases


@pytest.mark.parametrize(
    ("change", "reasons"),
    [
        ({"source": digests(source="x")}, ["source"]),
        ({"source": digests(recipe="x")}, ["recipe"]),
        ({"source": digests(prose="x")}, ["prose"]),
        ({"source": digests(checks="x")}, ["checks"]),
        ({"cases": numbers(0.2)}, ["numbers"]),
        ({"weights": "v" * 64}, ["numbers"]),
        ({"captured": provenance(torch="2.14.0")}, ["environment"]),
        ({"captured": provenance(python="3.12.1")}, ["environment"]),
        ({"captured": provenance(settings={"TZ": "CET"})}, ["environment"]),
        ({"captured": provenance(initialisation="native")}, ["environment"]),
        ({"page": "<p>new"}, ["templates"]),
        ({"files": {**FILES, "run.py": b"new"}}, ["templates"]),
        ({"files": {**FILES, "worker/run.py": b"new"}}, ["templates"]),
        ({"source": digests(source="x", prose="y"), "cases": numbers(0.2)}, ["source", "prose", "numbers"]),
        ({"source": digests(recipe="x"), "files": {**FILES, "compare.py": b"new"}}, ["recipe", "templates"]),
        ({"source": digests(prose="x"), "page": "<p>new", "files": {**FILES, "model.py": b"y"}}, ["prose"]),
    ],
)
def test_the_reasons_name_what_changed(change: dict[str, Any], reasons: list[str]) -> None:
    """The history says in words why a revision is a new one, and names nothing that stayed."""
    old, new = json.loads(made()), json.loads(made(**change))
    assert identity.compute_revision(made()) != identity.compute_revision(made(**change))
    assert identity.list_reasons(old, new) == reasons


def test_the_first_revision_needs_no_other_reason() -> None:
    """There is nothing that it could differ from."""


def test_a_page_enters_without_what_is_volatile() -> None:
    """Dates, machine facts and the id itself are blanked; all else counts."""
    page = '<p>{}</p><time data-volatile datetime="{}">{}</time><b data-volatile>{}</b><a href="/models/x/{}/run.py">'
    one = page.format("same", "2026-01-01", "1 January", "AVX2", "1234567890abcdef")
    two = page.format("same", "2026-01-01", "2 February", "AVX512 &lt;new&gt;", "fedcba0987654321")
    assert blank_page(one, "1234567890abcdef") == blank_page(two, "fedcba0987654321")
    assert NO_REVISION in blank_page(one, "1234567890abcdef")
    assert blank_page(one.replace("same", "other"), "1234567890abcdef") != blank_page(two, "fedcba0987654321")


def test_anyone_can_recompute_a_whole_revision(tmp_path: Path) -> None:
    """hashlib, json and re are enough: the name, every file, the blanked page, and the recorded numbers."""
    work = tiny.rendered(tiny.at(tmp_path), "one")
    folder, name = work.revision, tiny.revision(work)
    text = (folder / "identity.json").read_bytes()
    document = json.loads(text)
    assert hashlib.sha256(text).hexdigest()[:16] == name
    page = (folder / "index.html").read_text("utf-8").replace(name, "0" * 16)
    page = re.sub(r"<([a-z]+) data-volatile(?: [^<>]*)?>[^<]*(?=</\1>)", lambda m: m[0][: m[0].index(">") + 1], page)
    assert hashlib.sha256(page.encode()).hexdigest() == document["files"].pop("index.html")
    for file, sha in document["files"].items():
        assert hashlib.sha256((folder / file).read_bytes()).hexdigest() == sha, file
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert manifest["revision"] == name
    for case in manifest["experiment"]["cases"]:
        arrays = {
            entry["id"]: entry["values"]
            for entry in (
                *case["matrices"],
                *case["vectors"],
            )
        }
        metrics = {entry["id"]: entry["value"] for entry in case["metrics"]}
        assert document["recorded"][case["id"]] == {**arrays, **metrics}
    here = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    derived = {"identity.json", "manifest.json", "index.html", "SHA256SUMS", "bundle.zip"}
    assert here - set(document["files"]) == derived | (here & identity.DERIVED)


def test_another_day_and_machine_give_the_same_name(tmp_path: Path) -> None:
    """The page and the manifest say when it was captured; the name does not depend on it."""
    config = tiny.at(tmp_path)
    one = tiny.rendered(config, "one")
    page, name = (one.revision / "index.html").read_text("utf-8"), tiny.revision(one)
    two = tiny.rendered(config, "one", at="2027-07-07T00:00:00+00:00")
    assert (two.revision / "index.html").read_text("utf-8") != page
    assert tiny.revision(two) == name
    assert tiny.revision(tiny.rendered(config, "one", measured=0.25)) == name
    assert tiny.revision(tiny.rendered(config, "two")) != name
