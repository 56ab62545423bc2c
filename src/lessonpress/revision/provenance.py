"""A revision's provenance in two standard forms: an RO-Crate, and an in-toto Statement with SLSA's predicate.

Both follow from the manifest and the files' digests, hold dates and machine facts, and are no part of the identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from lessonpress.core import canonical_json

if TYPE_CHECKING:
    from lessonpress.revision.manifest_schema import Manifest, Paper

JsonLd: TypeAlias = dict[str, Any]  # an entity of an RO-Crate or a part of a statement: other people's forms

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


def make_crate(manifest: Manifest, files: Mapping[str, bytes], moment: str) -> JsonLd:
    """The RO-Crate 1.1 metadata of a revision published at a moment: its files, what made them, and whom they cite."""
    listed = {name: data for name, data in sorted(files.items()) if name not in (CRATE, *AFTER)}
    entities = [_make_file(name, data) for name, data in listed.items()]
    entities += [{"@id": name, "@type": "File", "name": name, "encodingFormat": _find_format(name)} for name in AFTER]
    cited = manifest["milestone"]["papers"] if manifest["milestone"] else []
    papers = [_make_paper(number, paper) for number, paper in enumerate(cited, 1)]
    return {"@context": CONTEXT, "@graph": [
        {"@id": CRATE, "@type": "CreativeWork", "about": {"@id": "./"},
         "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"}},
        _make_root(manifest, entities, papers, moment), *entities, *_list_people(manifest), *papers,
        *_make_action(manifest, listed),
    ]}  # fmt: skip


def _make_root(manifest: Manifest, entities: list[JsonLd], papers: list[JsonLd], moment: str) -> JsonLd:
    root: JsonLd = {
        "@id": "./", "@type": "Dataset", "name": manifest["title"],
        "description": manifest["description"] or manifest["question"] or manifest["title"],
        "datePublished": moment, "license": {"@id": "#license"},
        "identifier": manifest["revision"],
        "hasPart": [{"@id": entity["@id"]} for entity in entities], "mentions": {"@id": "#capture"},
    }  # fmt: skip
    if manifest["tags"]:
        root["keywords"] = ", ".join(manifest["tags"])
    if papers:
        cited = [{"@id": paper["@id"]} for paper in papers]
        root["citation"] = cited if len(cited) > 1 else cited[0]  # as RO-Crate wants single values
    return {**root, "author": {"@id": "#curator"}} if manifest["curator"] else root


def _list_people(manifest: Manifest) -> list[JsonLd]:
    terms = manifest["license"] or "No licence is stated; ask the curator."
    license_ = {"@id": "#license", "@type": "CreativeWork", "name": terms, "description": terms}
    curator = {"@id": "#curator", "@type": "Person", "name": manifest["curator"]}
    return [license_, curator] if manifest["curator"] else [license_]


def _make_paper(number: int, paper: Paper) -> JsonLd:
    url = paper.get("url")
    about = {"@id": url or f"#paper-{number}", "@type": "ScholarlyArticle", "name": paper["title"]}
    return {**about, "url": url} if url else about


def _make_action(manifest: Manifest, files: Mapping[str, bytes]) -> list[JsonLd]:
    """What made the files: one run of the lesson's source with PyTorch."""
    facts = manifest["provenance"]
    read = [{"@id": name} for name in _list_sources(files)]
    made = [{"@id": name} for name in files if name not in _list_sources(files)]
    tools = [("#python", "Python", facts["python"]), ("#torch", "PyTorch", facts["torch"])]
    action = {"@id": "#capture", "@type": "CreateAction", "name": "Run the lesson and record its cases",
              "endTime": facts["capturedAt"], "object": read, "result": made,
              "instrument": [{"@id": name} for name, _, _ in tools]}  # fmt: skip
    return [action, *({"@id": name, "@type": "SoftwareApplication", "name": words, "softwareVersion": version}
                      for name, words, version in tools)]  # fmt: skip


def _list_sources(files: Mapping[str, bytes]) -> list[str]:
    """The lesson's own Python files, its recipe, and the weights that it has made."""
    ours = ("run.py", "compare.py", "verify.py")
    own = (name for name in files if name not in ours and not name.startswith("worker/"))
    return [name for name in own if name.endswith((".py", "lesson.yaml")) or name in PREPARED]


def _make_file(name: str, data: bytes) -> JsonLd:
    kind = ["File", "SoftwareSourceCode"] if name.endswith(".py") else "File"
    return {"@id": name, "@type": kind, "name": name, "encodingFormat": _find_format(name),
            "contentSize": str(len(data)), "sha256": canonical_json.digest(data)}  # fmt: skip


def _find_format(name: str) -> str:
    return FORMATS.get(name.rpartition(".")[2], "application/octet-stream" if "." in name else "text/plain")


def _make_resource(name: str, data: bytes) -> JsonLd:
    """A file by its digest, as in-toto names it."""
    return {"name": name, "digest": {"sha256": canonical_json.digest(data)}}


def make_statement(manifest: Manifest, files: Mapping[str, bytes]) -> JsonLd:
    """An in-toto Statement v1 with a SLSA provenance v1 predicate; its subjects are the files by their digests."""
    facts = manifest["provenance"]
    subjects = [_make_resource(name, data) for name, data in sorted(files.items()) if name not in AFTER]
    sources = [_make_resource(name, files[name]) for name in sorted(_list_sources(files))]
    commit = facts["productRevision"]
    return {
        "_type": "https://in-toto.io/Statement/v1", "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD,
                "externalParameters": {"lesson": manifest["slug"], "digests": facts["digests"]},
                "internalParameters": {"settings": facts["settings"], "initialisation": facts["initialisation"]},
                "resolvedDependencies": [
                    *sources, {"uri": f"pkg:pypi/torch@{facts['torch']}"},
                    {"uri": f"pkg:generic/python@{facts['python']}"},
                    *([{"name": "repository", "digest": {"gitCommit": commit}}] if commit else []),
                ],
            },
            "runDetails": {
                "builder": {"id": BUILDER},
                "metadata": {"invocationId": f"{manifest['slug']}/{manifest['revision']}",
                             "finishedOn": facts["capturedAt"]},
            },
        },
    }  # fmt: skip
