"""Calls that show each way of calling the operations of this family."""

from __future__ import annotations

import torch

from lessonpress.replay.operations.torch_cases import IDS, B, Case, LayerCase, N, X, case, floats, method

CASES: list[Case | LayerCase] = [
    *[
        case(op, *size, oracle=lambda *s, _op=op: getattr(torch, _op)(*s, dtype=torch.float64))
        for op in ("zeros", "ones")
        for size in [(2, 3), ((4,),), (2,)]
    ],
    case("zeros", 2, dtype=torch.int64),
    case("ones", (2, 2), dtype=torch.bool),
    case("full", (2, 2), 3),
    case("full", (2,), 1.5),
    case("full", (2,), True),
    case("empty", 0, 3),
    *[case(op, x) for op in ("zeros_like", "ones_like") for x in (X, N, B)],
    case("full_like", X, 2),
    case("full_like", N, 2.0, dtype=torch.float64),
    case("empty_like", floats(0)),
    case("new_zeros", N, 2, 3, oracle=method("new_zeros")),
    case("new_ones", X, (2,), oracle=method("new_ones")),
    case("new_full", X, (2, 2), 7, oracle=method("new_full")),
    case("new_tensor", X, [1, 2], oracle=method("new_tensor")),
    case("tensor", [[1, 2], [3, 4]]),
    case("tensor", 2.5),
    case("tensor", [True, False]),
    case("tensor", [1, 2.5]),
    case("tensor", [1.7, -2.7], dtype=torch.int64),
    case("tensor", []),
    case("tensor", [[torch.tensor(0.5).double(), 2.5], [1.5, torch.tensor(-3.0).double()]], dtype=torch.float64),
    case("arange", 5),
    case("arange", 1, 9, 3),
    case("arange", 5, dtype=torch.float64),
    case("arange", 0.0, 1.0, 0.3, dtype=torch.float64),
    case("arange", 5, 0, -2),
    case("arange", end=4),
    case("linspace", 0, 1, 7, dtype=torch.float64),
    case("linspace", -2.0, 3.0, 1, dtype=torch.float64),
    case("linspace", 1, 0, steps=4, dtype=torch.float64),
    case("eye", 3, dtype=torch.float64),
    case("eye", 2, 4, dtype=torch.int64),
    case("one_hot", IDS, 7),
    case("one_hot", IDS),
    case("new_empty", X, 0, 2, oracle=method("new_empty")),
    *[case(op, 3, 4, d) for op in ("tril_indices", "triu_indices") for d in (-1, 0, 1)],
]
