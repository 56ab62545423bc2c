"""Calls that show each way of calling the operations of this family."""

from __future__ import annotations

import torch
from torch import nn

from lessonpress.replay.operations.torch_cases import Case, LayerCase, Params, case, floats, layer, truths

QUERY, KEY, VALUE = floats(2, 3, 5, 4), floats(2, 3, 6, 4, seed=6), floats(2, 3, 6, 2, seed=7)

HEADS: Params = {"embed_dim": 8, "num_heads": 2}

TOKENS = floats(5, 2, 8)

MASKS: list[Params] = [
    {},
    {"scale": 0.3},
    {"is_causal": True},
    {"attn_mask": truths(5, 6)},
    {"attn_mask": floats(5, 6)},
    {"attn_mask": torch.tensor([[False]] * 2 + [[True]] * 3).expand(5, 6)},
]

CASES: list[Case | LayerCase] = [
    *[case("scaled_dot_product_attention", QUERY, KEY, VALUE, **options) for options in MASKS],
    case("scaled_dot_product_attention", QUERY, KEY[:, :1], VALUE[:, :1], enable_gqa=True),
    layer(nn.MultiheadAttention, TOKENS, TOKENS, TOKENS, **HEADS),
    layer(nn.MultiheadAttention, TOKENS, TOKENS, TOKENS, **HEADS, batch_first=True, bias=False),
    layer(nn.MultiheadAttention, TOKENS, TOKENS, TOKENS, **HEADS, call={"need_weights": False}),
    layer(
        nn.MultiheadAttention,
        TOKENS,
        TOKENS,
        TOKENS,
        **HEADS,
        call={"average_attn_weights": False, "attn_mask": torch.ones(5, 5).triu(1).bool()},
    ),
    layer(nn.MultiheadAttention, TOKENS, floats(6, 2, 3), floats(6, 2, 5), **HEADS, kdim=3, vdim=5),
    layer(
        nn.MultiheadAttention,
        TOKENS,
        TOKENS,
        TOKENS,
        **HEADS,
        call={"attn_mask": floats(4, 5, 5), "key_padding_mask": floats(2, 5)},
    ),
    layer(
        nn.MultiheadAttention,
        TOKENS[:, 0],
        TOKENS[:, 1],
        TOKENS[:, 1],
        **HEADS,
        call={"key_padding_mask": torch.tensor([False, True, False, False, True])},
    ),
]
