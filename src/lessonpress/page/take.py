"""What a reader takes along besides the files: how to cite a revision."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lessonpress import prose


@dataclass(frozen=True)
class Citation:
    """A BibTeX entry in two parts around the year, which belongs to the run and not to the revision."""

    before: str
    year: str
    after: str


def citation(manifest: Mapping[str, Any]) -> Citation:
    """The BibTeX entry of a revision: title, author, revision and, in the middle, the year of its capture."""
    slug, revision = str(manifest.get("slug") or "lesson"), str(manifest.get("revision") or "")
    told = {
        "title": _braced(prose.plain(str(manifest["title"]))),
        "author": _braced(prose.plain(str(manifest.get("curator") or "unknown"))),
    }
    lines = [f"@misc{{{slug}-{revision},", *(f"  {key} = {{{text}}}," for key, text in told.items())]
    note = f"  note = {{Lesson {slug}, revision {revision}}},"
    captured = re.match(r"\d{4}", str((manifest.get("provenance") or {}).get("capturedAt") or ""))
    return Citation("\n".join([*lines, note, "  year = {"]), captured[0] if captured else "", "}\n}")


def _braced(text: str) -> str:
    """Text inside braces: TeX's special characters escaped, capitals kept by a second pair."""
    names = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "{" + re.sub(r"[\\~^{}$&#_%]", lambda sign: names.get(sign[0], "\\" + sign[0]), text) + "}"
