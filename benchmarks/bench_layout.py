"""How long layout and picture take, as CPU time, best of three: `python benchmarks/bench_layout.py`."""

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from lessonpress.graph import drawing, layout

Graph = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def graph(names: Sequence[str], pairs: Sequence[tuple[str, str]], parents: dict[str, str] | None = None) -> Graph:
    """Make layers (those that are somebody's parent are modules) and connections."""
    above = parents or {}
    modules = set(above.values())
    layers = [{"id": name, "label": name, "op": "Block" if name in modules else "Linear", "parent": above.get(name),
               "kind": "module" if name in modules else "layer"} for name in names]  # fmt: skip
    return layers, [{"id": f"e{at}", "source": source, "target": target, "shape": [1, 8]}
                    for at, (source, target) in enumerate(pairs)]  # fmt: skip


def flat_chain(size: int) -> Graph:
    """Make a chain without modules."""
    names = [f"l{at}" for at in range(size)]
    return graph(names, list(pairwise(names)))


def nested_chain(size: int) -> Graph:
    """Make a chain in blocks of ten, ten blocks to a stage."""
    leaves = [f"s{at // 100}.b{at // 10 % 10}.l{at % 10}" for at in range(size)]
    blocks = dict.fromkeys(leaf.rpartition(".")[0] for leaf in leaves)
    stages = dict.fromkeys(block.rpartition(".")[0] for block in blocks)
    parents = {name: name.rpartition(".")[0] for name in (*leaves, *blocks)}
    return graph([*stages, *blocks, *leaves], list(pairwise(leaves)), parents)


def masked_chain(size: int) -> Graph:
    """Make a chain in which every layer also reads one long line."""
    names = [f"l{at}" for at in range(size)]
    return graph(["mask", *names], [*pairwise(names), *(("mask", name) for name in names)])


def fan(size: int) -> Graph:
    """Make one layer that feeds all others, which feed one."""
    names = [f"l{at}" for at in range(size)]
    return graph(["a", *names, "z"], [*(("a", name) for name in names), *((name, "z") for name in names)])


def tangle(size: int) -> Graph:
    """Make a graph in which each layer reads two of the thirty before it."""
    draw = Random(0)
    pairs = [(f"l{max(0, at - draw.randint(1, 30))}", f"l{at}") for at in range(1, size) for _ in range(2)]
    return graph([f"l{at}" for at in range(size)], pairs)


def seconds(work: Callable[[], object]) -> float:
    """The least CPU time of three tries."""
    tries = []
    for _ in range(3):
        begin = time.process_time()
        work()
        tries.append(time.process_time() - begin)
    return min(tries)


def main() -> None:
    """Print a table: graph, boxes, seconds to fold, place and draw."""
    print(f"{'graph':14}{'boxes':>8}{'fold s':>9}{'place s':>9}{'draw s':>9}{'folded':>9}")
    for make in (flat_chain, nested_chain, masked_chain, fan, tangle):
        for size in (100, 1_000, 10_000):
            layers, connections = make(size)
            placement = layout.place_graph(layers, connections)
            folded = layout.choose_folded(layers, connections)
            times = [
                seconds(lambda: layout.choose_folded(layers, connections)),  # noqa: B023  # called before the next turn
                seconds(lambda: layout.place_graph(layers, connections)),  # noqa: B023
                seconds(lambda: drawing.draw_svg(layers, connections, placement, title="")),  # noqa: B023
            ]
            boxes = len(layout.place_graph(layers, connections, collapsed=folded).boxes)
            print(f"{make.__name__:14}{len(placement.boxes):8}" + "".join(f"{t:9.3f}" for t in times) + f"{boxes:9}")


if __name__ == "__main__":
    main()
