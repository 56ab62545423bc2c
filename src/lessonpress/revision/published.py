"""A published revision, read back from its folder: what it says of itself, its numbers, its texts."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

import numpy as np

from lessonpress.core import tensor_file
from lessonpress.lesson.records import Nested
from lessonpress.revision import history, numeric_diff
from lessonpress.revision.identity import Identity
from lessonpress.revision.manifest_schema import Manifest, PublishedArray
from lessonpress.revision.numeric_diff import Array

TEXTS = (".py", ".yaml", ".yml", ".md", ".txt", ".json", ".csv", ".toml", ".cfg", ".svg")


def read_identity(folder: Path) -> Identity:
    """What the revision is. Raises LessonError when it cannot be read; a damaged one shows where it is used."""
    return cast(Identity, history.read_document(folder / "identity.json"))


def read_manifest(folder: Path) -> Manifest:
    """What the revision says. Raises LessonError when it cannot be read; a damaged one shows where it is used."""
    return cast(Manifest, history.read_document(folder / "manifest.json"))


def read_files(folder: Path) -> dict[str, bytes]:
    """Every file of the folder by its relative POSIX name."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file()}  # fmt: skip


def read_numbers(folder: Path) -> dict[str, Array]:
    """Every recorded array and metric by name, `moved: mapped`, in the dtype in which it was recorded."""
    dtypes = list_dtypes(read_manifest(folder))
    return collect_numbers(read_identity(folder)["recorded"], dtypes, read_large_arrays(folder))


def collect_numbers(
    recorded: Mapping[str, Mapping[str, Nested]], dtypes: Mapping[str, str], beside: Mapping[str, Array]
) -> dict[str, Array]:
    """The numbers that an identity records, with `dtypes` by name, and `beside` them the arrays that lie in files."""
    arrays = {f"{case}: {name}": numeric_diff.parse_array(values, dtypes.get(f"{case}: {name}"))
              for case, record in recorded.items() for name, values in record.items()}  # fmt: skip
    return {**arrays, **beside}


def list_dtypes(manifest: Manifest) -> dict[str, str]:
    """The dtypes of a manifest's recorded arrays by name."""
    return {name: dtype for name, entry in list_arrays(manifest) if (dtype := entry.get("dtype"))}


def list_arrays(manifest: Manifest) -> Iterator[tuple[str, PublishedArray]]:
    """The recorded arrays of a manifest with their names, `moved: mapped`; the earliest, without ids, are left out."""
    for case in manifest["experiment"]["cases"] if manifest["experiment"] else []:
        for entry in (*case["matrices"], *case["vectors"]):
            if "id" in entry:
                yield f"{case['id']}: {entry['id']}", entry


def read_large_arrays(folder: Path) -> dict[str, Array]:
    """The recorded arrays that lie in files of their own, by name."""
    arrays = {}
    for name, entry in list_arrays(read_manifest(folder)):
        if isinstance(entry["values"], dict):
            data = (folder / entry["values"]["file"]).read_bytes()
            arrays[name] = np.load(io.BytesIO(data), allow_pickle=False)
    return arrays


def read_weights(folder: Path) -> dict[str, Array]:
    """The published weights by name, `weights: execution/line.bias`."""
    return {
        f"weights: {name}": array
        for name, array in tensor_file.read_arrays((folder / "weights.safetensors").read_bytes()).items()
    }


def read_tolerance(folder: Path) -> tuple[float, float]:
    """The lesson's tolerance, absolute and relative, as the revision states it; 1e-12 where it states none."""
    tolerance = read_manifest(folder).get("tolerance") or {"atol": 1e-12, "rtol": 1e-12}
    return float(tolerance["atol"]), float(tolerance["rtol"])


def read_texts(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The named files of the folder that are text."""
    return {name: (folder / name).read_text(encoding="utf-8", errors="replace") for name in names
            if name.endswith(TEXTS) and (folder / name).is_file()}  # fmt: skip
