"""Histories of two branches unite: nothing is lost, each side's order is kept, and it does not matter who merges."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lessonpress.revision import history, united_history
from lessonpress.revision.history import Event, History

MOMENTS = [f"2026-01-01T00:00:{second:02}+00:00" for second in range(60)]


def event(name: str, at: int, note: str | None = None) -> Event:
    """An event of a revision at a second."""
    return {"revision": name * 16, "publishedAt": MOMENTS[at], "reasons": ["prose"], "note": note}


def lesson(*events: Event, **more: object) -> History:
    """A history of events; the last one is current."""
    past: History = {**history.start_history("x"), "revisions": list(events)}
    return {**history.set_pin(past, more.pop("pinned", None)), **more}  # type: ignore[typeddict-item,arg-type]


def names(past: History) -> str:
    """The revisions in order, a letter each."""
    return "".join(one["revision"][0] for one in past["revisions"])


def unite(ours: History, theirs: History, base: History | None = None) -> History:
    """The united history."""
    pinned = united_history.choose_pin(ours, theirs, base)
    return united_history.unite_histories("x", [ours, theirs], pinned=pinned)


def test_time_decides_between_sides() -> None:
    """What both share comes once, then each side's events as they were published; the last one is current."""
    start = [event("a", 1)]
    united = unite(lesson(*start, event("b", 2), event("d", 8)), lesson(*start, event("c", 5)))
    assert names(united) == "abcd"
    assert united["current"] == "d" * 16
    assert not list(history.find_faults(united))


def test_the_order_of_a_side_counts_more_than_its_dates() -> None:
    """A revision that was published again had its first moment, in histories of the first version."""
    united = unite(lesson(event("a", 1), event("b", 2), event("a", 1)), lesson(event("a", 1), event("c", 9)))
    assert names(united) == "abac"


def test_the_same_publication_on_both_sides_is_one() -> None:
    """The first of both stays, with the note that there is."""
    united = unite(lesson(event("a", 1), event("b", 3)), lesson(event("a", 1), event("b", 2, "why")))
    assert [one["publishedAt"] for one in united["revisions"]] == MOMENTS[1:3]
    assert united["revisions"][1]["note"] == "why"


def test_a_pin_is_merged_in_three_ways() -> None:
    """Whoever moved it decides; where both did, ours stays; a pin to what was withdrawn goes."""
    a, b = event("a", 1), event("b", 2)
    base, held, other = lesson(a, b), lesson(a, b, pinned="a" * 16), lesson(a, b, pinned="b" * 16)
    assert unite(base, held, base=base)["pinned"] == unite(held, base, base=base)["pinned"] == "a" * 16
    assert unite(held, base, base=held)["pinned"] is None
    assert unite(held, other, base=base)["pinned"] == "a" * 16
    gone = lesson(b, withdrawn=[{"revision": "a" * 16, "at": MOMENTS[3], "note": "wrong"}])
    united = unite(held, gone)
    assert (names(united), united["pinned"], united["current"]) == ("b", None, "b" * 16)
    assert united["withdrawn"][0]["note"] == "wrong"


def test_an_event_that_only_an_old_commit_holds_is_lost() -> None:
    """By its revision and how often it was published; another date of the same publication is no loss."""
    now = lesson(event("a", 1), event("c", 5))
    older = lesson(event("a", 2), event("b", 3), event("a", 4), event("c", 5))
    [lost] = united_history.find_lost_events(now, [older, older])
    assert [(one["revision"][0], one["publishedAt"][-8:-6]) for one in lost["revisions"]] == [
        ("b", "03"), ("a", "04"), ("c", "05")]  # fmt: skip
    assert names(unite(now, lost)) == "abac"
    assert united_history.find_lost_events(now, [lesson(event("a", 9))]) == []
    withdrawn = {**now, "withdrawn": [{"revision": "b" * 16, "at": MOMENTS[9], "note": "n"}]}
    assert united_history.find_lost_events(withdrawn, [lesson(event("b", 3))]) == []  # type: ignore[arg-type]


SIDE = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 50)), max_size=6, unique_by=lambda pair: pair[1])


@given(SIDE, SIDE, SIDE)
def test_nothing_is_lost_whoever_merges(
    shared: list[tuple[str, int]], one: list[tuple[str, int]], other: list[tuple[str, int]]
) -> None:
    """Both ways round give the same events; every publication is there; united again, nothing changes."""
    def side(*parts: list[tuple[str, int]]) -> History:
        events = [event(name, at) for part in parts for name, at in sorted(part, key=lambda pair: pair[1])]
        return lesson(*(e for at, e in enumerate(events) if not at or events[at - 1]["revision"] != e["revision"]))

    ours, theirs = side(shared, one), side(shared, other)
    if not (ours["revisions"] or theirs["revisions"]):
        return
    united = unite(ours, theirs)
    assert united["revisions"] == unite(theirs, ours)["revisions"]
    assert set(names(united)) == set(names(ours)) | set(names(theirs))
    assert all(a != b for a, b in pairwise(names(united)))
    assert unite(united, ours)["revisions"] == united["revisions"] == unite(united, united)["revisions"]
    assert not list(history.find_faults(united))
