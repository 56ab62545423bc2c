"""After a merge, a rebase, a cherry-pick, a revert or a stash, one command leads to a good state of the site."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lessonpress.core.errors import LessonError
from lessonpress.publishing import git_setup, merge
from lessonpress.revision import history, packed
from tests import curators, tiny
from tests.curators import Curator

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with two clones: in both the same two lessons were published and committed."""
    root = tmp_path_factory.mktemp("curators")
    curators.begin(root, ["alpha", "beta"]).clone("bob")
    return root


@pytest.fixture
def pair(template: Path, tmp_path: Path) -> tuple[Curator, Curator]:
    """Give two curators with clones of their own."""
    for name in ("ada", "bob"):
        shutil.copytree(template / name, tmp_path / name, symlinks=True)
    ada, bob = Curator("ada", tmp_path / "ada"), Curator("bob", tmp_path / "bob")
    bob.git("remote", "set-url", "origin", str(ada.folder))
    ada.git("remote", "add", "origin", str(bob.folder))
    return ada, bob


def events(curator: Curator, slug: str) -> list[str]:
    """The revisions of a history in order."""
    return [event["revision"] for event in history.read_history(curator.config.published(slug), slug)["revisions"]]


def change(curator: Curator, slug: str, title: str, key: str = "title") -> str:
    """Edit, publish and commit a lesson."""
    curator.edit(slug, key, title)
    name = curator.publish(slug)
    curator.commit(f"{slug}: {title}")
    return name


def settle(curator: Curator) -> tuple[str, ...]:
    """Type the one command; then everything is good, and stays so when it is committed."""
    said: tuple[str, ...] = ()
    while True:
        done = curator.merge()
        said += done.lines
        assert done.mistakes == ()
        assert curator.faults() == ""
        if "rebase in progress" not in curator.git("status").stdout:
            break
        assert said[-1].endswith("go on with: git rebase --continue")
        curator.git("rebase", "--continue", good=False)
    if curator.git("status", "--porcelain").stdout or "still merging" in curator.git("status").stdout:
        curator.commit("merged")
    assert curator.faults() == ""
    assert curator.merge().lines == ()  # nothing is left to do
    return said


def test_lessons_of_two_branches_merge(pair: tuple[Curator, Curator]) -> None:
    """Different lessons: no conflict at all, and the command only makes the pages again."""
    ada, bob = pair
    one, two = change(ada, "alpha", "Ada's"), change(bob, "beta", "Bob's")
    bob.git("fetch", "--quiet")
    bob.git("merge", "--quiet", "--no-edit", "origin/main")
    assert [line.split(":")[0] for line in settle(bob)] == ["site", "Commit it"]
    assert (events(bob, "alpha")[-1], events(bob, "beta")[-1]) == (one, two)


@pytest.mark.parametrize("driver", [True, False], ids=["with the driver", "as git merges by itself"])
@pytest.mark.parametrize("command", ["merge", "rebase"])
def test_one_lesson_of_two_branches_merges(pair: tuple[Curator, Curator], command: str, driver: bool) -> None:
    """Both revisions stay, in the order of time; the merged source is published as a third one, on top."""
    ada, bob = pair
    if not driver:
        for setting in ("driver", "name"):
            bob.git("config", "--unset", f"{git_setup.DRIVER}.{setting}")
    one, two = change(ada, "alpha", "Ada's"), change(bob, "alpha", "Bob's?", key="question")
    bob.git("fetch", "--quiet")
    done = bob.git(command, "--quiet", "origin/main", good=False)
    if driver:
        assert "CONFLICT" not in done.stdout
    said = "\n".join(settle(bob))
    assert "publications" in said or driver
    assert set(events(bob, "alpha")[1:3]) == {one, two}
    assert len(events(bob, "alpha")) == 4  # the merged recipe has both changes
    page = (bob.config.published("alpha") / events(bob, "alpha")[3] / "index.html").read_text(encoding="utf-8")
    assert "Ada's" in page
    assert "Bob's?" in page


@pytest.mark.parametrize("command", ["merge", "rebase"])
@pytest.mark.parametrize("first", [0, 1])
def test_what_both_published_is_one_folder(
    pair: tuple[Curator, Curator], monkeypatch: pytest.MonkeyPatch, first: int, command: str
) -> None:
    """The same revision, published at two moments: one of both folders, whole, and one event."""
    ada, bob = pair
    names = set()
    for second, curator in enumerate(pair if first == 0 else pair[::-1]):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(2_000_000_000 + second))
        names.add(change(curator, "alpha", "The same"))
    assert len(names) == 1
    copies = [packed.read_files(curator.config.published("alpha") / min(names)) for curator in pair]
    assert copies[0] != copies[1]
    place = bob.config.published("alpha") / names.copy().pop()
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["title"] == "The same"
    bob.git("fetch", "--quiet")
    bob.git(*(["merge", "--quiet", "--no-edit"] if command == "merge" else [command]), "origin/main", good=False)
    settle(bob)
    assert events(bob, "alpha")[1:] == list(names)
    # A merge takes the copy that was first; a rebase continues what is there.
    assert packed.read_files(place) == copies[first if command == "merge" else 0]
    assert ada.faults() == ""


def test_a_merge_that_took_one_side_blindly_is_mended(pair: tuple[Curator, Curator]) -> None:
    """`-X ours`, or a commit of the conflict as it lay there: the other side's publication is taken back from git."""
    ada, bob = pair
    bob.git("config", "--unset", f"{git_setup.DRIVER}.driver")
    one, two = change(ada, "alpha", "Ada's"), change(bob, "alpha", "Bob's")
    bob.git("fetch", "--quiet")
    bob.git("merge", "--quiet", "--no-edit", "-s", "ours", "origin/main")
    assert merge.COMMAND in bob.faults()
    settle(bob)
    assert set(events(bob, "alpha")) >= {one, two}
    assert all((bob.config.published("alpha") / name).is_dir() for name in (one, two))


def test_a_revert_keeps_the_revision_and_publishes_the_one_before(pair: tuple[Curator, Curator]) -> None:
    """What was published stays; the lesson says what its source says again."""
    ada, _ = pair
    before = events(ada, "alpha")
    new = change(ada, "alpha", "A mistake")
    ada.git("revert", "--no-edit", "HEAD")
    assert merge.COMMAND in ada.faults()
    said = "\n".join(settle(ada))
    assert f"took back revision {new}" in said
    assert events(ada, "alpha") == [*before, new, *before]


def test_a_cherry_pick_brings_its_publication(pair: tuple[Curator, Curator]) -> None:
    """Of three commits on the other side the middle one, of a lesson that was published here meanwhile."""
    ada, bob = pair
    change(ada, "alpha", "First")
    picked = change(ada, "beta", "Second")
    change(ada, "alpha", "Third")
    own = change(bob, "beta", "Bob's", key="question")
    bob.git("fetch", "--quiet")
    bob.git("cherry-pick", "origin/main~1", good=False)
    settle(bob)
    assert set(events(bob, "beta")[1:3]) == {own, picked}
    assert len(events(bob, "alpha")) == 1


def test_a_stash_that_conflicts_is_united(pair: tuple[Curator, Curator]) -> None:
    """A publication that was stashed with its new folder, and popped onto another one."""
    ada, _ = pair
    ada.edit("alpha", "title", "Stashed")
    stashed = ada.publish("alpha", note="as planned")
    ada.git("stash", "--include-untracked", "--quiet")
    other = change(ada, "alpha", "Meanwhile?", key="question")
    ada.git("stash", "pop", "--quiet", good=False)
    settle(ada)
    assert set(events(ada, "alpha")[1:3]) == {stashed, other}
    past = history.read_history(ada.config.published("alpha"), "alpha")
    assert [event["note"] for event in past["revisions"] if event["revision"] == stashed] == ["as planned"]


def test_a_recipe_in_conflict_waits_for_its_author(pair: tuple[Curator, Curator]) -> None:
    """The histories unite all the same, other lessons too; the message names the file and the same command again."""
    ada, bob = pair
    change(ada, "alpha", "Ada's")
    change(bob, "alpha", "Bob's")
    bob.git("fetch", "--quiet")
    bob.git("merge", "--quiet", "--no-edit", "origin/main", good=False)
    done = bob.merge()
    [mistake] = done.mistakes
    assert mistake.where.endswith("lessons/alpha/lesson.yaml")
    assert merge.COMMAND in mistake.fix
    assert len(events(bob, "alpha")) == 3
    bob.git("checkout", "--theirs", "lessons")
    bob.git("add", "lessons")
    settle(bob)


def test_a_pin_of_one_side_holds(pair: tuple[Curator, Curator]) -> None:
    """Somebody pinned, somebody else published: both are true afterwards."""
    from lessonpress.publishing import prune, site

    ada, bob = pair
    [first] = events(ada, "alpha")
    prune.pin(ada.config, "alpha", first)
    site.write_site(ada.config)
    ada.commit("hold")
    change(bob, "alpha", "Bob's")
    bob.git("fetch", "--quiet")
    bob.git("merge", "--quiet", "--no-edit", "origin/main")
    settle(bob)
    merged = history.read_history(bob.config.published("alpha"), "alpha")
    assert (merged["pinned"], merged["current"], len(merged["revisions"])) == (first, first, 2)


def test_outside_git_there_is_nothing_to_merge(tmp_path: Path) -> None:
    """The message says so."""
    config = tiny.at(tmp_path)
    with pytest.raises(LessonError, match="no git repository with a commit"):
        merge.merge(config)


def test_setting_up_is_done_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository of an earlier version gets the attributes of its own folders and a driver, and then nothing more."""
    ada = Curator("ada", tmp_path)
    ada.git("init", "--quiet")
    monkeypatch.chdir(tmp_path)
    config = tiny.Config(results="docs")
    (tmp_path / ".gitattributes").write_text("results/**  -text -ident -filter -merge", encoding="utf-8")
    assert git_setup.lacks_attributes(config)
    assert len(list(git_setup.set_up(config))) == 2
    assert not git_setup.lacks_attributes(config)
    assert not git_setup.lacks_driver(tmp_path)
    assert "docs/models/*/revisions.json" in (tmp_path / ".gitattributes").read_text(encoding="utf-8")
    assert list(git_setup.set_up(config)) == []
    assert git_setup.lacks_attributes(tiny.Config(results="elsewhere"))
