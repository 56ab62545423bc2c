"""What this lesson claims, proved from the recorded arrays with numpy alone."""

import itertools

import numpy as np

CASES = ("zero", "positive", "negative")
PROBES = ("other_last_token", "no_scores")
ROUNDING = 1e-12  # far above float64 rounding in sums this short, far below any effect of interest
EFFECT = 1e-6  # what counts as a change: a million times what rounding could cause
HIDDEN = 4  # features of the encoder in each direction


def check_weights_form_a_distribution(runs):
    """Every attention weight is above zero, and over the source words the weights add up to one.

    A score is v · tanh(…), so two scores differ by 2·Σ|v| at most, and no weight can be below
    1 / (positions · exp(2·Σ|v|)).
    """
    defects = []
    for name in CASES + PROBES:
        weights = runs[name]["alignment.softmax"].reshape(-1)  # [5]
        reach = np.abs(runs[name]["param:alignment.score.weight"]).sum()
        floor = np.exp(-2 * reach) / weights.size
        defects += [abs(weights.sum() - 1), *np.maximum(floor - weights, 0)]
    return {"measured": float(np.max(defects)), "bound": ROUNDING, "sense": "<="}


def check_context_is_the_weighted_annotations(runs):
    """The context is the sum of the annotations, each times a weight recomputed by hand from parameters and state."""
    gaps = []
    for name in CASES + PROBES:
        run = runs[name]
        weights = _align(run)
        context = sum(weight * row for weight, row in zip(weights, run["encoder[0]"][0], strict=True))  # [8]
        gaps += [_gap(run["alignment.softmax"].reshape(-1), weights), _gap(run["alignment[0]"][0], context)]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def check_last_token_reaches_first_annotation(runs):
    """Another last source token alters the first annotation, and only in the half that the backward GRU wrote.

    The change counts only if both runs match a GRU computed by hand and the forward halves before the last position
    are the same bits in both.
    """
    before, after = runs["zero"], runs["other_last_token"]
    by_hand = np.max([_gap(run["encoder[0]"][0], _annotate(run)) for run in (before, after)])
    old, new = before["encoder[0]"][0], after["encoder[0]"][0]  # [5, 8] each
    forward_untouched = np.array_equal(old[:-1, :HIDDEN], new[:-1, :HIDDEN])
    change = _gap(old[0, HIDDEN:], new[0, HIDDEN:])
    sound = by_hand <= ROUNDING and forward_untouched
    return {"measured": change if sound else 0.0, "bound": EFFECT, "sense": ">="}


def check_state_steers_alignment(runs):
    """Each pair of decoder states aligns differently; with all scores at zero the context is the plain mean.

    Measured is the smallest change between two cases, and it counts only if the annotations were the same bits in
    every case and the run without scores gave the mean, although its state is not zero.
    """
    level = runs["no_scores"]
    mean_gap = _gap(level["alignment[0]"][0], level["encoder[0]"][0].mean(axis=0))
    source = [runs[name]["encoder[0]"] for name in CASES]
    weights = [runs[name]["alignment.softmax"].reshape(-1) for name in CASES]
    sound = mean_gap <= ROUNDING and bool(level["input:state"].any()) and all(map(np.array_equal, source, source[1:]))
    change = float(np.min([_gap(one, other) for one, other in itertools.combinations(weights, 2)]))
    return {"measured": change if sound else 0.0, "bound": EFFECT, "sense": ">="}


def check_logits_follow_from_token_and_context(runs):
    """The logits are those of a GRU cell and a linear layer worked out by hand from the last token and the context.

    Context and state enter as recorded; every other number comes from the parameters.
    """
    gaps = []
    for name in CASES + PROBES:
        run = runs[name]
        token = run["param:target_embedding.weight"][run["input:previous_token"][0]]  # [4]
        fed = np.concatenate([token, run["alignment[0]"][0]])  # [12]
        state = _step(run, "decoder", "", fed, run["input:state"][0])  # [8]
        logits = run["param:output_head.weight"] @ state + run["param:output_head.bias"]  # [16]
        gaps += [_gap(run["decoder"][0], state), _gap(run["output"][0], logits)]
    return {"measured": float(np.max(gaps)), "bound": ROUNDING, "sense": "<="}


def _gap(one, other):
    """The largest difference between two arrays of one shape."""
    if one.shape != other.shape:
        raise ValueError(f"shapes {one.shape} and {other.shape} cannot be compared")
    return float(np.max(np.abs(one - other)))


def _align(run):
    """The alignment weights [5] from the formula: softmax over j of v · tanh(U h_j + W s)."""
    keys = run["encoder[0]"][0] @ run["param:alignment.annotation_projection.weight"].T  # [5, 8]
    query = run["param:alignment.state_projection.weight"] @ run["input:state"][0]  # [8]
    scores = np.tanh(keys + query) @ run["param:alignment.score.weight"][0]  # [5]
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def _annotate(run):
    """The annotations [5, 8] from token ids and parameters: one GRU from the left beside one from the right."""
    tokens = run["param:source_embedding.weight"][run["input:source_ids"][0]]  # [5, 4]
    forward = _read(run, tokens, "")
    backward = _read(run, tokens[::-1], "_reverse")[::-1]
    return np.concatenate([forward, backward], axis=1)


def _read(run, tokens, direction):
    """The hidden state [5, 4] after each token of the encoder in one direction."""
    hidden, states = np.zeros(HIDDEN), []
    for token in tokens:
        hidden = _step(run, "encoder", f"_l0{direction}", token, hidden)
        states.append(hidden)
    return np.array(states)


def _step(run, module, ending, fed, hidden):
    """The next hidden state of a GRU, whose gates are stacked as reset, update, new."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    w_in, w_hidden, b_in, b_hidden = (run[f"param:{module}.{name}{ending}"] for name in names)
    from_input = np.split(w_in @ fed + b_in, 3)
    from_hidden = np.split(w_hidden @ hidden + b_hidden, 3)
    reset, update = (_sigmoid(from_input[gate] + from_hidden[gate]) for gate in (0, 1))
    new = np.tanh(from_input[2] + reset * from_hidden[2])
    return (1 - update) * new + update * hidden


def _sigmoid(x):
    """The logistic function."""
    return 1 / (1 + np.exp(-x))
