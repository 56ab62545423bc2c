"""What a reader or a search engine takes along besides the files: how to cite a revision, what it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lessonpress.web import prose


@dataclass(frozen=True)
class Citation:
    """A BibTeX entry in two parts around the year, which belongs to the run and not to the revision."""

    before: str
    year: str
    after: str


def describe_lesson(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The lesson in the words of schema.org, without dates and addresses: a page does not know where it is served."""
    told = {
        "name": prose.to_text(str(manifest["title"])), "keywords": [str(tag) for tag in manifest.get("tags") or []],
        "author": prose.to_text(str(manifest.get("curator") or "")),
        "license": prose.to_text(str(manifest.get("license") or "")),
        "version": str(manifest.get("revision") or ""),
    }  # fmt: skip
    kept = {key: value for key, value in told.items() if value}
    return {"@context": "https://schema.org", "@type": "LearningResource", **kept, "isAccessibleForFree": True}


def make_citation(manifest: Mapping[str, Any]) -> Citation:
    """The BibTeX entry of a revision: title, author, revision and, in the middle, the year of its capture."""
    slug, revision = str(manifest.get("slug") or "lesson"), str(manifest.get("revision") or "")
    told = {
        "title": _braced(prose.to_text(str(manifest["title"]))),
        "author": _braced(prose.to_text(str(manifest.get("curator") or "unknown"))),
    }
    lines = [f"@misc{{{slug}-{revision},", *(f"  {key} = {{{text}}}," for key, text in told.items())]
    note = f"  note = {{Lesson {slug}, revision {revision}}},"
    captured = re.match(r"\d{4}", str((manifest.get("provenance") or {}).get("capturedAt") or ""))
    return Citation("\n".join([*lines, note, "  year = {"]), captured[0] if captured else "", "}\n}")


def _braced(text: str) -> str:
    """Text inside braces: TeX's special characters escaped, capitals kept by a second pair."""
    names = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "{" + re.sub(r"[\\~^{}$&#_%]", lambda sign: names.get(sign[0], "\\" + sign[0]), text) + "}"
