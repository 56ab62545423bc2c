"""What a page keeps as it was recorded: random draws, and what no input of a reader's reaches.

A draw is the same for every input: the generator is seeded before each run, so torch draws these very numbers again,
as long as nothing before them drew more numbers or fewer. What is computed from weights and draws alone is the same,
too; where the table cannot compute it, its recorded numbers do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from lessonpress.replay.operations.table import TABLE, plain_name
from lessonpress.worker import recorded
from lessonpress.worker.records import Call, Source, Struct, Tree

# Of their first argument these read the shape, the dtype, and no number.
SHAPED = frozenset([
    "rand_like", "randn_like", "randint_like", "zeros_like", "ones_like", "full_like", "empty_like", "new", "new_empty",
    "new_zeros", "new_ones", "new_full", "new_tensor", "size", "shape",
])  # fmt: skip
# These draw as many numbers as their result has, whatever the data are.
COUNTED = frozenset([
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "bernoulli",
    "multinomial", "random", "uniform", "exponential", "geometric", "cauchy", "log_normal", "dropout", "dropout1d",
    "dropout2d", "dropout3d", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "native_dropout",
    "gumbel_softmax", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "RNN",
    "GRU", "LSTM", "MultiheadAttention", "scaled_dot_product_attention", "multi_head_attention_forward",
])  # fmt: skip
# What these give has a shape that depends on numbers, and Python may ask for it.
SHAPED_BY_NUMBERS = frozenset([
    "nonzero", "argwhere", "where", "masked_select", "unique", "unique_consecutive", "bincount", "repeat_interleave",
])  # fmt: skip
LONGEST, LONGEST_NAME = 300, 100  # characters of a reason, and of a node's name in it
# Of operations that the table lacks, those that give another look at the same memory.
VIEWS = frozenset([
    "as_strided", "real", "imag", "view_as_real", "view_as_complex", "detach", "data", "values", "indices", "grad",
])  # fmt: skip
# These raise an error for some numbers, which a page that does not know theirs would miss.
RAISING = frozenset([
    "multinomial", "bernoulli", "poisson", "binomial", "embedding", "Embedding", "EmbeddingBag", "embedding_bag",
    "gather", "index_select", "take", "take_along_dim", "scatter", "scatter_add", "one_hot", "cholesky",
    "linalg_cholesky", "inverse", "linalg_inv", "linalg_solve", "linalg_solve_triangular", "nll_loss", "NLLLoss",
    "cross_entropy", "CrossEntropyLoss", "ctc_loss", "CTCLoss", "linalg_tensorinv", "linalg_tensorsolve",
    "binary_cross_entropy", "BCELoss", "item",
])  # fmt: skip
# These raise an error for what is not finite, and for nothing else.
FINITE = frozenset([
    "linalg_svd", "svd", "linalg_svdvals", "linalg_eigh", "linalg_eigvalsh", "linalg_eig", "linalg_eigvals",
    "linalg_lstsq", "linalg_pinv", "pinverse", "linalg_matrix_rank", "linalg_cond", "pca_lowrank", "svd_lowrank",
])  # fmt: skip
# These go back through operations that ran before, or that run inside.
GRADIENTS = frozenset([
    "grad", "backward", "grad_and_value", "jacrev", "jacfwd", "hessian", "jvp", "vjp", "vjp_fn", "linearize",
    "linearize_fn",
])  # fmt: skip
# These call a function of Python's for each number.
CALLING = frozenset(["apply", "map", "map2"])
INDEXING = frozenset(["getitem", "setitem", "index_put", "index_add", "index_copy", "index_fill", "put"])


def may_raise(call: Call) -> bool:
    """Whether other numbers may spare a call the error that it raised: not where only its shapes are wrong."""
    name = base_name(call)
    return name not in TABLE or name in RAISING | FINITE | INDEXING


def base_name(call: Call) -> str:
    """A call's operation without the mark of one that writes."""
    name = plain_name(call["op"])
    return plain_name(name.rstrip("_")) if call["kind"] != "layer" else name


def is_fixed(call: Call, fixed: Collection[int]) -> bool:
    """Whether a call gives the same for every input; `fixed` are the calls before it of which that is true."""
    if call["kind"] == "outside" or call.get("unseen"):
        return False
    if call["kind"] == "layer" and call["op"] in ("RecursiveScriptModule", "TopLevelTracedModule"):
        return False
    return all(_is_fixed_source(source, fixed) for leaf in _list_read(call) for source in _list_sources(leaf))


def _list_read(call: Call) -> Iterator[Tree]:
    """The tensors whose numbers a call reads."""
    args = call["args"][1:] if base_name(call) in SHAPED and call["kind"] == "op" else call["args"]
    structs: list[Struct] = [*args, *call["kwargs"].values(), *call.get("beside", {}).values()]
    for struct in structs:
        leaves: list[tuple[str, Struct]] = recorded.leaves(struct)
        for _, leaf in leaves:
            if isinstance(leaf, dict) and "tensor" in leaf and "unread" not in leaf:
                yield leaf


def _list_sources(leaf: Tree) -> Iterator[Source]:
    unknown: list[Source] = [["unknown", ""]]
    yield from leaf.get("from") or unknown
    if "born" in leaf:
        yield leaf["born"]


def _is_fixed_source(source: Source, fixed: Collection[int]) -> bool:
    return source[0] in ("param", "buffer") or source[0] in fixed


def shifts_draws(call: Call) -> bool:
    """Whether a call may draw more or fewer random numbers for other inputs, so that later draws are others, too."""
    return is_draw(call) and base_name(call) not in COUNTED


def is_draw(call: Call) -> bool:
    """Whether a call drew random numbers, from torch's own generator or one of the lesson's."""
    return "draws" in call or call["kwargs"].get("generator") is not None


def list_result_paths(call: Call) -> list[tuple[str, Tree]]:
    """The tensors that a call gives, with their paths."""
    leaves: list[tuple[str, Struct]] = recorded.leaves(call["out"])
    return [(path, leaf) for path, leaf in leaves if isinstance(leaf, dict) and "tensor" in leaf]


def name_port(number: int, call: Call, path: str) -> str:
    """The port of a result that is kept: `draw` for what was drawn, `kept` for what was computed."""
    return f"{'draw' if 'draws' in call else 'kept'}:{number} {call['layer']}" + (f"[{path}]" if path else "")


def name_noise(number: int, call: Call, at: int) -> str:
    """The port of the random numbers that a call drew while it computed."""
    return f"draw:{number} for {call['layer']}" + (f"#{at}" if at else "")


def list_kept_values(calls: list[Call]) -> dict[str, int]:
    """The value numbers of everything that may be kept, by port."""
    values: dict[str, int] = {}
    for number, call in enumerate(calls):
        if call["kind"] in ("op", "layer"):
            values |= {name_port(number, call, path): leaf["tensor"] for path, leaf in list_result_paths(call)}
            values |= {name_noise(number, call, at): value for at, value in enumerate(call.get("draws", []))}
    return values


def tell_reason(call: Call, why: str) -> str:
    """A reason as readers see it: the node, then why, in at most 300 characters."""
    layer = call["layer"] if len(call["layer"]) <= LONGEST_NAME else f"…{call['layer'][-LONGEST_NAME:]}"
    return f"{layer}: {why}"[:LONGEST]
