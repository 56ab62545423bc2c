"""What becomes a node, what it is called, and that watching changes nothing."""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import functools
import types
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from watching import Does, Watched, bits, call

from lessonpress.graph import graph
from lessonpress.worker import modules, run
from lessonpress.worker.places import Places
from lessonpress.worker.trace import Tracer
from lessonpress.worker.values import Values

Watch = Callable[..., Watched]
GRID = torch.arange(6.0).reshape(2, 3) + 1


# ---- names of operations ----


@pytest.mark.parametrize(("function", "expected"), [
    (lambda _, x: x + 1, ["add"]), (lambda _, x: 10 - x, ["sub"]), (lambda _, x: torch.rsub(x, 3), ["sub"]),
    (lambda _, x: 2 / x, ["div"]), (lambda _, x: x // 2, ["floor_divide"]), (lambda _, x: 7 % x, ["remainder"]),
    (lambda _, x: 2**x, ["pow"]), (lambda _, x: -x, ["neg"]), (lambda _, x: +x, ["positive"]),
    (lambda _, x: abs(x), ["abs"]),
    (lambda _, x: x @ x.T, ["T", "matmul"]), (lambda _, x: x.mT.contiguous(), ["mT", "contiguous"]),
    (lambda _, x: (x > 1) & ~(x >= 3), ["gt", "ge", "bitwise_not", "bitwise_and"]),
    (lambda _, x: (x == 1) | (x != 2) ^ (x <= 3), ["eq", "ne", "le", "bitwise_xor", "bitwise_or"]),
    (lambda _, x: 1 << x.long(), ["long", "bitwise_left_shift"]),
    (lambda _, x: torch.einsum("ij,kj->ik", x, x), ["einsum"]), (lambda _, x: torch.fft.rfft(x), ["fft_rfft"]),
    (lambda _, x: torch.linalg.norm(x), ["linalg_norm"]), (lambda _, x: F.max_pool1d(x, 2), ["max_pool1d"]),
    (lambda _, x: F.adaptive_avg_pool1d(x, 2), ["adaptive_avg_pool1d"]), (lambda _, x: F.gelu(x), ["gelu"]),
    (lambda _, x: x[0, ..., None], ["getitem"]), (lambda _, x: x.data.real, ["data", "real"]),
    (lambda _, x: torch.ops.aten.add.Tensor(x, x), ["add"]),
    (lambda _, x: sum(row for row in x), ["unbind", "add", "add"]),
    (lambda _, x: functools.partial(F.leaky_relu, negative_slope=0.25)(x), ["leaky_relu"]),
    (lambda _, x: functools.reduce(torch.mul, [x, x, x]), ["mul", "mul"]),
])  # fmt: skip
def test_every_tensor_operation_is_a_node_with_its_method_name(
    watch: Watch, function: Callable[..., Any], expected: list[str]
) -> None:
    """Operators, reflected ones, functions, submodules' functions and attributes are named as torch's methods."""
    assert watch(Does(function), GRID).ops == expected


def test_questions_are_no_nodes(watch: Watch) -> None:
    """Sizes, dtypes and attributes leave no trace; what Python decides by is recorded, but is no node."""

    def asks(_: Any, x: Tensor) -> Any:
        assert len(x) == x.shape[0] == x.size(0)
        assert x.dim() == x.ndim
        known = (x.numel(), x.dtype, x.device, x.requires_grad, x.is_floating_point(), x.stride(), x.grad, x.is_leaf)
        return x * x[0, 0].item() if 3.0 in x and bool(x.isfinite().all()) and known else x

    seen = watch(Does(asks), GRID)
    assert seen.ops == ["isfinite", "all", "getitem", "item", "mul"]
    handed = [(call["op"], call["out"]) for call in seen.calls if not graph.is_node(call)]
    assert handed == [("torch.contains", True), ("torch.bool", True)]


def test_reflected_operands_stand_in_mathematical_order(watch: Watch) -> None:
    """`10 - x` is recorded as sub(10, x)."""
    args = watch(Does(lambda _, x: 10 - x), GRID).calls[0]["args"]
    assert args[0] == 10
    assert "tensor" in args[1]


@pytest.mark.parametrize(("change", "name"), [
    (lambda y: y.add_(1), "add_"), (lambda y: y.__iadd__(1), "add_"), (lambda y: y.relu_(), "relu_"),
    (lambda y: y.__setitem__((0, 1), 5), "setitem"), (lambda y: y.masked_fill_(y > 2, 0), "masked_fill_"),
    (lambda y: torch.mul(y, 2, out=y), "mul"), (lambda y: F.relu(y, inplace=True), "relu_"),
])  # fmt: skip
def test_what_writes_in_place_gives_the_written_tensor(watch: Watch, change: Callable[..., Any], name: str) -> None:
    """In-place operations end in `_`; their result is the tensor as it is after the write."""

    def writes(_: Any, x: Tensor) -> Any:
        y = x.clone()
        change(y)
        return y - 0

    seen = watch(Does(writes), GRID)
    written = next(call for call in seen.calls if call["op"] in (f"torch.{name}", "torch.relu"))
    assert np.array_equal(seen.value(written["layer"]), seen.returned.numpy())
    assert f"{written['layer']} -> sub@Does#0" in seen.edges


def test_custom_autograd_functions_are_one_node_each_time(watch: Watch) -> None:
    """A custom function is named by its class, in the first watched call and in every later one."""

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:  # type: ignore[override]
            return x + x

    model = Does(lambda _, x: Doubled.apply(x) * 3)
    for _ in range(2):
        assert watch(model, GRID).names == ["Doubled@Does#0", "mul@Does#0"]
    assert torch.equal(Doubled.apply(GRID), GRID * 2)


def test_everything_is_put_back_afterwards(watch: Watch) -> None:
    """Neither a good run nor a failing one leaves torch changed."""
    before = (
        nn.Module.__call__,
        vars(torch.autograd.Function)["apply"],
        nn.Module.__init__,
        torch.jit.ScriptFunction.__call__,
    )
    watch(Does(lambda _, x: x), GRID)
    with pytest.raises(ZeroDivisionError):
        watch(Does(lambda _, x: 1 / 0), GRID)
    after = (
        nn.Module.__call__,
        vars(torch.autograd.Function)["apply"],
        nn.Module.__init__,
        torch.jit.ScriptFunction.__call__,
    )
    assert before == after


def test_values_made_inside_are_sources(watch: Watch) -> None:
    """Constants and factories are nodes without inputs."""
    model = Does(lambda _, x: x + torch.arange(3) + torch.ones(3) + torch.tensor([1.0, 2, 3]) + torch.full((3,), 2.0))
    seen = watch(model, GRID)
    assert seen.ops == ["arange", "add", "ones", "add", "tensor", "add", "full", "add"]
    assert [seen.into(f"{name}@Does#0") for name in ("arange", "ones", "tensor", "full")] == [[], [], [], []]


def test_operations_on_parameters_and_buffers_name_them(watch: Watch) -> None:
    """A parameter or buffer that an operation reads is in its `uses`, also from lists and dicts of parameters."""
    model = Does(lambda s, x: x * s.scale + s.bank[1] - s.offset, scale=nn.Parameter(torch.ones(3)),
                 bank=nn.ParameterList([torch.ones(3), torch.ones(3)]))  # fmt: skip
    model.register_buffer("offset", torch.ones(3), persistent=False)
    layers = watch(model, GRID).layers
    assert [layers[f"{op}@Does#0"]["uses"] for op in ("mul", "add", "sub")] == [
        ["param:scale"], ["param:bank.1"], ["buffer:offset"]]  # fmt: skip


# ---- modules ----


def test_repeated_calls_are_one_layer_with_numbered_calls(watch: Watch) -> None:
    """A module on two branches, or in a loop, is one layer; its connections say which call."""
    cell = Does(lambda s, x, h: torch.tanh(s.read(x) + s.keep(h)), read=nn.Linear(3, 3), keep=nn.Linear(3, 3))

    def unrolled(self: Any, x: Tensor) -> Tensor:
        state = x.new_zeros(3)
        for row in x.unbind(0):
            state = self.cell(row, state)
        return state

    seen = watch(Does(unrolled, cell=cell), GRID)
    assert {name: seen.layers[name]["calls"] for name in ("cell", "cell.read", "cell.keep")} == dict.fromkeys(
        ("cell", "cell.read", "cell.keep"), 2
    )
    assert {
        "unbind@Does#0[1] -> cell.read#1",
        "tanh@cell#0 -> cell.keep#1",
        "new_zeros@Does#0 -> cell.keep#0",
    } <= seen.edges


def test_a_module_lent_to_several_parents_names_its_callers(watch: Watch) -> None:
    """It has the path under which it was registered first, its other paths as aliases, and whoever called it."""
    shared = nn.Linear(3, 3)
    blocks = nn.ModuleList(Does(lambda s, x: s.lent(x), lent=shared) for _ in range(2))
    layer = watch(Does(lambda s, x: s.blocks[1](s.blocks[0](x)), blocks=blocks), GRID).layers["blocks.0.lent"]
    assert (layer["calls"], layer["aliases"], layer["callers"]) == (2, ["blocks.1.lent"], ["blocks.0", "blocks.1"])


def test_unregistered_modules_are_seen_and_marked(watch: Watch) -> None:
    """Modules in a plain list that hides `modules()` run as layers marked as not registered."""
    model = Does(lambda s, x: s.modules[1](s.modules[0](x)))
    model.__dict__["modules"] = [nn.Linear(3, 2), nn.Linear(2, 1)]
    seen = watch(model, GRID)
    assert seen.names == ["Linear@Does#0", "Linear@Does#1"]
    assert all(seen.layers[name]["registered"] is False for name in seen.names)


def test_modules_registered_during_the_run_have_their_path(watch: Watch) -> None:
    """A layer that forward() itself makes is registered from then on."""

    def makes(self: Any, x: Tensor) -> Tensor:
        self.late = nn.Linear(3, 3)
        return self.late(x)

    seen = watch(Does(makes), GRID)
    assert seen.names[-1] == "late"
    assert seen.graph["idle"] == []


def test_arguments_named_like_the_tracer_s_own_reach_the_model(watch: Watch) -> None:
    """Keywords such as `module`, `args` and `func` belong to the author."""

    def adds(
        _: Any, *, module: Tensor, args: Tensor, kwargs: Tensor, func: Tensor, tracer: Tensor, run: Tensor
    ) -> Tensor:
        return module + args + kwargs + func + tracer + run

    names = {name: GRID.clone() for name in ("module", "args", "kwargs", "func", "tracer", "run")}
    seen = watch(Does(lambda s, **given: s.inner(**given), inner=Does(adds)), **names)
    assert torch.equal(seen.returned, GRID * 6)
    assert {f"input:{name}" for name in names} <= {edge.split(" -> ")[0] for edge in seen.edges}


def test_a_class_of_its_own_call_is_still_one_frame(watch: Watch) -> None:
    """A root or inner module whose class replaces `__call__`, with or without super, is traced inside its frame."""

    class Around(nn.Module):
        def __call__(self, x: Tensor) -> Any:
            return super().__call__(x + 1) * 2

        def forward(self, x: Tensor) -> Tensor:
            return x.relu()

    class Instead(nn.Module):
        def __call__(self, x: Tensor) -> Any:
            return x * 2

    assert watch(Around(), GRID).names == ["add@Around#0", "relu@Around#0", "mul@Around#0"]
    assert watch(Instead(), GRID).edges == {"input:x -> mul@Instead#0", "mul@Instead#0 -> output"}
    assert watch(Does(lambda s, x: s.inner(x), inner=Around()), GRID).ops == ["add", "relu", "mul"]


def test_a_model_that_is_itself_a_library_layer_is_opened(watch: Watch) -> None:
    """The model's own call is always the frame of everything else."""
    seen = watch(nn.Linear(3, 2), GRID)
    assert seen.edges == {"input:x -> linear@Linear#0", "linear@Linear#0 -> output"}
    assert seen.captured["modules"][""]["leaf"] is False


def test_what_the_author_s_hooks_do_stands_outside_the_leaf(watch: Watch) -> None:
    """A pre-hook's operations come before the layer, a hook's after it, and the layer's own result is its own."""
    layer = nn.Linear(3, 3)
    layer.register_forward_pre_hook(lambda module, given: (given[0] + 1,))
    layer.register_forward_hook(lambda module, given, out: out * 2)
    seen = watch(Does(lambda s, x: s.hooked(x), hooked=layer), GRID)
    assert seen.names == ["add@Does#0", "hooked", "mul@Does#0"]
    assert np.array_equal(seen.value("hooked") * 2, seen.returned.detach().numpy())
    assert "forward" not in vars(layer)


def test_composite_library_modules_are_opened_and_give_the_same_numbers(watch: Watch) -> None:
    """A transformer shows its parts, and takes the same route as an unwatched run, also without gradients."""
    model = Does(
        lambda s, x: s.body(x), body=nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2)
    )
    model.eval()
    x = torch.linspace(-1, 1, 12).reshape(1, 3, 4)
    for context in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with context():
            seen = watch(model, x)
            assert bits(seen.returned) == bits(model(x))
        assert {"body.layers.1.self_attn", "body.layers.0.linear1", "relu@body.layers.0#0"} <= set(seen.names)


def test_attention_and_recurrent_modules_are_leaves(watch: Watch) -> None:
    """Their inside is not opened: MultiheadAttention's projection never runs as a module."""
    seen = watch(Does(lambda s, x: s.attend(s.read(x)[0], x, x, need_weights=True), read=nn.GRU(4, 4, batch_first=True),
                      attend=nn.MultiheadAttention(4, 2, batch_first=True)), torch.ones(1, 3, 4))  # fmt: skip
    assert seen.names == ["read", "attend"]
    assert {"attend[0] -> output[0]", "attend[1] -> output[1]"} <= seen.edges


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointed_parts_are_seen(watch: Watch, reentrant: bool) -> None:
    """What runs under torch.utils.checkpoint is traced as if it were not checkpointed."""
    model = Does(
        lambda s, x: checkpoint(s.part, x, use_reentrant=reentrant), part=nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    )
    assert watch(model, GRID.clone().requires_grad_()).names == ["part", "part.0", "part.1"]


def test_parametrised_layers_are_leaves_that_read_what_computes_their_weights(watch: Watch) -> None:
    """Weight norm, spectral norm and orthogonal weights leave one Linear node; what makes the weight leads into it."""
    wrap = nn.utils.parametrizations
    layers = [wrap.weight_norm(nn.Linear(3, 3)), wrap.spectral_norm(nn.Linear(3, 3)), wrap.orthogonal(nn.Linear(3, 3))]
    seen = watch(nn.Sequential(*layers), GRID)
    assert [seen.layers[name]["op"] for name in "012"] == ["Linear"] * 3
    assert [source for source in seen.into("1") if source != "0"] == ["div@1.parametrizations.weight.0#0"]
    assert {seen.layers[f"{n}.parametrizations.weight"]["parent"] for n in range(3)} == {None}


def test_lazy_modules_have_shape_class_and_first_state(watch: Watch) -> None:
    """They are reported as what they become; a lazy norm's running mean is recorded as it was before the first call."""
    seen = watch(nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d()).train(), GRID)
    assert [seen.layers[name]["op"] for name in seen.names] == ["Linear", "BatchNorm1d"]
    assert seen.value("param:0.weight").shape == (4, 3)
    assert not seen.value("buffer:1.running_mean").any()


def test_scripted_parts_are_one_node(watch: Watch) -> None:
    """A scripted module is a leaf, a scripted function an operation, both with their edges."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        part, function = torch.jit.script(nn.Linear(3, 3)), torch.jit.script(scripted)
    seen = watch(Does(lambda s, x: s.part(function(x)), part=part), GRID)
    assert {"input:x -> scripted@Does#0", "scripted@Does#0 -> part", "part -> output"} <= seen.edges


def scripted(x: Tensor) -> Tensor:
    """A function for TorchScript."""
    return x * 2


def test_what_is_to_be_compiled_runs_eagerly(watch: Watch) -> None:
    """torch.compile, as a function, a decorator or a method, leaves the operations visible."""

    @torch.compile(dynamic=True)
    def doubled(x: Tensor) -> Tensor:
        return x * 2

    part = nn.Linear(3, 3)
    part.compile()
    assert watch(Does(lambda s, x: torch.compile(s.part)(doubled(x)), part=part), GRID).names == ["mul@Does#0", "part"]


def test_functional_transforms_do_not_break_the_run(watch: Watch) -> None:
    """vmap, grad and functional_call give their numbers; what they hide enters from outside."""
    part = nn.Linear(3, 3)
    model = Does(lambda s, x: (torch.func.vmap(s.part)(x), torch.func.grad(lambda r: (r**2).sum())(x),
                               torch.func.functional_call(s.part, {"weight": torch.eye(3)}, (x,))),
                 part=part)  # fmt: skip
    seen = watch(model, GRID)
    assert torch.allclose(seen.returned[0], part(GRID))
    assert torch.equal(seen.returned[1], 2 * GRID)
    assert torch.equal(seen.returned[2], GRID + part.bias)


def test_an_author_s_own_modes_see_what_they_would_see(watch: Watch) -> None:
    """Function and dispatch modes inside forward() are called as often as without us, also inside leaves."""
    counted: list[str] = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            counted.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Dispatched(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            counted.append(str(func))
            return func(*args, **(kwargs or {}))

    def inside(self: Any, x: Tensor) -> Tensor:
        with Functions(), Dispatched():
            return self.part(x) + 1

    model = Does(inside, part=nn.Linear(3, 3))
    model(GRID)
    plain = counted.copy()
    counted.clear()
    assert watch(model, GRID).names == ["part", "add@Does#0"]
    assert counted == plain


def test_an_author_s_tensor_class_keeps_its_class(watch: Watch) -> None:
    """Operations on a subclass give the subclass, and its numbers come from where they come from."""

    class Marked(Tensor):
        def twice(self) -> Any:
            return self * 2

    def inside(self: Any, x: Tensor) -> Tensor:
        out = (x.as_subclass(Marked) + 1).twice()
        assert type(out) is Marked
        return self.part(out).as_subclass(Tensor)

    seen = watch(Does(inside, part=nn.Linear(3, 3)), GRID)
    assert seen.edges == {"input:x -> add@Does#0", "add@Does#0 -> mul@Does#0", "mul@Does#0 -> part", "part -> output"}


def test_exceptions_that_the_author_catches_leave_the_rest(watch: Watch) -> None:
    """A caught failure is no node, and the trace goes on in the right scope."""

    def inside(self: Any, x: Tensor) -> Tensor:
        try:
            self.part(torch.ones(2, 7))
        except RuntimeError:
            x = x + 1
        return self.part(x)

    assert watch(Does(inside, part=nn.Linear(3, 3)), GRID).names == ["ones@Does#0", "add@Does#0", "part"]


def test_the_failing_call_and_what_it_was_given_are_reported() -> None:
    """The context of an error is the innermost call in which it arose, not one that was caught before."""

    def inside(self: Any, x: Tensor) -> Tensor:
        with contextlib.suppress(RuntimeError):
            x @ x
        return self.part(x.long())

    model = Does(inside, part=nn.Linear(3, 3))
    tracer = Tracer(modules.ModelMap(model), Places("/nowhere"), Values(run.LIMIT))
    with pytest.raises(RuntimeError) as raised:
        tracer.run((GRID,), {})
    assert tracer.context(raised.value) == "in part (Linear), given long@Does#0: int64 [2, 3]"
    assert tracer.context(ValueError()) is None


def test_modules_in_threads_of_the_author_do_not_mix_in(watch: Watch) -> None:
    """What another thread computes enters from outside."""
    from concurrent.futures import ThreadPoolExecutor

    def inside(self: Any, x: Tensor) -> Tensor:
        with ThreadPoolExecutor(2) as pool:
            a, b = pool.map(self.part, [x, x])
        return a + b

    seen = watch(Does(inside, part=nn.Linear(3, 3)), GRID)
    assert seen.names == ["outside@Does#0", "outside@Does#1", "add@Does#0"]


def test_deep_nesting_and_many_layers(watch: Watch) -> None:
    """Two hundred modules inside each other, and two thousand in a row, are traced."""
    model: nn.Module = nn.Identity()
    for _ in range(200):
        model = Does(lambda s, x: s.inner(x), inner=model)
    assert len(watch(model, GRID).names) == 200
    assert len(watch(nn.Sequential(*(nn.ReLU() for _ in range(2000))), GRID).names) == 2000


def test_the_graph_follows_the_data(watch: Watch) -> None:
    """Branches and loops on data are traced as they ran for this input."""

    def inside(self: Any, x: Tensor) -> Any:
        turns = 0
        while x.sum() > 4:
            x, turns = self.shrink(x), turns + 1
        return (x if turns else self.other(x)), turns

    half = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        half.weight.copy_(torch.eye(2) / 2)
    model = Does(inside, shrink=half, other=nn.Identity())
    assert watch(model, torch.tensor([8.0, 8.0])).names.count("shrink") == 2
    assert "other" in watch(model, torch.tensor([1.0, 1.0])).names


def test_numbers_that_are_none_and_every_kind_of_dtype(watch: Watch) -> None:
    """NaN, infinities, empty and odd shapes and all dtypes are kept as they are."""
    names = (
        "float16",
        "bfloat16",
        "float64",
        "complex64",
        "complex128",
        "int8",
        "uint8",
        "int16",
        "int32",
        "int64",
        "bool",
    )
    seen = watch(Does(lambda _, x: {name: x.to(getattr(torch, name)) for name in names}), GRID)
    assert [seen.value(f"output[{name}]").dtype.name for name in names] == [
        "float32" if name == "bfloat16" else name for name in names]  # fmt: skip
    odd = watch(
        Does(lambda _, x: (x / 0, torch.zeros(0, 3) + 1, x.sum(), x[:1].expand(4, 3), x.T, x.flip(0).T[::2])), GRID - 1
    )
    for i, value in enumerate(odd.returned):
        assert np.array_equal(odd.value(f"output[{i}]"), value.numpy(), equal_nan=True)
    wide = watch(Does(lambda _, x: x.to(torch.float8_e4m3fn)), GRID)
    assert np.array_equal(wide.value("output"), GRID.numpy())


@pytest.mark.parametrize("function", [
    lambda x: x.to_sparse(), lambda x: x.to_sparse_csr(), lambda x: torch.quantize_per_tensor(x, 0.5, 0, torch.quint8),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_sparse_and_quantised_results_are_kept_dense(watch: Watch, function: Callable[..., Any]) -> None:
    """Their numbers are recorded, also after an in-place write elsewhere."""
    seen = watch(Does(lambda _, x: function(x.clone().add_(0.5))), GRID)
    assert np.array_equal(seen.value("output"), GRID.numpy() + 0.5)


def test_tensors_without_numbers_of_their_own_are_opaque(watch: Watch) -> None:
    """Meta tensors, and classes that decide about their numbers, do not stop the run; a nested tensor has its rows'."""

    class Wrapper(Tensor):
        inner: ClassVar[Any]

        @staticmethod
        def __new__(cls: Any, inner: Tensor) -> Any:
            out = Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            out.inner = inner
            return out

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*[arg.inner if isinstance(arg, Wrapper) else arg for arg in args], **(kwargs or {}))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen = watch(Does(lambda _, x: (torch.empty(2, device="meta") + 1, Wrapper(x), Wrapper(x) + 1,
                                        torch.nested.nested_tensor([x[0], x[1, :2]]))), GRID)  # fmt: skip
    shown = seen.captured["runs"]["execution"]["output"]["tuple"]
    assert ["opaque" in leaf for leaf in shown] == [True, True, False, False]


def test_inputs_and_outputs_of_every_shape_are_reported_by_path(watch: Watch) -> None:
    """Dicts, mappings, tuples, named tuples, dataclasses and deques keep their tensors' names."""

    @dataclasses.dataclass
    class Both:
        left: Any
        right: Any

    pair = collections.namedtuple("pair", "first second")
    made = Does(lambda _, x: pair(Both(x + 1, None), {"k": (x * 2, [x - 1])}))
    seen = watch(Does(lambda s, x: s.made(x), made=made), GRID)
    assert {
        "add@made#0 -> output[first.left]",
        "mul@made#0 -> output[second.k.0]",
        "sub@made#0 -> output[second.k.1.0]",
    } <= (seen.edges)
    mapped = watch(Does(lambda _, x: types.MappingProxyType({"a": collections.deque([x + 1])})), GRID)
    assert "add@Does#0 -> output[a.0]" in mapped.edges


# ---- watching changes nothing ----


def _dropping(self: Any, x: Tensor) -> Tensor:
    return self.drop(x) * torch.rand(3) + torch.randn_like(x)


def _stateful(self: Any, x: Tensor) -> Tensor:
    self.kept = getattr(self, "kept", torch.zeros(3)) + x
    return self.kept


ODD_MODELS: dict[str, Callable[[], nn.Module]] = {
    "dropout in train mode": lambda: Does(_dropping, drop=nn.Dropout(0.5)).train(),
    "batch norm in train mode": lambda: nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(3)).train(),
    "state between calls": lambda: Does(lambda s, x: s.part(x) + s.part(x), part=Does(_stateful)),
    "spectral norm in train mode": lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3)).train(),
    "weight norm read by the author": lambda: Does(
        lambda s, x: s.part(x) + s.part.weight.sum(), part=nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))),
    "attention": lambda: Does(lambda s, x: s.part(x, x, x), part=nn.MultiheadAttention(3, 1)).eval(),
    "decoder": lambda: Does(lambda s, x: s.part(F.pad(x[None], (0, 1)), F.pad(x[None], (1, 0))),
                            part=nn.Transformer(4, 2, 1, 1, 4, batch_first=True)).train(),
    "no gradients": lambda: Does(lambda s, x: torch.no_grad()(s.part)(x), part=nn.GRU(3, 2)),
    "gradients inside": lambda: Does(lambda s, x: torch.autograd.functional.jacobian(lambda t: (t**2).sum(0), x)),
    "shuffled": lambda: Does(lambda s, x: x[torch.randperm(2)][:, np.random.permutation(3)]),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD_MODELS)
def test_a_watched_run_gives_the_bits_of_an_unwatched_one(watch: Watch, name: str) -> None:
    """Whatever a model draws, keeps or switches, the tracer is not noticed."""
    run.seed(3)
    model = ODD_MODELS[name]()
    twin = copy.deepcopy(model)
    run.seed(5)
    expected = twin(GRID.clone())
    run.seed(5)
    assert bits(watch(model, GRID.clone()).returned) == bits(expected)
    assert bits(model.state_dict()) == bits(twin.state_dict())


UNARY = {
    "tanh": torch.tanh, "double": lambda x: x + x, "square": lambda x: x @ x.mT @ x,
    "first row": lambda x: x[:1].expand_as(x),
    "in place": lambda x: x.clone().mul_(2), "row set": lambda x: _with_row(x),
    "split": lambda x: torch.cat(x.chunk(2, 1), 1),
    "noise": lambda x: x + torch.randn_like(x), "float64": lambda x: x.double().sin().float(),
    "mask": lambda x: x.where(x > 0, 1),
    "sorted": lambda x: x.sort(dim=1).values, "einsum": lambda x: torch.einsum("ij->ij", x),
    "numpy": lambda x: _outside(x),
    "view write": lambda x: _view_write(x), "softmax": lambda x: F.softmax(x, -1), "identity": lambda x: x,
}  # fmt: skip
LAYERS: dict[str, Callable[[], nn.Module]] = {
    "linear": lambda: nn.Linear(4, 4), "norm": lambda: nn.LayerNorm(4), "batch": lambda: nn.BatchNorm1d(4),
    "dropout": lambda: nn.Dropout(0.5), "relu": lambda: nn.ReLU(inplace=True),
    "block": lambda: nn.Sequential(nn.Linear(4, 4), nn.GELU()),
}  # fmt: skip


def _with_row(x: Tensor) -> Tensor:
    y = x.clone()
    y[0] = y[1] * 2
    return y


def _view_write(x: Tensor) -> Tensor:
    y = x.clone()
    left, right = y[:, :2], y[:, 2:]
    left.add_(1)
    right.neg_()
    return y


def _outside(x: Tensor) -> Tensor:
    return torch.from_numpy(np.tanh(x.detach().numpy()))


class Grown(nn.Module):
    """A module that a list of steps describes: functions, layers, and sums with an earlier value."""

    def __init__(self, steps: list[tuple[str, int]]) -> None:
        super().__init__()
        self.steps = steps
        self.layers = nn.ModuleDict({name: LAYERS[name]() for name, _ in steps if name in LAYERS})

    def forward(self, x: Tensor) -> Any:
        """All values by number."""
        tensors = [x]
        for name, back in self.steps:
            last = tensors[-1]
            step = self.layers[name] if name in self.layers else UNARY[name]
            tensors.append(step(last.clone() if name == "relu" else last) + tensors[max(0, len(tensors) - 1 - back)])
        return dict(enumerate(tensors))


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from([*UNARY, *LAYERS]), st.integers(0, 3)), min_size=1, max_size=7), st.booleans()
)
def test_watching_never_changes_a_bit(steps: list[tuple[str, int]], train: bool) -> None:
    """For random models, the watched outputs and states are the unwatched ones, and so is every recorded output."""
    run.seed(len(steps))
    model = Grown(steps).train(train)
    twin = copy.deepcopy(model)
    x = torch.randn(3, 4)
    run.seed(1)
    expected = twin(x.clone())
    run.seed(1)
    seen = call(model, {"x": x.clone()})
    assert bits(seen.returned) == bits(expected)
    assert bits(model.state_dict()) == bits(twin.state_dict())
    for key, value in expected.items():
        assert np.array_equal(seen.value(f"output[{key}]"), value.detach().numpy(), equal_nan=True)
