"""Any bit of a published revision or history that is not as it was is noticed, and the file is named."""

import importlib.util
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from lessonpress.core import canonical_json
from lessonpress.core.settings import Config
from lessonpress.publishing import integrity
from lessonpress.revision import bundle, history, identity
from tests import tiny

SLUG = "echo"
MANY = 500  # bits of a large file


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Give a repository that has published two revisions."""
    root = tmp_path_factory.mktemp("house")
    config = tiny.at(root)
    for title in ("One", "Two"):
        tiny.published(config, title)
    return config


@pytest.fixture(scope="module")
def folder(house: Config) -> Path:
    """Give a published revision, to be read only."""
    return house.published(SLUG) / history.read_history(house.published(SLUG), SLUG)["current"]


@pytest.fixture(scope="module")
def files(folder: Path) -> dict[str, bytes]:
    """Give its files."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def flips(data: bytes, count: int) -> Iterator[bytes]:
    """The data with one bit turned over: each bit in turn, or so many of them drawn at random."""
    size = 8 * len(data)
    for bit in range(size) if size <= count else sorted(random.Random(size).sample(range(size), count)):
        out = bytearray(data)
        out[bit // 8] ^= 1 << bit % 8
        yield bytes(out)


def test_every_file_is_covered_by_a_digest_or_made_again(files: dict[str, bytes], folder: Path) -> None:
    """SHA256SUMS lists all but itself and the zip; it must be what the digests make, the zip what the files make."""
    listed = [line.split("  ", 1)[1] for line in files["SHA256SUMS"].decode().splitlines()]
    assert sorted(listed) == sorted(set(files) - {"SHA256SUMS", "bundle.zip"})
    assert bundle.make_checksums(files) == files["SHA256SUMS"]
    assert bundle.zip_bundle(files, f"{SLUG}-{folder.name}") == files["bundle.zip"]
    assert canonical_json.digest(files["identity.json"]).startswith(folder.name)
    assert list(integrity.find_file_faults(files, SLUG, folder.name)) == []


@pytest.mark.slow
def test_any_bit_of_a_listed_file_is_noticed(files: dict[str, bytes]) -> None:
    """Every bit of a small file, 500 of a larger one: its digest is no longer the listed one, and it alone is named."""
    digests = {name: canonical_json.digest(data) for name, data in files.items()}
    for name in set(files) - {"SHA256SUMS", "bundle.zip"}:
        assert integrity.compare_sums(files["SHA256SUMS"], digests) == []
        for data in flips(files[name], MANY):
            faults = integrity.compare_sums(files["SHA256SUMS"], {**digests, name: canonical_json.digest(data)})
            assert faults == [(name, "its bytes are not the published ones")]


@pytest.mark.slow
def test_every_bit_of_the_list_of_digests_is_noticed(files: dict[str, bytes]) -> None:
    """All of them: a digest, a name, a space or a line feed of SHA256SUMS that is another one contradicts the files."""
    digests = {name: canonical_json.digest(data) for name, data in files.items()}
    for data in flips(files["SHA256SUMS"], 8 * len(files["SHA256SUMS"])):
        assert integrity.compare_sums(data, digests), data


def test_every_bit_of_the_identity_gives_another_name(files: dict[str, bytes], folder: Path) -> None:
    """All of them: the folder's name is the digest of identity.json."""
    for data in flips(files["identity.json"], 8 * len(files["identity.json"])):
        assert identity.compute_revision(data.decode("latin-1")) != folder.name
        assert canonical_json.digest(data)[:16] != folder.name


@pytest.mark.parametrize("name", integrity.CORE)
def test_a_bit_of_what_vouches_for_the_others_is_noticed(files: dict[str, bytes], folder: Path, name: str) -> None:
    """By the whole integrity of a folder and by name, but where the list contradicts a file that it alone knows."""
    for data in flips(files[name], 60):
        faults = dict(integrity.find_file_faults({**files, name: data}, SLUG, folder.name))
        assert name in faults or (name == "SHA256SUMS" and set(faults) & identity.DERIVED), faults


def test_the_list_of_digests_is_blamed_for_its_own_faults(files: dict[str, bytes], folder: Path) -> None:
    """A list that lacks a file or names another does not make a published file one that may be deleted."""
    sums = files["SHA256SUMS"].decode()
    without = "".join(line for line in sums.splitlines(keepends=True) if not line.endswith("  plan.json\n"))
    for text in (without, sums.replace("  plan.json", "  plan.jsom"), sums.replace("  CITATION.cff", "  CITATION.cfg")):
        faults = dict(integrity.find_file_faults({**files, "SHA256SUMS": text.encode()}, SLUG, folder.name))
        assert "SHA256SUMS" in faults, text
        assert "no file of this revision" not in faults.values(), faults
    faults = dict(integrity.find_file_faults({k: v for k, v in files.items() if k != "SHA256SUMS"}, SLUG, folder.name))
    assert set(faults) <= {"SHA256SUMS", "bundle.zip"}


def test_what_is_no_plain_file_or_folder_is_noticed(house: Config, tmp_path: Path) -> None:
    """Links, pipes and empty folders, which no digest covers."""
    for case in ("lesson", "revision", "file", "pipe", "empty"):
        root = tmp_path / case
        folder = shutil.copytree(house.published(SLUG), root / SLUG)
        name = history.read_history(folder, SLUG)["current"]
        moved = {"lesson": folder, "revision": folder / name, "file": folder / name / "plan.json"}.get(case)
        if moved:
            moved.rename(tmp_path / f"moved-{case}")
            moved.symlink_to(tmp_path / f"moved-{case}")
        elif case == "pipe":
            os.mkfifo(folder / name / "pipe")
        else:
            (folder / name / "empty").mkdir()
        [fault] = integrity.find_lesson_faults(root, SLUG)
        path = moved.relative_to(root) if moved else Path(SLUG) / name / case
        assert fault.where == f"models/{path.as_posix()}"


@pytest.mark.slow
def test_every_bit_of_a_history_is_noticed(house: Config, tmp_path: Path) -> None:
    """All of them, by the seal, by what the file says, or because it is no history any more."""
    shutil.copytree(house.published(SLUG), tmp_path / SLUG, ignore=shutil.ignore_patterns("[0-9a-f]" * 16))
    path, name = tmp_path / SLUG / history.FILE, f"models/{SLUG}/{history.FILE}"
    data = path.read_bytes()
    assert not [fault for fault in integrity.find_lesson_faults(tmp_path, SLUG) if fault.where == name]
    for other in flips(data, 8 * len(data)):
        path.write_bytes(other)
        assert [fault for fault in integrity.find_lesson_faults(tmp_path, SLUG) if fault.where == name], other


def verifier(folder: Path) -> ModuleType:
    """The verify.py of an unpacked bundle as a module that keeps the digests of files that did not change."""
    spec = importlib.util.spec_from_file_location("unpacked_verify", folder / "verify.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_faults(verify: ModuleType) -> list[str]:
    """What verify.py finds; it tells an error while reading as a folder that cannot be read."""
    try:
        return list(verify.faults())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return [str(error)]


@pytest.mark.slow
def test_verify_py_finds_any_bit_that_the_bundle_holds(files: dict[str, bytes], tmp_path: Path) -> None:
    """Every file of the bundle, some bits each, in the bundle and in the folder of the site."""
    bundled = {name: data for name, data in files.items() if name not in bundle.NOT_BUNDLED}
    for at, given in enumerate((bundled, files)):
        for name, data in given.items():
            (tmp_path / str(at) / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / str(at) / name).write_bytes(data)
        here = tmp_path / str(at)
        verify = verifier(here)
        assert list(verify.faults()) == []
        whole = {here / name: canonical_json.digest(data) for name, data in given.items()}
        for name in set(given) - {"bundle.zip"}:
            for data in flips(given[name], 60 if name in integrity.CORE else 4):
                (here / name).write_bytes(data)
                changed = {**whole, here / name: canonical_json.digest(data)}
                verify.digest = changed.__getitem__
                assert read_faults(verify), name
            (here / name).write_bytes(given[name])
