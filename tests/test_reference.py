"""docs/reference.md says what is so: its tables are the schema's, and every example in it was run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lessonpress.build import steps
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.core import canonical_json
from lessonpress.core import config as settings
from lessonpress.lesson import reader
from lessonpress.publishing import publish
from lessonpress.web import prose, surroundings
from lessonpress.web.page import binding, lesson_words
from lessonpress.worker import recorded
from scripts import reference

PROJECT = Path(__file__).resolve().parents[1]
TEXT = reference.PAGE.read_text(encoding="utf-8")
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")




class Cases:
    """The example's recorded arrays, read from cases.json and nothing else."""

    def __init__(self, cases: dict[str, Any]) -> None:
        self.cases = cases

    def __call__(self, case: str, record: str) -> np.ndarray[Any, Any]:
        """One array of one case."""
        return np.array(self.cases[case]["arrays"][record]["values"])


BY_HAND: dict[str, Callable[[Cases], str]] = {
    "plain.total | fixed(1)": lambda at: f"{at('plain', 'mapped').sum():.1f}",
    "shifted.mapped[0, 2] | sig(3)": lambda at: f"{at('shifted', 'mapped')[0, 2]:.2f}",
    "shifted.first | argmax": lambda at: f"{at('shifted', 'first').argmax()}",
    "plain.mapped | max | fixed(2)": lambda at: f"{at('plain', 'mapped').max():.2f}",
    "(shifted.total - plain.total) | abs | fixed(2)":
        lambda at: f"{abs(at('shifted', 'mapped').sum() - at('plain', 'mapped').sum()):.2f}",
    'cases["plain"].spread | fixed(2)': lambda at: f"{np.ptp(at('plain', 'mapped')):.2f}",
    "(plain.total / (9 * 2.5)) | percent(1)": lambda at: f"{at('plain', 'mapped').sum() / 22.5:.1%}".replace("%", " %"),
}


def rows(heading: str) -> list[list[str]]:
    """The cells of the tables below a heading of the second level, without their heads."""
    section = TEXT.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    cells = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [row for row in cells if row[0] not in ("address", "expression", "you write", "key")]


def codes(cell: str) -> list[str]:
    """What stands as code in a cell."""
    return [match[2].strip() for match in CODE.finditer(cell)]


def test_the_page_is_made_from_the_schema() -> None:
    """`make reference` would write what is there."""
    assert reference.fill(TEXT) == TEXT


def test_the_example_uses_every_key() -> None:
    """A key that is added to the recipe has to be shown."""
    used = {key for key, _ in reference.examples(reference.read_example())}
    known = {(name, key) for name, part in reference.definitions().items() for key in part.get("properties", {})}
    assert used == known


@pytest.mark.parametrize("row", rows("Prose"), ids=lambda row: row[0])
def test_what_prose_may_hold_is_rendered(row: list[str]) -> None:
    """Each example gives markup of its own, not its text."""
    for code in codes(row[0]):
        text = f"${code}$" if row[0].startswith("`\\") or code.startswith(("x_", "W^", "\\")) else code
        with surroundings.within(around()):
            html = prose.to_html(text)
        assert re.search(r"<(em|s|code|a|ul|ol|blockquote|math|img|figure)\b", html), html
        assert text not in html


def test_what_takes_several_lines_is_rendered() -> None:
    """Each block of the page is read as a part of the example, and nothing in it is refused."""
    section = TEXT.split("\n## Prose\n", 1)[1].split("\n## ", 1)[0]
    blocks = [match[2] for match in re.finditer(r"^(`{3,})markdown\n(.*?)^\1$", section, re.DOTALL | re.MULTILINE)]
    with surroundings.within(around()):
        html = "".join(prose.to_html(block) for block in blocks)
    for part in ("callout note", "footnotes", "<details", "<table", 'class="excerpt"', 'class="lit"'):
        assert part in html, part
    assert "No page shows this" not in html


@cache
def around() -> surroundings.Surroundings:
    """What the words of the example may refer to."""
    lesson = reader.read(reference.EXAMPLE.parent)
    sizes = {name: len(data) for name, data in lesson.files.items()}
    sources = {name: data.decode() for name, data in lesson.files.items() if name.endswith(".py")}
    return lesson_words.make_surroundings(lesson.recipe, sizes, sources)


def test_every_filter_is_named() -> None:
    """Those of the page are those that there are."""
    section = TEXT.split("\nFilters:", 1)[1].split("\n## ", 1)[0]
    named = {re.split(r"\W", code)[0] for code in codes(section.replace("\n", " "))}
    assert named == set(binding.make_environment().filters)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LessonBuild]:
    """The lesson that uses every key, built and published in a repository of its own."""
    folder = tmp_path_factory.mktemp("reference")
    shutil.copy(PROJECT / "config.yaml", folder)
    shutil.copytree(reference.EXAMPLE.parent, folder / "lessons" / "every-key")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        work = steps.open_build(settings.read(), "every-key")
        steps.perform_all(work)
        assert publish.publish(work).mistakes == ()
        yield work


@pytest.mark.workflow
def test_the_example_is_published_with_all_that_it_says(example: LessonBuild) -> None:
    """Its checks pass on it and fail on its broken variant, and nothing of the recipe is lost."""
    manifest = canonical_json.read(next(example.config.published("every-key").glob("*/manifest.json")))
    assert [(check["passed"], check["mutants"][0]["failed"]) for check in manifest["checks"]] == [(True, True)] * 2
    assert [case["id"] for case in manifest["experiment"]["cases"]] == ["plain", "shifted"]
    assert manifest["provenance"]["prepared"]["runs"] == {"plain": "trained"}
    assert manifest["replay"]["covered"]


@pytest.mark.workflow
@pytest.mark.parametrize("address", [codes(row[0])[0] for row in rows("Addresses")])
def test_every_address_names_an_array(example: LessonBuild, address: str) -> None:
    """In the run of a case."""
    run = recorded.Runs(example.body("capture.json"))["shifted"]
    assert run[address].size


@pytest.mark.workflow
@pytest.mark.parametrize("row", rows("Expressions"), ids=lambda row: row[0])
def test_every_expression_gives_what_is_said(example: LessonBuild, row: list[str]) -> None:
    """Jinja, and numpy on the recorded numbers, both come to it."""
    expression, value = codes(row[0])[0], codes(row[1])[0]
    assert BY_HAND[expression](Cases(example.body("cases.json")["cases"])) == value
    recipe: Any = example.lesson.recipe.model_copy(update={"limitations": f"It is {{{{ {expression} }}}}"})
    bound = binding.bind_values(example.lesson.with_recipe(recipe), example.cases)
    assert bound.recipe.limitations == f"It is {value}"
