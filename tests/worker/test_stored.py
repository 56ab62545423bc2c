"""Weights that a run starts from: the reader of safetensors against the library's own writer, and what does not fit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from lessonpress.worker import load, stored

KINDS = [dtype for dtype in stored.DTYPES.values()]


def tensor(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Numbers of a dtype that its every byte takes part in."""
    count = max(int(torch.tensor(shape).prod()), 0)
    return (torch.arange(count).reshape(shape) * 3 % 7).to(dtype)


def test_the_reader_reads_what_the_library_writes(tmp_path: Path) -> None:
    """Every dtype, no axis, no element, and metadata beside them, bit for bit."""
    whole = {f"trained/{dtype}": tensor(dtype, 2, 3) for dtype in KINDS}
    whole |= {"a/none": torch.tensor(0.1), "a/empty": torch.zeros(0, 4), "b/größe": torch.tensor([1e-45, -0.0])}
    save_file(whole, tmp_path / stored.FILE, metadata={"format": "pt"})
    tensors = stored.read_prepared(str(tmp_path))
    assert tensors.keys() == whole.keys()
    for name, one in whole.items():
        assert (tensors[name].dtype, tensors[name].shape) == (one.dtype, one.shape)
        read = tensors[name]
        assert torch.equal(read.contiguous().view(torch.uint8) if one.numel() and one.dim() else read,
                           one.contiguous().view(torch.uint8) if one.numel() and one.dim() else one)  # fmt: skip


def test_without_a_file_nothing_is_stored(tmp_path: Path) -> None:
    """A lesson whose weights are drawn has no such file."""
    assert stored.read_prepared(str(tmp_path)) == {}


@pytest.mark.parametrize("data", [
    b"", b"\xff" * 40, b"\x02" + b"\0" * 7 + b"[]", (20).to_bytes(8, "little") + b'{"a": {"dtype": "F3"}',
    (64).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,4]}}'.ljust(64) + b"\0" * 4,
])  # fmt: skip
def test_a_file_that_is_no_safetensors_file_is_refused(tmp_path: Path, data: bytes) -> None:
    """Whatever stands in it: cut off, of another form, of unknown dtype, with too few bytes."""
    (tmp_path / stored.FILE).write_bytes(data)
    with pytest.raises(load.Refused, match=r"prepared\.safetensors cannot be read"):
        stored.read_prepared(str(tmp_path))


def held(model: nn.Module) -> dict[str, torch.Tensor]:
    """A model's tensors by name."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def test_stored_numbers_become_the_models(tmp_path: Path) -> None:
    """Parameters and buffers, integers among them, are what was stored; the parameter stays the same object."""
    model, other = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    with torch.no_grad():
        other.weight.copy_(torch.tensor([1.0, 2.0, 3.0]))
        other.num_batches_tracked.fill_(5)
    before = model.weight
    stored.fill(held(model), stored.Start({name: one.detach().clone() for name, one in held(other).items()}, "late"))
    assert model.weight is before
    assert torch.equal(model.weight, other.weight)
    assert int(model.num_batches_tracked) == 5


MISFITS: dict[str, tuple[Any, str, str]] = {
    "missing": ({"bias": torch.zeros(2)}, "lack weight", "every parameter"),
    "strange": ({"weight": torch.zeros(2, 3), "bias": torch.zeros(2), "more": torch.zeros(1)}, "hold more",
                "no parameter"),
    "shape": ({"weight": torch.zeros(1, 3), "bias": torch.zeros(2)}, r"weight as \[1, 3\] float32",
              r"\[2, 3\] float32"),
    "dtype": ({"weight": torch.zeros(2, 3).double(), "bias": torch.zeros(2)}, "float64", "float32"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISFITS)
def test_prepared_weights_must_be_the_models_own(name: str) -> None:
    """No number is left as drawn, dropped, stretched to another shape or rounded in silence."""
    tensors, seen, expected = MISFITS[name]
    with pytest.raises(load.Refused, match=seen) as raised:
        stored.fill(held(nn.Linear(3, 2)), stored.Start(tensors, "late"))
    assert raised.value.stage == "weights"
    assert "'late'" in raised.value.seen
    assert re.search(expected, raised.value.expected)


def test_a_layer_without_a_shape_cannot_start_from_prepared_weights() -> None:
    """It would draw its numbers in the call."""
    with pytest.raises(load.Refused, match="no shape"):
        stored.fill(held(nn.LazyLinear(2)), stored.Start({}, "late"))


def test_published_weights_come_before_prepared_ones() -> None:
    """A reader's run starts from the revision's numbers, a case's own among them."""
    published = {"execution/w": 1, "experiment/w": 2, "experiment/v": 4, "case:b/w": 3}
    made: Any = {"late/w": 9}
    runs = [{"id": "execution", "kind": "execution", "weights": "late"}, {"id": "a", "kind": "case"},
            {"id": "b", "kind": "probe"}]  # fmt: skip
    starts: list[Any] = [stored.choose_start(run, published, made) for run in runs]  # type: ignore[arg-type]
    assert [start.tensors for start in starts] == [{"w": 1}, {"w": 2, "v": 4}, {"w": 3, "v": 4}]
    assert stored.choose_start(runs[0], None, made) == stored.Start({"w": 9}, "late")  # type: ignore[arg-type]
    assert stored.choose_start(runs[1], None, made) is None
