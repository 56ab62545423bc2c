"""Published graphs of every kind that a layout meets, made by formula."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

Graph = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def layer(
    name: str, op: str, parent: str | None = None, *, kind: str = "layer", shape: Sequence[int] | None = (1, 8),
    dtype: str = "float32", calls: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """Make a published layer."""
    outputs = [] if shape is None else [{"shape": list(shape), "dtype": dtype}]
    return {"id": name, "label": name, "op": op, "kind": kind, "parent": parent, "params": {}, "calls": calls,
            "outputs": outputs}  # fmt: skip


def connect(layers: list[dict[str, Any]], pairs: Sequence[tuple[str, str]]) -> Graph:
    """Join layers by connections that carry their source's first output."""
    carried = {one["id"]: (one["outputs"] or [{"shape": None, "dtype": None}])[0] for one in layers}
    return layers, [
        {"id": f"edge-{at}", "source": source, "target": target, "sourcePort": None, "targetPort": None,
         **carried[source]}
        for at, (source, target) in enumerate(pairs, start=1)
    ]  # fmt: skip


def chain(*names: str) -> list[tuple[str, str]]:
    """Pair each name with the next."""
    return list(pairwise(names))


def attention() -> Graph:
    """Make twenty layers: a reader, a scorer in a frame, and a writer, with three inputs."""
    layers = [
        layer("input:words", "Input", kind="input", shape=(1, 5), dtype="int64"),
        layer("input:memory", "Input", kind="input"),
        layer("input:last_word", "Input", kind="input", shape=(1,), dtype="int64"),
        layer("lookup", "Embedding", shape=(1, 5, 4)),
        layer("reader", "GRU", shape=(1, 5, 8)),
        layer("focus", "Module", kind="module"),
        layer("last_lookup", "Embedding", shape=(1, 4)),
        layer("cat@Step#0", "torch.cat", shape=(1, 12)),
        layer("writer", "GRUCell"),
        layer("head", "Linear", shape=(1, 16)),
        layer("output", "Output", kind="output", shape=None),
        layer("focus.keys", "Linear", "focus", shape=(1, 5, 8)),
        layer("focus.query", "Linear", "focus"),
        layer("unsqueeze@focus#0", "torch.unsqueeze", "focus", shape=(1, 1, 8)),
        layer("add@focus#0", "torch.add", "focus", shape=(1, 5, 8)),
        layer("focus.tanh", "Tanh", "focus", shape=(1, 5, 8)),
        layer("focus.score", "Linear", "focus", shape=(1, 5, 1)),
        layer("focus.softmax", "Softmax", "focus", shape=(1, 5, 1)),
        layer("mul@focus#0", "torch.mul", "focus", shape=(1, 5, 8)),
        layer("sum@focus#0", "torch.sum", "focus"),
    ]
    pairs = chain("input:words", "lookup", "reader", "focus.keys", "add@focus#0", "focus.tanh", "focus.score",
                  "focus.softmax", "mul@focus#0", "sum@focus#0", "cat@Step#0", "writer", "head", "output")  # fmt: skip
    pairs += chain("input:memory", "focus.query", "unsqueeze@focus#0", "add@focus#0")
    pairs += chain("input:last_word", "last_lookup", "cat@Step#0")
    return connect(layers, [*pairs, ("reader", "mul@focus#0"), ("input:memory", "writer")])


def nested_blocks(*sizes: int) -> Graph:
    """Make one chain of linear layers in blocks in blocks: `nested_blocks(10, 10, 10)` has a thousand."""
    layers = [layer("input:x", "Input", kind="input")]
    names = ["input:x"]

    def grow(parent: str | None, rest: Sequence[int]) -> None:
        for at in range(rest[0]):
            name = f"{parent}.{at}" if parent else f"block{at}"
            layers.append(
                layer(name, "Block" if rest[1:] else "Linear", parent, kind="module" if rest[1:] else "layer")
            )
            if rest[1:]:
                grow(name, rest[1:])
            else:
                names.append(name)

    grow(None, sizes)
    return connect([*layers, layer("output", "Output", kind="output", shape=None)], chain(*names, "output"))


def transformer(blocks: int) -> Graph:
    """Make encoder blocks with attention, a shared mask and two residual lines each."""
    layers = [
        layer("input:tokens", "Input", kind="input", shape=(1, 9), dtype="int64"),
        layer("input:mask", "Input", kind="input", shape=(9, 9), dtype="bool"),
        layer("embed", "Embedding", shape=(1, 9, 16)),
        layer("stack", "ModuleList", kind="module"),
    ]
    pairs, last = [("input:tokens", "embed")], "embed"
    for at in range(blocks):
        block = f"stack.{at}"
        a, f = f"{block}.attention", f"{block}.feed"
        modules = [(block, "Block", "stack"), (a, "Attention", block), (f, "FeedForward", block)]
        layers += [layer(name, op, parent, kind="module") for name, op, parent in modules]
        leaves = [(f"{block}.norm1", block), (f"{a}.query", a), (f"{a}.key", a), (f"{a}.value", a),
                  (f"matmul@{a}#0", a), (f"masked_fill@{a}#0", a), (f"softmax@{a}#0", a), (f"matmul@{a}#1", a),
                  (f"{a}.out", a), (f"add@{block}#0", block), (f"{block}.norm2", block), (f"{f}.up", f),
                  (f"{f}.act", f), (f"{f}.down", f), (f"add@{block}#1", block)]  # fmt: skip
        layers += [layer(name, name.partition("@")[0].rpartition(".")[2], parent) for name, parent in leaves]
        first, second = f"add@{block}#0", f"add@{block}#1"
        pairs += chain(
            last,
            f"{block}.norm1",
            f"{a}.query",
            f"matmul@{a}#0",
            f"masked_fill@{a}#0",
            f"softmax@{a}#0",
            f"matmul@{a}#1",
            f"{a}.out",
            first,
            f"{block}.norm2",
            f"{f}.up",
            f"{f}.act",
            f"{f}.down",
            second,
        )
        pairs += chain(f"{block}.norm1", f"{a}.key", f"matmul@{a}#0")
        pairs += chain(f"{block}.norm1", f"{a}.value", f"matmul@{a}#1")
        pairs += [("input:mask", f"masked_fill@{a}#0"), (last, first), (first, second)]
        last = second
    layers += [layer("head", "Linear"), layer("output", "Output", kind="output", shape=None)]
    return connect(layers, [*pairs, (last, "head"), ("head", "output")])


def recurrent() -> Graph:
    """Make a cell that is called five times, a shared layer in a cycle, doubled connections and an unused input."""
    layers = [
        layer("input:sequence", "Input", kind="input"),
        layer("input:start", "Input", kind="input"),
        layer("input:unused", "Input", kind="input"),
        layer("unbind@Net#0", "torch.unbind"),
        layer("cell", "GRUCell", calls=5),
        layer("stack@Net#0", "torch.stack"),
        layer("gate", "Module", kind="module"),
        layer("gate.shared", "Linear", "gate", calls=2),
        layer("gate.relu", "ReLU", "gate", calls=2),
        layer("tanh@Net#0", "torch.tanh"),
        layer("square", "Linear"),
        layer("mul@Net#0", "torch.mul"),
        layer("output", "Output", kind="output", shape=None),
    ]
    pairs = [("input:sequence", "unbind@Net#0"), ("input:start", "cell"), *chain(*["cell"] * 5)]
    pairs += [("unbind@Net#0", "cell")] * 5 + [("cell", "stack@Net#0")] * 5 + [("square", "mul@Net#0")] * 2
    pairs += chain("stack@Net#0", "gate.shared", "gate.relu", "tanh@Net#0", "gate.shared")
    return connect(layers, [*pairs, ("gate.relu", "square"), ("mul@Net#0", "output")])


def fan(width: int) -> Graph:
    """Make one input that feeds many layers, which all feed one concatenation."""
    heads = [f"head{at}" for at in range(width)]
    layers = [layer("input:x", "Input", kind="input"), *(layer(head, "Linear") for head in heads)]
    pairs = [("input:x", head) for head in heads] + [(head, "cat@Net#0") for head in heads]
    return connect([*layers, layer("cat@Net#0", "torch.cat")], pairs)


def lonely(count: int) -> Graph:
    """Make layers without any connection."""
    return [layer(f"layer{at}", "Linear") for at in range(count)], []


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, frozenset[str]]:
    """Make any nest of modules with any connections between leaves, cycles and loops included, and folds of it."""
    modules = [f"m{at}" for at in range(draw(st.integers(0, 5)))]
    layers = []
    for at, module in enumerate(modules):
        parent = draw(st.sampled_from([None, *modules[:at]]))
        layers.append(layer(module, draw(st.sampled_from(["Block", "Cell"])), parent, kind="module"))
    leaves = [f"leaf{at}" for at in range(draw(st.integers(1, 12)))]
    for leaf in leaves:
        kind = draw(st.sampled_from(["layer", "layer", "input", "output"]))
        layers.append(layer(leaf, "Linear", draw(st.sampled_from([None, *modules])), kind=kind))
    ends = st.sampled_from(leaves)
    full = {one["parent"] for one in layers} & set(modules)
    folds = draw(st.frozensets(st.sampled_from(sorted(full)))) if full else frozenset()
    return connect(layers, draw(st.lists(st.tuples(ends, ends), max_size=30))), folds


SAMPLES: dict[str, Graph] = {
    "attention": attention(), "transformer": transformer(3), "recurrent": recurrent(), "fan": fan(40),
    "lonely": lonely(30), "blocks": nested_blocks(4, 4, 4), "thousand": nested_blocks(10, 10, 10), "empty": ([], []),
}  # fmt: skip
