"""How a revision is cited, and how it is described to search engines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessonpress.web import prose

if TYPE_CHECKING:
    from lessonpress.revision.manifest_schema import Manifest


@dataclass(frozen=True)
class Citation:
    """A BibTeX entry in two parts around the year, which belongs to the run and not to the revision."""

    before: str
    year: str
    after: str


def describe_lesson(manifest: Manifest) -> dict[str, object]:
    """The lesson in the words of schema.org, without dates and addresses: a page does not know where it is served."""
    described = {
        "name": prose.to_text(manifest["title"]), "keywords": manifest.get("tags") or [],
        "author": prose.to_text(manifest.get("curator") or ""), "license": prose.to_text(manifest.get("license") or ""),
        "version": manifest.get("revision") or "",
    }  # fmt: skip
    filled = {key: value for key, value in described.items() if value}
    return {"@context": "https://schema.org", "@type": "LearningResource", **filled, "isAccessibleForFree": True}


def make_citation(manifest: Manifest) -> Citation:
    """The BibTeX entry of a revision: title, author, revision and, in the middle, the year of its capture."""
    slug, revision = manifest.get("slug") or "lesson", manifest.get("revision") or ""
    title, author = prose.to_text(manifest["title"]), prose.to_text(manifest.get("curator") or "unknown")
    lines = [f"@misc{{{slug}-{revision},", f"  title = {{{_put_in_braces(title)}}},",
             f"  author = {{{_put_in_braces(author)}}},",
             f"  note = {{Lesson {slug}, revision {revision}}},", "  year = {"]  # fmt: skip
    captured = re.match(r"\d{4}", manifest.get("provenance", {}).get("capturedAt") or "")
    return Citation("\n".join(lines), captured[0] if captured else "", "}\n}")


def _put_in_braces(text: str) -> str:
    """Text inside braces: TeX's special characters escaped, capitals kept by a second pair."""
    names = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "{" + re.sub(r"[\\~^{}$&#_%]", lambda sign: names.get(sign[0], "\\" + sign[0]), text) + "}"
