"""What a lesson's words may refer to beside themselves: equations, figures, papers, files, code, other lessons.

A page has some forty texts, which many modules turn into HTML. What surrounds them is the same for all of them, so it
is set once, around the making of the whole page (`within`), and read by the few rules that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg")
MAX_IMAGE, MAX_IMAGES = 500_000, 2_000_000  # bytes of one image, and of all images of a page


@dataclass(frozen=True)
class Paper:
    """A publication that can be cited: its number in the page's list, and its title."""

    number: int
    title: str


@dataclass(frozen=True)
class Surroundings:
    """What one page's texts may refer to.

    `quote(name, marked)` gives a stretch of the lesson's code as HTML, by the name of a class or function and by what
    is to be marked in it; it raises LookupError, in words, for what there is not.
    """

    numbers: Mapping[str, str]  # `eq-softmax` → `Equation 1`
    papers: Mapping[str, Paper]  # by key
    files: Mapping[str, int]  # bytes of the lesson's files by name
    published: frozenset[str]  # names of all files beside the page
    quote: Callable[[str, str], str]
    strict: bool = True  # whether markup that is not taken is refused, or shown as it was typed
    lessons: str = "../../"  # where other lessons' folders are, seen from the page
    used: set[str] = field(default_factory=set)  # what these texts needed beside plain Markdown


_now: ContextVar[Surroundings | None] = ContextVar("surroundings", default=None)


@contextmanager
def within(surroundings: Surroundings) -> Iterator[Surroundings]:
    """While it is open, texts are read as part of a page with these surroundings."""
    token = _now.set(surroundings)
    try:
        yield surroundings
    finally:
        _now.reset(token)


def current() -> Surroundings | None:
    """What surrounds a text now; None for one that stands alone, as in the catalogue."""
    return _now.get()
