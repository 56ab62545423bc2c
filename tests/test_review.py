"""What a branch changes in the published site, in words that people can read in a pull request."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lessonpress.core.errors import WrongUsage
from lessonpress.publishing import review
from tests import curators
from tests.curators import Curator
from tests.test_diff import Links


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Curator:
    """Give a curator whose branch has published a lesson of other words twice; another lesson is as it was."""
    ada = curators.begin(tmp_path_factory.mktemp("review"), ["alpha", "beta"])
    ada.git("switch", "--quiet", "--create", "words")
    for text in ("Passing", "Two | <2>bold @someone"):
        ada.edit("alpha", "title", text)
        ada.publish("alpha", note="clearer")
        ada.commit(text)
    return ada


@pytest.fixture
def ada(template: Curator, tmp_path: Path) -> Curator:
    """Give a copy of that."""
    shutil.copytree(template.folder, tmp_path / "ada", symlinks=True)
    return Curator("ada", tmp_path / "ada")


def test_the_words_of_a_branch_are_shown(ada: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """From where the branch began to what it holds now, whatever came between; numbers identical; nothing acts."""
    monkeypatch.delenv("GITHUB_SERVER_URL", raising=False)
    done = review.review(ada.config, "main")
    text = review.format_markdown(done)
    assert text.startswith("### What this changes in the published site: 1 lesson\n")
    assert "2 publications, “clearer”" in text
    assert "| `title` | One | Two \\| &lt;2>bold @\u200bsomeone |" in text
    assert "Passing" not in text
    assert "**Numbers identical**" in text
    assert "beta" not in text
    assert done.page.with_suffix(".md").read_text(encoding="utf-8") == text
    page = done.page.read_text(encoding="utf-8")
    assert "Numbers identical." in page
    assert "<2>bold" not in page
    links = Links(page)
    assert len(links.ids) == len(set(links.ids))


def test_main_may_have_gone_on(ada: Curator) -> None:
    """What others have published on the other branch meanwhile is no change of this one."""
    ada.git("switch", "--quiet", "main")
    ada.edit("beta", "title", "Elsewhere")
    ada.publish("beta")
    ada.commit("meanwhile")
    ada.git("switch", "--quiet", "words")
    assert [change.slug for change in review.review(ada.config, "main").changes] == ["alpha"]
    assert review.review(ada.config, "HEAD").changes == ()
    assert "Nothing changes" in (Path(ada.config.work) / "diff" / "review.md").read_text(encoding="utf-8")


def test_a_workflow_shows_pictures_by_address(ada: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before at the commit where the branch began, after at its own; the picture holds the title."""
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://example.org")
    monkeypatch.setenv("GITHUB_REPOSITORY", "who/what")
    [change] = review.review(ada.config, "main").changes
    commits = [ada.git("rev-parse", name).stdout.strip() for name in ("main", "HEAD")]
    assert change.difference
    revisions = (change.difference.old, change.difference.new)
    assert [picture for picture in change.pictures] == [
        f"https://example.org/who/what/raw/{commit}/results/models/alpha/{revision}/preview.svg"
        for commit, revision in zip(commits, revisions, strict=True)
    ]


def test_numbers_that_moved_have_a_bar(ada: Curator) -> None:
    """How far each number moved, the largest move as a full bar; what did not move is a dot."""
    import numpy as np

    assert review._draw_bar(np.zeros(4), np.array([0.0, 8.0, -4.0, 1.0])) == "·█▄▁"
    assert review._draw_bar(np.zeros(2), np.array([np.nan, 1.0])) == "██"
    assert review._draw_bar(np.zeros(2), np.zeros(3)) == ""


def test_a_new_and_a_gone_lesson_are_named(ada: Curator) -> None:
    """A lesson that came with the branch, and one that it retired."""
    from lessonpress.publishing import prune

    shutil.copytree(ada.config.lesson("alpha"), ada.config.lesson("gamma"))
    ada.edit("gamma", "slug", "gamma")
    ada.publish("gamma")
    shutil.rmtree(ada.config.lesson("beta"))
    prune.retire(ada.config, "beta", to="gamma")
    words = {change.slug: change.words for change in review.review(ada.config, "main").changes}
    assert words["gamma"] == "a new lesson"
    assert words["beta"] == "retired, continued as gamma"


def test_a_branch_that_is_not_there_is_wrong_usage(ada: Curator) -> None:
    """The message says what to fetch."""
    with pytest.raises(WrongUsage, match="git fetch"):
        review.review(ada.config, "origin/nothing")
