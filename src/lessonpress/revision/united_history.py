"""Unites histories of one lesson that went separate ways: every event of every side, in an order that fits them all."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from lessonpress.revision import history
from lessonpress.revision.history import Event, History, Removal

# An event by what two branches have in common of it: revision, moment, and which one of this revision and moment it is
# (before moments were those of publishing, a revision that was published twice had the same one twice).
Key: TypeAlias = tuple[str, str, int]


def unite_histories(slug: str, sides: Sequence[History], *, pinned: str | None = None) -> History:
    """One history with the events of all sides; of an event that several have, the first side's words.

    `pinned` holds only if it is still there. Withdrawn revisions have no events. Reasons are the sides' own, though an
    event may have another one before it now.
    """
    withdrawn = _unite_removals(side.get("withdrawn", []) for side in sides)
    dropped = _unite_removals(side.get("dropped", []) for side in sides)
    gone = {one["revision"] for one in (*withdrawn, *(one for one in dropped if not _is_back(one, sides)))}
    listed = [[(key, event) for key, event in _name_events(side) if event["revision"] not in gone] for side in sides]
    events: dict[Key, Event] = {}
    for side in listed:
        for key, event in side:
            events.setdefault(key, event)
    order = _order_events([[key for key, _ in side] for side in listed])
    united: History = {**history.start_history(slug), "revisions": list(_join_repeated(events[key] for key in order))}
    if withdrawn:
        united["withdrawn"] = withdrawn
    if dropped:
        united["dropped"] = dropped
    ends = [side["retired"] for side in sides if "retired" in side]
    if ends:
        united["retired"] = max(ends, key=lambda end: end["at"])
    return history.set_pin(united, pinned if pinned and history.has_revision(united, pinned) else None)


def choose_pin(ours: History, theirs: History, base: History | None) -> str | None:
    """The pin that one side has set, moved or removed since both were `base`; ours where both have."""
    return theirs["pinned"] if base and ours["pinned"] == base["pinned"] else ours["pinned"]


def find_lost_events(known: History, others: Iterable[History]) -> list[History]:
    """What other histories, the newest first, hold of revisions that `known` has fewer events of, ready to be united.

    An event counts by its revision alone: a moment that was corrected later is no event that was lost. Events that
    are not lost stand between, where `known` has them too, so that the order is kept.
    """
    have = Counter(event["revision"] for event in known["revisions"])
    gone = {one["revision"] for one in history.list_removals(known)}
    present = {key for key, _ in _name_events(known)}
    out: list[History] = []
    for other in others:
        counted, lost = Counter[str](), set[Key]()
        for key, event in _name_events(other):
            name = event["revision"]
            counted[name] += 1
            if counted[name] > have[name] and name not in gone:
                lost.add(key)
                have[name] = counted[name]
        if lost:
            events = [event for key, event in _name_events(other) if key in lost or key in present]
            out.append({**history.start_history(known["slug"]), "revisions": events})
    return out


def _name_events(side: History) -> Iterator[tuple[Key, Event]]:
    seen = Counter[tuple[str, str]]()
    for event in side["revisions"]:
        moment = event["revision"], event["publishedAt"]
        yield (*moment, seen[moment]), event
        seen[moment] += 1


def _order_events(sides: Sequence[Sequence[Key]]) -> list[Key]:
    """All events: each side's order is kept, and otherwise time decides; where sides contradict each other, time."""
    after: dict[Key, set[Key]] = {key: set() for side in sides for key in side}
    waiting = Counter[Key]()
    for side in sides:
        for earlier, later in pairwise(side):
            if later not in after[earlier]:
                after[earlier].add(later)
                waiting[later] += 1
    left, out = set(after), list[Key]()
    ready = [_by_time(key) for key in left if not waiting[key]]
    heapq.heapify(ready)
    while left:
        if not ready:  # a circle: the sides disagree about what came first
            ready = [min(_by_time(key) for key in left)]
        key = heapq.heappop(ready)[1]
        if key not in left:
            continue
        left.remove(key)
        out.append(key)
        for later in after[key]:
            waiting[later] -= 1
            if not waiting[later] and later in left:
                heapq.heappush(ready, _by_time(later))
    return out


def _by_time(key: Key) -> tuple[tuple[str, int, str], Key]:
    revision, moment, number = key
    return (moment, number, revision), key


def _join_repeated(events: Iterable[Event]) -> Iterator[Event]:
    """Events of one revision that follow each other are one: the first, with its note or the first that there is."""
    last: Event | None = None
    for event in events:
        if last and last["revision"] == event["revision"]:
            last = {**last, "note": last["note"] or event["note"]}
            continue
        if last:
            yield last
        last = event
    if last:
        yield last


def _unite_removals(sides: Iterable[Sequence[Removal]]) -> list[Removal]:
    """Every revision that was taken away once, as it was the first time, in the order of time."""
    first: dict[str, Removal] = {}
    for one in sorted((one for side in sides for one in side), key=lambda one: one["at"]):
        first.setdefault(one["revision"], one)
    return list(first.values())


def _is_back(one: Removal, sides: Sequence[History]) -> bool:
    """Whether a revision that a policy dropped was published again after that."""
    return any(event["revision"] == one["revision"] and event["publishedAt"] > one["at"]
               for side in sides for event in side["revisions"])  # fmt: skip
