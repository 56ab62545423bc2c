"""Portable initialisation against exact arithmetic, against torch's own distributions, and in torch's place."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.overrides import TorchFunctionMode

from lessonpress.worker import portable

NATIVE = {"uniform_": torch.Tensor.uniform_, "normal_": torch.Tensor.normal_}
PORTABLE = {"uniform_": portable.uniform_, "normal_": portable.normal_}
BLANKS: dict[str, Callable[[torch.dtype], torch.Tensor]] = {
    **{f"{n} values": (lambda dtype, n=n: torch.zeros(n, dtype=dtype)) for n in (0, 1, 2, 7, 15, 16, 17, 31, 32, 100)},
    "more than a block": lambda dtype: torch.zeros(portable.BLOCK + 5, dtype=dtype),
    "a scalar": lambda dtype: torch.zeros((), dtype=dtype),
    "transposed": lambda dtype: torch.zeros(5, 7, dtype=dtype).T,
    "every other": lambda dtype: torch.zeros(6, 9, dtype=dtype)[:, ::2],
    "small and strided": lambda dtype: torch.zeros(2, 9, dtype=dtype)[:, ::3],
    "permuted": lambda dtype: torch.zeros(3, 4, 5, dtype=dtype).permute(1, 2, 0),
    "channels last": lambda dtype: torch.zeros(2, 3, 4, 5, dtype=dtype).to(memory_format=torch.channels_last),
    "axes of one": lambda dtype: torch.zeros(1, 6, 1, 3, dtype=dtype).transpose(0, 3),
}


def sequence(fill: Callable[..., Any], blank: Callable[[torch.dtype], torch.Tensor], dtype: torch.dtype) -> Any:
    """Three fills in a row from seed 5, and the bytes of the generator's state after them."""
    generator = torch.Generator().manual_seed(5)
    values = [fill(blank(dtype), generator=generator) for _ in range(3)]
    return torch.stack(values), generator.get_state().numpy()


# ---- arithmetic ----


def worst_ulp(values: np.ndarray, exact: list[Any]) -> float:
    """The largest distance from the exact values, in units of the last place."""
    units = [np.spacing(abs(float(truth)) or 1e-300) for truth in exact]
    triples = zip(values.tolist(), exact, units, strict=True)
    return float(max(abs(mpmath.mpf(value) - truth) / unit for value, truth, unit in triples))


def test_logarithm_is_within_one_ulp_of_the_exact_one() -> None:
    """Over (0, 1] as the transform uses it, next to 1 where cancellation would show, and beyond."""
    rng = np.random.default_rng(1)
    x = np.concatenate([
        rng.random(3000) + 2**-54, 2.0 ** -rng.uniform(0, 60, 1000), 1 - rng.integers(0, 500, 500) * 2.0**-53,
        [1.0, 0.5, np.sqrt(0.5), np.sqrt(2), 2**-24, 2**-53, 1e300, 3.0],
    ])  # fmt: skip
    with mpmath.workprec(200):
        assert worst_ulp(portable.log(x), [mpmath.log(mpmath.mpf(value)) for value in x.tolist()]) < 1


def test_cosine_and_sine_are_within_one_ulp_of_the_exact_ones() -> None:
    """Over the whole turn, and at the floats beside each quarter turn, where one of the two all but vanishes."""
    quarters = np.arange(5) * (np.pi / 2)
    beside = [np.nextafter(quarters, side) for side in (-1.0, 9.0)]
    angles = np.concatenate([
        np.random.default_rng(2).uniform(0, 2 * np.pi, 4000), quarters, np.abs(np.concatenate(beside)),
        quarters.astype(np.float32).astype(np.float64), np.arange(1, 8, 2) * (np.pi / 4), [1e-9, 2**-24, 7.9],
    ])  # fmt: skip
    cosine, sine = portable.cosine_and_sine(angles)
    with mpmath.workprec(300):
        assert worst_ulp(cosine, [mpmath.cos(mpmath.mpf(angle)) for angle in angles.tolist()]) < 1
        assert worst_ulp(sine, [mpmath.sin(mpmath.mpf(angle)) for angle in angles.tolist()]) < 1


def nearest_float32(exact: Fraction) -> float:
    """The float32 next to an exact number, the even one of two equally near: decided by comparing fractions."""
    guess = np.float32(float(exact))
    around = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    return float(min(around, key=lambda v: (abs(Fraction(float(v)) - exact), int(v.view(np.int32)) & 1)))


@settings(max_examples=60, deadline=None)
@given(low=st.floats(-1e4, 1e4, width=32), exponent=st.integers(-40, 10), seed=st.integers(0, 99))
def test_uniform_float32_is_rounded_once(low: float, exponent: int, seed: int) -> None:
    """Each value is the float32 nearest to k / 2^24 * (b - a) + a, also where float64 cannot hold that sum."""
    high = float(np.float32(low + 1.1 * 2.0**exponent))
    span = float(np.float32(high) - np.float32(low))
    got = portable.uniform_(torch.empty(40), low, high, generator=torch.Generator().manual_seed(seed))
    draws = torch.empty(40, dtype=torch.int64).random_(0, 2**24, generator=torch.Generator().manual_seed(seed))
    exact = [Fraction(k, 2**24) * Fraction(span) + Fraction(low) for k in draws.tolist()]
    assert got.tolist() == [nearest_float32(value) for value in exact]


def test_double_rounding_is_avoided_where_it_would_show() -> None:
    """A sum just above the middle of two float32 values, by less than float64 can hold, goes up and not to even."""
    units = np.array([1.0, -1.0])
    got = portable._between(units, 1 + 2.0**-23 + 2.0**-24, 2.0**-60, np.dtype(np.float32))
    assert got.tolist() == [1 + 2.0**-22, 1 + 2.0**-23]


# ---- in step with torch ----


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["uniform_", "normal_"])
@pytest.mark.parametrize("shape", BLANKS)
def test_stream_stays_in_step_with_torch(shape: str, name: str, dtype: torch.dtype) -> None:
    """Generator state after three fills is torch's byte for byte, but for the last ulps of a kept normal value."""
    ours, our_state = sequence(PORTABLE[name], BLANKS[shape], dtype)
    theirs, their_state = sequence(NATIVE[name], BLANKS[shape], dtype)
    spares = our_state.view(portable.STATE)["spare"], their_state.view(portable.STATE)["spare"]
    np.testing.assert_allclose(*spares, rtol=1e-15)
    our_state.view(portable.STATE)["spare"] = their_state.view(portable.STATE)["spare"]
    assert our_state.tobytes() == their_state.tobytes()
    tolerance = 2e-6 if dtype == torch.float32 else 1e-14
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_parameters_of_the_distributions_are_used_as_torch_uses_them(dtype: torch.dtype) -> None:
    """Bounds, mean and standard deviation give torch's values, whatever the branch."""
    for name, arguments in (("uniform_", (-3.0, 0.25)), ("normal_", (5.0, 0.1)), ("normal_", (-1.0, 0.0))):
        for size in (3, 16, 50):
            ours, theirs = (
                fill(torch.zeros(size, dtype=dtype), *arguments, generator=torch.Generator().manual_seed(8))
                for fill in (PORTABLE[name], NATIVE[name])
            )
            torch.testing.assert_close(ours, theirs, rtol=2e-6, atol=2e-6)


def test_kept_half_of_a_pair_passes_between_torch_and_us() -> None:
    """After an odd number of values torch continues with our spare one, and we with torch's."""
    reference = torch.empty(4, dtype=torch.float64).normal_(generator=torch.Generator().manual_seed(3))
    for first, then in ((portable.normal_, NATIVE["normal_"]), (NATIVE["normal_"], portable.normal_)):
        generator = torch.Generator().manual_seed(3)
        values = [fill(torch.empty(n, dtype=torch.float64), generator=generator) for fill, n in ((first, 1), (then, 3))]
        torch.testing.assert_close(torch.cat(values), reference, rtol=1e-14, atol=1e-15)


def test_default_generator_is_used_when_none_is_given() -> None:
    """torch.manual_seed governs the portable functions."""
    torch.manual_seed(4)
    implied = portable.normal_(torch.empty(20))
    assert torch.equal(implied, portable.normal_(torch.empty(20), generator=torch.Generator().manual_seed(4)))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("uniform_", torch.float16),
        ("uniform_", torch.bfloat16),
        ("normal_", torch.float16),
        ("normal_", torch.bfloat16),
        ("normal_", torch.complex64),
    ],
)
def test_other_dtypes_are_left_to_torch(name: str, dtype: torch.dtype) -> None:
    """What is neither float32 nor float64 gets torch's very bytes."""
    ours, theirs = (fill(torch.zeros(33, dtype=dtype), generator=torch.Generator().manual_seed(1))
                    for fill in (PORTABLE[name], NATIVE[name]))  # fmt: skip
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    ("name", "tensor", "arguments"),
    [
        ("uniform_", torch.zeros(3), (2.0, 1.0)),
        ("normal_", torch.zeros(3), (0.0, -1.0)),
        ("uniform_", torch.zeros(3, requires_grad=True), ()),
        ("normal_", torch.zeros(3, requires_grad=True), ()),
        ("uniform_", torch.zeros(1).expand(3), ()),
        ("uniform_", torch.zeros(3, dtype=torch.int64), ()),
    ],
)
def test_refused_by_torch_is_refused(name: str, tensor: torch.Tensor, arguments: tuple[float, ...]) -> None:
    """Impossible arguments, leaves that require grad and overlapping memory raise as they do in torch."""
    for fill in (NATIVE[name], PORTABLE[name]):
        with pytest.raises((RuntimeError, NotImplementedError)):
            fill(tensor, *arguments)


def test_moments_are_those_of_the_distributions() -> None:
    """100,000 values have mean and variance within five standard errors."""
    generator = torch.Generator().manual_seed(0)
    normal = portable.normal_(torch.empty(100_000), 2.0, 3.0, generator=generator).double()
    uniform = portable.uniform_(torch.empty(100_000), -1.0, 1.0, generator=generator).double()
    assert abs(normal.mean() - 2) < 5 * 3 / 100_000**0.5
    assert abs(normal.var() - 9) < 5 * 9 * (2 / 100_000) ** 0.5
    assert abs(uniform.mean()) < 5 * (1 / 3 / 100_000) ** 0.5
    assert abs(uniform.var() - 1 / 3) < 5 * (4 / 45 / 100_000) ** 0.5


# ---- the same bytes at every level ----

LEVELS = {"default": "DEFAULT", "avx2": "AVX2", "avx512": "AVX512"}
PROBE = """
import hashlib, importlib.util, json, sys, torch
from torch import nn
spec = importlib.util.spec_from_file_location("portable", sys.argv[1])
portable = importlib.util.module_from_spec(spec)
spec.loader.exec_module(portable)

class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(16, 4)
        self.reader = nn.GRU(4, 4, batch_first=True, bidirectional=True)
        self.keys, self.query = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
        self.score = nn.Linear(8, 1, bias=False)
        self.cell, self.head = nn.GRUCell(12, 8), nn.Linear(8, 16)
        self.small, self.odd = nn.Embedding(3, 3), nn.Embedding(5, 7)
        self.tail = nn.Parameter(torch.randn(5, dtype=torch.float64) + torch.rand(5))

def digest(module):
    pieces = (p.detach().numpy().tobytes() for p in module.parameters())
    return hashlib.sha256(b"".join(pieces)).hexdigest()

def uniform():
    torch.manual_seed(7)
    return torch.cat([torch.empty(n).uniform_(-b, b) for n, b in ((3, 1.0), (1000, 8**-0.5), (17, 0.3))])

def embedding():
    torch.manual_seed(21)
    return nn.Embedding(16, 4).weight.detach()

out = {"level": torch.backends.cpu.get_cpu_capability(),
       "native": {"uniform": uniform().numpy().tobytes().hex(), "embedding": embedding().numpy().tobytes().hex()}}
torch.manual_seed(21)
with portable.installed():
    out["twin"] = digest(Twin())
    out["portable"] = {"uniform": uniform().numpy().tobytes().hex(), "embedding": embedding().numpy().tobytes().hex()}
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def levels() -> dict[str, Any]:
    """What a fresh process makes at each capability level that this CPU has."""
    found: dict[str, Any] = {}
    for level, name in LEVELS.items():
        environment = {**os.environ, "ATEN_CPU_CAPABILITY": level}
        done = subprocess.run(
            [sys.executable, "-c", PROBE, str(portable.__file__)],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        answer = json.loads(done.stdout)
        if answer["level"] in (name, "NO AVX"):
            found[level] = answer
    return found


def test_uniform_float32_is_what_fused_cpus_give(levels: dict[str, Any]) -> None:
    """torch's own bytes on AVX2 and AVX-512, whose compilers fuse the multiplication and the addition."""
    fused = [level for level in ("avx2", "avx512") if level in levels]
    if not fused:
        pytest.skip("this CPU has no AVX2")
    for level in fused:
        assert levels[level]["portable"]["uniform"] == levels[level]["native"]["uniform"]


def test_normal_is_what_torch_gives_without_vector_instructions(levels: dict[str, Any]) -> None:
    """All 64 values of an embedding under seed 21 are the scalar path's bytes."""
    assert levels["default"]["portable"]["embedding"] == levels["default"]["native"]["embedding"]


def test_whole_model_has_the_same_bytes_at_every_level(levels: dict[str, Any]) -> None:
    """Embeddings, recurrences, linear layers and loose parameters do not depend on the CPU's capabilities."""
    assert len({answer["twin"] for answer in levels.values()}) == 1


# ---- in torch's place ----


class Observer(TorchFunctionMode):
    """Notes every function that it is shown, and calls what stands in for it."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        super().__init__()
        self.seen: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note the function and run its portable stand-in, if it has one."""
        self.seen.append(func)
        return portable.REPLACED.get(func, func)(*args, **(kwargs or {}))


def same(make: Callable[[], torch.Tensor], expected: Callable[[torch.Generator], torch.Tensor]) -> bool:
    """Whether `make`, under seed 6 and the installed functions, gives the bytes that `expected` draws from seed 6."""
    torch.manual_seed(6)
    with portable.installed():
        made = make()
    return made.detach().numpy().tobytes() == expected(torch.Generator().manual_seed(6)).numpy().tobytes()


@pytest.mark.parametrize(
    ("initialise", "fill", "arguments"),
    [
        (nn.init.uniform_, "uniform_", (0.0, 1.0)),
        (nn.init.normal_, "normal_", (0.0, 1.0)),
        (nn.init.xavier_uniform_, "uniform_", (-((6 / 20) ** 0.5), (6 / 20) ** 0.5)),
        (nn.init.xavier_normal_, "normal_", (0.0, (2 / 20) ** 0.5)),
        (nn.init.kaiming_uniform_, "uniform_", (-((6 / 8) ** 0.5), (6 / 8) ** 0.5)),
        (nn.init.kaiming_normal_, "normal_", (0.0, (2 / 8) ** 0.5)),
    ],
)
def test_initialisers_go_through_the_portable_functions(
    initialise: Callable[[torch.Tensor], torch.Tensor], fill: str, arguments: tuple[float, float]
) -> None:
    """torch.nn.init of a [12, 8] tensor: the scale from the closed form, the draws from ours."""
    assert same(
        lambda: initialise(torch.empty(12, 8)),
        lambda generator: PORTABLE[fill](torch.empty(12, 8), *arguments, generator=generator),
    )


@pytest.mark.parametrize("module", [nn.Linear(9, 2), nn.GRU(3, 4), nn.GRUCell(3, 4), nn.LSTM(2, 4), nn.Conv1d(3, 2, 3)])
def test_modules_draw_all_their_uniform_parameters_from_us(module: nn.Module) -> None:
    """reset_parameters fills every parameter, in order, from -1/sqrt(fan) to 1/sqrt(fan)."""
    bound = 0.5 if isinstance(module, nn.RNNBase | nn.RNNCellBase) else 1 / 3  # hidden size 4; nine inputs

    def expected(generator: torch.Generator) -> torch.Tensor:
        pieces = [torch.empty(p.numel()) for p in module.parameters()]
        return torch.cat([portable.uniform_(piece, -bound, bound, generator=generator) for piece in pieces])

    def made() -> torch.Tensor:
        module.reset_parameters()
        return nn.utils.parameters_to_vector(module.parameters())

    assert same(made, expected)


def test_embedding_draws_from_us() -> None:
    """An embedding's weight is normal."""
    assert same(lambda: nn.Embedding(5, 6).weight, lambda g: portable.normal_(torch.empty(5, 6), generator=g))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("make", "fill"),
    [
        (lambda dtype: torch.rand(4, 6, dtype=dtype), "uniform_"),
        (lambda dtype: torch.rand((4, 6), dtype=dtype), "uniform_"),
        (lambda dtype: torch.rand(size=(4, 6), dtype=dtype), "uniform_"),
        (lambda dtype: torch.randn(4, 6, dtype=dtype, requires_grad=True), "normal_"),
        (lambda dtype: torch.randn(4, 6, out=torch.empty(0, dtype=dtype)), "normal_"),
        (lambda dtype: torch.rand_like(torch.ones(4, 6, dtype=dtype)), "uniform_"),
        (lambda dtype: torch.randn_like(torch.ones(4, 6), dtype=dtype), "normal_"),
    ],
)
def test_factories_are_built_on_the_portable_functions(
    make: Callable[[torch.dtype], torch.Tensor], fill: str, dtype: torch.dtype
) -> None:
    """rand, randn and their _like forms, with the ways to say shape, dtype, out and requires_grad."""
    assert same(lambda: make(dtype), lambda g: PORTABLE[fill](torch.empty(4, 6, dtype=dtype), generator=g))


def test_factories_keep_what_torch_promises() -> None:
    """requires_grad, the strides of a pattern, a given generator, other dtypes and errors for whole numbers."""
    generator = torch.Generator().manual_seed(2)
    with portable.installed():
        assert torch.randn(2, requires_grad=True).requires_grad
        assert torch.rand_like(torch.ones(3, 4).T).stride() == (1, 4)
        given_generator = torch.rand(3, generator=generator)
        assert torch.rand(2, dtype=torch.float16).dtype == torch.float16
        with pytest.raises((RuntimeError, NotImplementedError)):
            torch.rand(2, dtype=torch.int64)
        target = torch.empty(0)
        assert torch.rand(2, out=target) is target
    assert torch.equal(given_generator, portable.uniform_(torch.empty(3), generator=torch.Generator().manual_seed(2)))


def test_bounds_may_be_named_as_torch_names_them() -> None:
    """`from` and `to` are keywords of torch's uniform_; any other is refused."""
    assert same(
        lambda: torch.empty(20).uniform_(**{"from": -2.0}, to=3.0),
        lambda generator: portable.uniform_(torch.empty(20), -2.0, 3.0, generator=generator),
    )
    with portable.installed(), pytest.raises(TypeError, match="upto"):
        torch.empty(1).uniform_(upto=3.0)


def test_torch_is_restored_afterwards_even_after_an_error() -> None:
    """Inside, and in a nested block, ours; outside torch's own objects, in the places where they were."""

    def present() -> list[Any]:
        return [torch.rand, torch.randn, torch.rand_like, torch.randn_like, torch.Tensor.uniform_, torch.Tensor.normal_]

    @portable.installed()
    def fail() -> None:
        with portable.installed():
            assert not set(present()) & set(own)
        assert not set(present()) & set(own)
        raise KeyError

    own = present()
    with pytest.raises(KeyError):
        fail()
    assert all(one is other for one, other in zip(own, present(), strict=True))
    assert "uniform_" not in vars(torch.Tensor)


@pytest.mark.parametrize("native", list(portable.REPLACED), ids=lambda native: native.__name__)
def test_observer_sees_torchs_function_once(native: Any) -> None:
    """A mode is shown torch's own object and none of the draws inside; the value is the portable one."""
    argument = torch.empty(20) if native.__name__.endswith(("_", "_like")) else 20
    fill = "uniform_" if native.__name__ in ("uniform_", "rand", "rand_like") else "normal_"
    observer = Observer()
    torch.manual_seed(6)
    with portable.installed(), observer:
        owner = torch.Tensor if hasattr(torch.Tensor, native.__name__) else torch
        made = getattr(owner, native.__name__)(argument)
    assert observer.seen == [native]
    assert torch.equal(made, PORTABLE[fill](torch.empty(20), generator=torch.Generator().manual_seed(6)))


@pytest.mark.parametrize("observed", [False, True])
def test_a_default_device_hides_nothing(observed: bool) -> None:
    """Under `with torch.device`, itself a mode, weights stay portable, with an observer around it or without."""

    def build() -> torch.Tensor:
        with torch.device("cpu"):
            return torch.cat([nn.Linear(8, 8, bias=False).weight, torch.randn(1, 8)])

    def watched() -> torch.Tensor:
        with Observer() as observer:
            built = build()
        assert torch.randn in observer.seen or any(f is n for f in observer.seen for n in portable.REPLACED)
        return built

    def expected(generator: torch.Generator) -> torch.Tensor:
        weight = portable.uniform_(torch.empty(8, 8), -(8**-0.5), 8**-0.5, generator=generator)
        return torch.cat([weight, portable.normal_(torch.empty(1, 8), generator=generator)])

    assert same(watched if observed else build, expected)


def test_meta_device_is_left_to_torch() -> None:
    """Shapes without values pass through untouched."""
    with portable.installed(), torch.device("meta"):
        assert nn.Linear(3, 4).weight.is_meta
        assert torch.rand(2, 3).is_meta


def test_a_tensor_class_keeps_its_say() -> None:
    """A class that handles torch's functions itself is asked, and shown torch's own function."""
    asked: list[Any] = []

    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            asked.append(func)
            return None

    tensor = torch.empty(3).as_subclass(Asked)
    with portable.installed():
        assert tensor.uniform_() is None
    assert asked == [NATIVE["uniform_"]]


def test_module_stands_alone() -> None:
    """It is shipped to readers by itself, so it imports torch, numpy and the standard library only."""
    tree = ast.parse(Path(str(portable.__file__)).read_text(encoding="utf-8"))
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    roots = {str(name).split(".")[0] for name in names}
    assert roots - set(sys.stdlib_module_names) == {"numpy", "torch"}


def test_a_digest_of_weights_is_a_name_for_them() -> None:
    """Two builds under one seed agree to the byte, and another seed differs: what a manifest relies on."""

    def digest(seed: int) -> str:
        torch.manual_seed(seed)
        with portable.installed():
            return hashlib.sha256(nn.Linear(4, 4).weight.detach().numpy().tobytes()).hexdigest()

    assert digest(1) == digest(1) != digest(2)
