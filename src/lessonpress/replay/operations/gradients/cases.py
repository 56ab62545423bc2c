"""Cases of derivatives, with torch's own operations as the oracle."""

import torch

from lessonpress.replay.operations.torch_cases import IDS, SQUARE, UNIT, Case, X, Y, case, floats

aten = torch.ops.aten
REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def squares(reduction: str) -> Case:
    """The derivative of the squared error."""
    arriving = X if reduction == "none" else X[0, 0, 0]
    return case("mse_loss_backward", arriving, X, Y, reduction,
                oracle=lambda g, x, y, r: aten.mse_loss_backward(g, x, y, REDUCTIONS[r]))  # fmt: skip


CASES = [
    case("tanh_backward", X, UNIT, oracle=aten.tanh_backward),
    case("sigmoid_backward", X, UNIT.abs(), oracle=aten.sigmoid_backward),
    case("threshold_backward", X, Y, 0, oracle=aten.threshold_backward),
    case("silu_backward", X, Y, oracle=aten.silu_backward),
    case("gelu_backward", X, Y, oracle=aten.gelu_backward),
    case("gelu_backward", X, Y, approximate="tanh", oracle=aten.gelu_backward),
    case("leaky_relu_backward", X, Y, 0.1, False, oracle=aten.leaky_relu_backward),
    *[case("elu_backward", X, *scales, result, Y, oracle=aten.elu_backward)
      for scales in ((1.0, 1.0, 1.0), (1.7, 1.1, 0.5)) for result in (False, True)],
    case("softplus_backward", X, Y, 1.0, 20.0, oracle=aten.softplus_backward),
    case("softplus_backward", X, Y, 2.0, 1.0, oracle=aten.softplus_backward),
    *[case(name, X, Y, X * Y, 0, size, oracle=getattr(aten, name))
      for name in ("smooth_l1_loss_backward", "huber_loss_backward") for size in (1.0, 0.3)],
    *[case(name, X[0, 0, 0], Y, X * Y, reduction, 1.0, oracle=getattr(aten, name))
      for name in ("smooth_l1_loss_backward", "huber_loss_backward") for reduction in (1, 2)],
    case("binary_cross_entropy_backward", X, Y.sigmoid(), UNIT.abs(), None, 0,
         oracle=aten.binary_cross_entropy_backward),
    case("binary_cross_entropy_backward", X[0, 0, 0], Y.sigmoid(), UNIT.abs(), None, 1,
         oracle=aten.binary_cross_entropy_backward),
    *[squares(reduction) for reduction in REDUCTIONS],
    *[case("_softmax_backward_data", X, Y.softmax(dim), dim,
           oracle=lambda g, y, d: aten._softmax_backward_data(g, y, d, torch.float64)) for dim in (0, -1)],
    *[case("_log_softmax_backward_data", X, Y.log_softmax(dim), dim,
           oracle=lambda g, y, d: aten._log_softmax_backward_data(g, y, d, torch.float64)) for dim in (0, -1)],
    case("select_backward", SQUARE, [4, 3, 4], 1, 2, oracle=aten.select_backward),
    case("select_backward", SQUARE, [4, 4, 3], -1, -1, oracle=aten.select_backward),
    case("slice_backward", SQUARE, [4, 9], 1, 1, 9, 2, oracle=aten.slice_backward),
    case("embedding_dense_backward", floats(2, 5, 3), IDS, 7, -1, False, oracle=aten.embedding_dense_backward),
    case("embedding_dense_backward", floats(2, 5, 3), IDS, 7, 2, False, oracle=aten.embedding_dense_backward),
]  # fmt: skip
