"""A workflow's own signature: a revision's in-toto statement as a Sigstore bundle, beside its frozen folder.

A workflow of a hosting service has an identity and no key: Sigstore certifies it for ten minutes and enters the
signature into a public log. The bundle lies in `models/<slug>/<revision>.sigstore.json`. The library that makes and
checks it (`pip install lessonpress[sigstore]`) is imported only where a bundle is made or a signer is asked for.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lessonpress.core import atomic_io, canonical_json
from lessonpress.core.errors import RetryableError
from lessonpress.core.settings import Signing
from lessonpress.revision import provenance

SUFFIX = ".sigstore.json"
TYPE = "application/vnd.in-toto+json"
# Where a service hands a token to its workflows: without one of these there is no identity, and nothing is imported.
AMBIENT = ("ACTIONS_ID_TOKEN_REQUEST_URL", "SIGSTORE_ID_TOKEN", "BUILDKITE_AGENT_ACCESS_TOKEN", "CIRCLE_OIDC_TOKEN_V2")
LARGEST = 1 << 20  # bytes of a bundle; a real one has some 30,000
REFUSED = "this is no attestation of the revision"
MEND = "Take the file back from git, or delete it and let the workflow attest the revision again."


def locate(folder: Path) -> Path:
    """Where the attestation of a revision's folder lies."""
    return folder.with_name(folder.name + SUFFIX)


def has_identity() -> bool:
    """Whether this process runs in a workflow that may have an identity."""
    return any(os.environ.get(name) for name in AMBIENT)


def attest_revision(folder: Path) -> bool:
    """Have the workflow's identity sign a revision's statement; False where an attestation is there already.

    Raises RetryableError where there is no identity, or where the service refuses.
    """
    if locate(folder).is_file():
        return False
    sign, fails = _open_signer()
    try:
        text = sign((folder / provenance.STATEMENT).read_bytes())
    except fails as error:
        raise RetryableError("Sigstore", f"it does not attest {folder.name}: {error}", "", "The revision is published "
                             "without an attestation; then type: lessonpress sign --sigstore") from None  # fmt: skip
    atomic_io.write(locate(folder), text)
    return True


def attest_published(folders: Sequence[Path]) -> str:
    """Attest every one of some revisions that has no attestation yet; what was done, in words."""
    done = [folder for folder in folders if attest_revision(folder)]
    return f"attested {len(done)} of {len(folders)} revisions; the others were attested before"


def find_faults(signing: Signing, folder: Path) -> Iterator[tuple[str, str]]:
    """What is wrong with a revision's attestation, as fact and remedy.

    One that is there must state this revision; where `signing.identity` is given, that identity must have signed it,
    and with `signing.required` there must be one.
    """
    if not locate(folder).is_file():
        if signing.required and signing.identity:
            yield "this revision has no attestation, and the site demands one", \
                "In the workflow, type: lessonpress sign --sigstore"  # fmt: skip
        return
    try:
        stated = read_statement(locate(folder).read_bytes())
    except ValueError as error:
        yield f"{REFUSED}: {error}", MEND
        return
    if stated != (folder / provenance.STATEMENT).read_bytes():
        yield f"{REFUSED}: it states something else than its {provenance.STATEMENT}", MEND
    elif signing.identity and (why := find_refusal(signing, locate(folder))):
        yield f"{REFUSED} by {signing.identity}: {why}", MEND


def read_statement(data: bytes) -> bytes:
    """The statement that a bundle holds, whoever signed it. Raises ValueError for anything but such a bundle."""
    if len(data) > LARGEST:
        raise ValueError(f"it has more than {LARGEST} bytes")
    bundle = canonical_json.loads(data)
    try:
        envelope = bundle["dsseEnvelope"]
        if envelope["payloadType"] != TYPE:
            raise ValueError("its envelope holds no in-toto statement")
        return base64.b64decode(envelope["payload"], validate=True)
    except (KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise ValueError("it is no Sigstore bundle with an envelope") from error


def find_refusal(signing: Signing, bundle: Path) -> str:
    """Why a bundle was not signed by the identity that the settings name; empty where it was.

    The trust root is that of the public service as the installed library knows it, or `signing.trust_root`; nothing is
    fetched. Raises RetryableError where the library or the root is missing.
    """
    library = _import_library()
    try:
        root = library["TrustedRoot"].from_file(signing.trust_root) if signing.trust_root else None
        verifier = (library["Verifier"](trusted_root=root) if root is not None
                    else library["Verifier"].production(offline=True))  # fmt: skip
    except (OSError, ValueError, library["Error"]) as error:
        raise RetryableError(f"signing.trust_root: {signing.trust_root}", f"it cannot be used: {error}",
                             "a Sigstore trusted root, as JSON") from None  # fmt: skip
    policy = library["Identity"](identity=signing.identity, issuer=signing.issuer or None)
    try:
        kind, payload = verifier.verify_dsse(library["Bundle"].from_json(bundle.read_bytes()), policy)
    except Exception as error:  # a bundle is a stranger's data: whatever the library says of it is a refusal
        return " ".join(str(error).split())[:300] or type(error).__name__
    stated = read_statement(bundle.read_bytes())
    return "" if (kind, payload) == (TYPE, stated) else "what was signed is not what it states"


def _open_signer() -> tuple[Any, tuple[type[Exception], ...]]:
    """A function that signs a statement with the workflow's identity and gives the bundle, and how it can fail."""
    library = _import_library()
    try:
        token = library["detect_credential"]()
    except library["Error"] as error:
        raise RetryableError("Sigstore", f"the workflow's identity cannot be had: {error}", "") from None
    if token is None:
        raise RetryableError("Sigstore", "this process has no identity that a service vouches for",
                             "a workflow, with `permissions: id-token: write` where it runs on GitHub",
                             "With a key of your own: lessonpress sign --key FILE")  # fmt: skip
    context = library["SigningContext"].from_trust_config(library["ClientTrustConfig"].production())

    def sign(statement: bytes) -> str:
        with context.signer(library["IdentityToken"](token)) as signer:
            return str(signer.sign_dsse(library["Statement"](statement)).to_json())

    return sign, (library["Error"], OSError, ValueError)


def _import_library() -> dict[str, Any]:
    """What is used of the `sigstore` package. Raises RetryableError where it is not installed."""
    try:
        from sigstore import dsse, errors, models, oidc, sign, verify
        from sigstore.verify import policy
    except ImportError:
        raise RetryableError("sigstore", "the Python package is not installed here", "version 4",
                             "Type: pip install 'lessonpress[sigstore]'") from None  # fmt: skip
    return {
        "Bundle": models.Bundle, "ClientTrustConfig": models.ClientTrustConfig, "TrustedRoot": models.TrustedRoot,
        "Error": errors.Error, "Identity": policy.Identity, "IdentityToken": oidc.IdentityToken,
        "SigningContext": sign.SigningContext, "Statement": dsse.Statement, "Verifier": verify.Verifier,
        "detect_credential": oidc.detect_credential,
    }  # fmt: skip
