"""Calls that show each way of calling the operations of this family."""

from __future__ import annotations

from torch import nn

from lessonpress.replay.operations.torch_cases import Case, LayerCase, Params, Z, floats, layer

SEQUENCE, STEP = floats(3, 5, 4), floats(3, 4)

SIZES: Params = {"input_size": 4, "hidden_size": 6}

LAYOUTS: list[Params] = [
    {},
    {"batch_first": True},
    {"bidirectional": True},
    {"bias": False},
    {"num_layers": 2, "bidirectional": True, "batch_first": True},
]

CASES: list[Case | LayerCase] = [
    *[layer(cls, SEQUENCE, **SIZES, **options) for cls in (nn.RNN, nn.GRU, nn.LSTM) for options in LAYOUTS],
    *[layer(cls, STEP, **SIZES, bidirectional=True) for cls in (nn.RNN, nn.GRU, nn.LSTM)],
    *[layer(cls, SEQUENCE, floats(4, 5, 6), **SIZES, num_layers=2, bidirectional=True) for cls in (nn.RNN, nn.GRU)],
    layer(nn.LSTM, SEQUENCE, (floats(1, 3, 6), floats(1, 3, 6, seed=4)), **SIZES, batch_first=True),
    layer(nn.GRU, STEP, floats(1, 6), **SIZES),
    layer(nn.RNN, SEQUENCE, **SIZES, nonlinearity="relu"),
    layer(nn.RNNCell, STEP, **SIZES, nonlinearity="relu"),
    *[
        layer(cls, x, **SIZES, bias=bias)
        for cls in (nn.RNNCell, nn.GRUCell, nn.LSTMCell)
        for x in (STEP, Z)
        for bias in (True, False)
    ],
    layer(nn.RNNCell, STEP, floats(3, 6), **SIZES),
    layer(nn.GRUCell, STEP, floats(3, 6), **SIZES),
    layer(nn.LSTMCell, STEP, (floats(3, 6), floats(3, 6, seed=9)), **SIZES),
]
