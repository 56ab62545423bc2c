"""A step's file is whole or it is nothing: cut off, edited or exchanged, it is not taken for what it was."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessonpress.build import artifact
from lessonpress.core import atomic_io, canonical_json
from lessonpress.core.errors import LessonError, LessonErrors, WrongUsage

MADE_FROM = "5eed" * 16
BODY = {"slug": "echo", "words": "Größe, 3 < 4", "numbers": [1, 2.5, None]}
MISTAKE = LessonError("lessons/echo/lesson.yaml:3", "seen", "expected", "Mend it.")


def written(folder: Path, **more: Any) -> Path:
    """An artifact with two files beside it, one of them in a folder."""
    beside = {"table.csv": b"a,b\n", "revision/worker/run.py": b"run\n"}
    artifact.write(folder / "it.json", MADE_FROM, BODY, beside, **more)
    return folder / "it.json"


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """What it was made from, its content, the digest of its bytes; the files beside it are there."""
    path = written(tmp_path / "new")
    whole = artifact.read(path)
    assert whole
    assert (whole.made_from, dict(whole.body), whole.mistakes) == (MADE_FROM, BODY, ())
    assert path.read_text(encoding="utf-8").endswith(f'"sha256":"{whole.digest}"}}\n')
    assert (tmp_path / "new" / "revision" / "worker" / "run.py").read_bytes() == b"run\n"
    whole.raise_mistakes()


def test_it_is_json_that_begins_with_what_it_was_made_from(tmp_path: Path) -> None:
    """Any program can read it, and can check its last entry: the SHA-256 of all before."""
    text = written(tmp_path).read_text("utf-8")
    document = json.loads(text)
    assert list(document) == ["madeFrom", "beside", "mistakes", *BODY, "sha256"]
    assert document["sha256"] == canonical_json.digest(text[: text.rindex(',"sha256"')])
    assert document["beside"]["table.csv"] == canonical_json.digest(b"a,b\n")
    assert artifact.read_made_from(tmp_path / "it.json") == MADE_FROM


def test_equal_content_is_equal_bytes(tmp_path: Path) -> None:
    """Made again, or on another machine, it has the same digest: whatever follows from it stays as it is."""
    assert written(tmp_path / "one").read_bytes() == written(tmp_path / "two").read_bytes()


@pytest.mark.parametrize("mistake", [MISTAKE, LessonError("a", "b"), WrongUsage("a", "b\nc", "", "d")])
def test_mistakes_are_kept_in_their_parts(tmp_path: Path, mistake: LessonError) -> None:
    """Read later, by another process, they are the same words."""
    whole = artifact.read(written(tmp_path, mistakes=(mistake, MISTAKE)))
    assert whole
    with pytest.raises(LessonErrors) as caught:
        whole.raise_mistakes()
    assert caught.value.message() == f"{mistake.message()}\n{MISTAKE.message()}"


def test_a_mistake_may_name_a_file_that_is_no_text(tmp_path: Path) -> None:
    """Half a character of a file's name is escaped, as it is in a message."""
    mistake = LessonError(os.fsdecode(b"lessons/echo/\xff.py:1"), "it is so\x1b[31m")
    whole = artifact.read(written(tmp_path, mistakes=(mistake,)))
    assert whole
    assert [each.message() for each in whole.mistakes] == [mistake.message()]


def sealed(text: str) -> bytes:
    """A text with the seal that an artifact would have."""
    return f'{text},"sha256":"{canonical_json.digest(text)}"}}\n'.encode()


def changed(name: str, old: bytes, new: bytes) -> Callable[[Path], object]:
    """Put other bytes in the place of some in a file of the artifact's folder."""

    def edit(path: Path) -> None:
        data = (path.parent / name).read_bytes()
        assert old in data
        (path.parent / name).write_bytes(data.replace(old, new, 1))

    return edit


DAMAGES: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "half of it": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "without its last byte": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "without its seal": lambda path: path.write_bytes(path.read_bytes().partition(b',"sha256"')[0] + b"}\n"),
    "with something behind it": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "another number": changed("it.json", b"2.5", b"3.5"),
    "another origin": changed("it.json", b"5eed", b"0eed"),
    "another seal": lambda path: path.write_bytes(path.read_bytes()[:-20] + b"0" * 17 + b'"}\n'),
    "bytes that are no text": lambda path: path.write_bytes(b"\xff" * path.stat().st_size),
    "plain JSON": lambda path: path.write_bytes(b'{"madeFrom": "x", "numbers": []}' + b" " * 100),
    "sealed, and no artifact": lambda path: path.write_bytes(sealed('{"a":1')),
    "sealed, and no JSON": lambda path: path.write_bytes(sealed("{a")),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a file beside it is gone": lambda path: (path.parent / "table.csv").unlink(),
    "a file beside it is another": changed("table.csv", b"b", b"c"),
    "a file in a folder beside it is another": changed("revision/worker/run.py", b"run", b"ran"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_not_whole_counts_for_nothing(tmp_path: Path, damage: str) -> None:
    """Cut off, edited, exchanged, or with another file beside it: it is as if it were not there; nothing is raised."""
    path = written(tmp_path)
    assert artifact.read(path)
    DAMAGES[damage](path)
    assert artifact.read(path) is None
    assert artifact.copy(path, tmp_path / "elsewhere") is None
    assert not (tmp_path / "elsewhere" / "it.json").exists()


@given(st.integers(0, 10_000), st.integers(0, 7))
def test_any_flipped_bit_is_found(tmp_path_factory: pytest.TempPathFactory, at: int, bit: int) -> None:
    """Wherever it is."""
    path = tmp_path_factory.mktemp("bits") / "it.json"
    data = bytearray(artifact.serialise(MADE_FROM, BODY, {}), "utf-8")
    data[at % len(data)] ^= 1 << bit
    path.write_bytes(data)
    assert artifact.read(path) is None


@pytest.mark.parametrize("text", ["", '{"madeFrom":"abc"}', '{"made":"' + "0" * 80, "\xff" * 90, None])
def test_only_an_artifact_says_what_it_was_made_from(tmp_path: Path, text: str | None) -> None:
    """Its first bytes are enough to pass over another state's; a file that has others says nothing."""
    if text is not None:
        (tmp_path / "it.json").write_text(text, "latin-1")
    assert artifact.read_made_from(tmp_path / "it.json") is None


def test_a_copy_is_whole_and_leaves_the_first_alone(tmp_path: Path) -> None:
    """It is not linked: Snakemake sets the time of what a job leaves, and the other's must stay."""
    path = written(tmp_path / "one")
    os.utime(path, (1, 1))
    whole = artifact.copy(path, tmp_path / "two")
    assert whole
    assert (tmp_path / "two" / "it.json").read_bytes() == path.read_bytes()
    (tmp_path / "two" / "table.csv").write_bytes(b"other")
    assert path.stat().st_mtime == 1
    assert artifact.read(path)


def test_an_artifact_is_written_after_what_lies_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full, or a kill, leaves none that vouches for files that are not there."""
    written(tmp_path)
    draft, written_files = atomic_io.draft, list[str]()

    def full(path: Path, content: bytes | str) -> None:
        if path.name == "it.json":
            raise OSError(28, "No space left on device")
        written_files.append(path.name)
        draft(path, content)

    monkeypatch.setattr(atomic_io, "draft", full)
    with pytest.raises(OSError, match="No space"):
        artifact.write(tmp_path / "it.json", MADE_FROM, BODY, {"table.csv": b"new"})
    assert written_files == ["table.csv"]
    assert artifact.read(tmp_path / "it.json") is None  # the old one does not vouch for the new table


def test_times_that_are_still_to_come_are_taken_back(tmp_path: Path) -> None:
    """Snakemake accepts nothing that is older than what it is made from; other times stay."""
    path = written(tmp_path)
    (tmp_path / "revision" / ".snakemake_timestamp").touch()
    ahead = time.time() + 86_400
    for name in ("it.json", "revision/.snakemake_timestamp"):
        os.utime(tmp_path / name, (ahead, ahead))
    os.utime(tmp_path / "table.csv", (5, 5))
    artifact.settle_times(tmp_path)
    assert path.stat().st_mtime <= time.time()
    assert (tmp_path / "revision" / ".snakemake_timestamp").stat().st_mtime <= time.time()
    assert (tmp_path / "table.csv").stat().st_mtime == 5
    assert artifact.read(path)
