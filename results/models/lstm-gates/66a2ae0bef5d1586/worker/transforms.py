"""What torch computes out of the tracer's sight: functions under `torch.func`, and gradients that `backward` leaves.

Under a transform tensors are wrapped, and no operation gives numbers that could be recorded. Such a call is one node:
it reads what it is given and what its function captures, and gives what comes out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch._functorch import apis, eager_transforms
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

from . import nesting, rewriting
from .values import version

if TYPE_CHECKING:
    from .trace import Tracer

MAKE = ("vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian", "functionalize")  # give a function
CALL = ("jvp", "vjp", "linearize")  # call a function; the last two also give one


def install() -> None:
    """Let `torch.func` and `torch.autograd.backward` report to a tracer; once in a process."""
    for home in (apis, eager_transforms):
        for name in (*MAKE, *CALL):
            native: Any = vars(home).get(name)
            if native is not None and native.__module__ == "torch.func" and not hasattr(native, "watched"):
                _replace(native, _make(name, native) if name in MAKE else _call(name, native))
    # Neither hands its tensors to a TorchFunctionMode.
    for place, name in ((torch.autograd, "backward"), (torch.nested, "nested_tensor")):
        native = getattr(place, name)
        if not hasattr(native, "watched"):
            setattr(place, name, functools.wraps(native)(_watch(name, native)))
    _let_hooks_be_seen()


def _let_hooks_be_seen() -> None:
    """While torch runs, it shows nobody what is called inside: the author's hooks on gradients and on what is kept."""
    engine: Any = torch.autograd.graph._engine_run_backward
    if hasattr(engine, "watched"):
        return
    seen = _mark(functools.wraps(engine)(_see(engine)))
    for place in (torch.autograd, torch.autograd.graph):
        if vars(place).get("_engine_run_backward") is engine:
            place._engine_run_backward = seen  # type: ignore[attr-defined]

    class Seen(torch.autograd.graph.saved_tensors_hooks):
        def __init__(self, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
            super().__init__(_see(pack_hook), _see(unpack_hook))

    torch.autograd.graph.saved_tensors_hooks = Seen  # type: ignore[misc]


def _see(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs inside one of torch's, with the tracer looking on."""

    def run(*args: Any, **kwargs: Any) -> Any:
        tracer = rewriting.tracer_of_thread()
        with nullcontext() if tracer is None else tracer.looking_on():
            return function(*args, **kwargs)

    return run


def _replace(native: Callable[..., Any], other: Any) -> None:
    """Put a function in another's place wherever torch names it."""
    for home in (apis, eager_transforms, torch.func, torch):
        for name in [name for name, value in vars(home).items() if value is native]:
            setattr(home, name, other)


def _mark(function: Any) -> Any:
    function.watched = True
    return function


def _make(name: str, native: Callable[..., Any]) -> Any:
    """A transform that gives a function: calls of that are watched."""

    @functools.wraps(native)
    def transform(*args: Any, **kwargs: Any) -> Any:
        run = native(*args, **kwargs)
        return functools.wraps(run)(_watch(name, run)) if callable(run) else run

    return _mark(transform)


def _call(name: str, native: Callable[..., Any]) -> Any:
    """A transform that calls its function at once; a function among what it gives is watched, too."""
    watched = _watch(name, native)

    @functools.wraps(native)
    def transform(*args: Any, **kwargs: Any) -> Any:
        out = watched(*args, **kwargs)
        if not isinstance(out, tuple) or not rewriting.watching:
            return out
        looked = rewriting.watching[-1][0].looked
        kept = () if looked is None else looked.list_read()  # such a function keeps what the first call read
        return tuple(_watch(f"{name}_fn", part, kept) if callable(part) else part for part in out)

    return _mark(transform)


def _watch(name: str, run: Callable[..., Any], kept: Sequence[Tensor] = ()) -> Any:
    """A function whose calls the tracer that watches carries out; it reads also the tensors that it has kept."""

    def watched(*args: Any, **kwargs: Any) -> Any:
        active = rewriting.tracer_here()
        if active is None or active.look is not None:
            return run(*args, **kwargs)
        if name == "backward":
            return active.backward(run, args, kwargs)
        if name == "nested_tensor":
            return active.op(run, args, kwargs, name)
        return active.opaque(name, run, args, kwargs, kept)

    return _mark(watched)


class Look:
    """What the operations under a transform read of the tensors around it, and which modules ran there."""

    def __init__(self, tracer: Tracer, given: Iterable[Tensor]) -> None:
        self.tracer = tracer
        self.given = {id(tensor): tensor for tensor in given}
        self.made: dict[int, Tensor] = {}  # inside; kept alive, so that an id is never used twice
        self.read: dict[int, tuple[Tensor, int, Any]] = {}  # by id: the tensor, its version before, as it was recorded
        self.ran: dict[str, None] = {}

    def run(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Carry out one operation under the transform."""
        tensors: list[Tensor] = []
        nesting.walk([list(args), dict(kwargs)], "", lambda tensor, path: tensors.append(tensor), 0)
        for tensor in tensors:
            if not (id(tensor) in self.given or id(tensor) in self.made or id(tensor) in self.read):
                self._take(tensor)
        out = func(*args, **kwargs)
        nesting.walk(out, "", lambda tensor, path: self.made.update({id(tensor): tensor}), 0)
        return out

    def _take(self, tensor: Tensor) -> None:
        """A tensor of which it was seen how it was made: where its numbers come from is read as they are now."""
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return
        with temporarily_clear_interpreter_stack(), torch._C.DisableTorchFunction():
            flow = self.tracer.flow
            if not (flow.knows(tensor) or flow.adopt_view(tensor)):
                return  # torch makes tensors inside that nobody sees
            self.read[id(tensor)] = (tensor, version(tensor), self.tracer.read(tensor, None))

    def keep(self, kept: Iterable[Tensor]) -> None:
        """Take tensors that the function holds from an earlier call."""
        for tensor in kept:
            if id(tensor) not in self.given:
                self._take(tensor)

    def list_read(self) -> list[Tensor]:
        """Every tensor around the transform that it has read."""
        return [*self.given.values(), *(tensor for tensor, _, _ in self.read.values())]

    def written(self) -> list[Tensor]:
        """Those of the tensors around the transform that were written inside."""
        return [tensor for tensor, before, _ in self.read.values() if version(tensor) != before]


def list_gradient_leaves(roots: Any) -> list[Tensor]:
    """The tensors into whose `grad` a backward pass from some tensors may write, each once."""
    starts: list[Tensor] = []
    nesting.walk(roots, "", lambda tensor, path: starts.append(tensor), 0)
    leaves = {id(tensor): tensor for tensor in starts if tensor.is_leaf and tensor.requires_grad}
    leaves |= {id(tensor): tensor for tensor in _accumulated(starts)}
    return list(leaves.values())


def _accumulated(starts: Iterable[Tensor]) -> Iterator[Tensor]:
    """The leaves of the graphs of gradients behind some tensors, in the order of a walk from each."""
    stack = [tensor.grad_fn for tensor in starts if tensor.grad_fn is not None]
    seen = set(stack)
    while stack:
        node: Any = stack.pop()
        if hasattr(node, "variable"):
            yield node.variable
        for following, _ in reversed(node.next_functions):
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
