"""What changed between two revisions of a lesson: texts, recipe, graph, numbers, checks, environment, files."""

from __future__ import annotations

import difflib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from ruamel.yaml import YAML

from lessonpress.core import canonical_json
from lessonpress.lesson.recipe import PROSE, WORDS
from lessonpress.revision import identity, numeric_diff, published
from lessonpress.revision.edits import ABSENT, Edit, EditDocument, format_count, list_documents, list_edits
from lessonpress.revision.graph_diff import GraphDiff, GraphDiffDocument, compare_graphs

if TYPE_CHECKING:
    from lessonpress.lesson.records import Real, Verdict
    from lessonpress.revision.identity import Identity
    from lessonpress.revision.manifest_schema import Manifest
    from lessonpress.revision.numeric_diff import Comparison, ComparisonDocument

MACHINE = ("lessonpress", "python", "torch", "initialisation", "settings", "cpu", "host", "isolation",
           "productRevision", "capturedAt")  # fmt: skip
RECIPE = "lesson.yaml"


class CheckDiffDocument(TypedDict):
    """The difference of a check as plain data: each time the old and the new, None where there is none."""

    id: str
    sentence: str
    passed: list[bool | None]
    margin: list[Real | None]


class RevisionDiffDocument(TypedDict):
    """The difference of two revisions as plain data."""

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
        known = {(True, True): "passes", (False, False): "fails", (True, False): "passed, now fails"}
        verdict = known.get((before, after), "failed, now passes")
        return f"{self.id}: {verdict}, margin {self.margin[0]} → {self.margin[1]}"

    def document(self) -> CheckDiffDocument:
        """The difference as plain data."""
        return {"id": self.id, "sentence": self.sentence, "passed": list(self.passed), "margin": list(self.margin)}


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
            "source": format_count(len(self.code), "file"),
            "recipe": format_count(len(self.recipe), "key"), "prose": format_count(len(self.prose), "key"),
            "checks": ", ".join(check.words() for check in self.checks if check.edited),
            "numbers": self.numbers.words(), "graph": self.graph.words(),
            "environment": ", ".join(edit.words() for edit in self.environment),
            "templates": format_count(sum(edit.name not in self.texts for edit in self.files), "file"),
        }  # fmt: skip
        return [f"{reason} ({counts[reason]})" if counts.get(reason) else reason for reason in self.reasons]

    def document(self) -> RevisionDiffDocument:
        """The changes as plain data, for programs."""
        return {
            "old": self.old, "new": self.new, "reasons": list(self.reasons), "words": self.words(),
            "texts": dict(self.texts), "recipe": list_documents(self.recipe), "prose": list_documents(self.prose),
            "graph": self.graph.document(), "numbers": self.numbers.document(),
            "checks": [check.document() for check in self.checks], "environment": list_documents(self.environment),
            "machine": list_documents(self.machine), "files": list_documents(self.files),
        }  # fmt: skip


def find_reasons(old: Path, new: Path) -> tuple[str, ...]:
    """Why one revision folder is not the other: the reasons alone, which need no array, recipe or text.

    Raises LessonError when one of them cannot be read.
    """
    identities, manifests = _read_sides(old, new)
    return list_reasons(*identities, compare_graphs(*manifests), templates=_have_other_templates(manifests))


def _read_sides(old: Path, new: Path) -> tuple[tuple[Identity, Identity], tuple[Manifest, Manifest]]:
    return ((published.read_identity(old), published.read_identity(new)),
            (published.read_manifest(old), published.read_manifest(new)))  # fmt: skip


def compare_revisions(old: Path, new: Path) -> RevisionDiff:
    """Compare two revision folders of one lesson, by the old one's tolerance.

    Raises LessonError when one of them cannot be read.
    """
    identities, manifests = _read_sides(old, new)
    prose, recipe = _compare_recipes(old, new)
    graph = compare_graphs(manifests[0], manifests[1])
    texts = _compare_texts(old, new)
    code = tuple(name for name in texts if name not in {RECIPE, *(_find_checks_file(side) for side in (old, new))})
    atol, rtol = published.read_tolerance(old)
    numbers = [{**published.read_numbers(side), **published.read_weights(side)} for side in (old, new)]
    machines = [{key: manifest["provenance"].get(key) for key in MACHINE} for manifest in manifests]
    return RevisionDiff(
        old=manifests[0]["revision"],
        new=manifests[1]["revision"],
        reasons=list_reasons(identities[0], identities[1], graph, templates=_have_other_templates(manifests)),
        texts=texts,
        code=code,
        recipe=recipe,
        prose=prose,
        graph=graph,
        numbers=numeric_diff.compare(numbers[0], numbers[1], atol=atol, rtol=rtol),
        checks=_compare_checks(manifests, identities),
        environment=_compare_environments(identities[0], identities[1]),
        machine=list_edits(machines[0], machines[1]),
        files=_compare_files(old, new),
    )


def list_reasons(old: Identity, new: Identity, graph: GraphDiff, *, templates: bool = False) -> tuple[str, ...]:
    """Why one identity is not the other, with `graph` where the graphs differ in more than their places."""
    reasons = identity.list_reasons(old, new, templates=templates) if old != new else []
    if graph.same():
        return tuple(reasons)
    at = next((i for i, word in enumerate(reasons) if word in ("environment", "templates")), len(reasons))
    return (*reasons[:at], "graph", *reasons[at:])


def _have_other_templates(manifests: Sequence[Manifest]) -> bool:
    """Whether other templates, or other code that fills them, made one revision than the other.

    The earliest manifests do not name theirs.
    """
    return len({manifest["provenance"].get("templatesSha256") for manifest in manifests}) > 1


def _compare_recipes(old: Path, new: Path) -> tuple[tuple[Edit, ...], tuple[Edit, ...]]:
    """The edits of the recipe: those of its words, and all others."""
    edits = list_edits(_read_yaml(old / RECIPE), _read_yaml(new / RECIPE))
    prose = tuple(edit for edit in edits if _is_prose(edit.name))
    return prose, tuple(edit for edit in edits if edit not in prose)


def _is_prose(name: str) -> bool:
    top, last = name.split(".")[0].split("[")[0], name.split(".")[-1]
    return top in PROSE or (top == "experiment" and last in WORDS)


def _read_yaml(path: Path) -> Any:
    if not path.is_file():
        return {}
    return YAML(typ="safe", pure=True).load(io.StringIO(path.read_text(encoding="utf-8-sig")))


def _compare_texts(old: Path, new: Path) -> dict[str, str]:
    """Unified diffs of the lesson's own files."""
    names = sorted({*_list_own_files(old), *_list_own_files(new)})
    before, after = published.read_texts(old, names), published.read_texts(new, names)
    diffs = {name: "".join(difflib.unified_diff(_split_lines(before.get(name, "")), _split_lines(after.get(name, "")),
                                                f"{old.name}/{name}", f"{new.name}/{name}"))
             for name in names}  # fmt: skip
    return {name: text for name, text in diffs.items() if text}


def _list_own_files(folder: Path) -> list[str]:
    """The lesson's own files in a revision folder: what lessonpress does not add to every lesson."""
    made = {*identity.DERIVED, *identity.NUMERIC, "compare.py", "verify.py", "run.py", "plan.json", "preview.svg",
            "requirements.txt"}  # fmt: skip
    names = published.read_identity(folder)["files"]
    return [name for name in names if name not in made and not name.startswith(("worker/", "values/"))]


def _find_checks_file(folder: Path) -> str | None:
    path = folder / "plan.json"
    return canonical_json.read(path)["checks"] if path.is_file() else None


def _split_lines(text: str) -> list[str]:
    return [line if line.endswith("\n") else f"{line}\n" for line in text.splitlines(keepends=True)]


def _compare_checks(manifests: Sequence[Manifest], identities: Sequence[Identity]) -> tuple[CheckDiff, ...]:
    """The checks that came, went, flipped or lost margin, and all that changed otherwise."""
    before, after = ({check["id"]: check for check in side.get("checks") or []} for side in manifests)
    code = {side["digests"].get("checks") for side in identities}
    pairs = [(before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))]
    return tuple(_compare_check(old, new, edited=len(code) > 1) for old, new in pairs
                 if _differ(old, new, ("passed", "margin", "bound", "sense", "sentence")))  # fmt: skip


def _compare_check(old: Verdict | None, new: Verdict | None, *, edited: bool) -> CheckDiff:
    """One check in two revisions, at least one of which has it; `edited` says whether the checks' code is another."""
    known = [verdict for verdict in (new, old) if verdict]
    return CheckDiff(
        id=known[0]["id"],
        sentence=known[0]["sentence"],
        passed=(old["passed"] if old else None, new["passed"] if new else None),
        margin=(old["margin"] if old else None, new["margin"] if new else None),
        edited=edited and _differ(old, new, ("bound", "sense", "sentence")),
    )


def _differ(old: Verdict | None, new: Verdict | None, keys: Sequence[str]) -> bool:
    """Whether two verdicts differ in one of some keys; a verdict that is missing differs."""
    return old is None or new is None or any(old.get(key) != new.get(key) for key in keys)


def _compare_environments(old: Identity, new: Identity) -> tuple[Edit, ...]:
    before, after = ({key: side.get(key) for key in identity.ENVIRONMENT} for side in (old, new))
    return list_edits(before, after)


def _compare_files(old: Path, new: Path) -> tuple[Edit, ...]:
    """Every file whose bytes differ, with its sizes; what holds the id differs always and is left out."""
    before, after = ({n: d for n, d in published.read_files(side).items() if n not in identity.DERIVED - {"index.html"}}
                     for side in (old, new))  # fmt: skip
    names = sorted({*before, *after})
    return tuple(Edit(name, _format_size(before.get(name)), _format_size(after.get(name)))
                 for name in names if before.get(name) != after.get(name))  # fmt: skip


def _format_size(data: bytes | None) -> str:
    return ABSENT if data is None else f"{len(data)} bytes"
