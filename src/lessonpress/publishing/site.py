"""Command site: the pages around the lessons, made from nothing but what is published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lessonpress.build import artifact, code_digest
from lessonpress.core import atomic_io, canonical_json, lock
from lessonpress.core.settings import Config, Site
from lessonpress.publishing import history_guard
from lessonpress.revision import history
from lessonpress.revision.history import Event, History
from lessonpress.web.page import rendering, site_pages

if TYPE_CHECKING:
    from lessonpress.web.page.site_pages import CatalogueEntry, FeedEntry

# Generated from schema.py and recipe.py, whose import takes longer than this command.
SCHEMAS = ("manifest.schema.json", "lesson.schema.json")
ABSOLUTE = ("feed.xml", "sitemap.xml")  # hold whole addresses: there are none without the site's `base_url`
ADDED = ("revision", "className", "year")  # what the pages show of a lesson beside fields of its recipe


class PageMemory:
    """What the pages showed of each lesson the last time (`work/pages.json`), so that only changed lessons are read.

    A lesson is unchanged when the bytes of its history, its current manifest and its page are the same, and so are our
    code and the site's settings.
    """

    def __init__(self, file: Path, about: Site) -> None:
        self.file, self.base = file, canonical_json.digest_of([code_digest.digest_step("site"), about.model_dump()])
        stored = artifact.read(file)
        valid = stored is not None and stored.made_from == self.base
        self.known: Mapping[str, object] = stored.body["lessons"] if stored and valid else {}
        self.digests: dict[Path, str | None] = {}  # of files before they were read: so a later change is noticed
        self.seen: dict[Path, tuple[History, CatalogueEntry]] = {}
        self.same: set[Path] = set()  # pages that are unchanged

    def read_entry(self, folder: Path, lesson_history: History) -> CatalogueEntry:
        """What the pages show of a lesson with this history."""
        stored = self.known.get(folder.name)
        if isinstance(stored, dict) and stored.get("key") == self._key(folder, lesson_history):
            self.same |= {folder / name for name in list_pages(lesson_history)}
            entry = cast("CatalogueEntry", stored["entry"])
        else:
            entry = _read_entry(folder, lesson_history)
        self.seen[folder] = lesson_history, entry
        return entry

    def store(self, written: Mapping[Path, str]) -> None:
        """Store everything for the next time, after the pages were `written`."""
        self.digests |= {path: canonical_json.digest(text) for path, text in written.items()}
        artifact.write(self.file, self.base, {"lessons": {  # a slug may be the same as a key of every artifact
            folder.name: {"key": self._key(folder, lesson_history), "entry": entry}
            for folder, (lesson_history, entry) in self.seen.items()
        }})  # fmt: skip

    def _key(self, folder: Path, lesson_history: History) -> str:
        files = (_current_folder(folder, lesson_history) / "manifest.json",
                 *(folder / name for name in list_pages(lesson_history)))  # fmt: skip
        return canonical_json.digest_of([lesson_history, *(self.digest(file) for file in files)])

    def digest(self, file: Path) -> str | None:
        """The digest of a file at the time of the first call; None where it is missing."""
        if file not in self.digests:
            self.digests[file] = canonical_json.digest_file(file)
        return self.digests[file]


def write_site(config: Config, *, receipt: Path | None = None) -> str:
    """Write the catalogue, every lesson's history page and the schemas; a file that is right stays as it is.

    Returns what was done, in words; into `receipt` go the digests of all files that the pages depend on.
    """
    results = Path(config.results)
    memory = PageMemory(Path(config.work) / "pages.json", config.site)
    with lock.hold(results):
        for folder in (results, results / "models", results / "schema", *_list_lessons(results / "models")):
            lock.sweep(folder)
        for folder in _list_lessons(results / "models"):
            memory.digest(folder / history.FILE)
        wanted = make_pages(results, config.site, memory)
        changed = [path for path, text in wanted.items() if not is_current(path, text)]
        atomic_io.write_all({path: wanted[path] for path in changed})
        stale = [results / name for name in ABSOLUTE if results / name not in wanted and (results / name).is_file()]
        for path in (*stale, *_list_stale_layers(memory)):
            path.unlink()
        memory.store(wanted)
    count = len(memory.same.union(wanted))
    if receipt:
        digests = {path.relative_to(results).as_posix(): memory.digests[path] for path in sorted(memory.digests)}
        artifact.write(receipt, memory.base, {"files": digests})
    removed = f"; without a base_url there is no {' and no '.join(path.name for path in stale)}" if stale else ""
    said = f"site: {len(changed)} of {count} pages changed" if changed or stale else "site: unchanged"
    return said + removed


def _list_stale_layers(memory: PageMemory) -> list[Path]:
    """Pages around revisions that no history names any more."""
    return [path for folder, (past, _) in memory.seen.items() for path in folder.glob(f"{'[0-9a-f]' * 16}.html")
            if path.name not in list_pages(past)]  # fmt: skip


def is_current(path: Path, text: str) -> bool:
    """Whether a file holds a text and nothing else, byte for byte."""
    return path.is_file() and path.read_bytes() == text.encode()


def make_pages(results: Path, about: Site | None = None, memory: PageMemory | None = None) -> dict[Path, str]:
    """The text of every page around the published lessons, by path; without those that are unchanged by `memory`.

    The feed and the sitemap hold absolute addresses, so they are made only where the site has a `base_url`.
    """
    histories = {folder: history.read_history(folder, folder.name) for folder in _list_lessons(results / "models")}
    try:
        texts = _render_pages(results, about or Site(), histories, memory)
        "".join(texts.values()).encode()  # JSON can name halves of characters, which no page can hold
        return texts
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        from lessonpress.publishing import integrity  # imported only here, because making pages does not need it

        for folder, lesson_history in histories.items():
            integrity.require_whole(_current_folder(folder, lesson_history))
        raise


def _render_pages(
    results: Path, about: Site, histories: Mapping[Path, History], memory: PageMemory | None
) -> dict[Path, str]:
    out: dict[Path, str] = {}
    current: list[CatalogueEntry] = []
    events: list[FeedEntry] = []
    for folder, past in histories.items():
        newest = memory.read_entry(folder, past) if memory else _read_entry(folder, past)
        if not past.get("retired"):
            current.append(newest)
            events += [_make_feed_entry(newest, event) for event in past["revisions"]]
        if not (memory and folder / site_pages.FRONT in memory.same):
            out |= _render_lesson_pages(folder, newest, past, about)
    out[results / "index.html"] = site_pages.render_catalogue(current, title=about.title, base_url=about.base_url)
    out[results / "404.html"] = site_pages.render_missing(title=about.title, base_url=about.base_url)
    out |= {results / "schema" / name: read_schema(name) for name in SCHEMAS}
    if about.base_url:
        out[results / "feed.xml"] = site_pages.render_feed(
            events, title=about.title, base_url=about.base_url, author=about.author)  # fmt: skip
        out[results / "sitemap.xml"] = site_pages.render_sitemap(_date_pages(histories), base_url=about.base_url)
    return out


def _date_pages(histories: Mapping[Path, History]) -> dict[str, str]:
    """The pages that a search engine is to know, with the moments of their last changes.

    A revision never changes: its moment is that of its first publication.
    """
    out = {"index.html": ""}
    for folder, past in histories.items():
        if past.get("retired"):
            continue
        moments = [event["publishedAt"] for event in past["revisions"]]
        first = dict(zip([e["revision"] for e in reversed(past["revisions"])], reversed(moments), strict=True))
        at = f"models/{folder.name}"
        out |= {f"{at}/index.html": max(moments), f"{at}/{past['current']}/index.html": first[str(past["current"])]}
        out["index.html"] = max(out["index.html"], max(moments))
    return out


def list_pages(lesson_history: History) -> list[str]:
    """The names of the pages in a lesson's folder: the current lesson, the list, and one around each revision."""
    events = [event["revision"] for event in lesson_history["revisions"]]
    gone = [one["revision"] for one in history.list_removals(lesson_history)]
    layers = (site_pages.name_layer(name) for name in dict.fromkeys([*events, *gone]))
    return [site_pages.FRONT, site_pages.LIST, *layers]


def _render_lesson_pages(folder: Path, newest: CatalogueEntry, past: History, about: Site) -> dict[Path, str]:
    slug, title = folder.name, newest["title"]
    layers = site_pages.render_layers(slug, title, past)
    return {
        folder / site_pages.FRONT: site_pages.render_current(slug, title, past, base_url=about.base_url),
        folder / site_pages.LIST: site_pages.render_history(slug, title, past, {str(past["current"]): newest}),
        **{folder / site_pages.name_layer(name): text for name, text in layers.items()},
    }


def read_schema(name: str) -> str:
    """The text of a published JSON Schema."""
    return (rendering.templates_folder() / name).read_text(encoding="utf-8")


def _make_feed_entry(newest: CatalogueEntry, event: Event) -> FeedEntry:
    return {
        "slug": newest["slug"], "title": newest["title"], "summary": newest.get("question") or "",
        "author": newest.get("curator") or "", "revision": event["revision"], "publishedAt": event["publishedAt"],
        "note": event["note"] or "", "reasons": event["reasons"],
    }  # fmt: skip


def _read_entry(folder: Path, lesson_history: History) -> CatalogueEntry:
    """Those fields of the current manifest whose role in the recipe is `catalogue`, and ADDED."""
    newest = history.read_document(_current_folder(folder, lesson_history) / "manifest.json")
    from lessonpress.lesson import recipe  # imported only here: making its types takes longer than this command

    keys = (*recipe.keys(lambda role: role.catalogue), *ADDED)
    return cast("CatalogueEntry", {key: newest[key] for key in keys if key in newest})


def read_title(folder: Path, lesson_history: History) -> str:
    """What a published lesson is called now."""
    return str(_read_entry(folder, lesson_history)["title"])


def _current_folder(folder: Path, lesson_history: History) -> Path:
    """The folder of the revision that readers see first; every published lesson has one."""
    return folder / str(lesson_history["current"])


def _list_lessons(models: Path) -> list[Path]:
    """The folders of all published lessons; one that cannot be read is an error (`glob` would skip it)."""
    folders = sorted(models.iterdir()) if models.is_dir() else []
    for folder in folders:
        names = [path.name for path in folder.glob("[0-9a-f]" * 16)]
        history_guard.require_history(folder, *names[:1])
    return [folder for folder in folders if (folder / history.FILE).is_file()]
