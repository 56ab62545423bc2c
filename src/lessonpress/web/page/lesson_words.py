"""What surrounds the words of one lesson: its labels with their numbers, its papers, its files, its code by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from pydantic import BaseModel

from lessonpress.core import suggestions
from lessonpress.lesson import reader
from lessonpress.lesson.recipe import Axis, Control, Paper, Recipe
from lessonpress.web import prose, surroundings
from lessonpress.web.page import listing
from lessonpress.web.surroundings import Surroundings

Path = tuple[str | int, ...]
BLOCKS = frozenset([
    "description", "limitations", "attribution", "scope", "note", "ask", "prompt", "beginner", "expert", "fidelity",
    "hint", "solution",
])  # fmt: skip
LINES = frozenset(["title", "question", "license", "curator", "label", "name", "term", "options", "sentence"])
_WORDS = (Axis, Control, Paper)  # their texts are shown as words, with TeX left as it is typed
# The order in which a page tells a lesson; equations and figures are numbered by it.
_ORDER = ("question", "experiment", "questions", "steps", "description", "milestone", "limitations", "scope",
          "attribution", "glossary")  # fmt: skip
LIT = '<span class="lit">'
_KINDS = {"eq": "Equation", "fig": "Figure"}


def list_texts(node: BaseModel, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every text of a record that is Markdown, with its place."""
    if isinstance(node, _WORDS):
        return
    for name, field in type(node).model_fields.items():
        value, here = getattr(node, name), (*path, field.alias or name)
        for item, at in zip(value, range(len(value)), strict=True) if isinstance(value, list) else [(value, None)]:
            place = here if at is None else (*here, at)
            if isinstance(item, BaseModel):
                yield from list_texts(item, place)
            elif isinstance(item, str) and name in BLOCKS | LINES:
                yield place, item


def list_ordered(recipe: Recipe) -> list[tuple[Path, str]]:
    """The texts of a recipe in the order of the page."""
    places = {name: at for at, name in enumerate(_ORDER)}
    return sorted(list_texts(recipe), key=lambda text: places.get(str(text[0][0]), len(places)))


def number_labels(recipe: Recipe) -> dict[str, str]:
    """Every label of an equation or figure, with what it is called: `eq-softmax` is `Equation 1`."""
    counts = dict.fromkeys(_KINDS, 0)
    numbers: dict[str, str] = {}
    for _, text in list_ordered(recipe):
        for label in prose.find_labels(text):
            kind = label.partition("-")[0]
            if label not in numbers:
                counts[kind] += 1
                numbers[label] = f"{_KINDS[kind]} {counts[kind]}"
    return numbers


def make_surroundings(
    recipe: Recipe, files: Mapping[str, int], sources: Mapping[str, str], *, strict: bool = True
) -> Surroundings:
    """What the words of a lesson may refer to; `files` are bytes by name, `sources` the texts that the page lists."""
    papers = recipe.milestone.papers if recipe.milestone else []
    cited = {paper.key: surroundings.Paper(at, paper.title) for at, paper in enumerate(papers, start=1) if paper.key}
    published = frozenset({*files, *reader.RESERVED})
    quote = make_quoter(recipe.model.file, sources)
    return Surroundings(number_labels(recipe), cited, files, published, quote, strict)


# -- code by name --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stretch:
    """A class or function of a file: its first and last line."""

    file: str
    first: int
    last: int


def make_quoter(model: str, sources: Mapping[str, str]) -> Callable[[str, str], str]:
    """A function that gives lines of the sources as HTML by the name of what is defined there.

    A name is `Class`, `Class.method` or `function` in the model's file, or `file.py:Class.method`. What is to be marked
    is said by lines, counted from the first one quoted (`2-3, 5`), or by a text that stands in them (`"scores"`).
    """

    def quote(name: str, marked: str) -> str:
        file, _, dotted = name.rpartition(":")
        file = file or model
        if file not in sources:
            raise LookupError(f"the lesson has no file {file}")
        stretches = find_stretches(file, sources[file])
        if dotted not in stretches:
            near = suggestions.did_you_mean(dotted, list(stretches))
            raise LookupError(f"{file} defines no {dotted}; {near or 'there are: ' + ', '.join(stretches)}")
        return _write_excerpt(stretches[dotted], sources, marked)

    return quote


def find_stretches(file: str, text: str) -> dict[str, Stretch]:
    """Every class, function and method of a Python text by its dotted name; nothing for a text that is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    out: dict[str, Stretch] = {}

    def look(body: Sequence[ast.stmt], before: str) -> None:
        for node in body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                out[f"{before}{node.name}"] = Stretch(file, first, node.end_lineno or first)
                look(node.body, f"{before}{node.name}.")

    look(tree.body, "")
    return out


def _write_excerpt(stretch: Stretch, sources: Mapping[str, str], marked: str) -> str:
    [shown] = [each for each in listing.make_listings(sources) if each.name == stretch.file]
    lines = listing.cut_excerpt(shown.lines[stretch.first - 1 : stretch.last])
    texts = sources[stretch.file].splitlines()[stretch.first - 1 : stretch.last]
    lit = _choose_marked(marked, texts)
    code = "".join(f"{LIT if at in lit else '<span>'}{line.html}</span>\n" for at, line in enumerate(lines))
    words = f"{stretch.file}, lines {stretch.first} to {stretch.last}"
    anchor = f"{listing.make_anchors(sources)[stretch.file]}{stretch.first}"
    return (f'<figure class="excerpt"><figcaption><a href="#{anchor}">{escape(words)}</a></figcaption>'
            f'<pre class="code"><code>{code}</code></pre></figure>\n')  # fmt: skip


def _choose_marked(marked: str, lines: Sequence[str]) -> Collection[int]:
    """The places of the lines to mark, from 0. Raises LookupError for what is not there."""
    chosen: set[int] = set()
    for part in re.findall(r'"[^"]*"|[^,\s]+', marked):
        if part.startswith('"'):
            places = [at for at, line in enumerate(lines) if part[1:-1] in line]
            if not places:
                raise LookupError(f"no line that is quoted holds {part}")
            chosen.update(places)
            continue
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= len(lines):
            raise LookupError(f"{part} names none of the {len(lines)} lines that are quoted")
        chosen.update(range(first - 1, last))
    return chosen
