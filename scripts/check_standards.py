"""Hold published files against the standards' own validators, offline: RO-Crate, CITATION.cff, XML.

    python scripts/check_standards.py [FOLDER…]   # revision folders; without any, the current one of each lesson

Runs in an environment of its own (scripts/standards.txt); `make standards` sets it up. Exit 1 when anything is refused.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import requests
from rocrate_validator import models, services
from rocrate_validator.utils import http

PROJECT = Path(__file__).resolve().parents[1]
# The terms of RO-Crate 1.1's context that a crate of ours may use: the validator would fetch them all.
CONTEXT, TERMS = "https://w3id.org/ro/crate/1.1/context", PROJECT / "tests" / "data" / "ro-crate-1.1-context.json"


def answer(_requester: Any, url: str, *_: Any, **__: Any) -> requests.Response:
    """What the validator gets for an address: the context from this repository, and nothing from anywhere else."""
    response = requests.Response()
    response.url, response.status_code, response._content = url, 504, b""
    if url.rstrip("/") == CONTEXT:
        response.status_code, response._content = 200, TERMS.read_bytes()
        response.headers["Content-Type"] = "application/ld+json"
    return response


def find_crate_faults(folder: Path, severity: models.Severity) -> Iterator[str]:
    """What rocrate-validator refuses."""
    found = services.validate({
        "rocrate_uri": str(folder), "profile_identifier": "ro-crate-1.1", "requirement_severity": severity,
        "skip_availability_check": True, "offline": True,
    })  # fmt: skip
    yield from (f"RO-Crate {issue.check.identifier}: {issue.message}" for issue in found.get_issues())


def find_citation_faults(folder: Path) -> Iterator[str]:
    """What cffconvert refuses."""
    command = [sys.executable, "-m", "cffconvert.cli.cli", "--validate", "-i", str(folder / "CITATION.cff")]
    program = Path(sys.executable).with_name("cffconvert")
    command[:3] = [str(program)] if program.exists() else command[:3]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"CITATION.cff: {(done.stdout + done.stderr).strip()[-300:]}"


def find_xml_faults(*files: Path) -> Iterator[str]:
    """What xmllint refuses, where it is installed."""
    for file in files:
        if file.is_file() and shutil.which("xmllint"):
            command = ["xmllint", "--noout", "--nonet", str(file)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            yield from done.stderr.splitlines()[:3]


def list_current() -> list[Path]:
    """The current revision of each published lesson."""
    histories = sorted((PROJECT / "results" / "models").glob("*/revisions.json"))
    return [path.parent / json.loads(path.read_bytes())["current"] for path in histories]


def main() -> int:
    """Check each folder and say what is refused."""
    for name in ("get", "head", "fetch_fresh"):
        setattr(http.HttpRequester, name, answer)
    folders, refused = [Path(name) for name in sys.argv[1:]] or list_current(), 0
    for folder in folders:
        faults = [*find_crate_faults(folder, models.Severity.REQUIRED), *find_citation_faults(folder),
                  *find_xml_faults(folder / "preview.svg")]  # fmt: skip
        wished = [fault for fault in find_crate_faults(folder, models.Severity.RECOMMENDED) if fault not in faults]
        refused += len(faults)
        print("\n".join([f"{folder}: {len(faults)} refused, {len(wished)} recommended", *(f"  {f}" for f in faults)]))
    around = list(find_xml_faults(*(PROJECT / "results" / name for name in ("feed.xml", "sitemap.xml"))))
    print("\n".join([*around, f"{len(folders)} folders, {refused + len(around)} faults"]))
    return 1 if refused or around else 0


if __name__ == "__main__":
    sys.exit(main())
