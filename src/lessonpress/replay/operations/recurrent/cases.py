"""Calls that show each way of calling the operations of this family."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from lessonpress.replay.operations.torch_cases import Case, LayerCase, Params, Z, case, floats, layer

SEQUENCE, STEP = floats(3, 5, 4), floats(3, 4)

SIZES: Params = {"input_size": 4, "hidden_size": 6}

LAYOUTS: list[Params] = [
    {},
    {"batch_first": True},
    {"bidirectional": True},
    {"bias": False},
    {"num_layers": 2, "bidirectional": True, "batch_first": True},
]

LENGTHS = torch.tensor([2, 3, 1, 3, 2])
PACKED = pack_padded_sequence(SEQUENCE, LENGTHS, enforce_sorted=False)


class PackedCase(LayerCase):
    """A recurrent layer that is given a packed sequence, as its parts."""

    @property
    def op(self) -> str:
        """The row's name."""
        return f"Packed{type(self.module).__name__}"

    def expected(self) -> Any:
        """What the module gives for the packed sequence, in parts."""
        data, sizes, order, back, *state = self.args
        with torch.no_grad():
            out, last = self.module(PackedSequence(data, sizes, order, back), *state)
        return [*out, *(last if isinstance(last, tuple) else [last])]


def packed(cls: type[nn.Module], *state: Any, **params: Any) -> PackedCase:
    """One call of a module with a packed sequence."""
    made = layer(cls, *PACKED, *state, **params)
    return PackedCase(made.params, made.module, made.args)


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
    *[packed(cls, **SIZES, num_layers=layers, bidirectional=layers > 1)
      for cls in (nn.RNN, nn.GRU, nn.LSTM) for layers in (1, 2)],
    packed(nn.GRU, floats(1, 5, 6), **SIZES, batch_first=True),
    packed(nn.LSTM, (floats(1, 5, 6), floats(1, 5, 6, seed=4)), **SIZES),
    *[case("_pack_padded_sequence", x, torch.tensor(lengths), first, oracle=torch._VF._pack_padded_sequence)
      for x, lengths, first in ((SEQUENCE, [3, 3, 2, 1, 1], False), (SEQUENCE, [5, 2, 2], True))],
    *[case("_pad_packed_sequence", PACKED.data, PACKED.batch_sizes, first, 0.5, total,
           oracle=torch._VF._pad_packed_sequence) for first in (True, False) for total in (-1, 4)],
]
