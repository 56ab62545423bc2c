"""Replay against real runs: what the worker recorded of a model is what the program gives, in Python and JavaScript."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given as given_by_hypothesis
from hypothesis import settings
from hypothesis import strategies as steps

from lessonpress.replay import operations, replay
from lessonpress.worker import recorded, run
from tests import javascript_runner

HEAD = """
import math
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import prune

"""

# Each model with the specs of its inputs for case a; case b has other numbers.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "views": (
        """
class Model(nn.Module):
    def forward(self, x):
        x = x.clone()
        y = x[0]
        y.add_(1)                       # seen through x
        z = x.view(-1)
        z[::2] *= 3                     # seen through x and y
        x.t().mul_(2)                   # covers x by a view of another shape
        first, rest = x.split([1, 3])
        rest[:, 1:] = first[:, :1] - y[0]
        x[x > 2] = 0.5
        x[1, 0] -= x[2].sum()
        row, column = torch.arange(2), torch.tensor([3, 1])
        x[row, column] += 10
        w = x.expand(2, 4, 4)[1]
        torch.diagonal(w).zero_()
        return x * 2 + y, z.relu_(), w.unsqueeze(0).squeeze(0)
""",
        {"x": [4, 4]},
    ),
    "square": (
        """
class Model(nn.Module):
    def forward(self, x):
        a = x + 0
        b = a.t()
        b.copy_(torch.arange(9.0).view(3, 3) * x[0, 0])
        c = a.flatten()
        c[1] = 7
        b += a.clone()
        return a @ b, c
""",
        {"x": [3, 3]},
    ),
    "weights": (
        """
class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).T
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3, 3))
        self.line, self.lora, self.own = (nn.Linear(3, 3) for _ in range(3))
        self.table = nn.Embedding(4, 3, max_norm=1.0)
        self.bounded = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))
        self.pruned = prune.l1_unstructured(nn.Linear(3, 3), "weight", 4)
        nn.utils.parametrize.register_parametrization(self.own, "weight", Symmetric())
    def forward(self, x):
        y = torch.zeros(2, 3)
        torch.mul(x, 2, out=y[0])       # `out=` through a view
        F.normalize(x, dim=0, out=y[1])
        z = x * 1
        z.data = x * 2                  # another memory
        late = z + 0
        z.mul_(3)
        with torch.no_grad():
            self.w.set_(self.w.detach() * x)
            self.line.weight.mul_(x)
        self.lora.weight.data = self.lora.weight.data + torch.outer(x, x)
        before = self.table.weight * 1
        rows = self.table(torch.tensor([0, 2]))
        given = torch.func.functional_call(self.lora, {"weight": torch.outer(x, x)}, (x,))
        return (y * 1, late, z, self.w + 1, self.line(x), self.lora(x), given, rows, before, self.table.weight * x,
                self.bounded(x), self.pruned(x), self.own(x))
""",
        {"x": [3]},
    ),
    "casts": (
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.arange(4))
    def forward(self, x):
        whole = (x * 5).long()
        same = x.to(torch.float64)
        same.mul_(2) if same is not x else None
        other = x.float().double().add_(1).type_as(x)
        flags = x.bool().int() + whole.to(x.dtype).to(torch.int64) + self.steps
        kept = x.detach().contiguous()
        return whole % 3, other, flags // 2, kept, 1 - x, 2 ** x, x.new_tensor([1, 2]).sum()
""",
        {"x": [2, 4]},
    ),
    "transformer": (
        """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.second = nn.RMSNorm(8)
        self.up, self.down, self.drop = nn.Linear(8, 16), nn.Linear(16, 8), nn.Dropout(0.2)
        self.gate = nn.Parameter(torch.ones(8))
    def forward(self, x):
        mask = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), diagonal=1)
        y, weights = self.attention(x, x, x, attn_mask=mask)
        x = self.norm(x + self.drop(y))
        q = x.unflatten(-1, (2, 4)).transpose(1, 2)
        q = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        x = x + q.transpose(1, 2).reshape(x.shape) * self.gate
        scores = torch.einsum("bid,bjd->bij", x, x) / math.sqrt(8)
        scores = scores.masked_fill(mask, float("-inf")).softmax(dim=-1)
        return self.second(x + self.down(F.gelu(self.up(scores @ x)))), weights.max(dim=-1)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.places = nn.Embedding(12, 8), nn.Embedding(6, 8)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(8, 12, bias=False)
        self.head.weight = self.embedding.weight
    def forward(self, ids):
        x = self.embedding(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))[None]
        for block in self.blocks:
            x, seen = block(x)
        logits = self.head(x)
        chosen = logits.argmax(-1)
        best = logits.topk(3, dim=-1)
        return {"logits": logits, "chosen": chosen, "best": best, "hot": F.one_hot(chosen, 12), "seen": seen.values,
                "loss": F.cross_entropy(logits.flatten(0, 1), ids.flatten())}
""",
        {"ids": "ids"},
    ),
    "convolution": (
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1, stride=2), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.GroupNorm(2, 4), nn.Conv2d(4, 4, 2, groups=2, bias=False), nn.ELU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
    def forward(self, image):
        y = self.body(image)
        pooled = F.avg_pool2d(image, 3, stride=2).mean(dim=(2, 3))
        return torch.cat((y, pooled), dim=1).log_softmax(1), F.pad(image, (1, 1, 0, 2))[..., ::2, -3:].norm(dim=-1)
""",
        {"image": [2, 2, 9, 9]},
    ),
    "recurrent": (
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)
        self.gru, self.cell, self.elman = nn.GRU(8, 4), nn.LSTMCell(3, 4), nn.RNN(3, 4)
    def forward(self, x):
        y, (h, c) = self.encoder(x)
        z, last = self.gru(y.transpose(0, 1), h[:1] * 0.5)
        state = (x.new_zeros(x.shape[0], 4), x.new_zeros(x.shape[0], 4))
        outs = []
        for step in x.unbind(1):
            state = self.cell(step, state)
            outs.append(state[0])
        return z, last, torch.stack(outs, dim=1), self.elman(x)[0], c.std(), c.var(0, unbiased=False)
""",
        {"x": [2, 5, 3]},
    ),
    "functions": (
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(4, 2, 3)), nn.Parameter(torch.zeros(4))
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("spread", torch.ones(2))
    def forward(self, x):
        y = F.batch_norm(x, self.mean, self.spread, eps=1e-3)
        z = F.conv1d(F.pad(y, (1, 1)), self.weight, self.bias, stride=2)
        a = F.layer_norm(z, z.shape[-1:]) + F.group_norm(z, 2) + F.rms_norm(z, z.shape[-1:], eps=1e-6)
        b = F.max_pool1d(x, 2) * F.avg_pool1d(x, 2) - F.adaptive_avg_pool1d(x, 3)
        functions = F.relu, F.gelu, F.silu, F.elu, F.leaky_relu, F.softplus, F.sigmoid, F.hardtanh, F.mish, F.celu
        c = [f(x) for f in functions]
        d = F.normalize(x, dim=-1) + F.dropout(x, 0.1, training=False) + F.softmax(x, dim=-1) + F.log_softmax(x, -1)
        losses = F.mse_loss(x, y), F.l1_loss(x, y), F.binary_cross_entropy_with_logits(x, torch.sigmoid(y))
        e = torch.cosine_similarity(x[0], x[1], dim=0) + torch.linalg.vector_norm(x, dim=(0, 1)) + x.norm(dim=1)[0]
        return a, b, torch.stack(c).mean(0), d, losses, e, F.linear(x, x[0, :1]), torch.linalg.norm(x[0, 0]), sum(c[:3])
""",
        {"x": [2, 2, 6]},
    ),
    "indexing": (
        """
class Model(nn.Module):
    def forward(self, x, ids):
        picked = x.gather(1, ids[:, :3] % 4)
        counts = x.new_zeros(12).index_add_(0, ids.flatten(), x.new_ones(ids.numel()))
        scattered = torch.zeros_like(x).scatter_(1, ids[:, :1] % 4, 1.0)
        order = x.argsort(dim=-1, descending=True)
        parts = torch.chunk(x, 2, dim=-1)
        return (picked, counts, scattered, torch.take_along_dim(x, order, dim=-1), x[None, :, [0, 2]], x[..., -1, None],
                torch.where(x > 0, x, -x).clamp(max=1.5), (x > 0) & (x < 1) | ~(x != 0), parts[1].cumsum(-1),
                x.roll(1, 0),
                torch.outer(x[0], x[1]), x.repeat(2, 1).flip(0), torch.tril(x[:, :3]), ids.sum())
""",
        {"x": [3, 4], "ids": "ids3"},
    ),
}

PROGRAMS = Path(__file__).parents[1] / "js" / "programs.js"
SINGLE = {"square": 1e-6}  # it goes through float32 in a product, which torch sums in an order of its own
IDS = {"ids": ([[1, 5, 2, 7, 3]], [[4, 0, 11, 6, 6]]), "ids3": ([[0, 3, 5]] * 3, [[2, 7, 9], [1, 1, 0], [4, 8, 11]])}


def spec(given: Any, case: int) -> dict[str, Any]:
    """An input's spec: drawn numbers by shape, another ramp for each case, or the ids of that name."""
    if isinstance(given, str):
        return {"values": IDS[given][case], "dtype": "int64", "kind": "values"}
    return {
        "fill": "ramp",
        "start": -1.37 + 0.9 * case,
        "step": 0.217 - 0.05 * case,
        "shape": given,
        "dtype": "float32",
        "kind": "fill",
    }


def captured(source: str, inputs: dict[str, Any], *, dtype: str = "float64", mode: str = "eval") -> dict[str, Any]:
    """What the worker records of a model in two cases."""
    runs = [
        {
            "id": name,
            "kind": "case",
            "seed": 5,
            "mode": mode,
            "dtype": dtype,
            "args": {},
            "parameters": {},
            "inputs": [[key, spec(given, case)] for key, given in inputs.items()],
        }
        for case, name in enumerate("ab")
    ]
    with TemporaryDirectory() as folder:
        Path(folder, "model.py").write_text(HEAD + source, encoding="utf-8")
        return run.run_plan({"runs": runs, "model": {"file": "model.py", "class": "Model"}}, folder)


@cache
def model(name: str) -> dict[str, Any]:
    """The capture of one of the models above."""
    return captured(*MODELS[name])


def built(capture: dict[str, Any], name: str = "a") -> replay.Replayed:
    """One run's program and certificate."""
    return replay.replay_runs(capture)[name]


def given(capture: dict[str, Any], name: str, program: operations.Program) -> dict[str, dict[str, Any]]:
    """The recorded inputs and tensors of a run, as JSON and as JavaScript takes them."""
    one = capture["runs"][name]
    values, blobs = one["values"], capture["blobs"]
    return replay.collect_arrays(program, one, lambda number: recorded.decode_array(values[number], blobs))


def arrays(group: dict[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """JSON arrays as numpy's."""
    bare = {name: [float(v["float"]) if isinstance(v, dict) else v for v in x["values"]] for name, x in group.items()}
    return {name: np.asarray(bare[name], dtype=x["dtype"]).reshape(x["shape"]) for name, x in group.items()}


def outputs(capture: dict[str, Any], name: str) -> dict[str, np.ndarray[Any, Any]]:
    """The recorded output of every call by port."""
    one = capture["runs"][name]
    return {
        f"{number}:{path}": recorded.decode_array(one["values"][leaf["tensor"]], capture["blobs"])
        for number, call in enumerate(one["calls"])
        if call["kind"] != "module"
        for path, leaf in recorded.leaves(call["out"])
        if isinstance(leaf, dict) and "tensor" in leaf
    }


def largest_difference(seen: dict[str, Any], expected: dict[str, Any]) -> float:
    """The largest difference over all recorded outputs."""
    return max(replay.measure_difference(np.asarray(seen[port]), value) for port, value in expected.items())


@pytest.mark.parametrize("name", MODELS)
def test_the_program_gives_the_recorded_numbers(name: str) -> None:
    """Every tensor that was read or made is there again, within float64's rounding."""
    for run_name in "ab":
        certificate = built(model(name), run_name).certificate
        assert certificate.uncovered == ()
        assert certificate.covered
        assert certificate.max_difference is not None
        assert certificate.max_difference < SINGLE.get(name, 1e-13)


@pytest.mark.parametrize("name", MODELS)
def test_the_program_of_one_case_computes_the_other(name: str) -> None:
    """With the other case's inputs the program gives what torch gave there: no number is baked in."""
    capture = model(name)
    program = built(capture).program
    if name == "views":  # the mask's count of elements decides nothing, so the program holds for both
        assert program == built(capture, "b").program
    live = given(capture, "b", program)
    values = operations.run_program(program, arrays(live["inputs"]), arrays(live["tensors"]))
    assert largest_difference(values, outputs(capture, "b")) < SINGLE.get(name, 1e-13)


@pytest.fixture(scope="module")
def in_javascript(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Case b of every model by the program of case a, in one JavaScript process."""
    jobs, needed = [], set()
    for name in MODELS:
        program = built(model(name)).program
        needed |= set(program.operations)
        jobs.append({"program": program.document(), **given(model(name), "b", program)})
    script = operations.javascript(needed) + PROGRAMS.read_text("utf-8")
    return dict(zip(MODELS, javascript_runner.run(script, jobs, folder=tmp_path_factory.mktemp("js")), strict=True))


@pytest.mark.browser
@pytest.mark.parametrize("name", MODELS)
def test_javascript_computes_the_other_case(name: str, in_javascript: dict[str, Any]) -> None:
    """The page's interpreter gives torch's numbers for inputs that its program was not recorded with."""
    answer = in_javascript[name]
    assert "error" not in answer, answer["error"]
    seen = {
        port: np.asarray([float(v) for v in x["values"]]).reshape(x["shape"]) for port, x in answer["values"].items()
    }
    assert largest_difference(seen, outputs(model(name), "b")) < SINGLE.get(name, 1e-13)


def simple(body: str, head: str = "") -> str:
    """A model of one input x by the lines of its forward and a line of its constructor."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    start = f"    def __init__(self):\n        super().__init__()\n        {head or 'pass'}\n"
    return f"class Model(nn.Module):\n{start}    def forward(self, x):\n{lines}"


def uncovered(body: str, *, mode: str = "eval", head: str = "") -> tuple[str, ...]:
    """What is not repeated of a model with one input x of shape [2, 4]."""
    return built(captured(simple(body, head), {"x": [2, 4]}, mode=mode)).certificate.uncovered


def test_only_the_root_cause_is_reported() -> None:
    """An operation that pages do not know is named once; what reads from it is not repeated, and not named."""
    body = "y = torch.special.erfinv(x.tanh())\nz = x + 1\nreturn y * 2 + z[0, 0], z"
    capture = captured(simple(body), {"x": [2, 4]})
    one = built(capture)
    assert not one.certificate.covered
    assert one.certificate.uncovered == ("special_erfinv@Model#0: pages do not know the operation erfinv",)
    assert {step.layer for step in one.program.steps} == {"tanh@Model#0", "add@Model#0", "getitem@Model#0"}
    assert one.certificate.blocking == ()


def test_reasons_are_short_and_name_no_exception() -> None:
    """Whatever goes wrong is said in at most 300 characters, and not in Python's words."""
    long = "a" * 400
    head = f"self.{long} = nn.Bilinear(4, 4, 2)\n        self.{long}.forward = lambda x, y: x.renorm(2, 0, 1.0)"
    for reason in uncovered(f"return self.{long}(x, x), x.renorm(p=2, dim=0, maxnorm=1.0)", head=head):
        assert len(reason) <= 300
        assert "Error" not in reason


DRAWS = [
    "return x + torch.rand(2, 4), torch.randperm(4), torch.randn_like(x) * x, torch.randint(0, 9, (3,))",
    "return F.dropout(x, 0.5, training=True), F.dropout(x.relu(), p=0.3)",
    "return x.clone().uniform_(), x.new_empty(3).normal_(), torch.empty(20).exponential_().double()",
    "return torch.normal(x, x.exp()), torch.normal(x, 2.0), torch.normal(0.0, 1.0, (2, 4)) * x",
    "p = x.softmax(-1)\nreturn torch.bernoulli(p), p.multinomial(1), torch.multinomial(p, 3), F.gumbel_softmax(x)",
    "d = torch.distributions\nreturn d.Normal(x, 1.0).rsample(), d.Categorical(logits=x).sample()",
    "return torch.distributions.Laplace(x, 1.0).rsample(), torch.distributions.Gumbel(x, 1.0).rsample()",
    "return F.dropout1d(x[None], 0.4, True), F.alpha_dropout(x, 0.2, True), F.gumbel_softmax(x, hard=True, tau=0.5)",
]


@pytest.mark.parametrize("body", DRAWS)
def test_draws_that_do_not_depend_on_data_are_kept(body: str) -> None:
    """A program with the draws of one case gives what torch draws, with the same seed, for the inputs of another."""
    capture = captured(simple(body), {"x": [2, 4]})
    one = built(capture)
    assert one.certificate.uncovered == ()
    live = given(capture, "b", one.program)
    values = operations.run_program(one.program, arrays(live["inputs"]), arrays(live["tensors"]))
    assert largest_difference(values, outputs(capture, "b")) < 1e-13


@pytest.mark.parametrize("body", [
    "return x + torch.poisson(x.exp()), torch.rand(2, 4)",
    "return F.rrelu(x, training=True) + torch.rand(2, 4)",
])  # fmt: skip
def test_draws_whose_count_depends_on_data_are_refused(body: str) -> None:
    """So are all draws after them: for other data the generator would stand elsewhere."""
    first, second = uncovered(body)
    assert "draws random numbers in a way that its result does not show" in first
    assert second == "rand@Model#0: random numbers are drawn after others whose count depends on the data"


def test_dropout_in_training_keeps_its_mask() -> None:
    """The module, too; in eval mode it does nothing."""
    for mode in ("train", "eval"):
        assert uncovered("return self.drop(x)", mode=mode, head="self.drop = nn.Dropout(0.5)") == ()


def test_what_no_input_reaches_is_kept() -> None:
    """Numbers made of weights alone by an operation that pages do not know are taken as they were recorded."""
    head = "self.weight = nn.Parameter(torch.randn(4, 4))"
    body = "w = torch.linalg.matrix_exp(self.weight)\nreturn x @ w, torch.linalg.matrix_exp(x.T @ x)"
    one = built(captured(simple(body, head), {"x": [2, 4]}))
    assert [port.split(":")[0] for port in one.program.ports if not port[0].isdigit()] == ["kept", "input"]
    (reason,) = one.certificate.uncovered
    assert reason == "linalg_matrix_exp@Model#1: pages do not know the operation linalg_matrix_exp"


@pytest.mark.parametrize("body", [
    "return x * 2 if torch.special.erfinv(x.tanh()).sum() > 0 else x",  # Python decides by it
    "return x * torch.unique_consecutive(x.flatten()).numel()",  # its shape does
    "return x * 2, torch.special.erfinv(x.tanh()).abs().multinomial(1)",  # it may raise
])  # fmt: skip
def test_what_may_decide_about_the_rest_stops_the_page(body: str) -> None:
    """A page is not started where something that it cannot compute may change how the rest runs."""
    capture = captured(simple(body), {"x": [2, 4]})
    assert built(capture).certificate.blocking
    assert replay.make_live_program(capture, replay.replay_runs(capture)) is None


def test_batch_norm_in_training_updates_its_figures() -> None:
    """The running figures that a training step wrote are read by the next call."""
    head = "self.norm = nn.BatchNorm1d(4)"
    assert uncovered("y = self.norm(x)\nself.norm.eval()\nreturn self.norm(y)", mode="eval", head=head) == ()
    assert uncovered("return self.norm(self.norm(x)), self.norm.running_mean * 2", mode="train", head=head) == ()
    switched = "self.norm.train()\ny = self.norm(x)\nself.norm.eval()\nreturn y, self.norm(x)"
    assert uncovered(switched, head=head) == ()


def test_a_tensor_from_outside_is_not_repeated() -> None:
    """Numbers that went through numpy have no recorded origin."""
    reasons = uncovered("return x + torch.from_numpy(x.numpy() * 2)")
    assert reasons
    assert any("outside" in reason for reason in reasons)


def test_a_write_that_is_lost_reaches_other_views() -> None:
    """After an in-place operation that cannot be repeated, no view of its memory counts as known."""
    reasons = uncovered("y = x.clone()\nv = y[0]\nv.erfinv_()\nreturn y + 1, y[1] * 2")
    assert reasons == ("erfinv_@Model#0: pages do not know the operation erfinv",)


def test_float32_is_replayed_in_float64() -> None:
    """A float32 run differs by its own rounding, which the certificate states."""
    capture = captured(simple("return (x * 0.1).exp().sum(0)"), {"x": [2, 4]}, dtype="float32")
    certificate = built(capture).certificate
    assert certificate.covered
    assert certificate.max_difference is not None
    assert 1e-9 < certificate.max_difference < 1e-6


def test_a_changed_record_is_noticed() -> None:
    """A record whose numbers are not those of its calls gets no certificate."""
    capture = copy.deepcopy(captured(simple("return x * 2, x + 1"), {"x": [2, 4]}))
    calls = capture["runs"]["a"]["calls"]
    made = [call for call in calls if call["kind"] == "op"]
    made[0]["out"], made[1]["out"] = made[1]["out"], made[0]["out"]
    certificate = built(capture).certificate
    assert not certificate.covered
    assert [reason.split(" by ")[0] for reason in certificate.uncovered] == [
        "mul@Model#0: was computed and differs from the record",
        "add@Model#0: was computed and differs from the record",
    ]


def test_the_capture_has_one_certificate() -> None:
    """All runs together: the largest difference, every reason once, under the manifest's names."""
    runs = replay.replay_runs(model("recurrent"))
    certificate = replay.certify_capture(runs)
    assert certificate["covered"] is True
    assert certificate["uncovered"] == []
    each = [replayed.certificate.max_difference for replayed in runs.values()]
    assert certificate["maxDifference"] == max(each)


def test_a_page_gets_what_it_needs_to_play() -> None:
    """One program for all cases, the common weights once, each case's inputs."""
    capture = model("recurrent")
    runs = replay.replay_runs(capture)
    live = replay.make_live_program(capture, runs)
    assert live is not None
    assert live["programs"] == [replay.choose_program(capture, runs)]
    assert list(live["cases"]) == ["a", "b"]
    assert live["cases"]["b"]["tensors"] == {}
    assert set(live["tensors"]) >= {"encoder.weight_ih_l1_reverse", "cell.bias_hh"}
    assert replay.make_live_program(capture, runs, limit=10) is None


def test_cases_that_take_different_ways_have_programs_of_their_own() -> None:
    """Where the model decides by its numbers, each case brings the program that it ran; one that decides holds it."""
    source = simple("return x * 2 if x.sum() > -1 else x + 1")
    capture = captured(source, {"x": [2, 3]})
    live = replay.make_live_program(capture, replay.replay_runs(capture))
    assert live is not None
    assert [live["cases"][name]["way"] for name in "ab"] == [0, 1]
    assert {step["op"] for step in live["programs"][0]["steps"]} ^ {
        step["op"] for step in live["programs"][1]["steps"]} == {"mul", "add"}  # fmt: skip


VIEWS = [
    "{a}.t()",
    "{a}[:]",
    "{a}.reshape(16).reshape(4, 4)",
    "{a}.unsqueeze(0)[0]",
    "{a}.mT",
    "{a}.flip(0)",
    "{a}[[1, 0, 2, 3]]",
    "{a}.expand(2, 4, 4)[1]",
    "{a} + 0",
    "{a}.detach()",
    "torch.stack({a}.unbind(1))",
    "{a}.chunk(1)[0]",
]
WRITES = [
    "{a}.add_({b}.clone())",
    "{a}[1] = {b}[0] + 0",
    "{a}[:, 2] *= 2",
    "{a}.t()[0] = 1.5",
    "{a}[{b} > 0] = 0.25",
    "{a}.copy_({b}.clone())",
    "{a}.reshape(-1)[3] = 7",
    "{a}.masked_fill_({b} > 1, -1)",
    "{a}.diagonal().zero_()",
    "{a}[[0, 2]] -= 1",
    "{a}.tanh_()",
    "{a}.view_as({b})[-1, -1] += 1",
    "{a}.clamp_(max=0.5)",
]


@given_by_hypothesis(
    steps.lists(
        steps.tuples(steps.sampled_from([*VIEWS, *WRITES]), steps.integers(0, 9), steps.integers(0, 9)), max_size=14
    )
)
@settings(max_examples=60)
def test_any_mix_of_views_and_writes_is_repeated(chosen: list[tuple[str, int, int]]) -> None:
    """However views of one memory are made and written through, every reader sees what torch's readers saw."""
    lines, names = ["v0 = x.clone()"], ["v0"]
    for text, first, second in chosen:
        line = text.format(a=names[first % len(names)], b=names[second % len(names)])
        if text in VIEWS:
            names.append(f"v{len(names)}")
            line = f"{names[-1]} = {line}"
        lines.append(line)
    lines.append(f"return [v * 1 for v in ({', '.join(names)},)]")
    certificate = built(captured(simple("\n".join(lines)), {"x": [4, 4]})).certificate
    assert certificate.uncovered == ()


def hand_made() -> tuple[dict[str, Any], dict[str, Any], dict[int, Any]]:
    """A run written by hand: y = x[0]; y += 1; item of the sum of x; x * 2."""
    values = {
        0: np.array([[1.0, 2.0], [3.0, 4.0]]),
        1: np.array([1.0, 2.0]),
        2: np.array([2.0, 3.0]),
        3: np.array([[2.0, 3.0], [3.0, 4.0]]),
        4: np.array(12.0),
        5: np.array([[4.0, 6.0], [6.0, 8.0]]),
    }

    def call(layer: str, args: list[Any], out: Any, **kwargs: Any) -> dict[str, Any]:
        return {
            "layer": layer,
            "op": "torch." + layer.split("@")[0],
            "kind": "op",
            "inside": None,
            "at": None,
            "args": args,
            "kwargs": kwargs,
            "out": out,
        }

    both = [["input", "x"], [1, ""]]
    calls = [
        call("getitem@M#0", [{"tensor": 0, "from": [["input", "x"]]}, 0], {"tensor": 1}),
        call("add_@M#0", [{"tensor": 1, "from": [[0, ""]]}, 1], {"tensor": 2}),
        call("sum@M#0", [{"tensor": 3, "from": both}], {"tensor": 4}),
        call("item@M#0", [{"tensor": 4, "from": [[2, ""]]}], 12.0),
        call("mul@M#0", [{"tensor": 3, "from": both}, 2], {"tensor": 5}),
    ]
    described = [{"dtype": "float64", "shape": list(values[n].shape), "blob": ""} for n in range(6)]
    one = {
        "kind": "case",
        "seed": 0,
        "dtype": "float64",
        "mode": "eval",
        "inputs": [["x", {"tensor": 0, "from": []}]],
        "output": calls[-1]["out"],
        "calls": calls,
        "params": {},
        "buffers": {},
        "values": described,
    }
    return one, {}, values


def test_a_write_through_a_view_is_seen_by_the_whole() -> None:
    """`y = x[0]; y += 1` changes what is read from x afterwards."""
    one, modules, values = hand_made()
    replayed = replay.replay_run(one, modules, values.__getitem__)
    assert replayed.certificate == replay.Certificate(True, 0.0, (), tolerances={"float64": 1e-12})
    seen = operations.run_program(replayed.program, {"x": [[0.0, 0.0], [6.0, 4.0]]}, {})
    assert seen["4:"].tolist() == [[2.0, 2.0], [12.0, 8.0]]


def test_a_value_that_python_saw_must_stay() -> None:
    """After `item()` the recorded way holds only while that number is the same."""
    one, modules, values = hand_made()
    program = replay.replay_run(one, modules, values.__getitem__).program
    with pytest.raises(operations.Unsupported, match="what Python reads here"):
        operations.run_program(program, {"x": [[0.0, 0.0], [0.0, 0.0]]}, {})


@pytest.mark.browser
def test_javascript_keeps_the_same_guard(tmp_path: Path) -> None:
    """The page refuses, too, to go on when the model would have decided by another number."""
    one, modules, values = hand_made()
    program = replay.replay_run(one, modules, values.__getitem__).program
    flat = {"dtype": "float64", "shape": [2, 2]}
    jobs = [
        {"program": program.document(), "inputs": {"x": {**flat, "values": numbers}}, "tensors": {}}
        for numbers in ([0, 0, 6, 4], [0, 0, 0, 0])
    ]
    script = operations.javascript(program.operations) + PROGRAMS.read_text("utf-8")
    same, other = javascript_runner.run(script, jobs, folder=tmp_path)
    assert same["values"]["4:"] == {"shape": [2, 2], "values": [2, 2, 12, 8]}
    assert "what Python reads here" in other["error"]


def test_the_record_tells_which_view_was_read() -> None:
    """After `y = x.t(); y += 1` a symmetric x looks like y: without its maker in the record, x is not guessed."""
    one, modules, values = hand_made()
    values = {0: np.eye(2), 1: np.eye(2), 2: np.eye(2) + 1, 3: np.eye(2) * 2 + 2}
    read = {"tensor": 2, "from": [[1, ""]], "born": ["input", "x"]}
    shape = {"dtype": "float64", "shape": [2, 2], "blob": ""}
    calls = one["calls"]
    one |= {"calls": [calls[0], calls[1], calls[4]], "values": [shape] * 4}
    calls[0] |= {"layer": "t@M#0", "op": "torch.t", "args": [{"tensor": 0, "from": [["input", "x"]]}]}
    calls[4] |= {"args": [read, 2], "out": {"tensor": 3}}
    replayed = replay.replay_run(one, modules, values.__getitem__)
    assert replayed.certificate == replay.Certificate(True, 0.0, (), tolerances={"float64": 1e-12})
    assert operations.run_program(replayed.program, {"x": [[0, 1], [2, 3]]}, {})["2:"].tolist() == [[2, 4], [6, 8]]
    del read["born"]
    (reason,) = replay.replay_run(one, modules, values.__getitem__).certificate.uncovered
    assert reason.startswith("mul@M#0: reads through one of several views")


def test_a_read_of_unknown_origin_is_refused() -> None:
    """A tensor without a source is never taken from the record."""
    one, modules, values = hand_made()
    one["calls"][4]["args"][0]["from"] = []
    certificate = replay.replay_run(one, modules, values.__getitem__).certificate
    assert certificate.uncovered == ("mul@M#0: reads a tensor of unknown origin",)


@pytest.mark.parametrize(
    ("seen", "expected", "distance"),
    [
        ([1.0, 2.0], [1.0, 2.5], 0.2),
        ([0.1], [0.4], 0.3),
        ([np.nan], [np.nan], 0.0),
        ([np.inf], [np.inf], 0.0),
        ([np.inf], [-np.inf], np.inf),
        ([np.nan], [1.0], np.inf),
        ([1.0], [1.0, 1.0], np.inf),
        ([], [], 0.0),
    ],
)
def test_difference(seen: list[float], expected: list[float], distance: float) -> None:
    """Absolute below one, relative above, with NaN equal to NaN."""
    assert replay.measure_difference(np.asarray(seen), np.asarray(expected)) == pytest.approx(distance)
