"""The policy `keep` drops what it says, with its reason, and never what is pinned, current, cited or linked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lessonpress.core import config as settings
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.publishing import doctor, keep, prune, site
from lessonpress.revision import history, packed
from tests import tiny
from tests.curators import Curator

SLUG = "echo"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Give a repository with five published revisions; the second was current when a tag was set."""
    root = tmp_path_factory.mktemp("keep")
    config, ada = tiny.at(root), Curator("ada", root)
    ada.git("init", "--quiet", "--initial-branch=main")
    (root / ".gitignore").write_text("/work/\n", encoding="utf-8")
    for title in ("One", "Two", "Three", "Four", "Five"):
        tiny.published(config, title)
        site.write_site(config)
        ada.commit(title)
        if title == "Two":
            ada.git("tag", "v1")
    return config


@pytest.fixture
def house(template: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Give a copy of it, and work there."""
    shutil.copytree(Path(template.results).parent, tmp_path / "house")
    monkeypatch.chdir(tmp_path / "house")
    return tiny.at(tmp_path / "house")


def names(config: Config) -> list[str]:
    """The revisions in order."""
    return [event["revision"] for event in history.read_history(config.published(SLUG), SLUG)["revisions"]]


def by(config: Config, policy: str) -> Config:
    """The settings with a policy."""
    return config.model_copy(update={"keep": policy})


def test_a_policy_says_what_it_does_not_keep(house: Config) -> None:
    """All, the last few, or what a tag shows; the last and the pinned one in any case."""
    one, two, three, four, _ = names(house)
    assert keep.find_droppable(house) == {}
    assert keep.find_droppable(by(house, "last 3")) == {SLUG: [one, two]}
    assert keep.find_droppable(by(house, "last 9")) == {}
    assert keep.find_droppable(by(house, "tagged")) == {SLUG: [one, three, four]}
    prune.pin(house, SLUG, one)
    assert keep.find_droppable(by(house, "last 1")) == {SLUG: [two, three, four]}
    assert len(names(house)) == 5


def test_what_is_cited_or_linked_stays(house: Config) -> None:
    """A name in a document, in a lesson's words, or in what another lesson shows now."""
    one, two, three, four, _ = names(house)
    Path("paper.md").write_text(f"See https://example.org/models/echo/{one}/ for the figure.", encoding="utf-8")
    (house.lesson(SLUG) / "notes.md").write_text(f"as in {two}", encoding="utf-8")
    assert keep.find_droppable(by(house, "last 1")) == {SLUG: [three, four]}


def test_what_is_dropped_leaves_its_reason(house: Config) -> None:
    """The folders go, name and policy stay in the history, and the doctor has no complaint; packed ones go as well."""
    one, two, *_ = names(house)
    packed.pack_folder(house.published(SLUG) / one)
    said = keep.drop(by(house, "last 3"), keep.find_droppable(by(house, "last 3")))
    assert said == f"{SLUG}: dropped {one}, {two} (keep: last 3)"
    site.write_site(house)
    assert not any(packed.exists(house.published(SLUG) / name) for name in (one, two))
    assert "keep: last 3" in (house.published(SLUG) / f"{one}.html").read_text(encoding="utf-8")
    assert doctor.find_faults(house) == []


def test_a_policy_is_one_of_three(tmp_path: Path) -> None:
    """Anything else is refused with its line."""
    (tmp_path / "config.yaml").write_text("keep: last 0\n", encoding="utf-8")
    with pytest.raises(LessonError, match=r"config\.yaml:1: keep"):
        settings.read(tmp_path / "config.yaml")
