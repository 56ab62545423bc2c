"""Glossary terms in running prose: the first mention in each text becomes a link that explains itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from lessonpress.web import prose

if TYPE_CHECKING:
    from lessonpress.revision.manifest_schema import Term

_TAG = re.compile(r"(<[^>]*>)")
_CLOSED = re.compile(r"<(/?)(a|code|pre|math|h[1-6]|cite|summary)\b")  # no term is marked inside these


@dataclass(frozen=True)
class Terms:
    """The terms of a lesson's glossary, ready to be looked for in prose."""

    names: tuple[str, ...]

    def mark(self, html: str) -> Markup:
        """Rendered prose with the first mention of each term linked to its entry (`#term-0`, …); a plural counts."""
        named = [(name, at) for at, name in enumerate(self.names) if name]
        if not named:
            return Markup(html)
        longest = sorted(named, key=lambda pair: -len(pair[0]))
        any_term = "|".join(_make_pattern(name) for name, _ in longest)
        words = re.compile(rf"(?<![\w-])(?:{any_term})(?![\w-])", re.IGNORECASE)
        linked: set[int] = set()
        inside, out = 0, []
        for part in _TAG.split(html):
            if tag := _CLOSED.match(part):
                inside += -1 if tag[1] else 1
            plain = not part.startswith("<") and not inside
            out.append(words.sub(lambda word: self._link_term(word, longest, linked), part) if plain else part)
        return Markup("".join(out))

    def _link_term(self, word: re.Match[str], terms: Sequence[tuple[str, int]], linked: set[int]) -> str:
        at = next(at for name, at in terms if re.fullmatch(_make_pattern(name), word[0], re.IGNORECASE))
        if at in linked:
            return word[0]
        linked.add(at)
        return f'<a class="term" href="#term-{at}">{word[0]}</a>'


def make_terms(glossary: Sequence[Term]) -> Terms:
    """The terms of a manifest's glossary in its order."""
    return Terms(tuple(prose.to_text(entry["term"]) for entry in glossary))


def _make_pattern(name: str) -> str:
    """A term as it stands in rendered prose, with any white space between its words, singular or plural."""
    words = [re.escape(str(escape(word))) for word in name.split()]
    return r"\s+".join(words) + "(?:e?s)?"
