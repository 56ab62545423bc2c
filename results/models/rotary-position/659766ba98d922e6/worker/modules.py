"""The model's modules: their paths, where they were declared, and how they were constructed."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import nn

from .places import Places
from .records import Arguments, Module, Place, Source

RECURRENT_OR_ATTENTION = (nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention)
MADE_FROM = ("orig", "mask", "u", "v", "g")  # what pruning, spectral and weight norm as hooks add to a weight's name
NOT_SHOWN = frozenset({"self", "args", "kwargs", "device", "dtype", "mode"})


Declared = dict[int, tuple[nn.Module, Place | None]]


@contextmanager
def watch_construction(places: Places, seen: Declared | None = None) -> Iterator[Declared]:
    """While it is open: remembers for every new module the place in the lesson's files that asked for it.

    A copied module was asked for where it was copied. `seen` is what was remembered before.
    """
    places_of: Declared = {} if seen is None else seen
    native, native_copy = nn.Module.__init__, nn.Module.__setstate__

    def __init__(module: nn.Module, /, *args: Any, **kwargs: Any) -> None:
        places_of[id(module)] = (module, places.declared(module, 2))
        native(module, *args, **kwargs)

    def __setstate__(module: nn.Module, state: Any) -> None:
        places_of[id(module)] = (module, places.declared(module, 2))
        native_copy(module, state)  # type: ignore[no-untyped-call]

    nn.Module.__init__ = __init__  # type: ignore[method-assign, assignment]
    nn.Module.__setstate__ = __setstate__  # type: ignore[method-assign]
    try:
        yield places_of
    finally:
        nn.Module.__init__ = native  # type: ignore[method-assign]
        nn.Module.__setstate__ = native_copy  # type: ignore[method-assign]


def held(module: nn.Module, kind: str) -> dict[str, Any]:
    """A module's own `_parameters`, `_buffers` or `_modules` by name, whatever its class calls its own attributes."""
    own = module.__dict__.get(kind)
    if own is None and isinstance(module, torch.jit.ScriptModule):
        own = getattr(module, kind, None)  # a traced module keeps them elsewhere
    return {name: each for name, each in own.items() if each is not None} if own else {}


def children(module: nn.Module) -> dict[str, nn.Module]:
    """A module's direct children by name."""
    return held(module, "_modules")


def is_leaf(module: nn.Module) -> bool:
    """Whether a call of the module is one node: its forward is a library's and nothing of the author's runs inside.

    What torch's parametrisations compute is opened: it is why the layer's weights are what they are.
    """
    if isinstance(module, torch.jit.ScriptModule):
        return True
    home = _home_of_forward(module)
    if not home.startswith("torch.") or home == "torch.nn.utils.parametrizations":
        return False
    return isinstance(module, RECURRENT_OR_ATTENTION) or not children(module).keys() - {"parametrizations"}


def _home_of_forward(module: nn.Module) -> str:
    """The Python module in which the forward that runs was written: an instance may have one of its own."""
    forward: Any = module.__dict__.get("forward", type(module).forward)
    while isinstance(forward, (functools.partial, types.MethodType)):
        forward = forward.func if isinstance(forward, functools.partial) else forward.__func__
    return str(getattr(forward, "__module__", ""))


def list_held(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors with which a leaf computes, by the names that it knows them by: `weight`, `out_proj.bias`.

    A plain attribute takes the place of a parameter that was taken out (`del layer.weight; layer.weight = made`);
    what torch's hooks make such an attribute from (`weight_orig`, `weight_mask`) the layer itself does not read.
    """
    own = module.__dict__
    made = {name: value for name, value in own.items() if isinstance(value, torch.Tensor)}
    behind = {f"{name}_{part}" for name in made for part in MADE_FROM}
    for kind in ("_parameters", "_buffers"):
        yield from ((n, tensor) for n, tensor in held(module, kind).items() if n not in behind)
    yield from made.items()
    for child_name, child in children(module).items():
        if child_name != "parametrizations":
            yield from ((f"{child_name}.{name}", tensor) for name, tensor in list_held(child))


def named_class(module: nn.Module) -> type:
    """The class that its author named: a parametrised module's own class is made up by torch."""
    kind = type(module)
    return kind.__mro__[1] if kind.__module__ == "torch.nn.utils.parametrize" else kind


class ModelMap:
    """Every registered module of a model by its first registered path, parents before children."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.paths: dict[int, str] = {}
        self.modules: dict[str, nn.Module] = {}
        self.aliases: dict[str, list[str]] = {}
        self.names: dict[int, Source] = {}  # of every parameter and buffer, by the tensor's id
        stack = [("", model)]
        while stack:
            path, module = stack.pop()
            if id(module) in self.paths:
                self.aliases[self.paths[id(module)]].append(path)
                continue
            self.paths[id(module)], self.modules[path], self.aliases[path] = path, module, []
            below = [(f"{path}.{name}" if path else name, child) for name, child in children(module).items()]
            stack.extend(reversed(below))
        self.held: dict[str, dict[str, Source]] = {}  # by leaf: its tensors as they were registered
        for kind, source in (("_parameters", "param"), ("_buffers", "buffer")):
            self.names |= {id(tensor): [source, name] for name, tensor in self.tensors(kind)}

    def registered(self, path: str) -> dict[str, Source]:
        """The tensors of a leaf as it was built, as the places that their numbers come from, by local name."""
        if path not in self.held:
            self.held[path] = {name: self.names[id(tensor)] for name, tensor in list_held(self.modules[path])
                               if id(tensor) in self.names}  # fmt: skip
        return self.held[path]

    def tensors(self, kind: str) -> Iterator[tuple[str, torch.Tensor]]:
        """Parameters (`_parameters`) or buffers (`_buffers`) by full name, each tensor once."""
        seen: set[int] = set()
        for path, module in self.modules.items():
            for name, tensor in held(module, kind).items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield (f"{path}.{name}" if path else name), tensor

    def describe(self, declared: Declared) -> dict[str, Module]:
        """Every module's class, leafness, parent, parameters and places, by path (the root as `""`)."""
        names = {id(t): name for kind in ("_parameters", "_buffers") for name, t in self.tensors(kind)}
        out: dict[str, Module] = {}
        for path, module in self.modules.items():
            parent = path.rpartition(".")[0] if path else None
            leaf = bool(path) and is_leaf(module)
            above = out[parent]["source"] if parent is not None else None
            place = declared.get(id(module), (None, None))[1]
            out[path] = {
                "class": named_class(module).__name__, "leaf": leaf, "parent": parent,
                "params": constructor(module) if leaf else {}, "source": place or above,
                "aliases": self.aliases[path], "training": bool(module.training),
                "parameters": _own(module, "_parameters", names, leaf),
                "buffers": _own(module, "_buffers", names, leaf),
            }  # fmt: skip
        return out


def _own(module: nn.Module, kind: str, names: dict[int, str], leaf: bool) -> dict[str, str]:
    """A module's own tensors (and its children's, for the names that a leaf's kernel needs): local to full name."""
    out = {}
    for name, tensor in held(module, kind).items():
        out[name] = names[id(tensor)]
    if leaf:
        for child_name, child in children(module).items():
            below = _own(child, kind, names, is_leaf(child))
            out.update({f"{child_name}.{name}": full for name, full in below.items()})
    return out


def constructor(module: nn.Module) -> Arguments:
    """The constructor arguments of a library's leaf module that are required or differ from their defaults."""
    kind = named_class(module)
    if not kind.__module__.startswith("torch."):
        return {}
    out = {}
    for name, parameter in _signature(kind).items():
        if name in NOT_SHOWN or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        value = _attribute(module, name)
        required = parameter.default is parameter.empty
        if value is not _ABSENT and (required or not _is_default(module, name, value, _plain(parameter.default))):
            out[name] = value
    if getattr(module, "nonlinearity", "tanh") != "tanh":
        out["nonlinearity"] = module.nonlinearity
    return out


# What a default of None stands for.
IMPLIED = {"stride": "kernel_size", "kdim": "embed_dim", "vdim": "embed_dim"}


def _is_default(module: nn.Module, name: str, value: Any, default: Any) -> bool:
    """Whether an argument is its default: also one number for every axis, or what follows from another argument."""
    if value == default:
        return True
    if isinstance(value, list) and value and not isinstance(default, list):
        return all(item == default for item in value)
    if name == "bias" and value is False:  # a layer without weights has no bias either
        return not getattr(module, "affine", True) or not getattr(module, "elementwise_affine", True)
    return default is None and name in IMPLIED and value == _attribute(module, IMPLIED[name])


_ABSENT = object()


@cache
def _signature(kind: type) -> dict[str, inspect.Parameter]:
    """The first constructor in the class's ancestry that names its parameters."""
    for ancestor in kind.__mro__:
        if "__init__" in vars(ancestor) and ancestor is not nn.Module:
            parameters = dict(inspect.signature(vars(ancestor)["__init__"]).parameters)
            if parameters.keys() - NOT_SHOWN or len(parameters) == 1:
                return parameters
    return {}


def _attribute(module: nn.Module, name: str) -> Any:
    if name == "bias" and not isinstance(getattr(module, name, None), bool):
        names = {**module.__dict__.get("_parameters", {}), **getattr(module, "parametrizations", {})}
        return (names.get("bias") is not None) if "bias" in names else _ABSENT
    value = getattr(module, name, _ABSENT)
    return value if value is _ABSENT else _plain(value)


def _plain(value: Any) -> Any:
    """A constructor argument as JSON can hold it; tensors and modules are left out."""
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else {"float": str(value)}
    if isinstance(value, (list, tuple)):
        items = [_plain(item) for item in value]
        return _ABSENT if any(item is _ABSENT for item in items) else items
    return _ABSENT
