"""What this lesson claims, proved from the recorded arrays with numpy alone."""

import itertools

import numpy as np

WORDS, NUMBERS = 6, 3
CASES = ("drawn", "early", "trained")
RUNS = (*CASES, "nudged", "other", "execution")
ROUNDING = 1e-12  # far above float64 rounding in sums this short, far below any effect of interest
EVERY = np.array(list(itertools.product((1.0, -1.0), repeat=WORDS)))  # all sentences, [64, 6]
LENGTHS = np.arange(1, WORDS + 1)
LINEAR = np.maximum(1 - NUMBERS / LENGTHS, 0)


def check_everything_by_hand(runs):
    """Vectors and answers of the sentence, and the loss over all 64, are those of two GRUs computed by hand."""
    gaps = []
    for name in RUNS:
        run = runs[name]
        vectors, answers, _ = _through(run, run["input:words"])
        mean = _through(run, EVERY)[2].mean(axis=0)
        told = (vectors[0], answers[0], mean, LINEAR - mean)
        gaps += [_gap(run[f"output[{at}]"], array) for at, array in enumerate(told)]
        gaps += [_gap(run["buffer:every"], EVERY), _gap(run["buffer:linear"], LINEAR)]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_training_lowers_every_loss(runs):
    """At every length the mean loss is lower after 100 steps than before, and lower after 600 than after 100.

    A thousandth is far below any drop that the eye would see in the bars; measured is the smallest drop.
    """
    before, early, after = (runs[name]["output[2]"] for name in CASES)
    drops = np.concatenate([before - early, early - after])
    return {"measured": float(drops.min()), "bound": 1e-3, "sense": ">="}


def check_loss_grows_with_length(runs):
    """After training each further word raises the loss of a word, on average over all sentences.

    Measured is the smallest rise from one length to the next.
    """
    return {"measured": float(np.diff(runs["trained"]["output[2]"]).min()), "bound": 1e-3, "sense": ">="}


def check_training_beats_every_linear_pair(runs):
    """At six words the trained pair loses less than 1 − 3/6, which is the least for a linear pair."""
    return {"measured": float(runs["trained"]["output[2]"][-1]), "bound": float(LINEAR[-1]), "sense": "<="}


def check_short_sentences_are_not_free(runs):
    """At three words, where a linear pair loses nothing, the trained pair loses something."""
    return {"measured": float(runs["trained"]["output[2]"][NUMBERS - 1]), "bound": 1e-3, "sense": ">="}


def check_no_linear_readout_would_do(runs):
    """The best linear readout of the trained vectors loses 1 − 3/6 or more, and far more than the trained decoder.

    Over all sentences the words are uncorrelated with mean zero and mean square one, so three numbers, whatever they
    are, explain at most three of the six (Bessel); this is where a readout that is fitted by least squares must end.
    Measured is how much more it loses than the decoder; it counts only if the bound holds.
    """
    run = runs["trained"]
    vectors = run["encoder[0]"][1:, -1]  # [64, 3]: of all sentences at six words
    known = np.concatenate([vectors, np.ones((len(vectors), 1))], axis=1)  # with a constant beside
    fitted = known @ np.linalg.lstsq(known, EVERY, rcond=None)[0]
    lost = float(((fitted - EVERY) ** 2).mean())
    sound = lost >= LINEAR[-1] - ROUNDING
    return {"measured": lost - float(run["output[2]"][-1]) if sound else 0.0, "bound": 0.1, "sense": ">="}


def check_a_nudge_costs_long_sentences_more(runs):
    """Moving the first number of the vector by 0.2 costs six words more than one; measured is the difference a word."""
    rise = runs["nudged"]["output[2]"] - runs["trained"]["output[2]"]
    return {"measured": float(rise[-1] - rise[0]), "bound": 0.1, "sense": ">="}


def _gap(one, other):
    """The largest difference between two arrays of one shape."""
    if one.shape != other.shape:
        raise ValueError(f"shapes {one.shape} and {other.shape} cannot be compared")
    return float(np.max(np.abs(one - other)))


def _through(run, sentences):
    """Vectors [n, length, 3], answers [n, length, words back] and losses [n, length] of some sentences [n, word]."""
    state, vectors = np.zeros((len(sentences), NUMBERS)), []
    for word in sentences.T:
        state = _gru(run, "encoder", word[:, None], state)
        vectors.append(state + run["input:nudge"])
    answers, losses = np.zeros((len(sentences), WORDS, WORDS)), np.zeros((len(sentences), WORDS))
    for length in LENGTHS:
        state = vectors[length - 1]
        for back in range(length):
            state = _gru(run, "decoder", np.ones((len(sentences), 1)), state)
            answers[:, length - 1, back] = state @ run["param:read.weight"][0] + run["param:read.bias"][0]
        read = sentences[:, :length][:, ::-1]  # last word first
        losses[:, length - 1] = ((answers[:, length - 1, :length] - read) ** 2).mean(axis=1)
    return np.stack(vectors, axis=1), answers, losses


def _gru(run, which, token, state):
    """The next state [n, 3] from tokens [n, 1] and states [n, 3]; gates are stacked as reset, update, new."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    w_in, w_state, b_in, b_state = (run[f"param:{which}.{name}_l0"] for name in names)
    from_token = np.split(token @ w_in.T + b_in, 3, axis=1)
    from_state = np.split(state @ w_state.T + b_state, 3, axis=1)
    reset, update = (_logistic(from_token[gate] + from_state[gate]) for gate in (0, 1))
    new = np.tanh(from_token[2] + reset * from_state[2])
    return (1 - update) * new + update * state


def _logistic(x):
    """The logistic function."""
    return 1 / (1 + np.exp(-x))
