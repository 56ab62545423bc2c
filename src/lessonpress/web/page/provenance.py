"""How to repeat a lesson and where its numbers come from: the run, the environment, the digests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from lessonpress.web.page import numbers

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
    training: str = ""  # how the weights were made, where they are not as drawn


@dataclass(frozen=True)
class Fact:
    """A term and its text; `volatile` facts belong to the run, not to the revision."""

    term: str
    text: str
    volatile: bool = False


def make_repeat(manifest: Mapping[str, Any], recipe: Mapping[str, Any]) -> Repeat:
    """The commands for both kinds of shell, the inputs of the run and the last lines it prints."""
    provenance = manifest.get("provenance") or {}
    python = ".".join(str(provenance.get("python") or "3").split(".")[:2])
    activate = f"python{python} -m venv .venv", "source .venv/bin/activate"
    install = "python -m pip install -r requirements.txt"
    on_windows = f"py -{python} -m venv .venv", r".venv\Scripts\activate"
    return Repeat(
        python,
        str(provenance.get("torch") or "").split("+")[0],
        (*activate, install, "python run.py"),
        (*on_windows, install, "python run.py"),
        _expected(provenance),
        _inputs(provenance, recipe),
        _run(provenance, recipe),
        describe_training(provenance.get("prepared") or {}),
    )


def describe_training(told: Mapping[str, Any]) -> str:
    """How the weights were made: `Trained by prepare() in model.py from seed 0: 300 steps, loss 2.77 → 0.031.`"""
    if not told:
        return ""
    first, last = told.get("first") or {}, told.get("last") or {}
    steps = last.get("step", told["lines"])
    moved = [f"{name} {numbers.short(first[name])} → {numbers.short(last[name])}"
             for name in first if name in last and name not in ("step", "of")]  # fmt: skip
    words = f"The weights were made by {told['function']}() in {told['file']} from seed {told['seed']}: "
    words += ", ".join([f"{steps} steps", *moved]) + "."
    if told["changedSince"]:
        words += f" They are older than {', '.join(told['changedSince'])}."
    return words


def list_facts(manifest: Mapping[str, Any]) -> tuple[Fact, ...]:
    """When, where and with what the numbers were recorded.

    The same terms always appear, since a missing machine fact must not change what the page is.
    """
    provenance = manifest.get("provenance") or {}
    volatile = [
        Fact("Recorded on", _day(provenance.get("capturedAt")), True),
        Fact("Commit", str(provenance.get("productRevision") or ""), True),
        Fact("Python", str(provenance.get("python") or ""), True),
        Fact("PyTorch", str(provenance.get("torch") or ""), True),
        Fact("Platform", flatten_to_text(provenance.get("platform") or provenance.get("host")), True),
        Fact("CPU level", flatten_to_text(provenance.get("cpu")), True),
        Fact("Isolation", flatten_to_text(_shown(provenance.get("isolation"))), True),
    ]
    return tuple(Fact(each.term, each.text or "not recorded", each.volatile) for each in volatile)


def _shown(isolation: Any) -> Any:
    """The isolation without what only a machine compares; manifest.json has all of it."""
    if not isinstance(isolation, Mapping):
        return isolation
    return {name: value for name, value in isolation.items() if name not in _MACHINE_ONLY and value not in ({}, [], "")}


def list_settings(manifest: Mapping[str, Any]) -> tuple[Fact, ...]:
    """The settings that make the numbers repeatable."""
    provenance = manifest.get("provenance") or {}
    told = dict(provenance.get("settings") or {})
    return tuple(Fact(str(name), flatten_to_text(value)) for name, value in told.items())


def list_digests(manifest: Mapping[str, Any]) -> tuple[Fact, ...]:
    """What identifies the lesson's content: revision, source and weights."""
    provenance = manifest.get("provenance") or {}
    told = [
        Fact("Content revision", str(manifest.get("revision") or "")),
        Fact("Source SHA-256", str(provenance.get("sourceSha256") or "")),
        Fact("Weights SHA-256", str(provenance.get("weightsSha256") or "")),
        Fact("Prepared weights SHA-256", str((provenance.get("prepared") or {}).get("weightsSha256") or "")),
        Fact("Initialisation", str(provenance.get("initialisation") or "")),
    ]
    return tuple(each for each in told if each.text)


def flatten_to_text(value: Any) -> str:
    """Any JSON value as one line of words: `profile linux-strict · limits: wall 60, memory 4294967296`."""
    if isinstance(value, Mapping):
        return " · ".join(f"{name}: {_inner(part)}" if isinstance(part, Mapping) else f"{name} {_inner(part)}"
                          for name, part in value.items())  # fmt: skip
    return _inner(value)


def _inner(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_inner(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_inner(part) for part in value) or "none"
    if value is None:
        return ""
    return numbers.exact(value)


def _expected(provenance: Mapping[str, Any]) -> tuple[str, ...]:
    """The output's shape, or one shape a leaf where the result is nested."""
    outputs = provenance.get("outputs") or []
    if outputs:
        return tuple(numbers.shape(each.get("shape") or []) for each in outputs)
    whole = provenance.get("outputShape")
    return (numbers.shape(whole),) if isinstance(whole, Sequence) and not isinstance(whole, str) else ()


def _inputs(provenance: Mapping[str, Any], recipe: Mapping[str, Any]) -> tuple[str, ...]:
    """The run's inputs in forward()'s order: `Input 1 · source_ids: [1,5] · int64 ones`."""
    told = (provenance.get("execution") or {}).get("inputs") or {}
    specs = told.get("args") or []
    names = list(told.get("names") or (recipe.get("execution") or {}).get("inputs") or {})
    lines = []
    for at, (spec, known) in enumerate(zip_longest(specs, names[: len(specs)], fillvalue=""), start=1):
        name = (spec.get("name") if isinstance(spec, Mapping) else "") or known
        lines.append(f"Input {at} · {name}: {_spec(spec)}" if name else f"Input {at}: {_spec(spec)}")
    return tuple(lines)


def _spec(spec: Any) -> str:
    """An input specification in words."""
    if not isinstance(spec, Mapping):
        return _clipped(_inner(spec))
    for kind in ("list", "tuple", "dict"):
        if kind in spec:
            parts = spec[kind]
            pairs = parts.items() if isinstance(parts, Mapping) else (("", part) for part in parts)
            return f"{kind} of ({'; '.join(f'{key} {_spec(part)}'.strip() for key, part in pairs)})"
    if "literal" in spec:
        return f"the value {_clipped(repr(spec['literal']))}"
    given = spec["fill"] if "fill" in spec else f"values {_clipped(str(spec.get('values')).replace(' ', ''))}"
    tail = f"{spec.get('dtype') or ''} {given}".strip()
    return f"{numbers.shape(spec['shape'])} · {tail}" if spec.get("shape") is not None else tail


def _run(provenance: Mapping[str, Any], recipe: Mapping[str, Any]) -> str:
    """Device, mode, seed and dtype of the run in a line: `CPU / eval · seed 0 · float32`."""
    execution = {**(recipe.get("execution") or {}), **(provenance.get("execution") or {})}
    device = str(execution.get("device") or "cpu").upper()
    parts = [f"{device} / {execution['mode']}" if execution.get("mode") else device]
    parts += [f"seed {execution['seed']}"] if execution.get("seed") is not None else []
    return " · ".join([*parts, *([str(execution["dtype"])] if execution.get("dtype") else [])])


def _day(moment: Any) -> str:
    """The date of an ISO 8601 time stamp."""
    found = re.match(r"\d{4}-\d{2}-\d{2}", str(moment or ""))
    return found.group() if found else ""


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
