"""What this lesson claims, proved from the recorded arrays with numpy alone."""

import math

import numpy as np

RUNS = ("alike", "neighbour", "faint", "tuned", "drawn")
WRITTEN, BUILT_IN, BATCH = 0, 1, 2  # the ways, as they are stacked
EPSILON = 1e-5
PATTERN = np.array([5.0, 2.0, 8.0, 4.0, 6.0])  # token 0: mean 5, variance 4
# The numbers are below 100, sums have five terms, and a division by the deviation (0.003 at least) comes last; each
# step rounds by 1e-16 of what it works on, which makes some 1e-13 together.
ROUNDING = 1e-12
EFFECT = 1e-3  # what counts as a change: a thousand million times what rounding could cause


def check_steps_match_sums_by_hand(runs):
    """Mean, variance, normalised token and output are what sums over each single token give."""
    gaps = []
    for name in RUNS:
        run = runs[name]
        steps = [_normalise(token) for token in run["input:tokens"]]
        mean, variance, normalised = (np.array(step) for step in zip(*steps, strict=True))
        output = normalised * run["param:built_in.weight"] + run["param:built_in.bias"]
        gaps += [_gap(run["mean@written_out#0"][:, 0], mean), _gap(run["mean@written_out#1"][:, 0], variance)]
        gaps += [_gap(run["div@written_out#0"], normalised), _gap(run["output"][WRITTEN], output)]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_built_in_layer_agrees(runs):
    """The steps written out give what PyTorch's own layer gives, whatever tokens, gain and bias."""
    gaps = [_gap(runs[name]["output"][WRITTEN], runs[name]["output"][BUILT_IN]) for name in RUNS]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_shift_is_forgotten_and_scale_nearly(runs):
    """A token a·x + b comes out as (x − mean) / √(variance + ε / a²): b is gone, and a is left only beside ε.

    Tokens 0, 1 and 2 are one pattern times 1, 3 and 1, the last one moved by −10; in the faint case a is 1024 times
    smaller for all three.
    """
    gaps = []
    for name, factor in (("alike", 1.0), ("faint", 1 / 1024)):
        scales = factor * np.array([1.0, 3.0, 1.0])
        expected = (PATTERN - 5) / np.sqrt(4 + EPSILON / scales[:, None] ** 2)  # [3, 5]
        gaps.append(_gap(runs[name]["div@written_out#0"][:3], expected))
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_normalised_tokens_have_variance_just_below_one(runs):
    """Every normalised token has mean zero and the variance v / (v + ε), where v was its own."""
    defects = []
    for name in RUNS:
        for token, normalised in zip(runs[name]["input:tokens"], runs[name]["div@written_out#0"], strict=True):
            _, before, _ = _normalise(token)
            mean, after, _ = _normalise(normalised)
            defects += [abs(mean), abs(after - before / (before + EPSILON))]
    return {"measured": float(np.max(defects)), "bound": ROUNDING, "sense": "<="}


def check_a_constant_token_leaves_only_the_bias(runs):
    """A token of five equal numbers is normalised to exact zeros, and its output is the bias, bit for bit."""
    gaps = []
    for name in ("alike", "faint", "tuned"):
        run = runs[name]
        gaps += [np.abs(run["div@written_out#0"][3]).max(), _gap(run["output"][WRITTEN][3], run["param:built_in.bias"])]
    return {"measured": float(np.max(gaps)), "bound": 0.0, "sense": "<="}


def check_neighbours_matter_to_batch_normalisation_only(runs):
    """Another token 3 leaves tokens 0 to 2 the same bits in layer normalisation and moves each in batch normalisation.

    Measured is the smallest move among the three. It counts only if batch normalisation was, in every run, by the mean
    and variance of each feature over the tokens.
    """
    before, after = runs["alike"]["output"], runs["neighbour"]["output"]
    kept = all(np.array_equal(before[way, :3], after[way, :3]) for way in (WRITTEN, BUILT_IN))
    sound = all(_gap(runs[name]["output"][BATCH], _across(runs[name]["input:tokens"])) <= ROUNDING for name in RUNS)
    moved = [_gap(before[BATCH, token], after[BATCH, token]) for token in range(3)]
    return {"measured": float(np.min(moved)) if kept and sound else 0.0, "bound": EFFECT, "sense": ">="}


def metric_agreement(ways):
    """The largest difference between the steps written out and PyTorch's own layer."""
    return np.abs(ways[WRITTEN] - ways[BUILT_IN]).max()


def _gap(one, other):
    """The largest difference between two arrays of one shape."""
    if one.shape != other.shape:
        raise ValueError(f"shapes {one.shape} and {other.shape} cannot be compared")
    return float(np.max(np.abs(one - other)))


def _normalise(numbers):
    """Mean, variance and normalised numbers, from sums without rounding in between."""
    mean = math.fsum(numbers) / len(numbers)
    variance = math.fsum((x - mean) ** 2 for x in numbers) / len(numbers)
    return mean, variance, [(x - mean) / math.sqrt(variance + EPSILON) for x in numbers]


def _across(tokens):
    """Each feature normalised over the tokens [tokens, 5], which is batch normalisation."""
    return np.array([_normalise(feature)[2] for feature in tokens.T]).T
