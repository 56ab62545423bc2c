"""Random modules whose numbers go through Python and narrow dtypes: a page computes what torch does, or refuses."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonpress.replay import operations, replay
from lessonpress.worker import recorded
from lessonpress.worker import run as worker
from tests import javascript_runner, tiers
from tests.replay import test_replay as replaying
from tests.replay.test_replay_grammar import EXPRESSIONS, PARTS

WAYS = """
    def inverse(self, v):
        try:
            return 1 / F.relu(v[0, 0]).item()
        except ZeroDivisionError:
            return 0.5
    def root(self, v):
        try:
            return torch.linalg.cholesky(v @ v.T - 1)[0, 0].item()
        except torch.linalg.LinAlgError:
            return 2.0
    def scaled(self, v, w):
        number = w.sum().item()
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, u):
                return u * number
            @staticmethod
            def backward(ctx, g):
                return g * number
        return Scale.apply(v)
    def gradient(self, v, w):
        v = v.detach().requires_grad_()
        return torch.autograd.grad((self.linear(v).tanh() * w.detach()).sum(), v)[0]
    def noted(self, v):
        seen, v = [], v.detach().requires_grad_()
        h = v * 2
        h.register_hook(lambda g: seen.append(float((g * v).sum())))
        h.sum().backward()
        return seen[0]
"""
# Ways out of the tensors and back, decisions, caught errors, gradients, and dtypes that round.
DETOURS = [
    "{a} * {b}.sum().item()", "torch.full_like({a}, {b}[0, 0].item())", "{a} + float({b}.mean())",
    "{a} * (1 + abs({b}[1, 1].item())) ** 2 / 3", "torch.tensor({b}.tolist(), dtype={a}.dtype) * {a}",
    "torch.tensor([2 - v for v in {b}[0].tolist()], dtype={a}.dtype) + {a}", "{a} * max({b}[0].tolist())",
    "({a} if {b}.sum().item() > 0 else -{a})", "{a} * int({b}.sum().clamp(-9, 9))",
    "{a}[:, int({b}[0].argmax())].unsqueeze(1) + {b}", "{a} * float(np.abs({b}.detach().numpy()).max())",
    "{a} * len({b}[{b} > 0])", "{a} * (2.0 in {b})", "F.leaky_relu({a}, {b}[0, 0].sigmoid().item())",
    "{a} * float(f'{{{b}[0, 0].item():.3f}}')", "{a} / (2 + {b}[0, 0].item() ** 2)",
    "{a}.bfloat16().to({b}.dtype) - {b}", "({a}.half() * 2 - {b}.half()).double()", "{a}.float().double() + {b}",
    "({a}.float().exp() * 2).double()", "{a}.bfloat16().softmax(-1).double()",
    "torch.exp(-torch.arange(4, dtype=torch.float32)) * {a}",
    "({a} * 9).clamp(-99, 99).to(torch.int8).to({b}.dtype) + {b}",
    "{a} * self.inverse({b})", "{a} * self.root({b})", "self.scaled({a}, {b})", "self.gradient({a}, {b})",
    "{a} * self.noted({b})", "{a} * round({b}[0, 0].clamp(-9, 9).item())",
    "{a} * torch.linspace(0.1, 0.9, 4).cumprod(0)",
]  # fmt: skip
STEP = st.tuples(st.sampled_from([*EXPRESSIONS, *DETOURS, *DETOURS]), st.integers(0, 7), st.integers(0, 7))
SHAPES = {"x": [3, 4], "y": [3, 4]}


@pytest.fixture(scope="module", autouse=True)
def _settled() -> None:
    """The settings of a worker process."""
    worker.settle()


@pytest.mark.browser
@given(st.lists(STEP, min_size=1, max_size=6))
@settings(max_examples=tiers.amount(30, 1000))
def test_a_page_computes_a_random_module_or_refuses(steps: list[tuple[str, int, int]]) -> None:
    """Given inputs that it was not recorded with, each interpreter gives torch's output, or says that it cannot."""
    lines, names = [], ["x", "y"]
    for text, first, second in steps:
        value = text.format(a=names[first % len(names)], b=names[second % len(names)])
        names.append(f"v{len(names)}")
        lines.append(f"        {names[-1]} = {value}\n")
    body = f"{''.join(lines)}        return {names[-1]} + {names[-2]} * 0, {names[-1]}.sum()\n"
    source = f"class Model(nn.Module):{PARTS}{WAYS}\n    def forward(self, x, y):\n{body}"
    capture = replaying.captured(source, SHAPES)
    built = replaying.built(capture)
    if built.certificate.blocking:  # a caught error, a number that left unseen: the page shows the record
        return
    assert built.certificate.uncovered == ()
    ports = ["{}:{}".format(*leaf["from"][-1]) for leaf in list_outputs(capture["runs"]["a"])]
    for name in "ab":
        run = capture["runs"][name]
        values = [run["values"][leaf["tensor"]] for leaf in list_outputs(run)]
        right = [recorded.decode_array(value, capture["blobs"]) for value in values]
        for seen in run_both(built.program, replaying.given(capture, name, built.program)):
            assert seen is not None or name == "b", "the recorded inputs are refused"
            shown = [] if seen is None else [(seen[port], array) for port, array in zip(ports, right, strict=True)
                                             if port not in built.vague]  # fmt: skip
            assert all(replay.measure_difference(np.asarray(a), b) < 1e-9 for a, b in shown), (name, shown)


def list_outputs(run: dict[str, Any]) -> list[Any]:
    """The tensors that a run gave."""
    return [leaf for _, leaf in recorded.leaves(run["output"])]


def run_both(program: operations.Program, live: dict[str, Any]) -> list[dict[str, Any] | None]:
    """Every port's values by numpy's kernels and by JavaScript's; None where one of them refuses."""
    try:
        arrays = replaying.arrays(live["inputs"]), replaying.arrays(live["tensors"])
        answers: list[dict[str, Any] | None] = [operations.run_program(program, *arrays)]
    except operations.Unsupported:
        answers = [None]
    script = operations.javascript(program.operations) + replaying.PROGRAMS.read_text("utf-8")
    with TemporaryDirectory() as folder:
        [answer] = javascript_runner.run(script, [{"program": program.document(), **live}], folder=Path(folder))
    if "error" in answer:
        assert answer["error"].startswith("Error: "), answer["error"]
        return [*answers, None]
    shown = {port: np.reshape([float(v) for v in x["values"]], x["shape"]) for port, x in answer["values"].items()}
    return [*answers, shown]
