"""What this lesson claims, proved from the recorded arrays with numpy alone."""

import math

import numpy as np

CASES = ("matched", "quarter", "drawn")
WIDTHS = {"normal_4": 4, "normal_16": 16, "normal_64": 64}
RUNS = (*CASES, "silent", "narrow", "other_last_token", *WIDTHS)
ROUNDING = 1e-12  # relative to one, or to the largest of the scores
SCALED, RAW = 0, 1  # panels of scores, weights and entropies
EFFECT = 1e-6  # what counts as a change: a million times what rounding could cause


def check_everything_follows_by_hand(runs):
    """Scores, both kinds of weights, output and entropies follow row by row from queries, keys and values."""
    gaps = []
    for name in RUNS:
        run = runs[name]
        keys, values = run["input:keys"], run["input:values"]
        for row, query in enumerate(run["input:length"] * run["input:queries"]):
            raw = np.array([math.fsum(query * key) for key in keys])
            for kind, scores in ((SCALED, raw / math.sqrt(len(query))), (RAW, raw)):
                weights = _shares(scores[: row + 1])
                gaps.append(_gap(run["stack@ScaledDotProductAttention#0"][kind, row], scores))
                gaps.append(_gap(run["softmax"][kind, row, : row + 1], weights))
                gaps.append(_gap(run["output[1]"][kind, row], _entropy(weights)))
                if kind == SCALED:
                    gaps.append(_gap(run["output[0]"][row], weights @ values[: row + 1]))
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_later_keys_get_nothing(runs):
    """A key that comes after the query gets a weight of exactly zero, with the scale and without it."""
    later = [np.abs(np.triu(runs[name]["softmax"], 1)).max() for name in (*RUNS, "execution")]
    return {"measured": float(np.max(later)), "bound": 0.0, "sense": "<="}


def check_a_later_token_changes_no_earlier_row(runs):
    """Another last token alters the last row of the output, and leaves all rows before it the same bits.

    Query, key and value of the last position are all other ones.
    """
    before, after = (runs[name]["output[0]"] for name in ("narrow", "other_last_token"))
    untouched = np.array_equal(before[:-1], after[:-1])
    return {"measured": _gap(before[-1], after[-1]) if untouched else 0.0, "bound": EFFECT, "sense": ">="}


def check_silent_queries_give_even_rows(runs):
    """Where the queries are zero, row n has n weights of 1/n each, and an entropy of log n."""
    run, gaps = runs["silent"], []
    for row in range(4):
        gaps.append(np.abs(run["softmax"][:, row, : row + 1] - 1 / (row + 1)).max())
        gaps.append(np.abs(run["output[1]"][:, row] - math.log(row + 1)).max())
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_sign_rows_have_closed_forms(runs):
    """Where queries and keys are rows of signs at right angles, weights and entropies are those of one formula.

    The own key scores s and each of the n earlier ones zero, so with z = exp(s) + n the own weight is exp(s)/z and
    the entropy log z - s·exp(s)/z. Without the scale s is the width, or a quarter of it with queries a quarter as
    long.
    """
    gaps = []
    for name, width, score in (("matched", 16, 16), ("quarter", 16, 4), ("narrow", 4, 4)):
        for kind, own_score in ((SCALED, score / math.sqrt(width)), (RAW, score)):
            for row in range(4):
                total = math.exp(own_score) + row
                own = math.exp(own_score) / total
                gaps.append(abs(runs[name]["softmax"][kind, row, row] - own))
                gaps.append(abs(runs[name]["output[1]"][kind, row] - (math.log(total) - own_score * own)))
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_the_scale_takes_the_width_out(runs):
    """For normally distributed queries and keys the mean square of the scores is the width, and after scaling it is 1.

    The mean square of the n² inner products of n queries and n keys of width d is d on average, with a relative
    standard error of sqrt(4/(n·d) + 2·(1 + 1/d)/n²): the first part comes from the lengths of the vectors, the second
    from their angles. Measured is the largest deviation in units of that error, over three widths.
    """
    parts = []
    for name, width in WIDTHS.items():
        run = runs[name]
        scaled, raw = run["stack@ScaledDotProductAttention#0"]
        error = math.sqrt(4 / (len(raw) * width) + 2 * (1 + 1 / width) / raw.size)
        parts += [abs(np.mean(raw**2) / width - 1) / error, abs(np.mean(scaled**2) - 1) / error]
    return {"measured": float(np.max(parts)), "bound": 4.0, "sense": "<="}


def metric_scaled_spread(scores):
    """The root of the mean square of the scores with the scale."""
    return math.sqrt(np.mean(scores[SCALED] ** 2))


def metric_raw_spread(scores):
    """The root of the mean square of the scores without the scale."""
    return math.sqrt(np.mean(scores[RAW] ** 2))


def _gap(one, other):
    """The largest difference between two arrays of one shape, relative to the second where that is above one."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        raise ValueError(f"shapes {one.shape} and {other.shape} cannot be compared")
    return float(np.max(np.abs(one - other)) / max(1.0, np.max(np.abs(other))))


def _shares(scores):
    """The softmax of one row."""
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def _entropy(weights):
    """The entropy of one row in nats."""
    return -math.fsum(weight * math.log(weight) for weight in weights if weight > 0)
