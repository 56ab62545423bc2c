"""Watches one run of a model: every module call and tensor operation, with the data that flows between them."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from . import portable
from .flow import Flow, Source
from .modules import ModelMap, class_of, is_leaf
from .places import Places
from .values import Values, dtype_name, readable

DEPTH = 40
# Questions about a tensor: no numbers flow out of them into another tensor.
QUESTIONS = frozenset({
    "size", "dim", "numel", "nelement", "ndimension", "stride", "storage_offset", "data_ptr", "element_size", "__len__",
    "is_floating_point", "is_complex", "is_contiguous", "is_signed", "item", "tolist", "__bool__", "__float__",
    "__int__", "__index__", "__repr__", "__format__", "__hash__", "get_device", "requires_grad_", "retain_grad", "register_hook",
    "untyped_storage", "storage", "is_inference", "is_pinned", "has_names", "type_as_", "is_tensor", "is_nonzero",
})  # fmt: skip
SPELLED = {
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__idiv__": "div_",
    "__ifloordiv__": "floor_divide_", "__imod__": "remainder_", "__ipow__": "pow_", "__iand__": "bitwise_and_",
    "__ior__": "bitwise_or_", "__ixor__": "bitwise_xor_", "__imatmul__": "matmul_", "__truediv__": "div",
    "__div__": "div", "__floordiv__": "floor_divide", "__mod__": "remainder", "__invert__": "bitwise_not", "__and__": "bitwise_and",
    "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift",
}  # fmt: skip
REFLECTED = {
    "__radd__": "add", "__rsub__": "sub", "__rmul__": "mul", "__rdiv__": "div", "__rtruediv__": "div",
    "__rfloordiv__": "floor_divide", "__rmod__": "remainder", "__rpow__": "pow", "__rmatmul__": "matmul",
    "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "__rlshift__": "bitwise_left_shift",
    "__rrshift__": "bitwise_right_shift", "rsub": "sub",
}  # fmt: skip


def spelled(func: Callable[..., Any]) -> tuple[str, bool]:
    """An operation's published name (a torch method's), and whether its operands stand reflected."""
    name = getattr(func, "__name__", type(func).__name__)
    if name in ("__get__", "__set__"):
        owner = getattr(getattr(func, "__self__", None), "__name__", name)
        return (owner if name == "__get__" else f"{owner}_"), False
    if name in REFLECTED:
        return REFLECTED[name], True
    return SPELLED.get(name, name.strip("_") if name.startswith("__") else name), False


class Tracer:
    """Collects the calls of one run; `calls` has the form that docs/architecture.md describes."""

    def __init__(self, model: ModelMap, places: Places, values: Values, *, native: bool = False) -> None:
        self.model, self.places, self.values, self.flow = model, places, values, Flow()
        self.replaced: dict[Any, Any] = {} if native else portable.REPLACED
        self.calls: list[dict[str, Any]] = []
        self.inside: list[int] = []
        self.scopes: list[str] = []
        self.counts: Counter[tuple[str, str]] = Counter()
        self.unregistered: dict[int, tuple[nn.Module, str]] = {}
        self.quiet = False
        self.failed: str | None = None
        for kind, source in (("_parameters", "param"), ("_buffers", "buffer")):
            for name, tensor in model.tensors(kind):
                self.flow.born(tensor, [source, name])

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While it is open, module calls, tensor operations and custom autograd functions are recorded."""
        native_call, native_apply = nn.Module.__call__, torch.autograd.Function.apply
        tracer = self

        def __call__(module: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
            run = native_call.__get__(module)
            return run(*args, **kwargs) if tracer.quiet else tracer.module(module, run, args, kwargs)

        def apply(function: Any, /, *args: Any, **kwargs: Any) -> Any:
            run = native_apply.__func__.__get__(function)  # type: ignore[attr-defined]
            return run(*args, **kwargs) if tracer.quiet else tracer.op(run, args, kwargs, function.__name__)

        nn.Module.__call__ = __call__  # type: ignore[method-assign]
        torch.autograd.Function.apply = classmethod(apply)  # type: ignore[method-assign, assignment]
        try:
            with _Mode(self):
                yield
        finally:
            nn.Module.__call__ = native_call  # type: ignore[method-assign]
            torch.autograd.Function.apply = native_apply  # type: ignore[method-assign]

    # -- what ran ------------------------------------------------------------------------------------------------

    def op(self, func: Callable[..., Any], args: Any, kwargs: Any, name: str | None = None) -> Any:
        """Run one tensor operation; it becomes a node when tensors come out of it or are written by it."""
        title, reflected = (name, False) if name else spelled(func)
        raw = getattr(func, "__name__", "")
        if raw in QUESTIONS or (raw == "__get__" and title in QUESTIONS):
            return func(*args, **kwargs)
        touched: list[tuple[Tensor, int]] = []
        self.quiet = True
        try:
            with torch._C.DisableTorchFunction():
                if raw == "__get__" and not isinstance(attribute := func(*args, **kwargs), Tensor):
                    return attribute
                read = [self.read(arg, touched) for arg in args]
                named = {key: self.read(arg, touched) for key, arg in kwargs.items()}
                try:
                    out = self.replaced.get(func, func)(*args, **kwargs) if raw != "__get__" else attribute
                except BaseException:
                    self._failing(f"{title}", args, kwargs)
                    raise
                written = [tensor for tensor, version in touched if _version(tensor) != version]
                if raw == "__set__" and title == "data_":
                    written = [args[0]]
                if not written and not _holds_tensor(out):
                    return out
                scope = self.scopes[-1]
                call = self._call(self._numbered(title, scope), f"torch.{title}", "op",
                                  read[::-1] if reflected else read, named, 3)  # fmt: skip
                self._finish(call, out if _holds_tensor(out) else tuple(written), written)
                return out
        finally:
            self.quiet = False

    def module(self, module: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run one module call: a leaf becomes a node, a container a frame around what runs inside."""
        layer = self._layer(module)
        return self._leaf(module, layer, run, args, kwargs) if is_leaf(module) else self._container(
            module, layer, run, args, kwargs)  # fmt: skip

    def _leaf(self, module: nn.Module, layer: str, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        touched: list[tuple[Tensor, int]] = []
        self.quiet = True
        try:
            with torch._C.DisableTorchFunction():
                read = [self.read(arg, touched) for arg in args]
                named = {key: self.read(arg, touched) for key, arg in kwargs.items()}
                try:
                    out = run(*args, **kwargs)
                except BaseException:
                    self._failing(f"{layer} ({class_of(module).__name__})", args, kwargs)
                    raise
                written = [tensor for tensor, version in touched if _version(tensor) != version]
                call = self._call(layer, class_of(module).__name__, "layer", read, named, 4)
                self._finish(call, out, written)
                return out
        finally:
            self.quiet = False

    def _container(self, module: nn.Module, layer: str, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        with torch._C.DisableTorchFunction():
            read = [self.read(arg, None) for arg in args]
            named = {key: self.read(arg, None) for key, arg in kwargs.items()}
        call = self._call(layer, "Module", "module", read, named, 4)
        self.inside.append(len(self.calls) - 1)
        self.scopes.append(layer or class_of(module).__name__)
        try:
            out = run(*args, **kwargs)
        except BaseException:
            if layer:
                self._failing(f"{layer} ({class_of(module).__name__})", args, kwargs)
            raise
        finally:
            self.inside.pop()
            self.scopes.pop()
        with torch._C.DisableTorchFunction():
            call["out"] = self.read(out, None)
        return out

    # -- how it is told ------------------------------------------------------------------------------------------

    def _call(
        self, layer: str, op: str, kind: str, args: list[Any], kwargs: dict[str, Any], depth: int
    ) -> dict[str, Any]:
        call = {"layer": layer, "op": op, "kind": kind, "inside": self.inside[-1] if self.inside else None,
                "at": self.places.here(depth), "args": args, "kwargs": kwargs, "out": None}  # fmt: skip
        self.calls.append(call)
        return call

    def _finish(self, call: dict[str, Any], out: Any, written: list[Tensor]) -> None:
        """Note what a call made: new tensors are born of it, written ones hold its numbers from now on."""
        index = len(self.calls) - 1
        ids = {id(tensor) for tensor in written}
        first: dict[int, str] = {}

        def seen(tensor: Tensor, path: str) -> None:
            first.setdefault(id(tensor), path)
            if id(tensor) not in ids:
                self.flow.born(tensor, [index, path])

        _walk(out, "", seen, 0)
        for tensor in written:
            self.flow.written(tensor, [index, first.get(id(tensor), "")])
        call["out"] = self._told(out, None, 0, read=False)

    def read(self, value: Any, touched: list[tuple[Tensor, int]] | None) -> Any:
        """A value that is being read: its tensors say where their numbers came from."""
        return self._told(value, touched, 0, read=True)

    def _told(self, value: Any, touched: list[tuple[Tensor, int]] | None, depth: int, *, read: bool) -> Any:
        if isinstance(value, Tensor):
            return self._tensor(value, touched, read=read)
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": _non_finite(value)}
        if depth > DEPTH:
            return {"opaque": "nested too deeply"}
        below = depth + 1
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            fields = [[f, self._told(getattr(value, f), touched, below, read=read)] for f in value._fields]
            return {"record": type(value).__name__, "fields": fields}
        if isinstance(value, (tuple, list)):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return {kind: [self._told(item, touched, below, read=read) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[self._told(k, None, below, read=read), self._told(v, touched, below, read=read)]
                             for k, v in value.items()]}  # fmt: skip
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [[f.name, self._told(getattr(value, f.name, None), touched, below, read=read)]
                      for f in dataclasses.fields(value)]  # fmt: skip
            return {"record": type(value).__name__, "fields": fields}
        return _plain(value)

    def _tensor(self, tensor: Tensor, touched: list[tuple[Tensor, int]] | None, *, read: bool) -> Any:
        if not readable(tensor):
            return {"opaque": f"a tensor without numbers of its own ({type(tensor).__name__})"}
        if touched is not None:
            touched.append((tensor, _version(tensor)))
        if read and not self.flow.knows(tensor):
            self._outside(tensor)
        number = self.values.take(tensor, self.flow.writes(tensor))
        return {"tensor": number, "from": self.flow.sources(tensor)} if read else {"tensor": number}

    def _outside(self, tensor: Tensor) -> None:
        """A tensor that nothing seen has made (from NumPy, from a global …) enters as a source of its own."""
        scope = self.scopes[-1] if self.scopes else class_of(self.model.model).__name__
        call = self._call(self._numbered("outside", scope), "Outside", "outside", [], {}, 6)
        self.flow.born(tensor, [len(self.calls) - 1, ""])
        call["out"] = {"tensor": self.values.take(tensor, self.flow.writes(tensor))}

    def _layer(self, module: nn.Module) -> str:
        if id(module) in self.model.paths:
            return self.model.paths[id(module)]
        if id(module) not in self.unregistered:
            name = self._numbered(class_of(module).__name__, self.scopes[-1] if self.scopes else "")
            self.unregistered[id(module)] = (module, name)
        return self.unregistered[id(module)][1]

    def _numbered(self, name: str, scope: str) -> str:
        n = self.counts[name, scope]
        self.counts[name, scope] += 1
        return f"{name}@{scope}#{n}"

    def _failing(self, what: str, args: Any, kwargs: Any) -> None:
        """Remember the innermost call in which an exception arose, and what it was given."""
        if self.failed is None:
            given: list[str] = []
            for value in (*args, *kwargs.values()):
                _walk(value, "", lambda tensor, path: given.append(self._described(tensor)), 0)
            self.failed = f"in {what}" + (f", given {', '.join(given[:6])}" if given else "")

    def _described(self, tensor: Tensor) -> str:
        source: Source = self.flow.origin[id(tensor)][1] if self.flow.knows(tensor) else ["", ""]
        name = str(source[1]) if source[0] in ("input", "param", "buffer") else ""
        if isinstance(source[0], int):
            name = str(self.calls[source[0]]["layer"])
        return f"{name or 'a tensor'}: {dtype_name(tensor)} {list(tensor.shape)}"


class _Mode(TorchFunctionMode):
    """Hands every torch function called by the lesson to the tracer."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self.tracer = tracer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.tracer.quiet:
            return self.tracer.replaced.get(func, func)(*args, **(kwargs or {}))
        return self.tracer.op(func, args, kwargs or {})


def _version(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


def _walk(value: Any, path: str, seen: Callable[[Tensor, str], None], depth: int) -> None:
    """Calls `seen` for every tensor in a nested value with its dotted path."""
    if isinstance(value, Tensor):
        seen(value, path)
        return
    if depth > DEPTH:
        return
    items: Any = ()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        items = ((name, getattr(value, name)) for name in value._fields)
    elif isinstance(value, (tuple, list)):
        items = enumerate(value)
    elif isinstance(value, dict):
        items = value.items()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = ((field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value))
    for key, item in items:
        _walk(item, f"{path}.{key}" if path else str(key), seen, depth + 1)


def _holds_tensor(value: Any) -> bool:
    found: list[Tensor] = []
    _walk(value, "", lambda tensor, path: found.append(tensor), 0)
    return bool(found)


def _non_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _plain(value: Any) -> Any:
    """A value that is neither tensor nor container, as JSON can hold it."""
    if isinstance(value, slice):
        return {"slice": [_plain_number(value.start), _plain_number(value.stop), _plain_number(value.step)]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, range):
        return {"list": list(value)}
    if isinstance(value, np.generic):
        return _plain(value.item()) if not isinstance(value.item(), (bool, int, float, str)) else value.item()
    if callable(value):
        return {"opaque": getattr(value, "__name__", type(value).__name__)}
    return {"opaque": f"{type(value).__name__}"}


def _plain_number(value: Any) -> int | None:
    return None if value is None else int(value)
