"""Calls that show each way of calling the operations of this family."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

from lessonpress.replay.operations.torch_cases import ODD, B, Case, LayerCase, N, X, case, floats, layer, method

CASES: list[Case | LayerCase] = [
    *[case(op, x) for op in ("sigmoid", "relu") for x in (X, N, ODD)],
    case("special_expit", X, oracle=torch.sigmoid),
    *[
        case(op, X * 3)
        for op in ["relu6", "leaky_relu", "elu", "celu", "selu", "gelu", "logsigmoid", "silu", "softplus", "mish"]
    ],
    *[case(op, X * 3) for op in ["softsign", "tanhshrink", "hardtanh", "hardsigmoid", "hardswish", "glu"]],
    *[
        case(op, ODD)
        for op in ["relu6", "leaky_relu", "elu", "celu", "selu", "softplus", "softsign", "hardtanh", "logsigmoid"]
    ],
    case("leaky_relu", X, 0.2),
    case("elu", X, 0.5),
    case("celu", X, 2.0),
    case("gelu", X, approximate="tanh"),
    case("softplus", X * 20, 2.0, 10.0),
    case("threshold", X, 0.3, -2.0),
    case("glu", X, 0),
    case("relu", N),
    case("prelu", X, torch.tensor([0.25], dtype=torch.float64)),
    case("prelu", X, floats(3)),
    *[case(op, X, dim) for op in ("softmax", "log_softmax", "softmin") for dim in (0, 1, -1)],
    case("softmax", X.masked_fill(B, -math.inf), -1),
    case("softmax", X * 400, -1),
    case("log_softmax", X * 400, 1),
    case("dropout", X, 0.5, False),
    case("dropout", X, p=0.0, training=True),
    case("relu", X, inplace=True),
    case("swish", X, oracle=functional.silu),
    case("relu_", X),
    case("sigmoid_", X, oracle=method("sigmoid_")),
    *[
        layer(cls, X * 3)
        for cls in (
            nn.Tanh,
            nn.Sigmoid,
            nn.LogSigmoid,
            nn.Softsign,
            nn.Tanhshrink,
            nn.ReLU,
            nn.ReLU6,
            nn.SELU,
            nn.SiLU,
            nn.Mish,
            nn.Hardsigmoid,
            nn.Hardswish,
            nn.LeakyReLU,
            nn.ELU,
            nn.CELU,
            nn.GELU,
            nn.Softplus,
            nn.Hardtanh,
            nn.GLU,
            nn.Dropout,
            nn.PReLU,
        )
    ],
    *[layer(cls, X, dim=1) for cls in (nn.Softmax, nn.LogSoftmax, nn.Softmin)],
    layer(nn.GELU, X, approximate="tanh"),
    layer(nn.LeakyReLU, X, negative_slope=0.3),
    layer(nn.Threshold, X, threshold=0.1, value=3.0),
    layer(nn.PReLU, X, num_parameters=3),
    layer(nn.ReLU, X, inplace=True),
]
