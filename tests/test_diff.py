"""What changed between two published revisions, in words, as data and as a page."""

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.publishing import diff, diff_view
from lessonpress.revision import revision_diff
from tests import tiny

SLUG = "echo"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Give a repository that has published two revisions, whose title and check differ."""
    root = tmp_path_factory.mktemp("house")
    config = tiny.at(root)
    for title, measured in (("One <2>", 0.5), ("Two & more", 0.25)):
        tiny.published(config, title, measured=measured)
    return config


def names(config: Config) -> list[str]:
    """The published revisions in order."""
    return [e["revision"] for e in json.loads((config.published(SLUG) / "revisions.json").read_text())["revisions"]]


def test_the_last_two_are_compared_unless_named(house: Config, tmp_path: Path) -> None:
    """Without names the newest with the one before it; a name may be the beginning of an id, or a folder."""
    one, two = names(house)
    for given in ((), (one,), (one, two), (one[:6], two[:6]), (str(house.published(SLUG) / one),)):
        difference = diff.diff(house, SLUG, *given, out=tmp_path / "page.html")
        assert (difference.old, difference.new) == (one, two)
    assert diff.diff(house, SLUG, two, one, out=tmp_path / "page.html").old == two


@pytest.mark.parametrize("given", [("nope",), ("", None), ("", "")])
def test_a_name_that_fits_nothing_is_refused(house: Config, given: tuple[str, ...]) -> None:
    """The message names what is published; the beginning of several ids is none."""
    if given == ("", None):
        with pytest.raises(LessonError, match="never published"):
            diff.diff(house, "unknown")
        return
    with pytest.raises(LessonError, match=names(house)[0]):
        diff.diff(house, SLUG, "nope", *given[1:])


def test_there_is_nothing_before_the_first(house: Config) -> None:
    """The first revision has no earlier one to be compared with."""
    with pytest.raises(LessonError, match="is the first revision"):
        diff.diff(house, SLUG, None, names(house)[0])


def test_the_lines_name_each_edit(house: Config, tmp_path: Path) -> None:
    """Prose by its key, a check by its margin, files by their sizes; nothing is claimed of the numbers."""
    text = diff.format_difference(diff.diff(house, SLUG, out=tmp_path / "page.html"))
    assert "because of: prose (1 key)" in text
    assert "  prose  title: One <2> → Two & more" in text
    assert "  checks  check_it: passes, margin 0.5 → 0.75" in text
    assert "  numbers" not in text


def test_a_revision_does_not_differ_from_itself(house: Config, tmp_path: Path) -> None:
    """The same revision twice: nothing changed, in words and on the page."""
    one = names(house)[0]
    difference = diff.diff(house, SLUG, one, one, out=tmp_path / "page.html")
    assert diff.format_difference(difference) == f"{one}: nothing changed"
    assert "nothing changed" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_data_is_json(house: Config, tmp_path: Path) -> None:
    """Everything that the words say, for programs."""
    difference = diff.diff(house, SLUG, out=tmp_path / "page.html")
    document = json.loads(json.dumps(difference.document(), allow_nan=False))
    assert document["reasons"] == ["prose"]
    assert document["prose"] == [{"name": "title", "old": "One <2>", "new": "Two & more"}]
    assert document["checks"][0]["margin"] == [0.5, 0.75]
    assert "title: Two & more" in document["texts"]["lesson.yaml"]


class Links(HTMLParser):
    """Collects what a page would fetch, and its element ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note addresses and ids."""
        values = dict(attrs)
        self.fetched += [
            value for key in ("src", "href") if (value := values.get(key)) and not value.startswith(("#", "data:"))
        ]
        self.ids += [value] if (value := values.get("id")) else []


def test_the_page_is_one_offline_file(house: Config, tmp_path: Path) -> None:
    """It fetches nothing, escapes what a lesson says, and no id stands twice."""
    diff.diff(house, SLUG, out=tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Links(text)
    assert page.fetched == []
    assert len(page.ids) == len(set(page.ids))
    assert "One &lt;2&gt;" in text
    assert "<2>" not in text


def edited(house: Config, to: Path) -> Path:
    """The last revision with one recorded number and a layer changed, as another folder."""
    folder = to / "edited"
    folder.mkdir()
    for path in (house.published(SLUG) / names(house)[-1]).iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    identity = json.loads((folder / "identity.json").read_text())
    case, record = next((c, r) for c, rs in identity["recorded"].items() for r, v in rs.items() if isinstance(v, list))
    values = np.array(identity["recorded"][case][record])
    values.reshape(-1)[-1] += 0.5
    identity["recorded"][case][record] = values.tolist()
    (folder / "identity.json").write_text(json.dumps(identity))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["layers"] = [layer for layer in manifest["layers"] if layer["id"] != "add@Pair#0"]
    manifest["layers"].append(
        {"id": "new@Pair#0", "label": "new", "op": "torch.new", "kind": "layer", "parent": "", "params": {}}
    )
    manifest["layers"][-1]["parent"] = next((y["parent"] for y in manifest["layers"] if y["kind"] == "input"), None)
    manifest["connections"] = [w for w in manifest["connections"] if "add@Pair#0" not in (w["source"], w["target"])]
    manifest["revision"] = "f" * 16
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_numbers_and_graph_are_drawn(house: Config, tmp_path: Path) -> None:
    """Heatmaps of new minus old with the worst cell named, and both graphs on one layout with marks."""
    old, new = house.published(SLUG) / names(house)[-1], edited(house, tmp_path)
    difference = revision_diff.compare_revisions(old, new)
    [gap] = difference.numbers.gaps
    assert gap.absolute == pytest.approx(0.5)
    page = diff_view.render_page(difference, old, new, title="What changed")
    assert gap.where() in page
    assert 'class="heatmap"' in page
    assert 'data-id="new@Pair#0" data-change="added"' in page
    assert 'data-id="add@Pair#0" data-change="removed"' in page
    assert ">+ new<" in page
    assert {"numbers", "graph"} <= set(difference.reasons)


def test_a_difference_of_no_numbers_is_nothing() -> None:
    """New minus old: 0 where both are the same number or none, the plain difference elsewhere."""
    nan, inf = float("nan"), float("inf")
    away = diff_view.subtract(np.array([1.0, nan, inf, 3.0]), np.array([1.5, nan, inf, 3.0]))
    np.testing.assert_array_equal(away, [0.5, 0.0, 0.0, 0.0])
