"""The page's smaller parts: terms in prose, reading time, packed numbers, pictures, scripts, feed and citation."""

from __future__ import annotations

import base64
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from ruamel.yaml import YAML

from lessonpress import bundle, operations, page
from lessonpress.page import graphs, program, reading, shrink, take, terms
from tests import javascript_runner
from tests.page_sample import manifest

TERMS = terms.of([{"term": "score"}, {"term": "hidden state"}, {"term": "C&A"}])


@pytest.mark.parametrize(
    ("html", "marked"),
    [
        ("<p>A score, two scores.</p>", '<p>A <a class="term" href="#term-0">score</a>, two scores.</p>'),
        ("<p>Hidden\nstates</p>", '<p><a class="term" href="#term-1">Hidden\nstates</a></p>'),
        ("<p>underscore, score-board</p>", "<p>underscore, score-board</p>"),
        ("<code>score</code><a href='x'>score</a>", "<code>score</code><a href='x'>score</a>"),
        ("<math><mi>score</mi></math>", "<math><mi>score</mi></math>"),
        ("<p>C&amp;A</p>", '<p><a class="term" href="#term-2">C&amp;A</a></p>'),
    ],
)
def test_terms_are_linked_once_in_prose(html: str, marked: str) -> None:
    """The first mention of a term is a link; code, links, maths and parts of words are left alone."""
    assert TERMS.mark(html) == marked


def test_reading_time_counts_words_and_figures() -> None:
    """Two hundred words a minute, a quarter of a minute a figure, never nothing."""
    assert reading.minutes(["<p>word</p>"]) == 1
    assert reading.minutes(["word " * 1000]) == 5
    assert reading.minutes(["word " * 1000], figures=8) == 7
    assert reading.words(["<p>one <math><mi>a</mi><mo>b</mo></math></p>"]) == 4


@given(arrays.arrays(np.float64, st.integers(0, 9), elements=st.floats(allow_nan=False)))
def test_packed_numbers_come_back(values: np.ndarray[Any, Any]) -> None:
    """Base64 in planes of bytes holds every bit of a float64, in half the room where float32 holds it too."""
    told = [v if np.isfinite(v) else {"float": repr(v)} for v in values.tolist()]
    dtype, shape, text = program.pack({"dtype": "float64", "shape": [len(values)], "values": told})
    size = {"float32": 4, "float64": 8}[dtype]
    planes = np.frombuffer(base64.b64decode(text), dtype=np.uint8).reshape(size, -1)
    back = np.frombuffer(planes.T.tobytes(), dtype=f"<f{size}")
    assert shape == [len(values)]
    assert np.array_equal(back.astype(np.float64), values)


def layer(name: str, parent: str | None = None, kind: str = "layer") -> dict[str, Any]:
    """A node of a graph."""
    return {"id": name, "label": name, "op": "X", "kind": kind, "parent": parent}


def test_pictures_cover_every_way_to_fold() -> None:
    """With two nested modules there are three different pictures; with many, each is one module away."""
    nested = {"layers": [layer("a", kind="module"), layer("a.b", "a", "module"), layer("a.b.c", "a.b")],
              "connections": []}  # fmt: skip
    found = graphs.views(nested, lambda folded, ids: f"<svg>{sorted(folded)} {ids}</svg>")
    assert set(found) == {("a",), ("a.b",)}
    many = [layer(f"m{i}", kind="module") for i in range(6)] + [layer(f"m{i}.x", f"m{i}") for i in range(6)]
    found = graphs.views({"layers": many, "connections": []}, lambda folded, ids: f"<svg>{sorted(folded)}</svg>")
    assert all(len(names) == 1 for names in found)


def test_pictures_stop_at_their_room() -> None:
    """Further pictures are left out before a page gets heavy."""
    layers = [part for i in range(3) for part in (layer(f"m{i}", kind="module"), layer(f"m{i}.x", f"m{i}"))]
    found = graphs.views({"layers": layers, "connections": []}, lambda folded, ids: "<svg>" + "x" * 15_000 + "</svg>")
    assert len(found) == 2


def test_a_case_of_its_own_way_says_what_it_called() -> None:
    """Nodes that only a case called, and those that it did not call, are named."""
    told = manifest()
    case = {"id": "loud", "graph": {"layers": [{"id": "score"}, {"id": "extra"}]}}
    way = graphs.own_way(told, case, {"loud": "<svg><style>x</style>y</svg>"})
    assert way is not None
    assert (way.more, way.less, way.picture) == (("extra",), ("share",), "<svg>y</svg>")


@pytest.mark.browser
def test_a_shrunk_script_does_the_same(tmp_path: Path) -> None:
    """Strings, templates, regular expressions, signs and words survive without comments and spare space."""
    script = """
    const f = (a, b) => a + +b - -1; // a comment
    const words = `x  ${f(1, "2")} /* kept */  y`.replace(/\\s+ /g, "_");
    /* gone */ const g = function named (n) { return typeof n === "number" ? n : n in { k: 1 }; };
    const main = () => [f(1, 2), words, g(3), g("k"), 4 / 2 / 1, "//", [..."ab"].map((c) => c + c)];
    """
    small = shrink.shrink(script)
    assert "comment" not in small
    assert "gone" not in small
    results = [javascript_runner.run(text, None, folder=tmp_path) for text in (script, small)]
    assert results[0] == results[1] == [4, "x_4 /* kept */_y", 3, True, 2, "//", ["aa", "bb"]]


@pytest.mark.browser
def test_all_kernels_survive_shrinking(tmp_path: Path) -> None:
    """The whole operation table, shrunk, defines the same kernels and computes the same product."""
    script = operations.javascript(operations.kernels())
    main = "const main = () => [Object.keys(op).sort(), nested(op.matmul(tensor([[1, 2]]), tensor([[3], [4]])))];"
    texts = (script + main, shrink.shrink(script + main))
    whole, small = (javascript_runner.run(text, None, folder=tmp_path) for text in texts)
    assert whole == small
    assert small[0] == sorted(operations.kernels())
    assert small[1] == [[11]]


def test_a_citation_is_valid_yaml_and_bibtex() -> None:
    """CITATION.cff says title, version, date and author; BibTeX escapes what TeX would read."""
    told = {**manifest(), "title": 'A "title": 50 % & more', "curator": "Ada"}
    cff = YAML(typ="safe").load(bundle.citation(told).decode())
    assert (cff["cff-version"], cff["title"], cff["version"]) == ("1.2.0", told["title"], told["revision"])
    assert cff["authors"] == [{"name": "Ada"}]
    assert cff["references"][0]["title"] == "On equilibrium"
    entry = take.citation(told)
    assert r"50 \% \& more" in entry.before
    assert entry.year == "2031"


def test_the_editor_has_tasks() -> None:
    """The bundle's .vscode folder has tasks that run, compare, verify and show the graph."""
    tasks = json.loads(bundle.editor_files()[".vscode/tasks.json"])["tasks"]
    assert [task["label"] for task in tasks] == [
        "Lesson: set up", "Lesson: run", "Lesson: compare with the record", "Lesson: verify the files",
        "Lesson: show the graph",
    ]  # fmt: skip


ATOM = "{http://www.w3.org/2005/Atom}"


def test_the_feed_is_atom() -> None:
    """Entries stand newest first with absolute addresses, and text is escaped."""
    event = {"slug": "a", "title": "A & *B*", "summary": "<q>", "author": "", "note": "", "reasons": ["prose"]}
    days = {"x": "2031-01-01T00:00:00Z", "y": "2031-01-02T00:00:00Z"}
    entries = [{**event, "revision": name, "publishedAt": day} for name, day in days.items()]
    root = ElementTree.fromstring(page.feed(entries, title="L", base_url="https://example.org/sub"))
    found = root.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}id") for entry in found] == [
        f"https://example.org/sub/models/a/{name}/index.html" for name in ("y", "x")
    ]
    assert found[0].findtext(f"{ATOM}title") == "A & B"
    assert root.findtext(f"{ATOM}updated") == "2031-01-02T00:00:00Z"


def test_the_sitemap_lists_pages() -> None:
    """Addresses are absolute and sorted."""
    text = page.sitemap(["models/b/index.html", "index.html"], base_url="https://example.org")
    found = [element.text for element in ElementTree.fromstring(text).iter() if element.tag.endswith("loc")]
    assert found == ["https://example.org/index.html", "https://example.org/models/b/index.html"]


def test_a_lost_reader_is_led_home() -> None:
    """The page for a wrong address links the front page by an absolute address."""
    assert 'href="https://example.org/sub/index.html"' in page.missing(base_url="https://example.org/sub")
