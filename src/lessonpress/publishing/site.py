"""Verb site: the pages around the lessons, made from nothing but what is published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lessonpress.build import artifact, code_digest
from lessonpress.core import atomic_io, canonical_json, lock
from lessonpress.core.settings import Config, Site
from lessonpress.revision import history
from lessonpress.web.page import rendering, site_pages

# Generated from schema.py and recipe.py, which take longer to import than this verb to run.
SCHEMAS = ("manifest.schema.json", "lesson.schema.json")
MADE = ("revision", "className", "year")  # what the pages say of a lesson beside what its recipe says


class PageMemory:
    """What the pages said of each lesson the last time (`work/pages.json`), so that one that changed is read alone.

    A lesson is as it was when the bytes of its history, its current manifest and its page are, and our code and the
    site's settings.
    """

    def __init__(self, file: Path, about: Site) -> None:
        self.file, self.base = file, canonical_json.digest_of([code_digest.digest_step("site"), about.model_dump()])
        found = artifact.read(file)
        self.known: Mapping[str, Any] = found.body["lessons"] if found and found.made_from == self.base else {}
        self.digests: dict[Path, str | None] = {}  # of files before they were read: a later change shows
        self.seen: dict[Path, tuple[Mapping[str, Any], dict[str, Any]]] = {}
        self.same: set[Path] = set()  # pages that are as they were

    def said(self, folder: Path, told: Mapping[str, Any]) -> dict[str, Any]:
        """What the pages say of a lesson whose history is `told`."""
        kept = self.known.get(folder.name)
        if isinstance(kept, dict) and kept.get("key") == self._key(folder, told):
            self.same.add(folder / "index.html")
            said = dict(kept["said"])
        else:
            said = _said(folder, told)
        self.seen[folder] = told, said
        return said

    def keep(self, written: Mapping[Path, str]) -> None:
        """Note it for the next time, now that the pages are `written`."""
        self.digests |= {path: canonical_json.digest(text) for path, text in written.items()}
        artifact.write(self.file, self.base, {"lessons": {  # a lesson may be called as an artifact's own parts are
            folder.name: {"key": self._key(folder, told), "said": said} for folder, (told, said) in self.seen.items()
        }})  # fmt: skip

    def _key(self, folder: Path, told: Mapping[str, Any]) -> str:
        files = (folder / told["current"] / "manifest.json", folder / "index.html")
        return canonical_json.digest_of([told, *(self.digest(file) for file in files)])

    def digest(self, file: Path) -> str | None:
        """The digest of a file as it was when it was first asked for."""
        if file not in self.digests:
            self.digests[file] = canonical_json.digest_file(file)
        return self.digests[file]


def write_site(config: Config, *, receipt: Path | None = None) -> str:
    """Write the catalogue, every lesson's history page and the schemas; a file that is right stays as it is.

    Answers what was done, in words; `receipt` is a file that is to say how everything was that the pages rest on.
    """
    results = Path(config.results)
    memory = PageMemory(Path(config.work) / "pages.json", config.site)
    with lock.alone(results):
        for folder in (results, results / "models", results / "schema", *_lessons(results / "models")):
            lock.sweep(folder)
        for folder in _lessons(results / "models"):
            memory.digest(folder / history.FILE)
        wanted = make_pages(results, config.site, memory)
        changed = [path for path, text in wanted.items() if not is_current(path, text)]
        atomic_io.write_all({path: wanted[path] for path in changed})
        memory.keep(wanted)
    every = sorted(memory.same.union(wanted))
    if receipt:
        told = {path.relative_to(results).as_posix(): memory.digests[path] for path in sorted(memory.digests)}
        artifact.write(receipt, memory.base, {"files": told})
    return f"site: {len(changed)} of {len(every)} pages changed" if changed else "site: unchanged"


def is_current(path: Path, text: str) -> bool:
    """Whether a file holds a text and nothing else, byte for byte."""
    return path.is_file() and path.read_bytes() == text.encode()


def make_pages(results: Path, about: Site | None = None, memory: PageMemory | None = None) -> dict[Path, str]:
    """The text of every page around the published lessons, by its path; without those that `memory` knows as they are.

    The feed and the sitemap hold absolute addresses, so they are made only where the site has a `base_url`.
    """
    told = {folder: history.read_history(folder, folder.name) for folder in _lessons(results / "models")}
    try:
        made = _pages(results, about or Site(), told, memory)
        "".join(made.values()).encode()  # JSON can name halves of characters, which no page can hold
        return made
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        from lessonpress.publishing import integrity  # what has to be imported for it is no part of making pages

        for folder, each in told.items():
            integrity.require_whole(folder / str(each["current"]))
        raise


def _pages(
    results: Path, about: Site, histories: Mapping[Path, Mapping[str, Any]], memory: PageMemory | None
) -> dict[Path, str]:
    out: dict[Path, str] = {}
    current: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    for folder, told in histories.items():
        newest = memory.said(folder, told) if memory else _said(folder, told)
        if not told.get("retired"):
            current.append(newest)
            events += [_entry(newest, event) for event in told["revisions"]]
        if not (memory and folder / "index.html" in memory.same):
            current_one = {told["current"]: newest}
            out[folder / "index.html"] = site_pages.render_history(folder.name, newest["title"], told, current_one)
    out[results / "index.html"] = site_pages.render_catalogue(current, title=about.title, base_url=about.base_url)
    out[results / "404.html"] = site_pages.render_missing(title=about.title, base_url=about.base_url)
    out |= {results / "schema" / name: read_schema(name) for name in SCHEMAS}
    if about.base_url:
        shown = [f"models/{each['slug']}/{each['revision']}/index.html" for each in current]
        around = ["index.html", *(f"models/{each['slug']}/index.html" for each in current)]
        out[results / "feed.xml"] = site_pages.render_feed(events, title=about.title, base_url=about.base_url)
        out[results / "sitemap.xml"] = site_pages.render_sitemap([*around, *shown], base_url=about.base_url)
    return out


def read_schema(name: str) -> str:
    """The text of a published JSON Schema."""
    return (rendering.templates_folder() / name).read_text(encoding="utf-8")


def _entry(newest: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
    """An event of a lesson's history as the feed tells it."""
    return {
        "slug": newest["slug"], "title": newest["title"], "summary": newest.get("question") or "",
        "author": newest.get("curator") or "", "revision": event["revision"],
        "publishedAt": event.get("publishedAt") or "", "note": event.get("note") or "",
        "reasons": event.get("reasons") or [],
    }  # fmt: skip


def _said(folder: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    newest = history.read_document(folder / told["current"] / "manifest.json")
    from lessonpress.lesson import recipe  # its types take longer to make than this command to run

    return {key: newest[key] for key in (*recipe.keys(lambda role: role.catalogue), *MADE) if key in newest}


def _lessons(models: Path) -> list[Path]:
    """The folders of all published lessons; one that cannot be read is an error (`glob` would pass over it)."""
    found = sorted(models.iterdir()) if models.is_dir() else []
    return [folder for folder in found if (folder / history.FILE).is_file()]
