"""What this lesson claims, proved from the recorded arrays with numpy alone."""

import numpy as np

PADDING, HIDDEN, DIVISOR = 0, 4, 5
STAGES = ("before", "during", "after")
PROBES = ("alone", "more_padding", "other_order", "unseen")
ROUNDING = 1e-12  # far above float64 rounding in sums this short, far below any effect of interest


def check_every_step_follows_from_the_parameters(runs):
    """Logits, alignment and last state of every step are those of the paper's formulas, computed by hand."""
    gaps = []
    for name in STAGES + PROBES:
        by_hand = _translate(runs[name])
        gaps += [_gap(runs[name][f"output[{at}]"], by_hand[at]) for at in range(3)]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_padding_weighs_exactly_zero(runs):
    """No step of any run gives a padded position any weight: the sum of those weights is exactly zero."""
    total = 0.0
    for name in STAGES + PROBES:
        source, weights = runs[name]["input:source_ids"], runs[name]["output[1]"]
        total += float(np.abs(weights * (source == PADDING)[:, None, :]).sum())
    return {"measured": total, "bound": 0.0, "sense": "<="}


def check_padding_and_order_change_nothing(runs):
    """A sentence is translated alike without its padding, with more of it, and at another place of the batch.

    Measured is the largest difference of any logit or weight; the sums run over the same words in the same order.
    """
    full = runs["after"]
    pairs = [("alone", (0,), (2,)), ("more_padding", (0, 1, 2), (0, 1, 2)), ("other_order", (2, 1, 0), (0, 1, 2))]
    gaps = []
    for name, ours, theirs in pairs:
        for one, other in zip(ours, theirs, strict=True):
            words = int((full["input:source_ids"][other] != PADDING).sum())
            gaps.append(_gap(runs[name]["output[0]"][one, :words], full["output[0]"][other, :words]))
            new, old = runs[name]["output[1]"][one, :words, :words], full["output[1]"][other, :words, :words]
            gaps.append(_gap(new, old))
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_alignment_peaks_where_the_task_says(runs):
    """After training each step gives more weight to the word that it must write than to all others together.

    Step i of a sentence of n words writes word n - 1 - i, so that is where its row must peak: above one half, nothing
    else can be as large.
    """
    smallest = min(weight for name in ("after", "unseen") for weight in _right(runs[name]))
    return {"measured": smallest, "bound": 0.5, "sense": ">="}


def check_unseen_sentences_are_written_backwards(runs):
    """After training the loss is small, on sentences that the training left out, and it fell on the way there.

    A loss of 0.05 means that the right word gets exp(-0.05), or 95 %, in the geometric mean. Training skips sentences
    whose tokens add up to a multiple of five; the figure counts only if all sentences here are such.
    """
    unseen = all((runs[name]["input:source_ids"].sum(axis=1) % DIVISOR == 0).all() for name in STAGES + PROBES)
    losses = [_loss(runs[name]) for name in STAGES]
    sound = unseen and losses[0] > losses[1] > losses[2]
    return {"measured": max(losses[2], _loss(runs["unseen"])) if sound else np.inf, "bound": 0.05, "sense": "<="}


def check_the_reset_gate_comes_before_the_matrix(runs):
    """With the reset gate behind its matrix, as in PyTorch's GRU, the logits would be others.

    Counts only if the paper's order gives the recorded logits.
    """
    away = []
    for name in STAGES:
        paper, other = _translate(runs[name])[0], _translate(runs[name], late=True)[0]
        sound = _gap(runs[name]["output[0]"], paper) <= ROUNDING
        away.append(_gap(runs[name]["output[0]"], other) if sound else 0.0)
    return {"measured": float(np.min(away)), "bound": 1e-3, "sense": ">="}


def metric_loss(logits):
    """The mean loss over the four words of the longest sentence, read with the right words before each."""
    return float(np.mean([_surprise(row, word) for row, word in zip(logits, (6, 9, 3, 7), strict=True)]))


def metric_least_right(weights):
    """The smallest weight that a step gives to the word that it must write."""
    steps = len(weights)
    return float(min(weights[step, steps - 1 - step] for step in range(steps)))


def _gap(one, other):
    """The largest difference between two arrays of one shape."""
    if one.shape != other.shape:
        raise ValueError(f"shapes {one.shape} and {other.shape} cannot be compared")
    return float(np.max(np.abs(one - other)))


def _right(run):
    """For every step of every sentence, the weight on the word that it must write."""
    for source, rows in zip(run["input:source_ids"], run["output[1]"], strict=True):
        words = int((source != PADDING).sum())
        yield from (float(rows[step, words - 1 - step]) for step in range(words))


def _loss(run):
    """The mean over all words of -log of the probability that the right word gets."""
    told = []
    for source, rows in zip(run["input:source_ids"], run["output[0]"], strict=True):
        words = source[source != PADDING]
        told += [_surprise(rows[step], word) for step, word in enumerate(words[::-1])]
    return float(np.mean(told))


def _surprise(logits, word):
    """-log of the softmax at one token."""
    return float(np.log(np.exp(logits - logits.max()).sum()) + logits.max() - logits[word])


def _translate(run, late=False):
    """Logits [batch, target, 10], alignment [batch, target, source] and last state [batch, 8], from the parameters."""
    source, previous = run["input:source_ids"], run["input:previous_ids"]
    present = source != PADDING  # [batch, source]
    annotations = _annotate(run, source, present, late)
    state = np.tanh(annotations[:, 0, HIDDEN:] @ run["param:first_state.weight"].T)
    tokens = run["param:target_embedding.weight"][previous]
    logits, alignment = [], []
    for step in range(previous.shape[1]):
        weights = _align(run, annotations, state, present)
        context = sum(weights[:, j, None] * annotations[:, j] for j in range(source.shape[1]))
        pieces = np.concatenate([state, tokens[:, step], context], axis=1) @ run["param:deep_output.pieces.weight"].T
        largest = np.maximum(pieces[:, 0::2], pieces[:, 1::2])  # of each pair of neighbours
        logits.append(largest @ run["param:deep_output.logits.weight"].T)
        alignment.append(weights)
        state = _move(run, "decoder", np.concatenate([tokens[:, step], context], axis=1), state, late)
    return np.stack(logits, axis=1), np.stack(alignment, axis=1), state


def _annotate(run, source, present, late):
    """The annotations [batch, source, 8]: what was read from the left beside what was read from the right."""
    words = run["param:encoder.embedding.weight"][source]
    batch, length = source.shape
    state, forward = np.zeros((batch, HIDDEN)), []
    for position in range(length):
        state = _move(run, "encoder.rightward", words[:, position], state, late)
        forward.append(state)
    state, backward = np.zeros((batch, HIDDEN)), [None] * length
    for position in range(length - 1, -1, -1):
        moved = _move(run, "encoder.leftward", words[:, position], state, late)
        state = np.where(present[:, position, None], moved, state)
        backward[position] = state
    return np.concatenate([np.stack(forward, axis=1), np.stack(backward, axis=1)], axis=2)


def _align(run, annotations, state, present):
    """The weights [batch, source]: softmax over the words of v · tanh(W s + U h)."""
    query = state @ run["param:alignment.state_projection.weight"].T
    keys = annotations @ run["param:alignment.annotation_projection.weight"].T
    scores = np.tanh(query[:, None] + keys) @ run["param:alignment.score.weight"][0]
    powers = np.where(present, np.exp(scores), 0.0)
    return powers / powers.sum(axis=1, keepdims=True)


def _move(run, unit, seen, state, late):
    """One step of a gated unit; `late` puts the reset gate behind the candidate's matrix."""
    update, reset = (_sigmoid(np.concatenate([seen, state], axis=1) @ run[f"param:{unit}.{gate}.weight"].T)
                     for gate in ("update", "reset"))  # fmt: skip
    matrix = run[f"param:{unit}.candidate.weight"]
    from_seen, from_state = matrix[:, : seen.shape[1]], matrix[:, seen.shape[1] :]
    past = reset * (state @ from_state.T) if late else (reset * state) @ from_state.T
    return (1 - update) * state + update * np.tanh(seen @ from_seen.T + past)


def _sigmoid(x):
    """The logistic function."""
    return 1 / (1 + np.exp(-x))
