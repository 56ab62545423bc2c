"""One line of a model each: with inputs that nobody recorded, the page's interpreter gives torch's number or refuses.

What it does with a small move and with large ones is said: "follows" all, "near" ones only (large ones change what the
model decides), "refuses" each that changes what Python read, keeps a figure "still" whose last digits it does not know.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from lessonpress.replay import operations, replay
from lessonpress.worker import recorded, run
from tests import javascript_runner
from tests.replay import test_replay as replaying

LINES = {
    "follows": [
        "h * sum(v for v in h.flatten())", "h.clamp(min=h[0, 0].item())", "h.masked_fill(h > 0, h[0, 0].item())",
        "h.abs() ** h[0, 0].item()", "h.pow(2).sum().sqrt().item() * h", "torch.where(h > 0, h[0, 0].item(), 0.0)",
        "torch.full((2, 3), h[0, 0].item(), dtype=torch.float32)", "h.new_tensor([h[0, 0].item(), 1])",
        "torch.stack([torch.tensor(v) for v in h[0].tolist()])", "h.lerp(x, h[0, 0].item())", "h / h.sum().item()",
        "1 / h.sum().item() * h", "x * float(h.max()) - float(h.min())", "x * bool(h.sum().item())",
        "x + torch.tensor(h.mean().item(), dtype=torch.bfloat16)", "h * (1 if h.isfinite().all() else 0)",
        "h.bfloat16().add_(1).double()", "h.clone().copy_(h.bfloat16())", "torch.cat([h.half(), x.half()]).double()",
        "(h.half() + 0.5).double()", "h.bfloat16().max(1).values.double()", "h.bfloat16().argmax(1) * 1.5",
        "torch.sort(h.half(), 1).values.double()", "(h.half() > 0) * x", "F.relu(h.half()).double()",
        "(h.float() * h.float() - h.float()).double()", "(h.float() / 3).double()", "h.double().float().double()",
        "torch.round(h.float() * 100).double() / 100", "h.type(torch.float16).type_as(x)",
        "~(h * 20).abs().to(torch.uint8)", "(h * 20).abs().to(torch.uint8) * 7 - 3",
        "((h * 20).abs().to(torch.uint8) << 3).double()", "(h * 40).to(torch.int8).abs() + (h * 40).to(torch.int8)",
        "(h * 40).to(torch.int8).sum(dtype=torch.int8)", "(h * 40).long() * 2**40",
    ],
    "near": [
        "h * 2 if int(h.sum()) % 2 else h", "torch.tensor(sorted(h[0].tolist())) * 2",
        "x * min(1.0, h.abs().sum().item())", "x * len([v for v in h.flatten().tolist() if v > 0])",
        "x * (abs(h.sum().item()) ** 0.5 if h.sum().item() > 0 else 1.0)", "h if h.norm() > 1 else h * 2",
        "h * len(h[h > 0])",
    ],
    "refuses": [
        "h * np.sqrt(h.abs().sum().item())", "h * round(h.sum().item(), 9)", "x * (h.sum().item() % 1)",
        "torch.linspace(0, h[0, 0].item(), 3).double()", "torch.arange(0, 3 * h[0, 0].abs().item(), 0.5).sum() * h",
        "torch.add(h, h, alpha=h[0, 0].item())", "F.softplus(h, beta=1 + h.abs().max().item())",
        "F.pad(h, (1, 1), value=h[0, 0].item())", "x * divmod(h.sum().item(), 2)[1]",
        "x * complex(h[0, 0].item(), 0).real", "x * np.float64(h[0, 0].item())", "x * np.array(h[0].tolist()).sum()",
        "x * float(str(h[0, 0].item()))", "x * float(x.to(torch.float32).numpy().sum())", "x * len(f'{h.sum()}')",
        "torch.tensor(np.array(h[0].tolist())) * 2", "torch.as_tensor(np.abs(h.numpy())) * 2",
    ],
    "still": [
        "x * h.float().sum().item()", "x * h.bfloat16().sum().item()", "(h.half() @ h.half().T).double()",
        "h.bfloat16().mean().double()", "h.half().sum(0).double()", "(h.half() + 0.1).double()",
        "F.linear(h.half(), torch.ones(2, 3).half()).double()", "h.float().softmax(-1).to(x.dtype)",
        "h.float().mean().double()", "h.float().abs().sqrt().exp().double()",
    ],
}  # fmt: skip
DICE = np.random.default_rng(3)
BASE = DICE.uniform(-2, 2, (2, 3))
MOVED = [BASE + DICE.uniform(-0.003, 0.003, (2, 3)), *(DICE.uniform(-2, 2, (2, 3)) for _ in range(3))]


def record(line: str) -> list[dict[str, Any]]:
    """What torch gives of a line, for the base and for each move."""
    body = f"h = self.line(x).detach()\nreturn {line}"
    with TemporaryDirectory() as folder:
        text = replaying.HEAD + replaying.simple(body, "self.line = nn.Linear(3, 3)")
        Path(folder, "model.py").write_text(text, encoding="utf-8")
        one = {"id": "a", "kind": "case", "seed": 5, "mode": "eval", "dtype": "float64", "args": {}, "parameters": {}}
        return [run.run_plan({"runs": [{**one, "inputs": [["x", {"values": values.tolist(), "dtype": "float32"}]]}],
                              "model": {"file": "model.py", "class": "Model"}}, folder)
                for values in (BASE, *MOVED)]  # type: ignore[misc, list-item]  # fmt: skip


def output(capture: dict[str, Any]) -> tuple[str, np.ndarray[Any, Any]]:
    """The output's port and its numbers."""
    one = capture["runs"]["a"]
    [(_, leaf)] = recorded.leaves(one["output"])
    return "{}:{}".format(*leaf["from"][-1]), recorded.decode_array(one["values"][leaf["tensor"]], capture["blobs"])


@pytest.mark.browser
def test_every_move_gives_torchs_number_or_is_refused(tmp_path: Path) -> None:
    """All lines at once, in one JavaScript process."""
    jobs, asked, needed = [], [], set[str]()
    for line in (line for lines in LINES.values() for line in lines):
        base, *moved = record(line)
        built = replaying.built(base)
        assert built.certificate.uncovered == (), line
        needed.update(built.program.operations)
        for capture in moved:
            jobs.append({"program": built.program.document(), **replaying.given(capture, "a", built.program)})
            asked.append((line, output(base)[0], output(capture)[1], built.vague))
    script = operations.javascript(needed) + replaying.PROGRAMS.read_text("utf-8")
    did: dict[str, list[str]] = {}
    answers = javascript_runner.run(script, jobs, folder=tmp_path)
    for (line, port, right, vague), answer in zip(asked, answers, strict=True):
        if "error" in answer:
            assert answer["error"].startswith("Error: "), (line, answer["error"])
        elif port not in vague:
            seen = np.reshape([float(v) for v in answer["values"][port]["values"]], answer["values"][port]["shape"])
            assert replay.measure_difference(seen, right) < 1e-9, (line, seen, right)
        did.setdefault(line, []).append("refused" if "error" in answer else "still" if port in vague else "followed")
    expected = {"follows": {"followed"}, "refuses": {"refused"}, "still": {"still"}}
    for kind, lines in LINES.items():
        for line in lines:
            right_so = did[line][0] == "followed" if kind == "near" else set(did[line]) == expected[kind]
            assert right_so, (line, did[line])


def test_a_dtype_that_is_recorded_in_a_wider_one_is_uncovered() -> None:
    """The record does not say what was rounded."""
    [reason, *_] = replaying.built(record("h.to(torch.float8_e4m3fn).double()")[0]).certificate.uncovered
    assert "float8_e4m3fn" in reason
