"""Calls that show each way of calling the operations of this family."""

from __future__ import annotations

import math

import torch

from lessonpress.replay.operations.torch_cases import LINE, ODD, B, Case, LayerCase, M, N, Params, X, Y, case, floats

DIMS: list[Params] = [{}, {"dim": 0}, {"dim": -1}, {"dim": 1, "keepdim": True}]

SEVERAL: list[Params] = [*DIMS, {"dim": (0, 2)}, {"dim": [1, -1], "keepdim": True}]

CASES: list[Case | LayerCase] = [
    *[case(op, x, **dims) for op in ("sum", "nansum") for x in (X, N) for dims in SEVERAL],
    *[case(op, X, **dims) for op in ("mean", "amax", "amin", "var", "std", "norm") for dims in SEVERAL],
    *[case(op, x, **dims) for op in ("prod", "argmax", "argmin", "max", "min") for x in (X, N) for dims in DIMS],
    *[case(op, x, **dims) for op in ("any", "all") for x in (X, B, N) for dims in DIMS],
    *[case("cumsum", x, dim) for x in (X, N, B) for dim in (0, 1, -1)],
    case("cumprod", X, 1),
    case("sum", B),
    case("sum", B, 1),
    case("sum", N, dtype=torch.float64),
    case("mean", N, dtype=torch.float64),
    case("sum", X, 1, True),
    case("sum", X, (0, 1)),
    case("sum", X, []),
    case("sum", floats(0)),
    case("mean", floats(0)),
    case("prod", floats(0, 3), 0),
    case("sum", torch.tensor(2.5, dtype=torch.float64), 0),
    case("max", X, Y),
    case("min", N, M),
    case("max", X, 2, True),
    case("argmax", ODD),
    case("argmin", ODD),
    case("amax", ODD),
    case("amin", ODD[1:]),
    case("max", torch.ones(3, 4), 1),
    case("argmax", torch.ones(5)),
    case("var", X, False),
    case("std", X, unbiased=False),
    case("var", X, 1, False),
    case("std", X, 1, True, True),
    case("var", X, 1, correction=0),
    case("std", X, dim=(0, 1), correction=2),
    case("std", LINE),
    case("norm", X, 1, 1),
    case("norm", X, math.inf, -1),
    case("norm", X, -math.inf, -1),
    case("norm", X, 0, -1),
    case("norm", X, 3.0, 1, True),
    case("norm", X, "fro"),
    case("linalg_vector_norm", X, 2, dim=-1, oracle=torch.linalg.vector_norm),
    case("linalg_norm", LINE, oracle=torch.linalg.norm),
    case("cosine_similarity", X, Y),
    case("cosine_similarity", X, Y, dim=-1),
    case("count_nonzero", N),
    case("count_nonzero", N, 1),
    case("logsumexp", X * 300, 1),
    case("logsumexp", X, (0, 1), True),
    case("logsumexp", torch.full((2, 2), -math.inf), 1),
    *[case(op, x, stable=True) for op in ("sort", "argsort") for x in (X, N)],
    *[case("sort", x, dim=1, descending=True, stable=True) for x in (X, N, B)],
    case("argsort", ODD, stable=True),
    case("argsort", ODD, descending=True, stable=True),
    case("topk", X, 2),
    case("topk", X, 2, 1),
    case("topk", X, 3, largest=False),
    case("topk", LINE, 4),
    case("pairwise_distance", X, Y),
    case("pairwise_distance", X, Y, p=1.0, keepdim=True),
    case("var_mean", X, 1),
    case("std_mean", X, dim=(0, 1), correction=0),
    case("var_mean", X, False),
    case("diff", X),
    case("diff", X, 2, 1),
    *[case("all_finite", x, oracle=lambda x: x.isfinite().all()) for x in (X, N, ODD)],
    case("normalize", X, dim=-1),
    case("normalize", X, p=1.0, dim=1),
]
