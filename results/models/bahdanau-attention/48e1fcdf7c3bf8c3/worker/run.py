"""Runs a lesson's plan: for each run a fresh seeded model, its inputs, one watched call."""

from __future__ import annotations

import gc
import inspect
import os
import platform
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from . import gradients, inputs, kernels, load, modules, portable, recorded, stored, transforms
from .places import Places
from .records import Facts, InputSpec, Module, Outputs, Plan, Recorded, Run, RunPlan, Struct, WorkerError
from .trace import Tracer
from .values import Values

LIMIT = 1 << 30  # bytes of tensors in one run, before they are encoded


class Failed(Exception):
    """One run could not be finished; `record` describes the error."""

    def __init__(self, record: WorkerError) -> None:
        super().__init__(record["message"])
        self.record = record


def settle() -> None:
    """Process-wide settings under which the same bits come out on every machine."""
    torch.set_num_threads(1)
    if torch.get_num_interop_threads() != 1:
        torch.set_num_interop_threads(1)
    # The public functions for these two import the compiler first, which takes longer than a whole lesson.
    torch._C._set_deterministic_algorithms(True, warn_only=False)
    torch._C._set_mkldnn_enabled(False)
    torch._C._set_nnpack_enabled(False)  # it serves float32 convolutions, of 16 images on, where there is AVX2
    kernels.install()
    torch.set_flush_denormal(False)
    # Attention's fused path gives other last digits, and is taken or not by whether somebody watches.
    torch.backends.mha.set_fastpath_enabled(False)
    # What a lesson wants compiled runs eagerly: a compiler needs a disk and processes, and hides the operations.
    torch.compile = _eager
    torch.cond = _branch
    # One by one, gradients are clipped as together, and each step can be seen.
    vars(torch.nn.utils.clip_grad)["_has_foreach_support"] = lambda *_: False
    transforms.install()
    # A record is many small objects that all stay: looking through them again and again would cost more than tracing.
    gc.freeze()
    gc.set_threshold(20_000)
    torch.set_default_dtype(torch.float32)


def _eager(model: Any = None, **_: Any) -> Any:
    """In the place of `torch.compile`, as a function or a decorator: what is to be compiled, as it is."""
    return (lambda model: model) if model is None else model


def _branch(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    """In the place of `torch.cond`, which compiles both of its functions: the one that is meant."""
    return (true_fn if pred else false_fn)(*operands)


def facts() -> Facts:
    """What a record says about the process that made it."""
    return {
        "torch": torch.__version__, "python": platform.python_version(), "machine": platform.machine(),
        "capability": torch.backends.cpu.get_cpu_capability(), "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(), "mkldnn": torch._C._get_mkldnn_enabled(),
        "nnpack": torch._C._get_nnpack_enabled(), "kernels": kernels.NAME, "initialisation": portable.NAME,
    }  # fmt: skip


def seed(number: int) -> None:
    """Seed all three generators that a lesson may draw from."""
    random.seed(number)
    np.random.seed(number % 2**32)
    torch.default_generator.manual_seed(number)


def run_plan(
    plan: Plan, folder: str, weights: Mapping[str, Tensor] | None = None, *, native: bool = False
) -> Recorded:
    """Carry out every run of a plan on the lesson in `folder`.

    `weights` (by `execution/<name>`, `experiment/<name>`, `case:<id>/<name>`) replace what the seed draws, and what the
    lesson has prepared; `native` leaves torch's own initialisers in place. Returns `{"runs", "modules", "blobs"}`.
    Raises Failed.
    """
    places = Places(folder)
    first = plan["runs"][0]
    with reporting(places, "import", None, None):
        seed(first["seed"])
        kind = load.import_class(folder, plan["model"]["file"], plan["model"]["class"])
    runs: dict[str, Run] = {}
    blobs: dict[str, str] = {}
    structure: dict[str, Module] = {}
    with reporting(places, "weights", None, None):
        made = stored.read_prepared(folder) if weights is None else {}
    for run in plan["runs"]:
        one = _One(run, kind, places, stored.choose_start(run, weights, made), native)
        runs[run["id"]] = one.go(blobs)
        structure = structure or one.structure()
    return {"runs": runs, "modules": structure, "blobs": blobs}


def run_variants(plan: Plan, folder: str) -> dict[str, Outputs]:
    """Carry out the plan on every broken variant: `<folder>/<id>` holds the whole lesson with one place changed.

    Returns `{id: {"runs", "modules", "blobs"}}`, of every call what it gave. Raises Failed, with the variant's id, for
    one that cannot run.
    """
    out: dict[str, Outputs] = {}
    for mutant in plan.get("mutants", ()):
        try:
            variant = run_plan(plan, os.path.join(folder, mutant["id"]))
        except Failed as error:
            raise Failed({**error.record, "mutant": mutant["id"]}) from error
        out[mutant["id"]] = recorded.keep_outputs(variant)  # nobody shows or replays a broken variant
    return out


@contextmanager
def reporting(places: Places, stage: str, run: str | None, tracer: Tracer | None) -> Iterator[None]:
    """Turns whatever the lesson raises into Failed."""
    try:
        yield
    except Failed:
        raise
    except BaseException as error:
        described = load.describe_error(error, stage, places, tracer.context(error) if tracer else None)
        raise Failed({**described, "run": run}) from error


class _One:
    """One run, step by step."""

    def __init__(
        self, run: RunPlan, kind: type[nn.Module], places: Places,
        start: stored.Start | None, native: bool,
    ) -> None:  # fmt: skip
        self.run, self.kind, self.places, self.start, self.native = run, kind, places, start, native
        self.dtype: torch.dtype = getattr(torch, run["dtype"])
        self.values = Values(LIMIT)
        self.tracer: Tracer | None = None
        self.structure: Callable[[], dict[str, Module]] = dict  # of the model's modules, once it has run

    def go(self, blobs: dict[str, str]) -> Run:
        """Build, make the inputs, call, and record it all."""
        with nullcontext() if self.native else portable.installed():
            try:
                return self._go(blobs)
            except Failed:
                if self.tracer is None or not self.tracer.numbers:
                    raise
            # The lesson may want plain floats where it was given watched ones: let it have them.
            self.values = Values(LIMIT)
            return self._go(blobs, follow=False)

    def _go(self, blobs: dict[str, str], *, follow: bool = True) -> Run:
        run = self.run
        seed(run["seed"])
        with reporting(self.places, "build", run["id"], None), modules.watch_construction(self.places) as declared:
            model = self.kind(**inputs.from_json(run["args"]))
            switch(model, run["mode"])
        with reporting(self.places, "parameters", run["id"], None):
            initial = self._prepared(model)
        with reporting(self.places, "inputs", run["id"], None):
            given = [(name, self._input(name, spec)) for name, spec in run["inputs"]]
            wanted = run.get("gradients")
            if wanted:
                gradients.require_gradients(wanted, given)
        tracer = Tracer(modules.ModelMap(model), self.places, self.values, native=self.native, follow=follow)
        self.tracer = tracer
        for name, value in given:
            for path, leaf in inputs.leaves(value, name):
                if isinstance(leaf, Tensor):
                    tracer.flow.record_result(leaf, ["input", path])
        pairs = [[name, tracer.read(value, None)] for name, value in given]
        recorded_inputs = cast("list[tuple[str, Struct]]", pairs)  # lists, as JSON gives them back
        with reporting(self.places, "call", run["id"], tracer):
            args, kwargs = bind_inputs(model, given)
            seed(run["seed"])
            with modules.watch_construction(self.places, declared):
                tracer.run(args, kwargs, partial(gradients.take_gradients, wanted, tracer, given) if wanted else None)
        initial |= tracer.initial
        late = modules.ModelMap(model)  # lazy modules have their parameters only now
        self.structure = partial(late.describe, declared)
        held = {
            kind: {n: initial[n] if n in initial else self.values.take(tensor) for n, tensor in late.tensors(kind)}
            for kind in ("_parameters", "_buffers")
        }
        return {
            "kind": run["kind"], "seed": run["seed"], "dtype": run["dtype"], "mode": run["mode"],
            "inputs": recorded_inputs, "output": tracer.calls[0]["out"], "calls": tracer.calls,
            "params": held["_parameters"],
            "buffers": held["_buffers"], "values": self.values.describe(blobs),
        }  # fmt: skip

    def _input(self, name: str, spec: InputSpec) -> Any:
        try:
            return inputs.make(spec, self.dtype)
        except (ValueError, RuntimeError, TypeError, OverflowError) as error:
            raise load.Refused("inputs", f"input {name}: {error}", key=name) from error

    def _prepared(self, model: nn.Module) -> dict[str, int]:
        """Load stored weights, note every parameter and buffer as it is then, cast, override. Returns the copies."""
        mapped = modules.ModelMap(model)
        whole = {name: tensor for kind in ("_parameters", "_buffers") for name, tensor in mapped.tensors(kind)}
        if self.start is not None:
            stored.fill(whole, self.start)
        tensors = {name: tensor for name, tensor in whole.items() if not stored.is_lazy(tensor)}
        initial = {name: self.values.take(tensor) for name, tensor in tensors.items()}
        for tensor in tensors.values():
            if tensor.dtype is torch.float32 and self.dtype is not torch.float32:
                tensor.data = tensor.data.to(self.dtype)
            elif tensor.dtype is torch.complex64 and self.dtype is torch.float64:
                tensor.data = tensor.data.to(torch.complex128)
        self.values.memo.clear()
        for name, spec in self.run["parameters"].items():
            if name not in tensors:
                there = f"there are: {', '.join(tensors) or 'none'}"
                raise load.Refused("parameters", f"the model has no parameter {name}", there, key=name)
            try:
                value = inputs.tensor({"shape": list(tensors[name].shape), **spec}, self.dtype)
            except (ValueError, RuntimeError, TypeError, OverflowError) as error:
                raise load.Refused("parameters", f"parameter {name}: {error}", key=name) from error
            tensors[name].data = value.to(tensors[name].dtype)
            initial[name] = self.values.take(tensors[name])
        return initial


def switch(model: nn.Module, mode: str) -> None:
    """Put a model into `train` or `eval` mode, where its author has not given the word another meaning."""
    if not callable(getattr(model, "train", None)):
        return
    try:
        model.train(mode == "train")
    except NotImplementedError:  # an exported program was fixed in one mode when it was exported
        for module in model.modules():
            module.training = mode == "train"


def bind_inputs(model: nn.Module, given: list[tuple[str, Any]]) -> tuple[list[Any], dict[str, Any]]:
    """How the inputs are passed: by name where the signature allows it, else in order."""
    parameters = inspect.signature(model.forward).parameters
    kinds = [p.kind for p in parameters.values()]
    by_name = {n for n, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    rest = inspect.Parameter.VAR_KEYWORD in kinds
    in_order = [i for i, (name, _) in enumerate(given) if name not in by_name and not rest]
    cut = in_order[-1] + 1 if in_order else 0
    return [value for _, value in given[:cut]], dict(given[cut:])
