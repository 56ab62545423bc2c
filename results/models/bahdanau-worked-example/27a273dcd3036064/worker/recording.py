"""How a watched run becomes a record: each call with what it read and gave, and where every tensor came from."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from . import nesting
from .flow import Flow, Source, storage_of
from .modules import ModelMap, named_class
from .places import Places
from .records import Call, CallKind, Struct, Tree
from .values import Values, dtype_name, readable, version
from .watched_number import WatchedNumber

LEAVING = 10_000  # numbers that leave at once and must stay as they were


class Recorder:
    """Notes calls in `calls`, in the form that docs/architecture.md describes; nothing here runs the model."""

    def __init__(self, model: ModelMap, places: Places, values: Values) -> None:
        self.model, self.places, self.values, self.flow = model, places, values, Flow()
        self.calls: list[Call] = []
        self.inside: list[int] = []
        self.scopes: list[str] = []
        self.counts: Counter[tuple[str, str]] = Counter()
        self.rows: dict[int, tuple[Tensor, int, list[Tensor]]] = {}  # of nested tensors: as of which version, the rows
        self.left: dict[int, list[tuple[Tensor, str]]] = {}  # tensors that NumPy … looks at, by their memory
        self.unregistered: dict[int, tuple[nn.Module, str]] = {}
        self.stale = False  # a module was registered since the model was looked at
        self.quiet = False  # what runs now is inside a call, and becomes none of its own
        self.failed: tuple[BaseException, str] | None = None
        for kind, source in (("_parameters", "param"), ("_buffers", "buffer")):
            for name, tensor in model.tensors(kind):
                self.flow.record_result(tensor, [source, name])

    def _call(
        self, layer: str, op: str, kind: CallKind, args: list[Struct], kwargs: dict[str, Struct], depth: int
    ) -> Call:
        call: Call = {"layer": layer, "op": op, "kind": kind, "inside": self.inside[-1] if self.inside else None,
                "at": self.places.here(depth), "args": args, "kwargs": kwargs, "out": None}  # fmt: skip
        self.calls.append(call)
        return call

    def _finish(self, call: Call, out: Any, written: list[Tensor], index: Any = None) -> None:
        """Note what a call made: new tensors are born of it, written ones hold its numbers from now on.

        `index` is where a `setitem` wrote: its result is the whole tensor, but only a part of it changed.
        """
        number = len(self.calls) - 1
        ids = {id(tensor) for tensor in written}
        first: dict[int, str] = {}

        def seen(tensor: Tensor, path: str) -> None:
            first.setdefault(id(tensor), path)
            if id(tensor) not in ids:
                self.flow.record_result(tensor, [number, path])

        nesting.walk(out, "", seen, 0)
        for n, tensor in enumerate(written):
            part = _part(tensor, index if n == 0 else None)  # an index is into setitem's own target, the first argument
            self.flow.record_write(tensor, [number, first.get(id(tensor), f"written.{n}")], part)
            if self.left:
                for left, title in self.left.pop(storage_of(tensor), ()):
                    self._leave(title, left)
        call["out"] = self._describe(out, None, 0, read=False)

    def read(self, value: Any, touched: list[tuple[Tensor, int]] | None) -> Struct:
        """A value that is being read: its tensors say where their numbers came from."""
        return self._describe(value, touched, 0, read=True)

    def _describe(self, value: Any, touched: list[tuple[Tensor, int]] | None, depth: int, *, read: bool) -> Struct:
        if isinstance(value, Tensor):
            return self._tensor(value, touched, read=read)
        if type(value) is WatchedNumber:
            value.reads += read
            struct = self._tensor(value.held, None, read=read)
            return {**struct, "number": True} if isinstance(struct, dict) else struct
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": nesting.non_finite(value)}
        if depth > nesting.DEPTH:
            return {"opaque": "nested too deeply"}
        below = depth + 1
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            fields = [[f, self._describe(getattr(value, f), touched, below, read=read)] for f in value._fields]
            return {"record": type(value).__name__, "fields": fields}
        if isinstance(value, (tuple, list, deque)):
            items = [self._describe(item, touched, below, read=read) for item in value]
            return {"tuple": items} if isinstance(value, tuple) else {"list": items}
        if isinstance(value, Mapping):
            return {"dict": [[self._describe(k, None, below, read=read), self._describe(v, touched, below, read=read)]
                             for k, v in value.items()]}  # fmt: skip
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [[f.name, self._describe(getattr(value, f.name, None), touched, below, read=read)]
                      for f in dataclasses.fields(value)]  # fmt: skip
            return {"record": type(value).__name__, "fields": fields}
        return nesting.to_json(value)

    def _rows(self, nested: Tensor, *, read: bool) -> Struct:
        """A nested tensor as the record of its rows; each comes from a row of what made the whole."""
        kept = self.rows.get(id(nested))
        if kept is None or kept[1] != version(nested):
            kept = self.rows[id(nested)] = (nested, version(nested), list(nested.unbind()))
        if read and not self.flow.knows(nested):
            return {"opaque": "a nested tensor that nobody was seen to make"}
        sources = self.flow.sources(nested) if read else []
        fields: list[list[Struct]] = []
        for n, row in enumerate(kept[2]):
            struct: Tree = {"tensor": self.values.take(row)}
            if read:
                struct["from"] = [[source, f"{path}.{n}" if path else str(n)] for source, path in sources]
            fields.append([str(n), struct])
        return {"record": "NestedTensor", "fields": fields}

    def _tensor(self, tensor: Tensor, touched: list[tuple[Tensor, int]] | None, *, read: bool) -> Struct:
        if tensor.is_nested and not torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return self._rows(tensor, read=read)
        if not readable(tensor):
            return {"opaque": f"a tensor without numbers of its own ({type(tensor).__name__})"}
        if touched is not None:
            touched.append((tensor, version(tensor)))
        if read:
            if not self.flow.knows(tensor) and not self.flow.adopt_view(tensor):
                self._outside(tensor)
            elif self.flow.exposed and self.flow.is_exposed(tensor) and self.values.stale(tensor):
                self._outside(tensor, written=True)
        number = self.values.take(tensor, self.flow.writes(tensor))
        if not read:
            return {"tensor": number}
        sources, born = self.flow.sources(tensor), self.flow.origin[id(tensor)][1]
        # Where later writes cover a view, its sources no longer tell which tensor was read: its birth does.
        return {"tensor": number, "from": sources, **({} if sources == [born] else {"born": born})}

    def _outside(self, tensor: Tensor, *, written: bool = False) -> None:
        """A tensor that nothing seen has made, or has written (by NumPy …), enters as a source of its own."""
        scope = self.scopes[-1] if self.scopes else named_class(self.model.model).__name__
        call = self._call(self._numbered("outside", scope), "Outside", "outside", [], {}, 6)
        source: Source = [len(self.calls) - 1, ""]
        if written:
            self.flow.record_write(tensor, source)
        else:
            self.flow.record_result(tensor, source)
            self.flow.expose(tensor)
        call["out"] = {"tensor": self.values.take(tensor, self.flow.writes(tensor))}

    def _layer(self, module: nn.Module) -> str:
        if id(module) not in self.model.paths and self.stale:
            self.model, self.stale = ModelMap(self.model.model), False
        if id(module) in self.model.paths:
            return self.model.paths[id(module)]
        if id(module) not in self.unregistered:
            name = self._numbered(named_class(module).__name__, self.scopes[-1] if self.scopes else "")
            self.unregistered[id(module)] = (module, name)
        return self.unregistered[id(module)][1]

    def _numbered(self, name: str, scope: str) -> str:
        n = self.counts[name, scope]
        self.counts[name, scope] += 1
        return f"{name}@{scope}#{n}"

    def _failing(self, error: BaseException, what: str, args: Any, kwargs: Any) -> None:
        """Remember the innermost call in which an exception arose, and what it was given."""
        if self.failed is None or self.failed[0] is not error:
            given: list[str] = []
            for value in (*args, *kwargs.values()):
                nesting.walk(value, "", lambda tensor, path: given.append(self._described(tensor)), 0)
            self.failed = error, f"in {what}" + (f", given {', '.join(given[:6])}" if given else "")

    def context(self, error: BaseException) -> str | None:
        """In which call an exception arose, and what that was given; None when it arose elsewhere."""
        chain: BaseException | None = error
        while chain is not None:
            if self.failed is not None and self.failed[0] is chain:
                return self.failed[1]
            chain = chain.__cause__ or chain.__context__
        return None

    def _described(self, tensor: Tensor) -> str:
        source: Source = self.flow.origin[id(tensor)][1] if self.flow.knows(tensor) else ["", ""]
        name = str(source[1]) if source[0] in ("input", "param", "buffer") else ""
        if isinstance(source[0], int):
            name = str(self.calls[source[0]]["layer"])
        return f"{name or 'a tensor'}: {dtype_name(tensor)} {list(tensor.shape)}"

    def _leave(self, title: str, tensor: Any) -> None:
        """A tensor's numbers go to NumPy, or become text: Python may decide by each of them, now and after writes."""
        if not isinstance(tensor, Tensor) or not readable(tensor):
            return
        quiet, self.quiet = self.quiet, True
        try:
            with torch._C.DisableTorchFunction():
                struct = self.read(tensor, None)
                if _is_held(struct):
                    return
                call = self._call(self._numbered(title, self.scopes[-1]), f"torch.{title}", "op", [struct], {}, 4)
                many = tensor.numel() > LEAVING
                numbers = [] if many else tensor.detach().to_dense().flatten().tolist()
                call["out"] = {"opaque": "many numbers"} if many else self._describe(numbers, None, 0, read=False)
                if title not in ("repr", "format"):
                    self.left.setdefault(storage_of(tensor), []).append((tensor, title))
        finally:
            self.quiet = quiet


def _is_held(struct: Struct) -> bool:
    """Whether a tensor is a parameter or buffer as it was at first: no input reaches it."""
    if not isinstance(struct, dict) or "born" in struct:
        return False
    return all(source[0] in ("param", "buffer") for source in struct.get("from", []))


def _part(tensor: Tensor, index: Any) -> Tensor:
    """The part of a tensor that a basic index selects, as a view; all of it for any other index."""
    parts = index if isinstance(index, tuple) else (index,)
    basic = all(part is Ellipsis or type(part) is int or isinstance(part, slice) for part in parts)
    return tensor[index] if index is not None and basic else tensor
