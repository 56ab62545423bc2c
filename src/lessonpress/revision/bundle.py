"""What a reader takes home: run.py, compare.py, verify.py, the worker's own code, requirements, checksums, the zip."""

from __future__ import annotations

import io
import json
import keyword
import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from lessonpress.core import canonical_json
from lessonpress.lesson import packages

if TYPE_CHECKING:
    from lessonpress.lesson.records import InputSpec, Nested, Plan
    from lessonpress.revision.manifest_schema import Manifest, Paper

NOT_SUMMED = frozenset({"SHA256SUMS", "bundle.zip"})
NOT_BUNDLED = frozenset({"bundle.zip", "index.html", "cases.csv", "ro-crate-metadata.json"})
EARLIEST = (1980, 1, 1, 0, 0, 0)


def list_requirements() -> str:
    """The packages that run.py needs, at the versions that made the record."""
    words = "# Everything that run.py needs. A CPU build of torch is enough: nothing here uses a GPU.\n"
    return words + "".join(f"{name}=={read_version(name)}\n" for name in packages.INSTALLED)


def read_version(package: str) -> str:
    """The version of a package that is installed here, without the mark of a build (`2.13.0`, not `2.13.0+cpu`)."""
    return version(package).partition("+")[0]


def make_editor_files() -> dict[str, bytes]:
    """A `.vscode/` folder: tasks that set up, run, compare, verify and show the graph, and the interpreter to use."""
    python = {"command": "${workspaceFolder}/.venv/bin/python",
              "windows": {"command": "${workspaceFolder}\\.venv\\Scripts\\python.exe"}}  # fmt: skip
    shown = {"command": "code", "args": ["${workspaceFolder}/preview.svg", "${workspaceFolder}/graph.tensorviz.json"]}
    # Isolated (-I), so that no module beside the lesson is imported; cleared, so that no Python that came along is run.
    install, new = "-I -m pip install -r requirements.txt", "-I -m venv --clear .venv"
    setup = {"command": f"python3 {new} && .venv/bin/python {install}",
             "windows": {"command": f"py {new}; .venv\\Scripts\\python {install}"}}  # fmt: skip
    system = {"command": "python3", "windows": {"command": "py"}}
    tasks = [
        {"label": "Lesson: set up", "type": "shell", **setup},
        {"label": "Lesson: run", "type": "process", **python, "args": ["-I", "run.py"],
         "group": {"kind": "build", "isDefault": True}},
        {"label": "Lesson: compare with the record", "type": "process", **python, "args": ["-I", "run.py", "--compare"],
         "group": {"kind": "test", "isDefault": True}},
        {"label": "Lesson: verify the files", "type": "process", **system, "args": ["-I", "verify.py"]},
        {"label": "Lesson: show the graph", "type": "process", **shown},
    ]  # fmt: skip
    settings = {"python.defaultInterpreterPath": "${workspaceFolder}/.venv/bin/python", "files.eol": "\n"}
    documents = {"tasks.json": {"version": "2.0.0", "tasks": tasks}, "settings.json": settings,
                 "extensions.json": {"recommendations": ["ms-python.python"]}}  # fmt: skip
    return {f".vscode/{name}": canonical_json.pretty(value).encode() for name, value in documents.items()}


def make_citation(manifest: Manifest, moment: str) -> bytes:
    """CITATION.cff of a revision that is published at a moment (Citation File Format 1.2.0).

    Every value is a JSON string, which YAML reads.
    """
    title, revision = manifest["title"], manifest["revision"]
    cited = manifest["milestone"]["papers"] if manifest["milestone"] else []
    papers = [_make_reference(paper) for paper in cited if paper.get("authors")]  # the format asks for authors
    lines = [
        "cff-version: 1.2.0", "message: Please cite this revision of the lesson.", "type: dataset",
        f"title: {_quote(title)}", f"version: {_quote(revision)}",
        f"date-released: {_quote(moment[:10])}",
        "authors:", f"  - name: {_quote(manifest['curator'] or 'unknown')}",
        *(["keywords:", *(f"  - {_quote(tag)}" for tag in manifest["tags"])] if manifest["tags"] else []),
        *(["references:", *(line for paper in papers for line in paper)] if papers else []),
    ]  # fmt: skip
    return ("\n".join(lines) + "\n").encode()


def _make_reference(paper: Paper) -> list[str]:
    url = paper.get("url")
    link = [f"    url: {_quote(url)}"] if url else []
    authors = [f"      - name: {_quote(name)}" for name in paper.get("authors", [])]
    return ["  - type: article", f"    title: {_quote(paper['title'])}", "    authors:", *authors, *link]


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def make_run_script(template: str, plan: Plan, shapes: Sequence[str]) -> str:
    """run.py for one lesson: plain torch code that repeats the execution.

    `template` is the text of templates/run.py.txt, `shapes` those that its last lines print, one for each tensor.
    """
    run = plan["runs"][0]
    named = all(key.isidentifier() and not keyword.iskeyword(key) for key in run["args"])
    arguments = ", ".join(f"{key}={_make_literal(value)}" for key, value in run["args"].items())
    arguments = arguments if named else f"**{_make_literal(run['args'])}"
    inputs = "".join(f"    inputs[{name!r}] = {make_input_code(spec, run['dtype'])}\n" for name, spec in run["inputs"])
    printed = f"{'lines are' if len(shapes) > 1 else 'line is'} {', '.join(shapes) or 'nothing'}"
    filled = {
        "@FILE@": repr(plan["model"]["file"]), "@CLASS@": repr(plan["model"]["class"]), "@SEED@": str(run["seed"]),
        "@ARGUMENTS@": arguments, "@MODE@": str(run["mode"] == "train"), "@DTYPE@": run["dtype"],
        "@INPUTS@": inputs, "@SHAPES@": printed,
    }  # fmt: skip
    # In one pass: a lesson's own text may look like a mark.
    return re.sub("|".join(filled), lambda mark: filled[mark[0]], template)


def make_input_code(spec: InputSpec, run: str = "float32") -> str:
    """An input spec as the torch expression that makes the same input as the worker does.

    `run` is the execution's dtype, to which floating inputs are cast.
    """
    for kind, brackets in (("list", "[]"), ("tuple", "()")):
        if kind in spec:
            items = "".join(f"{make_input_code(item, run)}, " for item in spec[kind])
            return f"{brackets[0]}{items}{brackets[1]}"
    if "dict" in spec:
        return "{" + ", ".join(f"{key!r}: {make_input_code(item, run)}" for key, item in spec["dict"].items()) + "}"
    if "literal" in spec:
        return _make_literal(spec["literal"])
    dtype = spec.get("dtype") or "float32"
    made = _make_values_code(spec, run) if "values" in spec else _make_fill_code(spec, dtype, run)
    return made + _make_cast(spec, run)


def _make_cast(spec: InputSpec, run: str) -> str:
    """Single-precision inputs end up in the run's dtype; what the author made half or double stays so."""
    dtype = spec.get("dtype") or ("float32" if _becomes_float(spec) else "")
    if run == "float64" and dtype == "complex64":
        return ".to(torch.complex128)"
    return f".to(torch.{run})" if dtype == "float32" and run != dtype else ""


def _becomes_float(spec: InputSpec) -> bool:
    """Whether torch makes floats of what is given: a fill, numbers with a fraction among them, nothing at all."""
    leaves = _flatten(spec["values"]) if "values" in spec else []
    return not leaves or any(isinstance(v, (float, dict)) for v in leaves)


def _make_values_code(spec: InputSpec, run: str) -> str:
    dtype, values = spec.get("dtype") or "", spec["values"]
    if dtype.startswith("complex"):
        values = _parse_complex(values)
    if run == "float64" and (dtype == "float32" or (not dtype and _becomes_float(spec))):
        dtype = "float64"  # literal numbers keep their full precision in a float64 run
    made = f"torch.tensor({_make_literal(values)}{f', dtype=torch.{dtype}' if dtype else ''})"
    return f"{made}.reshape({list(spec['shape'])})" if "shape" in spec else made


def _make_fill_code(spec: InputSpec, dtype: str, run: str) -> str:
    fill, shape, count = spec["fill"], list(spec["shape"]), math.prod(spec["shape"])
    wide = "float64" if run == "float64" and dtype == "float32" else dtype
    if fill in ("rand", "randn"):
        sampled = dtype if "float" in dtype or "complex" in dtype else "float32"
        return f"torch.{fill}({shape}, dtype=torch.{sampled})" + (f".to(torch.{dtype})" if sampled != dtype else "")
    if fill == "eye":
        return f"torch.eye({shape[-2]}, {shape[-1]}, dtype=torch.{dtype}).expand({shape}).clone()"
    if fill in ("arange", "ramp"):
        counted = f"torch.arange({count}, dtype=torch.{'float64' if 'float' in wide else 'int64'})"
        ramp = (spec.get("start", 0), spec.get("step", 1)) if fill == "ramp" else (0, 1)
        start, step = map(_make_literal, ramp)
        return f"({start} + {step} * {counted}).to(torch.{wide}).reshape({shape})"
    if fill in ("zeros", "ones"):
        return f"torch.{fill}({shape}, dtype=torch.{dtype})"
    return f"torch.full({shape}, {_make_literal(fill)}, dtype=torch.{wide})"


def _flatten(values: Nested) -> list[Any]:
    return [leaf for item in values for leaf in _flatten(item)] if isinstance(values, list) else [values]


def _parse_complex(values: Nested) -> Nested:
    if isinstance(values, list):
        return [_parse_complex(value) for value in values]
    return complex(values.replace(" ", "")) if isinstance(values, str) else values


def _make_literal(value: Any) -> str:
    """A JSON value as a Python literal; numbers that JSON lacks as `float("nan")`."""
    if isinstance(value, dict) and value.keys() == {"float"}:
        return f"float({value['float'].replace('Infinity', 'inf').lower()!r})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_make_literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, complex):
        return f"complex({str(value)!r})"
    return "[" + ", ".join(_make_literal(item) for item in value) + "]" if isinstance(value, list) else repr(value)


def make_checksums(files: Mapping[str, bytes]) -> bytes:
    """SHA256SUMS of all files but itself and the zip, as `sha256sum --check` reads it."""
    summed = {name: data for name, data in sorted(files.items()) if name not in NOT_SUMMED}
    lines = [f"{canonical_json.digest(data)}  {name}\n" for name, data in summed.items()]
    return "".join(lines).encode()


def zip_bundle(files: Mapping[str, bytes], folder: str) -> bytes:
    """The bundle: everything needed to repeat and verify, in one folder; equal files give equal bytes."""
    return zip_folder({name: data for name, data in files.items() if name not in NOT_BUNDLED}, folder)


def zip_folder(files: Mapping[str, bytes], folder: str) -> bytes:
    """A zip of files in one folder, sorted and without compression and dates."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:  # zlib's bytes differ between its versions
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", EARLIEST)
            entry.external_attr, entry.create_system = 0o644 << 16, 3
            archive.writestr(entry, data)
    return out.getvalue()
