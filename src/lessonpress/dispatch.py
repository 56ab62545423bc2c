"""What a run of Snakemake sets out to do, noted in files before its rules are read: what is due, parted into batches.

A dry run notes it in a folder of its own, which goes when it ends, and leaves everything else as it is.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lessonpress import lock, stages
from lessonpress.settings import Config

OWNER = ".owner"  # ends the name of the file that tells whose batches those of one run are


def notes(work: Path, *, dry: bool) -> Path:
    """The folder for what a run notes: the work folder, or for a dry run a copy of what is noted there."""
    if not dry:
        return work
    aside = Path(tempfile.mkdtemp(prefix="lessonpress-dry-"))
    atexit.register(shutil.rmtree, aside, ignore_errors=True)
    if (work / "code").is_dir():
        shutil.copytree(work / "code", aside / "code")  # with its times, by which Snakemake decides
    return aside


def planned(slugs: Sequence[str], chosen: Config, noted: Path, size: int | None = None) -> list[str]:
    """Note in `noted` which code there is and what is due; answers the names of the batches, as `batches` does."""
    work, results, about = Path(chosen.work), Path(chosen.results), chosen.site.model_dump()
    dry = noted != work
    stages.note_code(noted)
    stages.ask_again(noted)
    due = stages.due(slugs, chosen, dry=dry)
    if not dry:
        stages.drop_stale_pages(work, results, about)
    elif due or stages.stale_pages(work, results, about):
        (noted / "code" / "site.sha256").touch()  # a reason to publish that takes no file away
    made = batches(due, noted, size)
    if made and not dry:
        (work / "site.json").unlink(missing_ok=True)  # else Snakemake would see no need for what leads to it
    return made


def batches(slugs: Sequence[str], noted: Path, size: int | None) -> list[str]:
    """Part due lessons into batches, each a file `batches/<batch>.plan` with a slug a line; answers their names.

    `size` is how many lessons a batch has at most; None for one batch of all, as one machine needs no second one.
    Each run's batches have names of their own, so that what an earlier run left behind is nothing to this one. It is
    taken away when there is nothing to do, unless that run goes on still.
    """
    folder = noted / "batches"
    if not slugs:
        _sweep(folder)
        return []
    folder.mkdir(parents=True, exist_ok=True)
    run = secrets.token_hex(3)
    (folder / f"{run}{OWNER}").write_text(f"{os.uname().nodename} {os.getpid()}\n", encoding="utf-8")
    size = size or len(slugs)
    parts = [slugs[at : at + size] for at in range(0, len(slugs), size)]
    return [_planned(folder, part, run) for part in parts]


def _planned(folder: Path, slugs: Sequence[str], run: str) -> str:
    more = f"-and-{len(slugs) - 1}-more" if len(slugs) > 1 else ""
    name = f"{slugs[0]}{more}-{run}"
    (folder / f"{name}.plan").write_text("".join(f"{slug}\n" for slug in slugs), encoding="utf-8")
    return name


def _sweep(folder: Path) -> None:
    """Take away the batches of runs that have ended; of one on another machine nobody knows."""
    running = {path.name.removesuffix(OWNER) for path in folder.glob(f"*{OWNER}") if _runs(path)}
    for path in folder.glob("*"):
        if path.name.partition(".")[0].rpartition("-")[2] not in running:
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # it is not empty, or was not there
        folder.rmdir()


def _runs(owner: Path) -> bool:
    """Whether the run that a file tells of may go on still."""
    try:
        machine, pid = owner.read_text(encoding="utf-8").split()
        return machine != os.uname().nodename or lock.alive(int(pid))
    except (OSError, ValueError):  # it has just gone, or was killed while it wrote
        return False
