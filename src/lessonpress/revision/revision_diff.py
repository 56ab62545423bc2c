"""What changed between two revisions of a lesson: texts, recipe, graph, numbers, checks, environment, files."""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from ruamel.yaml import YAML

from lessonpress.core import canonical_json
from lessonpress.lesson.recipe import PROSE, WORDS
from lessonpress.lesson.records import Real
from lessonpress.revision import identity, numeric_diff, published
from lessonpress.revision.numeric_diff import Comparison, ComparisonDocument

# Where a layer or connection stands in the source says nothing about the graph.
PLACES = frozenset({"source", "called"})
MACHINE = ("lessonpress", "python", "torch", "initialisation", "settings", "cpu", "host", "isolation",
           "productRevision", "capturedAt")  # fmt: skip
SHOWN, BEFORE = 200, 40  # characters of a long value, and of those before and after what differs
RECIPE, ABSENT = "lesson.yaml", "absent"


class EditDocument(TypedDict):
    """An edit as JSON."""

    name: str
    old: str
    new: str


class GraphDiffDocument(TypedDict):
    """The difference of two graphs as JSON."""

    added: list[str]
    removed: list[str]
    changed: dict[str, list[EditDocument]]
    connectionsAdded: list[str]
    connectionsRemoved: list[str]


class CheckDiffDocument(TypedDict):
    """The difference of a check as JSON: its sentence, and its verdict and margin before and after."""

    id: str
    sentence: str
    passed: list[bool | None]
    margin: list[Real | None]


class RevisionDiffDocument(TypedDict):
    """The difference of two revisions as JSON; its keys are published."""

    old: str
    new: str
    reasons: list[str]
    words: list[str]
    texts: dict[str, str]
    recipe: list[EditDocument]
    prose: list[EditDocument]
    graph: GraphDiffDocument
    numbers: ComparisonDocument
    checks: list[CheckDiffDocument]
    environment: list[EditDocument]
    machine: list[EditDocument]
    files: list[EditDocument]


@dataclass(frozen=True)
class Edit:
    """One value that is not what it was; `absent` stands for one that was not there."""

    name: str
    old: str
    new: str

    def words(self) -> str:
        """The edit in a line."""
        return f"{self.name}: {self.old} → {self.new}"


@dataclass(frozen=True)
class GraphDiff:
    """Layers (and connections, by their ends) that came, went or changed; a change lists what of it did."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[Edit, ...]] | None = None
    connections_added: tuple[str, ...] = ()
    connections_removed: tuple[str, ...] = ()

    def same(self) -> bool:
        """Whether both graphs compute the same thing in the same way."""
        return not (self.added or self.removed or self.changed or self.connections_added or self.connections_removed)

    def words(self) -> str:
        """The change in a clause: `1 layer added, 2 changed`."""
        counts = {"added": len(self.added), "removed": len(self.removed), "changed": len(self.changed or {})}
        wires = {"added": len(self.connections_added), "removed": len(self.connections_removed)}
        told = [f"{count} {word}" for word, count in counts.items() if count]
        told += [f"{_count(count, 'connection')} {word}" for word, count in wires.items() if count]
        return ", ".join(told) or "unchanged"


@dataclass(frozen=True)
class CheckDiff:
    """A check whose verdict or margin changed; None where one revision does not have it."""

    id: str
    sentence: str
    passed: tuple[bool | None, bool | None]
    margin: tuple[Real | None, Real | None]
    edited: bool  # its code or its bound is another

    def words(self) -> str:
        """The change in a line: `check_sum: passes, margin 0.5 → 0.25`."""
        before, after = self.passed
        if before is None or after is None:
            return f"{self.id}: {'added' if before is None else 'removed'}"
        told = {(True, True): "passes", (False, False): "fails", (True, False): "passed, now fails"}
        verdict = told.get((before, after), "failed, now passes")
        return f"{self.id}: {verdict}, margin {self.margin[0]} → {self.margin[1]}"


@dataclass(frozen=True)
class RevisionDiff:
    """Everything that tells one revision from another."""

    old: str
    new: str
    reasons: tuple[str, ...]
    texts: Mapping[str, str]  # unified diffs of the lesson's files by name
    code: tuple[str, ...]  # those of them that are neither the recipe nor the checks
    recipe: tuple[Edit, ...]
    prose: tuple[Edit, ...]
    graph: GraphDiff
    numbers: Comparison
    checks: tuple[CheckDiff, ...]
    environment: tuple[Edit, ...]  # what belongs to the identity
    machine: tuple[Edit, ...]  # what does not
    files: tuple[Edit, ...]  # sizes in bytes, of every file whose bytes differ

    def words(self) -> list[str]:
        """The reasons with their counts, `numbers (3 of 12 arrays, largest 4 ulp at …)`."""
        counts = {
            "source": _count(len(self.code), "file"),
            "recipe": _count(len(self.recipe), "key"), "prose": _count(len(self.prose), "key"),
            "checks": ", ".join(check.words() for check in self.checks if check.edited),
            "numbers": self.numbers.words(), "graph": self.graph.words(),
            "environment": ", ".join(edit.words() for edit in self.environment),
            "templates": _count(sum(edit.name not in self.texts for edit in self.files), "file"),
        }  # fmt: skip
        return [f"{reason} ({counts[reason]})" if counts.get(reason) else reason for reason in self.reasons]

    def document(self) -> RevisionDiffDocument:
        """The changes as plain data, for programs."""
        return {
            "old": self.old, "new": self.new, "reasons": list(self.reasons), "words": self.words(),
            "texts": dict(self.texts), "recipe": _edits(self.recipe), "prose": _edits(self.prose),
            "graph": {
                "added": list(self.graph.added), "removed": list(self.graph.removed),
                "changed": {name: _edits(edits) for name, edits in (self.graph.changed or {}).items()},
                "connectionsAdded": list(self.graph.connections_added),
                "connectionsRemoved": list(self.graph.connections_removed),
            },
            "numbers": self.numbers.document(),
            "checks": [{"id": c.id, "sentence": c.sentence, "passed": list(c.passed), "margin": list(c.margin)}
                       for c in self.checks],
            "environment": _edits(self.environment), "machine": _edits(self.machine), "files": _edits(self.files),
        }  # fmt: skip


def compare_revisions(old: Path, new: Path) -> RevisionDiff:
    """Compare two revision folders of one lesson, by the old one's tolerance.

    Raises LessonError when one of them cannot be read.
    """
    sides = [published.read_identity(old), published.read_identity(new)]
    told = [published.read_manifest(old), published.read_manifest(new)]
    prose, recipe = _recipe(old, new)
    graph = compare_graphs(told[0], told[1])
    texts = _texts(old, new)
    code = tuple(name for name in texts if name not in {RECIPE, *(_checks_file(side) for side in (old, new))})
    atol, rtol = published.read_tolerance(old)
    numbers = [{**published.read_numbers(side), **published.read_weights(side)} for side in (old, new)]
    return RevisionDiff(
        told[0]["revision"], told[1]["revision"], list_reasons(sides[0], sides[1], graph, templates=_other(told)),
        texts, code, recipe, prose, graph, numeric_diff.compare(numbers[0], numbers[1], atol=atol, rtol=rtol),
        _checks(told[0], told[1], sides), _environment(sides[0], sides[1]),
        list_edits({key: told[0]["provenance"].get(key) for key in MACHINE},
                   {key: told[1]["provenance"].get(key) for key in MACHINE}),
        _files(old, new),
    )  # fmt: skip


def list_reasons(
    old: Mapping[str, Any], new: Mapping[str, Any], graph: GraphDiff, *, templates: bool = False
) -> tuple[str, ...]:
    """Why one identity is not the other, with `graph` where the graphs differ in more than their places."""
    found = identity.list_reasons(old, new, templates=templates) if old != new else []
    if graph.same():
        return tuple(found)
    at = next((i for i, word in enumerate(found) if word in ("environment", "templates")), len(found))
    return (*found[:at], "graph", *found[at:])


def _other(told: list[dict[str, Any]]) -> bool:
    """Whether other templates, or other code that fills them, made one revision than the other.

    The earliest manifests do not name theirs.
    """
    made = [side["provenance"].get("templatesSha256") for side in told]
    return bool(made[0] != made[1])


def compare_graphs(old: Mapping[str, Any], new: Mapping[str, Any]) -> GraphDiff:
    """Compare two graphs by the ids of their layers and the ends of their connections."""
    layers = [{layer["id"]: {k: v for k, v in layer.items() if k not in PLACES} for layer in side["layers"]}
              for side in (old, new)]  # fmt: skip
    ends = [[_ends(wire) for wire in side["connections"]] for side in (old, new)]
    changed = {name: list_edits(layers[0][name], layers[1][name]) for name in layers[0] if name in layers[1]}
    return GraphDiff(
        tuple(name for name in layers[1] if name not in layers[0]),
        tuple(name for name in layers[0] if name not in layers[1]),
        {name: found for name, found in changed.items() if found},
        tuple(_beyond(ends[1], ends[0])), tuple(_beyond(ends[0], ends[1])),
    )  # fmt: skip


def _ends(wire: Mapping[str, Any]) -> str:
    ports = [f"{wire[end]}{f'.{wire[port]}' if wire.get(port) else ''}"
             for end, port in (("source", "sourcePort"), ("target", "targetPort"))]  # fmt: skip
    calls = [f"#{wire[key]}" for key in ("sourceCall", "targetCall") if wire.get(key) is not None]
    return " → ".join(ports) + (f" (calls {', '.join(calls)})" if calls else "")


def _beyond(some: list[str], others: list[str]) -> Iterator[str]:
    """Those of `some` that are not among `others`, each as often as it is missing there."""
    left = list(others)
    for name in some:
        if name in left:
            left.remove(name)
        else:
            yield name


def list_edits(old: Any, new: Any, name: str = "") -> tuple[Edit, ...]:
    """Every leaf of two nested values that differs, named by its path: `experiment.cases[2].note`."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [*old, *(key for key in new if key not in old)]
        parts = [(f"{name}.{key}" if name else str(key), old.get(key, ABSENT), new.get(key, ABSENT)) for key in keys]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        parts = [(f"{name}[{at}]", a, b) for at, (a, b) in enumerate(zip(old, new, strict=True))]
    elif _by_id(old) and _by_id(new):
        return list_edits({entry["id"]: entry for entry in old}, {entry["id"]: entry for entry in new}, name)
    else:
        return () if _equal(old, new) else (Edit(name, *_apart(_text(old), _text(new))),)
    return tuple(edit for part, a, b in parts for edit in list_edits(a, b, part))


def _by_id(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(e, dict) and "id" in e for e in value)


def _equal(old: Any, new: Any) -> bool:
    return type(old) is type(new) and (old == new or (old != old and new != new))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json.compact(value) if _is_json(value) else str(value)


def _apart(old: str, new: str) -> tuple[str, str]:
    """Two texts as they are shown beside each other: long ones are cut around the place where they differ."""
    if max(len(old), len(new)) <= SHOWN:
        return old, new
    shorter = min(len(old), len(new))
    first = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    last = next((at for at in range(shorter - first) if old[-1 - at] != new[-1 - at]), shorter - first)
    return _cut(old, first, len(old) - last), _cut(new, first, len(new) - last)


def _cut(text: str, first: int, last: int) -> str:
    """A long text with some of what stands before and after a place in it."""
    start, end = max(0, first - BEFORE), min(len(text), last + BEFORE)
    end = min(end, start + SHOWN)
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def _is_json(value: Any) -> bool:
    return isinstance(value, dict | list | bool | int | None)


def _recipe(old: Path, new: Path) -> tuple[tuple[Edit, ...], tuple[Edit, ...]]:
    """The edits of the recipe: those of its words, and all others."""
    found = list_edits(_yaml(old / RECIPE), _yaml(new / RECIPE))
    prose = tuple(edit for edit in found if _is_prose(edit.name))
    return prose, tuple(edit for edit in found if edit not in prose)


def _is_prose(name: str) -> bool:
    top, last = name.split(".")[0].split("[")[0], name.split(".")[-1]
    return top in PROSE or (top == "experiment" and last in WORDS)


def _yaml(path: Path) -> Any:
    if not path.is_file():
        return {}
    return YAML(typ="safe", pure=True).load(io.StringIO(path.read_text(encoding="utf-8-sig")))


def _texts(old: Path, new: Path) -> dict[str, str]:
    """Unified diffs of the lesson's own files."""
    names = dict.fromkeys(sorted({*_own(old), *_own(new)}))
    before, after = published.read_texts(old, names), published.read_texts(new, names)
    found = {name: "".join(difflib.unified_diff(_lines(before.get(name, "")), _lines(after.get(name, "")),
                                                f"{old.name}/{name}", f"{new.name}/{name}"))
             for name in names}  # fmt: skip
    return {name: text for name, text in found.items() if text}


def _own(folder: Path) -> list[str]:
    """The lesson's own files in a revision folder: what lessonpress does not add to every lesson."""
    made = {*identity.DERIVED, *identity.NUMERIC, "compare.py", "verify.py", "run.py", "plan.json", "preview.svg",
            "requirements.txt"}  # fmt: skip
    names = published.read_identity(folder)["files"]
    return [name for name in names if name not in made and not name.startswith(("worker/", "values/"))]


def _checks_file(folder: Path) -> str | None:
    path = folder / "plan.json"
    return canonical_json.read(path)["checks"] if path.is_file() else None


def _lines(text: str) -> list[str]:
    return [line if line.endswith("\n") else f"{line}\n" for line in text.splitlines(keepends=True)]


def _checks(old: Mapping[str, Any], new: Mapping[str, Any], sides: list[dict[str, Any]]) -> tuple[CheckDiff, ...]:
    """The checks that came, went, flipped or lost margin, and all that changed otherwise."""
    before, after = ({c["id"]: c for c in side.get("checks") or []} for side in (old, new))
    edited = sides[0]["digests"].get("checks") != sides[1]["digests"].get("checks")
    found = []
    for name in [*before, *(name for name in after if name not in before)]:
        a, b = before.get(name, {}), after.get(name, {})
        if any(a.get(key) != b.get(key) for key in ("passed", "margin", "bound", "sense", "sentence")):
            other = any(a.get(key) != b.get(key) for key in ("bound", "sense", "sentence"))
            found.append(CheckDiff(name, str((b or a)["sentence"]), (a.get("passed"), b.get("passed")),
                                   (a.get("margin"), b.get("margin")), edited and other))  # fmt: skip
    return tuple(found)


def _environment(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Edit, ...]:
    before, after = ({key: side.get(key) for key in identity.ENVIRONMENT} for side in (old, new))
    return list_edits(before, after)


def _files(old: Path, new: Path) -> tuple[Edit, ...]:
    """Every file whose bytes differ, with its sizes; what holds the id differs always and is left out."""
    before, after = ({n: d for n, d in published.read_files(side).items() if n not in identity.DERIVED - {"index.html"}}
                     for side in (old, new))  # fmt: skip
    names = sorted({*before, *after})
    return tuple(Edit(name, _size(before.get(name)), _size(after.get(name)))
                 for name in names if before.get(name) != after.get(name))  # fmt: skip


def _size(data: bytes | None) -> str:
    return ABSENT if data is None else f"{len(data)} bytes"


def _edits(found: tuple[Edit, ...]) -> list[EditDocument]:
    return [{"name": edit.name, "old": edit.old, "new": edit.new} for edit in found]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""
