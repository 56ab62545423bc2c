"""Canonical JSON, digests, and files that are there whole or not at all."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessonpress.core import atomic_io, canonical_json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_every_form_reads_back(value: object) -> None:
    """Canonical, compact and readable JSON all say the same value, floats to the last bit."""
    forms = (canonical_json.dumps, canonical_json.compact, canonical_json.pretty)
    assert [json.loads(form(value)) for form in forms] == [value] * 3


@given(st.dictionaries(st.text(max_size=5), st.integers(), min_size=2, max_size=6))
def test_the_order_of_keys_is_no_part_of_a_digest(value: dict[str, int]) -> None:
    """Equal content has one digest, whatever the order in which it was put together."""
    assert canonical_json.digest_of(value) == canonical_json.digest_of(dict(reversed(value.items())))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("form", [canonical_json.dumps, canonical_json.compact, canonical_json.pretty])
def test_a_number_that_json_lacks_is_refused(form: object, number: float) -> None:
    """No file of ours ever holds a bare NaN or Infinity, which other readers refuse."""
    with pytest.raises(ValueError, match="JSON"):
        form([number])  # type: ignore[operator]


def test_a_digest_is_sha256() -> None:
    """Anyone can recompute a digest with the standard library; text counts as its UTF-8 bytes."""
    assert canonical_json.digest("é") == canonical_json.digest("é".encode()) == hashlib.sha256(b"\xc3\xa9").hexdigest()


def test_a_folders_digest_is_that_of_its_checksum_lines() -> None:
    """Files are digested as `sha256sum` lists them, sorted by name, whatever the order given."""
    lines = "aa  a.py\nbb  b.py\n"
    assert canonical_json.digest_files([("b.py", "bb"), ("a.py", "aa")]) == hashlib.sha256(lines.encode()).hexdigest()


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    """Writing makes missing folders, replaces what was there, and leaves nothing beside it."""
    path = tmp_path / "deep" / "file.txt"
    atomic_io.write(path, "one")
    atomic_io.write(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """On a full disk the old content stays, and no half file stands beside it."""
    path = tmp_path / "file.txt"
    atomic_io.write(path, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((atomic_io.os, "fsync") if step == "fsync" else (Path, "replace")), full)
    with pytest.raises(OSError, match="No space"):
        atomic_io.write(path, "new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("file.txt", "old")]


def test_reading_gives_what_was_written(tmp_path: Path) -> None:
    """`read` is the other half of `write`."""
    atomic_io.write(tmp_path / "a.json", canonical_json.pretty({"é": [1, 0.1]}))
    assert canonical_json.read(tmp_path / "a.json") == {"é": [1, 0.1]}


def test_many_files_are_written_together(tmp_path: Path) -> None:
    """Each is there with its own content, folders are made, and nothing else is left behind."""
    wanted = {tmp_path / f"{n % 3}" / f"{n}.txt": f"text {n}" for n in range(40)}
    atomic_io.write_all(wanted)
    assert {path: path.read_text() for path in tmp_path.rglob("*.txt")} == wanted
    assert sum(path.is_file() for path in tmp_path.rglob("*")) == 40


@pytest.mark.parametrize("refused", [0, 1, 2])
def test_a_refusing_disk_leaves_every_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: int
) -> None:
    """Whichever file cannot be flushed: none is replaced, the error arrives, no neighbour stays."""
    paths = [tmp_path / f"{n}.txt" for n in range(3)]
    for path in paths:
        path.write_text("old")

    def refuse(path: Path, own: Callable[[Path], None] = atomic_io._flush) -> None:
        if f"{refused}.txt" in path.name:
            raise OSError(28, "No space left on device", str(path))
        own(path)

    monkeypatch.setattr(atomic_io, "_flush", refuse)
    with pytest.raises(OSError, match="No space"):
        atomic_io.write_all(dict.fromkeys(paths, "new"))
    assert [path.read_text() for path in sorted(tmp_path.iterdir())] == ["old"] * 3


def test_a_draft_is_not_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scratch need not outlive a loss of power, and does not wait for the disk."""
    monkeypatch.setattr(atomic_io, "_flush", lambda path: pytest.fail("it was flushed"))
    atomic_io.draft(tmp_path / "a.txt", "text")
    assert (tmp_path / "a.txt").read_text() == "text"
