"""A revision's provenance in two standard forms: an RO-Crate, and an in-toto Statement with SLSA's predicate.

Both follow from the manifest and the files' digests, hold dates and machine facts, and are no part of the identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lessonpress.core import canonical_json

CRATE, STATEMENT = "ro-crate-metadata.json", "provenance.intoto.json"
AFTER = (STATEMENT, "SHA256SUMS", "bundle.zip")  # made from the crate, so it can list them but not their digests
BUILD, BUILDER = "urn:lessonpress:build:lesson:1", "urn:lessonpress:builder:worker"
PREPARED = ("prepared.json", "prepared.safetensors")
# RO-Crate 1.1 has no word for a file's digest; this is that of the run crates, whose context version 1.2 took over.
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}]
FORMATS = {
    "py": "text/x-python", "json": "application/json", "yaml": "application/yaml", "csv": "text/csv",
    "txt": "text/plain", "svg": "image/svg+xml", "html": "text/html", "zip": "application/zip", "md": "text/markdown",
    "safetensors": "application/octet-stream", "npy": "application/octet-stream",
}  # fmt: skip


def make_crate(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """The RO-Crate 1.1 metadata of a revision folder: its files, what made them, and whom they cite."""
    listed = {name: data for name, data in sorted(files.items()) if name not in (CRATE, *AFTER)}
    entities = [_file(name, data) for name, data in listed.items()]
    entities += [{"@id": name, "@type": "File", "name": name, "encodingFormat": _format(name)} for name in AFTER]
    papers = [_paper(number, paper) for number, paper in enumerate((manifest["milestone"] or {}).get("papers", []), 1)]
    return {"@context": CONTEXT, "@graph": [
        {"@id": CRATE, "@type": "CreativeWork", "about": {"@id": "./"},
         "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"}},
        _root(manifest, entities, papers), *entities, *_people(manifest), *papers, *_action(manifest, listed),
    ]}  # fmt: skip


def _root(manifest: Mapping[str, Any], entities: list[dict[str, Any]], papers: list[dict[str, Any]]) -> dict[str, Any]:
    root: dict[str, Any] = {
        "@id": "./", "@type": "Dataset", "name": manifest["title"],
        "description": manifest["description"] or manifest["question"] or manifest["title"],
        "datePublished": manifest["provenance"]["capturedAt"], "license": {"@id": "#license"},
        "identifier": manifest["revision"],
        "hasPart": [{"@id": entity["@id"]} for entity in entities], "mentions": {"@id": "#capture"},
    }  # fmt: skip
    if manifest["tags"]:
        root["keywords"] = ", ".join(manifest["tags"])
    if papers:
        cited = [{"@id": paper["@id"]} for paper in papers]
        root["citation"] = cited if len(cited) > 1 else cited[0]  # as RO-Crate wants single values
    return {**root, "author": {"@id": "#curator"}} if manifest["curator"] else root


def _people(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    terms = manifest["license"] or "No licence is stated; ask the curator."
    license_ = {"@id": "#license", "@type": "CreativeWork", "name": terms, "description": terms}
    curator = {"@id": "#curator", "@type": "Person", "name": manifest["curator"]}
    return [license_, curator] if manifest["curator"] else [license_]


def _paper(number: int, paper: Mapping[str, Any]) -> dict[str, Any]:
    url = paper.get("url")
    about = {"@id": url or f"#paper-{number}", "@type": "ScholarlyArticle", "name": paper["title"]}
    return {**about, "url": url} if url else about


def _action(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """What made the files: one run of the lesson's source with PyTorch."""
    told = manifest["provenance"]
    read = [{"@id": name} for name in _source(files)]
    made = [{"@id": name} for name in files if name not in _source(files)]
    tools = [("#python", "Python", told["python"]), ("#torch", "PyTorch", told["torch"])]
    action = {"@id": "#capture", "@type": "CreateAction", "name": "Run the lesson and record its cases",
              "endTime": told["capturedAt"], "object": read, "result": made,
              "instrument": [{"@id": name} for name, _, _ in tools]}  # fmt: skip
    return [action, *({"@id": name, "@type": "SoftwareApplication", "name": words, "softwareVersion": version}
                      for name, words, version in tools)]  # fmt: skip


def _source(files: Mapping[str, bytes]) -> list[str]:
    """The lesson's own Python files, its recipe, and the weights that it has made."""
    ours = ("run.py", "compare.py", "verify.py")
    own = (name for name in files if name not in ours and not name.startswith("worker/"))
    return [name for name in own if name.endswith((".py", "lesson.yaml")) or name in PREPARED]


def _file(name: str, data: bytes) -> dict[str, Any]:
    kind: Any = ["File", "SoftwareSourceCode"] if name.endswith(".py") else "File"
    return {"@id": name, "@type": kind, "name": name, "encodingFormat": _format(name), "contentSize": str(len(data)),
            "sha256": canonical_json.digest(data)}  # fmt: skip


def _format(name: str) -> str:
    return FORMATS.get(name.rpartition(".")[2], "application/octet-stream" if "." in name else "text/plain")


def _resource(name: str, data: bytes) -> dict[str, Any]:
    """A file by its digest, as in-toto names it."""
    return {"name": name, "digest": {"sha256": canonical_json.digest(data)}}


def make_statement(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """An in-toto Statement v1 with a SLSA provenance v1 predicate; its subjects are the files by their digests."""
    told = manifest["provenance"]
    subjects = [_resource(name, data) for name, data in sorted(files.items()) if name not in AFTER]
    sources = [_resource(name, files[name]) for name in sorted(_source(files))]
    commit = told["productRevision"]
    return {
        "_type": "https://in-toto.io/Statement/v1", "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD,
                "externalParameters": {"lesson": manifest["slug"], "digests": told["digests"]},
                "internalParameters": {"settings": told["settings"], "initialisation": told["initialisation"]},
                "resolvedDependencies": [
                    *sources, {"uri": f"pkg:pypi/torch@{told['torch']}"},
                    {"uri": f"pkg:generic/python@{told['python']}"},
                    *([{"name": "repository", "digest": {"gitCommit": commit}}] if commit else []),
                ],
            },
            "runDetails": {
                "builder": {"id": BUILDER},
                "metadata": {"invocationId": f"{manifest['slug']}/{manifest['revision']}",
                             "finishedOn": told["capturedAt"]},
            },
        },
    }  # fmt: skip
