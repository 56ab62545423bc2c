"""What a revision is, as one canonical text; its SHA-256 names the revision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lessonpress.core import canonical_json

# Files that hold the id or a date: they follow from the rest, so the id cannot rest on them.
DERIVED = frozenset({
    "identity.json", "manifest.json", "index.html", "SHA256SUMS", "bundle.zip", "ro-crate-metadata.json",
    "provenance.intoto.json", "CITATION.cff",
})  # fmt: skip
ENVIRONMENT = ("torch", "python", "settings", "initialisation")
# Files whose bytes follow the recorded numbers, beside the arrays under values/.
NUMERIC = frozenset({"cases.csv", "weights.safetensors", "graph.tensorviz.json", "index.html"})
REASONS = {"source": "source", "recipe": "recipe", "prose": "prose", "checks": "checks"}


def make_identity(
    source: Mapping[str, Any], captured: Mapping[str, Any], cases: Mapping[str, Any], files: Mapping[str, bytes],
    page: str, weights: str,
) -> str:  # fmt: skip
    """The bytes (as text) of identity.json; `page` is the lesson's page with id and volatile facts blanked."""
    told = captured["provenance"]
    visible = {name: canonical_json.digest(data) for name, data in files.items() if name not in DERIVED}
    recorded = {
        name: {
            **{k: a["values"] for k, a in case["arrays"].items() if f"values/{name}-{k}.npy" not in files},
            **case["metrics"],
        }
        for name, case in cases["cases"].items()
    }  # fmt: skip
    return canonical_json.dumps({
        "schema": 1, "slug": source["slug"], "digests": source["digests"], "torch": told["torch"],
        "python": ".".join(told["python"].split(".")[:2]), "settings": told["settings"],
        "initialisation": told["initialisation"], "weights": weights, "recorded": recorded,
        "files": {**visible, "index.html": canonical_json.digest(page)},
    }) + "\n"  # fmt: skip


def compute_revision(identity: str) -> str:
    """The revision's id: the first 16 hex digits of the SHA-256 of identity.json's bytes."""
    return canonical_json.digest(identity)[:16]


def list_reasons(old: Mapping[str, Any] | None, new: Mapping[str, Any], *, templates: bool = False) -> list[str]:
    """Why a new identity is not the old one: source, recipe, prose, checks, numbers, environment, templates.

    `templates` says that other templates have made the new revision, which a page with other words cannot tell.
    """
    if old is None:
        return ["first publication"]
    found = [word for key, word in REASONS.items() if old["digests"].get(key) != new["digests"].get(key)]
    if any(old.get(key) != new.get(key) for key in ("recorded", "weights")):
        found.append("numbers")
    if any(old.get(key) != new.get(key) for key in ENVIRONMENT) or _packages(old) != _packages(new):
        found.append("environment")
    if not found or templates or _ours(old) != _ours(new):
        found.append("templates")
    return found


def is_identity(told: Mapping[str, Any]) -> bool:
    """Whether a document has the parts of an identity, so that it can be compared with one."""
    digests, files, recorded = (told.get(part) for part in ("digests", "files", "recorded"))
    maps = [digests, files, recorded, *(recorded.values() if isinstance(recorded, dict) else [])]
    return all(isinstance(part, dict) for part in maps)


def differ_in_numbers_only(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
    """Whether nothing but numbers tells two identities apart, so that other rounding may be all that changed."""
    return old is not None and _without_numbers(old) == _without_numbers(new)


def _without_numbers(identity: Mapping[str, Any]) -> dict[str, Any]:
    files = {name: "" if name in NUMERIC or name.startswith("values/") else sha
             for name, sha in identity["files"].items()}  # fmt: skip
    records = {case: sorted(record) for case, record in identity["recorded"].items()}
    return {**identity, "files": files, "recorded": records, "weights": ""}


def _packages(identity: Mapping[str, Any]) -> str | None:
    """The digest of the list of packages that the lesson ran with."""
    return None if (sha := identity["files"].get("requirements.txt")) is None else str(sha)


def _ours(identity: Mapping[str, Any]) -> dict[str, str]:
    """The files that are the same for every lesson."""
    names = ("compare.py", "verify.py")
    return {n: sha for n, sha in identity["files"].items() if n in names or n.startswith("worker/")}
