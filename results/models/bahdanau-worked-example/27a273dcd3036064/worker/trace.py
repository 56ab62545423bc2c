"""Watches one run of a model: every module call and tensor operation, with the data that flows between them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.utils import parametrize
from torch.overrides import TorchFunctionMode

from . import naming, nesting, portable, rewriting, transforms
from .chance import LAYERS, Draws
from .flow import Source
from .inside import Inside
from .modules import ModelMap, children, is_leaf, list_held, named_class
from .number_tracer import NumberTracer
from .places import Places
from .records import Call, Struct
from .values import PLAIN, Values, readable, same, version
from .watched_number import WatchedNumber, can_be_watched, plain_numbers

# Frames between a function of torch and who calls it; torch's own code decides nothing of the lesson's.
BETWEEN = frozenset({str(torch._tensor.__file__), str(torch.overrides.__file__)})
TORCH = os.path.join(os.path.dirname(str(torch.__file__)), "")

AFTERWARDS = "gradients"  # the scope of what is done after the model's call
# These give a tensor another memory: what it held before is read no more, what it holds now is the second argument's.
REPLACING = frozenset({"data_", "set_"})


class Tracer(NumberTracer):
    """Collects the calls of one run; `calls` has the form that docs/architecture.md describes."""

    def __init__(
        self, model: ModelMap, places: Places, values: Values, *, native: bool = False, follow: bool = True
    ) -> None:
        super().__init__(model, places, values, follow=follow)
        self.replaced: dict[Any, Any] = {} if native else portable.REPLACED
        self.entering = False
        self.leaking = False  # numbers have left for Python inside the call that runs now
        self.insides: list[tuple[int, Inside]] = []  # of calls before, by their numbers
        self.within: Inside | None = None  # what notes the operations inside a call now
        self.thread = threading.get_ident()
        self.look: transforms.Look | None = None  # while a function runs under a transform
        self.looked: transforms.Look | None = None  # of the last one
        self.initial: dict[str, int] = {}  # parameters and buffers that were made during the run, as initialised
        self.computing: dict[int, str] = {}  # what computes weights of the leaf that runs now, by the weight's name
        self.computed: dict[str, Struct] = {}  # the weights of that leaf that were computed

    def run(self, args: Iterable[Any], kwargs: Mapping[str, Any], then: Callable[[], None] | None = None) -> Any:
        """Call the model and watch it; its own call is the first of `calls`, whatever its class does when called.

        `then` is called afterwards and watched, too, in a scope of its own.
        """
        with self.watching():
            self.entering = True
            returned = self._container(self.model.model, "", self.model.model, tuple(args), dict(kwargs))
            if then is not None:
                self.scopes.append(AFTERWARDS)
                then()
                self.scopes.pop()
        self._settle_numbers()
        return returned

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While it is open, module calls, tensor operations and custom autograd functions are recorded."""
        native_call, native_apply = nn.Module.__call__, vars(torch.autograd.Function)["apply"]
        native_script, native_set = vars(torch.jit.ScriptFunction)["__call__"], Tensor.set_
        tracer, thread, limit = self, threading.get_ident(), sys.getrecursionlimit()
        self.thread = thread

        def __call__(module: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
            run = native_call.__get__(module)
            if threading.get_ident() == thread:
                if tracer.look is not None:
                    tracer.look.ran[tracer._layer(module)] = None
                elif tracer.quiet and id(module) in tracer.computing:
                    return tracer.compute_weight(module, run, args, kwargs)
                elif not tracer.quiet:
                    return tracer.module(module, run, args, kwargs)
            return run(*args, **kwargs)

        def apply(function: Any, /, *args: Any, **kwargs: Any) -> Any:
            run = native_apply.__func__.__get__(function)
            # What is checkpointed runs inside a function of torch's own; it is seen as if it were not.
            seen_through = function.__module__ == "torch.utils.checkpoint"
            if seen_through or not tracer.attends():
                return run(*args, **kwargs)
            return tracer.op(run, args, kwargs, function.__name__, unseen=True)

        def scripted(function: Any, /, *args: Any, **kwargs: Any) -> Any:
            run = native_script.__get__(function)
            if not tracer.attends():
                return run(*args, **kwargs)
            return tracer.op(run, args, kwargs, function.name, unseen=True)

        def set_(tensor: Tensor, /, *args: Any, **kwargs: Any) -> Any:
            if not tracer.attends():
                return native_set(tensor, *args, **kwargs)
            return tracer.set_memory(native_set, tensor, args, kwargs)

        def registered(*_: Any) -> None:
            tracer.stale = True

        nn.Module.__call__ = __call__  # type: ignore[method-assign]
        torch.autograd.Function.apply = classmethod(apply)  # type: ignore[method-assign, assignment]
        torch.jit.ScriptFunction.__call__ = scripted  # type: ignore[method-assign, assignment]
        Tensor.set_ = set_  # type: ignore[method-assign, assignment]
        hook = nn.modules.module.register_module_module_registration_hook(registered)
        sys.setrecursionlimit(4 * limit)  # a watched module call takes more frames than a plain one
        rewriting.watching.append((self, thread))
        try:
            with _Mode(self):
                yield
        finally:
            rewriting.watching.pop()
            self.ended = True
            sys.setrecursionlimit(limit)
            hook.remove()
            del Tensor.set_  # torch's own is its parent's
            torch.jit.ScriptFunction.__call__ = native_script  # type: ignore[method-assign]
            nn.Module.__call__ = native_call  # type: ignore[method-assign]
            torch.autograd.Function.apply = native_apply  # type: ignore[method-assign]

    def attends(self) -> bool:
        """Whether what is called now is to become a call of its own: not what runs inside one, or in another thread."""
        return not self.quiet and self.look is None and threading.get_ident() == self.thread

    # -- what ran ------------------------------------------------------------------------------------------------

    def op(
        self, func: Callable[..., Any], args: Any, kwargs: Any, name: str | None = None, *,
        floating: bool = False, unseen: bool = False,
    ) -> Any:  # fmt: skip
        """Run one tensor operation; it becomes a node when tensors come out of it or are written by it.

        `floating` says that `__float__` may give a number that is watched further, `unseen` that the author's code
        runs inside.
        """
        title, reflected = (name, False) if name else naming.name_operation(func)
        raw = getattr(func, "__name__", "")
        if raw in naming.QUESTIONS:
            if raw in naming.EXPOSING and args and isinstance(args[0], Tensor) and readable(args[0]):
                self.flow.expose(args[0])
            if raw in naming.LEAVING and args and not (raw in naming.TEXT and self.is_printing()):
                self._leave(title, args[0])
            return func(*args, **kwargs)
        self.quiet = True
        try:
            # An attribute is looked at first: most are no tensors, and looking changes nothing.
            attribute = func(*args, **kwargs) if raw == "__get__" else None
            if raw == "__get__" and not isinstance(attribute, Tensor):
                return attribute
            if title == "grad" and attribute is not None and self.flow.knows(attribute):
                return attribute  # the tensor that `backward` left, itself
            touched: list[tuple[Tensor, int]] = []
            with torch._C.DisableTorchFunction():
                read, named = self._arguments(title, args, kwargs, touched)
                before = [(tensor, tensor.clone()) for tensor, _ in touched if title in naming.SILENT]
                draws = Draws()
                if self.numbers:
                    args, kwargs = plain_numbers(args), plain_numbers(kwargs)
            inside = Inside(self) if unseen or (title == "grad" and raw == "grad") else None
            self.within, self.leaking = inside, False
            try:
                with inside or nullcontext():
                    out = attribute if raw == "__get__" else self.replaced.get(func, func)(*args, **kwargs)
            except BaseException as error:
                self._failing(error, title, args, kwargs)
                self._raised(title, read, named)
                raise
            with torch._C.DisableTorchFunction():
                if title in REPLACING:
                    made, written = args[0], []
                    self.values.forget(args[0])
                else:
                    written = _written(title, touched, args, kwargs, out)
                    written += [tensor for tensor, copy in before if not same(tensor, copy)]
                    made = out if nesting.holds_tensor(out) else written[0] if len(written) == 1 else tuple(written)
                if written or nesting.holds_tensor(made):
                    call = self._call(self._numbered(title, self.scopes[-1]), f"torch.{title}", "op",
                                      read[::-1] if reflected else read, named, 3)  # fmt: skip
                    draws.note(call, title, args, kwargs, out, self.values)
                    if unseen:
                        call["unseen"] = True
                    self._leaked(call)
                    if inside is not None:
                        inside.finish(call, len(self.calls) - 1, made)
                    self._finish(call, made, written, args[1] if title == "setitem" else None)
                elif self._follows(raw, args, floating=floating) and touched:
                    return self._followed(title, read, named, out)
                elif raw in naming.READS and touched:
                    call = self._call(self._numbered(title, self.scopes[-1]), f"torch.{title}", "op", read, named, 3)
                    call["out"] = self._describe(out, None, 0, read=False)
            return out
        finally:
            self.quiet, self.within = False, None

    def as_float(self, value: Any) -> Any:
        """`float(value)`; of a tensor of floats, a number that is watched further."""
        if type(value) is WatchedNumber:
            return value
        if can_be_watched(value) and value.numel() == 1:
            return self.op(Tensor.__float__, (value,), {}, floating=True)
        return float(value)

    def _arguments(
        self, title: str, args: Any, kwargs: Any, touched: list[tuple[Tensor, int]]
    ) -> tuple[list[Struct], dict[str, Struct]]:
        """What an operation is given; a tensor that it only overwrites is marked as `unread`."""
        read = [self.read(arg, touched) for arg in args]
        named = {key: self.read(arg, touched) for key, arg in kwargs.items()}
        over = [named.get("out")] + ([read[0]] if read and _overwrites(title, args) else [])
        for struct in over:
            for leaf in struct.get("tuple", [struct]) if isinstance(struct, dict) else ():
                if isinstance(leaf, dict) and "tensor" in leaf:
                    leaf["unread"] = True
        return read, named

    def looking_on(self) -> TorchFunctionMode:
        """A context in which functions of torch that run inside another are seen, though they are no calls."""
        return _Mode(self)

    def _raised(self, title: str, read: list[Struct], named: dict[str, Struct]) -> None:
        """Note a call that raised: if the lesson catches the error, it goes on by that."""
        with torch._C.DisableTorchFunction():
            call = self._call(self._numbered(title, self.scopes[-1]), f"torch.{title}", "op", read, named, 4)
        call["raised"] = True

    def _leaked(self, call: Call) -> None:
        """Note in a call that numbers have left for Python while it ran."""
        if self.leaking:
            call["left"], self.leaking = True, False

    def note_leak(self, name: str) -> None:
        """Inside a call some code has called a function of torch: where numbers leave by it, it may decide by them."""
        if name not in naming.READS | naming.LEAVING or self.is_printing():
            return
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename in BETWEEN:
            frame = frame.f_back
        if frame is not None and not frame.f_code.co_filename.startswith(TORCH):
            self.leaking = True

    def set_memory(self, native: Callable[..., Any], tensor: Tensor, args: Any, kwargs: Any) -> Any:
        """Give a tensor the memory of another: one node; or a bare storage, which is known by what looks at it."""
        if isinstance(args[0] if args else kwargs.get("source"), Tensor):
            return self.op(native, (tensor, *args), kwargs, "set_")
        out = native(tensor, *args, **kwargs)
        with torch._C.DisableTorchFunction():
            self.flow.forget(tensor)
            self.values.forget(tensor)
            self.flow.adopt_view(tensor)
        return out

    def opaque(self, name: str, run: Callable[..., Any], args: Any, kwargs: Any, kept: Sequence[Tensor] = ()) -> Any:
        """Run a function under a transform of torch's: one node, which reads what it is given and what it captures."""
        touched: list[tuple[Tensor, int]] = []
        with torch._C.DisableTorchFunction():
            read = [self.read(arg, touched) for arg in args]
            named = {key: self.read(arg, touched) for key, arg in kwargs.items()}
        if self.numbers:
            args, kwargs = plain_numbers(args), plain_numbers(kwargs)
        look = self.look = self.looked = transforms.Look(self, (tensor for tensor, _ in touched))
        look.keep(kept)
        inside = self.within = Inside(self)
        self.leaking = False
        try:
            with inside:
                out = run(*args, **kwargs)
        except BaseException as error:
            self._failing(error, name, args, kwargs)
            self._raised(name, read, named)
            raise
        finally:
            self.look = self.within = None
        with torch._C.DisableTorchFunction():
            call = self._call(self._numbered(name, self.scopes[-1]), f"torch.{name}", "op", read, named, 4)
            if look.read:
                call["beside"] = {f"captured.{n}": struct for n, (_, _, struct) in enumerate(look.read.values())}
            if look.ran:
                call["ran"] = list(look.ran)
            self._leaked(call)
            written = [tensor for tensor, before in touched if version(tensor) != before] + look.written()
            inside.finish(call, len(self.calls) - 1, out)
            self._finish(call, out, written)
        return out

    def backward(self, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a backward pass: one node, which reads what it starts from and gives the gradients that it leaves."""
        with torch._C.DisableTorchFunction():
            read = [self.read(arg, None) for arg in args]
            named = {key: self.read(arg, None) for key, arg in kwargs.items()}
            roots = args[0] if args else kwargs.get("tensors")
            leaves = transforms.list_gradient_leaves(roots)
            leaves += [tensor for tensor in self.flow.results if tensor.requires_grad and tensor.retains_grad]
            before = [(leaf, leaf.grad, 0 if leaf.grad is None else version(leaf.grad), self.read(leaf.grad, None))
                      for leaf in leaves]  # fmt: skip
        self.quiet, self.leaking = True, False
        inside = self.within = Inside(self)
        try:
            with inside:
                out = run(*args, **kwargs)
        except BaseException as error:
            self._failing(error, "backward", args, kwargs)
            self._raised("backward", read, named)
            raise
        finally:
            self.quiet, self.within = False, None
        with torch._C.DisableTorchFunction():
            given: dict[str, Tensor] = {}
            beside: dict[str, Struct] = {}
            written = []
            for leaf, grad, count, struct in before:
                if leaf.grad is not None and (leaf.grad is not grad or version(leaf.grad) != count):
                    name = self._name_of(leaf, len(given))
                    given[name] = leaf.grad
                    beside |= {} if grad is None else {name: struct}  # it adds to what was there
                    written += [leaf.grad] if leaf.grad is grad else []
            if given:
                call = self._call(self._numbered("backward", self.scopes[-1]), "torch.backward", "op", read, named, 4)
                if beside:
                    call["beside"] = beside
                self._leaked(call)
                inside.finish(call, len(self.calls) - 1, given)
                self._finish(call, given, written)
        return out

    def _name_of(self, tensor: Tensor, number: int) -> str:
        """What a gradient is called: as the parameter or input is whose gradient it is."""
        source: Source = self.flow.origin[id(tensor)][1] if self.flow.knows(tensor) else ["", ""]
        return str(source[1]) if source[0] in ("input", "param", "buffer") else f"grad{number}"

    def compute_weight(self, module: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run what computes a weight for the leaf that runs now: seen, as if it stood before the leaf."""
        computing, self.computing, self.quiet = self.computing, {}, False
        try:
            weight = self.module(module, run, args, kwargs)
        finally:
            self.computing, self.quiet = computing, True
        with torch._C.DisableTorchFunction():
            self.computed[computing[id(module)]] = self.read(weight, None)
        return weight

    def module(self, module: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run one module call: a leaf becomes a node, a container a frame around what runs inside."""
        if module is self.model.model:
            if self.entering:
                self.entering = False
                return run(*args, **kwargs)
            return self._container(module, "", run, args, kwargs)
        layer = self._layer(module)
        if not is_leaf(module):
            return self._container(module, layer, run, args, kwargs)
        return (self._hooked if _has_hooks(module) else self._leaf)(module, layer, run, args, kwargs)

    def _hooked(self, module: nn.Module, layer: str, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A leaf with hooks of the author's: what they do stands before and after it."""
        forward = module.forward

        def watched(*args: Any, **kwargs: Any) -> Any:
            return forward(*args, **kwargs) if self.quiet else self._leaf(module, layer, forward, args, kwargs)

        own = module.__dict__.get("forward")
        module.__dict__["forward"] = watched
        try:
            return run(*args, **kwargs)
        finally:
            del module.__dict__["forward"]
            if own is not None:
                module.__dict__["forward"] = own

    def _leaf(self, module: nn.Module, layer: str, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        touched: list[tuple[Tensor, int]] = []
        outer, self.quiet = (self.computing, self.computed), True
        self.computing, self.computed = _find_computing(module), {}
        try:
            if isinstance(module, LazyModuleMixin):
                self._settled(module, args, kwargs)
            with torch._C.DisableTorchFunction():
                read = [self.read(arg, touched) for arg in args]
                named = {key: self.read(arg, touched) for key, arg in kwargs.items()}
                held = [(name, tensor) for name, tensor in list_held(module) if readable(tensor)]
                beside = self._held(layer, held)
                state = [(name, tensor, None if isinstance(tensor, nn.Parameter) else tensor.clone(), version(tensor))
                         for name, tensor in held]  # fmt: skip
                draws, training = Draws(), module.training
                if self.numbers:
                    args, kwargs = plain_numbers(args), plain_numbers(kwargs)
            try:
                # Without tensor classes or modes of the author's, nobody needs to see what runs inside.
                unseen = not self.computing and _unseen(module, touched)
                inside = Inside(self) if isinstance(module, torch.jit.ScriptModule) else None
                self.leaking = False
                with torch._C.DisableTorchFunction() if unseen else nullcontext(), inside or nullcontext():
                    out = run(*args, **kwargs)
            except BaseException as error:
                self._failing(error, f"{layer} ({named_class(module).__name__})", args, kwargs)
                self._raised(named_class(module).__name__, read, named)
                raise
            with torch._C.DisableTorchFunction():
                for name in set(self.computing.values()) - self.computed.keys():
                    cached = parametrize._cache.get((id(module), name))
                    if cached is not None and self.flow.knows(cached):
                        self.computed[name] = self.read(cached, None)
                call = self._call(layer, named_class(module).__name__, "layer", read, named, 4)
                if training:
                    call["training"] = True
                self._leaked(call)
                if beside := {**beside, **self.computed}:
                    call["beside"] = beside
                if inside is not None:
                    inside.finish(call, len(self.calls) - 1, out)
                function = LAYERS.get(call["op"], "")
                draws.note(call, function, args, {"p": module.p} if function else kwargs, out, self.values)
                self._finish(call, out, [tensor for tensor, before in touched if version(tensor) != before])
                for name, tensor, copy, count in state:
                    if version(tensor) != count if copy is None else not same(tensor, copy):
                        self.flow.record_write(tensor, [len(self.calls) - 1, name])
            return out
        finally:
            (self.computing, self.computed), self.quiet = outer, False

    def _held(self, layer: str, held: list[tuple[str, Tensor]]) -> dict[str, Struct]:
        """Those tensors of a leaf whose numbers are other ones than it was built with: written, computed or replaced.

        What is not registered and nobody is known to have made says nothing about the way of the data.
        """
        registered = self.model.registered(layer) if layer in self.model.modules else {}
        out = {}
        for name, tensor in held:
            known = self.flow.knows(tensor) or self.flow.adopt_view(tensor)
            if not known and name not in registered:
                continue
            as_built = known and self.flow.sources(tensor) == [registered.get(name)]
            if not as_built or (self.flow.exposed and self.flow.is_exposed(tensor)):
                struct = self.read(tensor, None)
                if not as_built or (isinstance(struct, dict) and struct.get("from") != [registered.get(name)]):
                    out[name] = struct
        return out

    def _settled(self, module: Any, args: Any, kwargs: Any) -> None:
        """Give a lazy module its shapes now, and note how it was initialised before its first call changes it."""
        if module.has_uninitialized_params():
            module._infer_parameters(module, args, kwargs)
            names = {id(t): name for kind in ("_parameters", "_buffers") for name, t in self.model.tensors(kind)}
            for _, tensor in (*module._parameters.items(), *module._buffers.items()):
                if tensor is not None and id(tensor) in names:
                    self.initial[names[id(tensor)]] = self.values.take(tensor)

    def _container(self, module: nn.Module, layer: str, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        with torch._C.DisableTorchFunction():
            read = [self.read(arg, None) for arg in args]
            named = {key: self.read(arg, None) for key, arg in kwargs.items()}
        call = self._call(layer, "Module", "module", read, named, 4)
        self.inside.append(len(self.calls) - 1)
        self.scopes.append(layer or named_class(module).__name__)
        try:
            out = run(*args, **kwargs)
        except BaseException as error:
            if layer:
                self._failing(error, f"{layer} ({named_class(module).__name__})", args, kwargs)
            raise
        finally:
            self.inside.pop()
            self.scopes.pop()
        with torch._C.DisableTorchFunction():
            call["out"] = self.read(out, None)
        return out

class _Mode(TorchFunctionMode):
    """Hands every torch function called by the lesson to the tracer."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self.tracer = tracer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tracer = self.tracer
        if tracer.within is not None:
            tracer.within.watch(getattr(func, "__name__", ""))
        if tracer.quiet or tracer.look is not None:
            tracer.note_leak(getattr(func, "__name__", ""))
        if tracer.look is not None:
            return tracer.look.run(tracer.replaced.get(func, func), args, kwargs or {})
        if tracer.quiet:
            return tracer.replaced.get(func, func)(*args, **(kwargs or {}))
        return tracer.op(func, args, kwargs or {})


def _written(title: str, touched: list[tuple[Tensor, int]], args: Any, kwargs: Any, out: Any) -> list[Tensor]:
    """The tensors that an operation has written into, each once."""
    tensors = {id(tensor): tensor for tensor, before in touched if version(tensor) != before}
    first = args[0] if args else None
    # Tensors made in inference mode count no versions: there the name tells.
    by_name = title == "setitem" or (title.endswith("_") and out is first)
    if by_name and isinstance(first, Tensor) and first.is_inference():
        tensors[id(first)] = first
    if kwargs.get("out") is not None:
        nesting.walk(kwargs["out"], "", lambda tensor, path: tensors.update({id(tensor): tensor}), 0)
    return list(tensors.values())


def _overwrites(title: str, args: Any) -> bool:
    """Whether an operation writes all of its first argument and reads none of it."""
    if title == "setitem" and isinstance(args[0], Tensor):
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        return all(part is Ellipsis or (isinstance(part, slice) and part == slice(None)) for part in index)
    return title in naming.OVERWRITING


def _has_hooks(module: nn.Module) -> bool:
    """Whether something runs before or after a module's forward: the author's hooks, or torch's that make weights.

    What a lazy module does before its first call is no part of the lesson.
    """
    own = module.__dict__
    hooks = (*own.get("_forward_hooks", {}).values(), *own.get("_forward_pre_hooks", {}).values())
    return any(getattr(hook, "__func__", None) is not LazyModuleMixin._infer_parameters for hook in hooks)


def _find_computing(module: nn.Module) -> dict[int, str]:
    """The modules that compute weights of a parametrised layer, by id, each with the weight's name."""
    made = children(module).get("parametrizations")
    return {id(one): name for name, one in children(made).items()} if made is not None else {}


def _unseen(module: nn.Module, touched: list[tuple[Tensor, int]]) -> bool:
    """Whether neither another mode nor a tensor class of the author's takes part in a leaf's run."""
    return (
        torch._C._len_torch_function_stack() == 1
        and all(type(tensor) in PLAIN for tensor, _ in touched)
        and all(tensor is None or type(tensor) in PLAIN for tensor in module.__dict__.get("_parameters", {}).values())
    )
