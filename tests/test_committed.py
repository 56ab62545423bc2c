"""What was once committed is still there, or the history says why not; a lost history is made again."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.publishing import committed, doctor, lost_history, prune, site, verify_reports
from lessonpress.revision import history
from tests import tiny

SLUG = "echo"


def git(config: Config, *arguments: str, check: bool = True) -> str:
    """Run git in the house as somebody."""
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, *arguments], cwd=Path(config.results).parent, capture_output=True, text=True,
                          check=check)  # fmt: skip
    return done.stdout


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Give a repository with three publications, each in a commit of its own."""
    config = tiny.at(tmp_path_factory.mktemp("template"))
    git(config, "init", "-q", "-b", "main")
    for title in ("One", "Two", "Three"):
        tiny.published(config, title, note=f"note {title}")
        site.write_site(config)
        git(config, "add", "results")
        git(config, "commit", "-q", "-m", title)
    return config


@pytest.fixture
def house(template: Config, tmp_path: Path) -> Config:
    """Give a copy of it."""
    shutil.copytree(Path(template.results).parent, tmp_path / "house")
    return tiny.at(tmp_path / "house")


def names(config: Config) -> list[str]:
    """The revisions in the order of their events."""
    return [event["revision"] for event in history.read_history(config.published(SLUG), SLUG)["revisions"]]


def seal_without(config: Config, revision: str) -> None:
    """What a person can do who wants a revision to have never been: folder and event away, the rest sealed anew."""
    folder = config.published(SLUG)
    document = json.loads((folder / history.FILE).read_text())
    document["revisions"] = [event for event in document["revisions"] if event["revision"] != revision]
    (folder / history.FILE).write_text(json.dumps(document))
    shutil.rmtree(folder / revision)
    prune.accept(config, SLUG)
    site.write_site(config)


def lost(config: Config) -> list[str]:
    """What the commits know better."""
    return [fault.words() for fault in committed.find_rewritten(Path(config.results))]


def test_a_house_in_order_has_nothing_to_tell(house: Config) -> None:
    """The positive control, before and after another publication that is not committed yet."""
    assert lost(house) == []
    tiny.published(house, "Four")
    assert lost(house) == []
    assert committed.explain_shallow(Path(house.results)) == ""


@pytest.mark.parametrize("commits", [False, True])
def test_a_sealed_loss_is_found(house: Config, commits: bool) -> None:
    """A published revision and its event, removed and sealed: found before and after that is committed."""
    gone = names(house)[1]
    seal_without(house, gone)
    if commits:
        git(house, "add", "-A", "results")
        git(house, "commit", "-q", "-m", "tidy")
    [words] = lost(house)
    assert words.startswith(f"models/{SLUG}/{gone}: a commit published this revision, but it is gone")
    assert f"lessonpress withdraw {SLUG} {gone} --note REASON" in words
    assert any("it is gone" in fault.what for fault in doctor.find_faults(house))
    # The remedy works.
    prune.withdraw(house, SLUG, gone, "It was wrong.")
    site.write_site(house)
    assert lost(house) == []


def test_a_silent_revert_is_found(house: Config) -> None:
    """`git revert` of a publication takes folder and event away without a word in the history."""
    gone = names(house)[-1]
    git(house, "revert", "--no-edit", "HEAD")
    assert [words.split(":")[0] for words in lost(house)] == [f"models/{SLUG}/{gone}"]


@pytest.mark.parametrize("again", [False, True])
def test_other_bytes_in_a_later_commit_are_found(house: Config, again: bool) -> None:
    """A published file that a commit changed, or that two commits removed and added anew."""
    folder = house.published(SLUG) / names(house)[0]
    changed = (folder / "index.html").read_text() + "<!-- another -->"
    if again:
        shutil.move(folder, folder.with_name("kept"))
        git(house, "add", "-A", "results/models")
        git(house, "commit", "-q", "-m", "away")
        shutil.move(folder.with_name("kept"), folder)
    (folder / "index.html").write_text(changed)
    git(house, "add", "-A", "results")
    git(house, "commit", "-q", "-m", "better")
    assert [words.split(":")[0] for words in lost(house)] == [f"models/{SLUG}/{folder.name}/index.html"]


def test_another_note_is_found(house: Config) -> None:
    """A note that no commit holds, under a new seal."""
    folder = house.published(SLUG)
    document = json.loads((folder / history.FILE).read_text())
    document["revisions"][0]["note"] = "mine"
    (folder / history.FILE).write_text(json.dumps(document))
    prune.accept(house, SLUG)
    assert ["another note" in words for words in lost(house)] == [True]


def test_a_withdrawal_is_an_event_with_its_reason(house: Config) -> None:
    """The folder goes, the name and the reason stay; the same lesson is not published again."""
    gone = names(house)[-1]
    assert "withdrawn" in prune.withdraw(house, SLUG, gone[:6], "The figure was somebody else's.")
    site.write_site(house)
    past = history.read_history(house.published(SLUG), SLUG)
    assert past["current"] == names(house)[-1] != gone
    assert [(one["revision"], one["note"]) for one in past["withdrawn"]] == [(gone, "The figure was somebody else's.")]
    assert not (house.published(SLUG) / gone).exists()
    assert lost(house) == []
    assert "withdrawn" in prune.list_history(house, SLUG)
    with pytest.raises(LessonError, match="was withdrawn: The figure was somebody else's"):
        tiny.published(house, "Three")
    git(house, "add", "-A", "results")
    git(house, "commit", "-q", "-m", "withdrawn")
    assert doctor.find_faults(house) == []


@pytest.mark.parametrize("stage", ["as it is", "added", "committed"])
def test_what_a_policy_drops_is_an_event_with_its_reason(house: Config, stage: str) -> None:
    """Folder and events go, name and reason stay; nobody takes it for a loss, and it may be published again."""
    first, middle, last = names(house)
    for chosen, reason in (([last], "is what the lesson shows"), (["0" * 16], "is no revision of the lesson")):
        with pytest.raises(LessonError, match=reason):
            prune.drop(house, SLUG, [middle, *chosen], "keep: last 1")
    with pytest.raises(LessonError, match="a drop gives its reason"):
        prune.drop(house, SLUG, [middle], "")
    assert names(house) == [first, middle, last]
    assert prune.drop(house, SLUG, [middle], "keep: last 2") == f"{SLUG}: dropped {middle} (keep: last 2)"
    site.write_site(house)
    if stage != "as it is":
        git(house, "add", "-A", "results")
    if stage == "committed":
        git(house, "commit", "-q", "-m", "fewer")
    past = history.read_history(house.published(SLUG), SLUG)
    assert [(one["revision"], one["note"]) for one in past["dropped"]] == [(middle, "keep: last 2")]
    assert (names(house), (house.published(SLUG) / middle).exists()) == ([first, last], False)
    assert lost(house) == []
    assert doctor.find_faults(house) == []
    again = history.read_history(house.published(SLUG), SLUG)
    assert history.find_removal(again, middle)
    assert not history.find_removal(again, last)
    assert f"{middle}  dropped " in prune.list_history(house, SLUG)
    assert tiny.published(house, "Two") == middle
    site.write_site(house)
    assert doctor.find_faults(house) == []


def test_a_withdrawal_that_is_not_committed_yet_is_no_fault(house: Config) -> None:
    """Doctor must not say to take back what was just taken away; another change of the history is still found."""
    prune.withdraw(house, SLUG, names(house)[1], "It was wrong.")
    site.write_site(house)
    assert doctor.find_faults(house) == []
    git(house, "add", "-A", "results")
    assert doctor.find_faults(house) == []
    folder = house.published(SLUG)
    document = json.loads((folder / history.FILE).read_text())
    document["revisions"][0]["note"] = "mine"
    (folder / history.FILE).write_text(json.dumps(document))
    prune.accept(house, SLUG)
    assert any("lost or changed events" in fault.what for fault in doctor.find_faults(house))


def test_a_withdrawal_needs_a_reason_and_leaves_a_revision(house: Config) -> None:
    """Without words nobody knows why; without a revision there is no lesson."""
    with pytest.raises(LessonError, match="gives its reason"):
        prune.withdraw(house, SLUG, names(house)[0], "")
    for _ in range(2):
        prune.withdraw(house, SLUG, names(house)[0], "wrong")
    with pytest.raises(LessonError, match="the only revision"):
        prune.withdraw(house, SLUG, names(house)[0], "wrong")


def test_a_shallow_clone_says_what_it_cannot_know(house: Config, tmp_path: Path) -> None:
    """It compares the commits that it holds, and says that there were others."""
    gone = names(house)[1]
    seal_without(house, gone)
    git(house, "add", "-A", "results")
    git(house, "commit", "-q", "-m", "tidy")
    source = f"file://{Path(house.results).parent}"
    subprocess.run(["git", "clone", "-q", "--depth", "1", source, str(tmp_path / "clone")], check=True)
    clone = tiny.at(tmp_path / "clone")
    assert lost(clone) == []
    assert "shallow" in committed.explain_shallow(Path(clone.results))
    assert "fetch-depth: 0" in committed.explain_shallow(Path(clone.results))
    unknown = committed.explain_shallow(Path(clone.results))
    assert verify_reports.format_markdown([], [], unknown).endswith(f"\n\n{unknown}\n")  # on a job's page too


def stage(config: Config) -> None:
    """A new publication, added but not committed."""
    git(config, "add", "results")


def merge(config: Config) -> None:
    """In the middle of a merge that brings the publication from another branch."""
    git(config, "checkout", "-q", "-b", "other")
    git(config, "add", "results")
    git(config, "commit", "-q", "-m", "four")
    git(config, "checkout", "-q", "main")
    git(config, "merge", "-q", "--no-commit", "--no-ff", "other")


def pop(config: Config) -> None:
    """After a stash was put back."""
    git(config, "add", "results")
    git(config, "stash", "-q")
    git(config, "stash", "pop", "-q", "--index")


@pytest.mark.parametrize("act", [stage, merge, pop])
def test_what_is_staged_is_no_fault(house: Config, act: Callable[[Config], None]) -> None:
    """A path that HEAD does not hold cannot be taken back from it, so no message says that."""
    tiny.published(house, "Four")
    site.write_site(house)
    act(house)
    assert len(names(house)) == 4
    assert [fault.words() for fault in doctor.find_faults(house)] == []


# -- A lost history ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [None, b"", b'{"slug": "echo", "current": "', b"[]"])
def test_a_lost_history_is_not_a_first_publication(house: Config, content: bytes | None) -> None:
    """Gone, empty, cut off or something else: nothing is published and nothing begun anew; the remedy is named."""
    path = house.published(SLUG) / history.FILE
    path.unlink() if content is None else path.write_bytes(content)
    before = sorted(path.parent.iterdir())
    with pytest.raises(LessonError, match=f"lessonpress doctor --rebuild {SLUG}"):
        tiny.published(house, "Four")
    assert sorted(path.parent.iterdir()) == before
    with pytest.raises(LessonError, match=f"lessonpress doctor --rebuild {SLUG}"):
        site.write_site(house)
    assert f"lessonpress doctor --rebuild {SLUG}" in doctor.format_faults(doctor.find_faults(house))


def test_a_first_publication_that_was_stopped_goes_on(tmp_path: Path) -> None:
    """Its folder is there alone, and no commit knows of a history."""
    config = tiny.at(tmp_path)
    tiny.published(config, "One")
    (config.published(SLUG) / history.FILE).unlink()
    tiny.published(config, "One")
    assert len(names(config)) == 1


def test_a_history_is_made_again_as_a_commit_tells_it(house: Config) -> None:
    """Notes, reasons, order and pin come from git; what was published since comes from its folder, without its note."""
    prune.pin(house, SLUG, names(house)[1])
    git(house, "add", "results")
    git(house, "commit", "-q", "-m", "pinned")
    tiny.published(house, "Four", note="note Four")
    path = house.published(SLUG) / history.FILE
    whole = history.read_history(path.parent, SLUG)
    path.write_bytes(path.read_bytes()[:200])
    said = lost_history.rebuild_history(house, SLUG)
    made = history.read_history(path.parent, SLUG)
    assert {**made, "revisions": made["revisions"][:3]} == {**whole, "revisions": whole["revisions"][:3]}
    ran = "2026-01-01T00:00:00+00:00"  # of its publication only the lost history knew the moment
    assert made["revisions"][3] == {**whole["revisions"][3], "publishedAt": ran, "note": None}
    assert f"so that a note is lost: {whole['revisions'][3]['revision']}" in said
    site.write_site(house)
    assert doctor.find_faults(house) == []
    with pytest.raises(LessonError, match="nothing to rebuild"):
        lost_history.rebuild_history(house, SLUG)


def test_a_history_is_made_again_from_folders_alone(house: Config) -> None:
    """Without git: the order of the dates, the reasons that the folders give, no notes; that is said."""
    shutil.rmtree(Path(house.results).parent / ".git")
    path = house.published(SLUG) / history.FILE
    whole = history.read_history(path.parent, SLUG)
    path.unlink()
    said = lost_history.rebuild_history(house, SLUG)
    made = history.read_history(path.parent, SLUG)
    assert sorted(event["revision"] for event in made["revisions"]) == sorted(e["revision"] for e in whole["revisions"])
    assert [event["note"] for event in made["revisions"]] == [None] * 3
    assert "no commit holds a history" in said
    site.write_site(house)
    assert [fault.words() for fault in doctor.find_faults(house)] == []


def test_a_folder_that_is_gone_with_its_history_is_named(house: Config) -> None:
    """What cannot be made again is said, with where it may be found."""
    gone = names(house)[0]
    shutil.rmtree(house.published(SLUG) / gone)
    (house.published(SLUG) / history.FILE).unlink()
    assert f"their folders are gone (git may hold them): {gone}" in lost_history.rebuild_history(house, SLUG)
