"""A published revision, read back from its folder: what it says of itself, its numbers, its texts."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lessonpress.core import tensor_file
from lessonpress.revision import history, numeric_diff
from lessonpress.revision.numeric_diff import Array

TEXTS = (".py", ".yaml", ".yml", ".md", ".txt", ".json", ".csv", ".toml", ".cfg", ".svg")


def read_identity(folder: Path) -> dict[str, Any]:
    """What the revision is. Raises LessonError when it cannot be read."""
    return history.read_document(folder / "identity.json")


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the revision says. Raises LessonError when it cannot be read."""
    return history.read_document(folder / "manifest.json")


def read_files(folder: Path) -> dict[str, bytes]:
    """Every file of the folder by its relative POSIX name."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file()}  # fmt: skip


def read_numbers(folder: Path) -> dict[str, Array]:
    """Every recorded array and metric by name, `moved: mapped`, in the dtype in which it was recorded."""
    dtypes = list_dtypes(read_manifest(folder))
    return collect_numbers(read_identity(folder)["recorded"], dtypes, read_large_arrays(folder))


def collect_numbers(
    told: Mapping[str, Mapping[str, Any]], known: Mapping[str, str], beside: Mapping[str, Array]
) -> dict[str, Array]:
    """The numbers of an identity; `known` holds dtypes by name, `beside` the arrays that lie in files."""
    out = {f"{case}: {name}": numeric_diff.parse_array(values, known.get(f"{case}: {name}"))
           for case, record in told.items() for name, values in record.items()}  # fmt: skip
    return {**out, **beside}


def list_dtypes(told: Mapping[str, Any]) -> dict[str, str]:
    """The dtypes of a manifest's recorded arrays by name."""
    return {f"{case['id']}: {entry['id']}": entry["dtype"]
            for case in (told.get("experiment") or {"cases": []})["cases"]
            for entry in (*case["matrices"], *case["vectors"]) if "dtype" in entry and "id" in entry}  # fmt: skip


def read_large_arrays(folder: Path) -> dict[str, Array]:
    """The recorded arrays that lie in files of their own, by name."""
    out = {}
    for case in (read_manifest(folder).get("experiment") or {"cases": []})["cases"]:
        for entry in (*case["matrices"], *case["vectors"]):
            if isinstance(entry["values"], dict) and "file" in entry["values"]:
                data = (folder / entry["values"]["file"]).read_bytes()
                out[f"{case['id']}: {entry['id']}"] = np.load(io.BytesIO(data), allow_pickle=False)
    return out


def read_weights(folder: Path) -> dict[str, Array]:
    """The published weights by name, `weights: execution/line.bias`."""
    return {
        f"weights: {name}": array
        for name, array in tensor_file.read_arrays((folder / "weights.safetensors").read_bytes()).items()
    }


def read_tolerance(folder: Path) -> tuple[float, float]:
    """The lesson's tolerance, absolute and relative, as the revision states it; 1e-12 where it states none."""
    told = read_manifest(folder).get("tolerance") or {"atol": 1e-12, "rtol": 1e-12}
    return float(told["atol"]), float(told["rtol"])


def read_texts(folder: Path, names: Mapping[str, Any]) -> dict[str, str]:
    """The named files of the folder that are text."""
    return {name: (folder / name).read_text(encoding="utf-8", errors="replace") for name in names
            if name.endswith(TEXTS) and (folder / name).is_file()}  # fmt: skip
