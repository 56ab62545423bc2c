"""The page's smaller parts: terms in prose, reading time, packed numbers, pictures, scripts, feed and citation."""

from __future__ import annotations

import base64
import itertools
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from ruamel.yaml import YAML

from lessonpress.graph import drawing, layout
from lessonpress.revision import bundle
from lessonpress.web.page import (
    citation,
    glossary,
    graphs,
    heatmap,
    lesson_page,
    page_data,
    program,
    provenance,
    reading,
    site_pages,
)
from lessonpress.web.page.scales import Scale
from tests.page_sample import RECIPE, SOURCE, manifest

TERMS = glossary.make_terms([{"term": "score"}, {"term": "hidden state"}, {"term": "C&A"}])


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
    assert reading.estimate_minutes(["<p>word</p>"]) == 1
    assert reading.estimate_minutes(["word " * 1000]) == 5
    assert reading.estimate_minutes(["word " * 1000], figures=8) == 7
    assert reading.count_words(["<p>one <math><mi>a</mi><mo>b</mo></math></p>"]) == 4


@given(arrays.arrays(np.float64, st.integers(0, 9), elements=st.floats(allow_nan=False)))
def test_packed_numbers_come_back(values: np.ndarray[Any, Any]) -> None:
    """Base64 in planes of bytes holds every bit of a float64, in half the space where float32 holds it too."""
    recorded = [v if np.isfinite(v) else {"float": repr(v)} for v in values.tolist()]
    dtype, shape, text = program.pack({"dtype": "float64", "shape": [len(values)], "values": recorded})
    size = {"float32": 4, "float64": 8}[dtype]
    planes = np.frombuffer(base64.b64decode(text), dtype=np.uint8).reshape(size, -1)
    back = np.frombuffer(planes.T.tobytes(), dtype=f"<f{size}")
    assert shape == [len(values)]
    assert np.array_equal(back.astype(np.float64), values)


def layer(name: str, parent: str | None = None, kind: str = "layer") -> dict[str, Any]:
    """A node of a graph."""
    return {"id": name, "label": name, "op": "X", "kind": kind, "parent": parent, "params": {}}


def test_pictures_cover_every_way_to_fold() -> None:
    """With two nested modules there are three different pictures; with many, each is one module away."""
    nested = {"layers": [layer("a", kind="module"), layer("a.b", "a", "module"), layer("a.b.c", "a.b")],
              "connections": []}  # fmt: skip
    pictures = graphs.draw_views(nested, lambda folded, ids: f"<svg>{sorted(folded)} {ids}</svg>")
    assert set(pictures) == {("a",), ("a.b",)}
    many = [layer(f"m{i}", kind="module") for i in range(6)] + [layer(f"m{i}.x", f"m{i}") for i in range(6)]
    wide = {"layers": many, "connections": []}
    pictures = graphs.draw_views(wide, lambda folded, ids: f"<svg>{sorted(folded)}</svg>")
    assert all(len(names) == 1 for names in pictures)


def test_pictures_stop_at_their_limit() -> None:
    """Further pictures are left out before a page gets heavy."""
    layers = [part for i in range(3) for part in (layer(f"m{i}", kind="module"), layer(f"m{i}.x", f"m{i}"))]
    heavy = "<svg>" + "x" * 15_000 + "</svg>"
    assert len(graphs.draw_views({"layers": layers, "connections": []}, lambda folded, ids: heavy)) == 1


def test_a_case_with_a_graph_of_its_own_says_what_it_called() -> None:
    """Nodes that only a case called, and those that it did not call, are named."""
    sample = manifest()
    case = {"id": "loud", "graph": {"layers": [{"id": "score"}, {"id": "extra"}]}}
    own = graphs.compare_graphs(sample, case, {"loud": "<svg><style>x</style>y</svg>"})
    assert own is not None
    assert (own.more, own.less, own.picture) == (("extra",), ("share",), "<svg>y</svg>")


def weight(count: int) -> tuple[int, int]:
    """The page's bytes and the graph's nodes for a model of so many layers in blocks of ten."""
    blocks = [layer(f"body.{at}", "body", "module") for at in range(count // 10)]
    leaves = [layer(f"body.{at // 10}.linear{at % 10}", f"body.{at // 10}") for at in range(count)]
    called = [{"file": "model.py", "line": 16, "endLine": 16, "column": 13, "endColumn": 30}]
    full = {"params": {"in_features": 64, "out_features": 64}, "called": called,
            "outputs": [{"shape": [1, 64], "dtype": "float32"}]}  # fmt: skip
    layers = [layer("body", None, "module"), *blocks, *({**leaf, **full} for leaf in leaves)]
    pairs = itertools.pairwise(leaf["id"] for leaf in leaves)
    connections = [{"id": f"e{at}", "source": a, "target": b, "sourcePort": None, "targetPort": None, "shape": [1, 64]}
                   for at, (a, b) in enumerate(pairs)]  # fmt: skip

    def draw(folded: frozenset[str], ids: str = "n") -> str:
        placement = layout.place_graph(layers, connections, collapsed=folded)
        return drawing.draw_svg(layers, connections, placement, title="t", ids=ids)

    drawn = {"layers": layers, "connections": connections}
    text = lesson_page.render_page(
        {**manifest(), **drawn, "steps": []}, recipe=RECIPE, graph_svg=draw(layout.choose_folded(layers, connections)),
        sources={"model.py": SOURCE}, pictures=graphs.draw_views(drawn, draw),
    )  # fmt: skip
    return len(text.encode()), len(layers)


@pytest.mark.parametrize("count", [100, 1000])
def test_a_graph_is_light(count: int) -> None:
    """A graph of n nodes costs a page at most 50 kB and 200 bytes a node."""
    least, _ = weight(10)
    most, nodes = weight(count)
    assert most - least <= 50_000 + 200 * nodes


def test_a_citation_is_valid_yaml_and_bibtex() -> None:
    """CITATION.cff says title, version, date and author; BibTeX escapes what TeX would read."""
    sample = {**manifest(), "title": 'A "title": 50 % & more', "curator": "Ada"}
    cff = YAML(typ="safe").load(bundle.make_citation(sample, "2026-05-06T07:08:09+00:00").decode())
    assert (cff["cff-version"], cff["title"], cff["version"]) == ("1.2.0", sample["title"], sample["revision"])
    assert cff["authors"] == [{"name": "Ada"}]
    assert cff["date-released"] == "2026-05-06"
    assert "references" not in cff  # which must have authors, and no author is known
    paper = {"title": "On equilibrium", "authors": ["Grace", 'B. "C"'], "url": "https://example.org/paper"}
    sample["milestone"] = {**sample["milestone"], "papers": [{"title": "Without"}, paper]}
    cited = YAML(typ="safe").load(bundle.make_citation(sample, "2026-05-06T07:08:09+00:00").decode())["references"]
    assert cited == [{"type": "article", **paper, "authors": [{"name": name} for name in paper["authors"]]}]
    entry = citation.make_citation(sample)
    assert r"50 \% \& more" in entry.before
    assert entry.year == "2031"


def test_the_editor_has_tasks() -> None:
    """The bundle's .vscode folder has tasks that run, compare, verify and show the graph."""
    tasks = json.loads(bundle.make_editor_files()[".vscode/tasks.json"])["tasks"]
    assert [task["label"] for task in tasks] == [
        "Lesson: set up", "Lesson: run", "Lesson: compare with the record", "Lesson: verify the files",
        "Lesson: show the graph",
    ]  # fmt: skip


DAY = "2031-01-02T00:00:00+00:00"
ATOM = "{http://www.w3.org/2005/Atom}"


def test_the_feed_is_atom() -> None:
    """Entries stand newest first with absolute addresses, and text is escaped."""
    event = {"slug": "a", "title": "A & *B*", "summary": "<q>", "author": "", "note": "", "reasons": ["prose"]}
    days = {"x": "2031-01-01T00:00:00Z", "y": "2031-01-02T00:00:00Z"}
    entries = [{**event, "revision": name, "publishedAt": day} for name, day in days.items()]
    root = ElementTree.fromstring(site_pages.render_feed(entries, title="L", base_url="https://example.org/sub"))
    entry_elements = root.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}id") for entry in entry_elements] == [
        f"https://example.org/sub/models/a/{name}/index.html" for name in ("y", "x")
    ]
    # The entry keeps its id, and leads to the page around the revision, which will know of a newer one.
    assert entry_elements[0].find(f"{ATOM}link").get("href") == "https://example.org/sub/models/a/y.html"
    assert entry_elements[0].findtext(f"{ATOM}title") == "A & B"
    assert root.findtext(f"{ATOM}updated") == "2031-01-02T00:00:00Z"
    assert {element.text for element in root.iter(f"{ATOM}name")} == {"L"}  # the site's own, where nobody is named
    signed = site_pages.render_feed(entries, title="L", base_url="https://example.org", author="The L authors")
    assert {element.text for element in ElementTree.fromstring(signed).iter(f"{ATOM}name")} == {"The L authors"}


def test_the_sitemap_lists_pages() -> None:
    """Addresses are absolute and sorted, each with the moment of its last change where there is one."""
    text = site_pages.render_sitemap({"models/b/index.html": DAY, "index.html": ""}, base_url="https://example.org")
    elements = list(ElementTree.fromstring(text).iter())
    addresses = [element.text for element in elements if element.tag.endswith("loc")]
    assert addresses == ["https://example.org/index.html", "https://example.org/models/b/index.html"]
    assert [element.text for element in elements if element.tag.endswith("lastmod")] == [DAY]


def test_a_lost_reader_is_led_home() -> None:
    """The page for a wrong address links the front page by an absolute address."""
    assert 'href="https://example.org/sub/index.html"' in site_pages.render_missing(base_url="https://example.org/sub")


# Machado, Oliveira and Fernandes (2009), full strength, on linear RGB.
BLINDNESS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def seen(colour: str, matrix: list[list[float]]) -> np.ndarray[Any, Any]:
    """A colour #rrggbb in CIELAB as somebody with a colour blindness sees it."""
    coded = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    x, y, z = TO_XYZ @ np.clip(np.array(matrix) @ linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    a, b, c = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * b - 16, 500 * (a - b), 200 * (b - c)])


@pytest.mark.parametrize("kind", BLINDNESS)
def test_everybody_can_tell_the_colours_apart(kind: str) -> None:
    """Above, below and zero differ clearly (CIE76 above 15) for three kinds of colour blindness; signs say the same."""
    tones = [seen(heatmap.choose_colour(value, Scale(-1.0, 1.0)), BLINDNESS[kind]) for value in (1.0, 0.0, -1.0)]
    for one, other in itertools.combinations(tones, 2):
        assert np.linalg.norm(one - other) > 15


def test_a_page_names_the_decompositions_that_ran_or_are_called() -> None:
    """The graph's own names and the files' calls, however they import torch; what only sounds alike is none."""
    ran: Any = {"layers": [{"op": "torch.linalg_cholesky"}, {"op": "torch.matmul"}, {"op": "Linear"}]}
    sources = {
        "model.py": "from torch.nn import init\nimport numpy\n\ninit.orthogonal_(x)\nnumpy.linalg.svd(x)\nsolve(x)\n",
        "notes.txt": "torch.linalg.qr(",
    }
    expected = ["torch.linalg.cholesky", "torch.nn.init.orthogonal_"]
    assert provenance.list_decompositions(ran, sources) == expected


def test_the_scripts_know_the_pages_data_by_the_same_names(project: Path) -> None:
    """The types that tsc checks, in data.js, have the keys of those that mypy checks, in page_data.py."""
    text = (project / "templates" / "script" / "data.js").read_text("utf-8")
    for name, typed in {"Live": page_data.Live, "PageData": page_data.PageData}.items():
        block = re.findall(rf"@typedef \{{object\}} {name}\n(.*?)\*/", text, re.DOTALL)[0]
        assert set(re.findall(r"@property \{.*\} \[?(\w+)", block)) == typed.__annotations__.keys()
    for name, typed in {"Source": page_data.LiveFigure}.items():
        block = re.findall(rf"@typedef \{{\{{(.*?)\}}.*\}} {name}\b", text)[0]
        assert set(re.findall(r"(\w+):", block)) == typed.__annotations__.keys()
