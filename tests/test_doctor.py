"""The doctor finds what is inconsistent in the published site, and says how to mend it."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lessonpress.build import steps
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.publishing import doctor, integrity, prune, publish, site
from lessonpress.revision import history
from tests import tiny

SLUG = "echo"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Give a repository that has published three revisions."""
    return made(tmp_path_factory.mktemp("template"))


def made(root: Path) -> Config:
    """A repository with three revisions."""
    config = tiny.at(root)
    for title in ("One", "Two", "Three"):
        tiny.published(config, title, note=f"note {title}")
    site.write_site(config)
    return config


@pytest.fixture
def house(template: Config, tmp_path: Path) -> Config:
    """Give a copy of it."""
    for name in ("lessons", "results", "work"):
        shutil.copytree(getattr(template, name), tmp_path / name)
    return tiny.at(tmp_path)


def read_history(config: Config) -> history.History:
    """The history as it is published, seal and all."""
    return dict(json.loads((config.published(SLUG) / history.FILE).read_text(encoding="utf-8")))


def names(config: Config) -> list[str]:
    """The revisions in the order of their events."""
    return [event["revision"] for event in read_history(config)["revisions"]]


def test_a_sound_site_has_no_faults(house: Config) -> None:
    """Nothing to tell, and nothing written."""
    assert doctor.find_faults(house) == []
    assert doctor.format_faults([]) == "Everything that is published is consistent."
    assert doctor.find_faults(house.model_copy(update={"results": "nowhere"})) == []


Edit = Callable[[dict[str, Any]], object]
EDITS: dict[str, Edit] = {
    "another current revision": lambda t: t.update(current=t["revisions"][0]["revision"]),
    "pinned to nothing": lambda t: t.update(pinned="0" * 16),
    "a lost event": lambda t: t["revisions"].pop(1),
    "another order": lambda t: t["revisions"].reverse(),
    "another reason": lambda t: t["revisions"][1].update(reasons=["source"]),
    "another note": lambda t: t["revisions"][1].update(note="mine"),
    "another date": lambda t: t["revisions"][1].update(publishedAt="2020-01-01T00:00:00+00:00"),
    "another slug": lambda t: t.update(slug="other"),
    "an event of nothing": lambda t: t["revisions"].append({**t["revisions"][0], "revision": "1" * 16}),
    "another key": lambda t: t.update(more=1),
}


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_history_is_noticed(house: Config, edit: str, sealed: bool) -> None:
    """By its seal, whatever was edited; and mostly by its content, when somebody has made a new seal."""
    path, text = house.published(SLUG) / history.FILE, read_history(house)
    EDITS[edit](text)
    if sealed:
        del text[history.SEAL]
    plain = json.dumps(text, indent=2, ensure_ascii=False) + "\n"
    path.write_text(history.serialise(text) if sealed else plain, "utf-8")
    site.write_site(house)
    places = [fault.where for fault in doctor.find_faults(house)]
    if edit == "another note" and sealed:
        assert places == []  # only a commit can tell: see below
    else:
        assert any(where.startswith(f"models/{SLUG}") for where in places), places


@pytest.mark.parametrize("step", range(0, 100, 9))
def test_any_flipped_bit_of_a_history_is_noticed(house: Config, step: int) -> None:
    """From the first to the last byte of revisions.json."""
    path = house.published(SLUG) / history.FILE
    data = bytearray(path.read_bytes())
    data[(len(data) - 1) * step // 99] ^= 1 << step % 8
    path.write_bytes(bytes(data))
    faults = integrity.find_lesson_faults(Path(house.results) / "models", SLUG)
    assert any(history.FILE in fault.where for fault in faults)


def test_a_history_merged_by_hand_can_be_sealed(house: Config) -> None:
    """Events of two branches in one file: the order decides what is current; an event without a folder is refused."""
    path, text = house.published(SLUG) / history.FILE, read_history(house)
    one, two, three = text["revisions"]
    text["revisions"] = [one, three, {**two, "reasons": ["prose"]}]
    path.write_text(json.dumps(text), encoding="utf-8")
    assert prune.accept(house, SLUG) == f"{SLUG}: sealed; current is {two['revision']}"
    site.write_site(house)
    assert doctor.find_faults(house) == []
    shutil.rmtree(house.published(SLUG) / one["revision"])
    with pytest.raises(LessonError, match="has no folder"):
        prune.accept(house, SLUG)


def test_a_folder_that_is_gone_or_unknown_is_noticed(house: Config) -> None:
    """The history names what is not there, or does not name what is."""
    folder = house.published(SLUG)
    (folder / names(house)[0]).rename(folder / ("a" * 16))
    words = doctor.format_faults(doctor.find_faults(house))
    assert f"{names(house)[0]}: the history names this revision, but its folder is gone" in words
    assert f"{'a' * 16}: the history does not name this revision" in words
    assert "not the folder's name" in words
    assert words.count("the history does not name this revision") == 1


def test_a_folder_has_one_line(house: Config) -> None:
    """However many of its files are wrong, and whoever knows it: what is wrong, some names, and how to mend it."""
    commit(house)
    folder = house.published(SLUG) / names(house)[0]
    lost = sorted(path for path in (folder / "worker").iterdir())
    for path in lost:
        path.unlink()
    (folder / "plan.json").write_text("{}", encoding="utf-8")
    faults = [fault for fault in doctor.find_faults(house) if f"/{folder.name}" in fault.where]
    assert len(faults) > len(lost)
    [line] = doctor.format_faults(faults).splitlines()
    assert f"the file is missing (worker/{lost[0].name}, " in line
    assert f"and {len(lost) - 3} more)" in line
    assert "its bytes are not the published ones (plan.json)" in line
    shutil.rmtree(folder)
    words = doctor.format_faults(doctor.find_faults(house))
    lines = [line for line in words.splitlines() if line.startswith(f"models/{SLUG}/")]
    assert [line.split(":")[0] for line in lines] == [f"models/{SLUG}/{folder.name}"]
    assert f"git checkout HEAD -- {folder}" in lines[0]


def test_the_doctor_does_not_send_anybody_to_the_doctor(house: Config) -> None:
    """Where the pages cannot be made, the reason is given once."""
    (house.published(SLUG) / names(house)[2] / "manifest.json").write_text("no JSON", encoding="utf-8")
    words = doctor.format_faults(doctor.find_faults(house))
    assert "the pages cannot be made" in words
    assert "lessonpress doctor`" not in words


def test_a_folder_that_was_made_again_can_be_accepted(house: Config) -> None:
    """Its manifest has another date than the event: the doctor says both ways out, and the second one ends it."""
    three = names(house)[2]
    shutil.rmtree(house.published(SLUG) / three)
    work = tiny.rendered(house, "Three", at="2028-08-08T00:00:00+00:00")
    assert publish.publish(work).words == f"{SLUG}: revision {three} is back in its place"
    site.write_site(house)
    [fault] = doctor.find_faults(house)
    assert fault.what.startswith(f"revision {three} ran at 2028-08-08T00:00:00+00:00, but was published at ")
    assert f"lessonpress doctor --accept {SLUG}" in fault.mend
    prune.accept(house, SLUG)
    site.write_site(house)
    assert doctor.find_faults(house) == []


def test_what_a_killed_publisher_left_is_noticed_and_removed(house: Config) -> None:
    """The doctor names it; the next publication removes it."""
    left = house.published(SLUG) / ".0123456789abcdef.tmp-77"
    left.mkdir()
    assert [fault.where for fault in doctor.find_faults(house)] == [f"models/{SLUG}/{left.name}"]
    publish.publish(steps.open_build(house, SLUG))
    assert doctor.find_faults(house) == []


def test_a_lesson_without_a_source_is_reported(house: Config) -> None:
    """Until it is retired; then its pages stay, say so, and the catalogue leaves it out."""
    shutil.rmtree(house.lesson(SLUG))
    [fault] = doctor.find_faults(house)
    assert f"lessonpress retire {SLUG}" in fault.mend
    assert prune.retire(house, SLUG, note="It was a test.").startswith(f"{SLUG}: retired")
    site.write_site(house)
    assert doctor.find_faults(house) == []
    results = Path(house.results)
    assert f"models/{SLUG}/" not in (results / "index.html").read_text(encoding="utf-8")
    page = (results / "models" / SLUG / "revisions.html").read_text(encoding="utf-8")
    assert "Retired" in page
    assert "It was a test." in page
    assert all((house.published(SLUG) / name / "index.html").is_file() for name in names(house))


def test_a_renamed_lesson_leads_to_its_new_name(house: Config) -> None:
    """The old page links to the new one; a name that is not published is refused, and so is a lesson with a source."""
    with pytest.raises(LessonError, match="still has its source"):
        prune.retire(house, SLUG)
    house.lesson(SLUG).rename(house.lesson("other"))
    with pytest.raises(LessonError, match="no such lesson is published"):
        prune.retire(house, SLUG, to="other")
    shutil.copytree(house.published(SLUG), house.published("other"))
    prune.retire(house, SLUG, to="other")
    site.write_site(house)
    assert 'href="../other/index.html"' in (house.published(SLUG) / "index.html").read_text(encoding="utf-8")


def test_a_retired_lesson_that_is_published_again_is_back(house: Config) -> None:
    """A new revision ends the retirement."""
    house.lesson(SLUG).rename(house.lesson("away"))
    with pytest.raises(LessonError, match="a retirement gives its reason"):
        prune.retire(house, SLUG)
    prune.retire(house, SLUG, note="Taught no longer.")
    house.lesson("away").rename(house.lesson(SLUG))
    tiny.published(house, "Four")
    assert "retired" not in read_history(house)


def test_a_lesson_is_not_retired_with_a_note_that_no_page_could_show(house: Config) -> None:
    """Its history stays as it was."""
    house.lesson(SLUG).rename(house.lesson("away"))
    with pytest.raises(LessonError, match="the note: unknown TeX command"):
        prune.retire(house, SLUG, note="So $\\nix$.")
    assert "retired" not in read_history(house)


def test_pinning_holds_and_lets_go(house: Config) -> None:
    """Later publications add without moving the current revision; letting go makes the last one current."""
    one, _, three = names(house)
    prune.pin(house, SLUG, one[:7])
    assert (read_history(house)["current"], read_history(house)["pinned"]) == (one, one)
    work = tiny.rendered(house, "Four")
    assert f"{one} is pinned" in (publish.publish(work).words or "")
    assert read_history(house)["current"] == one
    prune.pin(house, SLUG, None)
    assert (read_history(house)["current"], read_history(house)["pinned"]) == (tiny.revision(work), None)
    with pytest.raises(LessonError, match=three):
        prune.pin(house, SLUG, "no such name")


def test_the_history_is_listed_newest_first(house: Config) -> None:
    """Dates, reasons, notes, and which one is current."""
    lines = prune.list_history(house, SLUG).splitlines()
    assert [line.split()[0] for line in lines] == names(house)[::-1]
    assert "“note Three”" in lines[0]
    assert "[current]" in lines[0]
    assert "first publication" in lines[-1]
    tiny.published(house, "One")
    lines = prune.list_history(house, SLUG).splitlines()
    assert [names(house)[0] in line for line in lines] == [True, False, False, True]
    assert ["[current]" in line for line in lines] == [True, False, False, False]


def git(folder: str, *arguments: str) -> None:
    """Run git as somebody."""
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)


def commit(house: Config, *, without: str = "") -> None:
    """Commit what is published, perhaps without one revision."""
    git(house.results, "init", "--quiet")
    git(house.results, "add", "--all")
    if without:
        git(house.results, "rm", "-r", "--quiet", "--cached", f"models/{SLUG}/{without}")
    git(house.results, "commit", "--quiet", "--message", "publish")


def test_prune_drops_what_is_in_no_commit(house: Config) -> None:
    """Uncommitted revisions between the committed ones and the last go, with their events; the reasons are retold."""
    git(house.results, "init", "--quiet")
    git(house.results, "commit", "--quiet", "--allow-empty", "--message", "nothing yet")
    one, two, three = names(house)
    before = read_history(house)
    assert sorted(name for _, name in prune.find_prunable(house)) == sorted((one, two))
    assert read_history(house) == before
    dropped = prune.prune(house)
    assert sorted(line.split("  ")[0] for line in dropped) == sorted(f"{SLUG}: dropped {name}" for name in (one, two))
    assert "“note One”" in "".join(dropped)
    assert integrity.list_revisions(house.published(SLUG)) == [three]
    assert [event["reasons"] for event in read_history(house)["revisions"]] == [["first publication"]]
    site.write_site(house)
    assert doctor.find_faults(house) == []


def test_prune_keeps_what_is_committed_or_pinned(house: Config) -> None:
    """A commit of any branch holds a revision, and so does a pin."""
    one, two, three = names(house)
    commit(house)
    assert prune.prune(house) == []
    four = tiny.published(house, "Four")
    prune.pin(house, SLUG, four)
    five = tiny.published(house, "Five")
    tiny.published(house, "Six")
    assert prune.prune(house, [SLUG], agreed=[(SLUG, four)]) == []
    [line] = prune.prune(house, [SLUG])
    assert line.startswith(f"{SLUG}: dropped {five}  ")
    assert {one, two, three, four} < set(integrity.list_revisions(house.published(SLUG)))
    site.write_site(house)
    assert doctor.find_faults(house) == []


def test_prune_needs_git(house: Config) -> None:
    """Outside a repository nothing tells what may go, so nothing goes."""
    with pytest.raises(LessonError, match="no git repository"):
        prune.prune(house)
    assert len(integrity.list_revisions(house.published(SLUG))) == 3


def test_git_shows_events_that_were_lost(house: Config) -> None:
    """A history that was shortened or rewritten, and sealed again, no longer continues the committed one."""
    commit(house)
    assert doctor.find_faults(house) == []
    text = history.read_history(house.published(SLUG), SLUG)
    text["revisions"][0]["note"] = "rewritten"
    history.write_history(house.published(SLUG), text)
    site.write_site(house)
    [fault] = doctor.find_faults(house)
    assert "lost or changed events" in fault.what
    assert "git checkout HEAD -- " in fault.mend
