"""A superseded revision kept as one archive, `models/<slug>/<revision>.tar.xz`: the bytes of its folder, and no others.

Compression finds what the bundle repeats, so an archive is about a tenth of its folder. Anybody can unpack it with tar.
"""

from __future__ import annotations

import atexit
import io
import lzma
import os
import shutil
import tarfile
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath

from lessonpress.core import atomic_io
from lessonpress.core.errors import LessonError
from lessonpress.revision import history

SUFFIX = ".tar.xz"
MAX_BYTES = 1 << 30  # of one revision's files: an archive that holds more is none of ours
DAMAGE = (lzma.LZMAError, tarfile.TarError, EOFError)
READ_ERRORS = (*DAMAGE, ValueError, KeyError, OSError)
COPIES = 16  # unpacked revisions that a process keeps
_UNPACKED: OrderedDict[str, Path] = OrderedDict()
_LOCK = threading.Lock()  # the local server reads from several threads
FIRST = "identity.json"  # so that an identity is read without the rest


def locate(place: Path) -> Path:
    """Where the archive of a revision's folder lies."""
    return place.with_name(place.name + SUFFIX)


def exists(place: Path) -> bool:
    """Whether a revision is there, as a folder or as an archive."""
    return place.is_dir() or locate(place).is_file()


def list_revisions(folder: Path) -> list[str]:
    """The names of all revisions in a lesson's folder, plain or packed, sorted."""
    digits = "[0-9a-f]" * 16
    plain = {path.name for path in folder.glob(digits) if path.is_dir()}
    return sorted(plain | {path.name.removesuffix(SUFFIX) for path in folder.glob(digits + SUFFIX) if path.is_file()})


def open_revision(place: Path) -> Path:
    """A revision's folder to read from: its own, or a copy that this process unpacks and soon removes again.

    A revision that is nowhere is answered by its own place, which then does not exist. Raises LessonError for an
    archive that cannot be unpacked.
    """
    if place.is_dir() or not locate(place).is_file():
        return place
    status = locate(place).stat()
    key = f"{place.absolute()}\n{status.st_mtime_ns}\n{status.st_size}"
    with _LOCK:
        if key not in _UNPACKED:
            target = Path(tempfile.mkdtemp(dir=_scratch())) / place.parent.name / place.name
            _write(target, read_files(place))
            _UNPACKED[key] = target
            while len(_UNPACKED) > COPIES:
                _, old = _UNPACKED.popitem(last=False)
                shutil.rmtree(old.parents[1], ignore_errors=True)
        _UNPACKED.move_to_end(key)
        return _UNPACKED[key]


@cache
def _scratch() -> str:
    folder = tempfile.mkdtemp(prefix="lessonpress-unpacked-")
    atexit.register(_clean_up, folder, os.getpid())
    return folder


def _clean_up(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # and not a child of it, that has inherited this
        shutil.rmtree(folder, ignore_errors=True)


def read_files(place: Path) -> dict[str, bytes]:
    """Every file of a revision by its name, plain or packed. Raises LessonError for an archive that is damaged."""
    if place.is_dir():
        return {path.relative_to(place).as_posix(): path.read_bytes() for path in sorted(place.rglob("*"))
                if path.is_file()}  # fmt: skip
    try:
        return unpack(locate(place).read_bytes())
    except READ_ERRORS as error:
        raise LessonError(os.path.relpath(locate(place)), f"the archive cannot be unpacked ({error})",
                          "a revision as lessonpress packed it", history.TAKE_BACK) from None  # fmt: skip


def read_identity(place: Path) -> bytes:
    """The bytes of a revision's identity.json; of an archive no more is unpacked than these."""
    if place.is_dir():
        return (place / FIRST).read_bytes()
    with lzma.open(locate(place)) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        entry = archive.next()
        data = archive.extractfile(entry) if entry and entry.name == FIRST and entry.size < MAX_BYTES else None
        if data is None:
            raise ValueError("the archive does not begin with the identity")
        return data.read()


def pack(files: Mapping[str, bytes]) -> bytes:
    """An archive of files, without dates and owners; the identity first."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files, key=lambda name: (name != FIRST, name)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(files[name]), 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    return lzma.compress(out.getvalue(), preset=9)


def unpack(data: bytes) -> dict[str, bytes]:
    """The files in an archive. Raises ValueError, LZMAError or TarError for anything else than `pack` writes."""
    stream = lzma.LZMADecompressor(memlimit=1 << 28)
    plain = stream.decompress(data, max_length=MAX_BYTES)
    if not stream.eof or stream.unused_data:
        raise ValueError("it is cut off, or holds more than any revision")
    files = {}
    with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as archive:
        for entry in archive:
            path = PurePosixPath(entry.name)
            content = archive.extractfile(entry) if entry.isreg() else None
            if content is None or path.is_absolute() or ".." in path.parts or entry.name in files:
                raise ValueError(f"{entry.name!r} is no plain file of a revision")
            files[entry.name] = content.read()
    return files


def pack_folder(place: Path) -> None:
    """Put an archive in the place of a revision's folder; a crash in between leaves both, and the folder counts."""
    files = read_files(place)
    data = pack(files)
    if unpack(data) != files:
        raise LessonError(str(place), "the archive does not give the folder's files again")
    atomic_io.write(locate(place), data)
    hidden = place.with_name(f".{place.name}.tmp-{os.getpid()}")
    os.rename(place, hidden)
    shutil.rmtree(hidden)


def unpack_folder(place: Path) -> None:
    """Put a revision's folder in the place of its archive, byte for byte."""
    files = read_files(place)
    beside = place.with_name(f".{place.name}.tmp-{os.getpid()}")
    shutil.rmtree(beside, ignore_errors=True)
    _write(beside, files)
    atomic_io.flush([beside / name for name in files])
    os.rename(beside, place)
    locate(place).unlink()


def remove(place: Path) -> None:
    """Remove a revision, plain or packed, whole or not at all."""
    if place.is_dir():
        hidden = place.with_name(f".{place.name}.tmp-{os.getpid()}")
        os.rename(place, hidden)
        shutil.rmtree(hidden)
    locate(place).unlink(missing_ok=True)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
