"""Provenance in standard forms, held against what their specifications ask for."""

import copy
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lessonpress.revision import provenance
from tests import tiny

MANIFEST: dict[str, Any] = {
    "slug": "a-lesson", "title": "A title", "description": "", "question": "Why?", "tags": ["x", "y"], "curator": "C",
    "license": "MIT", "revision": "0123456789abcdef",
    "milestone": {"papers": [{"title": "With", "url": "https://example.org/1"}, {"title": "Without", "url": None}]},
    "provenance": {"capturedAt": "2026-01-02T03:04:05+00:00", "productRevision": "f" * 40, "python": "3.11.9",
                   "torch": "2.13.0", "settings": {"TZ": "UTC"}, "initialisation": "portable-1",
                   "digests": {"source": "s"}},
}  # fmt: skip
FILES = {"model.py": b"x = 1\n", "lesson.yaml": b"schema: 1\n", "run.py": b"run", "worker/run.py": b"w",
         "manifest.json": b"{}", "preview.svg": b"<svg/>", "SHA256SUMS": b"s", "bundle.zip": b"z"}  # fmt: skip

AT = "2026-03-04T05:06:07+00:00"  # its publication

# The parts of in-toto's Statement v1 and SLSA's provenance v1 that are required, restated as a schema.
MOMENT = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$"
DIGEST = {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]+$"}}
DESCRIPTOR = {
    "type": "object", "additionalProperties": False, "anyOf": [{"required": [k]} for k in ("uri", "digest", "content")],
    "properties": {"name": {"type": "string"}, "uri": {"type": "string", "pattern": "^[a-z]+:"}, "digest": DIGEST},
}  # fmt: skip
STATEMENT = {
    "type": "object", "required": ["_type", "subject", "predicateType", "predicate"], "additionalProperties": False,
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "subject": {"type": "array", "minItems": 1, "items": {"allOf": [DESCRIPTOR, {"required": ["name", "digest"]}]}},
        "predicateType": {"const": "https://slsa.dev/provenance/v1"},
        "predicate": {
            "type": "object", "required": ["buildDefinition", "runDetails"], "additionalProperties": False,
            "properties": {
                "buildDefinition": {
                    "type": "object", "required": ["buildType", "externalParameters"], "additionalProperties": False,
                    "properties": {
                        "buildType": {"type": "string", "pattern": "^[a-z]+:"},
                        "externalParameters": {"type": "object", "minProperties": 1},
                        "internalParameters": {"type": "object"},
                        "resolvedDependencies": {"type": "array", "items": DESCRIPTOR},
                    },
                },
                "runDetails": {
                    "type": "object", "required": ["builder"], "additionalProperties": False,
                    "properties": {
                        "builder": {"type": "object", "required": ["id"],
                                    "properties": {"id": {"type": "string", "pattern": "^[a-z]+:"}}},
                        "metadata": {"type": "object", "additionalProperties": False, "properties": {
                            "invocationId": {"type": "string"},
                            "finishedOn": {"type": "string", "pattern": MOMENT},
                        }},
                    },
                },
            },
        },
    },
}  # fmt: skip


def entities(crate: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A crate's entities by id; an id stands once."""
    ids = [entity["@id"] for entity in crate["@graph"]]
    assert len(ids) == len(set(ids))
    return {entity["@id"]: entity for entity in crate["@graph"]}


def references(value: Any) -> set[str]:
    """Every id that a value refers to."""
    if isinstance(value, dict):
        return {value["@id"]} if value.keys() == {"@id"} else set().union(*map(references, value.values()), set())
    return set().union(*map(references, value), set()) if isinstance(value, list) else set()


def test_the_statement_is_valid() -> None:
    """It has what Statement v1 and SLSA provenance v1 require, and nothing that they do not know."""
    jsonschema.Draft202012Validator(STATEMENT).validate(provenance.make_statement(MANIFEST, FILES))


def test_the_schema_refuses_a_statement_without_digest() -> None:
    """The restated schema can fail."""
    statement = copy.deepcopy(provenance.make_statement(MANIFEST, FILES))
    del statement["subject"][0]["digest"]
    assert list(jsonschema.Draft202012Validator(STATEMENT).iter_errors(statement))


def test_the_subjects_are_the_files_by_their_digests() -> None:
    """Every file but those that hold the statement's own digest."""
    subjects = {s["name"]: s["digest"]["sha256"] for s in provenance.make_statement(MANIFEST, FILES)["subject"]}
    assert subjects == {
        n: hashlib.sha256(d).hexdigest() for n, d in FILES.items() if n not in ("SHA256SUMS", "bundle.zip")
    }


def test_the_crate_describes_itself_and_its_root() -> None:
    """The descriptor names the root and the version; the root has the four properties that RO-Crate 1.1 requires."""
    known = entities(provenance.make_crate(MANIFEST, FILES, AT))
    assert known["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    assert known["ro-crate-metadata.json"]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = known["./"]
    assert root["@type"] == "Dataset"
    assert all(root[key] for key in ("name", "description", "license"))
    assert root["datePublished"] == AT


def test_every_reference_of_the_crate_leads_somewhere() -> None:
    """Whatever an entity refers to is an entity (but the specification), and every file is a part."""
    crate = provenance.make_crate(MANIFEST, FILES, AT)
    known = entities(crate)
    assert set().union(*(references(list(e.values())) for e in known.values())) - set(known) == {
        "https://w3id.org/ro/crate/1.1"
    }
    parts = {part["@id"] for part in known["./"]["hasPart"]}
    assert parts == set(FILES) | {"provenance.intoto.json"}
    assert known["model.py"]["sha256"] == hashlib.sha256(b"x = 1\n").hexdigest()
    assert known["model.py"]["contentSize"] == "6"


@pytest.mark.parametrize("missing", ["milestone", "curator", "license", "tags"])
def test_a_bare_lesson_has_a_crate_too(missing: str) -> None:
    """Whatever a lesson does not say is left out, and a licence is always named."""
    bare = {**MANIFEST, missing: {"milestone": None, "tags": []}.get(missing, "")}
    known = entities(provenance.make_crate(bare, FILES, AT))
    assert known[known["./"]["license"]["@id"]]["name"]
    assert set().union(*(references(list(e.values())) for e in known.values())) <= {
        *known,
        "https://w3id.org/ro/crate/1.1",
    }


def test_every_word_of_a_crate_is_in_its_context() -> None:
    """A key that the context does not define means nothing to a reader of linked data, and is refused by validators."""
    terms = json.loads((Path(__file__).parent / "data" / "ro-crate-1.1-context.json").read_text())["@context"]
    crate = provenance.make_crate(MANIFEST, FILES, AT)
    known = {*terms, *(term for part in crate["@context"] if isinstance(part, dict) for term in part)}
    kinds = {kind for entity in crate["@graph"] for kind in _listed(entity["@type"])}
    used = {key for entity in crate["@graph"] for key in entity if not key.startswith("@")} | kinds
    assert "sha256" in used
    assert used - known == set()


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_a_crate_passes_its_standards_own_validator(tmp_path: Path, project: Path) -> None:
    """rocrate-validator at REQUIRED level and cffconvert, where `make standards` has installed them."""
    python = project / "build" / "validators" / "bin" / "python"
    if not python.exists():
        pytest.skip("make standards has not installed the validators")
    config = tiny.at(tmp_path)
    tiny.published(config, "One")
    [folder] = [path.parent for path in Path(config.results).glob("models/*/*/identity.json")]
    done = subprocess.run([python, project / "scripts" / "check_standards.py", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ": 0 refused" in done.stdout
