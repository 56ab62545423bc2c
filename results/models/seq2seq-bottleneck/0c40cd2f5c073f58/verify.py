"""Verify this folder with the standard library alone: every file's digest and the revision's own name.

    python -I verify.py                  # then repeats the numbers, where the packages of requirements.txt are installed
    python -I verify.py --digests        # the files only
    python -I verify.py --signers FILE   # also the signature of identity.json: FILE is as ssh-keygen's allowed_signers
        [--signature FILE]               # where it lies, if not beside this folder as REVISION.sshsig
    python -I verify.py --attestation FILE   # what a Sigstore bundle states, if not beside it as REVISION.sigstore.json

Nothing that the folder's own list does not name is imported or run, and no bytecode is read.
"""

import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
if __name__ == "__main__":
    # Without -I Python looks for modules beside this file first, where anybody may have put a hashlib.py.
    sys.path = [entry for entry in sys.path if os.path.realpath(entry or ".") != HERE]
    sys.pycache_prefix, sys.dont_write_bytecode = os.devnull, True

import base64  # noqa: E402
import hashlib  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import shutil  # noqa: E402
import subprocess  # noqa: E402
import zipfile  # noqa: E402
from pathlib import Path  # noqa: E402

HERE = Path(HERE)
# The bundle leaves these to the site: there are all of them here, or none.
SITE = ("index.html", "cases.csv", "ro-crate-metadata.json")
UNSUMMED = ("SHA256SUMS", "bundle.zip")
PACKAGES = ("torch", "numpy", "safetensors")
# A Python of this start reads no environment, no folder of the user's, and nothing from where it starts. Bytecode it
# reads where its packages are installed; run.py reads none before it looks into this folder.
START = (sys.executable, "-I", "-B")
NAMESPACE = "lessonpress-revision"
STATEMENT = "application/vnd.in-toto+json"


def digest(path):
    """The SHA-256 of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def present():
    """Every file and link here by its name, and folders that a reader's own Python leaves, which are not looked into."""
    names, left = set(), []
    for root, folders, files in os.walk(HERE):
        at = Path(root).relative_to(HERE)
        links = [name for name in folders if os.path.islink(os.path.join(root, name))]
        own = [name for name in folders if name == "__pycache__" or (name == ".venv" and root == str(HERE))]
        left += [(at / name).as_posix() for name in own if name not in links]
        folders[:] = [name for name in folders if name not in (*links, *own)]
        names |= {(at / name).as_posix() for name in (*files, *links)}
    return names, sorted(left)


def read(name):
    """One of this folder's JSON files."""
    return json.loads((HERE / name).read_text(encoding="utf-8"))


def faults():
    """Say what does not fit, one line a fault."""
    sums = (HERE / "SHA256SUMS").read_text(encoding="utf-8")
    listed = dict(reversed(line.split("  ", 1)) for line in sums.splitlines())
    if "".join(f"{sha}  {name}\n" for name, sha in sorted(listed.items())) != sums:
        yield "SHA256SUMS: its bytes are not the published ones"
    here = present()[0]
    bundled = not here & set(SITE)
    identity, manifest, statement = map(read, ("identity.json", "manifest.json", "provenance.intoto.json"))
    stated = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    for name, sha in listed.items():
        if name not in here:
            if not (bundled and name in SITE):
                yield f"{name}: the file is missing"
            elif stated.get(name) != sha:
                yield f"SHA256SUMS: another digest of {name} than the statement's"
        elif (HERE / name).is_symlink() or not (HERE / name).is_file():
            yield f"{name}: a link or a special file, where the published one is plain"
        elif digest(HERE / name) != sha:
            yield f"{name}: its bytes are not the published ones"
        elif name != "index.html" and identity["files"].get(name, sha) != sha:
            yield f"{name}: not the file that the revision's identity names"
    yield from (f"{name}: no file of this revision" for name in sorted(here - set(listed) - set(UNSUMMED)))
    yield from (f"{name}: the list of digests lacks it" for name in sorted(set(identity["files"]) - set(listed)))
    revision = digest(HERE / "identity.json")[:16]
    if revision != manifest["revision"]:
        yield f"manifest.json says revision {manifest['revision']}, identity.json gives {revision}"
    if "bundle.zip" in here:
        wanted = {name: sha for name, sha in listed.items() if name not in SITE}
        yield from packed({**wanted, "SHA256SUMS": hashlib.sha256(sums.encode()).hexdigest()})


def packed(wanted):
    """Say where bundle.zip holds anything but these files, by name and digest, in one folder."""
    with zipfile.ZipFile(io.BytesIO((HERE / "bundle.zip").read_bytes())) as archive:
        entries = [(entry.filename.partition("/"), archive.read(entry)) for entry in archive.infolist()]
    held = {name: hashlib.sha256(data).hexdigest() for (_, _, name), data in entries}
    if held != wanted or len(held) != len(entries) or len({folder for (folder, _, _), _ in entries}) != 1:
        yield "bundle.zip: it does not hold the files of this revision"


def unsigned(signers, signature):
    """Why no signature of identity.json by one of the signers is here; nothing, once it is said who signed."""
    revision = digest(HERE / "identity.json")[:16]
    file = Path(signature or HERE.parent / f"{revision}.sshsig")
    if not file.is_file():
        return [f"{file}: there is no signature; name it: --signature FILE"]
    if not shutil.which("ssh-keygen"):
        return ["ssh-keygen, which checks signatures, is not installed here"]
    known = ["-f", signers, "-s", str(file)]
    found = subprocess.run(["ssh-keygen", "-Y", "find-principals", *known], capture_output=True, text=True)
    for who in found.stdout.splitlines():
        command = ["ssh-keygen", "-Y", "verify", *known, "-n", NAMESPACE, "-I", who]
        if not subprocess.run(command, input=(HERE / "identity.json").read_bytes(), capture_output=True).returncode:
            print(f"signed by {who}")
            return []
    return [f"{file}: no signature of this identity.json by anybody whom {signers} names"]


def attested(given):
    """What a Sigstore bundle states of this folder: its faults. The signer's certificate needs more than this library."""
    revision = digest(HERE / "identity.json")[:16]
    file = Path(given or HERE.parent / f"{revision}.sigstore.json")
    if not given and not file.is_file():
        return []
    envelope = json.loads(file.read_text(encoding="utf-8"))["dsseEnvelope"]
    stated = base64.b64decode(envelope["payload"], validate=True)
    if envelope["payloadType"] != STATEMENT or stated != (HERE / "provenance.intoto.json").read_bytes():
        return [f"{file}: this attestation states something else than the statement of this revision"]
    print(f"{file.name}: it states the files of this revision. Who signed it was not checked here; to do so, name them:")
    print(f"  python -m sigstore verify identity --bundle {file} --cert-identity WHO --cert-oidc-issuer ISSUER "
          f"{HERE / 'identity.json'}")
    return []


def option(name):
    """The word after an option, or nothing."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv[1:-1] else None


def main():
    """Print what does not fit, and repeat the numbers where that is possible; 1 if anything is wrong, else 0."""
    try:
        found = list(faults())
        if not found and "--signers" in sys.argv[1:]:
            found = unsigned(option("--signers") or "", option("--signature"))
        found = found or attested(option("--attestation"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        found = [f"this folder cannot be read as a revision: {error}"]
    if found:
        print("\n".join(found))
        return 1
    print(f"revision {digest(HERE / 'identity.json')[:16]}: every file is the published one")
    for name in present()[1]:
        print(f"{name}: not of this revision, not checked and not used")
    if "--digests" in sys.argv[1:]:
        return 0
    looked = f"import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, {PACKAGES})))"
    if subprocess.run([*START, "-c", looked], cwd=HERE.anchor).returncode:
        print("The numbers were not repeated: first `pip install -r requirements.txt`, then `python run.py --compare`.")
        return 0
    return subprocess.run([*START, str(HERE / "run.py"), "--compare"], cwd=HERE).returncode


if __name__ == "__main__":
    sys.exit(main())
