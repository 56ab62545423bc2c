"""Where the fit must end, by the normal equations."""

import numpy as np

X = np.arange(8) / 4 - 1
Y = np.array([0.5, -1.25, 2.0, 0.0, 1.5, -0.5, 3.0, 1.0])


def check_training_ends_at_least_squares(runs):
    """After training the line is the one of least squares.

    float32 steps stop moving within some units of the last place of numbers near one, times the condition of the fit.
    """
    slope, intercept = np.linalg.lstsq(np.stack([X, np.ones(8)], axis=1), Y, rcond=None)[0]
    gap = np.abs(runs["after"]["output"][:, 0] - (slope * X + intercept))
    return {"measured": float(gap.max()), "bound": 1e-5, "sense": "<="}


def check_training_lowers_the_loss(runs):
    """Every stage misses the points by less than the one before."""
    losses = [float(((runs[name]["output"][:, 0] - Y) ** 2).mean()) for name in ("before", "halfway", "after")]
    return {"measured": float(min(losses[0] - losses[1], losses[1] - losses[2])), "bound": 1e-3, "sense": ">="}
