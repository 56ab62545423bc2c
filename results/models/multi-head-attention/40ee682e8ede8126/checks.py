"""What this lesson claims, proved from the recorded arrays with numpy alone."""

import math

import numpy as np

HEADS = {"one_head": 1, "one_head_by_hand": 1, "four_heads": 4}  # every other run has two
RUNS = (
    "drawn", "loud", "zero", "built", "pairs_reordered", "keys_reordered", "queries_reordered", "other_places",
    "one_head", "one_head_by_hand", "four_heads",
)  # fmt: skip
WIDTH = 8  # features of a word
ORDER = [2, 0, 3, 1]  # how the probes reorder the four words that are looked at
QUERY_ORDER = [2, 0, 1]  # and the three that look
# Sums of at most eight terms below 100 differ by some 1e-13 at most through rounding; this is ten times as much.
ROUNDING = 1e-12
EFFECT = 1e-3  # what counts as a change: a thousandth of a feature, a thousand million times what rounding could cause


def check_each_head_follows_the_formula(runs):
    """In each head the weights are softmax(q · k / √d) of that head's own slices, and its result the values so mixed.

    Each head is computed as the paper writes it, with a matrix of its own: rows of the stacked one.
    """
    gaps = []
    for name in RUNS:
        contexts, weights = _attend(runs[name], HEADS.get(name, 2))
        gaps += [_gap(runs[name]["attention.softmax"][0], weights), _gap(runs[name]["attention[0]"][0], contexts)]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_order_of_heads_matters(runs):
    """The output is each head's result times that head's columns of the last matrix, added up; swapped heads miss it.

    Measured is the smallest change that a swap of the two heads would make in a case with two different heads. It
    counts only if every output was that sum within rounding.
    """
    sound = all(_gap(runs[name]["output"][0], _mix(runs[name])) <= ROUNDING for name in RUNS)
    swapped = [_gap(runs[name]["output"][0], _mix(runs[name], swap=True)) for name in ("drawn", "loud", "built")]
    return {"measured": float(np.min(swapped)) if sound else 0.0, "bound": EFFECT, "sense": ">="}


def check_words_may_be_reordered_together(runs):
    """Keys and values reordered together leave the output as it was, and the weights follow; keys alone do not.

    A sum over words has no order. The run with only its keys reordered must move the output, else nothing is shown.
    """
    before, after = runs["loud"], runs["pairs_reordered"]
    output = _gap(before["output"], after["output"])
    weights = _gap(before["attention.softmax"][..., ORDER], after["attention.softmax"])
    moved = _gap(before["output"], runs["keys_reordered"]["output"]) >= EFFECT
    return {"measured": float(np.max([output, weights])) if moved else math.inf, "bound": ROUNDING, "sense": "<="}


def check_each_query_keeps_its_row(runs):
    """Queries in another order give the same rows of output in that order: no query knows of the others."""
    before, after = runs["loud"]["output"][0], runs["queries_reordered"]["output"][0]  # [3, 8] each
    told_apart = min(_gap(before[0], before[1]), _gap(before[1], before[2]), _gap(before[2], before[0])) >= EFFECT
    gap = _gap(before[QUERY_ORDER], after)
    return {"measured": gap if told_apart else math.inf, "bound": ROUNDING, "sense": "<="}


def check_a_zero_query_takes_the_mean(runs):
    """A query of zeros weighs each word with exactly a quarter in each head, and gets what the mean value gives."""
    run = runs["zero"]
    mean = run["input:values"][0].mean(axis=0)  # [8]
    expected = run["param:output_projection.weight"] @ (run["param:value_projection.weight"] @ mean)  # [8]
    gap = _gap(run["output"][0], np.tile(expected, (3, 1)))
    even = bool((run["attention.softmax"] == 0.25).all())
    return {"measured": gap if even else math.inf, "bound": ROUNDING, "sense": "<="}


def check_hand_set_heads_find_word_and_place(runs):
    """With the weights set by hand, head 0 finds the same word and head 1 the next place, with weights in closed form.

    A match scores 8 / √4 = 4 and everything else 0, so m matches of four words get exp(4) / (m exp(4) + 4 − m) each.
    """
    same_word = [[0, 2], [3], [1]]  # of the queries a, c, b among the words a b a c
    next_place = [[1], [2], [3]]  # of the places 0, 1, 2
    shares = np.array([[_share(found, 4.0) for found in head] for head in (same_word, next_place)])  # [2, 3, 4]
    return {"measured": _gap(runs["built"]["attention.softmax"][0], shares), "bound": ROUNDING, "sense": "<="}


def check_one_head_has_to_share(runs):
    """The same hand-set weights in a single head find all matches at once: each of them gets the same weight.

    A match now scores 8 / √8; the word a has three (two by its name, one by its place), the others two each.
    """
    both = [[0, 1, 2], [3, 2], [1, 3]]
    shares = np.array([[_share(found, 8 / math.sqrt(8)) for found in both]])  # [1, 3, 4]
    gap = _gap(runs["one_head_by_hand"]["attention.softmax"][0], shares)
    return {"measured": gap, "bound": ROUNDING, "sense": "<="}


def check_heads_do_not_disturb_each_other(runs):
    """With the weights set by hand, other places of the queries move the weights of head 1 and no bit of head 0."""
    before, after = (runs[name]["attention.softmax"][0] for name in ("built", "other_places"))  # [2, 3, 4]
    untouched = np.array_equal(before[0], after[0])
    return {"measured": _gap(before[1], after[1]) if untouched else 0.0, "bound": EFFECT, "sense": ">="}


def check_the_number_of_heads_matters(runs):
    """One, two and four heads with the very same parameters give three different outputs."""
    one, two, four = (runs[name] for name in ("one_head", "loud", "four_heads"))
    names = [f"param:{name}_projection.weight" for name in ("query", "key", "value", "output")]
    same = all(np.array_equal(run[name], two[name]) for name in names for run in (one, four))
    sliced = [run["attention.softmax"].shape[1] for run in (one, two, four)] == [1, 2, 4]
    gaps = [_gap(a["output"], b["output"]) for a, b in ((one, two), (two, four), (four, one))]
    return {"measured": float(np.min(gaps)) if same and sliced else 0.0, "bound": EFFECT, "sense": ">="}


def metric_disagreement(weights):
    """How far apart the two heads look: half the summed differences of their weights, averaged over the queries."""
    return np.abs(weights[0] - weights[1]).sum(axis=-1).mean() / 2


def _gap(one, other):
    """The largest difference between two arrays of one shape."""
    if one.shape != other.shape:
        raise ValueError(f"shapes {one.shape} and {other.shape} cannot be compared")
    return float(np.max(np.abs(one - other)))


def _attend(run, heads):
    """Contexts [heads, queries, d] and weights [heads, queries, keys], each head with matrices of its own."""
    size = WIDTH // heads
    contexts, weights = [], []
    for head in range(heads):
        rows = slice(head * size, (head + 1) * size)
        q, k, v = (_project(run, side, rows) for side in ("query", "key", "value"))
        shares = [_softmax(np.array([asked @ offered for offered in k]) / math.sqrt(size)) for asked in q]
        weights.append(shares)
        contexts.append([sum(share * row for share, row in zip(each, v, strict=True)) for each in shares])
    return np.array(contexts), np.array(weights)


def _project(run, side, rows):
    """One head's queries, keys or values [words, d]."""
    inputs = {"query": "queries", "key": "keys", "value": "values"}
    return run[f"input:{inputs[side]}"][0] @ run[f"param:{side}_projection.weight"][rows].T


def _softmax(scores):
    """Positive weights that add up to one."""
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def _mix(run, swap=False):
    """The output [queries, 8] as a sum over heads, computed from the inputs on; with `swap` the heads change places."""
    contexts, _ = _attend(run, run["attention.softmax"].shape[1])
    blocks = np.split(run["param:output_projection.weight"], len(contexts), axis=1)  # [8, d] for each head
    ordered = contexts[::-1] if swap else contexts
    return sum(context @ block.T for context, block in zip(ordered, blocks, strict=True))


def _share(found, score):
    """Weights of four words of which those that were found score alike and the others zero."""
    match = math.exp(score)
    total = len(found) * match + 4 - len(found)
    return [(match if key in found else 1.0) / total for key in range(4)]
