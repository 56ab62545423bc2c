"""Our kernels in torch's dispatcher: who arrives there, and that all but the last digits is as torch has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from lessonpress.worker import elementary, kernels

kernels.install()
NAMES = ("sqrt", *elementary.FUNCTIONS)
FLOATS = [torch.float32, torch.float64]


def values(dtype: torch.dtype, count: int = 500) -> Tensor:
    """Numbers in (0, 1), in the domain of each."""
    return ((torch.arange(1, count + 1, dtype=torch.float64) * 0.6180339887498949) % 1.0).to(dtype)


def expected(name: str, x: Tensor) -> np.ndarray:
    """What the functions themselves give, rounded to the dtype."""
    if name == "sqrt":
        return np.sqrt(x.numpy())
    return elementary.FUNCTIONS[name](x.double().numpy()).astype(x.numpy().dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_every_form_arrives_at_the_kernel(name: str, dtype: torch.dtype) -> None:
    """Function, method, in place, into a given tensor, on strided tensors and on a single number: the same bytes."""
    x = values(dtype)
    truth = expected(name, x)
    function: Callable[..., Tensor] = getattr(torch, name)
    target = torch.empty(0, dtype=dtype)
    wide = torch.stack([x, x], 1)
    forms = {
        "function": function(x), "method": getattr(x, name)(), "in place": getattr(x.clone(), f"{name}_")(),
        "out": function(x, out=target), "out onto itself": function(x.clone(), out=(own := x.clone())),
        "strided": function(wide[:, 1]), "transposed": function(wide.T)[0],
        "alone": torch.stack([function(v) for v in x]),
    }  # fmt: skip
    assert own.numpy().tobytes() == truth.tobytes()
    for form, made in forms.items():
        assert made.contiguous().numpy().tobytes() == truth.tobytes(), form


def test_into_the_tensor_that_is_read() -> None:
    """`out` may be the argument itself: the values are taken before it is overwritten."""
    x = values(torch.float64)
    truth = expected("sqrt", x)
    assert torch.sqrt(x, out=x) is x
    assert x.numpy().tobytes() == truth.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_power_of_a_half_is_a_square_root(dtype: torch.dtype) -> None:
    """In each of its forms; other powers are torch's own."""
    x = values(dtype)
    root = torch.from_numpy(np.sqrt(x.numpy()))
    assert torch.equal(x**0.5, root)
    assert torch.equal(x.clone().pow_(0.5), root)
    assert torch.equal(torch.pow(x, 0.5, out=torch.empty_like(x)), root)
    assert torch.equal(torch.arange(9) ** 0.5, torch.from_numpy(np.sqrt(np.arange(9, dtype=np.float32))))
    assert torch.equal(x**2, x * x)


def test_what_torch_calls_inside_itself_arrives_there_too() -> None:
    """The square roots of many tensors at once, of which optimisers are made, and the one at the end of a distance."""
    x = values(torch.float64)
    assert torch.equal(torch._foreach_sqrt([x])[0], torch.from_numpy(np.sqrt(x.numpy())))
    points = values(torch.float64, 90).reshape(30, 3)
    square, one = (points * points).sum(-1, keepdim=True), torch.ones(30, 1, dtype=torch.float64)
    squared = torch.cat([-2 * points, square, one], 1) @ torch.cat([points, one, square], 1).mT
    root = torch.from_numpy(np.sqrt(squared.clamp(min=0).numpy()))
    assert torch.equal(torch.cdist(points, points, compute_mode="use_mm_for_euclid_dist"), root)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_as_before(name: str) -> None:
    """The kernels lie below autograd, so a derivative agrees with the difference quotient."""
    x = values(torch.float64, 20).requires_grad_()
    assert torch.autograd.gradcheck(getattr(torch, name), (x,))


def test_other_dtypes_are_left_to_torch() -> None:
    """Half types and complex numbers get what torch gives; whole numbers become numbers of the default dtype."""
    assert torch.sqrt(torch.tensor([4.0], dtype=torch.bfloat16)).dtype is torch.bfloat16
    assert torch.allclose(torch.sqrt(torch.tensor([-4.0 + 0j])), torch.tensor([2j]))
    assert torch.sqrt(torch.arange(5)).dtype is torch.float32
    assert torch.equal(torch.sqrt(torch.arange(5)), torch.from_numpy(np.sqrt(np.arange(5, dtype=np.float32))))


def test_shapes_strides_and_mistakes_are_as_torch_has_them() -> None:
    """An empty tensor, the strides of a permuted one, promotion into `out`, and what torch refuses."""
    assert torch.sqrt(torch.empty(0, 3)).shape == (0, 3)
    assert torch.sqrt(torch.ones(2, 3, 4).permute(2, 0, 1)).stride() == torch.ones(2, 3, 4).permute(2, 0, 1).stride()
    wide = torch.sqrt(values(torch.float32), out=torch.empty(0, dtype=torch.float64))
    assert torch.equal(wide, torch.from_numpy(np.sqrt(values(torch.float32).numpy())).double())
    with pytest.raises(RuntimeError):
        torch.sqrt_(torch.arange(3))
    with pytest.raises(RuntimeError):
        torch.sqrt(torch.ones(3), out=torch.empty(3, dtype=torch.int64))


def test_observers_are_shown_one_operation() -> None:
    """A mode sees the call and nothing of what the kernel does."""
    seen: list[Any] = []

    class Observer(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = values(torch.float64)
    with Observer():
        torch.atan(x)
    assert seen == [torch.atan]


def test_installing_twice_changes_nothing() -> None:
    """A program settles when it loads, and a script again."""
    before = list(kernels._library)
    kernels.install()
    assert kernels._library == before
