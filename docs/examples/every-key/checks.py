"""What the lesson claims, in numpy alone."""

import numpy as np


def check_the_result_is_the_scaled_line(runs):
    """The result is the line with all that was added, within its bounds, times the gain."""
    gaps = []
    for name in ("plain", "shifted"):
        run = runs[name]
        moved = run["input:points"] @ run["param:line.weight"].T + run["param:line.bias"] + run["input:shift"]
        moved = moved + 0.5 * run["input:extra.offset"] + run["input:terms.0"] + run["input:terms.1"]
        gaps.append(np.max(np.abs(run["output[0]"] - np.clip(moved, -2, 2) * run["param:gain"])))
    return {"measured": float(np.max(gaps)), "bound": 1e-12, "sense": "<="}


def check_without_a_gain_nothing_is_left(runs):
    """A gain of zero leaves nothing."""
    return {"measured": float(np.max(np.abs(runs["silent"]["output[0]"]))), "bound": 0.0, "sense": "<="}


def metric_spread(values):
    """The distance between the largest and the smallest number."""
    return np.max(values) - np.min(values)
