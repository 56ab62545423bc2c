"""Calls that show each way of calling the operations of this family."""

from __future__ import annotations

import math

import torch
from torch import nn

from lessonpress.replay.operations.torch_cases import (
    IDS,
    LINE,
    OTHER,
    SQUARE,
    STACK,
    Case,
    LayerCase,
    N,
    X,
    Y,
    Z,
    case,
    floats,
    layer,
)

CASES: list[Case | LayerCase] = [
    *[
        case("matmul", a, b)
        for a, b in [(SQUARE, SQUARE), (STACK, OTHER), (STACK, Z), (Z, OTHER), (Z, Z), (STACK, SQUARE), (N[0], N[0].T)]
    ],
    case("matmul", floats(3, 1, 2, 4), floats(5, 4, 2)),
    case("mm", SQUARE, SQUARE.T),
    case("bmm", STACK, OTHER),
    case("mv", SQUARE, Z),
    case("dot", Z, Z),
    case("inner", SQUARE, STACK),
    case("outer", Z, LINE),
    case("addmm", Z, SQUARE, SQUARE, beta=0.5, alpha=2),
    case("addmv", Z, SQUARE, Z),
    case("baddbmm", floats(2, 3, 5), STACK, OTHER),
    *[
        case("einsum", e, *ops)
        for e, ops in [
            ("ij,jk->ik", (SQUARE, SQUARE)),
            ("bij,bjk", (STACK, OTHER)),
            ("bij->b", (X,)),
            ("ii->i", (SQUARE,)),
            ("i,j->ij", (Z, LINE)),
            ("b...k,k->b...", (X, Z)),
            ("...ij->...ji", (X,)),
            ("bhd,bhd->bh", (X, Y)),
            ("ij->", (SQUARE,)),
            ("bi , bi -> b", (X[0], Y[0])),
        ]
    ],
    case("einsum", "ij,jk", [SQUARE, SQUARE]),
    case("linear", X, floats(5, 4)),
    case("linear", X, floats(5, 4), floats(5)),
    case("linear", Z, floats(5, 4)),
    case("bilinear", X, floats(2, 3, 2), floats(5, 4, 2), floats(5)),
    case("embedding", IDS, floats(6, 3)),
    case("embedding", torch.tensor(2), floats(6, 3)),
    case("embedding_renorm", floats(6, 3), IDS, 1.5, 2.0, oracle=torch.embedding_renorm_),
    case("embedding_renorm", floats(6, 3), torch.tensor([[4, 0], [0, 2]]), 1.0, 1.0, oracle=torch.embedding_renorm_),
    case("trace", SQUARE),
    case("tensordot", X, floats(3, 4, 2), dims=2),
    case("tensordot", X, Y, dims=([0, 1], [0, 1])),
    *[case("cdist", SQUARE, floats(3, 4), p=p) for p in (1.0, 2.0, 3.0, math.inf, 0.0)],
    case("cdist", X, floats(2, 5, 4)),
    layer(nn.Linear, X, in_features=4, out_features=3),
    layer(nn.Linear, X, in_features=4, out_features=3, bias=False),
    layer(nn.Bilinear, X, floats(2, 3, 2), in1_features=4, in2_features=2, out_features=3),
    layer(nn.Embedding, IDS, num_embeddings=6, embedding_dim=3),
    *[case("embedding_bag", IDS, floats(6, 3), mode=mode) for mode in ("sum", "mean", "max")],
    *[case("embedding_bag", IDS.flatten(), floats(6, 3), torch.tensor([0, 2, 2, 7]), mode=mode, padding_idx=pad)
      for mode in ("sum", "mean", "max") for pad in (None, int(IDS[0, 0]))],
    case("embedding_bag", IDS, floats(6, 3), mode="sum", per_sample_weights=floats(2, 5, seed=4)),
    case("embedding_bag", IDS.flatten(), floats(6, 3), torch.tensor([0, 4, 10]), include_last_offset=True),
    *[layer(nn.EmbeddingBag, IDS.flatten(), torch.tensor([0, 3]), num_embeddings=6, embedding_dim=3, mode=mode)
      for mode in ("sum", "mean", "max")],
    layer(nn.EmbeddingBag, IDS, num_embeddings=6, embedding_dim=3, padding_idx=2),
]
