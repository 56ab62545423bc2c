"""The recorded example of a lesson, as records for the page: cases, the figures that they change, and the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from markupsafe import Markup

from lessonpress.web import prose
from lessonpress.web.page import arrays, figures, glossary, numbers, scales
from lessonpress.web.page.numbers import Shown

if TYPE_CHECKING:
    from lessonpress.lesson.recipe import Recipe, Recorded
    from lessonpress.revision.manifest_schema import Manifest, PublishedArray, PublishedCase, PublishedMetric

Kind: TypeAlias = Literal["matrices", "vectors"]


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
    manifest: Manifest, recipe: Recipe, terms: glossary.Terms, reach: scales.Reach
) -> Experiment | None:  # fmt: skip
    """The recorded example, or None for a lesson without cases; `reach` is how far its control takes each figure."""
    example, cases = manifest.get("experiment"), list_cases(manifest)
    if not example or not cases:
        return None
    notes = {case.get("note") or "" for case in cases}
    shared = notes.pop() if len(notes) == 1 else ""
    control = example.get("control")
    scaled = choose_scales(manifest, recipe, reach)
    label = (control.get("label") if control else None) or example.get("controlLabel") or "Case"
    return Experiment(
        Markup(prose.to_inline(example.get("title") or "", where="experiment.title")),
        terms.mark(prose.to_html(example.get("description") or "", where="experiment.description")),
        prose.to_text(label),
        terms.mark(prose.to_html(shared, where="experiment.cases: note")),
        _make_matrices(cases[0], cases, scaled, fixed=True),
        tuple(_make_case(case, cases, scaled, "" if shared else None, terms) for case in cases),
        _describe_run(recipe),
    )


def choose_scales(manifest: Manifest, recipe: Recipe, reach: scales.Reach) -> dict[str, scales.Scale]:
    """The one scale of each figure, by kind and place (`matrices/0`)."""
    record = recipe.experiment.record if recipe.experiment else None
    entries: list[tuple[str, Recorded]] = []
    if record:
        entries += [(f"matrices/{at}", entry) for at, entry in enumerate(record.matrices)]
        entries += [(f"vectors/{at}", entry) for at, entry in enumerate(record.vectors)]
    return scales.choose_scales(list_cases(manifest), reach, entries)


def list_cases(manifest: Manifest) -> list[PublishedCase]:
    """The recorded cases of a manifest; none where it has no experiment."""
    experiment = manifest.get("experiment")
    return (experiment.get("cases") or []) if experiment else []


def collect_figure_values(manifest: Manifest) -> dict[str, list[list[Shown]]]:
    """Full-precision values of every figure that is shown, by the figure's key; what is not shown is left out."""
    kept: dict[str, Sequence[Sequence[Shown]]] = {}
    cases = list_cases(manifest)
    for case in cases:
        matrices = zip(_make_keys(case, "matrices"), _list_arrays(case, "matrices"), strict=True)
        for at, (key, matrix) in enumerate(matrices):
            if case is not cases[0] and _is_fixed(cases, "matrices", at):
                continue
            shown = figures.make_grids(matrix)
            kept |= {key if len(shown) == 1 else f"{key}/{n}": grid.values for n, grid in enumerate(shown)}
        for key, vector in zip(_make_keys(case, "vectors"), _list_arrays(case, "vectors"), strict=True):
            if not isinstance(vector["values"], dict):
                numbers_in_order = arrays.flatten(arrays.pair_complex(vector["values"], vector.get("dtype")))
                kept[key] = [list(numbers_in_order)[: arrays.ROWS]]
    return {key: [[_without_loss(value) for value in line] for line in lines] for key, lines in kept.items()}


def collect_metric_values(manifest: Manifest) -> dict[str, list[Shown]]:
    """Full-precision values of every metric by case."""
    return {case["id"]: [_without_loss(metric["value"]) for metric in case.get("metrics") or []]
            for case in list_cases(manifest)}  # fmt: skip


def _make_case(
    case: PublishedCase, cases: Sequence[PublishedCase], scaled: Mapping[str, scales.Scale], note: str | None,
    terms: glossary.Terms,
) -> Case:  # fmt: skip
    """One case with its figures; `note` stands instead of its own note, where that is said once for all cases."""
    vectors = _list_arrays(case, "vectors")
    words = case.get("note") or "" if note is None else note
    return Case(
        case["id"],
        Markup(prose.to_inline(case.get("label") or case["id"], where=f"case {case['id']}: label")),
        terms.mark(prose.to_html(words, where=f"case {case['id']}: note")),
        _make_matrices(case, cases, scaled, fixed=False),
        figures.make_vectors(vectors, keys=_make_keys(case, "vectors"),
                             same=[_is_fixed(cases, "vectors", at) for at in range(len(vectors))], scales=scaled),
        tuple(map(_make_metric, case.get("metrics") or [])),
    )  # fmt: skip


def _make_metric(metric: PublishedMetric) -> tuple[Markup, str, str]:
    """A metric's label, its value as shown, and with every digit."""
    label = Markup(prose.to_inline(metric.get("label") or metric.get("id") or ""))
    return label, numbers.format_short(metric["value"]), numbers.format_exact(metric["value"])


def _without_loss(value: Shown) -> Shown:
    """A value as a script can read it without loss: integers beyond 2**53 and complex numbers as text."""
    lossy = isinstance(value, tuple) or (isinstance(value, int) and abs(value) > 2**53)
    return numbers.format_exact(value) if lossy else value


def _make_matrices(
    case: PublishedCase, cases: Sequence[PublishedCase], scaled: Mapping[str, scales.Scale], *, fixed: bool
) -> tuple[figures.Matrix, ...]:  # fmt: skip
    """The matrices of a case that are the same in every case (`fixed`), or else those that are its own."""
    return tuple(
        figures.make_matrix(each, key=key, scale=scaled.get(f"matrices/{at}"))
        for at, (key, each) in enumerate(zip(_make_keys(case, "matrices"), _list_arrays(case, "matrices"), strict=True))
        if _is_fixed(cases, "matrices", at) is fixed
    )


def _list_arrays(case: PublishedCase, kind: Kind) -> list[PublishedArray]:
    """The recorded arrays of a case that are shown as figures of one kind."""
    return case.get(kind) or []


def _make_keys(case: PublishedCase, kind: Kind) -> list[str]:
    """A key for each figure of a case: case, kind and place, which are unique whatever the ids are."""
    return [f"{case['id']}/{kind}/{at}" for at in range(len(_list_arrays(case, kind)))]


def _is_fixed(cases: Sequence[PublishedCase], kind: Kind, at: int) -> bool:
    """Whether the figure at this place holds the same values in every one of several cases."""
    shown = [_list_arrays(case, kind)[at : at + 1] for case in cases]
    return len(cases) > 1 and all(each and each[0]["values"] == shown[0][0]["values"] for each in shown)


def _describe_run(recipe: Recipe) -> str:
    """Seed and dtype of the cases in a line: `seed 21, float64`."""
    experiment = recipe.experiment
    if experiment is None:
        return ""
    seed = [] if experiment.seed is None else [f"seed {experiment.seed}"]
    return ", ".join([*seed, experiment.dtype])
