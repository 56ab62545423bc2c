"""Watches one call of a model in the process that made it, and shows it as a picture."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lessonpress.core import atomic_io
from lessonpress.notebook.own_places import OwnPlaces
from lessonpress.web.page import model_graph
from lessonpress.worker import modules, outline, transforms

if TYPE_CHECKING:
    from torch import nn

    from lessonpress.lesson.records import Graph
    from lessonpress.worker.records import Recorded, RunPlan


@dataclass(frozen=True, repr=False)
class Trace:
    """What one call of a model did: its graph, its picture, and what the model returned."""

    drawn: model_graph.ModelGraph
    captured: Recorded
    returned: Any

    @property
    def graph(self) -> Graph:
        """Layers and connections, in the form of graph.tensorviz.json."""
        return self.drawn.graph

    @property
    def parameters(self) -> int:
        """How many numbers the model's parameters hold; a shared one is counted once."""
        return self.drawn.parameters

    @property
    def svg(self) -> str:
        """The picture."""
        return self.drawn.svg

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file `….svg`, or a page with picture and table to a file `….html`.

        Raises ValueError for another ending.
        """
        file = Path(path)
        if file.suffix not in (".svg", ".html"):
            raise ValueError(f"{file} ends in neither .svg nor .html")
        atomic_io.draft(file, self.svg if file.suffix == ".svg" else self.drawn.page())
        return file

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.svg

    def __repr__(self) -> str:
        """What a terminal shows: a line for every node."""
        return self.drawn.table()


def trace(model: nn.Module, *inputs: Any, **named: Any) -> Trace:
    """Call `model(*inputs, **named)` once, and draw what ran.

    The model is called as it is: its mode, its device, gradients on or off, generators and hooks are yours, and a layer
    that counts its calls has counted one more. No tensor is copied; all results of the call are kept until it ends.
    Raises whatever the model raises.
    """
    transforms.install()
    places = OwnPlaces(trace.__code__)
    given = name_inputs(model, inputs, named)
    watched = outline.Outline(model, given, places)
    returned = watched.call(inputs, named)
    title = modules.named_class(model).__name__
    planned: RunPlan = {"id": "execution", "kind": "execution", "seed": 0, "mode": "eval", "dtype": "float32",
                        "args": {}, "weights": None, "parameters": {}, "inputs": []}  # fmt: skip
    captured = watched.describe({**planned, "mode": "train" if model.training else "eval"})
    drawn = model_graph.make_model_graph(captured, title, places.read_sources())
    return Trace(drawn, captured, returned)


def name_inputs(model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> list[tuple[str, Any]]:
    """The inputs with the names of forward's parameters; what `*args` takes is numbered."""
    parameters = list(inspect.signature(model.forward).parameters.values())
    ordered = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    names = [each.name for each in ordered[: len(inputs)]]
    names += [f"arg{at}" for at in range(len(names), len(inputs))]
    return [*zip(names, inputs, strict=True), *named.items()]
