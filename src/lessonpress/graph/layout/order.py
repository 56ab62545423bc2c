"""Order within rows: few crossings between neighbouring rows (barycentre sweeps, then swaps of neighbours)."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise

from lessonpress.graph.layout.rank import Pair

SWEEPS = 12
PATIENCE = 4  # give up after so many sweeps without a better order
SMALL = 600  # swapping neighbours is for levels of at most so many vertices


def untangle(
    rows: list[list[int]], segments: Sequence[Pair], *, fixed_top: bool, fixed_bottom: bool
) -> list[list[int]]:
    """Reorder each row of vertices so that few segments cross; a fixed first or last row keeps its order.

    `segments` join a vertex of one row with one of the next. Deterministic: ties keep the order given.
    """
    size = sum(map(len, rows))
    up: list[list[int]] = [[] for _ in range(size)]
    down: list[list[int]] = [[] for _ in range(size)]
    for high, low in segments:
        down[high].append(low)
        up[low].append(high)
    first, last = int(fixed_top), len(rows) - int(fixed_bottom)
    best, fewest = [list(row) for row in rows], count_crossings(rows, down)
    tired = 0
    for sweep in range(SWEEPS):
        if not fewest or tired >= PATIENCE:
            break
        if sweep % 2 == 0:
            _sort_rows(rows, range(max(first, 1), last), up, -1)
        else:
            _sort_rows(rows, range(min(last, len(rows) - 1) - 1, first - 1, -1), down, 1)
        now = count_crossings(rows, down)
        tired = 0 if now < fewest else tired + 1
        if now < fewest:
            best, fewest = [list(row) for row in rows], now
    if fewest and size <= SMALL:
        _swap_neighbours(best, range(first, last), up, down)
    return best


def _sort_rows(rows: list[list[int]], which: range, beside: Sequence[Sequence[int]], step: int) -> None:
    """Sort rows by the mean place of their neighbours in the row before (step −1) or after (+1)."""
    for index in which:
        row = rows[index]
        if len(row) < 2:
            continue
        place = {vertex: at for at, vertex in enumerate(rows[index + step])}
        key = {}
        for at, vertex in enumerate(row):
            near = beside[vertex]
            key[vertex] = sum(place[other] for other in near) / len(near) if near else float(at)
        row.sort(key=key.__getitem__)


def count_crossings(rows: Sequence[Sequence[int]], down: Sequence[Sequence[int]]) -> int:
    """How many pairs of segments cross."""
    total = 0
    for row, below in pairwise(rows):
        if len(row) < 2 or len(below) < 2:
            continue
        place = {vertex: at for at, vertex in enumerate(below)}
        seen: list[int] = []
        for vertex in row:
            ends = sorted(place[low] for low in down[vertex])
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _swap_neighbours(
    rows: list[list[int]], which: range, up: Sequence[Sequence[int]], down: Sequence[Sequence[int]]
) -> None:
    """Exchange neighbours in a row while that saves crossings."""
    place = {vertex: at for row in rows for at, vertex in enumerate(row)}
    for _ in range(PATIENCE):
        better = False
        for index in which:
            row = rows[index]
            for at in range(len(row) - 1):
                a, b = row[at], row[at + 1]
                if _count_crossings_of_two(a, b, up, down, place) > _count_crossings_of_two(b, a, up, down, place):
                    row[at], row[at + 1] = b, a
                    place[a], place[b] = at + 1, at
                    better = True
        if not better:
            return


def _count_crossings_of_two(
    left: int, right: int, up: Sequence[Sequence[int]], down: Sequence[Sequence[int]], place: dict[int, int]
) -> int:
    """How many segments of two neighbours cross each other when they stand left and right."""
    return sum(place[a] > place[b] for beside in (up, down) for a in beside[left] for b in beside[right])
