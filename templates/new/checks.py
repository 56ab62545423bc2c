"""What must be true of the recorded numbers, by arithmetic of its own: numpy, without torch."""

import numpy as np


def check_shares_follow_from_the_scores(runs):
    """The shares are what the formula gives, in every case."""
    gaps = []
    for case in ("plain", "cold", "hot"):
        weights = np.exp(runs[case]["score"] / runs[case]["input:temperature"])
        gaps.append(np.max(np.abs(runs[case]["output"] - weights / weights.sum())))
    return {"measured": float(np.max(gaps)), "bound": 1e-12, "sense": "<="}


def check_a_colder_choice_is_sharper(runs):
    """The largest share grows when the temperature falls."""
    largest = {case: np.max(runs[case]["output"]) for case in ("plain", "cold", "hot")}
    steps = [largest["cold"] - largest["plain"], largest["plain"] - largest["hot"]]
    return {"measured": float(np.min(steps)), "bound": 0.05, "sense": ">="}
