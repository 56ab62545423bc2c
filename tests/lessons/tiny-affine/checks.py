"""What the line claims, in numpy alone."""

import numpy as np


def check_result_is_a_quarter_of_the_shifted_map(runs):
    """The result is a quarter of the shifted map, computed by hand.

    For every case.
    """
    gaps = []
    for name in ("plain", "moved"):
        run = runs[name]
        by_hand = (run["input:points"] @ run["param:line.weight"].T + run["param:line.bias"] + run["input:shift"]) / 4
        gaps.append(np.max(np.abs(run["output[0]"] - by_hand)))
    return {"measured": float(np.max(gaps)), "bound": 1e-12, "sense": "<="}


def check_the_shift_moves_every_number(runs):
    """Another shift moves every number of the result."""
    moved = np.min(np.abs(runs["moved"]["halve#1"] - runs["plain"]["halve#1"]))
    return {"measured": float(moved), "bound": 0.5, "sense": ">="}


def metric_spread(values):
    """The distance between the largest and the smallest number."""
    return np.max(values) - np.min(values)
