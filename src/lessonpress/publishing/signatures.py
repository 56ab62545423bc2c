"""Command sign: a detached SSH signature of a revision's identity.json, beside its frozen folder; and its verification.

The signature is made and checked by `ssh-keygen -Y`. It lies in `models/<slug>/<revision>.sshsig`: the folder itself
never changes. What it vouches for stands in docs/trust.md.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from lessonpress.core import atomic_io
from lessonpress.core.errors import LessonError, RetryableError
from lessonpress.core.settings import Config
from lessonpress.publishing import attestations
from lessonpress.revision import history, packed

NAMESPACE = "lessonpress-revision"  # a signature that was made for something else is none
SUFFIX = ".sshsig"
FILE = re.compile(r"([0-9a-f]{16})\.(?:sshsig|sigstore\.json)")  # attestations too


def locate(folder: Path) -> Path:
    """Where the signature of a revision's folder lies."""
    return folder.with_name(folder.name + SUFFIX)


def sign_revision(folder: Path, key: str) -> bool:
    """Sign a revision with the key in a file (an agent's, where it is the public half); False where one is there.

    Raises RetryableError where ssh-keygen is missing or refuses.
    """
    if locate(folder).is_file():
        return False
    done = _run(["sign", "-f", os.path.expanduser(key)], packed.read_identity(folder))
    if done.returncode:
        raise RetryableError(f"config.yaml: signing.key: {key}", f"ssh-keygen cannot sign: {_explain(done)}",
                             "the file of a key that can be used without asking", "The revision is published unsigned; "
                             "then type: lessonpress sign")  # fmt: skip
    atomic_io.write(locate(folder), done.stdout.decode())
    return True


def sign_published(config: Config, slugs: Sequence[str], key: str | None = None) -> str:
    """Sign every revision of some lessons, or of all, that has no signature yet; what was done, in words."""
    chosen = key or config.signing.key
    if not chosen:
        raise LessonError("config.yaml: signing.key", "no key is named", "the file of an SSH key",
                          "Write it there, or type: lessonpress sign --key FILE")  # fmt: skip
    folders = list_revisions(config, slugs)
    signed = [folder for folder in folders if sign_revision(folder, chosen)]
    return f"signed {len(signed)} of {len(folders)} revisions; the others were signed before"


def list_revisions(config: Config, slugs: Sequence[str]) -> list[Path]:
    """The folders of the published revisions of some lessons, or of all."""
    chosen = slugs or history.list_published(Path(config.results))
    return [folder for slug in chosen for folder in _list_folders(config.published(slug))]


def find_faults(config: Config, slug: str) -> Iterator[tuple[str, str, str]]:
    """What is wrong with a lesson's signatures, as place, fact and remedy.

    Each signature that is there must be good by `signing.signers`, where that is given; with `signing.required` each
    revision must have one.
    """
    wanted, signers = config.signing.required, config.signing.signers
    for folder in _list_folders(config.published(slug)):
        at = f"models/{slug}/{locate(folder).name}"
        if not locate(folder).is_file():
            if wanted and signers:
                yield at, "this revision has no signature, and the site demands one", "Type: lessonpress sign"
        elif signers and not find_signer(folder, Path(signers)):
            yield at, f"this is no signature of the revision by anybody whom {signers} names", \
                "Take the file back from git, or delete it and type: lessonpress sign"  # fmt: skip
        for fact, remedy in attestations.find_faults(config.signing, folder):
            yield f"models/{slug}/{attestations.locate(folder).name}", fact, remedy
    others = [path for suffix in (SUFFIX, attestations.SUFFIX) for path in config.published(slug).glob(f"*{suffix}")]
    for path in sorted(others):
        match = FILE.fullmatch(path.name)
        if not match or not packed.exists(path.with_name(match[1])):
            yield f"models/{slug}/{path.name}", "a signature of no revision", "Delete it."


def find_signer(folder: Path, signers: Path, signature: Path | None = None) -> str | None:
    """Who of the allowed signers signed a revision's identity; None where nobody did.

    Raises RetryableError where ssh-keygen or the list of signers is missing.
    """
    if not signers.is_file():
        raise RetryableError(f"signing.signers: {signers}", "there is no such file", "a list of allowed signers")
    known = ["-f", str(signers), "-s", str(signature or locate(folder))]
    listed = _run(["find-principals", *known], b"", namespace=False)
    for principal in listed.stdout.decode("utf-8", "replace").splitlines():
        if not _run(["verify", *known, "-I", principal], packed.read_identity(folder)).returncode:
            return principal
    return None


def _run(words: Sequence[str], given: bytes, *, namespace: bool = True) -> subprocess.CompletedProcess[bytes]:
    """Run `ssh-keygen -Y`, which must not ask anybody for a passphrase."""
    if not shutil.which("ssh-keygen"):
        raise RetryableError("ssh-keygen", "it is not installed here", "OpenSSH 8.2 or newer", "Install OpenSSH.")
    command = ["ssh-keygen", "-Y", *words, *(["-n", NAMESPACE] if namespace else [])]
    environment = {**os.environ, "SSH_ASKPASS_REQUIRE": "force", "SSH_ASKPASS": "/bin/false"}
    return subprocess.run(command, input=given, capture_output=True, timeout=60, check=False, env=environment,
                          start_new_session=True)  # fmt: skip


def _explain(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else f"exit code {done.returncode}"


def _list_folders(folder: Path) -> list[Path]:
    return [folder / name for name in packed.list_revisions(folder)]
