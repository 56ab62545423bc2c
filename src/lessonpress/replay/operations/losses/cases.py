"""Calls that show each way of calling the operations of this family."""

from __future__ import annotations

import torch
from torch import nn

from lessonpress.replay.operations.torch_cases import (
    POSITIVE,
    UNIT,
    B,
    Case,
    LayerCase,
    X,
    Y,
    Z,
    case,
    floats,
    layer,
    whole,
)

CLASSES, SCORES = whole(5, low=0, high=4), floats(5, 4)

CASES: list[Case | LayerCase] = [
    *[case("mse_loss", X, Y, reduction=r) for r in ("mean", "sum", "none")],
    case("l1_loss", X, Y),
    case("binary_cross_entropy_with_logits", X, UNIT.abs()),
    *[case("cross_entropy", floats(5, 4), whole(5, low=0, high=4), reduction=r) for r in ("mean", "sum", "none")],
    case("cross_entropy", floats(2, 4, 3), whole(2, 3, low=0, high=4)),
    case("cross_entropy", floats(5, 4), torch.tensor([1, -100, 2, 0, -100])),
    case("cross_entropy", Z, torch.tensor(2)),
    case("nll_loss", floats(5, 4), whole(5, low=0, high=4)),
    *[case("binary_cross_entropy", UNIT.abs(), B.double(), reduction=r) for r in ("mean", "none")],
    case("huber_loss", X, Y),
    case("huber_loss", X, Y, delta=0.3, reduction="sum"),
    case("smooth_l1_loss", X, Y),
    case("smooth_l1_loss", X, Y, beta=0.2),
    *[case("kl_div", X, POSITIVE * (POSITIVE > 1), reduction=r) for r in ("batchmean", "sum", "none")],
    case("kl_div", X, Y, reduction="sum", log_target=True),
    *[layer(cls, X, Y) for cls in (nn.MSELoss, nn.L1Loss, nn.BCEWithLogitsLoss)],
    layer(nn.BCELoss, UNIT.abs(), B.double()),
    layer(nn.MSELoss, X, Y, reduction="none"),
    layer(nn.CrossEntropyLoss, SCORES, CLASSES),
    layer(nn.CrossEntropyLoss, SCORES, CLASSES, reduction="sum", ignore_index=1),
    layer(nn.NLLLoss, SCORES, CLASSES),
    *[case("ctc_loss", floats(6, 2, 4).log_softmax(2), labels, *lengths, reduction=reduction) for labels, lengths in (
        (whole(2, 3, low=1, high=4), ((6, 5), (3, 2))),
        (whole(2, 3, low=1, high=4), (torch.tensor([6, 4]), torch.tensor([1, 3]))),
        (whole(4, low=1, high=4), (torch.tensor([6, 6]), torch.tensor([1, 3]))),
    ) for reduction in ("mean", "sum", "none")],
    case("ctc_loss", floats(6, 4).log_softmax(1), torch.tensor([2, 2]), torch.tensor(6), torch.tensor(2), blank=1),
    case("ctc_loss", floats(2, 1, 4).log_softmax(2), torch.tensor([[2, 2]]), (2,), (2,), zero_infinity=True),
]
