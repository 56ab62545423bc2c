"""What a reader takes home: run.py, compare.py, verify.py, the worker's own code, requirements, checksums, the zip."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lessonpress import canon

WORKER = Path(__file__).parent / "worker"
NOT_SUMMED = frozenset({"SHA256SUMS", "bundle.zip"})
NOT_BUNDLED = frozenset({"bundle.zip", "index.html", "preview.svg", "graph.tensorviz.json", "cases.csv"})
EARLIEST = (1980, 1, 1, 0, 0, 0)


def requirements() -> str:
    """The packages that run.py needs, at the versions that made the record."""
    words = "# Everything that run.py needs. A CPU build of torch is enough: nothing here uses a GPU.\n"
    return words + "".join(f"{name}=={version(name).partition('+')[0]}\n" for name in ("torch", "numpy", "safetensors"))


def worker_files() -> dict[str, bytes]:
    """The worker's own source, which `run.py --compare` runs again."""
    return {f"worker/{path.name}": path.read_bytes() for path in sorted(WORKER.glob("*.py"))}


def run_script(template: str, plan: Mapping[str, Any], shapes: str) -> str:
    """run.py for one lesson: plain torch code that repeats the execution.

    `template` is the text of templates/run.py.txt, `shapes` the shapes that the last line prints.
    """
    run = plan["runs"][0]
    arguments = ", ".join(f"{key}={_literal(value)}" for key, value in run["args"].items())
    inputs = "".join(f"    inputs[{name!r}] = {code(spec)}\n" for name, spec in run["inputs"])
    filled = {
        "@FILE@": repr(plan["model"]["file"]), "@CLASS@": repr(plan["model"]["class"]), "@SEED@": str(run["seed"]),
        "@ARGUMENTS@": arguments, "@MODE@": str(run["mode"] == "train"), "@DTYPE@": run["dtype"],
        "@INPUTS@": inputs, "@SHAPES@": shapes,
    }  # fmt: skip
    for mark, text in filled.items():
        template = template.replace(mark, text)
    return template


def code(spec: Mapping[str, Any]) -> str:
    """An input spec as the torch expression that makes it."""
    for kind, brackets in (("list", "[]"), ("tuple", "()")):
        if kind in spec:
            items = "".join(f"{code(item)}, " for item in spec[kind])
            return f"{brackets[0]}{items}{brackets[1]}"
    if "dict" in spec:
        return "{" + ", ".join(f"{key!r}: {code(item)}" for key, item in spec["dict"].items()) + "}"
    if "literal" in spec:
        return _literal(spec["literal"])
    dtype = f"dtype=torch.{spec['dtype']}" if spec.get("dtype") else ""
    if "values" in spec:
        values = f"torch.tensor({_literal(spec['values'])}{', ' + dtype if dtype else ''})"
        return f"{values}.reshape({list(spec['shape'])})" if "shape" in spec else values
    return _filled(spec, list(spec["shape"]), dtype or "dtype=torch.float32")


def _filled(spec: Mapping[str, Any], shape: list[int], dtype: str) -> str:
    fill, count = spec["fill"], 1
    for n in shape:
        count *= n
    if fill in ("zeros", "ones"):
        return f"torch.{fill}({shape}, {dtype})"
    if fill in ("rand", "randn"):
        return f"torch.{fill}({shape}).to({dtype.removeprefix('dtype=')})"
    if fill == "eye":
        return f"torch.eye({shape[-2]}, {shape[-1]}, {dtype}).expand({shape}).clone()"
    if fill == "arange":
        return f"torch.arange({count}).to({dtype.removeprefix('dtype=')}).reshape({shape})"
    if fill == "ramp":
        start, step = _literal(spec.get("start", 0)), _literal(spec.get("step", 1))
        return f"({start} + {step} * torch.arange({count})).to({dtype.removeprefix('dtype=')}).reshape({shape})"
    return f"torch.full({shape}, {_literal(fill)}, {dtype})"


def _literal(value: Any) -> str:
    """A JSON value as a Python literal; numbers that JSON lacks as `float("nan")`."""
    if isinstance(value, dict) and value.keys() == {"float"}:
        return f"float({value['float'].replace('Infinity', 'inf').lower()!r})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_literal(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(_literal(item) for item in value) + "]" if isinstance(value, list) else repr(value)


def checksums(files: Mapping[str, bytes]) -> bytes:
    """SHA256SUMS of all files but itself and the zip, as `sha256sum --check` reads it."""
    lines = [f"{canon.digest(data)}  {name}\n" for name, data in sorted(files.items()) if name not in NOT_SUMMED]
    return "".join(lines).encode()


def zipped(files: Mapping[str, bytes], folder: str) -> bytes:
    """The bundle: everything needed to repeat and verify, in one folder; equal files give equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:  # zlib's bytes differ between its versions
        for name, data in sorted(files.items()):
            if name not in NOT_BUNDLED:
                entry = zipfile.ZipInfo(f"{folder}/{name}", EARLIEST)
                entry.external_attr, entry.create_system = 0o644 << 16, 3
                archive.writestr(entry, data)
    return out.getvalue()
