"""Ranks: which row each node of one level stands in, with cycles opened."""

from __future__ import annotations

from collections.abc import Sequence

Pair = tuple[int, int]
ROW = 8  # nodes without any connection stand in rows of so many


def assign_rows(
    size: int, edges: Sequence[Pair], *, top: Sequence[bool], bottom: Sequence[bool], held: Sequence[bool]
) -> list[int]:
    """Give each of `size` nodes a row from 0 downwards so that an edge leads down unless it closes a cycle.

    `top` nodes stay in row 0 where they have no predecessor (inputs), `bottom` nodes go to the last row (outputs),
    `held` nodes are tied to something above the level; other sources stand just above what they feed.
    Rows are longest paths (Sugiyama's first step); the edge that closes a cycle is the one that a depth-first walk
    meets last.
    """
    forward = _open_cycles(size, edges)
    after: list[list[int]] = [[] for _ in range(size)]
    before = [0] * size
    for source, target in forward:
        after[source].append(target)
        before[target] += 1
    order = _sort_topologically(after, before)
    rows = [0] * size
    for node in order:
        for target in after[node]:
            rows[target] = max(rows[target], rows[node] + 1)
    for node in reversed(order):
        if after[node] and not (before[node] or top[node] or held[node]):
            rows[node] = min(rows[target] for target in after[node]) - 1
    last = max(rows, default=0)
    for node in range(size):
        if bottom[node] and not after[node]:
            rows[node] = last
    _spread_lonely([node for node in range(size) if not (after[node] or before[node] or held[node])], rows)
    return rows


def _spread_lonely(lonely: Sequence[int], rows: list[int]) -> None:
    """Put nodes without connections into short rows instead of one endless one."""
    if len(lonely) > ROW:
        for index, node in enumerate(lonely):
            rows[node] = index // ROW


def _open_cycles(size: int, edges: Sequence[Pair]) -> list[Pair]:
    """The edges without those that lead back into the walk, each pair once, loops left out."""
    after: list[dict[int, None]] = [{} for _ in range(size)]
    fed = [False] * size
    for source, target in edges:
        if source != target:
            after[source][target] = None
            fed[target] = True
    state = [0] * size  # 0 unseen, 1 on the path, 2 done
    kept: list[Pair] = []
    for root in sorted(range(size), key=lambda node: fed[node]):
        if state[root]:
            continue
        state[root] = 1
        path = [(root, iter(after[root]))]
        while path:
            node, targets = path[-1]
            target = next(targets, -1)
            if target < 0:
                state[node] = 2
                path.pop()
            elif state[target] != 1:
                kept.append((node, target))
                if not state[target]:
                    state[target] = 1
                    path.append((target, iter(after[target])))
    return kept


def _sort_topologically(after: Sequence[Sequence[int]], before: Sequence[int]) -> list[int]:
    """The nodes so that every edge leads from an earlier to a later one."""
    left = list(before)
    order = [node for node, count in enumerate(left) if not count]
    for node in order:  # grows while it is read
        for target in after[node]:
            left[target] -= 1
            if not left[target]:
                order.append(target)
    return order
