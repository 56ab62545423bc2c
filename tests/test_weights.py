"""weights.safetensors, read back by twenty lines that know nothing of ours."""

import copy
import json
import math
import struct
from typing import Any

import numpy as np
import pytest

from lessonpress.revision import weights
from tests import tiny

# What the format calls each dtype, how wide it is, and how the standard library unpacks it.
KINDS = {"F64": (8, "d"), "F32": (4, "f"), "I64": (8, "q"), "BOOL": (1, "?"), "BF16": (2, "H"), "C64": (8, "ff")}


def read(data: bytes) -> dict[str, tuple[str, list[int], list[Any]]]:
    """Name → (dtype, shape, numbers) of a safetensors file, with struct and json alone."""
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    body, out, end = data[8 + size :], {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        width, code = KINDS[entry["dtype"]]
        start, stop = entry["data_offsets"]
        count = math.prod(entry["shape"])
        assert (start, stop - start) == (end, width * count)
        out[name] = (entry["dtype"], entry["shape"], list(struct.unpack(f"<{code * count}", body[start:stop])))
        end = stop
    assert end == len(body)
    return out


def test_every_run_that_differs_has_its_own_tensors() -> None:
    """`execution/…` and `experiment/…` always, `case:<id>/…` only where a case or probe holds other numbers."""
    captured = tiny.capture()
    blobs = captured["blobs"]
    other = tiny.Maker(blobs)
    other.take(np.full((3, 3), 7, dtype=np.float32))
    captured["runs"]["off"]["values"][1] = other.values[0]
    stored = read(weights.pack_weights(captured))
    assert set(stored) == {"execution/part.line.weight", "experiment/part.line.weight", "case:off/part.line.weight"}
    assert stored["execution/part.line.weight"] == ("F32", [3, 3], (np.eye(3) * 2).ravel().tolist())
    assert stored["case:off/part.line.weight"] == ("F32", [3, 3], [7.0] * 9)


@pytest.mark.parametrize(
    ("array", "dtype", "kind", "numbers"),
    [
        (np.array([[0.1, -0.0]]), "float64", "F64", [0.1, -0.0]),
        (np.array([3], dtype=np.int64), "int64", "I64", [3]),
        (np.array([True, False]), "bool", "BOOL", [True, False]),
        (np.array(5.0, dtype=np.float32), "float32", "F32", [5.0]),
        (np.zeros((0, 2), dtype=np.float32), "float32", "F32", []),
        (np.array([0x3F80], dtype=np.uint16), "bfloat16", "BF16", [0x3F80]),
        (np.array([1 + 2j], dtype=np.complex64), "complex64", "C64", [1.0, 2.0]),
    ],
)
def test_tensors_keep_the_dtype_in_which_they_were_drawn(array: Any, dtype: str, kind: str, numbers: list[Any]) -> None:
    """Every dtype, shape and byte as it was, buffers beside parameters."""
    captured = tiny.capture()
    run = captured["runs"]["execution"]
    made = tiny.Maker(captured["blobs"])
    made.take(array)
    run["values"].append({**made.values[0], "dtype": dtype})
    run["buffers"] = {"stat": len(run["values"]) - 1}
    assert read(weights.pack_weights(captured))["execution/stat"] == (kind, list(array.shape), numbers)


def test_equal_weights_are_equal_bytes() -> None:
    """The file's digest is part of a revision's identity."""
    assert weights.pack_weights(tiny.capture()) == weights.pack_weights(copy.deepcopy(tiny.capture()))


def test_a_model_without_weights_has_an_empty_file() -> None:
    """There is always a file, so that run.py never has to ask."""
    captured = tiny.capture()
    for run in captured["runs"].values():
        run["params"] = {}
    assert read(weights.pack_weights(captured)) == {}
