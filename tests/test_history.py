"""A lesson's history: events in order, one current revision, sometimes a pinned one."""

from pathlib import Path

import pytest

from lessonpress.core.errors import LessonError
from lessonpress.revision import history

AT = "2026-01-01T00:00:00+00:00"


def test_a_lesson_without_a_history_has_an_empty_one(tmp_path: Path) -> None:
    """Before the first publication there is nothing to read, and that is no mistake."""
    events = history.read_history(tmp_path, "a")
    assert events == {"slug": "a", "current": None, "pinned": None, "revisions": []}
    assert history.find_latest(events) is None


def test_events_are_kept_in_order(tmp_path: Path) -> None:
    """Each event says revision, time, reasons and the curator's note; the newest revision is current."""
    events = history.add_event(history.read_history(tmp_path, "a"), "r1", AT, ["first publication"], None)
    events = history.add_event(events, "r2", AT, ["prose"], "clearer")
    history.write_history(tmp_path, events)
    assert history.read_history(tmp_path, "a") == events
    assert events["revisions"][1] == {"revision": "r2", "publishedAt": AT, "reasons": ["prose"], "note": "clearer"}
    assert (events["current"], history.find_latest(events)) == ("r2", "r2")
    assert history.has_revision(events, "r1")
    assert not history.has_revision(events, "r3")


def test_a_pin_holds_the_current_revision(tmp_path: Path) -> None:
    """Later publications add events without moving what is pinned."""
    events = {**history.add_event(history.read_history(tmp_path, "a"), "r1", AT, [], None), "pinned": "r1"}
    events = history.add_event(events, "r2", AT, [], None)
    assert (events["current"], history.find_latest(events)) == ("r1", "r2")


def test_extending_changes_nothing_that_was_there(tmp_path: Path) -> None:
    """A history is a value; adding to it makes another."""
    empty = history.read_history(tmp_path, "a")
    history.add_event(empty, "r1", AT, [], None)
    assert empty["revisions"] == []


@pytest.mark.parametrize(
    "text", ["", "<<<<<<< ours\n{}", "[]", "{}", '{"slug": "a", "current": null, "pinned": null, "revisions": [1]}']
)
def test_a_broken_history_is_one_message(tmp_path: Path, text: str) -> None:
    """What a merge left behind is reported with the file's name, not as a traceback."""
    (tmp_path / "revisions.json").write_text(text)
    with pytest.raises(LessonError, match=r"revisions\.json: this is no history of a;"):
        history.read_history(tmp_path, "a")
