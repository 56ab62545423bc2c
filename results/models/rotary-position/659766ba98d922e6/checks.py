"""What this lesson claims, proved from the recorded arrays with numpy alone."""

import math

import numpy as np

RUNS = (
    "plain", "moved", "apart", "sentence", "sentence_moved", "sentence_apart", "first_of_pairs", "second_of_pairs",
)  # fmt: skip
QUERY, KEY = 0, 1  # the two sides, as they are stacked
NAMES = ("query", "key")
PACES = np.array([1.0, 0.1, 0.01, 0.001])  # radians a position: 10000 to the power −2i / 8 for the pairs i = 0 to 3
# An angle of up to 50 radians is off by some 1e-14 through rounding, and a score by no more than a few times that.
ROUNDING = 1e-12
EFFECT = 1e-3  # what counts as a change: a thousand million times what rounding could cause


def check_turning_is_complex_multiplication(runs):
    """Each pair, read as one complex number, is multiplied by exp(i · position · frequency), and the scores follow."""
    gaps = []
    for name in RUNS:
        run = runs[name]
        queries, keys = (_projected(run, side) * _turns(run, side) for side in (QUERY, KEY))  # [6, 4] complex
        met = [_pairs(run[f"unbind@RotaryScores#0[{side}]"]) for side in (QUERY, KEY)]  # as they enter the scores
        gaps += [_gap(met[QUERY], queries), _gap(met[KEY], keys)]
        # The inner product of two pairs is the real part of one times the other's conjugate.
        gaps.append(_gap(run["output"], (queries @ keys.conj().T).real / math.sqrt(8)))
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_score_knows_only_the_distance(runs):
    """With all features at one, each score is a sum of cosines of distance times frequency, wherever the words stand.

    Query and key are then the pair (1, 1) four times, and (1, 1) turned by a and by b has inner product 2 cos(a − b).
    """
    gaps = []
    for name in ("plain", "moved", "apart"):
        query_start, key_start = runs[name]["input:start"]
        distance = np.arange(6)[:, None] + query_start - np.arange(6)[None, :] - key_start  # [queries, keys]
        expected = sum(2 * np.cos(distance * pace) for pace in PACES) / math.sqrt(8)
        gaps.append(_gap(runs[name]["output"], expected))
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_moving_all_words_moves_no_score(runs):
    """Forty positions further on, a sentence of different words keeps all its scores, though every query was rotated.

    It counts only if the first query came out different, and if moving the keys alone did change the scores.
    """
    before, after, apart = (runs[name] for name in ("sentence", "sentence_moved", "sentence_apart"))
    turned = _gap(before["rotary"][QUERY, 0], after["rotary"][QUERY, 0]) >= EFFECT
    steered = _gap(before["output"], apart["output"]) >= EFFECT
    gap = _gap(before["output"], after["output"])
    return {"measured": gap if turned and steered else math.inf, "bound": ROUNDING, "sense": "<="}


def check_turning_keeps_lengths(runs):
    """No pair of any query or key is longer or shorter after it was rotated."""
    gaps = []
    for name in RUNS:
        for side in (QUERY, KEY):
            before, after = np.abs(_projected(runs[name], side)), np.abs(_pairs(runs[name]["rotary"][side]))
            gaps.append(_gap(before, after))
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_two_turns_make_one(runs):
    """For all positions m and n the matrices that rotated the words satisfy R(m)ᵀ R(n) = R(n − m), in every pair.

    The columns of R are read off two runs in which every pair is (1, 0) and (0, 1).
    """
    columns = [runs[name]["rotary"][QUERY].reshape(6, 4, 2) for name in ("first_of_pairs", "second_of_pairs")]
    turns = np.stack(columns, axis=-1)  # [positions, pairs, 2, 2]
    gaps = [
        _gap(turns[m].transpose(0, 2, 1) @ turns[n], turns[n - m] if n >= m else turns[m - n].transpose(0, 2, 1))
        for m in range(6)
        for n in range(6)
    ]
    moved = _gap(turns[0], turns[1]) >= EFFECT  # something turns at all
    return {"measured": float(np.max(gaps)) if moved else math.inf, "bound": ROUNDING, "sense": "<="}


def check_each_pair_has_its_own_pace(runs):
    """From one position to the next the pairs rotate by 1, 0.1, 0.01 and 0.001 radians, read off the result."""
    turned = _pairs(runs["first_of_pairs"]["rotary"][QUERY])  # [6, 4], each pair was (1, 0)
    steps = np.angle(turned[1:] / turned[:-1])  # [5, 4], in radians
    return {"measured": _gap(steps, np.tile(PACES, (5, 1))), "bound": ROUNDING, "sense": "<="}


def _gap(one, other):
    """The largest difference between two arrays of one shape."""
    if one.shape != other.shape:
        raise ValueError(f"shapes {one.shape} and {other.shape} cannot be compared")
    return float(np.max(np.abs(one - other)))


def _pairs(features):
    """Features [words, 8] as complex numbers [words, 4], one for each pair of neighbours."""
    return features[:, 0::2] + 1j * features[:, 1::2]


def _projected(run, side):
    """The queries or keys before they are rotated, as complex numbers [6, 4]."""
    return _pairs(run["input:words"] @ run[f"param:{NAMES[side]}.weight"].T)


def _turns(run, side):
    """What each pair of the queries or keys must be multiplied by [6, 4]."""
    positions = np.arange(6) + run["input:start"][side]
    return np.exp(1j * positions[:, None] * PACES)
