"""The site as a host serves it: every link leads somewhere, every address keeps working, nobody's folder is touched."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lessonpress.core.errors import LessonErrors, WrongUsage
from lessonpress.core.settings import Config
from lessonpress.publishing import deploy, doctor, links, prune, site
from lessonpress.revision import history
from tests import tiny

SLUG = "echo"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Give a repository that has published three revisions of a lesson."""
    config = tiny.at(tmp_path_factory.mktemp("deploy"))
    for title in ("One", "Two", "Three & < 4"):
        tiny.published(config, title)
    site.write_site(config)
    return config


@pytest.fixture
def house(template: Config, tmp_path: Path) -> Config:
    """Give a copy of it."""
    for name in ("lessons", "results"):
        shutil.copytree(getattr(template, name), tmp_path / name)
    return tiny.at(tmp_path)


def names(config: Config) -> list[str]:
    """The revisions in order."""
    return [event["revision"] for event in history.read_history(config.published(SLUG), SLUG)["revisions"]]


def read(path: Path) -> str:
    """A page's text."""
    return path.read_text(encoding="utf-8")


def test_a_deployed_revision_verifies_itself(house: Config, tmp_path: Path) -> None:
    """The folder is whole, dotfiles too: its own verify.py says so, from the built site alone."""
    said = deploy.deploy(house, tmp_path / "site")
    assert "every link around the lessons leads somewhere" in said
    # The hand-made runs name a line that their model does not have: what was published cannot be mended, but is said.
    assert f"  models/{SLUG}/{names(house)[0]}/index.html: the link #s0-9 leads nowhere" in said
    assert (tmp_path / "site" / ".nojekyll").is_file()
    for name in names(house):
        folder = tmp_path / "site" / "models" / SLUG / name
        command = [sys.executable, "-I", "verify.py", "--digests"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert (folder / ".vscode" / "tasks.json").is_file()


def test_a_lessons_address_is_the_current_lesson(house: Config) -> None:
    """It leads on at once, without scripts as well; the list of revisions has its own address."""
    folder, (one, two, three) = house.published(SLUG), names(house)
    front = read(folder / "index.html")
    assert f'content="0; url={three}/index.html"' in front
    assert 'href="revisions.html"' in front
    listed = read(folder / "revisions.html")
    assert all(address in listed for address in (f"{one}.html", f"{two}.html", f"{three}/index.html"))


def test_a_reader_of_an_old_revision_learns_of_a_newer_one(house: Config) -> None:
    """The page around it says so; not a byte of the revision is another one; what is current then says nothing."""
    folder, (one, _, three) = house.published(SLUG), names(house)
    before = {path: path.read_bytes() for path in folder.rglob("*/*") if path.is_file()}
    around = read(folder / f"{one}.html")
    assert "It is not the current one." in around
    assert f'<iframe src="{one}/index.html"' in around
    assert "frame-src" in around
    assert "Three &amp; &lt; 4" in around
    assert "the current one." in read(folder / f"{three}.html")
    prune.pin(house, SLUG, one)
    site.write_site(house)
    assert "the current one." in read(folder / f"{one}.html")
    assert "It is not the current one." in read(folder / f"{three}.html")
    assert {path: path.read_bytes() for path in folder.rglob("*/*") if path.is_file()} == before
    assert doctor.find_faults(house) == []


def test_a_withdrawn_revision_says_where_to_go(house: Config, tmp_path: Path) -> None:
    """At its old address in the built site, and beside it, stands why it is gone and what is current."""
    two = names(house)[1]
    prune.withdraw(house, SLUG, two, "a wrong number & more")
    site.write_site(house)
    assert doctor.find_faults(house) == []
    deploy.deploy(house, tmp_path / "site")
    for path, link in ((f"{two}/index.html", "../index.html"), (f"{two}.html", "index.html")):
        text = read(tmp_path / "site" / "models" / SLUG / path)
        assert "was withdrawn" in text
        assert "a wrong number &amp; more" in text
        assert f'href="{link}"' in text
        assert "<iframe" not in text


def test_a_renamed_lesson_leads_on(house: Config, tmp_path: Path) -> None:
    """Its address, and the pages around its revisions, lead to the lesson that continues it."""
    shutil.copytree(house.lesson(SLUG), house.lesson("other"))
    tiny.edit(house.lesson("other") / "lesson.yaml", "slug: echo", "slug: other")
    from tests import curators

    curators.Curator("ada", tmp_path).publish("other")
    shutil.rmtree(house.lesson(SLUG))
    prune.retire(house, SLUG, to="other")
    site.write_site(house)
    front = read(house.published(SLUG) / "index.html")
    assert 'content="0; url=../other/index.html"' in front
    assert 'href="../other/index.html"' in read(house.published(SLUG) / f"{names(house)[0]}.html")
    assert doctor.find_faults(house) == []
    deploy.deploy(house, tmp_path / "site")


def test_a_link_that_leads_nowhere_is_named(house: Config, tmp_path: Path) -> None:
    """By its page: a file that is missing, a place that a page does not have; other sites are not visited."""
    (Path(house.results) / "index.html").write_text(
        '<a href="gone.html">a</a><a href="models/echo/revisions.html#nowhere">b</a><a href="https://example.org/x">c</a>'
        '<a href="models/echo/">d</a><a id="here" href="#here">e</a>', encoding="utf-8")  # fmt: skip
    with pytest.raises(LessonErrors) as caught:
        deploy.deploy(house, tmp_path / "site")
    assert [error.seen for error in caught.value.errors] == [
        "the link gone.html leads nowhere", "the link models/echo/revisions.html#nowhere leads nowhere"]  # fmt: skip


def test_absolute_addresses_are_the_sites_own(tmp_path: Path) -> None:
    """What begins with the site's address is looked for in it."""
    (tmp_path / "a.html").write_text('<a href="https://example.org/s/b.html"></a><a href="https://example.org/t"></a>')
    assert list(links.find_broken_links(tmp_path)) == []
    assert list(links.find_broken_links(tmp_path, "https://example.org/s")) == [
        ("a.html", "https://example.org/s/b.html")]  # fmt: skip


def test_nobodys_folder_is_overwritten(house: Config, tmp_path: Path) -> None:
    """Only a folder that is new, empty or of this command; never the site itself, nor a folder around it."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for out in (tmp_path / "mine", Path(house.results), tmp_path, Path(house.results) / "inside"):
        with pytest.raises(WrongUsage):
            deploy.deploy(house, out)
    assert (tmp_path / "mine" / "thesis.txt").is_file()
    deploy.deploy(house, tmp_path / "site")
    (tmp_path / "site" / "stale.html").write_text("")
    deploy.deploy(house, tmp_path / "site")
    assert not (tmp_path / "site" / "stale.html").exists()


def test_a_site_without_a_lesson_is_served_too(tmp_path: Path) -> None:
    """Where every lesson so far has a mistake there are the pages around them alone."""
    config = tiny.at(tmp_path)
    site.write_site(config)
    assert "ready to be served" in deploy.deploy(config, tmp_path / "site")
    assert (tmp_path / "site" / "index.html").is_file()


def test_a_build_that_was_stopped_can_be_done_again(
    house: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """The folder is known as ours from its first file on."""
    with monkeypatch.context() as stopped:
        stopped.setattr(shutil, "copytree", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            deploy.deploy(house, tmp_path / "site")
    assert "ready to be served" in deploy.deploy(house, tmp_path / "site")


def test_the_sites_own_pages_carry_no_mark(house: Config) -> None:
    """Every blank of their templates is filled."""
    for path in house.published(SLUG).glob("*.html"):
        assert not re.search(r"\{\{|\{%", read(path))
