"""What this lesson claims, proved from the recorded arrays with numpy alone."""

import itertools

import numpy as np

GIVEN = ("never", "half", "overwrite", "usual")  # runs with hand-made gates
RUNS = (*GIVEN, "drawn")
ROUNDING = 1e-12  # far above float64 rounding in sums this short, far below any effect of interest
EFFECT = 1e-3  # what counts as a miss: a thousand million times what rounding could cause
CELLS = 2
HELD = ((0, 4), (4, 7))  # steps from a write to before the next one
OPEN, SHUT = [3, 6], [0, 1, 2, 4, 5]  # steps at which what is held is to be shown, and the others


def check_gates_are_the_cell(runs):
    """The written-out gates, the cell state and the hidden state are, at every step, what the formulas give by hand.

    By hand the cell is run from zeros, from the parts' own weights; compared are all four parts, the written-out
    memory and output, and those of PyTorch's cell.
    """
    gaps = []
    for name in RUNS:
        run = runs[name]
        parts = {part: _part(run, part) for part in ("input", "forget", "candidate", "output")}
        told = _recur(_tokens(run), parts)
        seen = {part: run[f"gates.{part}.1"][0] for part in parts}
        seen |= {"shown": run["output[0]"][0], "memory": run["output[1]"][0]}
        gaps += [_gap(seen[part], told[part]) for part in seen]
        gaps += [_gap(run["cell[0]#*"][:, 0], told["shown"]), _gap(run["cell[1]#*"][:, 0], told["memory"])]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_stacked_order(runs):
    """PyTorch's cell stacks its weights as input, forget, candidate, output."""
    gaps = []
    for name in RUNS:
        told = _recur(_tokens(runs[name]), _stacked(runs[name], (0, 1, 2, 3)))
        gaps += [
            _gap(runs[name]["cell[0]#*"][:, 0], told["shown"]),
            _gap(runs[name]["cell[1]#*"][:, 0], told["memory"]),
        ]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_no_other_order_fits(runs):
    """Read in any of the 23 other orders, random weights give another cell state; measured is the nearest miss."""
    run = runs["drawn"]
    others = [order for order in itertools.permutations(range(4)) if order != (0, 1, 2, 3)]
    memory = run["cell[1]#*"][:, 0]
    misses = [_gap(memory, _recur(_tokens(run), _stacked(run, order))["memory"]) for order in others]
    return {"measured": float(np.min(misses)), "bound": EFFECT, "sense": ">="}


def check_each_gate_obeys_one_feature(runs):
    """With weights set by hand the input gate is the feature “write”, the output gate is “read”, to the last bit.

    The forget gate is the logistic function of what it is told, at all steps and whatever was shown before.
    """
    gaps = []
    for name in GIVEN:
        run = runs[name]
        _, write, show, keep = _tokens(run).T[:, :, None]  # each [7, 1]
        sound = not np.any(run["gates.input.1"][0] - write) and not np.any(run["gates.output.1"][0] - show)
        told = np.tile(1 / (1 + np.exp(-keep)), (1, CELLS))
        gaps.append(_gap(run["gates.forget.1"][0], told) if sound else 1.0)
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_open_forget_gate_holds_every_bit(runs):
    """With the forget gate at one and the input gate at zero, what is held does not change by a single bit.

    It counts only if the gates are exactly one and zero there and what is held is not near zero.
    """
    run, worst = runs["never"], 0.0
    memory = run["cell[1]#*"][:, 0]
    for start, end in HELD:
        shut = not run["gates.input.1"][0, start + 1 : end].any()
        sound = shut and np.all(run["gates.forget.1"] == 1) and np.abs(memory[start]).min() >= 0.1
        moved = _gap(memory[start:end], np.tile(memory[start], (end - start, 1)))
        worst = max(worst, moved if sound else 1.0)
    return {"measured": worst, "bound": 0.0, "sense": "<="}


def check_memory_fades_by_powers(runs):
    """Under a constant forget gate f, after n steps without a write the fraction f to the power n is left.

    f is the logistic function of what the gate was told: exactly one half for 0, and 0.731… for 1.
    """
    gaps = []
    for name, told in (("half", 0.0), ("usual", 1.0), ("never", 40.0)):
        memory = runs[name]["cell[1]#*"][:, 0]
        keep = 1 / (1 + np.exp(-told))
        for start, end in HELD:
            shares = memory[start:end] / memory[start]
            gaps.append(_gap(shares, np.tile(keep ** np.arange(end - start)[:, None], (1, CELLS))))
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_second_write_adds_or_replaces(runs):
    """The second write is added to the old number, or replaces it where the forget gate closes at that step.

    Both runs are equal until then, so their memories differ by exactly what the first run had held; that must not be
    near zero.
    """
    added, replaced = (runs[name]["cell[1]#*"][:, 0] for name in ("never", "overwrite"))
    new = runs["overwrite"]["gates.candidate.1"][0, 4]
    gaps = [_gap(added[:4], replaced[:4]), _gap(replaced[4], new), _gap(added[4], added[3] + new)]
    sound = np.abs(added[3]).min() >= 0.1
    return {"measured": float(np.max(gaps)) if sound else 1.0, "bound": ROUNDING, "sense": "<="}


def check_output_gate_hides_or_shows(runs):
    """The hidden state is exactly zero where the output gate is closed, and tanh of the cell state where it is open.

    It fails where no cell holds as much as a twentieth, for there is nothing to hide or to show then.
    """
    gaps = []
    for name in GIVEN:
        shown, memory = runs[name]["cell[0]#*"][:, 0], runs[name]["cell[1]#*"][:, 0]
        sound = np.abs(memory).max(axis=1).min() >= 0.05 and not shown[SHUT].any()
        gaps.append(_gap(shown[OPEN], np.tanh(memory[OPEN])) if sound else 1.0)
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def _gap(one, other):
    """The largest difference between two arrays of one shape."""
    if one.shape != other.shape:
        raise ValueError(f"shapes {one.shape} and {other.shape} cannot be compared")
    return float(np.max(np.abs(one - other)))


def _tokens(run):
    """The tokens [7, 4]: value, write, read and keep."""
    return np.concatenate([run["input:tokens"][0], run["input:keep"][0]], axis=1)


def _part(run, name):
    """Weight [2, 6] and bias [2] of one written-out part."""
    return run[f"param:gates.{name}.0.weight"], run[f"param:gates.{name}.0.bias"]


def _stacked(run, order):
    """The four parts from PyTorch's stacked weights, where `order` says at which place each of them lies."""
    weight = np.concatenate([run["param:cell.weight_ih"], run["param:cell.weight_hh"]], axis=1)  # [8, 6]
    bias = run["param:cell.bias_ih"] + run["param:cell.bias_hh"]  # [8]
    rows = [slice(place * CELLS, (place + 1) * CELLS) for place in order]
    names = ("input", "forget", "candidate", "output")
    return {name: (weight[row], bias[row]) for name, row in zip(names, rows, strict=True)}


def _recur(tokens, parts):
    """All parts, the memory and the output after each token, from zeros: each [7, 2]."""
    shown, memory = np.zeros(CELLS), np.zeros(CELLS)
    told = {name: [] for name in (*parts, "memory", "shown")}
    for token in tokens:
        seen = np.concatenate([token, shown])
        bend = {name: np.tanh if name == "candidate" else _logistic for name in parts}
        now = {name: bend[name](weight @ seen + bias) for name, (weight, bias) in parts.items()}
        memory = now["forget"] * memory + now["input"] * now["candidate"]
        shown = now["output"] * np.tanh(memory)
        for name, value in {**now, "memory": memory, "shown": shown}.items():
            told[name].append(value)
    return {name: np.array(values) for name, values in told.items()}


def _logistic(x):
    """The logistic function, through the hyperbolic tangent so that nothing overflows far out."""
    return (1 + np.tanh(x / 2)) / 2
