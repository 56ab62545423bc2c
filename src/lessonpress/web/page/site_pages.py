"""The pages around lessons: the catalogue of all of them, and the history of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import quote

from markupsafe import Markup

from lessonpress.core import script_modules
from lessonpress.web import prose
from lessonpress.web.page import rendering

if TYPE_CHECKING:
    from lessonpress.revision.history import Event as Publication
    from lessonpress.revision.history import History, Retirement
    from lessonpress.revision.manifest_schema import Manifest

    class CatalogueEntry(Manifest, total=False):
        """A lesson as the pages around it show it: its current manifest, or as much of it as they read.

        `current` may name the revision (else `revision` does) and `year` the year (else the milestone's).
        """

        current: str
        year: int | str | None


LIST, FRONT = "revisions.html", "index.html"  # of one lesson: the list of its revisions, and the current lesson
_OTHER = "Other lessons"
FEED = 50  # entries of the feed


class FeedEntry(TypedDict):
    """One publication as the feed shows it."""

    slug: str
    title: str
    summary: str
    author: str
    revision: str
    publishedAt: str
    note: str
    reasons: list[str]


@dataclass(frozen=True)
class Card:
    """One lesson in the catalogue; a field that is shown as it is stands in `lesson` and nowhere else."""

    lesson: CatalogueEntry
    title: Markup
    plain_title: str
    question: Markup
    category: str
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


def render_catalogue(lessons: Sequence[CatalogueEntry], *, title: str = "Lessons", base_url: str = "") -> str:
    """The site's front page, `results/index.html`: a card for each lesson, grouped by category.

    Links and pictures are relative to `results/`; `base_url` begins what must be absolute.
    """
    cards = sorted(map(_make_card, lessons), key=_make_sort_key)
    groups = [(category, list(group)) for category, group in groupby(cards, key=lambda card: card.category)]
    items = [_describe_card(at, card, base_url) for at, card in enumerate(cards, start=1)]
    about = {"@context": "https://schema.org", "@type": "ItemList", "name": title, "numberOfItems": len(cards),
             "itemListElement": items}  # fmt: skip
    return rendering.render(
        "catalogue.html.jinja", groups=groups, count=len(cards), title=title, base_url=base_url, about=about,
        page_script=_make_script("catalogue"),
    )  # fmt: skip


def _make_script(name: str) -> Markup:
    """One of our scripts for a page, with what it imports."""
    return rendering.make_script(*script_modules.join_modules([script_modules.page_module(name)]))


def render_missing(*, title: str = "Lessons", base_url: str = "") -> str:
    """The page for an address that leads nowhere, `results/404.html`; its link needs `base_url`: it has no place."""
    front = f"{base_url}/index.html" if base_url else "/"
    return rendering.render("missing.html.jinja", title=title, front=front, script=_make_script("missing"))


def render_waiting(message: str = "") -> str:
    """The page that a live preview shows while the lesson has no page: why, or that it is being made."""
    return rendering.render("waiting.html.jinja", message=message)


def render_feed(entries: Sequence[FeedEntry], *, title: str, base_url: str, author: str = "") -> str:
    """An Atom feed of the newest revisions; who has published an entry that names nobody is `author`, else the site."""
    newest = sorted(entries, key=lambda entry: (entry["publishedAt"], entry["slug"], entry["revision"]), reverse=True)
    shown = [{**entry, "title": prose.to_text(entry["title"]), "id": f"{base_url}/models/{quote(entry['slug'])}/"
              f"{quote(entry['revision'])}/index.html", "href": f"{base_url}/models/{quote(entry['slug'])}/"
              f"{name_layer(quote(entry['revision']))}"} for entry in newest[:FEED]]  # fmt: skip
    return rendering.render_text("feed.xml.jinja", entries=shown, title=title, base_url=base_url,
                                 author=author or title)  # fmt: skip


def render_sitemap(pages: Mapping[str, str], *, base_url: str) -> str:
    """A sitemap of pages: by their addresses relative to the site's root the moments of their last changes."""
    absolute = {f"{base_url}/{quote(each)}": pages[each] for each in sorted(pages)}
    return rendering.render_text("sitemap.xml.jinja", pages=absolute)


def name_layer(revision: str) -> str:
    """The page around one revision, beside its folder: it says when there is a newer one."""
    return f"{revision}.html"


def render_current(slug: str, title: str, history: History, *, base_url: str = "") -> str:
    """A lesson's `results/models/<slug>/index.html`: it leads to the current revision, or to its successor."""
    retired, current = history.get("retired"), quote(history.get("current") or "")
    to = retired["to"] if retired else None
    href = f"../{quote(to)}/{FRONT}" if to else LIST if retired else f"{current}/{FRONT}"
    words = f"This lesson goes on as {to}:" if to else "This lesson has ended:" if retired else "The current lesson:"
    return rendering.render(
        "current.html.jinja", href=href, words=words, plain_title=prose.to_text(title),
        canonical=f"{base_url}/models/{quote(to or slug)}/" if base_url else "",
        script=_make_script("current"),
    )  # fmt: skip


def render_layers(slug: str, title: str, history: History, *, deep: bool = False) -> dict[str, str]:
    """The pages around all revisions of a lesson, by revision, also around those that are gone and left a reason.

    A revision's own page never changes, so it cannot know of newer ones. `deep`: to stand in the revision's folder.
    """
    first = {event["revision"]: event["publishedAt"][:10] for event in reversed(history["revisions"])}
    out = {name: _render_layer(title, name, _describe_revision(history, name, day), history, f"{name}/{FRONT}", deep)
           for name, day in first.items()}  # fmt: skip
    removals = [*(("was withdrawn", one) for one in history.get("withdrawn", [])),
                *(("is no longer kept, since", one) for one in history.get("dropped", []))]  # fmt: skip
    for what, one in removals:
        if one["revision"] in first:
            continue  # it was published again
        words = f"Revision {one['revision']} {what} {one['at'][:10]}: {one['note']}"
        out[one["revision"]] = _render_layer(title, one["revision"], words, history, "", deep)
    return out


def _describe_revision(history: History, name: str, day: str) -> str:
    if history.get("retired"):
        return f"This is revision {name}, published {day}. The lesson has ended."
    if name == history["current"]:
        return f"This is revision {name}, published {day}, the current one."
    return f"This is revision {name}, published {day}. It is not the current one."


def _render_layer(title: str, name: str, words: str, history: History, frame: str, deep: bool) -> str:
    retired = history.get("retired")
    to = retired["to"] if retired else None
    go_on = f"../{quote(to)}/{FRONT}" if to else FRONT
    last = f"Read {to}" if to else "Read the current lesson" if not retired else "What became of it"
    return rendering.render("layer.html.jinja", plain_title=prose.to_text(title), revision=name, words=words,
                            above="../" if deep else "", go_on=go_on, go_on_words=last, frame=frame)  # fmt: skip


def render_history(slug: str, title: str, history: History, manifests: Mapping[str, CatalogueEntry]) -> str:
    """A lesson's `results/models/<slug>/revisions.html`: the current revision first, then every event, newest first.

    `manifests` holds what manifests are at hand, by revision (it may be empty).
    """
    current = history.get("current") or ""
    events = [_make_event(entry, current) for entry in history.get("revisions") or []]
    manifest = manifests.get(current)
    return rendering.render(
        "history.html.jinja",
        slug=slug,
        title=Markup(prose.to_inline(title)),
        plain_title=prose.to_text(title),
        question=Markup(prose.to_inline((manifest.get("question") if manifest else "") or "")),
        latest=next((event for event in reversed(events) if event.current), None),
        pinned=history.get("pinned") or "",
        retired=_make_retired(history.get("retired")),
        events=events[::-1],
    )


def _make_card(lesson: CatalogueEntry) -> Card:
    title = lesson.get("title") or lesson["slug"]
    slug, revision = lesson["slug"], lesson.get("current") or lesson.get("revision") or ""
    folder = f"models/{quote(slug)}/{quote(revision)}"
    milestone = lesson.get("milestone")
    return Card(
        lesson,
        Markup(prose.to_inline(title)),
        prose.to_text(title),
        Markup(prose.to_inline(lesson.get("question") or "")),
        prose.to_text(lesson.get("category") or _OTHER),
        str(lesson.get("year") or (milestone.get("year") if milestone else "") or ""),
        f"{folder}/index.html",
        f"{folder}/preview.svg",
        f"models/{quote(slug)}/{LIST}",
        _collect_words(lesson),
    )


def _collect_words(lesson: CatalogueEntry) -> str:
    """All words that a reader may search for, each once, in small letters."""
    milestone = lesson.get("milestone")
    parts = [
        lesson.get("title"), lesson.get("question"), lesson.get("description"), lesson.get("category"),
        lesson.get("curator"), lesson.get("className"), milestone.get("name") if milestone else None,
        milestone.get("year") if milestone else None, *(lesson.get("tags") or []),
        *(entry.get("term") for entry in lesson.get("glossary") or []),
    ]  # fmt: skip
    words = prose.to_text(" ".join(str(part) for part in parts if part)).lower().split()
    return " ".join(dict.fromkeys(words))


def _describe_card(at: int, card: Card, base_url: str) -> dict[str, object]:
    """A card as schema.org's LearningResource in a list."""
    item = {"@type": "LearningResource", "name": card.plain_title, "about": card.lesson.get("tags") or [],
            "isAccessibleForFree": True, "url": f"{base_url}/{card.href}" if base_url else card.href}  # fmt: skip
    return {"@type": "ListItem", "position": at, "item": item}


def _make_sort_key(card: Card) -> tuple[bool, str, str, str, str]:
    """By category, the nameless one last; within it by year and title."""
    return card.category == _OTHER, card.category, card.year, card.plain_title, card.lesson["slug"]


def _make_retired(retirement: Retirement | None) -> Retired | None:
    if not retirement:
        return None
    to = retirement.get("to") or ""
    return Retired((retirement.get("at") or "")[:10], to, f"../{quote(to)}/index.html" if to else "",
                   Markup(prose.to_inline(retirement.get("note") or "")))  # fmt: skip


def _make_event(entry: Publication, current: str) -> Event:
    revision = entry["revision"]
    return Event(
        revision,
        f"{quote(revision)}/{FRONT}" if revision == current else name_layer(quote(revision)),
        (entry.get("publishedAt") or "")[:10],
        tuple(entry.get("reasons") or []),
        Markup(prose.to_inline(entry.get("note") or "")),
        revision == current,
    )
