"""No edit is ever lost: whatever happened before, a plain run leaves what a run with an empty work folder would.

A seed chooses a sequence of events: edits, commands typed by hand, killed runs, files deleted, damaged, restored
or given other times, git. A plain run takes two such sequences; LESSONPRESS_SEQUENCES=500 takes so many,
LESSONPRESS_FIRST=37 begins at another seed. A failure shows its seed and its events.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lessonpress import sandbox
from lessonpress.build import steps
from lessonpress.core import config as settings
from lessonpress.core.errors import LessonError
from lessonpress.publishing import mistakes, publish, site
from tests import tiers, tiny
from tests.workflow.conftest import TINY, House, build
from tests.workflow.swift import Running

pytestmark = pytest.mark.workflow

SEQUENCES = tiers.amount(2, 500, "LESSONPRESS_SEQUENCES")
FIRST = int(os.environ.get("LESSONPRESS_FIRST", "0"))
AT_ONCE = 2
ECHO = "echo"  # a lesson without checks
PLAIN = ("snakemake", "--cores", "1")
# Each edit exchanges one of these texts for another one of its row, so that later edits can lead back.
TEXTS: dict[tuple[str, str], tuple[str, ...]] = {
    (TINY, "lesson.yaml"): ("What does a shift", "What can a shift", "What may a shift"),
    (TINY, "model.py"): ("+ shift  # [points, width]", "+ shift  # points, width", "+ shift + gone  # [points, width]"),
    (TINY, "checks.py"): ('"bound": 1e-12', '"bound": 1e-11', '"bound": -1.0'),
    (ECHO, "lesson.yaml"): ("title: Echo", "title: Answer", "tittle: Echo"),
    (ECHO, "model.py"): ("return x + 1", "return x + 2", "return 1 + x"),
}
STEPS = ("hash", "execute", "record", "check", "render", "publish")
OPTIONS = (
    ("--dry-run",), ("--touch",), ("--touch",), ("--until", "check"), ("--until", "render"), ("-R", "render"),
    ("-R", "publish"), ("-R", "execute"), ("--omit-from", "publish"), ("--config", "note=a word"),
    ("-F",), ("verify",), ("--delete-all-output",), (f"work/{TINY}/cases.csv",), (f"work/{ECHO}/source.json",),
)  # fmt: skip
GIT = (
    ("stash",), ("stash", "pop"), ("checkout", "--", "lessons"), ("checkout", "--", "results"),
    ("checkout", "HEAD~1", "--", "lessons"), ("checkout", "HEAD~1", "--", "results"), ("revert", "--no-edit", "HEAD"),
    ("reset", "--hard", "HEAD~1"), ("clean", "-fdq", "results", "lessons"),
)  # fmt: skip
KILLS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL)
TIMES = (-40 * 365 * 86400, -86400, -2, 30, 86400, 10 * 365 * 86400)  # seconds from now


@dataclass
class Life:
    """A house, what happens to it, and what has happened."""

    house: House
    chance: random.Random
    around: dict[str, str]
    log: list[str] = field(default_factory=list)
    aside: list[tuple[Path, Path]] = field(default_factory=list)

    @property
    def work(self) -> Path:
        """The scratch folder."""
        return self.house.folder / "work"

    @property
    def results(self) -> Path:
        """The published site."""
        return self.house.folder / "results"

    def some(self, folder: Path, *, folders: bool = False) -> Path | None:
        """A file (or a folder) somewhere below a folder, where there is one."""
        paths = sorted(path for path in folder.rglob("*") if path.is_dir() is folders and not path.is_symlink())
        return self.chance.choice(paths) if paths else None

    def start(self, *words: str) -> Running:
        """Start a command."""
        return Running(self.house.folder, list(words), self.around, self.house.folder.parent / f"said-{len(self.log)}")

    def note(self, words: object) -> None:
        """Tell what happens now."""
        self.log.append(str(words))


def edit(life: Life) -> None:
    """Exchange a text of a lesson for another one that this file has had or will have."""
    (slug, file), row = life.chance.choice(list(TEXTS.items()))
    path = life.house.folder / "lessons" / slug / file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    now = next((each for each in row if each in text), None)
    if now is None:
        life.note(f"no text to edit in {slug}/{file}")
        return
    # A broken lesson is the rarer case.
    new = life.chance.choice([each for each in (row[0], row[0], row[1], row[1], row[2]) if each != now])
    path.write_text(text.replace(now, new), encoding="utf-8")
    life.note(f"edit {slug}/{file}: {new}")


def type_command(life: Life) -> None:
    """Type a command by hand, with or without a key, perhaps one of an earlier state."""
    slug = life.chance.choice((TINY, TINY, ECHO))
    command = life.chance.choice((*STEPS, *STEPS, "site", "mistakes", "pin"))
    words = [command] if command in ("site", "mistakes") else [command, slug]
    states = sorted(path.name for path in (life.work / slug).glob("?" * 16))
    if command in STEPS and states and life.chance.random() < 0.4:
        words += ["--key", life.chance.choice([*states, life.house.state(slug).name])]
    if command == "pin" and life.chance.random() < 0.5:
        known = sorted(path.name for path in (life.results / "models" / slug).glob("?" * 16))
        words += known[:1]
    code = life.start("lessonpress", *words).wait()
    life.note(f"type {' '.join(words)}: {code}")


def run(life: Life) -> None:
    """Run Snakemake to its end, plainly or with an option."""
    options = life.chance.choice(OPTIONS) if life.chance.random() < 0.7 else ()
    code = life.start(*PLAIN, *options).wait()
    life.note(f"run {' '.join(options)}: {code}")


def kill(life: Life) -> None:
    """Kill a run, or a command that was typed, after a while, alone or with its whole group."""
    words = PLAIN if life.chance.random() < 0.8 else ("lessonpress", life.chance.choice(STEPS), TINY)
    number, group, after = life.chance.choice(KILLS), life.chance.random() < 0.6, life.chance.uniform(0.05, 2.0)
    running = life.start(*words)
    end = time.monotonic() + after
    while running.running() and time.monotonic() < end:
        time.sleep(0.01)
    running.kill(number, group=group)
    name = "run" if words is PLAIN else words[1]
    with_group = "with its group " * group
    life.note(f"{name} {with_group}killed by {number.name} after {after:.2f} s: {running.wait()}")


def edit_in_a_run(life: Life) -> None:
    """Edit a lesson while it is being produced; perhaps twice, back and forth."""
    edit(life)
    running = life.start(*PLAIN)
    for _ in range(life.chance.choice((1, 1, 2, 3))):
        time.sleep(life.chance.uniform(0.1, 1.2))
        edit(life)
    life.note(f"in a run: {running.wait()}")


def delete(life: Life) -> None:
    """Delete a file, a folder, a whole state, or all of what lies under work/ or in .snakemake."""
    states = sorted(life.work.glob(f"*/{'?' * 16}"))
    doomed = life.chance.choice([
        life.some(life.work), life.some(life.work), life.some(life.work, folders=True), *states[:1], *states[-1:],
        life.work, life.house.folder / ".snakemake", life.work / "pages.json", life.work / "site", life.work / "good",
    ])  # fmt: skip
    if doomed and doomed.exists():
        life.note(f"delete {doomed.relative_to(life.house.folder)}")
        shutil.rmtree(doomed) if doomed.is_dir() else doomed.unlink()


def damage(life: Life) -> None:
    """Truncate a file under work/, or change a byte of it."""
    if (path := life.some(life.work)) is None:
        return
    data = bytearray(path.read_bytes())
    if data and life.chance.random() < 0.5:
        data[life.chance.randrange(len(data))] ^= 1
    else:
        del data[life.chance.randrange(len(data) + 1) :]
    path.write_bytes(data)
    life.note(f"damage {path.relative_to(life.house.folder)}")


def put_aside(life: Life) -> None:
    """Copy something of work/ or results/, to be brought back later."""
    states = sorted(life.work.glob(f"*/{'?' * 16}"))
    kept = life.chance.choice([life.work, life.work, life.some(life.work), life.chance.choice([*states, None]),
                               life.results])  # fmt: skip
    if kept and kept.exists():
        to = life.house.folder.parent / f"aside-{len(life.aside)}"
        shutil.copytree(kept, to, symlinks=True) if kept.is_dir() else shutil.copy2(kept, to)
        life.aside.append((kept, to))
        life.note(f"put aside {kept.relative_to(life.house.folder)}")


def bring_back(life: Life) -> None:
    """Put what was put aside back into its place, in place of what is there now or on top of it."""
    if not life.aside:
        put_aside(life)
        return
    place, kept = life.chance.choice(life.aside)
    on_top = life.chance.random() < 0.3
    life.note(f"bring back {place.relative_to(life.house.folder)}{' on top' * on_top}")
    place.parent.mkdir(parents=True, exist_ok=True)
    if kept.is_dir():
        if not on_top:
            shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(kept, place, dirs_exist_ok=True, copy_function=life.chance.choice((shutil.copy, shutil.copy2)))
    elif not place.is_dir():
        shutil.copy2(kept, place)


def set_times(life: Life) -> None:
    """Give files times long ago, or times to come."""
    folder = life.house.folder / life.chance.choice(("lessons", "work", "work", "results"))
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    chosen = files if life.chance.random() < 0.4 else life.chance.sample(files, min(len(files), 5))
    moment = time.time() + life.chance.choice(TIMES)
    for path in chosen:
        os.utime(path, (moment, moment))
    life.note(f"{len(chosen)} files of {folder.name} are of {time.strftime('%F %T', time.localtime(moment))}")


def spoil_site(life: Life) -> None:
    """Delete the site, a revision or a page of it, or edit a page by hand."""
    revisions = sorted(life.results.glob(f"models/*/{'?' * 16}"))
    pages = [path for path in sorted(life.results.rglob("*.html")) if path.parent.parent.parent.name != "models"]
    what = life.chance.choice((life.results, life.results / "models", *revisions, *pages, *pages,
                               *sorted(life.results.glob("models/*/revisions.json"))))  # fmt: skip
    if not what.exists():
        return
    if what in pages and life.chance.random() < 0.6:
        what.write_text(what.read_text(encoding="utf-8") + "<!-- mine -->\n", encoding="utf-8")
        life.note(f"edit page {what.relative_to(life.house.folder)}")
    else:
        shutil.rmtree(what) if what.is_dir() else what.unlink()
        life.note(f"delete {what.relative_to(life.house.folder)}")


def git(life: Life) -> None:
    """Commit everything, or let git bring back, stash or revert lessons and results."""
    words = life.chance.choice((("commit", "--quiet", "--all", "--message", "x"), *GIT))
    if words[0] == "commit":
        in_git(life.house, "add", "lessons", "results")
    code = in_git(life.house, *words)
    if code and words[0] == "revert":
        in_git(life.house, "revert", "--abort")
    if code and words[0] == "stash":  # a conflict would leave its marks in the files
        in_git(life.house, "reset", "--hard", "HEAD")
    life.note(f"git {' '.join(words)}: {code}")


def in_git(house: House, *words: str) -> int:
    """Have git do something; answers its exit code."""
    # The repository lies beside the house: a revision names the commit at which its model ran, and that may be older
    # than the one at which a run from nothing runs it.
    place = [f"--git-dir={house.folder.parent / 'git'}", f"--work-tree={house.folder}"]
    command = ["git", *place, "-c", "user.name=A", "-c", "user.email=a@example.org", *words]
    return subprocess.run(command, cwd=house.folder, capture_output=True, check=False, timeout=60).returncode


EVENTS: dict[Callable[[Life], None], int] = {
    edit: 8, type_command: 5, run: 4, kill: 4, edit_in_a_run: 1, delete: 3, damage: 2, put_aside: 2, bring_back: 2,
    set_times: 2, spoil_site: 2, git: 3,
}  # fmt: skip


def files(folder: Path) -> dict[str, bytes]:
    """Every file of a site but what killed publishers left."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in paths.items() if ".tmp-" not in name}


@contextlib.contextmanager
def inside(folder: Path, around: dict[str, str]) -> Iterator[None]:
    """Work in a folder, with an environment."""
    before, environment = Path.cwd(), dict(os.environ)
    os.chdir(folder)
    os.environ.update(around)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)


def made_from_nothing(house: House, around: dict[str, str]) -> int:
    """Do what a run with an empty work folder does, command by command in this process; answers its exit code."""
    failed = False

    def tried(act: Callable[[], Any]) -> None:
        nonlocal failed
        try:
            act()
        except LessonError:
            failed = True

    with inside(house.folder, around):
        config = settings.read()
        for slug in sorted(path.parent.name for path in Path("lessons").glob("*/lesson.yaml")):
            work = steps.open_build(config, slug)
            tried(lambda work=work: (steps.perform(work, "rehearse"), publish.publish(work)))
        tried(lambda: site.write_site(config))
        return int(failed or bool(mistakes.collect_mistakes(config)))


def gone(folder: Path) -> None:
    """Wait until no server of a run is left; each removes its folder when it ends."""
    end = time.monotonic() + 10
    while left := list(folder.glob("lessonpress-run-*/socket")):
        assert time.monotonic() < end, f"a server goes on: {left}"
        time.sleep(0.02)


def lived(seed: int, template: Path, scratch: Path) -> str:
    """Live one sequence; answers what went wrong, or nothing."""
    base = scratch / f"sequence-{seed}"
    for name in ("tmp", "home"):
        (base / name).mkdir(parents=True)
    for name in ("house", "git"):
        shutil.copytree(template.parent / name, base / name, symlinks=True)
    around = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "TMPDIR": str(base / "tmp"), "HOME": str(base / "home")}
    life = Life(House(base / "house"), random.Random(seed), around)
    try:
        for _ in range(life.chance.choice((1, 2, 2, 3, 3, 4, 5, 7))):
            life.chance.choices(list(EVENTS), list(EVENTS.values()))[0](life)
        gone(base / "tmp")
        (life.house.folder / "lessons").mkdir(exist_ok=True)
        judge(life, real=seed % 10 == 0)
    except Exception as error:
        said = "\n".join(path.read_text(errors="replace")[-1500:] for path in sorted(base.glob("said-plain*")))
        return f"seed {seed}: {type(error).__name__}: {error}\n  " + "\n  ".join(life.log) + f"\n{said}"
    shutil.rmtree(base, ignore_errors=True)  # a server of the last run may just be saying that it ends
    return ""


def judge(life: Life, *, real: bool) -> None:
    """Hold the plain run against one that begins from nothing (with Snakemake itself, where that is `real`)."""
    house, base = life.house, life.house.folder.parent
    fresh = House(base / "fresh")
    shutil.copytree(house.folder, fresh.folder, symlinks=True, ignore=shutil.ignore_patterns("work", ".snakemake"))
    code = Running(house.folder, list(PLAIN), life.around, base / "said-plain").wait()
    if real:
        wanted = Running(fresh.folder, list(PLAIN), life.around, base / "said-plain-fresh").wait()
    else:
        wanted = made_from_nothing(fresh, life.around)
    published, expected = files(house.folder / "results"), files(fresh.folder / "results")
    other = sorted(name for name in published.keys() | expected.keys() if published.get(name) != expected.get(name))
    assert not other, f"otherwise than from nothing (exit {code}, {wanted}): {other[:12]}"
    assert code == wanted, f"exit code {code}, from nothing {wanted}"
    if code == 0:
        again = Running(house.folder, list(PLAIN), life.around, base / "said-plain-again")
        assert again.wait() == 0
        assert "Nothing to be done" in again.words(), "the second run has something to do"


def prepared(folder: Path, project: Path) -> House:
    """A house with two lessons that has published both, with two commits."""
    folder.parent.mkdir()
    house = build(folder, project)
    tiny.write(house.folder / "lessons" / ECHO)
    (house.folder / ".gitignore").write_text("work/\n.snakemake/\n", encoding="utf-8")
    in_git(house, "init", "--quiet")
    around = {"SOURCE_DATE_EPOCH": "1700000000"}
    for title in ("What can a shift", "What does a shift"):
        recipe = house.lesson / "lesson.yaml"
        recipe.write_text(recipe.read_text(encoding="utf-8").replace("What does a shift", title), encoding="utf-8")
        done = house.run(*PLAIN, around=around)
        assert done.returncode == 0, done.stdout + done.stderr
        in_git(house, "add", "--all")
        assert in_git(house, "commit", "--quiet", "--message", title) == 0
        recipe.write_text(recipe.read_text(encoding="utf-8").replace(title, "What does a shift"), encoding="utf-8")
    return house


def lives(share: list[int], template: Path, scratch: Path) -> list[str]:
    """Live some sequences one after the other, in a process that keeps what runs lessons."""
    out = []
    with sandbox.keep_servers():
        for seed in share:
            begin = time.monotonic()
            out.append(lived(seed, template, scratch))
            with (scratch / "progress").open("a") as log:
                log.write(f"{seed}: {time.monotonic() - begin:.1f} s {out[-1]}\n")
    return out


def test_no_edit_is_lost(tmp_path: Path, project: Path) -> None:
    """After every sequence results/ is what a run from nothing leaves, and so is the exit code; then nothing is due."""
    template = prepared(tmp_path / "template" / "house", project)
    every = list(range(FIRST, FIRST + SEQUENCES))
    with ProcessPoolExecutor(AT_ONCE, mp_context=multiprocessing.get_context("spawn")) as pool:
        shares = [pool.submit(lives, every[at::AT_ONCE], template.folder, tmp_path) for at in range(AT_ONCE)]
        failed = [words for share in shares for words in share.result() if words]
    assert not failed, f"{len(failed)} of {len(every)} sequences:\n" + "\n\n".join(failed)
