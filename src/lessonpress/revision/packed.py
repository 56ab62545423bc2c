"""A superseded revision kept as an archive, `models/<slug>/<revision>.tar.xz`, which gives its folder byte for byte.

The worker's code, most of a revision and the same in many, lies once beside them, in `worker-<digest>.tar.xz`. The
bundle is left out, because it follows from the other files. Anybody can unpack both archives with tar.
"""

from __future__ import annotations

import atexit
import io
import lzma
import os
import re
import shutil
import tarfile
import tempfile
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TypedDict, cast

from lessonpress.core import atomic_io, canonical_json
from lessonpress.core.errors import LessonError
from lessonpress.revision import bundle, history

SUFFIX = ".tar.xz"
MAX_BYTES = 1 << 30  # of one revision's files: an archive that holds more is none of ours
DAMAGE = (lzma.LZMAError, tarfile.TarError, EOFError)
READ_ERRORS = (*DAMAGE, ValueError, KeyError, OSError)
COPIES = 16  # unpacked revisions that a process keeps
_UNPACKED: OrderedDict[str, Path] = OrderedDict()
_LOCK = threading.Lock()  # the local server reads from several threads
FIRST = "identity.json"  # so that an identity is read without the rest
OUTSIDE = "packed.json"  # in an archive: where the rest of the revision is; no file of a lesson has this name
BUNDLE, WORKER = "bundle.zip", "worker/"
SHARED = re.compile(rf"worker-[0-9a-f]{{16}}{re.escape(SUFFIX)}")
# Text has no words of four bytes, so positions say nothing about what comes next.
FILTERS = ({"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "pb": 0},)


class Outside(TypedDict):
    """What belongs to a revision and is not in its archive (packed.json)."""

    worker: str  # the archive beside it that holds the worker's code
    bundled: str  # the folder in the bundle
    unbundled: list[str]  # the files that the bundle does not hold


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
        return unpack(locate(place).read_bytes(), lambda name: (place.parent / name).read_bytes())
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


def pack(files: Mapping[str, bytes]) -> tuple[bytes, dict[str, bytes]]:
    """An archive of a revision's files, without dates and owners, and by their names the archives that it needs.

    A revision whose bundle cannot be made again is kept whole.
    """
    worker = {name: data for name, data in files.items() if name.startswith(WORKER)}
    digest = canonical_json.digest_of({name: canonical_json.digest(data) for name, data in worker.items()})
    name = f"worker-{digest[:16]}{SUFFIX}"
    bundled, unbundled = _read_bundle(files)
    inside = {each: data for each, data in files.items() if each not in worker and each != BUNDLE}
    outside: Outside = {"worker": name, "bundled": bundled, "unbundled": unbundled}
    if worker and bundled and OUTSIDE not in files and _make_bundle({**inside, **worker}, outside) == files[BUNDLE]:
        inside[OUTSIDE] = canonical_json.compact(outside).encode()
        return _compress(inside), {name: _compress(worker)}
    return _compress(files), {}


def _read_bundle(files: Mapping[str, bytes]) -> tuple[str, list[str]]:
    """The folder in a revision's bundle, and the files that are not in it; an empty name where it cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(files[BUNDLE])) as archive:
            names = archive.namelist()
    except (KeyError, ValueError, zipfile.BadZipFile):
        return "", []
    folder = names[0].partition("/")[0] if names else ""
    return folder, sorted(files.keys() - {name.removeprefix(f"{folder}/") for name in names} - {BUNDLE})


def _make_bundle(files: Mapping[str, bytes], outside: Outside) -> bytes:
    return bundle.zip_folder({name: data for name, data in files.items() if name not in outside["unbundled"]},
                             outside["bundled"])  # fmt: skip


def _compress(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files, key=lambda name: (name != FIRST, name != OUTSIDE, name)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(files[name]), 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    return lzma.compress(out.getvalue(), filters=FILTERS)


def unpack(data: bytes, read_beside: Callable[[str], bytes]) -> dict[str, bytes]:
    """The files of a revision from its archive; `read_beside` gives the bytes of another archive of the same folder.

    Raises ValueError, LZMAError or TarError for anything else than `pack` writes.
    """
    files = _decompress(data)
    if OUTSIDE not in files:
        return files
    outside = _read_outside(files.pop(OUTSIDE))
    worker = _decompress(read_beside(outside["worker"]))
    if not all(name.startswith(WORKER) for name in worker) or worker.keys() & files.keys():
        raise ValueError(f"{outside['worker']} holds other things than the worker's code")
    files |= worker
    return {**files, BUNDLE: _make_bundle(files, outside)}


def _read_outside(data: bytes) -> Outside:
    outside = canonical_json.loads(data)
    if not (isinstance(outside, dict) and outside.keys() == Outside.__annotations__.keys()
            and SHARED.fullmatch(str(outside["worker"])) and isinstance(outside["unbundled"], list)):  # fmt: skip
        raise ValueError(f"{OUTSIDE} is not as it was written")
    return cast(Outside, outside)


def _decompress(data: bytes) -> dict[str, bytes]:
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
    data, beside = pack(files)
    if unpack(data, beside.__getitem__) != files:
        raise LessonError(str(place), "the archive does not give the folder's files again")
    for name, shared in beside.items():
        if not _is_whole(place.parent / name, shared):
            atomic_io.write(place.parent / name, shared)
    atomic_io.write(locate(place), data)
    hidden = place.with_name(f".{place.name}.tmp-{os.getpid()}")
    os.rename(place, hidden)
    shutil.rmtree(hidden)


def _is_whole(path: Path, shared: bytes) -> bool:
    """Whether an archive that is shared is there already; another version of liblzma may have written other bytes."""
    try:
        return _decompress(path.read_bytes()) == _decompress(shared)
    except READ_ERRORS:
        return False


def sweep_shared(folder: Path) -> None:
    """Remove what no archive of a lesson needs any more; nothing where an archive cannot be read."""
    shared = [path for path in folder.iterdir() if SHARED.fullmatch(path.name)]
    try:
        needed = set(_list_needed(folder)) if shared else set()
    except READ_ERRORS:
        return
    for path in shared:
        if path.name not in needed:
            path.unlink()


def _list_needed(folder: Path) -> Iterator[str]:
    for name in list_revisions(folder):
        if locate(folder / name).is_file():
            with lzma.open(locate(folder / name)) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
                for entry in archive:
                    if entry.name not in (FIRST, OUTSIDE):
                        break
                    content = archive.extractfile(entry) if entry.name == OUTSIDE else None
                    if content:
                        yield _read_outside(content.read())["worker"]


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
        hidden = place.with_name(f".{place.name}-gone.tmp-{os.getpid()}")  # what takes its place may lie beside it
        os.rename(place, hidden)
        shutil.rmtree(hidden)
    locate(place).unlink(missing_ok=True)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
