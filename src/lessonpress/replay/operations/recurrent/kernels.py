"""Recurrent layers and their cells; the equations are those of torch's documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import numpy as np

from lessonpress.replay.operations.activations.kernels import sigmoid
from lessonpress.replay.operations.kinds import Array, Unsupported
from lessonpress.replay.operations.products.kernels import linear
from lessonpress.replay.operations.table import layer, operation

Weights = Mapping[str, Array]
State = tuple[Array, ...]  # (h,) or, for an LSTM, (h, c); each [batch, hidden]
Step = Callable[[Array, State, Weights, str], State]


class Params(TypedDict, total=False):
    """What the layers and cells are constructed with; each has some of these."""

    hidden_size: int
    num_layers: int
    nonlinearity: str
    batch_first: bool
    bidirectional: bool
    dropout: float
    proj_size: int
    training: bool


def _gates(x: Array, h: Array, w: Weights, suffix: str) -> tuple[Array, Array]:
    """What input and state contribute to the gates: `W_i x + b_i` and `W_h h + b_h`."""
    ours = linear(x, w["weight_ih" + suffix], w.get("bias_ih" + suffix))
    return ours, linear(h, w["weight_hh" + suffix], w.get("bias_hh" + suffix))


def _rnn(nonlinearity: str) -> Step:
    """One step of the Elman network."""

    def step(x: Array, state: State, w: Weights, suffix: str) -> State:
        total = np.add(*_gates(x, state[0], w, suffix))
        return (np.tanh(total) if nonlinearity == "tanh" else np.maximum(total, 0),)

    return step


def _gru(x: Array, state: State, w: Weights, suffix: str) -> State:
    """One step of the gated recurrent unit: reset, update and new gates."""
    (h,) = state
    (r, z, n), (hr, hz, hn) = (np.split(part, 3, axis=-1) for part in _gates(x, h, w, suffix))
    reset, update = sigmoid(r + hr), sigmoid(z + hz)
    return ((1 - update) * np.tanh(n + reset * hn) + update * h,)


def _lstm(x: Array, state: State, w: Weights, suffix: str) -> State:
    """One step of long short-term memory: input, forget, cell and output gates."""
    h, c = state
    i, f, g, o = np.split(np.add(*_gates(x, h, w, suffix)), 4, axis=-1)
    cell = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(cell), cell


def _run(step: Step, xs: Array, state: State, w: Weights, suffix: str) -> tuple[Array, State]:
    """All steps of one direction over `xs` [length, batch, features]: the states h and the last state."""
    hs = []
    for x in xs:
        state = step(x, state, w, suffix)
        hs.append(state[0])
    return np.stack(hs), state


def _layers(step: Step, w: Weights, p: Params, input: Array, start: list[Array] | None, states: int) -> Any:
    """All layers and directions; gives the output and one array [layers · directions, batch, hidden] a state."""
    if p["dropout"] > 0 and p["training"] and p["num_layers"] > 1:
        raise Unsupported("random numbers are drawn inside it")
    if p["proj_size"]:
        raise Unsupported("proj_size")
    batched = input.ndim == 3
    xs = input if batched else input[:, None]
    xs = np.swapaxes(xs, 0, 1) if batched and p["batch_first"] else xs
    directions = ["", "_reverse"] if p["bidirectional"] else [""]
    if start is None:
        start = [np.zeros((p["num_layers"] * len(directions), xs.shape[1], p["hidden_size"]))] * states
    elif not batched:
        start = [part[:, None] for part in start]
    last: list[State] = []
    for number in range(p["num_layers"]):
        outs = []
        for direction in directions:
            first = tuple(part[len(last)] for part in start)
            order = slice(None, None, -1 if direction else 1)
            hs, state = _run(step, xs[order], first, w, f"_l{number}{direction}")
            outs.append(hs[order])
            last.append(state)
        xs = np.concatenate(outs, axis=-1)
    finals = [np.stack(parts) for parts in zip(*last, strict=True)]
    if not batched:
        return xs[:, 0], [part[:, 0] for part in finals]
    return np.swapaxes(xs, 0, 1) if p["batch_first"] else xs, finals


_OPTIONS: dict[str, Any] = {
    "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False, "proj_size": 0,
    "training": False,
}  # fmt: skip


@layer(**_OPTIONS, nonlinearity="tanh")
def RNN(w: Weights, p: Params, input: Array, hx: Array | None = None) -> Any:
    """The output [length, batch, directions · hidden] and the last state [layers · directions, batch, hidden]."""
    output, (h,) = _layers(_rnn(p["nonlinearity"]), w, p, input, None if hx is None else [hx], 1)
    return output, h


@layer(**_OPTIONS)
def GRU(w: Weights, p: Params, input: Array, hx: Array | None = None) -> Any:
    """The output [length, batch, directions · hidden] and the last state [layers · directions, batch, hidden]."""
    output, (h,) = _layers(_gru, w, p, input, None if hx is None else [hx], 1)
    return output, h


@layer(**_OPTIONS)
def LSTM(w: Weights, p: Params, input: Array, hx: Any = None) -> Any:
    """The output [length, batch, directions · hidden] and the last states h and c."""
    output, finals = _layers(_lstm, w, p, input, None if hx is None else list(hx), 2)
    return output, finals


def _cell(step: Step, w: Weights, p: Params, input: Array, start: list[Array] | None, states: int) -> State:
    """One step from the given state, or from zeros."""
    state = start or [np.zeros((*input.shape[:-1], p["hidden_size"]))] * states
    return step(input, tuple(state), w, "")


@layer(bias=True, nonlinearity="tanh")
def RNNCell(w: Weights, p: Params, input: Array, hx: Array | None = None) -> Any:
    """The next state [batch, hidden]."""
    return _cell(_rnn(p["nonlinearity"]), w, p, input, None if hx is None else [hx], 1)[0]


@layer(bias=True)
def GRUCell(w: Weights, p: Params, input: Array, hx: Array | None = None) -> Any:
    """The next state [batch, hidden]."""
    return _cell(_gru, w, p, input, None if hx is None else [hx], 1)[0]


@layer(bias=True)
def LSTMCell(w: Weights, p: Params, input: Array, hx: Any = None) -> Any:
    """The next states h and c, each [batch, hidden]."""
    return _cell(_lstm, w, p, input, None if hx is None else list(hx), 2)


@operation("_pack_padded_sequence")
def _pack_padded_sequence(input: Array, lengths: Array, batch_first: bool) -> Any:
    """The first elements of all sequences, then the second ones …, [sum of lengths, …], and how many there are of each.

    Raises Unsupported for lengths that are not sorted from the longest down, or below 1.
    """
    xs = np.swapaxes(input, 0, 1) if batch_first else input
    if np.any(np.diff(lengths) > 0) or lengths.min() < 1 or lengths.max() > len(xs):
        raise Unsupported("lengths that are not sorted, below 1 or beyond the input")
    sizes = np.array([np.count_nonzero(lengths > t) for t in range(int(lengths[0]))])
    return np.concatenate([xs[t, :size] for t, size in enumerate(sizes)]), sizes


@operation("_pad_packed_sequence")
def _pad_packed_sequence(
    data: Array, batch_sizes: Array, batch_first: bool, padding_value: float, total_length: int | None
) -> Any:  # fmt: skip
    """Packed sequences with padding behind their ends, and their lengths."""
    longest = max(len(batch_sizes), total_length or 0)
    padded = np.full((longest, int(batch_sizes[0]), *data.shape[1:]), float(padding_value))
    start = 0
    for t, size in enumerate(batch_sizes):
        padded[t, :size] = data[start : start + size]
        start += int(size)
    lengths = np.array([np.count_nonzero(batch_sizes > at) for at in range(int(batch_sizes[0]))])
    return np.swapaxes(padded, 0, 1) if batch_first else padded, lengths


def _packed(
    kernel: Callable[..., Any], states: int, w: Weights, p: Params, data: Array, batch_sizes: Array, order: Any,
    back: Any, hx: Any,
) -> Any:  # fmt: skip
    """A recurrent layer on packed sequences: each sequence by itself, and its outputs where its inputs stood."""
    starts = np.cumsum([0, *batch_sizes])
    given = [] if hx is None else [hx] if states == 1 else list(hx)
    given = [part if order is None else part[:, order] for part in given]
    outputs: Array | None = None
    finals: list[list[Array]] = [[] for _ in range(states)]
    for at in range(int(batch_sizes[0])):
        places = [int(starts[t]) + at for t, size in enumerate(batch_sizes) if size > at]
        first = [part[:, at] for part in given]
        state = [first if states > 1 else first[0]] if first else []
        out, last = kernel(w, {**p, "batch_first": False}, data[places], *state)
        outputs = np.zeros((len(data), out.shape[-1])) if outputs is None else outputs
        outputs[places] = out
        for kept, part in zip(finals, last if states > 1 else [last], strict=True):
            kept.append(part)
    ends = [np.stack(kept, axis=1) for kept in finals]
    ends = [part if back is None else part[:, back] for part in ends]
    return [outputs, batch_sizes, order, back, ends if states > 1 else ends[0]]


@layer(**_OPTIONS, nonlinearity="tanh")
def PackedRNN(w: Weights, p: Params, data: Array, sizes: Array, order: Any, back: Any, hx: Any = None) -> Any:
    """`RNN` on a packed sequence."""
    return _packed(RNN, 1, w, p, data, sizes, order, back, hx)


@layer(**_OPTIONS)
def PackedGRU(w: Weights, p: Params, data: Array, sizes: Array, order: Any, back: Any, hx: Any = None) -> Any:
    """`GRU` on a packed sequence."""
    return _packed(GRU, 1, w, p, data, sizes, order, back, hx)


@layer(**_OPTIONS)
def PackedLSTM(w: Weights, p: Params, data: Array, sizes: Array, order: Any, back: Any, hx: Any = None) -> Any:
    """`LSTM` on a packed sequence."""
    return _packed(LSTM, 2, w, p, data, sizes, order, back, hx)
