"""Calls that show each way of calling the operations of this family."""

from __future__ import annotations

from torch import nn

from lessonpress.replay.operations.torch_cases import (
    IMAGE,
    POSITIVE,
    SIGNAL,
    Case,
    LayerCase,
    X,
    Z,
    case,
    floats,
    layer,
)

CASES: list[Case | LayerCase] = [
    case("layer_norm", X, (4,)),
    case("layer_norm", X, (3, 4), floats(3, 4), floats(3, 4), 1e-3),
    case("rms_norm", X, (4,), Z, 1e-6),
    case("group_norm", IMAGE, 2, floats(4), floats(4)),
    case("group_norm", SIGNAL, 4),
    case("batch_norm", IMAGE, floats(4), POSITIVE[0, 0], Z, Z),
    case("batch_norm", X, None, None, training=True),
    case("batch_norm", SIGNAL, floats(4), POSITIVE[0, 0], training=True, momentum=0.2),
    case("instance_norm", IMAGE, weight=Z, bias=Z),
    layer(nn.LayerNorm, X, normalized_shape=4),
    layer(nn.LayerNorm, X, normalized_shape=[3, 4], eps=1e-3, elementwise_affine=False),
    layer(nn.LayerNorm, X, normalized_shape=(4,), bias=False),
    layer(nn.RMSNorm, X, normalized_shape=(4,), eps=1e-6),
    layer(nn.GroupNorm, IMAGE, num_groups=2, num_channels=4),
    layer(nn.BatchNorm1d, SIGNAL, num_features=4),
    layer(nn.BatchNorm1d, floats(5, 4), num_features=4, affine=False),
    layer(nn.BatchNorm2d, IMAGE, num_features=4, track_running_stats=False),
    layer(nn.BatchNorm2d, IMAGE, num_features=4, training=True),
    layer(nn.BatchNorm1d, SIGNAL, num_features=4, training=True, momentum=None),
    layer(nn.InstanceNorm1d, SIGNAL, num_features=4),
    layer(nn.InstanceNorm2d, IMAGE, num_features=4, affine=True),
]
