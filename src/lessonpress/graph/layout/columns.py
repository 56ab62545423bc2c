"""Columns: each vertex's x within its row, close below and above what it is joined with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

SWEEPS, POLISH = 5, 4
GAP = 26.0  # between two boxes
LINE_GAP = 15.0  # between a line and its neighbour
THREAD = 4.0  # how much harder to bend a long line is than to shift a box


Link = tuple[int, float]  # a neighbour, and how far to its right the line between them would stand upright


@dataclass(frozen=True, slots=True)
class Span:
    """How far a vertex reaches left and right of its anchor; a bare line reaches nowhere."""

    left: float = 0.0
    right: float = 0.0
    frame: bool = False

    @property
    def line(self) -> bool:
        """Whether this is a passing line or a port, not a box."""
        return not (self.left or self.right)


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of line between neighbouring rows, fixed at an offset from each vertex's anchor."""

    high: int
    low: int
    high_offset: float
    low_offset: float


def arrange_columns(rows: Sequence[Sequence[int]], spans: Sequence[Span], segments: Sequence[Segment]) -> list[float]:
    """The anchors' x, in pixels, so that rows keep their order and gaps and lines run as straight as can be.

    Rows are visited downwards and upwards in turn; within a row the best places for given wishes are computed exactly
    by pooling adjacent violators (isotonic regression).
    """
    x = [0.0] * len(spans)
    up: list[list[Link]] = [[] for _ in spans]  # vertex → its links with the row above
    down: list[list[Link]] = [[] for _ in spans]
    for part in segments:
        shift = part.high_offset - part.low_offset
        up[part.low].append((part.high, shift))
        down[part.high].append((part.low, -shift))
    pull_up, pull_down = _choose_pulls(up, spans), _choose_pulls(down, spans)
    both = [[*higher, *lower] for higher, lower in zip(pull_up, pull_down, strict=True)]
    offsets = [_measure_offsets(row, spans) for row in rows]
    for row, offset in zip(rows, offsets, strict=True):
        for vertex, at in zip(row, offset, strict=True):
            x[vertex] = at - offset[-1] / 2
    for _ in range(SWEEPS):
        _move_rows(rows, offsets, spans, pull_up, x)
        _move_rows(rows[::-1], offsets[::-1], spans, pull_down, x)
    for _ in range(POLISH):
        _move_rows(rows, offsets, spans, both, x)
    for _ in range(2):  # the first time, a line may be set before the box at its end is
        _straighten(rows, spans, up, down, x)
    _gather(rows, spans, [not near for near in both], x)
    return x


def _choose_pulls(links: Sequence[Sequence[Link]], spans: Sequence[Span]) -> list[list[Link]]:
    """The links that say where a vertex goes: box follows box and line follows line wherever there is one to follow.

    Otherwise a chain of boxes that all read one long line would drift towards it, and push it away, row by row.
    """
    pulls = []
    for vertex, near in enumerate(links):
        alike = [link for link in near if spans[link[0]].line == spans[vertex].line]
        pulls.append(alike or list(near))
    return pulls


def _measure_offsets(row: Sequence[int], spans: Sequence[Span]) -> list[float]:
    """Each vertex's least distance from the row's first."""
    at = [0.0]
    for left, right in pairwise(row):
        at.append(at[-1] + _measure_distance(spans[left], spans[right]))
    return at[: len(row)]


def _move_rows(
    rows: Sequence[Sequence[int]],
    offsets: Sequence[Sequence[float]],
    spans: Sequence[Span],
    beside: Sequence[Sequence[Link]],
    x: list[float],
) -> None:
    """Move every row to where its neighbours on one side want it."""
    for row, offset in zip(rows, offsets, strict=True):
        wishes, weights = [], []
        for vertex, at in zip(row, offset, strict=True):
            near = [x[other] + shift for other, shift in beside[vertex]] or [x[vertex]]
            wish = sum(near) / len(near)
            if spans[vertex].frame:  # one straight line is better than several that all bend
                wish = min(near, key=lambda place: abs(place - wish))
            wishes.append(wish - at)
            weights.append((THREAD if spans[vertex].line else 1.0) * len(beside[vertex]) or 0.05)
        for vertex, at, place in zip(row, offset, fit_isotonic(wishes, weights), strict=True):
            x[vertex] = place + at


def _straighten(
    rows: Sequence[Sequence[int]],
    spans: Sequence[Span],
    up: Sequence[Sequence[Link]],
    down: Sequence[Sequence[Link]],
    x: list[float],
) -> None:
    """Make every thread upright over as many rows as its neighbours allow, the longest threads first."""
    rims = {vertex: (row[at - 1] if at else None, row[at + 1] if at + 1 < len(row) else None)
            for row in rows for at, vertex in enumerate(row)}  # fmt: skip
    follow = {vertex: link for row in rows for vertex in row if (link := _find_follower(vertex, spans, up, down))}
    heads = set(follow) - {link[0] for link in follow.values()}
    threads = [_follow_thread(vertex, follow) for row in rows for vertex in row if vertex in heads]
    for thread in sorted(threads, key=lambda thread: -len(thread)):
        begin = 0
        while begin < len(thread):
            run, low, high = _take_upright_run(islice(thread, begin, None), rims, spans, x)
            at = min(max(_choose_place(run, spans, up, down, x), low), high)
            for vertex, shift in run:
                x[vertex] = at + shift
            begin += len(run)


def _find_follower(
    vertex: int, spans: Sequence[Span], up: Sequence[Sequence[Link]], down: Sequence[Sequence[Link]]
) -> Link | None:
    """What stands right below in the same thread: the line's next bend, or an only child of an only parent."""
    bends = [link for link in down[vertex] if spans[link[0]].line]
    if spans[vertex].line and bends:
        return bends[0]
    if len(down[vertex]) != 1:
        return None
    below = down[vertex][0][0]
    # A frame follows the first of its lines that comes from nowhere else.
    only = [above for above, _ in up[below] if len(down[above]) == 1] if spans[below].frame else up[below]
    return down[vertex][0] if len(only) == 1 or (spans[below].frame and only[0] == vertex) else None


def _follow_thread(head: int, follow: Mapping[int, Link]) -> list[tuple[int, float]]:
    """The vertices from a head downwards, each with its anchor's x from the head's when the thread is upright."""
    thread = [(head, 0.0)]
    while thread[-1][0] in follow:
        vertex, shift = thread[-1]
        below, back = follow[vertex]
        thread.append((below, shift - back))
    return thread


def _choose_place(
    run: Sequence[tuple[int, float]],
    spans: Sequence[Span],
    up: Sequence[Sequence[Link]],
    down: Sequence[Sequence[Link]],
    x: Sequence[float],
) -> float:
    """Where an upright run would best stand: a bare line below its start or above its end, boxes where they are."""
    inside = {vertex for vertex, _ in run}
    here = sum(x[vertex] - shift for vertex, shift in run) / len(run)
    if not all(spans[vertex].line for vertex in inside):
        return here
    ends = [
        x[other] + shift for links in (up[run[0][0]], down[run[-1][0]]) for other, shift in links if other not in inside
    ]
    return min(ends, key=lambda end: abs(end - here), default=here)


def _take_upright_run(
    thread: Iterable[tuple[int, float]],
    rims: Mapping[int, tuple[int | None, int | None]],
    spans: Sequence[Span],
    x: Sequence[float],
) -> tuple[list[tuple[int, float]], float, float]:
    """The longest beginning of a thread that can stand upright, and the range that its head can move in."""
    low, high = float("-inf"), float("inf")
    run: list[tuple[int, float]] = []
    for vertex, shift in thread:
        left, right = rims[vertex]
        least = float("-inf") if left is None else x[left] + _measure_distance(spans[left], spans[vertex])
        most = float("inf") if right is None else x[right] - _measure_distance(spans[vertex], spans[right])
        least, most = min(least, x[vertex]) - shift, max(most, x[vertex]) - shift  # rounding must leave a range
        if run and max(low, least) > min(high, most):
            break
        low, high = max(low, least), min(high, most)
        run.append((vertex, shift))
    return run, low, high


def _gather(rows: Sequence[Sequence[int]], spans: Sequence[Span], lonely: Sequence[bool], x: list[float]) -> None:
    """Draw vertices without any line close to their neighbours."""
    for row in rows:
        for left, right in pairwise(row):
            if lonely[right]:
                x[right] = x[left] + _measure_distance(spans[left], spans[right])
        for right, left in zip(row[::-1], row[-2::-1], strict=False):
            if lonely[left]:
                x[left] = max(x[left], x[right] - _measure_distance(spans[left], spans[right]))


def _measure_distance(left: Span, right: Span) -> float:
    """The least distance between two neighbours' anchors."""
    return left.right + (LINE_GAP if left.line or right.line else GAP) + right.left


def fit_isotonic(wishes: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The non-decreasing numbers nearest to the wishes in weighted least squares (pool adjacent violators)."""
    pools: list[tuple[float, float, int]] = []  # mean, weight, length
    for mean, weight in zip(wishes, weights, strict=True):
        length = 1
        while pools and pools[-1][0] > mean:
            other, heavy, count = pools.pop()
            mean = (mean * weight + other * heavy) / (weight + heavy)
            weight, length = weight + heavy, length + count
        pools.append((mean, weight, length))
    return [mean for mean, _, length in pools for _ in range(length)]
