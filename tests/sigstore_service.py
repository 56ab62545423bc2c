"""A Sigstore of the tests' own, without a network: a certificate authority, two logs, and the root that names them.

It makes what the public service makes (certificates for an identity with a promise of the certificates' log, bundles
with an entry of the signatures' log), so that the real library decides about it.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

IDENTITY = "https://github.com/somebody/lessons/.github/workflows/publish.yml@refs/heads/main"
ISSUER = "https://token.actions.githubusercontent.com"
TYPE = "application/vnd.in-toto+json"
NOW = datetime.datetime(2026, 6, 1, 12, 0, 0, tzinfo=datetime.UTC)
ALWAYS = {"start": "2020-01-01T00:00:00Z"}
ISSUER_OID, SCT_OID = "1.3.6.1.4.1.57264.1.1", "1.3.6.1.4.1.11129.2.4.2"
LATER = datetime.timedelta(minutes=10)


def make_key() -> EllipticCurvePrivateKey:
    """A key on the curve that the public service uses."""
    return ec.generate_private_key(ec.SECP256R1())


def sign(key: EllipticCurvePrivateKey, data: bytes) -> bytes:
    """A signature as the service makes them."""
    return key.sign(data, ec.ECDSA(hashes.SHA256()))


def public(key: EllipticCurvePrivateKey) -> bytes:
    """The public half, as its DER bytes."""
    return key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def text(data: bytes) -> str:
    """Bytes as JSON holds them."""
    return base64.b64encode(data).decode()


def canonical(value: Any) -> bytes:
    """Canonical JSON of text and whole numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


@dataclass
class Service:
    """The authority and the two logs."""

    authority: EllipticCurvePrivateKey = field(default_factory=make_key)
    certificates: EllipticCurvePrivateKey = field(default_factory=make_key)
    signatures: EllipticCurvePrivateKey = field(default_factory=make_key)

    def __post_init__(self) -> None:
        """Make the authority's own certificate."""
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the tests' authority")])
        key = self.authority.public_key()
        usage = dict.fromkeys(("digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
                               "key_agreement", "encipher_only", "decipher_only"), False)  # fmt: skip
        self.root = (
            x509.CertificateBuilder().subject_name(self.name).issuer_name(self.name).public_key(key)
            .serial_number(7).not_valid_before(NOW - datetime.timedelta(days=99))
            .not_valid_after(NOW + datetime.timedelta(days=9999))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .sign(self.authority, hashes.SHA256())
        )  # fmt: skip

    def write_root(self, path: Path) -> Path:
        """Write the trusted root that names this service, and nobody else."""
        def log(key: EllipticCurvePrivateKey) -> dict[str, Any]:
            known = {"rawBytes": text(public(key)), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": ALWAYS}
            return {"baseUrl": "https://log.example.org", "hashAlgorithm": "SHA2_256", "publicKey": known,
                    "logId": {"keyId": text(hashlib.sha256(public(key)).digest())}}  # fmt: skip

        root = text(self.root.public_bytes(serialization.Encoding.DER))
        path.write_text(json.dumps({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(self.signatures)], "ctlogs": [log(self.certificates)], "timestampAuthorities": [],
            "certificateAuthorities": [{
                "subject": {"organization": "tests", "commonName": "tests"}, "uri": "https://ca.example.org",
                "certChain": {"certificates": [{"rawBytes": root}]}, "validFor": ALWAYS,
            }],
        }))  # fmt: skip
        return path

    def certify(self, key: EllipticCurvePrivateKey, identity: str, issuer: str) -> bytes:
        """A certificate for ten minutes that says who somebody is, with the promise of the certificates' log."""
        usage = dict.fromkeys(("content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
                               "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"), False)  # fmt: skip
        bare = (
            x509.CertificateBuilder().subject_name(x509.Name([])).issuer_name(self.name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(NOW).not_valid_after(NOW + LATER)
            .add_extension(x509.KeyUsage(digital_signature=True, **usage), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.authority.public_key()), False)
            .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(identity)]), critical=True)
            .add_extension(x509.UnrecognizedExtension(x509.ObjectIdentifier(ISSUER_OID), issuer.encode()), False)
        )  # fmt: skip
        before = bare.sign(self.authority, hashes.SHA256()).tbs_certificate_bytes
        moment = int(NOW.timestamp() * 1000)
        entry = hashlib.sha256(public(self.authority)).digest() + struct.pack("!I", len(before))[1:] + before
        promised = sign(self.certificates, struct.pack("!BBQH", 0, 0, moment, 1) + entry + b"\0\0")
        promise = (b"\0" + hashlib.sha256(public(self.certificates)).digest() + struct.pack("!QH", moment, 0)
                   + b"\x04\x03" + struct.pack("!H", len(promised)) + promised)  # fmt: skip
        listed = struct.pack("!HH", len(promise) + 2, len(promise)) + promise
        listed = b"\x04" + (bytes([len(listed)]) if len(listed) < 128 else bytes([0x81, len(listed)])) + listed
        whole = bare.add_extension(x509.UnrecognizedExtension(x509.ObjectIdentifier(SCT_OID), listed), critical=False)
        return whole.sign(self.authority, hashes.SHA256()).public_bytes(serialization.Encoding.DER)

    def attest(self, statement: bytes, *, identity: str = IDENTITY, issuer: str = ISSUER) -> dict[str, Any]:
        """The bundle of a statement that an identity has signed, as the log has it."""
        key = make_key()
        certificate = self.certify(key, identity, issuer)
        head = f"DSSEv1 {len(TYPE)} {TYPE} {len(statement)} ".encode()
        envelope = {"payload": text(statement), "payloadType": TYPE,
                    "signatures": [{"sig": text(sign(key, head + statement))}]}  # fmt: skip
        pem = b"-----BEGIN CERTIFICATE-----\n" + b"\n".join(
            text(certificate)[at : at + 64].encode() for at in range(0, len(text(certificate)), 64)
        ) + b"\n-----END CERTIFICATE-----\n"  # fmt: skip
        body = canonical({"apiVersion": "0.0.1", "kind": "dsse", "spec": {
            "envelopeHash": {"algorithm": "sha256", "value": hashlib.sha256(canonical(envelope)).hexdigest()},
            "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(statement).hexdigest()},
            "signatures": [{"signature": envelope["signatures"][0]["sig"], "verifier": text(pem)}],
        }})  # fmt: skip
        return {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": text(certificate)}, "tlogEntries": [self.enter(body)],
                "timestampVerificationData": {},
            },
            "dsseEnvelope": envelope,
        }  # fmt: skip

    def enter(self, body: bytes) -> dict[str, Any]:
        """The entry of a signature in a log that holds nothing else."""
        log, moment = hashlib.sha256(public(self.signatures)).digest(), int(NOW.timestamp()) + 60
        root = hashlib.sha256(b"\0" + body).digest()
        note = f"log.example.org - 1\n1\n{text(root)}\n"
        checkpoint = f"{note}\n\u2014 log.example.org {text(log[:4] + sign(self.signatures, note.encode()))}\n"
        promised = {"body": text(body), "integratedTime": moment, "logID": log.hex(), "logIndex": 0}
        return {
            "logIndex": "0", "logId": {"keyId": text(log)}, "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "integratedTime": str(moment), "canonicalizedBody": text(body),
            "inclusionPromise": {"signedEntryTimestamp": text(sign(self.signatures, canonical(promised)))},
            "inclusionProof": {"logIndex": "0", "rootHash": text(root), "treeSize": "1", "hashes": [],
                               "checkpoint": {"envelope": checkpoint}},
        }  # fmt: skip
