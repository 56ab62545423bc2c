"""How to repeat a lesson and where its numbers come from: the run, the environment, the digests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from lessonpress.core.errors import LessonError
from lessonpress.lesson import decompositions, python_ast
from lessonpress.web.page import numbers

if TYPE_CHECKING:
    from lessonpress.lesson.recipe import Recipe
    from lessonpress.lesson.records import Prepared
    from lessonpress.revision.manifest_schema import Manifest

# An input as a manifest says it: a specification (`lesson.input_specs` says what it may hold), or a plain value.
InputWords: TypeAlias = object

_MACHINE_ONLY = frozenset(["seccomp", "probe", "kernel", "uid", "ended"])
_LONGEST = 60  # characters of an input's values that are written out


@dataclass(frozen=True)
class Repeat:
    """What a learner types and what they should see."""

    python: str  # "3.11"
    torch: str  # "2.13.0", without a build's suffix
    shell: tuple[str, ...]
    windows: tuple[str, ...]
    expected: tuple[str, ...]
    inputs: tuple[str, ...]
    run: str
    training: str = ""  # how the weights were made, where they are not as initialised


@dataclass(frozen=True)
class Fact:
    """A term and its text; `volatile` facts belong to the run, not to the revision."""

    term: str
    text: str
    volatile: bool = False


def make_repeat(manifest: Manifest, recipe: Recipe) -> Repeat:
    """The commands for both kinds of shell, the inputs of the run and the last lines it prints."""
    provenance = manifest.get("provenance", {})
    python = ".".join((provenance.get("python") or "3").split(".")[:2])
    activate = f"python{python} -m venv .venv", "source .venv/bin/activate"
    install = "python -m pip install -r requirements.txt"
    on_windows = f"py -{python} -m venv .venv", r".venv\Scripts\activate"
    return Repeat(
        python,
        (provenance.get("torch") or "").split("+")[0],
        (*activate, install, "python run.py"),
        (*on_windows, install, "python run.py"),
        _list_shapes(manifest),
        _list_inputs(manifest, recipe),
        _describe_run(manifest, recipe),
        describe_training(provenance.get("prepared")),
    )


def describe_training(prepared: Prepared | None) -> str:
    """How the weights were made: `Trained by prepare() in model.py from seed 0: 300 steps, loss 2.77 → 0.031.`"""
    if not prepared:
        return ""
    first, last = prepared.get("first") or {}, prepared.get("last") or {}
    steps = last.get("step", prepared["lines"])
    moved = [f"{name} {numbers.format_short(first[name])} → {numbers.format_short(last[name])}"
             for name in first if name in last and name not in ("step", "of")]  # fmt: skip
    words = f"The weights were made by {prepared['function']}() in {prepared['file']} from seed {prepared['seed']}: "
    words += ", ".join([f"{steps} steps", *moved]) + "."
    if prepared["changedSince"]:
        words += f" They are older than {', '.join(prepared['changedSince'])}."
    return words


def list_facts(manifest: Manifest) -> tuple[Fact, ...]:
    """When, where and with what the numbers were recorded.

    The same terms always appear, since a missing machine fact must not change what the page is.
    """
    provenance = manifest.get("provenance", {})
    facts = [
        ("Recorded on", _cut_day(provenance.get("capturedAt"))),
        ("Commit", provenance.get("productRevision")),
        ("Python", provenance.get("python")),
        ("PyTorch", provenance.get("torch")),
        ("Platform", flatten_to_text(provenance.get("host"))),
        ("CPU level", flatten_to_text(provenance.get("cpu"))),
        ("Isolation", flatten_to_text(_without_machine_facts(provenance.get("isolation")))),
    ]
    return tuple(Fact(term, text or "not recorded", volatile=True) for term, text in facts)


def _without_machine_facts(isolation: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """The isolation without what only a machine compares; manifest.json has all of it."""
    if isolation is None:
        return None
    return {name: value for name, value in isolation.items() if name not in _MACHINE_ONLY and value not in ({}, [], "")}


def list_settings(manifest: Manifest) -> tuple[Fact, ...]:
    """The settings that make the numbers repeatable."""
    settings = manifest.get("provenance", {}).get("settings") or {}
    return tuple(Fact(name, flatten_to_text(value)) for name, value in settings.items())


def list_decompositions(manifest: Manifest, sources: Mapping[str, str]) -> list[str]:
    """The matrix decompositions that the lesson's graph shows, or its files call, which no setting fixes."""
    ran = [layer["op"] for layer in manifest.get("layers") or []]
    called = [name for file, text in sources.items() if file.endswith(".py") for name in _list_calls(text, file)]
    return decompositions.list_decompositions([*ran, *called])


def _list_calls(text: str, file: str) -> list[str]:
    """What a file calls, by name; nothing for a file that Python cannot read, which publishing refuses by itself."""
    try:
        return [call.name for call in python_ast.read(text.encode(), file).calls]
    except LessonError:
        return []


def list_digests(manifest: Manifest) -> tuple[Fact, ...]:
    """What identifies the lesson's content: revision, source and weights."""
    provenance = manifest.get("provenance", {})
    prepared = provenance.get("prepared")
    digests = [
        ("Content revision", manifest.get("revision")),
        ("Source SHA-256", provenance.get("sourceSha256")),
        ("Weights SHA-256", provenance.get("weightsSha256")),
        ("Prepared weights SHA-256", prepared.get("weightsSha256") if prepared else None),
        ("Initialisation", provenance.get("initialisation")),
    ]
    return tuple(Fact(term, text) for term, text in digests if text)


def flatten_to_text(value: Mapping[str, object] | str | int | None) -> str:
    """A record or a plain value as one line of words: `profile linux-strict · limits: wall 60, memory 4294967296`."""
    if isinstance(value, Mapping):
        return " · ".join(f"{name}: {_flatten(part)}" if isinstance(part, Mapping) else f"{name} {_flatten(part)}"
                          for name, part in value.items())  # fmt: skip
    return _flatten(value)


def _flatten(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_flatten(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_flatten(part) for part in value) or "none"
    if value is None:
        return ""
    return numbers.format_exact(value) if isinstance(value, bool | int | float | str) else str(value)


def _list_shapes(manifest: Manifest) -> tuple[str, ...]:
    """The output's shape, or one shape a leaf where the result is nested."""
    provenance = manifest.get("provenance", {})
    if outputs := provenance.get("outputs"):
        return tuple(numbers.format_shape(each.get("shape") or []) for each in outputs)
    whole = provenance.get("outputShape")
    return (numbers.format_shape(whole),) if whole is not None else ()


def _list_inputs(manifest: Manifest, recipe: Recipe) -> tuple[str, ...]:
    """The run's inputs in forward()'s order: `Input 1 · source_ids: [1,5] · int64 ones`."""
    inputs = manifest.get("provenance", {}).get("execution", {}).get("inputs", {})
    specs = inputs.get("args") or []
    names = list(inputs.get("names") or recipe.execution.inputs)
    lines = []
    for at, (spec, known) in enumerate(zip_longest(specs, names[: len(specs)], fillvalue=""), start=1):
        name = (spec.get("name") if isinstance(spec, Mapping) else "") or known
        lines.append(f"Input {at}{f' · {name}' if name else ''}: {_describe_input(spec)}")
    return tuple(lines)


def _describe_input(spec: InputWords) -> str:
    """An input specification in words."""
    if not isinstance(spec, Mapping):
        return _clip(_flatten(spec))
    for kind in ("list", "tuple", "dict"):
        if kind in spec:
            parts = spec[kind]
            pairs = parts.items() if isinstance(parts, Mapping) else (("", part) for part in parts)
            return f"{kind} of ({'; '.join(f'{key} {_describe_input(part)}'.strip() for key, part in pairs)})"
    if "literal" in spec:
        return f"the value {_clip(repr(spec['literal']))}"
    given = spec["fill"] if "fill" in spec else f"values {_clip(str(spec.get('values')).replace(' ', ''))}"
    tail = f"{spec.get('dtype') or ''} {given}".strip()
    return f"{numbers.format_shape(spec['shape'])} · {tail}" if spec.get("shape") is not None else tail


def _describe_run(manifest: Manifest, recipe: Recipe) -> str:
    """Device, mode, seed and dtype of the run in a line: `CPU / eval · seed 0 · float32`."""
    execution = manifest.get("provenance", {}).get("execution", {})
    device, mode = (execution.get("device") or "cpu").upper(), execution.get("mode", recipe.execution.mode)
    seed, dtype = execution.get("seed", recipe.execution.seed), execution.get("dtype", recipe.execution.dtype)
    parts = [f"{device} / {mode}" if mode else device, f"seed {seed}" if seed is not None else "", dtype or ""]
    return " · ".join(part for part in parts if part)


def _cut_day(moment: str | None) -> str:
    """The date of an ISO 8601 time stamp."""
    date = re.match(r"\d{4}-\d{2}-\d{2}", moment or "")
    return date.group() if date else ""


def _clip(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
