"""`python -m tests.processors.probe REQUEST ANSWER`: what one processor computes, written as an .npz file of arrays.

It runs in one process and imports nothing but torch, numpy and the worker, because an emulated processor takes ten
times as long for everything. REQUEST is a JSON file, `{"groups": […], "lessons": {slug: {"folder", "plan"}},
"trainings": {…}}`. An array's name says what made it: `group/what/dtype`.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lessonpress.worker import judge, portable, recorded, run, training
from tests.processors.judged import ABOVE_ONE, LINE, MODERATE, POSITIVE, UNIT, judged, numbers

Named = Iterator[tuple[str, Any]]
DTYPES = (torch.float32, torch.float64)

# Functions of one number, by the largest interval on which each is of interest.
FUNCTIONS: Mapping[str, str] = {
    **dict.fromkeys(
        ("sin", "cos", "tan", "atan", "asinh", "tanh", "erf", "erfc", "sigmoid", "sinc", "i0", "digamma"), LINE
    ),
    **dict.fromkeys(("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "reciprocal", "lgamma"), POSITIVE),
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv"), UNIT),
    **dict.fromkeys(("exp", "exp2", "expm1", "sinh", "cosh"), MODERATE),
    "acosh": ABOVE_ONE,
}
ACTIVATIONS = ("gelu", "silu", "softplus", "mish", "elu", "celu", "selu", "logsigmoid", "tanhshrink", "hardswish")
def drawn(*shape: int, seed: int = 1, dtype: torch.dtype = torch.float64) -> Tensor:
    """Values between -2 and 2 that every processor makes alike."""
    count = math.prod(shape)
    steps = (np.arange(1, count + 1) * 0.6180339887498949 + seed * 0.7548776662466927) % 1.0
    return torch.from_numpy(4 * steps - 2).reshape(shape).to(dtype)


def functions() -> Named:
    """Every function of one number, on contiguous and on strided values, and the functions of two."""
    for name, kind in FUNCTIONS.items():
        yield from by_dtype(name, getattr(torch, name), torch.from_numpy(numbers(kind)))
    line, positive = torch.from_numpy(numbers(LINE)), torch.from_numpy(numbers(POSITIVE))
    for name in ACTIVATIONS:
        yield from by_dtype(name, getattr(functional, name), line)
    for dtype in DTYPES:
        x, y = positive.to(dtype), torch.from_numpy(numbers(MODERATE)).to(dtype) / 16
        for name, made in {
            "pow": x**y,
            "pow scalar": x**1.7,
            "pow half": x**0.5,
            "pow -half": x**-0.5,
            "pow 3": x**3,
            "scalar pow": 1.7**y,
            "atan2": torch.atan2(x, y),
            "hypot": torch.hypot(x, y),
            "logaddexp": torch.logaddexp(x, y),
            "xlogy": torch.xlogy(y, x),
            "fmod": torch.fmod(x, 0.7),
            "remainder": torch.remainder(x, 0.7),
            "lerp": torch.lerp(x, y, 0.3),
            "addcdiv": torch.addcdiv(y, y, x, value=0.3),
            "sum": x.sum(),
            "prod": (y / 3).prod(),
            "norm": x.norm(),
            "norm 3": x.norm(3),
            "std": x.std(),
            "var": x.var(),
            "cumsum": x.cumsum(0),
            "logsumexp": y.logsumexp(0),
            "softmax": y.softmax(0),
            "log_softmax": y.log_softmax(0),
            "mean": x.mean(),
            "cumprod": y.cumprod(0),
            "logcumsumexp": y.logcumsumexp(0),
            "cdist": torch.cdist(y[:40, None], x[:40, None]),
            "rows norm": y[:3000].reshape(60, 50).norm(dim=1),
            "columns norm": y[:3000].reshape(60, 50).norm(dim=0),
            "softmax columns": y[:3000].reshape(60, 50).softmax(0),
            "polar": torch.polar(x, y),
            "abs complex": torch.complex(x, y).abs(),
            "exp complex": torch.complex(y, y).exp(),
            "mul complex": torch.complex(x, y) * torch.complex(y, x),
        }.items():
            yield f"{name}/{short(dtype)}", made


def by_dtype(name: str, function: Callable[[Tensor], Tensor], x: Tensor) -> Named:
    """A function on float32 and float64 values: contiguous, every other one, a single one, and in place."""
    for dtype in DTYPES:
        values = x.to(dtype)
        wide = torch.stack([values, values], 1)[:, 0]
        yield f"{name}/{short(dtype)}", function(values)
        yield f"{name} strided/{short(dtype)}", function(wide)
        yield f"{name} alone/{short(dtype)}", torch.stack([function(value) for value in values[:60]])


def short(dtype: torch.dtype) -> str:
    """`float32`."""
    return str(dtype).removeprefix("torch.")


def operations(step: int = 1) -> Named:
    """The cases of the operation table, in float64 as the tests ask for it, and in float32, but for LAPACK's."""
    yield from cases(lambda family: family != "linalg", step)


def solvers() -> Named:
    """The cases of the operation table that torch leaves to LAPACK."""
    yield from cases(lambda family: family == "linalg")


def cases(wanted: Callable[[str], bool], step: int = 1) -> Named:
    """What torch makes of the cases of some families: of every operation the first one, and then each `step`-th."""
    with portable.installed():
        from tests import operation_cases
    counts: dict[str, int] = {}
    for case in [one for family, some in operation_cases.FAMILIES.items() if wanted(family) for one in some]:
        number = counts[case.op] = counts.get(case.op, -1) + 1
        if number % step:
            continue
        for dtype in DTYPES:
            narrow = dtype is torch.float32
            try:
                made = expected(case, operation_cases.LayerCase, narrow)
            except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
                continue  # a call that has no float32 form
            yield f"{case.op}#{number}/{short(dtype)}", made


def expected(case: Any, layer_case: type, narrow: bool) -> Any:
    """What torch makes of a case, in float64 or with every float64 tensor as float32."""
    if not narrow:
        return case.expected()
    args, kwargs = narrowed(case.args), narrowed(case.kwargs)
    if isinstance(case, layer_case):
        module = case.module.float()
        try:
            with torch.no_grad():
                return module(*args, **kwargs)
        finally:
            module.double()
    return type(case)(case.op, args, kwargs, case.oracle).expected()


def narrowed(value: Any) -> Any:
    """A structure with its float64 tensors as float32."""
    if isinstance(value, Tensor):
        return value.float() if value.dtype is torch.float64 else value.clone()
    if isinstance(value, dict):
        return {key: narrowed(part) for key, part in value.items()}
    return type(value)(narrowed(part) for part in value) if isinstance(value, list | tuple) else value


SIZES = ((1, 1, 1), (2, 3, 4), (5, 8, 8), (7, 7, 7), (16, 16, 16), (31, 33, 17), (64, 64, 64), (100, 130, 90))


def products() -> Named:
    """Matrix products of many sizes and layouts, convolutions, and attention."""
    for dtype in DTYPES:
        for n, k, m in SIZES:
            a, b, v = drawn(n, k, dtype=dtype), drawn(k, m, seed=2, dtype=dtype), drawn(k, seed=3, dtype=dtype)
            for name, made in {
                "mm": a @ b,
                "mm transposed": b.T @ a.T,
                "mv": a @ v,
                "vm": v @ b,
                "dot": v @ v,
                "outer": torch.outer(v, v),
                "linear": functional.linear(a, b.T, b[0]),
                "bmm": torch.stack([a, a]) @ torch.stack([b, b]),
                "einsum": torch.einsum("ij,jk,j->ik", a, b, v),
                "addmm": torch.addmm(b[:1, :1], a, b, beta=0.3, alpha=0.7),
            }.items():
                yield f"{name} {n}x{k}x{m}/{short(dtype)}", made
        for batch in (1, 3, 16, 20):
            image, signal = drawn(batch, 4, 12, 10, dtype=dtype), drawn(batch, 4, 30, dtype=dtype)
            kernel = drawn(6, 4, 3, 3, seed=4, dtype=dtype)
            yield f"conv2d batch {batch}/{short(dtype)}", functional.conv2d(image, kernel, padding=1)
            yield f"conv1d batch {batch}/{short(dtype)}", functional.conv1d(signal, kernel[..., 0])
            yield f"conv2d 1x1 batch {batch}/{short(dtype)}", functional.conv2d(image, kernel[..., :1, :1])
            yield f"conv2d grouped batch {batch}/{short(dtype)}", functional.conv2d(image, kernel[:4, :1], groups=4)
            yield (
                f"conv_transpose2d batch {batch}/{short(dtype)}",
                functional.conv_transpose2d(image, kernel.transpose(0, 1)),
            )
        for length, width in ((3, 4), (17, 8), (70, 16)):
            q, k_, v_ = (drawn(2, 2, length, width, seed=s, dtype=dtype) for s in (1, 2, 3))
            for causal in (False, True):
                made = functional.scaled_dot_product_attention(q, k_, v_, is_causal=causal)
                yield f"attention {length}x{width}{' causal' if causal else ''}/{short(dtype)}", made


def fourier() -> Named:
    """Fourier transforms."""
    for dtype in DTYPES:
        for size in (8, 12, 30, 64, 101):
            x = drawn(3, size, dtype=dtype)
            yield f"fft {size}/{short(dtype)}", torch.fft.fft(x)
            yield f"rfft {size}/{short(dtype)}", torch.fft.rfft(x)
            yield f"irfft {size}/{short(dtype)}", torch.fft.irfft(torch.complex(x, x))


def layers() -> Named:
    """Recurrent, attention, norm and other layers with weights of their own initialisation, and what a step leaves."""
    makers: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
        **{
            f"{kind.__name__} {options}": ((lambda kind=kind, options=options: kind(6, 10, **options)), (7, 3, 6))
            for kind in (nn.RNN, nn.GRU, nn.LSTM)
            for options in ({}, {"bidirectional": True}, {"num_layers": 2}, {"batch_first": True})
        },
        "GRUCell": (lambda: nn.GRUCell(6, 10), (3, 6)),
        "LSTMCell": (lambda: nn.LSTMCell(6, 10), (3, 6)),
        "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), (2, 9, 8)),
        "TransformerEncoderLayer train": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 9, 8)),
        "LayerNorm": (lambda: nn.LayerNorm(20), (5, 20)),
        "BatchNorm1d": (lambda: nn.BatchNorm1d(20), (5, 20)),
        "RMSNorm": (lambda: nn.RMSNorm(20), (5, 20)),
        "GroupNorm": (lambda: nn.GroupNorm(4, 20), (5, 20, 3)),
        "Conv2d": (lambda: nn.Conv2d(3, 5, 3), (17, 3, 9, 9)),
        "Dropout": (lambda: nn.Dropout(0.3), (40, 20)),
        "Embedding": (lambda: nn.Embedding(40, 20), (0,)),
        "AdaptiveSoftmax": (lambda: nn.Linear(30, 200), (9, 30)),
        "weight_norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(6, 6)), (4, 6)),
        "spectral_norm": (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(6, 6)), (4, 6)),
    }
    for name, (make, shape) in makers.items():
        for dtype in DTYPES:
            run.seed(3)
            torch.set_default_dtype(dtype)
            try:
                module = make()
            finally:
                torch.set_default_dtype(torch.float32)
            yield f"{name} weights/{short(dtype)}", list(module.state_dict().values())
            x = drawn(*shape, dtype=dtype) if shape != (0,) else torch.arange(40)
            made = module(x)
            yield f"{name}/{short(dtype)}", made
            whole = made[0] if isinstance(made, tuple) else made
            if whole.requires_grad:
                whole.square().mean().backward()
                yield f"{name} slopes/{short(dtype)}", [p.grad for p in module.parameters() if p.grad is not None]
    run.seed(3)
    attention = nn.MultiheadAttention(8, 2)
    yield "MultiheadAttention/float32", attention(*[drawn(5, 2, 8, seed=s, dtype=torch.float32) for s in (1, 2, 3)])


INITIALISERS = (
    "uniform_",
    "normal_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "trunc_normal_",
    "orthogonal_",
    "eye_",
    "sparse_",
)


def initialisers() -> Named:
    """What is drawn: torch.nn.init, the tensor's own methods, and the functions that make tensors."""
    for dtype in DTYPES:
        for name in INITIALISERS:
            run.seed(5)
            options = {"sparsity": 0.3} if name == "sparse_" else {}
            yield f"{name}/{short(dtype)}", getattr(nn.init, name)(torch.empty(30, 20, dtype=dtype), **options)
        for name, arguments in {
            "exponential_": (1.3,),
            "bernoulli_": (0.3,),
            "cauchy_": (),
            "log_normal_": (),
            "geometric_": (0.3,),
        }.items():
            run.seed(5)
            yield f"{name}/{short(dtype)}", getattr(torch.empty(30, 20, dtype=dtype), name)(*arguments)
        run.seed(5)
        weights = drawn(40, dtype=dtype).abs()
        yield f"multinomial/{short(dtype)}", torch.multinomial(weights, 20, replacement=True)
        yield f"multinomial without/{short(dtype)}", torch.multinomial(weights, 20)
        yield f"bernoulli/{short(dtype)}", torch.bernoulli(weights / 2)
        yield f"poisson/{short(dtype)}", torch.poisson(weights)
        yield f"dropout/{short(dtype)}", functional.dropout(weights, 0.4)
        yield f"gamma/{short(dtype)}", torch._standard_gamma(weights)
        yield f"normal tensors/{short(dtype)}", torch.normal(weights, weights)
        yield f"gumbel_softmax/{short(dtype)}", functional.gumbel_softmax(weights)
    run.seed(5)
    yield "randperm/int64", torch.randperm(100)
    yield "randint/int64", torch.randint(0, 1000, (100,))


def steps(kind: type[torch.optim.Optimizer], dtype: torch.dtype, **options: Any) -> list[Tensor]:
    """The weights after thirty steps of an optimiser on a small network."""
    run.seed(8)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3)).to(dtype)
    optimiser = kind(model.parameters(), **options)
    x, y = drawn(20, 6, dtype=dtype), drawn(20, 3, seed=2, dtype=dtype)
    for _ in range(30):
        optimiser.zero_grad()
        functional.mse_loss(model(x), y).backward()
        optimiser.step()
    return [parameter.detach() for parameter in model.parameters()]


def trained() -> Named:
    """Training with the usual optimisers."""
    for dtype in DTYPES:
        for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad):
            yield f"{kind.__name__}/{short(dtype)}", steps(kind, dtype, lr=0.05)


def matrices() -> Named:
    """LAPACK, by torch and by numpy."""
    yield from solvers()
    for dtype in DTYPES:
        a = drawn(7, 7, dtype=dtype) + 3 * torch.eye(7, dtype=dtype)
        s = a @ a.T
        for name, function in {
            "inv": torch.linalg.inv,
            "det": torch.linalg.det,
            "cholesky": torch.linalg.cholesky,
            "svd": torch.linalg.svd,
            "qr": torch.linalg.qr,
            "eigh": torch.linalg.eigh,
            "eigvals": torch.linalg.eigvals,
            "pinv": torch.linalg.pinv,
            "matrix_exp": torch.linalg.matrix_exp,
            "matrix_norm 2": lambda x: torch.linalg.matrix_norm(x, 2),
            "solve": lambda x: torch.linalg.solve(x, x[:, :2]),
            "lstsq": lambda x: torch.linalg.lstsq(x, x[:, :2]).solution,
        }.items():
            yield f"torch {name}/{short(dtype)}", function(s)
        for name, numpy_function in {
            "inv": np.linalg.inv,
            "det": np.linalg.det,
            "cholesky": np.linalg.cholesky,
            "svd": np.linalg.svd,
            "qr": np.linalg.qr,
            "eigh": np.linalg.eigh,
            "eigvals": np.linalg.eigvals,
            "solve": lambda x: np.linalg.solve(x, x[:, :2]),
            "lstsq": lambda x: np.linalg.lstsq(x, x[:, :2], rcond=None)[0],
            "matrix_rank": np.linalg.matrix_rank,
        }.items():
            yield f"numpy {name}/{short(dtype)}", list(_flat(numpy_function(s.numpy())))


def lessons(asked: Mapping[str, Any]) -> Named:
    """Everything that each lesson computes: every recorded tensor of every run, by its digest, and its own metrics."""
    for slug, request in asked.items():
        capture = run.run_plan(request["plan"], request["folder"])
        for name, one in capture["runs"].items():
            shas = "".join(value["blob"] for value in one["values"])
            yield f"{slug} {name}/digest", np.frombuffer(hashlib.sha256(shas.encode()).digest(), np.uint8)
            runs = recorded.Runs(capture)
            for cut in request["plan"]["record"] if one["kind"] == "case" else ():
                array = recorded.select(runs[name][cut["tensor"]], cut["select"], cut["reshape"])
                yield f"{slug} {name} {cut['id']}/{array.dtype}", array
        if task := metrics_task(request["plan"]):
            for metric in judge.judge(capture, request["folder"], task)["metrics"]:
                yield f"{slug} {metric['run']} {metric['id']}/metric", np.array(float(metric["value"]))


def metrics_task(plan: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the judge is asked of the metrics that a lesson computes itself; None where it has none."""
    cuts = {cut["id"]: cut for cut in plan["record"]}
    own = [metric for metric in plan["metrics"] if metric["value"].startswith("metric_")]
    tasks = [
        {
            "id": metric["id"],
            "function": metric["value"],
            "run": one["id"],
            "address": cuts[metric["of"]]["tensor"],
            "select": cuts[metric["of"]]["select"],
            "reshape": cuts[metric["of"]]["reshape"],
        }
        for one in plan["runs"]
        if one["kind"] == "case"
        for metric in own
    ]
    return {"file": plan["checks"], "checks": False, "metrics": tasks, "mutants": {}} if tasks else None


def trainings(asked: Mapping[str, Any]) -> Named:
    """The weights that each lesson's training ends with."""
    for slug, request in asked.items():
        if request["plan"]["prepare"]:
            made = training.train(request["plan"], request["folder"], lambda _: None)
            for entry in made["kept"]:
                shas = "".join(tensor["blob"] for tensor in entry["tensors"].values())
                yield f"{slug} {entry['name']}/digest", np.frombuffer(hashlib.sha256(shas.encode()).digest(), np.uint8)
                yield f"{slug} {entry['name']}/figures", np.array([float(v) for v in entry["figures"].values()])


GROUPS: Mapping[str, Callable[..., Named]] = {
    "function": functions,
    "operation": operations,
    "product": products,
    "layer": layers,
    "drawing": initialisers,
    "judge": judged,
    "fourier": fourier,
    "LAPACK": matrices,
    "training": trained,
}


def _flat(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Every array of a result, in order; a Python number is one too."""
    if isinstance(value, Tensor):
        yield value.detach().resolve_conj().resolve_neg().contiguous().numpy()
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _flat(part)
    elif isinstance(value, bool | int | float | complex | np.ndarray | np.generic):
        yield np.asarray(value)


def _answers(request: Mapping[str, Any]) -> Named:
    for group in request["groups"]:
        with portable.installed():
            step = {"step": request["step"]} if group == "operation" and "step" in request else {}
            made = GROUPS[group](**step) if group in GROUPS else None
            for name, value in made or ():
                yield f"{group}/{name}", value
    if request.get("lessons"):
        for name, value in lessons(request["lessons"]):
            yield f"lesson/{name}", value
    if request.get("trainings"):
        for name, value in trainings(request["trainings"]):
            yield f"lesson training/{name}", value


def main() -> None:
    """Answer one request."""
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    run.settle()
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    arrays: dict[str, Any] = {"facts": np.array(json.dumps(run.facts()))}
    for name, value in _answers(request):
        for number, array in enumerate(_flat(value)):
            arrays[f"{name}.{number}"] = np.array(array)
    np.savez(sys.argv[2], **arrays)


if __name__ == "__main__":
    main()
