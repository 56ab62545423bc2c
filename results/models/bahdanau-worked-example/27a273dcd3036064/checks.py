"""What this lesson claims, proved from the recorded arrays with numpy alone."""

import json
import math
from decimal import Decimal
from pathlib import Path

import numpy as np

RUNS = ("execution", "chapter", "zero", "turned", "tenfold", "hundredfold")  # all of them in double precision
ROUNDING = 1e-12  # far above float64 rounding in sums this short
LOVE, CATS = 1, 2  # places of the words
PRINTED = json.loads(Path(__file__).with_name("reference.json").read_text(encoding="utf-8"))["digits"]["chapter"]
ADDRESSES = {
    "projected_state": "alignment.state_projection",
    "scores": "squeeze@alignment#0",
    "weights": "alignment.softmax",
    "context": "output[0]",
    "cosine": "output[1]",
}


def check_figures_are_those_that_were_printed(runs):
    """Every figure that the chapter prints is ours when ours is rounded to the chapter's digits.

    Measured in units of the last printed digit: rounding moves a number by half of one at most. The difference to the
    annotation of "love" is printed alone.
    """
    run, gaps = runs["chapter"], []
    for name, address in ADDRESSES.items():
        gaps += [_units(value, text) for value, text in zip(run[address], PRINTED[name], strict=True)]
    gaps.append(_units(run["output[2]"][LOVE], PRINTED["difference"][LOVE]))
    return {"measured": float(np.max(gaps)), "bound": 0.5, "sense": "<="}


def check_every_stage_follows_by_hand(runs):
    """Projections, scores, weights, context and both comparisons follow from the given numbers by plain arithmetic."""
    gaps = []
    for name in RUNS:
        run = runs[name]
        stages = _by_hand(run)
        gaps += [_gap(run[address], stages[stage]) for stage, address in ADDRESSES.items()]
        gaps.append(_gap(run["output[2]"], stages["difference"]))
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_no_state_lets_cats_lead(runs):
    """Whatever the decoder's state, "love" scores above "cats".

    Both scores add up the same three functions of a joint feature, v_k · tanh(x), each rising where v_k is positive
    and falling where it is negative; the state moves both words by the same amount. So it is enough that in each
    feature "love" lies on the better side. Measured is the smallest such lead, which counts only if "love" also led
    in every run. Weights and annotations have one decimal, so a lead is 0.01 at least.
    """
    run = runs["chapter"]
    keys = run["alignment.annotation_projection"]  # [3 words, 3]
    lead = np.sign(run["param:alignment.score.weight"][0]) * (keys[LOVE] - keys[CATS])
    led = all(runs[name]["alignment.softmax"][LOVE] > runs[name]["alignment.softmax"][CATS] for name in RUNS)
    return {"measured": float(lead.min()) if led else 0.0, "bound": 0.01 - ROUNDING, "sense": ">="}


def check_a_long_state_evens_out(runs):
    """A hundred times the chapter's state leaves every word a third, within what the saturated tanh allows.

    The projected state is then (6, 45, -59), and no projected annotation has a feature beyond 0.74. So before tanh each
    joint feature is at least 5.26 in size with one sign for all words, and after it within 2·exp(-10.52) of 1 or of -1.
    Two scores then differ by d = 4·exp(-10.52)·Σ|v| at most, and no share is further than (exp(d) - 1)/3 from a third.
    """
    gap = np.abs(runs["hundredfold"]["alignment.softmax"] - 1 / 3).max()
    bound = math.expm1(4 * math.exp(-10.52) * (0.5 + 0.3 + 0.4)) / 3
    return {"measured": float(gap), "bound": bound, "sense": "<="}


def _units(value, text):
    """How far a number lies from a printed one, in units of its last digit."""
    decimals = -Decimal(text).as_tuple().exponent
    return float(abs(Decimal(float(value)) - Decimal(text)) * 10**decimals)


def _gap(one, other):
    """The largest difference between an array and a list of one length."""
    return float(np.max([abs(a - b) for a, b in zip(one, other, strict=True)]))


def _by_hand(run):
    """Every stage as plain numbers, one multiplication at a time."""
    words, state = run["input:annotations"].tolist(), run["input:state"].tolist()
    w, u = (run[f"param:alignment.{name}_projection.weight"].tolist() for name in ("state", "annotation"))
    v = run["param:alignment.score.weight"][0].tolist()
    query = [_dot(row, state) for row in w]
    scores = [_dot(v, [math.tanh(q + _dot(row, word)) for q, row in zip(query, u, strict=True)]) for word in words]
    powers = [math.exp(score) for score in scores]
    weights = [power / sum(powers) for power in powers]
    context = [_dot(weights, column) for column in zip(*words, strict=True)]
    cosine = [_dot(word, context) / math.hypot(*word) / math.hypot(*context) for word in words]
    difference = [sum(abs(a - b) for a, b in zip(word, context, strict=True)) / len(word) for word in words]
    return {"projected_state": query, "scores": scores, "weights": weights, "context": context, "cosine": cosine,
            "difference": difference}  # fmt: skip


def _dot(one, other):
    """The sum of the products of two lists."""
    return sum(a * b for a, b in zip(one, other, strict=True))
