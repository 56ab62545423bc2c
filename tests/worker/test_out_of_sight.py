"""The way of the data where the tracer cannot look inside, or where weights are not what the layer was built with."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, prune, spectral_norm, weight_norm
from watching import Does, Watched

Watch = Callable[..., Watched]
GRID = torch.arange(6.0).reshape(2, 3) + 1


def reach(seen: Watched, start: str) -> set[str]:
    """Every layer to which data flows from one."""
    after: dict[str, list[str]] = {}
    for connection in seen.graph["connections"]:
        after.setdefault(connection["source"], []).append(connection["target"])
    reached, stack = set(), [start]
    while stack:
        for target in after.get(stack.pop(), ()):
            if target not in reached:
                reached.add(target)
                stack.append(target)
    return reached


def double(_: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
    """A hook that changes what a layer is given."""
    return (args[0] * 2,)


# ---- functions under a transform of torch.func ----


def square(v: Tensor) -> Tensor:
    """A scalar function."""
    return (v**2).sum()


@pytest.mark.parametrize(("function", "node"), [
    (lambda s, x: torch.vmap(lambda row: (row * s.w).sum())(x), "vmap"),
    (lambda s, x: torch.func.vmap(lambda row, w: (row * w).sum(), in_dims=(0, None))(x, s.w), "vmap"),
    (lambda s, x: torch.func.grad(lambda v: square(v * s.w))(x), "grad"),
    (lambda s, x: torch.func.grad_and_value(lambda v: square(v * s.w))(x)[0], "grad_and_value"),
    (lambda s, x: torch.func.jvp(lambda v: (v * s.w).sin(), (x,), (torch.ones_like(x),))[1], "jvp"),
    (lambda s, x: torch.func.vjp(lambda v: (v * s.w).sin(), x)[1](torch.ones_like(x))[0], "vjp_fn"),
    (lambda s, x: torch.func.linearize(lambda v: (v * s.w).sin(), x)[1](torch.ones_like(x)), "linearize_fn"),
    (lambda s, x: torch.func.jacrev(lambda v: v * s.w)(x), "jacrev"),
    (lambda s, x: torch.func.jacfwd(lambda v: v * s.w)(x), "jacfwd"),
    (lambda s, x: torch.func.hessian(lambda v: square(v * s.w))(x), "hessian"),
    (lambda s, x: torch.vmap(torch.func.grad(lambda v: square(v * s.w)))(x), "vmap"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is deprecated", "ignore:Attempted to insert a get_attr Node")
def test_a_function_under_a_transform_is_one_node_that_reads_all_that_it_captures(
    watch: Watch, function: Callable[..., Any], node: str
) -> None:
    """Data flows through it from the input and from what its function captures, and its numbers are PyTorch's."""
    model = Does(lambda s, x, y: (setattr(s, "w", y), function(s, x * 1))[1])
    seen = watch(model, GRID, GRID[0] * 1.5)
    last = f"{node}@Does#0"
    assert seen.layers[last]["op"] == f"torch.{node}"
    assert last in reach(seen, "input:x0")
    assert last in reach(seen, "input:x1"), "what the function captures"
    assert "output" in reach(seen, last)
    assert "outside" not in " ".join(seen.names), "what is made inside is no source of its own"
    model.w = GRID[0] * 1.5
    assert torch.equal(seen.returned, function(model, GRID))


def test_modules_under_a_transform_ran(watch: Watch) -> None:
    """A layer that runs under a transform is not said to be idle, and its weights are what the node uses."""
    line = nn.Linear(3, 2)
    seen = watch(Does(lambda s, x: torch.vmap(s.line)(x), line=line, spare=nn.Linear(1, 1)), GRID)
    assert seen.graph["idle"] == ["spare"]
    assert seen.layers["vmap@Does#0"]["uses"] == ["param:line.bias", "param:line.weight"]
    assert torch.equal(seen.returned, line(GRID))


def test_a_functional_call_reads_the_weights_that_it_is_given(watch: Watch) -> None:
    """`functional_call` leaves the layer a node; only the weights that were put in lead into it."""
    model = Does(
        lambda s, x, w: torch.func.functional_call(s.line, {"weight": w * 2}, (x,)), line=nn.Linear(3, 3, bias=False)
    )
    seen = watch(model, GRID, torch.eye(3))
    assert seen.into("line") == ["input:x0", "mul@Does#0"]
    assert torch.equal(seen.returned, GRID @ (2 * torch.eye(3)))


# ---- weights that are written, computed or replaced ----


class Symmetric(nn.Module):
    """One's own parametrisation, as in the tutorial."""

    def forward(self, w: Tensor) -> Tensor:
        """A symmetric matrix."""
        return w.triu() + w.triu(1).mT


def parametrised(layer: nn.Module) -> nn.Module:
    """The layer with a symmetric weight."""
    nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    return layer


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated")
@pytest.mark.parametrize(("make", "last"), [
    (parametrised, "add"), (parametrizations.weight_norm, "_weight_norm"), (weight_norm, "_weight_norm"),
    (spectral_norm, "div"), (parametrizations.spectral_norm, "div"),
    (lambda layer: prune.random_unstructured(layer, "weight", 0.5), "mul"),
])  # fmt: skip
def test_computed_weights_lead_into_their_layer(watch: Watch, make: Callable[..., Any], last: str) -> None:
    """However torch computes a weight, the layer reads what came out, the parameters stand behind it, and nothing else
    of the run is another one because it is watched."""
    torch.manual_seed(1)
    model = nn.Sequential(make(nn.Linear(3, 3)), nn.Tanh()).train()
    seen = watch(model, GRID)
    sources = [source for source in seen.into("0") if source != "input:x"]
    assert [source.partition("@")[0] for source in sources] == [last]
    assert any(use.startswith("param:0") for layer in seen.layers.values() for use in layer.get("uses", ()))
    torch.manual_seed(1)
    again = nn.Sequential(make(nn.Linear(3, 3)), nn.Tanh()).train()
    assert torch.equal(again(GRID), seen.returned)
    assert all(torch.equal(a, b) for a, b in zip(again.buffers(), model.buffers(), strict=True))


def test_a_cached_parametrisation_is_computed_once_and_read_by_all(watch: Watch) -> None:
    """Under `parametrize.cached` the second call of a layer reads what the first one computed."""

    def twice(s: Any, x: Tensor) -> Tensor:
        with nn.utils.parametrize.cached():
            return s.line(s.line(x))

    seen = watch(Does(twice, line=parametrised(nn.Linear(3, 3))), GRID)
    assert sum(name.startswith("add@") for name in seen.names) == 1
    made = [end for end in seen.into("line") if end.startswith("add")]
    assert made == ["add@line.parametrizations.weight.0#0"] * 2


@pytest.mark.parametrize("write", [
    lambda w, y: w.mul_(y), lambda w, y: w.data.mul_(y), lambda w, y: setattr(w, "data", w * y),
    lambda w, y: w.copy_(y), lambda w, y: w.__setitem__(0, y[0]), lambda w, y: w.set_(w.detach() * y),
    lambda w, y: torch._foreach_mul_([w], [y]), lambda w, y: torch.add(w, y, out=w),
])  # fmt: skip
@pytest.mark.parametrize("layer", [nn.Linear(2, 2, bias=False), nn.Embedding(2, 2), nn.RNN(2, 2, bias=False)], ids=str)
def test_what_is_written_into_a_weight_reaches_the_layer(
    watch: Watch, write: Callable[..., Any], layer: nn.Module
) -> None:
    """A layer whose weight was written reads what wrote it, whichever way the writing went."""
    name, before = next((name, tensor.detach().clone()) for name, tensor in layer.named_parameters())

    def run(s: Any, x: Tensor, y: Tensor) -> Any:
        with torch.no_grad():
            write(getattr(s.layer, name), y)
        return s.layer(x)

    x = torch.tensor([0, 1]) if isinstance(layer, nn.Embedding) else torch.eye(2)
    seen = watch(Does(run, layer=layer), x, torch.full((2, 2), 3.0))
    assert "layer" in reach(seen, "input:x1")
    assert "output" in reach(seen, "input:x1")
    getattr(layer, name).data = before


def test_a_weight_that_another_layer_makes_leads_into_its_layer(watch: Watch) -> None:
    """A hypernetwork puts a computed tensor in the place of a parameter."""
    target = nn.Linear(3, 3, bias=False)
    del target.weight

    def run(s: Any, x: Tensor) -> Any:
        s.target.weight = s.make(x).reshape(3, 3)
        return s.target(x)

    seen = watch(Does(run, make=nn.Linear(3, 9), target=target), GRID[:1])
    assert seen.into("target") == ["input:x", "reshape@Does#0"]


def test_an_embedding_with_max_norm_writes_its_table(watch: Watch) -> None:
    """Who reads the table later reads what the embedding wrote; who read it before does not."""
    table = nn.Embedding(3, 2, max_norm=1.0)
    seen = watch(Does(lambda s, i: (s.table.weight * 2, s.table(i), s.table.weight * 1), table=table), torch.arange(2))
    assert seen.into("mul@Does#0") == []
    assert seen.into("mul@Does#1") == ["table[weight]"]


def test_a_layer_that_nobody_wrote_reads_its_weights_as_its_own(watch: Watch) -> None:
    """Weights that are as they were built are no edges, also where they are tied or were only looked at."""
    line = nn.Linear(3, 3)
    other = nn.Linear(3, 3)
    other.weight = line.weight
    seen = watch(Does(lambda s, x: s.other(s.line(x)) + s.line.weight.sum(), line=line, other=other), GRID)
    assert not any("beside" in call for call in seen.calls)


# ---- forwards that were replaced ----


def test_a_replaced_forward_of_a_library_layer_is_opened(watch: Watch) -> None:
    """What runs is drawn, whether the instance holds a function, a partial or a bound method."""

    def louder(x: Tensor, module: nn.Module, by: float) -> Tensor:
        return nn.functional.linear(x, module.weight) * by

    for wrap in (lambda line: lambda x: louder(x, line, 3),
                 lambda line: functools.partial(louder, module=line, by=3)):  # fmt: skip
        line = nn.Linear(3, 3)
        line.forward = wrap(line)
        assert watch(Does(lambda s, x: s.line(x), line=line), GRID).names == ["line", "linear@line#0", "mul@line#0"]


# ---- gradients ----


def test_backward_gives_the_gradients_that_an_optimiser_reads(watch: Watch) -> None:
    """From the loss to the gradient, to the written weight, to the second call of the layer."""

    def learn(s: Any, x: Tensor) -> Any:
        optimiser = torch.optim.SGD(s.line.parameters(), lr=0.5)
        s.line(x).square().sum().backward()
        optimiser.step()
        return s.line(x)

    line = nn.Linear(3, 1, bias=False)
    start = line.weight.detach().clone()
    seen = watch(Does(learn, line=line), GRID)
    assert seen.into("backward@Does#0") == ["sum@Does#0"]
    assert "backward@Does#0[line.weight]" in seen.into("add_@Does#0")
    assert seen.into("line") == ["input:x", "input:x", "add_@Does#0"]
    grad = 2 * (GRID @ start.T).T @ GRID
    assert torch.allclose(seen.returned, GRID @ (start - 0.5 * grad).T)
    assert seen.value("backward@Does#0[line.weight]") == pytest.approx(grad.numpy())


def test_a_second_backward_adds_to_the_gradients(watch: Watch) -> None:
    """Gradients that are already there are read and written; without any, nothing is a node."""

    def learn(s: Any, x: Tensor) -> Any:
        torch.autograd.backward(square(x * s.w))
        square(x * s.w).backward()
        return s.w.grad * 1

    seen = watch(Does(learn, w=nn.Parameter(torch.ones(3))), GRID)
    assert seen.into("backward@Does#1") == ["sum@Does#1", "backward@Does#0[w]"]
    assert seen.into("mul@Does#2") == ["backward@Does#1[w]"]
    assert torch.equal(seen.returned, 4 * GRID.square().sum(0))


def test_a_gradient_that_is_kept_inside_is_given_too(watch: Watch) -> None:
    """`retain_grad` on a tensor in between."""

    def learn(_: Any, x: Tensor) -> Any:
        y = (x * 2).requires_grad_()
        y.retain_grad()
        square(y).backward()
        return y.grad

    seen = watch(Does(learn), GRID)
    assert "output" in reach(seen, "backward@Does#0")


def test_watching_leaves_torch_as_it_was(watch: Watch) -> None:
    """Outside of a watched call, transforms and backward passes run as torch's own."""
    seen = watch(Does(lambda _, x: x * 1), GRID)
    calls = len(seen.calls)
    assert torch.equal(torch.func.grad(square)(GRID), 2 * GRID)
    assert len(seen.calls) == calls
    assert torch.func.vmap.__module__ == "torch.func"


# ---- nothing of numbers that were overwritten ----


@pytest.mark.parametrize(("write", "kept"), [
    (lambda y, a: y.copy_(a), False), (lambda y, a: y.__setitem__(slice(None), a), False),
    (lambda y, a: y.__setitem__(..., a), False), (lambda y, a: [row.copy_(a[0]) for row in y.unbind()], False),
    (lambda y, a: [row.__setitem__(..., a[0]) for row in y.unbind()], False), (lambda y, a: y[0].copy_(a[0]), True),
    (lambda y, a: [torch.mul(a[0], 2, out=row) for row in y.unbind()], False),
    (lambda y, a: [y.__setitem__((slice(None), n), a[:, 0]) for n in range(3)], True),  # setitem gives the whole
    (lambda y, a: setattr(y, "data", a), False), (lambda y, a: y.set_(a), False), (lambda y, a: y.fill_(1.0), False),
])  # fmt: skip
def test_no_edge_from_numbers_that_were_wholly_overwritten(watch: Watch, write: Callable[..., Any], kept: bool) -> None:
    """What a tensor held before leads on only where some of it is still there, or was read."""

    def run(_: Any, x: Tensor, a: Tensor) -> Any:
        y = x * 1
        write(y, a)
        return y + 0

    seen = watch(Does(run), GRID, GRID + 10)
    assert ("output" in reach(seen, "input:x0")) == kept


# ---- nested tensors ----


@pytest.mark.filterwarnings("ignore:.*PyTorch API of nested tensors is in prototype")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_a_nested_tensor_is_recorded_row_by_row(watch: Watch, layout: torch.layout) -> None:
    """Each row has its numbers, and its way from the tensors of which it was made to where it is padded."""

    def run(s: Any, a: Tensor, b: Tensor) -> Any:
        return s.line(torch.nested.nested_tensor([a * 1, b * 1], layout=layout)).to_padded_tensor(0.0)

    line = nn.Linear(3, 2)
    seen = watch(Does(run, line=line), GRID, GRID[:1])
    assert seen.into("nested_tensor@Does#0") == ["mul@Does#0", "mul@Does#1"]
    assert seen.into("line") == ["nested_tensor@Does#0[0]", "nested_tensor@Does#0[1]"]
    assert "output" in reach(seen, "line")
    assert seen.value("line[1]") == pytest.approx(line(GRID[:1]).detach().numpy())
