"""The files of a revision that say when it was published, and those that follow from them; none is in its identity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lessonpress.core import canonical_json
from lessonpress.revision import bundle, provenance

if TYPE_CHECKING:
    from lessonpress.revision.manifest_schema import Manifest

NAMES = ("CITATION.cff", provenance.CRATE, *provenance.AFTER)


def date_files(manifest: Manifest, files: Mapping[str, bytes], moment: str) -> dict[str, bytes]:
    """All files of a revision, of which those in NAMES are made for its publication at a moment (ISO 8601)."""
    dated = {name: data for name, data in files.items() if name not in NAMES}
    dated["CITATION.cff"] = bundle.make_citation(manifest, moment)
    dated[provenance.CRATE] = canonical_json.pretty(provenance.make_crate(manifest, dated, moment)).encode()
    dated[provenance.STATEMENT] = canonical_json.pretty(provenance.make_statement(manifest, dated)).encode()
    dated["SHA256SUMS"] = bundle.make_checksums(dated)
    dated["bundle.zip"] = bundle.zip_bundle(dated, f"{manifest['slug']}-{manifest['revision']}")
    return dated


def read_moment(files: Mapping[str, bytes]) -> str:
    """When a revision was published, as its RO-Crate says (an earlier version's says when it ran); empty without."""
    try:
        entities = canonical_json.loads(files[provenance.CRATE])["@graph"]
        return next(str(one.get("datePublished", "")) for one in entities if one["@id"] == "./")
    except (KeyError, TypeError, ValueError, StopIteration):
        return ""
