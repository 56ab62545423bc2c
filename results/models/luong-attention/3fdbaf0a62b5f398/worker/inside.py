"""What torch computes inside a call that nobody can look into: a gradient, a scripted module, a function of one's own.

Below the functions that a lesson calls, torch runs operations of its own (`aten`). While an `Inside` is open they are
noted as the steps of the call, with what they read and gave, so that the call can be repeated although its node in
the graph stays whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from . import naming, nesting
from .records import Call, InsideStep, Struct
from .values import readable

if TYPE_CHECKING:
    from .flow import Source
    from .trace import Tracer

LEAVING = naming.READS | naming.EXPOSING | {"__repr__", "__format__", "__str__"}
MOST = 1000  # steps of one call; a call of more is left whole


class Inside(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the operations inside a call; `finish` hands them over."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tracer = tracer
        self.steps: list[InsideStep] = []
        self.whole = True  # every step could be described
        self.sources: list[Source] = []  # their first part becomes the number of the call
        self.made: dict[int, tuple[Tensor, str]] = {}  # by the tensor's id; kept alive, so that an id is used once
        self.failed: Exception | None = None  # what an operation raised
        self.places: dict[tuple[Any, ...], str] = {}  # by what a tensor looks at: autograd hands over new objects

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self.whole or len(self.steps) >= MOST:
            self.whole = False
            return self._call(func, args, kwargs)
        with torch._C.DisableTorchFunction():
            read = [self._describe(arg) for arg in args]
            named = {key: self._describe(arg) for key, arg in kwargs.items()}
        out = self._call(func, args, kwargs)
        with torch._C.DisableTorchFunction():
            name = f"step {len(self.steps)}"
            nesting.walk(out, name, self._note, 0)
            given = self._outcome(out)
            title = func._schema.name.removeprefix("aten::")
            self.steps.append({"op": title, "args": read, "kwargs": named, "out": given})
        return out

    def _call(self, func: Any, args: Any, kwargs: Any) -> Any:
        try:
            return func(*args, **kwargs)
        except Exception as error:
            self.failed = error
            raise

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """The TorchScript interpreter raises an error of its own, without the words of one that comes from here."""
        super().__exit__(kind, error, trace)  # type: ignore[no-untyped-call]
        if error is not None and self.failed is not None and error is not self.failed:
            error.__cause__ = self.failed

    def _note(self, tensor: Tensor, path: str) -> None:
        self.made[id(tensor)] = tensor, path
        if readable(tensor) and tensor.layout is torch.strided:
            self.places[_place(tensor)] = path

    def find(self, tensor: Tensor) -> str | None:
        """The step, with the path in its result, that made a tensor."""
        if id(tensor) in self.made:
            return self.made[id(tensor)][1]
        strided = readable(tensor) and tensor.layout is torch.strided and tensor.numel()
        return self.places.get(_place(tensor)) if strided else None

    def _describe(self, value: Any) -> Struct:
        """An argument of a step."""
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            return {"list": [self._describe(part) for part in value]}
        if value is None or isinstance(value, (bool, int, float, str)):
            return self.tracer.read(value, None)
        return nesting.to_json(value)

    def _tensor(self, tensor: Tensor) -> Struct:
        flow, step = self.tracer.flow, self.find(tensor)
        if step is None and readable(tensor) and not flow.knows(tensor):
            if (earlier := self._find_earlier(tensor)) is not None:
                return {"tensor": self.tracer.values.take(tensor), "from": [earlier], "born": earlier}
            step = self._turn(tensor)
        if not readable(tensor) or (step is None and not flow.knows(tensor) and not flow.adopt_view(tensor)):
            self.whole = False  # made by something that was not seen
            return None
        if step is None:
            return self.tracer.read(tensor, None)
        source: Source = [-1, step]
        self.sources.append(source)
        return {"tensor": self.tracer.values.take(tensor), "from": [source], "born": source}

    def _find_earlier(self, tensor: Tensor) -> Source | None:
        """The step of a call before that made a tensor: the way back through a way back reads what that has kept."""
        for number, inside in reversed(self.tracer.insides):
            step = inside.find(tensor)
            if step is not None:
                return [number, step]
        return None

    def _turn(self, tensor: Tensor) -> str | None:
        """The step that gives what autograd has kept of a known matrix: the same memory, with its axes exchanged."""
        for known in self.tracer.flow.find_around(tensor):
            axes = _exchange(known, tensor)
            if axes is not None:
                path = f"step {len(self.steps)}"
                read = self._tensor(known)
                order: Struct = {"list": [*axes]}
                out: Struct = {"tensor": self.tracer.values.take(tensor)}
                self.steps.append({"op": "permute", "args": [read, order], "kwargs": {}, "out": out})
                self._note(tensor, path)
                return path
        return None

    def watch(self, name: str) -> None:
        """A function of torch that Python code inside the call has called: numbers that leave tensors may decide."""
        if name in LEAVING:
            self.whole = False

    def _outcome(self, out: Any) -> Struct:
        """A step's result: its tensors, by number. A plain number went to Python, which may decide by it."""
        if isinstance(out, Tensor):
            if not readable(out):
                self.whole = False
                return None
            self.tracer.values.memo.pop(id(out), None)  # a step may have written into it
            return {"tensor": self.tracer.values.take(out)}
        if isinstance(out, (list, tuple)):
            return {"tuple": [self._outcome(part) for part in out]}
        self.whole = self.whole and out is None
        return None

    def finish(self, call: Call, number: int, out: Any) -> None:
        """Put the steps into their call, the run's call of that number, and say which of them gave its results."""
        given: dict[str, str] = {}

        def look(tensor: Tensor, path: str) -> None:
            step = self.find(tensor)
            if step is not None:
                given[path] = step

        nesting.walk(out, "", look, 0)
        if self.whole and self.steps and given:
            for source in self.sources:
                source[0] = number
            call["steps"], call["given"] = self.steps, given
            self.tracer.insides.append((number, self))


def _exchange(known: Tensor, tensor: Tensor) -> list[int] | None:
    """The order in which a tensor has the axes of another that it shares its memory with; None where it is no other."""
    if known.data_ptr() != tensor.data_ptr() or known.dim() != tensor.dim() or known.dtype != tensor.dtype:
        return None
    have, want = [list(zip(one.shape, one.stride(), strict=True)) for one in (known, tensor)]
    if have == want or sorted(have) != sorted(want):
        return None
    axes: list[int] = []
    for axis in want:
        axes.append(next(at for at, other in enumerate(have) if other == axis and at not in axes))
    return axes


def _place(tensor: Tensor) -> tuple[Any, ...]:
    return tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype
