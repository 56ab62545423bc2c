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
    from lessonpress.web.page.page_data import Live

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
class Hero:
    """The main figure as one case shows it, and a sentence that says where its numbers are largest and smallest."""

    case: str
    label: Markup
    matrix: figures.Matrix | None
    vector: figures.Vector | None
    says: str


@dataclass(frozen=True)
class Experiment:
    """The recorded example: its words, the matrices that no case changes, and its cases.

    `note` is what all cases say alike, `hero` the figure of the first screen, case by case; it stands there alone.
    """

    title: Markup
    description: Markup
    control: str
    note: Markup
    hero: tuple[Hero, ...]
    fixed: tuple[figures.Matrix, ...]
    cases: tuple[Case, ...]
    recorded: str


def make_experiment(
    manifest: Manifest, recipe: Recipe, terms: glossary.Terms, reach: scales.Reach, live: Live | None = None
) -> Experiment | None:  # fmt: skip
    """The recorded example, or None for a lesson without cases; `reach` is how far its control takes each figure."""
    example, cases = manifest.get("experiment"), list_cases(manifest)
    if not example or not cases:
        return None
    notes = {case.get("note") or "" for case in cases}
    shared = notes.pop() if len(notes) == 1 else ""
    control = example.get("control")
    scaled = choose_scales(manifest, recipe, reach)
    main = choose_hero(manifest, recipe, live)
    label = (control.get("label") if control else None) or example.get("controlLabel") or "Case"
    return Experiment(
        Markup(prose.to_inline(example.get("title") or "", where="experiment.title")),
        terms.mark(prose.to_html(example.get("description") or "", where="experiment.description")),
        prose.to_text(label),
        terms.mark(prose.to_html(shared, where="experiment.cases: note")),
        tuple(_make_hero(case, *main, scaled) for case in cases) if main else (),
        _make_matrices(cases[0], cases, scaled, main, fixed=True),
        tuple(_make_case(case, cases, scaled, main, "" if shared else None, terms) for case in cases),
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


def choose_hero(manifest: Manifest, recipe: Recipe, live: Live | None) -> tuple[Kind, int] | None:
    """The figure of the first screen: the one that the recipe names, or the first that the control drives.

    Where nothing is computed it is the first that differs from case to case. None where there is no such figure.
    """
    cases = list_cases(manifest)
    record = recipe.experiment.record if recipe.experiment else None
    kinds: tuple[Kind, ...] = ("matrices", "vectors")
    fitting = [(kind, at) for kind in kinds for at, entry in enumerate(_list_arrays(cases[0], kind) if cases else [])
               if not isinstance(entry["values"], dict)
               and len({tuple(_measure(case, kind, at)) for case in cases}) == 1]  # fmt: skip
    entries = {("matrices", at): entry.id for at, entry in enumerate(record.matrices)} if record else {}
    entries |= {("vectors", at): entry.id for at, entry in enumerate(record.vectors)} if record else {}
    named = [each for each in fitting if recipe.hero and entries.get(each) == recipe.hero]
    moving = [each for each in fitting if not _is_fixed(cases, *each)]
    driven = [each for each in moving if live and _is_driven(live, *each)]
    return next(iter([*named, *driven, *moving]), None)


def _measure(case: PublishedCase, kind: Kind, at: int) -> list[int]:
    """How many numbers a figure has; nothing where the case lacks it."""
    return [len(arrays.list_numbers(each)) for each in _list_arrays(case, kind)[at : at + 1]]


def _is_driven(live: Live, kind: Kind, at: int) -> bool:
    """Whether the page computes a figure, in every way that a case runs, and does not only read it off the inputs."""
    sources = [way[kind][at] for way in (live, *live.get("ways", []))]
    return all(source is not None and any(port[0].isdigit() for port in source["ports"]) for source in sources)


def _make_hero(case: PublishedCase, kind: Kind, at: int, scaled: Mapping[str, scales.Scale]) -> Hero:
    key, entry = _make_keys(case, kind)[at], _list_arrays(case, kind)[at]
    scale = scaled.get(f"{kind}/{at}")
    matrix = figures.make_matrix(entry, key=key, scale=scale) if kind == "matrices" else None
    vector = figures.make_vectors([entry], keys=[key], same=[False], scales=scaled)[0] if kind == "vectors" else None
    label = Markup(prose.to_inline(case.get("label") or case["id"]))
    says = figures.describe_extremes(matrix.panels[0].grid) if matrix and len(matrix.panels) == 1 else ""
    if vector:
        says = figures.describe_bars(vector.axis, arrays.list_numbers(entry))
    return Hero(case["id"], label, matrix, vector, says)


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
    case: PublishedCase, cases: Sequence[PublishedCase], scaled: Mapping[str, scales.Scale],
    main: tuple[Kind, int] | None, note: str | None, terms: glossary.Terms,
) -> Case:  # fmt: skip
    """One case with its figures but the `main` one.

    `note` stands instead of its own note, where that is said once for all cases.
    """
    places = [at for at in range(len(_list_arrays(case, "vectors"))) if main != ("vectors", at)]
    vectors, keys = _list_arrays(case, "vectors"), _make_keys(case, "vectors")
    words = case.get("note") or "" if note is None else note
    return Case(
        case["id"],
        Markup(prose.to_inline(case.get("label") or case["id"], where=f"case {case['id']}: label")),
        terms.mark(prose.to_html(words, where=f"case {case['id']}: note")),
        _make_matrices(case, cases, scaled, main, fixed=False),
        figures.make_vectors([vectors[at] for at in places], keys=[keys[at] for at in places],
                             same=[_is_fixed(cases, "vectors", at) for at in places], scales=scaled),
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
    case: PublishedCase, cases: Sequence[PublishedCase], scaled: Mapping[str, scales.Scale],
    main: tuple[Kind, int] | None, *, fixed: bool,
) -> tuple[figures.Matrix, ...]:  # fmt: skip
    """The matrices of a case but the `main` one: those that are the same in every case (`fixed`), or the others."""
    return tuple(
        figures.make_matrix(each, key=key, scale=scaled.get(f"matrices/{at}"))
        for at, (key, each) in enumerate(zip(_make_keys(case, "matrices"), _list_arrays(case, "matrices"), strict=True))
        if main != ("matrices", at) and _is_fixed(cases, "matrices", at) is fixed
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
