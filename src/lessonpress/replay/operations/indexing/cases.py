"""Calls that show each way of calling the operations of this family."""

from __future__ import annotations

from typing import Any

import torch

from lessonpress.replay.operations.torch_cases import (
    GRID,
    IDS,
    ODD,
    SQUARE,
    B,
    Case,
    LayerCase,
    N,
    X,
    Y,
    Z,
    case,
    floats,
    method,
    truths,
    whole,
)


def set_item(x: torch.Tensor, index: Any, value: Any) -> torch.Tensor:
    """`x[index] = value` as an oracle."""
    x[index] = value
    return x


INDEX = [
    0,
    -1,
    slice(1, None),
    slice(None, None, 2),
    (0, 1),
    (slice(None), 2),
    (Ellipsis, 0),
    (Ellipsis, slice(1, 3)),
    None,
    (slice(None), None, 1),
    (Ellipsis, None),
    (slice(None), slice(0, 9, 3), -2),
    slice(-2, -1),
    slice(2, 1),
    (),
    True,
    False,
    torch.tensor(1),
    torch.tensor([0, 2, 2]),
    torch.tensor([[0, 1], [2, 0]]),
    (torch.tensor([0, 1]), torch.tensor([2, 3])),
    (slice(None), torch.tensor([1, 0])),
    (torch.tensor([0, 1]), slice(None), torch.tensor([1, 2])),
    (0, slice(None), torch.tensor([1, 2])),
    (Ellipsis, torch.tensor([1, -1])),
    (torch.tensor([0, 1]), 2),
    (slice(None), torch.tensor([0, 1]), slice(1, 3)),
    (torch.tensor([[0], [1]]), torch.tensor([[0, 1]])),
    (None, torch.tensor([0, 1])),
    truths(3),
    (slice(None), truths(4)),
    truths(3, 4),
    (0, truths(4, 5)),
    truths(3, 4, 5),
    ([0, 2],),
    (slice(None), [1, 3, 0]),
    slice(torch.tensor(0), torch.tensor(2)),
    (torch.tensor(2), slice(None)),
]

EDGES = torch.tensor([-1.0, 0.0, 0.5, 2.0], dtype=torch.float64)

CASES: list[Case | LayerCase] = [
    *[case("getitem", GRID, index) for index in INDEX],
    *[case("setitem", GRID, index, -1.5, oracle=set_item) for index in INDEX if index is not False],
    case("setitem", GRID, (slice(None), 1), floats(5), oracle=set_item),
    case("setitem", N, 0, 2.7, oracle=set_item),
    case("setitem", GRID, (slice(None), torch.tensor([3, 0])), floats(2, 5), oracle=set_item),
    case("setitem", GRID, 0, floats(1, 4, 5), oracle=set_item),
    case("setitem", GRID.clone(), truths(3, 4), floats(5), oracle=set_item),
    case("select", X, 1, 2),
    case("select", X, -1, -1),
    case("narrow", X, 2, 1, 2),
    case("narrow", X, 1, -2, 1),
    case("index_select", X, 2, torch.tensor([3, 0, 0])),
    case("take", X, torch.tensor([[0, 5], [23, 1]])),
    case("masked_select", X, B),
    case("masked_select", X, truths(4)),
    case("nonzero", B),
    case("nonzero", N, as_tuple=True),
    case("gather", X, 1, whole(2, 2, 4, low=0, high=3)),
    case("gather", X, -1, whole(1, 3, 2, low=0, high=4)),
    case("take_along_dim", X, whole(2, 3, 2, low=0, high=4), -1),
    case("take_along_dim", X, torch.tensor([3, 20])),
    case("scatter", X, 2, torch.stack([torch.tensor([3, 0])] * 3).expand(2, 3, 2), Y),
    case(
        "scatter",
        X,
        1,
        torch.zeros(2, 1, 4, dtype=torch.int64),
        value=9.0,
        oracle=lambda x, d, i, value: x.scatter(d, i, value),
    ),
    case("scatter_add", X, 1, whole(2, 3, 4, low=0, high=3), Y),
    case("index_add", X, 1, torch.tensor([0, 0, 2]), Y, alpha=2),
    case("index_copy", X, 1, torch.tensor([2, 0]), Y[:, :2]),
    case("index_fill", X, 2, torch.tensor([1, 3]), 4.0),
    case("index_fill_", X, 1, torch.tensor([1]), 2.0, oracle=method("index_fill_")),
    case("scatter_", X, 1, torch.zeros(2, 1, 4, dtype=torch.int64), Y, oracle=method("scatter_")),
    case("index_put", X, (torch.tensor([0, 1, 0]), torch.tensor([2, 0, 2])), Y[0, :, :], accumulate=True),
    case("index_put", X, (torch.tensor([0, 1]),), torch.tensor(3.0, dtype=torch.float64)),
    case("masked_scatter", X, B, Y),
    case("masked_scatter", SQUARE, torch.tensor([True, False, True, True]), X),
    case("as_strided", SQUARE, (2, 3), (1, 4)),
    case("as_strided", X, (2, 2, 2), (3, 1, 1), 2),
    *[case("bucketize", x, EDGES, right=right) for x in (X, N, ODD, EDGES) for right in (False, True)],
    *[case("searchsorted", EDGES, x, side=side) for x in (X, ODD) for side in ("left", "right")],
    case("bincount", IDS[0]),
    case("bincount", IDS[0], None, 9),
    case("bincount", IDS[0], Z.repeat(2)[:5], 3),
]
