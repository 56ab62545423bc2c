"""Command draw: the graph of any model, without a recipe, as a picture and a page."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from lessonpress import sandbox
from lessonpress.core import atomic_io, canonical_json, suggestions
from lessonpress.core.errors import LessonError, WrongUsage
from lessonpress.core.settings import Config
from lessonpress.lesson import plan, python_ast, recipe
from lessonpress.sandbox import capture, worker_errors
from lessonpress.web.page import model_graph

if TYPE_CHECKING:
    from lessonpress.worker.records import InputSpec, Json, Plan, WorkerError

# `x=1x5`, `ids=1x5:int64`, `scale=:float64` (a single number), and `causal:=true` for what is no tensor.
_TENSOR = re.compile(r"(?P<name>[^\W\d]\w*)=(?P<shape>(\d+(x\d+)*)?)(:(?P<dtype>\w+))?")
_LITERAL = re.compile(r"(?P<name>[^\W\d]\w*):=(?P<value>.*)", re.DOTALL)
MAX_SOURCES, MAX_BYTES = 50, 1_000_000  # files that the page shows, and the bytes of one
FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Options:
    """How the model is built and called: its inputs and constructor arguments as they are typed."""

    inputs: Sequence[str] = ()
    args: Sequence[str] = ()
    dtype: str = "float32"
    seed: int = 0
    mode: str = "eval"


def draw_model(config: Config, target: str, options: Options) -> model_graph.ModelGraph:
    """The graph of `FILE.py:Class`, called once in a confined process.

    Raises WrongUsage for what was typed wrongly, LessonError where the model's own code fails.
    """
    file, name = find_class(target)
    folder = file.parent.resolve()
    planned = make_plan(file.name, name, options)
    with sandbox.scratch_dir() as scratch:
        plan_file = scratch / "plan.json"
        plan_file.write_text(canonical_json.compact(planned), encoding="utf-8")
        (scratch / "empty").mkdir()
        arguments = [str(plan_file), str(folder)]
        result = sandbox.run(sandbox.MODEL, arguments, scratch / "empty", config.limits, config.isolation)
    if result.limit or len(result.lines) != 2:
        raise worker_errors.process_error(folder, name, result)
    try:
        answer = capture.loads(result.lines[1])
        if isinstance(answer, dict) and answer.keys() == {"error"} and isinstance(answer["error"], dict):
            raise worker_errors.lesson_error(cast("WorkerError", answer["error"]), folder, name, result, target)
        if not isinstance(answer, dict) or answer.keys() != {"ok"}:
            raise capture.Malformed("the answer has other keys than ok")
        files = read_sources(folder, answer["ok"], file.name)
        recorded = capture.validate(answer["ok"], planned, files, outline=True)
    except capture.Malformed as malformed:
        raise LessonError(target, f"the worker's answer was not the worker's: {malformed}",
                          "an answer that the model's code has not touched") from None  # fmt: skip
    texts = {each: data.decode("utf-8", "replace") for each, data in files.items()}
    return model_graph.make_model_graph(recorded, name, texts)


def write_drawing(drawn: model_graph.ModelGraph, to: Path) -> list[Path]:
    """Write the picture and the page into a folder, both or none of them. Returns the files."""
    files: dict[Path, bytes | str] = {to / f"{drawn.title}.svg": drawn.svg, to / f"{drawn.title}.html": drawn.page()}
    atomic_io.write_all(files, flushed=False)
    return list(files)


def find_class(target: str) -> tuple[Path, str]:
    """The file and the class that `FILE.py:Class` names; without a class, the file's only one.

    Raises WrongUsage where there is no such file or class, LessonError where the file is no Python.
    """
    path, colon, name = target.rpartition(":")
    file = Path(path if colon else target)
    if not file.is_file():
        raise WrongUsage(target, f"there is no file {file}", "a Python file, a colon, a class",
                         'Type: lessonpress draw model.py:Model --input "x=1x5"')  # fmt: skip
    source = python_ast.read(file.read_bytes(), str(file))
    known = [each.name for each in source.classes]
    if colon and not source.may_have(name):
        raise WrongUsage(target, f"{file} has no class {name}", f"classes there: {', '.join(known) or 'none'}",
                         suggestions.did_you_mean(name, known))  # fmt: skip
    if not colon and len(known) != 1:
        raise WrongUsage(target, "no class is named", f"classes there: {', '.join(known) or 'none'}",
                         f"Type: lessonpress draw {file}:{known[-1] if known else 'Model'}")  # fmt: skip
    return file, name if colon else known[0]


def make_plan(file: str, name: str, options: Options) -> Plan:
    """The plan of one run. Raises WrongUsage for an option that says nothing that can be understood."""
    if options.dtype not in FLOATS:
        raise WrongUsage("--dtype", f"{options.dtype} was given", f"one of {', '.join(FLOATS)}")
    mode: Any = options.mode
    if mode not in ("eval", "train"):
        raise WrongUsage("--mode", f"{mode} was given", "eval or train")
    inputs = [read_input(text) for text in options.inputs]
    args = dict(_read_literal(text, "--arg") for text in options.args)
    return {
        "schema": 1, "slug": "model", "model": {"file": file, "class": name},
        "runs": [{"id": "execution", "kind": "execution", "seed": options.seed, "mode": mode,
                  "dtype": options.dtype, "args": args, "weights": None, "parameters": {}, "inputs": inputs}],
        "record": [], "metrics": [], "checks": None, "mutants": [], "prepare": None,
    }  # fmt: skip


def read_input(text: str) -> tuple[str, InputSpec]:
    """An input's name and spec: `x=1x5`, `ids=1x5:int64`, or `flag:=true` for what is no tensor. Raises WrongUsage.

    Floats are drawn; integers are zeros, which every table of embeddings has; of booleans all are true.
    """
    if _LITERAL.fullmatch(text):
        name, value = _read_literal(text, "--input")
        return name, {"literal": value}
    match = _TENSOR.fullmatch(text)
    known = get_args(recipe.Dtype)
    if match is None or (match["dtype"] or known[0]) not in known:
        expected = f"NAME=SHAPE, such as x=1x5, with a dtype x=1x5:int64 (one of {', '.join(known)}), or NAME:=VALUE"
        raise WrongUsage("--input", f"{text!r} was given", expected)
    dtype = match["dtype"] or "float32"
    fill = "randn" if dtype.startswith(("float", "bfloat", "complex")) else "ones" if dtype == "bool" else "zeros"
    return match["name"], {"shape": [int(n) for n in match["shape"].split("x") if n], "dtype": dtype, "fill": fill}


def _read_literal(text: str, option: str) -> tuple[str, Json]:
    """`NAME=VALUE` or `NAME:=VALUE` with a value as YAML writes it. Raises WrongUsage."""
    from lessonpress.core import yaml_reader

    match = re.fullmatch(r"([^\W\d]\w*):?=(.*)", text, re.DOTALL)
    if match is None:
        raise WrongUsage(option, f"{text!r} was given", "NAME=VALUE, such as width=32")
    return match[1], plan.to_json(yaml_reader.read(match[2], f"{option} {match[1]}").value)


def read_sources(folder: Path, answer: Json, first: str) -> dict[str, bytes]:
    """The bytes of the files that an answer's places name, as far as they lie in the folder; the model's file first."""
    names = dict.fromkeys([first, *sorted(set(_list_files(answer)))])
    files = {}
    for name in list(names)[:MAX_SOURCES]:
        path = folder / name
        inside = name.endswith(".py") and path.resolve().is_relative_to(folder)
        if inside and path.is_file() and path.stat().st_size <= MAX_BYTES:
            files[name] = path.read_bytes()
    return files


def _list_files(answer: Json) -> Iterator[str]:
    """What stands anywhere in untrusted JSON under the key `file`."""
    waiting = [answer]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict) and isinstance(value.get("file"), str):
            yield value["file"]
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def locate_output(out: Path | None) -> Path:
    """The folder into which a drawing is written. Raises WrongUsage for a file."""
    to = out or Path()
    if to.exists() and not to.is_dir():
        raise WrongUsage(f"--out {os.path.relpath(to)}", "this is a file", "a folder", "Name another folder.")
    return to
