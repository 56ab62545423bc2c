"""What this lesson claims, proved from the recorded arrays with numpy alone."""

import numpy as np

WORDS, SLOTS = 8, 4
SINGLE = tuple(f"word_{place}" for place in range(WORDS))  # a sentence with one 1 and zeros
RING = ("mixed", "repeating", "opposed", "silent", *SINGLE)
CROSSED = ("crossed", "repeating_crossed")
ROUNDING = 1e-12  # far above float64 rounding in sums this short, far below any effect of interest


def check_what_comes_back(runs):
    """Vectors, answers and losses are those of the closed form: a word comes back as the mean of all in its slot.

    The closed form knows no recurrence: words that lie a multiple of four apart share a slot, and a crossed ring turns
    the sign of a word with every round.
    """
    gaps = []
    for name in (*RING, *CROSSED):
        run = runs[name]
        told = _closed_form(run["input:words"][0], -1 if name in CROSSED else 1)
        gaps += [_gap(run[f"output[{at}]"], array) for at, array in enumerate(told)]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_four_words_return_whole(runs):
    """Sentences of up to four words come back without any loss, to the last bit, through either encoder."""
    lost = [np.abs(runs[name]["output[2]"][:SLOTS]).max() for name in (*RING, *CROSSED)]
    words = [_gap(runs[name]["output[1]"][SLOTS - 1, :SLOTS], runs[name]["input:words"][0, SLOTS - 1 :: -1])
             for name in (*RING, *CROSSED)]  # fmt: skip
    return {"measured": float(max(*lost, *words)), "bound": 0.0, "sense": "<="}


def check_four_numbers_pass(runs):
    """At every length exactly as many directions pass as there are slots to hold them, and those that pass are whole.

    Measured on the singular values of the map from sentence to answer, whose columns are the answers to sentences
    with a single word: as many ones as words, but four at most, and zeros.
    """
    gaps = []
    for length in range(1, WORDS + 1):
        whole = np.array([runs[name]["output[1]"][length - 1, :length] for name in SINGLE[:length]])
        passed = min(length, SLOTS)
        expected = np.repeat([1.0, 0.0], [passed, length - passed])
        gaps.append(_gap(np.linalg.svd(whole, compute_uv=False), expected))
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_mean_loss_is_the_least_possible(runs):
    """The loss of a word, on average over sentences of independent words, is 1 − 4/n, the least that rank 4 allows.

    For independent words of mean square one the average is the sum of the losses of the single words.
    """
    lengths = np.arange(1, WORDS + 1)
    mean = sum(np.where(lengths > place, runs[name]["output[2]"], 0) for place, name in enumerate(SINGLE))
    return {"measured": _gap(mean, np.maximum(1 - SLOTS / lengths, 0)), "bound": ROUNDING, "sense": "<="}


def check_vector_is_a_sum_over_words(runs):
    """The vector of a sentence is the sum of its words' vectors, each times its word."""
    basis = np.array([runs[name]["output[0]"] for name in SINGLE])  # [word, length, slot]
    gaps = [_gap(runs[name]["output[0]"], np.tensordot(runs[name]["input:words"][0], basis, 1)) for name in RING]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_two_sentences_share_a_vector(runs):
    """At eight words the opposed sentence and silence have the same vector, to the last bit, and the same answer.

    It counts only if the opposed sentence has no zero in it and its first half alone does leave a vector.
    """
    opposed, silent = runs["opposed"], runs["silent"]
    sound = np.abs(opposed["input:words"]).min() >= 1 and np.abs(opposed["output[0]"][SLOTS - 1]).min() >= 1
    gap = max(_gap(opposed[f"output[{at}]"][-1], silent[f"output[{at}]"][-1]) for at in (0, 1))
    return {"measured": gap if sound else 1.0, "bound": 0.0, "sense": "<="}


def check_another_matrix_loses_other_sentences(runs):
    """Each encoder brings one of two sentences through whole and loses all of the other; they change places."""
    lost = [runs[name]["output[2]"][-1] for name in ("repeating", "opposed", "crossed", "repeating_crossed")]
    return {"measured": _gap(np.array(lost), np.array([0.0, 1.0, 0.0, 1.0])), "bound": 0.0, "sense": "<="}


def _gap(one, other):
    """The largest difference between two arrays of one shape."""
    if one.shape != other.shape:
        raise ValueError(f"shapes {one.shape} and {other.shape} cannot be compared")
    return float(np.max(np.abs(one - other)))


def _closed_form(words, sign):
    """Vectors [8, 4], answers [8, 8] and losses [8] of the first 1 … 8 words, without any recurrence."""
    vectors, answers, losses = np.zeros((WORDS, SLOTS)), np.zeros((WORDS, WORDS)), np.zeros(WORDS)
    for length in range(1, WORDS + 1):
        read = words[:length][::-1]  # the last word first
        for slot in range(SLOTS):
            together = read[slot::SLOTS]
            turned = sign ** np.arange(len(together))  # words further back have gone round more often
            vectors[length - 1, slot] = (together * turned).sum()
            if len(together):
                answers[length - 1, slot:length:SLOTS] = turned * (together * turned).mean()
        losses[length - 1] = ((answers[length - 1, :length] - read) ** 2).mean()
    return vectors, answers, losses
