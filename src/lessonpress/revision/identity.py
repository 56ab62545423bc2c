"""What a revision is, as one canonical text; its SHA-256 names the revision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict, TypeGuard

from lessonpress.core import canonical_json

if TYPE_CHECKING:
    from lessonpress.lesson.capture_records import Capture
    from lessonpress.lesson.records import Cases, Digests, Nested, SourceRecord

# Files that hold the id or a date: they follow from the rest, so the id cannot rest on them.
DERIVED = frozenset({
    "identity.json", "manifest.json", "index.html", "SHA256SUMS", "bundle.zip", "ro-crate-metadata.json",
    "provenance.intoto.json", "CITATION.cff",
})  # fmt: skip
ENVIRONMENT = ("torch", "python", "settings", "initialisation")
# Files whose bytes follow the recorded numbers, beside the arrays under values/.
NUMERIC = frozenset({"cases.csv", "weights.safetensors", "graph.tensorviz.json", "index.html"})
DIGESTS = ("source", "recipe", "prose", "checks")  # each is the reason as well
FIRST = "first publication"  # the reason where there is no old identity


class Identity(TypedDict):
    """What a revision is (identity.json); `recorded` holds every case's arrays and metrics by id."""

    schema: int
    slug: str
    digests: Digests
    torch: str
    python: str
    settings: dict[str, str | int | bool]
    initialisation: str
    weights: str
    recorded: dict[str, dict[str, Nested]]
    files: dict[str, str]


def make_identity(
    source: SourceRecord, captured: Capture, cases: Cases, files: Mapping[str, bytes], page: str, weights: str
) -> str:
    """The bytes (as text) of identity.json; `page` is the lesson's page with id and volatile facts blanked."""
    facts = captured["provenance"]
    visible = {name: canonical_json.digest(data) for name, data in files.items() if name not in DERIVED}
    recorded = {
        name: {
            **{k: a["values"] for k, a in case["arrays"].items() if f"values/{name}-{k}.npy" not in files},
            **case["metrics"],
        }
        for name, case in cases["cases"].items()
    }  # fmt: skip
    identity: Identity = {
        "schema": 1, "slug": source["slug"], "digests": source["digests"], "torch": facts["torch"],
        "python": ".".join(facts["python"].split(".")[:2]), "settings": facts["settings"],
        "initialisation": facts["initialisation"], "weights": weights, "recorded": recorded,
        "files": {**visible, "index.html": canonical_json.digest(page)},
    }  # fmt: skip
    return canonical_json.dumps(identity) + "\n"


def compute_revision(identity: str) -> str:
    """The revision's id: the first 16 hex digits of the SHA-256 of identity.json's bytes."""
    return canonical_json.digest(identity)[:16]


def list_reasons(old: Identity, new: Identity, *, templates: bool = False) -> list[str]:
    """Why a new identity is not the old one: source, recipe, prose, checks, numbers, environment, templates.

    `templates` says that other templates have made the new revision, which a page with other words cannot tell.
    """
    reasons = [name for name in DIGESTS if old["digests"].get(name) != new["digests"].get(name)]
    if any(old.get(key) != new.get(key) for key in ("recorded", "weights")):
        reasons.append("numbers")
    if any(old.get(key) != new.get(key) for key in ENVIRONMENT) or _find_packages(old) != _find_packages(new):
        reasons.append("environment")
    if not reasons or templates or _list_common_files(old) != _list_common_files(new):
        reasons.append("templates")
    return reasons


def is_identity(document: Mapping[str, object]) -> TypeGuard[Identity]:
    """Whether a document has the parts of an identity, so that it can be compared with one."""
    digests, files, recorded = (document.get(part) for part in ("digests", "files", "recorded"))
    maps = [digests, files, recorded, *(recorded.values() if isinstance(recorded, dict) else [])]
    return all(isinstance(part, dict) for part in maps)


def differ_in_numbers_only(old: Identity | None, new: Identity) -> bool:
    """Whether nothing but numbers tells two identities apart, so that other rounding may be all that changed."""
    return old is not None and _drop_numbers(old) == _drop_numbers(new)


def _drop_numbers(identity: Identity) -> dict[str, object]:
    files = {name: "" if name in NUMERIC or name.startswith("values/") else sha
             for name, sha in identity["files"].items()}  # fmt: skip
    records = {case: sorted(record) for case, record in identity["recorded"].items()}
    return {**identity, "files": files, "recorded": records, "weights": ""}


def _find_packages(identity: Identity) -> str | None:
    """The digest of the list of packages that the lesson ran with."""
    return identity["files"].get("requirements.txt")


def _list_common_files(identity: Identity) -> dict[str, str]:
    """The files that are the same for every lesson."""
    names = ("compare.py", "verify.py")
    return {n: sha for n, sha in identity["files"].items() if n in names or n.startswith("worker/")}
