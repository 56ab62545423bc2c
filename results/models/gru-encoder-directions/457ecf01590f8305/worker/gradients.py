"""Takes the gradients that a recipe asks for, after the model's call and in the same record: three more operations.

They are ordinary calls of the scope `gradients`: one number is cut out of a value of the run, and `torch.autograd.grad`
is asked for its gradients. So they are replayed, explained and moved as all others are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from . import inputs, load, recorded
from .records import Call, GradientPlan, Module, Run
from .trace import Tracer


def require_gradients(plan: GradientPlan, given: list[tuple[str, Any]]) -> None:
    """Let autograd follow the inputs that are asked for. Raises Refused for one that holds no floats."""
    for address in plan["with_respect_to"]:
        kind, _, path = address.partition(":")
        if kind == "input":
            leaf = _find_input(given, path)
            if leaf is not None and not leaf.is_floating_point():
                seen = f"{address} holds {str(leaf.dtype).removeprefix('torch.')}"
                raise load.Refused("gradients", seen, "a gradient is that of floats")
            if leaf is not None:
                leaf.requires_grad_()


def take_gradients(plan: GradientPlan, tracer: Tracer, given: list[tuple[str, Any]]) -> None:
    """Take the gradients, while the tracer watches. Raises Refused for an address that names nothing there."""
    known = _Known(tracer, given)
    value = known.find(plan["of"])
    if plan["select"] is not None:
        try:
            value = value[recorded.read_index(plan["select"])]
        except (ValueError, IndexError) as error:
            raise load.Refused("gradients", f"{plan['of']} has shape {list(value.shape)}: {error}",
                               "a `select` that fits it") from error  # fmt: skip
    if value.numel() != 1:
        value = value.sum()
    if not value.requires_grad:
        raise load.Refused("gradients", f"nothing that has a gradient leads to {plan['of']}",
                           "a value that parameters or the named inputs lead to, outside of torch.no_grad")  # fmt: skip
    wanted = tuple(known.find(address) for address in plan["with_respect_to"])
    torch.autograd.grad(value.reshape(()) if value.dim() else value, wanted, materialize_grads=True)


class _Known:
    """The tensors of a run that is just over, by address."""

    def __init__(self, tracer: Tracer, given: list[tuple[str, Any]]) -> None:
        self.tracer, self.given = tracer, given
        model = tracer.model
        self.held = {f"{name}:{full}": tensor for kind, name in (("_parameters", "param"), ("_buffers", "buffer"))
                     for full, tensor in model.tensors(kind)}  # fmt: skip
        aliases: Mapping[str, Any] = {path: {"aliases": names} for path, names in model.aliases.items()}
        calls: list[Call] = tracer.calls
        run: Any = {"inputs": [], "params": {}, "buffers": {}, "calls": calls, "output": calls[0]["out"], "values": [],
                    "dtype": "float64"}  # fmt: skip
        watched: Run = run
        modules: Mapping[str, Module] = aliases
        self.run = recorded.Run(watched, modules, {})
        self.tensors = {number: tensor for number, _, tensor in tracer.values.memo.values()}

    def find(self, address: str) -> Tensor:
        """The tensor that an address names. Raises Refused."""
        kind, _, name = address.partition(":")
        tensor = _find_input(self.given, name) if kind == "input" else self.held.get(address)
        return self._find_result(address) if tensor is None else tensor

    def _find_result(self, address: str) -> Tensor:
        try:
            struct = self.run.find_struct(address)
        except recorded.NoSuchAddress as error:
            raise load.Refused("gradients", f"{address!r} {error.why}", error.instead()) from error
        tensor = self.tensors.get(struct["tensor"])
        if tensor is None:
            raise load.Refused("gradients", f"{address} was overwritten later", "a value that stays as it arose")
        return tensor


def _find_input(given: list[tuple[str, Any]], path: str) -> Tensor | None:
    leaves = (leaf for name, value in given for at, leaf in inputs.leaves(value, name) if at == path)
    return next((leaf for leaf in leaves if isinstance(leaf, Tensor)), None)
