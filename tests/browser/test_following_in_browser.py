"""Following a number through layers and settings that the repository's lessons do not use, on pages made for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests import tiny
from tests.browser.opening import make_preview, open_page

pytestmark = pytest.mark.browser
LOST = """() => lesson.ports.flatMap(({port, name, shape}) =>
  Array.from({length: shape.reduce((n, m) => n * m, 1)}, (_, i) => [name, i, lesson.explain(port, i)])
    .filter(([, , shown]) => shown.whole || !shown.blocks.length).map(([name, i]) => `${name} ${i}`))"""
# What the drawer writes for the last number of each tensor.
SHOWN = """() => lesson.ports.map(({port, name, shape}) => {
  lesson.follow(port, shape.reduce((n, m) => n * m, 1) - 1);
  return [name, document.querySelector(".drawer").innerText];
}).filter(([, text]) => /undefined|NaN|object Object/.test(text) || text.split("\\n").length < 4)"""
RECIPE = """\
schema: 1
slug: parts
title: Parts
model: {file: model.py, class: Parts}
execution:
  inputs:
    line: {shape: [2, 4, 7], dtype: float32, fill: randn}
    image: {shape: [1, 2, 5, 4], dtype: float32, fill: randn}
experiment:
  cases: [{id: one}, {id: other, inputs: {line: {fill: ramp}}}]
  record: {matrices: [{id: image, tensor: "input:image", select: "[0, 0]"}]}
"""
# Layers by the input that they read, then what is called beside them, on `line`, `image` and one sequence alone.
PARTS = {
    "convolutions": (
        {"line": ["Conv1d(4, 6, 3, stride=2, padding=1, groups=2)", "Conv1d(4, 2, 2, dilation=3, bias=False)",
                  "Conv1d(4, 3, 4, padding='same')", "ConvTranspose1d(4, 6, 3, stride=2, output_padding=1, groups=2)"],
         "image": ["Conv2d(2, 3, (3, 2), padding=(1, 0))", "Conv2d(2, 2, 2, stride=(2, 1), groups=2)",
                   "ConvTranspose2d(2, 2, 2, dilation=2, padding=1, bias=False)"],
         "line[0]": ["Conv1d(4, 2, 3, padding=2)", "ConvTranspose1d(4, 2, 2)"]},
        ["F.conv1d(line, line[:, :, :3], padding='valid')", "F.conv_transpose1d(line, line[0, :, :2].unsqueeze(1))",
         "F.conv2d(image, image[:, :, :2, :2], None, 2, 1)",
         "F.conv_transpose2d(image, image[0, :, :2, :2].unsqueeze(1))"],
    ),
    "pools": (
        {"line": ["MaxPool1d(2)", "MaxPool1d(3, 2, 1)", "MaxPool1d(2, dilation=3)", "AvgPool1d(3, 2, 1)",
                  "AvgPool1d(3, 2, 1, count_include_pad=False)", "AdaptiveAvgPool1d(3)", "Upsample(scale_factor=2)"],
         "image": ["MaxPool2d((3, 2), (1, 2), (1, 0))", "AvgPool2d(2, divisor_override=3)",
                   "AdaptiveAvgPool2d((2, None))", "Upsample(size=(5, 8))"],
         "line[0]": ["MaxPool1d(3, padding=1)", "AvgPool1d(2)", "AdaptiveAvgPool1d(2)"]},
        ["F.max_pool1d(line, 2)", "F.max_pool2d(image, 2, dilation=2)", "F.avg_pool1d(line, 2, 1)",
         "F.avg_pool2d(image, 3, 2, 1, False, False)", "F.adaptive_avg_pool1d(line, 5)",
         "F.adaptive_avg_pool2d(image, 1)", "F.interpolate(line, scale_factor=3)"],
    ),
    "layers": (
        {"line": ["Flatten()", "Identity()", "Dropout(0.5)", "Unflatten(1, (2, 2))", "ZeroPad1d((1, 2))",
                  "ConstantPad1d(1, 0.25)", "GLU(1)", "Softmin(1)", "PReLU(4)", "RMSNorm(7, eps=1e-5)",
                  "GroupNorm(2, 4)", "InstanceNorm1d(4)", "BatchNorm1d(4)", "LayerNorm(7, bias=False)",
                  "LSTM(7, 3)", "LSTM(7, 2, num_layers=2, bidirectional=True, batch_first=True)",
                  "GRU(7, 2, num_layers=2)"],
         "line[0]": ["LSTM(7, 2)", "LSTMCell(7, 2)"]},
        ["self.heads(line, line, line)", "F.scaled_dot_product_attention(line, line, line, is_causal=True)",
         "F.mse_loss(line, line * 0.5)", "F.cross_entropy(line[0], line.argmax(2)[1])", "line.var(1)", "line.std(-1)",
         "line.prod(0)", "line.max(1)", "line.min(-1)", "line.cumsum(1)", "line.logsumexp((0, 1))", "line.topk(2)",
         "line.sort(1, descending=True)", "torch.einsum('bij,bkj->bik', line, line)", "F.normalize(line, dim=-1)",
         "torch.cdist(line, line)", "line.scatter(1, line.argmax(1, True), 2.0)", "torch.eye(3).nonzero()",
         "line.to(torch.int64)", "line.diff()"],
    ),
}  # fmt: skip


def model(layers: dict[str, list[str]], calls: list[str]) -> str:
    """The file of a model that gives back what each of its layers and calls gives."""
    made = [(f"part{at}", source, layer) for at, (source, layer) in enumerate(
        (source, layer) for source, group in layers.items() for layer in group)]  # fmt: skip
    lines = [
        "import torch", "from torch import nn", "from torch.nn import functional as F", "", "",
        "class Parts(nn.Module):", "    def __init__(self):", "        super().__init__()",
        "        self.heads = nn.MultiheadAttention(7, 7, batch_first=True)",
        *[f"        self.{name} = nn.{layer}" for name, _, layer in made],
        "", "    def forward(self, line, image):", "        return (",
        *[f"            self.{name}({source})," for name, source, _ in made],
        *[f"            {call}," for call in calls], "            image,", "        )",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", PARTS)
def test_every_number_of_every_part_can_be_followed(
    browser: Browser, tmp_path: Path, name: str, complaints: list[str]
) -> None:
    """Whatever its padding, stride, dilation or groups, no number of a layer or call is lost, and the drawer opens."""
    lesson = tiny.write(tmp_path / "parts", recipe=RECIPE, model=model(*PARTS[name]))
    shown = open_page(browser, (make_preview(lesson, tmp_path / "revision") / "index.html").as_uri())
    shown.wait_for_selector(".self-test:not(:empty)", state="attached")
    shown.set_default_timeout(60_000)
    count = len(shown.evaluate("lesson.ports"))
    assert count > len(PARTS[name][1])
    assert shown.evaluate(LOST) == []
    shown.on("pageerror", lambda error: complaints.append(str(error)))
    assert shown.evaluate(SHOWN) == []
    assert complaints == []


WRITTEN = """\
from torch import nn


class Parts(nn.Module):
    def forward(self, line, image):
        kept = line.clone()
        row = kept[0]
        turned = kept.transpose(1, 2)
        before = row * 2
        kept.add_(1)
        after = row * 2
        kept[1] = 0.5
        return before, after, turned.exp(), kept.sum(), nn.functional.relu(row, inplace=True), kept.mean(), image
"""


def test_what_was_written_over_is_followed_to_what_wrote_it(browser: Browser, tmp_path: Path) -> None:
    """A view that is read before and after its tensor is written to leads to what stood there each time."""
    lesson = tiny.write(tmp_path / "parts", recipe=RECIPE, model=WRITTEN)
    shown = open_page(browser, (make_preview(lesson, tmp_path / "revision") / "index.html").as_uri())
    shown.wait_for_selector(".self-test:not(:empty)", state="attached")
    assert shown.evaluate(LOST) == []
    read = shown.evaluate("""() => ["mul@Parts#0", "mul@Parts#1"].map((node) => {
      const explained = lesson.explain(lesson.ports.find(({name}) => name === node).port, 9);
      const part = explained.blocks.flatMap(({line}) => line ?? []).find((each) => each.port);
      return [lesson.ports.find(({port}) => port === part.port).name, part.at];
    })""")
    assert read == [["getitem@Parts#0", 9], ["add_@Parts#0", 9]]
