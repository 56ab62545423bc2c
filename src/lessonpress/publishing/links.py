"""Whether every link of a built site leads somewhere: to a file that is there, and to a place that it has."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ADDRESSES = frozenset({"href", "src", "poster"})
REFRESH = re.compile(r"\s*[\d.]+\s*;\s*url=(.+)", re.IGNORECASE)


class _Page(HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note addresses and places."""
        values = {name: value for name, value in attrs if value is not None}
        self.links += [values[name] for name in ADDRESSES if name in values]
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if tag == "meta" and values.get("http-equiv", "").lower() == "refresh":
            self.links += [match[1] for match in [REFRESH.fullmatch(values.get("content", ""))] if match]


def find_broken_links(site: Path, base_url: str = "") -> Iterator[tuple[str, str]]:
    """Every link of a page in `site` that leads nowhere in it, as page and link; links to other sites are not followed.

    Addresses that begin with `base_url` are the site's own.
    """
    pages: dict[Path, _Page] = {}
    for path in sorted(site.rglob("*.html")):
        for link in dict.fromkeys(_read_page(path, pages).links):
            target = _find_target(site, path, link, base_url)
            if target is None or _is_good(*target, pages):
                continue
            yield path.relative_to(site).as_posix(), link


def _read_page(path: Path, pages: dict[Path, _Page]) -> _Page:
    if path not in pages:
        pages[path] = _Page(path.read_text(encoding="utf-8", errors="replace"))
    return pages[path]


def _find_target(site: Path, page: Path, link: str, base_url: str) -> tuple[Path, str] | None:
    """The file and the place in it that a link means; None for what is not of this site."""
    if base_url and link.startswith(f"{base_url}/"):
        link, page = link.removeprefix(f"{base_url}/"), site / "index.html"
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or (parts.path.startswith("/") and page.name == "404.html"):
        return None
    path = page if not parts.path else Path(os.path.normpath(page.parent / unquote(parts.path)))
    return (path / "index.html" if path.is_dir() else path), unquote(parts.fragment)


def _is_good(path: Path, place: str, pages: dict[Path, _Page]) -> bool:
    if not path.is_file():
        return False
    return not place or path.suffix != ".html" or place in _read_page(path, pages).places
