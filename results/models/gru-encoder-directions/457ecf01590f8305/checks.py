"""What this lesson claims, proved from the recorded arrays with numpy alone."""

import numpy as np

CASES = ("plain", "lasting", "fleeting", "mirror")
CHANGED = tuple(f"changed_{word}" for word in range(5))
RUNS = (*CASES, "still", "closed", "shared", "reversed", *CHANGED)
ROUNDING = 1e-12  # far above float64 rounding in sums this short, far below any effect of interest
EFFECT = 1e-4  # what counts as an influence: a hundred million times what rounding could cause
HIDDEN = 3


def check_states_by_hand(runs):
    """Annotations and influences are those of two GRUs computed by hand, one reading each way, reset gate outside."""
    gaps = []
    for name in RUNS:
        run = runs[name]
        sentences = _sentences(run)
        states = np.array([_both(run, words, _torch_order) for words in sentences])  # [6, position, 6]
        change = (states[1:] - states[0]).reshape(5, 5, 2, HIDDEN)  # [pushed word, position, direction, 3]
        halves = np.sqrt((change**2).sum(axis=3)).transpose(2, 1, 0)  # [direction, position, pushed word]
        gaps += [_gap(run["output[0]"], states[0]), _gap(run["output[1]"], halves)]
        gaps.append(_gap(run["output[2]"], np.sqrt((halves**2).sum(axis=0))))
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_reset_gate_stands_outside(runs):
    """With the reset gate inside the recurrent matrix, as in the paper, the same weights give other annotations.

    Measured is the smallest such difference over the cases; it counts only if PyTorch's order fits them all.
    """
    fits, misses = [], []
    for name in CASES:
        run = runs[name]
        words = run["input:words"][0]
        fits.append(_gap(run["output[0]"], _both(run, words, _torch_order)))
        misses.append(_gap(run["output[0]"], _both(run, words, _paper_order)))
    return {"measured": float(np.min(misses)) if max(fits) <= ROUNDING else 0.0, "bound": EFFECT, "sense": ">="}


def check_no_direction_looks_ahead(runs):
    """A word that a direction has not read yet moves its state by exactly zero, in every run."""
    ahead = [np.triu(runs[name]["output[1]"][0], 1) for name in RUNS]
    ahead += [np.tril(runs[name]["output[1]"][1], -1) for name in RUNS]
    return {"measured": float(np.max(np.abs(ahead))), "bound": 0.0, "sense": "<="}


def check_every_word_met_leaves_a_trace(runs):
    """A word that was read moves the state, in each direction; both together are moved by every word, everywhere."""
    traces = []
    for name in CASES:
        left, right = runs[name]["output[1]"]
        traces += [left[np.tril_indices(5)], right[np.triu_indices(5)], runs[name]["output[2]"].ravel()]
    return {"measured": float(np.min(np.concatenate(traces))), "bound": EFFECT, "sense": ">="}


def check_nothing_moves_without_a_cause(runs):
    """Without a push nothing moves, and with the update gates at one no word ever changes the state: all is exactly 0.

    An update gate at 1 keeps the first state, which is zero, so those annotations are 0 as well.
    """
    still = [runs["still"][f"output[{at}]"] for at in (1, 2)]
    closed = [runs["closed"][f"output[{at}]"] for at in (0, 1, 2)]
    return {"measured": float(max(np.abs(values).max() for values in still + closed)), "bound": 0.0, "sense": "<="}


def check_mirror(runs):
    """Under shared weights a palindrome's two tables are each other rotated by 180 degrees, to the last bit.

    The same for another sentence and its reversal: positions and halves change places.
    """
    left, right = runs["mirror"]["output[1]"]
    there, back = (np.split(runs[name]["output[0]"], 2, axis=1) for name in ("shared", "reversed"))
    gaps = [_gap(left, right[::-1, ::-1]), _gap(there[0], back[1][::-1]), _gap(there[1], back[0][::-1])]
    return {"measured": float(np.max(gaps)), "bound": 0.0, "sense": "<="}


def check_runs_of_their_own_agree(runs):
    """Five more runs, each given a sentence with one changed word, differ from the plain run as the tables say."""
    gaps = []
    for word, name in enumerate(CHANGED):
        change = runs[name]["output[0]"] - runs["plain"]["output[0]"]  # [position, 6]
        gaps.append(_gap(np.sqrt((change**2).sum(axis=1)), runs["plain"]["output[2]"][:, word]))
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def _gap(one, other):
    """The largest difference between two arrays of one shape."""
    if one.shape != other.shape:
        raise ValueError(f"shapes {one.shape} and {other.shape} cannot be compared")
    return float(np.max(np.abs(one - other)))


def _sentences(run):
    """The plain sentence and those with one word pushed: six of [5, 2]."""
    plain = run["input:words"][0]
    sentences = [plain]
    for word in range(len(plain)):
        changed = plain.copy()
        changed[word] += run["input:push"][0]
        sentences.append(changed)
    return sentences


def _both(run, words, candidate):
    """The annotations [5, 6] of one sentence: the states from the left beside those from the right."""
    left = _read(run, words, "from_left", candidate)
    right = _read(run, words[::-1], "from_right", candidate)[::-1]
    return np.concatenate([left, right], axis=1)


def _read(run, words, which, candidate):
    """The state [5, 3] after each word; gates are stacked as reset, update, new."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    w, u, b, d = (np.split(run[f"param:{which}.{name}_l0"], 3) for name in names)
    state, states = np.zeros(HIDDEN), []
    for word in words:
        reset, update = (_logistic(w[gate] @ word + b[gate] + u[gate] @ state + d[gate]) for gate in (0, 1))
        new = np.tanh(w[2] @ word + b[2] + candidate(reset, u[2], state, d[2]))
        state = (1 - update) * new + update * state
        states.append(state)
    return np.array(states)


def _torch_order(reset, matrix, state, bias):
    """The recurrent part of the candidate with the reset gate outside the matrix."""
    return reset * (matrix @ state + bias)


def _paper_order(reset, matrix, state, bias):
    """The same with the gate inside the matrix, as Cho and others have it."""
    return matrix @ (reset * state) + bias


def _logistic(x):
    """The logistic function, through the hyperbolic tangent so that nothing overflows far out."""
    return (1 + np.tanh(x / 2)) / 2
