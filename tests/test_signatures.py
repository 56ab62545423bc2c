"""A signature beside a frozen folder: made when publishing or later, checked by all who know whom to trust."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from lessonpress.core.errors import LessonError, RetryableError
from lessonpress.core.settings import Config, Signing
from lessonpress.publishing import doctor, prune, signatures, site
from tests import tiny

SLUG = "echo"
pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is not installed")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a known key, a stranger's, one that asks for a passphrase, and the list of who may sign."""
    folder = tmp_path_factory.mktemp("keys")
    for name, phrase in (("known", ""), ("stranger", ""), ("locked", "secret")):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", phrase, "-f", str(folder / name)], check=True)
    (folder / "signers").write_text(f"curator@example.org {(folder / 'known.pub').read_text()}")
    return folder


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Give a repository with two revisions, both unsigned."""
    config = tiny.at(tmp_path_factory.mktemp("template"))
    for title in ("One", "Two"):
        tiny.published(config, title)
    site.write_site(config)
    return config


@pytest.fixture
def house(template: Config, tmp_path: Path) -> Config:
    """Give a copy of it."""
    shutil.copytree(Path(template.results).parent, tmp_path / "house")
    return tiny.at(tmp_path / "house")


def demanding(config: Config, keys: Path, key: str = "") -> Config:
    """The same house, which demands signatures, and perhaps signs."""
    signing = Signing(key=str(keys / key) if key else "", signers=str(keys / "signers"), required=True)
    return config.model_copy(update={"signing": signing})


def faults(config: Config) -> list[str]:
    """What the doctor says."""
    return [fault.words() for fault in doctor.find_faults(config)]


def test_nobody_needs_a_signature(house: Config, keys: Path) -> None:
    """Without settings nothing is demanded; with them each revision without one is a fault, and `sign` mends it."""
    assert faults(house) == []
    strict = demanding(house, keys)
    assert ["has no signature" in words for words in faults(strict)] == [True, True]
    assert signatures.sign_published(strict, (), str(keys / "known")).startswith("signed 2 of 2 revisions")
    assert faults(strict) == []
    assert faults(house) == []
    assert signatures.sign_published(strict, (SLUG,), str(keys / "known")).startswith("signed 0 of 2 revisions")


def test_publishing_signs(house: Config, keys: Path) -> None:
    """With a key in the settings a new revision is signed, and its folder holds nothing more than before."""
    signing = demanding(house, keys, "known")
    signatures.sign_published(signing, ())
    tiny.published(signing, "Three")
    site.write_site(signing)
    assert faults(signing) == []
    assert len(list(house.published(SLUG).glob("*.sshsig"))) == 3
    assert not list(house.published(SLUG).glob("*/*.sshsig"))


def test_what_is_signed_by_others_is_found(house: Config, keys: Path) -> None:
    """A stranger's key, a signature of another revision, one for another purpose, and one of no revision."""
    strict = demanding(house, keys)
    signatures.sign_published(strict, (), str(keys / "stranger"))
    assert ["by anybody whom" in words for words in faults(strict)] == [True, True]
    one, two = sorted(house.published(SLUG).glob("*.sshsig"))
    one.unlink()
    two.unlink()
    signatures.sign_published(strict, (), str(keys / "known"))
    shutil.copy(one, two)
    assert ["by anybody whom" in words for words in faults(strict)] == [True]
    folder = two.with_suffix("")
    two.unlink()
    done = subprocess.run(["ssh-keygen", "-Y", "sign", "-n", "file", "-f", str(keys / "known")], check=True,
                          input=(folder / "identity.json").read_bytes(), capture_output=True)  # fmt: skip
    two.write_bytes(done.stdout)
    assert ["by anybody whom" in words for words in faults(strict)] == [True]
    two.rename(two.with_name("0" * 16 + ".sshsig"))
    assert any("a signature of no revision" in words for words in faults(house))


def test_a_changed_identity_is_no_longer_signed(house: Config, keys: Path) -> None:
    """One more space in identity.json, and nobody has signed it."""
    signatures.sign_published(house, (), str(keys / "known"))
    folder = next(path.with_suffix("") for path in house.published(SLUG).glob("*.sshsig"))
    assert signatures.find_signer(folder, keys / "signers") == "curator@example.org"
    with (folder / "identity.json").open("a") as file:
        file.write(" ")
    assert signatures.find_signer(folder, keys / "signers") is None


@pytest.mark.parametrize("key", ["locked", "nowhere"])
def test_a_key_that_cannot_be_used_is_one_message(house: Config, keys: Path, key: str) -> None:
    """Nobody is asked for a passphrase in the middle of a publication: the message says what to do."""
    with pytest.raises(RetryableError, match="ssh-keygen cannot sign"):
        signatures.sign_published(house, (), str(keys / key))
    with pytest.raises(LessonError, match=r"signing\.key"):
        signatures.sign_published(house, ())


def test_a_demand_names_who_may_sign() -> None:
    """To demand signatures by nobody in particular is no demand."""
    with pytest.raises(ValidationError, match="signers names nobody"):
        Signing(required=True)


def test_a_signature_goes_with_its_revision(house: Config, keys: Path) -> None:
    """What is withdrawn leaves no signature behind."""
    signatures.sign_published(house, (), str(keys / "known"))
    gone = sorted(house.published(SLUG).glob("*.sshsig"))[0]
    prune.withdraw(house, SLUG, gone.stem, "wrong")
    site.write_site(house)
    assert not gone.exists()
    assert faults(house) == []


def test_a_reader_checks_the_same_signature(house: Config, keys: Path) -> None:
    """verify.py, with the standard library and ssh-keygen, finds the signature beside its folder."""
    signatures.sign_published(house, (), str(keys / "known"))
    folder = next(path.with_suffix("") for path in house.published(SLUG).glob("*.sshsig"))
    command = [sys.executable, "-I", "verify.py", "--digests", "--signers", str(keys / "signers")]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, "signed by curator@example.org" in done.stdout) == (0, True), done.stdout
