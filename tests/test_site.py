"""The pages around the lessons follow from what is published, and a page that is right stays as it is."""

from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from lessonpress.build import artifact
from lessonpress.core import atomic_io, canonical_json
from lessonpress.core.settings import Config, Site
from lessonpress.publishing import site, verify
from lessonpress.revision import history
from tests import page_sample, tiny


def published(root: Path, *slugs: str) -> Config:
    """A site with two revisions of each lesson."""
    config = tiny.at(root)
    for slug in slugs:
        events = history.read_history(config.published(slug), slug)
        for number, name in enumerate(("0" * 15 + "1", "0" * 15 + "2")):
            body = {**page_sample.manifest(), "slug": slug, "revision": name, "title": f"Title of {slug}"}
            atomic_io.write(config.published(slug) / name / "manifest.json", canonical_json.pretty(body))
            events = history.add_event(events, name, f"2026-01-0{number + 1}T00:00:00+00:00", ["prose"], "why & how")
        history.write_history(config.published(slug), events)
    return config


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file's time and bytes."""
    return {str(p): (p.stat().st_mtime_ns, p.read_bytes()) for p in folder.rglob("*") if p.is_file()}


def test_an_empty_site_has_a_catalogue_and_the_schema(tmp_path: Path) -> None:
    """Before the first lesson there is a page that says so, and the schema that readers check with."""
    config = published(tmp_path)
    site.write_site(config)
    results = tmp_path / "results"
    assert (results / "index.html").is_file()
    jsonschema.Draft202012Validator.check_schema(canonical_json.read(results / "schema" / "manifest.schema.json"))


def test_every_lesson_has_its_page_and_its_place_in_the_catalogue(tmp_path: Path) -> None:
    """The catalogue links each lesson's page, the page each revision, all by relative links."""
    config = published(tmp_path, "first", "second")
    site.write_site(config)
    catalogue = (tmp_path / "results" / "index.html").read_text()
    assert "models/first/" in catalogue
    assert "Title of second" in catalogue
    page = (config.published("first") / "revisions.html").read_text()
    assert "0" * 15 + "1" in page
    assert "0" * 15 + "2" in page
    assert "why &amp; how" in page
    assert 'href="/' not in page + catalogue


def test_a_page_that_is_right_stays_as_it_is(tmp_path: Path) -> None:
    """Writing the site twice changes no time and no byte."""
    config = published(tmp_path, "first")
    assert site.write_site(config) != "site: unchanged"
    before = state(tmp_path / "results")
    assert site.write_site(config) == "site: unchanged"
    assert state(tmp_path / "results") == before


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    """A new lesson moves the catalogue and makes its own page; the other lesson's page keeps its time."""
    config = published(tmp_path, "first")
    site.write_site(config)
    before = state(config.published("first"))
    published(tmp_path, "second")
    site.write_site(config)
    assert state(config.published("first")) == before
    assert (config.published("second") / "index.html").is_file()


@pytest.mark.parametrize("edit", [lambda data: data.replace(b"\n", b"\r\n"), lambda data: data + b"\xff"])
def test_a_page_with_other_bytes_is_written_again(tmp_path: Path, edit: Callable[[bytes], bytes]) -> None:
    """Other line ends, or bytes that are no text: the page is what the revisions give, byte for byte."""
    config = published(tmp_path, "first")
    site.write_site(config)
    page = tmp_path / "results" / "index.html"
    before = page.read_bytes()
    page.write_bytes(edit(before))
    assert [fault.where for fault in verify.find_page_faults(config)] == ["index.html"]
    pages = site.make_pages(tmp_path / "results", config.site)
    assert site.write_site(config) == f"site: 1 of {len(pages)} pages changed"
    assert page.read_bytes() == before


def test_the_receipt_holds_all_that_the_pages_depend_on(tmp_path: Path) -> None:
    """Every page, history, manifest by its digest as it is published: what is another one later is noticed."""
    config = published(tmp_path, "first")
    site.write_site(config, receipt=tmp_path / "receipt.json")
    receipt = artifact.read(tmp_path / "receipt.json")
    assert receipt
    digests = receipt.body["files"]
    schemas = {"schema/manifest.schema.json", "schema/lesson.schema.json"}
    pages = ("index.html", "revisions.html", *(f"{'0' * 15}{number}.html" for number in (1, 2)))
    lesson = {f"models/first/{name}" for name in (*pages, "revisions.json", f"{'0' * 15}2/manifest.json")}
    assert set(digests) == {"index.html", "404.html", *schemas, *lesson}
    assert digests == {name: canonical_json.digest_file(tmp_path / "results" / name) for name in digests}


def test_the_receipt_does_not_hold_what_changed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The receipt holds a history as it was read: one that another program writes meanwhile makes it stale."""
    config = published(tmp_path, "first")
    path, made = config.published("first") / "revisions.json", site.site_pages.render_catalogue
    before = canonical_json.digest_file(path)
    catalogue = lambda *given, **more: (path.write_text("{}"), made(*given, **more))[1]  # noqa: E731
    monkeypatch.setattr(site.site_pages, "render_catalogue", catalogue)
    site.write_site(config, receipt=tmp_path / "receipt.json")
    receipt = artifact.read(tmp_path / "receipt.json")
    assert receipt
    assert receipt.body["files"]["models/first/revisions.json"] == before != canonical_json.digest_file(path)


def test_a_full_disk_leaves_every_page_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page is the old one or the new one, never a part."""
    config = published(tmp_path, "first")
    site.write_site(config)
    published(tmp_path, "second")
    old = {path: content for path, (_, content) in state(tmp_path / "results").items()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(Exception, match="No space"):
        site.write_site(config)
    assert {path: content for path, (_, content) in state(tmp_path / "results").items()} == old


def test_only_a_lesson_that_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is as it was is neither read nor made; the pages are those that are made from nothing."""
    config = published(tmp_path, "first", "second")
    site.write_site(config)
    made: list[str] = []
    history_page = site.site_pages.render_history
    noted = lambda slug, *rest: (made.append(slug), history_page(slug, *rest))[1]  # noqa: E731
    monkeypatch.setattr(site.site_pages, "render_history", noted)
    assert site.write_site(config) == "site: unchanged"
    assert made == []
    second = history.read_history(config.published("second"), "second")
    history.write_history(config.published("second"), {**second, "pinned": second["current"]})
    assert site.write_site(config) == "site: 1 of 12 pages changed"
    assert made == ["second"]
    for path, text in site.make_pages(Path(config.results), config.site).items():
        assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("slug", ["mistakes", "beside", "sha256"])
def test_a_lesson_may_be_called_as_a_part_of_a_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slug: str
) -> None:
    """It is remembered as any other."""
    config = published(tmp_path, "first", slug)
    site.write_site(config)
    monkeypatch.setattr(site.site_pages, "render_history", lambda *given: pytest.fail("a lesson was read again"))
    assert site.write_site(config) == "site: unchanged"


@pytest.mark.parametrize("lost", ["page", "layer", "manifest", "settings", "memory", "nonsense"])
def test_what_is_not_as_it_was_is_made_anew(tmp_path: Path, lost: str) -> None:
    """An edited page, another manifest, other settings, and a memory that is gone or says what nobody said."""
    config = published(tmp_path, "first", "second")
    site.write_site(config)
    folder = config.published("first")
    if lost == "page":
        (folder / "index.html").write_text("edited")
    elif lost == "layer":
        (folder / f"{'0' * 15}1.html").write_text("edited")
    elif lost == "manifest":
        path = folder / history.read_history(folder, "first")["current"] / "manifest.json"
        atomic_io.write(path, path.read_text(encoding="utf-8").replace("Title of first", "Another title"))
    elif lost == "settings":
        config = config.model_copy(update={"site": config.site.model_copy(update={"title": "Other lessons"})})
    elif lost == "nonsense":
        memory = site.PageMemory(tmp_path / "work" / "pages.json", config.site)
        assert set(memory.known) == {"first", "second"}
        artifact.write(memory.file, memory.base, {"lessons": {"first": 5, "second": {}}})
    else:
        (tmp_path / "work" / "pages.json").write_text("[")
    site.write_site(config)
    for path, text in site.make_pages(Path(config.results), config.site).items():
        assert path.read_text(encoding="utf-8") == text


def test_whole_addresses_go_with_the_sites_own(tmp_path: Path) -> None:
    """The feed and the sitemap would go on leading to an address that the site has given up."""
    config = published(tmp_path, "one")
    there = config.model_copy(update={"site": Site(base_url="https://example.org")})
    site.write_site(there)
    made = {name for name in ("feed.xml", "sitemap.xml") if (Path(config.results) / name).is_file()}
    assert made == {"feed.xml", "sitemap.xml"}
    assert "without a base_url there is no feed.xml and no sitemap.xml" in site.write_site(config)
    assert not made & {path.name for path in Path(config.results).iterdir()}
    assert site.write_site(config) == "site: unchanged"
    assert list(verify.find_page_faults(config)) == []
