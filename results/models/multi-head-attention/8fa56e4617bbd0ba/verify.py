"""Verify this folder with the standard library alone: every file's digest and the revision's own name.

    python verify.py             # then repeats the numbers with run.py --compare, where its packages are installed
    python verify.py --digests   # the files only
"""

import hashlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The bundle leaves these to the site: there are all of them here, or none.
SITE = ("index.html", "cases.csv", "ro-crate-metadata.json")
UNSUMMED = ("SHA256SUMS", "bundle.zip")


def digest(path):
    """The SHA-256 of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def present():
    """Every file here by its name; what a reader's own Python leaves behind (.venv, __pycache__) does not count."""
    names = (path.relative_to(HERE) for path in HERE.rglob("*") if not path.is_dir())
    return {name.as_posix() for name in names if name.parts[0] != ".venv" and "__pycache__" not in name.parts}


def faults():
    """Say what does not fit, one line a fault."""
    sums = (HERE / "SHA256SUMS").read_text(encoding="utf-8")
    listed = dict(reversed(line.split("  ", 1)) for line in sums.splitlines())
    if "".join(f"{sha}  {name}\n" for name, sha in sorted(listed.items())) != sums:
        yield "SHA256SUMS: its bytes are not the published ones"
    here = present()
    bundled = not here & set(SITE)
    identity = json.loads((HERE / "identity.json").read_text(encoding="utf-8"))
    manifest = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))
    statement = json.loads((HERE / "provenance.intoto.json").read_text(encoding="utf-8"))
    stated = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    for name, sha in listed.items():
        if name not in here:
            if not (bundled and name in SITE):
                yield f"{name}: the file is missing"
            elif stated.get(name) != sha:
                yield f"SHA256SUMS: another digest of {name} than the statement's"
        elif digest(HERE / name) != sha:
            yield f"{name}: its bytes are not the published ones"
        elif name != "index.html" and identity["files"].get(name, sha) != sha:
            yield f"{name}: not the file that the revision's identity names"
    yield from (f"{name}: no file of this revision" for name in sorted(here - set(listed) - set(UNSUMMED)))
    yield from (f"{name}: the list of digests lacks it" for name in sorted(set(identity["files"]) - set(listed)))
    revision = digest(HERE / "identity.json")[:16]
    if revision != manifest["revision"]:
        yield f"manifest.json says revision {manifest['revision']}, identity.json gives {revision}"


def main():
    """Print what does not fit, and repeat the numbers where that is possible; 1 if anything is wrong, else 0."""
    try:
        found = list(faults())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        found = [f"this folder cannot be read as a revision: {error}"]
    if found:
        print("\n".join(found))
        return 1
    print(f"revision {digest(HERE / 'identity.json')[:16]}: every file is the published one")
    if "--digests" in sys.argv[1:]:
        return 0
    if not all(importlib.util.find_spec(name) for name in ("torch", "numpy", "safetensors")):
        print("The numbers were not repeated: first `pip install -r requirements.txt`, then `python run.py --compare`.")
        return 0
    return subprocess.run([sys.executable, str(HERE / "run.py"), "--compare"], cwd=HERE).returncode


if __name__ == "__main__":
    sys.exit(main())
