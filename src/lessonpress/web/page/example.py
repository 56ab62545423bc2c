"""The recorded example of a lesson, as records for the page: cases, the figures that they change, and the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from lessonpress.web import prose
from lessonpress.web.page import arrays, figures, glossary, numbers


@dataclass(frozen=True)
class Case:
    """One recorded case with its figures."""

    id: str
    label: Markup
    note: Markup
    matrices: tuple[figures.Matrix, ...]
    vectors: tuple[figures.Vector, ...]
    metrics: tuple[tuple[Markup, str, str], ...]  # (label, shown, full precision)


@dataclass(frozen=True)
class Experiment:
    """The recorded example: its words, the matrices that no case changes, and its cases.

    `note` is what all cases say alike.
    """

    title: Markup
    description: Markup
    control: str
    note: Markup
    fixed: tuple[figures.Matrix, ...]
    cases: tuple[Case, ...]
    recorded: str


def make_experiment(
    manifest: Mapping[str, Any], recipe: Mapping[str, Any], marked: glossary.Terms
) -> Experiment | None:
    """The recorded example, or None for a lesson without cases."""
    told = manifest.get("experiment") or {}
    recorded = told.get("cases") or []
    if not recorded:
        return None
    notes = {str(each.get("note") or "") for each in recorded}
    shared = notes.pop() if len(notes) == 1 else ""
    run = recipe.get("experiment") or {}
    control = (told.get("control") or {}).get("label") or told.get("controlLabel") or "Case"
    return Experiment(
        Markup(prose.to_inline(str(told.get("title") or ""), where="experiment.title")),
        marked.mark(prose.to_html(str(told.get("description") or ""), where="experiment.description")),
        prose.to_text(str(control)),
        marked.mark(prose.to_html(shared, where="experiment.cases: note")),
        _matrices(recorded[0], recorded, fixed=True),
        tuple(_case(each, recorded, "" if shared else None, marked) for each in recorded),
        _facts(run, ("seed", "dtype")),
    )


def collect_figure_values(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Full-precision values of every figure that is shown, by the figure's key; what is not shown is left out."""
    kept: dict[str, Any] = {}
    cases = (manifest.get("experiment") or {}).get("cases") or []
    for case in cases:
        for at, (key, matrix) in enumerate(zip(_keys(case, "matrices"), case.get("matrices") or [], strict=True)):
            if isinstance(matrix["values"], Mapping) or (case is not cases[0] and _same(cases, "matrices", at)):
                continue
            shown = arrays.make_grids(matrix)
            kept |= {key if len(shown) == 1 else f"{key}/{n}": grid.values for n, grid in enumerate(shown)}
        for key, vector in zip(_keys(case, "vectors"), case.get("vectors") or [], strict=True):
            if not isinstance(vector["values"], Mapping):
                kept[key] = [list(arrays.flatten(arrays.read_values(vector)))[: arrays.ROWS]]
    return {key: [[_for_script(value) for value in line] for line in lines] for key, lines in kept.items()}


def collect_metric_values(manifest: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Full-precision values of every metric by case."""
    cases = (manifest.get("experiment") or {}).get("cases") or []
    return {str(case["id"]): [_for_script(metric["value"]) for metric in case.get("metrics") or []] for case in cases}


def _case(
    case: Mapping[str, Any], cases: Sequence[Mapping[str, Any]], note: str | None, marked: glossary.Terms
) -> Case:
    """One case with its figures; `note` stands instead of its own note, where that is said once for all cases."""
    vectors = case.get("vectors") or []
    words = str(case.get("note") or "") if note is None else note
    return Case(
        str(case["id"]),
        Markup(prose.to_inline(str(case.get("label") or case["id"]), where=f"case {case['id']}: label")),
        marked.mark(prose.to_html(words, where=f"case {case['id']}: note")),
        _matrices(case, cases, fixed=False),
        figures.make_vectors(
            vectors, keys=_keys(case, "vectors"), same=[_same(cases, "vectors", at) for at in range(len(vectors))]
        ),
        tuple(
            (Markup(prose.to_inline(_label(metric))), numbers.short(metric["value"]), numbers.exact(metric["value"]))
            for metric in case.get("metrics") or []
        ),
    )


def _for_script(value: Any) -> Any:
    """A value as a script can read it without loss: integers beyond 2**53 and complex numbers as text."""
    lossy = isinstance(value, tuple) or (isinstance(value, int) and abs(value) > 2**53)
    return numbers.exact(value) if lossy else value


def _matrices(
    case: Mapping[str, Any], cases: Sequence[Mapping[str, Any]], *, fixed: bool
) -> tuple[figures.Matrix, ...]:
    """The matrices of a case that are the same in every case (`fixed`), or else those that are its own."""
    return tuple(
        figures.make_matrix(each, key=key)
        for at, (key, each) in enumerate(zip(_keys(case, "matrices"), case.get("matrices") or [], strict=True))
        if _same(cases, "matrices", at) is fixed
    )


def _label(figure: Mapping[str, Any]) -> str:
    return str(figure.get("label") or figure.get("id") or "")


def _keys(case: Mapping[str, Any], kind: str) -> list[str]:
    """A key for each figure of a case: case, kind and place, which are unique whatever the ids are."""
    return [f"{case['id']}/{kind}/{at}" for at in range(len(case.get(kind) or []))]


def _same(cases: Sequence[Mapping[str, Any]], kind: str, at: int) -> bool:
    """Whether the figure at this place holds the same values in every one of several cases."""
    shown = [(case.get(kind) or [])[at : at + 1] for case in cases]
    return len(cases) > 1 and all(each and each[0]["values"] == shown[0][0]["values"] for each in shown)


def _facts(run: Mapping[str, Any], names: Iterable[str]) -> str:
    """Settings of a run in a line: `seed 21, float64`."""
    told = [(name, run[name]) for name in names if run.get(name) is not None]
    return ", ".join(str(value) if name == "dtype" else f"{name} {value}" for name, value in told)
