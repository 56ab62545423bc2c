"""What this lesson claims, proved from the recorded arrays with numpy alone."""

import math

import numpy as np

CASES = ("aligned", "tenfold", "towards_a", "across")
RUNS = (*CASES, "identity")
ROUNDING = 1e-12  # far above float64 rounding in sums this short
EFFECT = 1e-6  # what counts as a change: a million times what rounding could cause
DOT, GENERAL, CONCAT = 0, 1, 2  # rows of the scores


def check_scores_follow_their_formulas(runs):
    """Each score of each position follows by hand: s · h, s · W h, and v · tanh(W [s; h])."""
    gaps = []
    for name in RUNS:
        run = runs[name]
        for position, word in enumerate(run["input:annotations"]):
            gaps += list(np.abs(run["stack@ThreeScores#0"][:, position] - _scores(run, word)))
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_attentional_states_follow_from_scores(runs):
    """From the recorded scores, weights, contexts and attentional states follow by hand, up to the output."""
    gaps = []
    for name in RUNS:
        run = runs[name]
        for row, scores in enumerate(run["stack@ThreeScores#0"]):
            powers = [math.exp(score) for score in scores]
            weights = [power / sum(powers) for power in powers]
            context = sum(weight * word for weight, word in zip(weights, run["input:annotations"], strict=True))  # [4]
            mixed = np.tanh(run["param:mix.weight"] @ np.concatenate([context, run["input:state"]]))  # [4]
            pairs = (("softmax", weights), ("matmul@ThreeScores#1", context), ("output", mixed))
            gaps += [np.abs(run[address][row] - by_hand).max() for address, by_hand in pairs]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_dot_weights_have_closed_forms(runs):
    """The dot weights are those of scores known beforehand, because the annotations a, b and c are at right angles.

    Towards b the scores are 0, 1, 0, 0, ten times as much with the longer state, towards a they are 1, 0, 0, 2, and
    across all annotations they are zero and each weight is a quarter.
    """
    known = {"aligned": [0, 1, 0, 0], "tenfold": [0, 10, 0, 0], "towards_a": [1, 0, 0, 2], "across": [0, 0, 0, 0]}
    gaps = []
    for name, scores in known.items():
        powers = [math.exp(score) for score in scores]
        weights = runs[name]["softmax"][DOT]
        gaps += [abs(weight - power / sum(powers)) for weight, power in zip(weights, powers, strict=True)]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_dot_and_general_are_proportional(runs):
    """Dot and general scores grow in proportion: ten times with the state, twice with an annotation twice as long."""
    once, tenfold = (runs[name]["stack@ThreeScores#0"] for name in ("aligned", "tenfold"))
    gaps = [np.abs(tenfold[row] - 10 * once[row]).max() for row in (DOT, GENERAL)]
    for name in RUNS:
        a, *_, twice_a = runs[name]["stack@ThreeScores#0"].T  # [3] each
        gaps += [abs(twice_a[row] - 2 * a[row]) for row in (DOT, GENERAL)]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_concat_is_bounded(runs):
    """No concat score is larger than the sum of the sizes in v, however long state and annotation are.

    Measured is how near a score comes to that bound, as a part of it, in the run that comes nearest.
    """
    parts = []
    for name in RUNS:
        most = np.abs(runs[name]["param:concat.score.weight"]).sum()
        parts.append(np.abs(runs[name]["stack@ThreeScores#0"][CONCAT]).max() / most)
    return {"measured": float(np.max(parts)), "bound": 1.0, "sense": "<="}


def check_length_sharpens_dot_and_blunts_concat(runs):
    """With ten times the state the dot weights spread further apart and the concat weights come closer together.

    Measured is the smaller of the two changes in the distance between the largest and the smallest weight.
    """
    once, tenfold = (np.ptp(runs[name]["softmax"], axis=1) for name in ("aligned", "tenfold"))  # [3] each
    change = min(tenfold[DOT] - once[DOT], once[CONCAT] - tenfold[CONCAT])
    return {"measured": float(change), "bound": EFFECT, "sense": ">="}


def check_general_holds_dot_as_a_special_case(runs):
    """With the identity as its matrix the general score is the dot score, and otherwise it is not.

    Measured is how far the two are apart with the drawn matrix, which counts only if the identity makes them equal.
    """
    special, drawn = (runs[name]["stack@ThreeScores#0"] for name in ("identity", "towards_a"))
    equal = np.array_equal(special[DOT], special[GENERAL])
    apart = np.abs(drawn[DOT] - drawn[GENERAL]).max()
    return {"measured": float(apart) if equal else 0.0, "bound": EFFECT, "sense": ">="}


def metric_dot_peak(weights):
    """The largest weight under the dot score."""
    return weights[DOT].max()


def metric_general_peak(weights):
    """The largest weight under the general score."""
    return weights[GENERAL].max()


def metric_concat_peak(weights):
    """The largest weight under the concat score."""
    return weights[CONCAT].max()


def _scores(run, word):
    """The three scores of one annotation by hand."""
    state = run["input:state"]
    hidden = [math.tanh(_dot(row, [*state, *word])) for row in run["param:concat.joint.weight"]]
    turned = [_dot(row, word) for row in run["param:general.projection.weight"]]
    return [_dot(state, word), _dot(state, turned), _dot(run["param:concat.score.weight"][0], hidden)]


def _dot(one, other):
    """The sum of the products of two lists."""
    return sum(float(a) * float(b) for a, b in zip(one, other, strict=True))
