"""What a picture of any model needs: one watched call, of whose tensors only dtypes and shapes are kept.

Two ask for it: the worker for `lessonpress draw`, and `lessonpress.trace` in a notebook, on a model that somebody has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from . import inputs, load, modules, run, stored
from .places import Places
from .records import Plan, Recorded, Run, RunPlan, Struct, Value
from .trace import Tracer
from .values import WIDER, Values, dtype_name


class Shapes(Values):
    """The dtypes and shapes of a run's tensors, each pair once; no number is copied, wherever it lies."""

    def __init__(self) -> None:
        super().__init__(0)
        self.known: dict[tuple[str, tuple[int, ...]], int] = {}

    def take(self, tensor: Tensor, writes: int = 0) -> int:
        """The number of the tensor's dtype and shape."""
        kind = "float32" if tensor.is_quantized else _name_recorded(tensor)
        return self.known.setdefault((kind, tuple(tensor.shape)), len(self.known))

    def stale(self, tensor: Tensor) -> bool:
        """Nothing was copied, so nothing is out of date."""
        return False

    def describe(self, blobs: dict[str, str]) -> list[Value]:
        """Each pair; the bytes have no name."""
        return [{"dtype": dtype, "shape": list(shape), "blob": ""} for dtype, shape in self.known]


def _name_recorded(tensor: Tensor) -> str:
    """A dtype as a record names it."""
    return str(WIDER[tensor.dtype]).removeprefix("torch.") if tensor.dtype in WIDER else dtype_name(tensor)


class Outline:
    """One call of a model: what it is given, and afterwards what was seen."""

    def __init__(
        self, model: nn.Module, given: list[tuple[str, Any]], places: Places, declared: modules.Declared | None = None
    ) -> None:
        self.model, self.places, self.declared = model, places, {} if declared is None else declared
        self.values = Shapes()
        # Python's numbers stay Python's: nobody moves a slider here, and nothing watched stays behind in the model.
        self.tracer = Tracer(modules.ModelMap(model), places, self.values, native=True, follow=False)
        for name, value in given:
            for path, leaf in inputs.leaves(value, name):
                if isinstance(leaf, Tensor):
                    self.tracer.flow.record_result(leaf, ["input", path])
        self.given = [(name, self.tracer.read(value, None)) for name, value in given]

    def call(self, args: Any, kwargs: Any) -> Any:
        """Call the model as its author does, and watch."""
        with modules.watch_construction(self.places, self.declared):
            return self.tracer.run(args, kwargs)

    def describe(self, planned: RunPlan) -> Recorded:
        """The call as a capture of the planned run, whose values have no bytes."""
        mapped = modules.ModelMap(self.model)  # lazy modules have their parameters only now
        held = {
            kind: {n: self.values.take(tensor) for n, tensor in mapped.tensors(kind) if not stored.is_lazy(tensor)}
            for kind in ("_parameters", "_buffers")
        }
        watched: Run = {
            "kind": planned["kind"], "seed": planned["seed"], "dtype": planned["dtype"], "mode": planned["mode"],
            "inputs": cast("list[tuple[str, Struct]]", [list(pair) for pair in self.given]),
            "output": self.tracer.calls[0]["out"], "calls": self.tracer.calls, "params": held["_parameters"],
            "buffers": held["_buffers"], "values": self.values.describe({}),
        }  # fmt: skip
        return {"runs": {planned["id"]: watched}, "modules": mapped.describe(self.declared), "blobs": {}}


def outline_plan(plan: Plan, folder: str) -> Recorded:
    """Build the model of a plan as its only run says, call it once, and keep its outline. Raises Failed."""
    places, planned = Places(folder), plan["runs"][0]
    reporting: Callable[..., Any] = partial(run.reporting, places, run=planned["id"])
    # Whoever wants a picture wants it of what this machine computes, too: nothing is recorded that must come out again.
    torch._C._set_deterministic_algorithms(False, warn_only=False)
    with reporting(stage="import", tracer=None):
        run.seed(planned["seed"])
        kind = load.import_class(folder, plan["model"]["file"], plan["model"]["class"])
    with reporting(stage="build", tracer=None), modules.watch_construction(places) as declared:
        model = kind(**inputs.from_json(planned["args"]))
        run.switch(model, planned["mode"])
    dtype: torch.dtype = getattr(torch, planned["dtype"])
    with reporting(stage="inputs", tracer=None):
        model = model.to(dtype) if dtype is not torch.float32 else model
        given = [(name, inputs.make(spec, dtype)) for name, spec in planned["inputs"]]
    outline = Outline(model, given, places, declared)
    with reporting(stage="call", tracer=outline.tracer):
        args, kwargs = run.bind_inputs(model, given)
        run.seed(planned["seed"])
        outline.call(args, kwargs)
    return outline.describe(planned)
