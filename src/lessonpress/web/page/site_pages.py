"""The pages around lessons: the catalogue of all of them, and the history of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from lessonpress.web import prose
from lessonpress.web.page import rendering

_OTHER = "Other lessons"
FEED = 50  # entries of the feed


@dataclass(frozen=True)
class Card:
    """One lesson in the catalogue."""

    slug: str
    title: Markup
    plain_title: str
    question: Markup
    category: str
    tags: tuple[str, ...]
    year: str
    href: str
    preview: str
    history: str
    words: str  # all that a reader may search for, in small letters


@dataclass(frozen=True)
class Event:
    """One entry of a lesson's history: a revision, when and why it was published."""

    revision: str
    href: str
    date: str
    reasons: tuple[str, ...]
    note: Markup
    current: bool


@dataclass(frozen=True)
class Retired:
    """When and why a lesson ended, and the lesson that goes on in its place (empty when none does)."""

    date: str
    to: str
    href: str
    note: Markup


def render_catalogue(lessons: Sequence[Mapping[str, Any]], *, title: str = "Lessons", base_url: str = "") -> str:
    """The site's front page, `results/index.html`: a card for each lesson, grouped by category.

    Each lesson is its current manifest; `current` may name the revision (else `revision` does) and `year` the year
    (else the milestone's). Links and pictures are relative to `results/`; `base_url` serves what must be absolute.
    """
    cards = sorted((_card(lesson) for lesson in lessons), key=_order)
    groups = [(category, list(group)) for category, group in groupby(cards, key=lambda card: card.category)]
    about = {"@context": "https://schema.org", "@type": "ItemList", "name": title, "numberOfItems": len(cards),
             "itemListElement": [_listed(at, card, base_url) for at, card in enumerate(cards, start=1)]}  # fmt: skip
    return rendering.render(
        "catalogue.html.jinja", groups=groups, count=len(cards), title=title, base_url=base_url, about=about,
        page_script=rendering.script(Path("catalogue.js")),
    )  # fmt: skip


def render_missing(*, title: str = "Lessons", base_url: str = "") -> str:
    """The page for an address that leads nowhere, `results/404.html`; its link needs `base_url`: it has no place."""
    return rendering.render("missing.html.jinja", title=title, front=f"{base_url}/index.html" if base_url else "/")


def render_waiting(message: str = "") -> str:
    """The page that a live preview shows while there is none of the lesson: why, or that it is being made."""
    return rendering.render("waiting.html.jinja", message=message)


def render_feed(entries: Sequence[Mapping[str, Any]], *, title: str, base_url: str) -> str:
    """An Atom feed of the newest revisions: entries `{slug, title, summary, revision, publishedAt, note, reasons}`."""
    newest = sorted(entries, key=lambda entry: (entry["publishedAt"], entry["slug"], entry["revision"]), reverse=True)
    kept = [{**entry, "title": prose.to_text(str(entry["title"])), "href": f"{base_url}/models/{quote(entry['slug'])}/"
             f"{quote(entry['revision'])}/index.html"} for entry in newest[:FEED]]  # fmt: skip
    return rendering.text("feed.xml.jinja", entries=kept, title=title, base_url=base_url)


def render_sitemap(addresses: Sequence[str], *, base_url: str) -> str:
    """A sitemap of pages, given by their addresses relative to the site's root."""
    return rendering.text("sitemap.xml.jinja", addresses=[f"{base_url}/{quote(each)}" for each in sorted(addresses)])


def render_history(
    slug: str, title: str, revisions: Mapping[str, Any], manifests: Mapping[str, Mapping[str, Any]]
) -> str:
    """A lesson's `results/models/<slug>/index.html`: the current revision first, then every event, newest first.

    `revisions` is the content of revisions.json; `manifests` holds what manifests are at hand, by revision (it may be
    empty).
    """
    current = str(revisions.get("current") or "")
    events = [_event(entry, current) for entry in revisions.get("revisions") or []]
    latest = next((event for event in reversed(events) if event.current), None)
    told = manifests.get(current) or {}
    return rendering.render(
        "history.html.jinja",
        slug=slug,
        title=Markup(prose.to_inline(title)),
        plain_title=prose.to_text(title),
        question=Markup(prose.to_inline(str(told.get("question") or ""))),
        latest=latest,
        pinned=str(revisions.get("pinned") or ""),
        retired=_retired(revisions.get("retired")),
        events=events[::-1],
    )


def _card(lesson: Mapping[str, Any]) -> Card:
    title = str(lesson.get("title") or lesson["slug"])
    slug, revision = str(lesson["slug"]), str(lesson.get("current") or lesson.get("revision") or "")
    folder = f"models/{quote(slug)}/{quote(revision)}"
    year = lesson.get("year") or (lesson.get("milestone") or {}).get("year") or ""
    return Card(
        slug,
        Markup(prose.to_inline(title)),
        prose.to_text(title),
        Markup(prose.to_inline(str(lesson.get("question") or ""))),
        prose.to_text(str(lesson.get("category") or _OTHER)),
        tuple(str(tag) for tag in lesson.get("tags") or []),
        str(year),
        f"{folder}/index.html",
        f"{folder}/preview.svg",
        f"models/{quote(slug)}/index.html",
        _words(lesson),
    )


def _words(lesson: Mapping[str, Any]) -> str:
    told = [lesson.get(key) for key in ("title", "question", "description", "category", "curator", "className")]
    milestone = lesson.get("milestone") or {}
    terms = [entry.get("term") for entry in lesson.get("glossary") or []]
    parts = [*told, milestone.get("name"), milestone.get("year"), *(lesson.get("tags") or []), *terms]
    found = prose.to_text(" ".join(str(part) for part in parts if part)).lower().split()
    return " ".join(dict.fromkeys(found))


def _listed(at: int, card: Card, base_url: str) -> dict[str, Any]:
    """A card as schema.org's LearningResource in a list."""
    item = {"@type": "LearningResource", "name": card.plain_title, "about": list(card.tags),
            "isAccessibleForFree": True, "url": f"{base_url}/{card.href}" if base_url else card.href}  # fmt: skip
    return {"@type": "ListItem", "position": at, "item": item}


def _order(card: Card) -> tuple[bool, str, str, str, str]:
    """By category, the nameless one last; within it by year and title."""
    return card.category == _OTHER, card.category, card.year, card.plain_title, card.slug


def _retired(told: Mapping[str, Any] | None) -> Retired | None:
    if not told:
        return None
    to = str(told.get("to") or "")
    return Retired(str(told.get("at") or "")[:10], to, f"../{quote(to)}/index.html" if to else "",
                   Markup(prose.to_inline(str(told.get("note") or ""))))  # fmt: skip


def _event(entry: Mapping[str, Any], current: str) -> Event:
    revision = str(entry["revision"])
    return Event(
        revision,
        f"{quote(revision)}/index.html",
        str(entry.get("publishedAt") or "")[:10],
        tuple(str(reason) for reason in entry.get("reasons") or []),
        Markup(prose.to_inline(str(entry.get("note") or ""))),
        revision == current,
    )
