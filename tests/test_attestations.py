"""A workflow's attestation beside a frozen folder: the real library decides, by a trusted root that the tests made."""

from __future__ import annotations

import base64
import copy
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from lessonpress.core.errors import RetryableError
from lessonpress.core.settings import Config, Signing
from lessonpress.publishing import attestations, doctor, prune, site
from lessonpress.revision import provenance
from tests import tiny

pytest.importorskip("sigstore")
from tests.sigstore_service import IDENTITY, ISSUER, Service, make_key, sign, text

pytestmark = pytest.mark.slow
SLUG = "echo"


@pytest.fixture(scope="module")
def service() -> Service:
    """Give the authority and the logs that the houses trust."""
    return Service()


@pytest.fixture
def house(tmp_path: Path, service: Service) -> Config:
    """Give a repository with two revisions that demands attestations by one workflow."""
    root = service.write_root(tmp_path / "root.json")
    signing = Signing(identity=IDENTITY, issuer=ISSUER, trust_root=str(root), required=True)
    config = tiny.at(tmp_path, signing=signing)
    for title in ("One", "Two"):
        tiny.published(config, title)
    site.write_site(config)
    return config


def folders(config: Config) -> list[Path]:
    """The revisions' folders."""
    return sorted(path.parent for path in config.published(SLUG).glob("*/identity.json"))


def statement(folder: Path) -> bytes:
    """What is attested of a revision."""
    return (folder / provenance.STATEMENT).read_bytes()


def put(folder: Path, bundle: dict[str, Any]) -> Path:
    """Lay a bundle beside a revision."""
    attestations.locate(folder).write_text(json.dumps(bundle))
    return attestations.locate(folder)


def faults(config: Config) -> list[str]:
    """What the doctor says."""
    return [fault.words() for fault in doctor.find_faults(config)]


def test_a_demanded_attestation_is_missed_and_checked(house: Config, service: Service) -> None:
    """Each revision without one is a fault; with one by the workflow all is good, also where nobody demands it."""
    assert ["has no attestation" in words for words in faults(house)] == [True, True]
    for folder in folders(house):
        put(folder, service.attest(statement(folder)))
    assert faults(house) == []
    assert faults(house.model_copy(update={"signing": Signing()})) == []
    gone = attestations.locate(folders(house)[0])
    gone.rename(gone.with_name("0" * 16 + attestations.SUFFIX))
    assert any("a signature of no revision" in words for words in faults(house))
    gone.with_name("0" * 16 + attestations.SUFFIX).rename(gone)
    prune.withdraw(house, SLUG, gone.name[:16], "wrong")
    site.write_site(house)
    assert (gone.exists(), faults(house)) == (False, [])


def test_what_others_attest_is_refused(house: Config, service: Service) -> None:
    """Another workflow, another service, another statement, one changed byte anywhere, and files that are none."""
    one, other = folders(house)
    put(one, service.attest(statement(one)))
    good = service.attest(statement(other))

    def said(bundle: Any) -> str:
        attestations.locate(other).write_text(bundle if isinstance(bundle, str) else json.dumps(bundle))
        [words] = faults(house)
        assert attestations.REFUSED in words
        return words

    stranger = IDENTITY.replace("somebody", "nobody")
    assert "Certificate's SANs do not match" in said(service.attest(statement(other), identity=stranger))
    assert "does not match" in said(service.attest(statement(other), issuer="https://accounts.example.org"))
    assert f"by {IDENTITY}" in said(Service().attest(statement(other)))
    assert "states something else" in said(service.attest(statement(one)))
    assert "no Sigstore bundle" in said({})
    assert "no Sigstore bundle" in said([])
    said("{")
    said(json.dumps(good) + " " * attestations.LARGEST)
    said({**good, "dsseEnvelope": {**good["dsseEnvelope"], "payloadType": "text/plain"}})
    forged = copy.deepcopy(good)
    forged["dsseEnvelope"]["signatures"][0]["sig"] = text(sign(make_key(), statement(other)))
    said(forged)
    entry = good["verificationMaterial"]["tlogEntries"][0]
    for key in ("inclusionPromise", "inclusionProof"):
        said({**good, "verificationMaterial": {**good["verificationMaterial"], "tlogEntries": [
            {name: value for name, value in entry.items() if name != key}]}})  # fmt: skip
    said({**good, "verificationMaterial": {**good["verificationMaterial"], "tlogEntries": []}})
    late = copy.deepcopy(good)
    late["verificationMaterial"]["tlogEntries"][0]["integratedTime"] = "2000000000"
    said(late)
    data = bytearray(base64.b64decode(good["verificationMaterial"]["certificate"]["rawBytes"]))
    data[len(data) // 2] ^= 1
    material = {**good["verificationMaterial"], "certificate": {"rawBytes": text(bytes(data))}}
    said({**good, "verificationMaterial": material})
    put(other, good)  # the control
    assert faults(house) == []


def test_a_missing_library_is_one_message(house: Config, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to install; where no identity is named the statement is compared all the same."""
    for folder in folders(house):
        put(folder, service.attest(statement(folder)))
    broken = house.model_copy(update={"signing": house.signing.model_copy(update={"trust_root": "nowhere.json"})})
    with pytest.raises(RetryableError, match=r"signing\.trust_root: nowhere\.json: it cannot be used"):
        faults(broken)
    monkeypatch.setitem(sys.modules, "sigstore", None)
    with pytest.raises(RetryableError, match=r"pip install 'lessonpress\[sigstore\]'"):
        faults(house)
    nobody = house.model_copy(update={"signing": Signing()})
    assert faults(nobody) == []
    put(folders(house)[0], service.attest(b"{}"))
    assert ["states something else" in words for words in faults(nobody)] == [True]


def test_signing_needs_an_identity(house: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a workflow nothing is tried; an identity without a voucher is none."""
    for name in attestations.AMBIENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sigstore.oidc.detect_credential", lambda: None)
    with pytest.raises(RetryableError, match="no identity that a service vouches for"):
        attestations.attest_published(folders(house))
    assert not attestations.has_identity()
    with pytest.raises(ValidationError, match="write issuer too"):
        Signing(identity=IDENTITY)


def test_a_workflow_attests_what_it_publishes(house: Config, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an identity in the settings and around it; what is attested is the statement's own bytes, and it is good."""
    def fake() -> tuple[Any, tuple[type[Exception], ...]]:
        return (lambda data: json.dumps(service.attest(data))), (OSError,)

    monkeypatch.setattr(attestations, "_open_signer", fake)
    monkeypatch.setenv(attestations.AMBIENT[0], "https://example.org")
    assert attestations.attest_published(folders(house)).startswith("attested 2 of 2")
    assert attestations.attest_published(folders(house)).startswith("attested 0 of 2")
    tiny.published(house, "Three")
    site.write_site(house)
    assert len(list(house.published(SLUG).glob(f"*{attestations.SUFFIX}"))) == 3
    assert faults(house) == []

    def refuses(_: bytes) -> str:
        raise OSError("no network")

    attestations.locate(folders(house)[0]).unlink()
    monkeypatch.setattr(attestations, "_open_signer", lambda: (refuses, (OSError,)))
    with pytest.raises(RetryableError, match=r"it does not attest .* no network"):
        attestations.attest_published(folders(house))


def test_a_reader_learns_what_was_not_checked(house: Config, service: Service) -> None:
    """verify.py compares the statement with the standard library, and says by which command the signer is checked."""
    folder = folders(house)[0]

    def verified(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-I", "verify.py", "--digests", *options], cwd=folder, text=True,
                              capture_output=True, timeout=60, check=False)  # fmt: skip

    assert "attest" not in verified().stdout
    file = put(folder, service.attest(statement(folder)))
    done = verified()
    assert (done.returncode, "Who signed it was not checked here" in done.stdout) == (0, True)
    command = next(line for line in done.stdout.splitlines() if "-m sigstore" in line).split()
    command[command.index("WHO")], command[command.index("ISSUER")] = IDENTITY, ISSUER
    # Offline, and by the tests' own service in place of the public one, the command that it prints says yes.
    root = json.loads(service.write_root(folder.parent / "root.json").read_text())
    config = {"mediaType": "application/vnd.dev.sigstore.clienttrustconfig.v0.1+json", "trustedRoot": root,
              "signingConfig": {"mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json"}}  # fmt: skip
    (folder.parent / "trust.json").write_text(json.dumps(config))
    command[:3] = [sys.executable, "-m", "sigstore", "--trust-config", str(folder.parent / "trust.json")]
    for who, good in ((IDENTITY, True), ("somebody@example.org", False)):
        words = [who if word == IDENTITY else word for word in command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env={"PATH": ""})
        assert (done.returncode == 0) is good, done.stderr
    (folder.parent / "root.json").unlink()
    (folder.parent / "trust.json").unlink()
    put(folder, service.attest(b"{}"))
    done = verified()
    assert (done.returncode, "states something else" in done.stdout) == (1, True)
    shutil.move(file, folder.parent / "elsewhere.json")
    assert verified().returncode == 0
    assert verified("--attestation", "../elsewhere.json").returncode == 1
    file.write_text("[]")
    assert "cannot be read as a revision" in verified().stdout
