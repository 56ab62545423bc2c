"""A run survives being killed, refused and hurried: afterwards there is the old or the new state, and runs continue.

A whole run of Snakemake is killed after a while, alone, with its group, or with its servers; and `strace` kills a typed
command at the entry of its Nth call of one kind. A plain run of the tests takes a few of those points; with
LESSONPRESS_CRASHES=200 so many of the whole chain, half as many of `publish` and of `site`, and a tenth of each step's
command; with LESSONPRESS_CRASHES=all every call that `publish` and `site` make from the first touch of `results/` on.
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from lessonpress.build import steps
from lessonpress.core import lock
from lessonpress.core.settings import Config
from lessonpress.publishing import integrity, publish, site, verify
from lessonpress.revision import history
from tests import tiers
from tests.workflow.conftest import TINY, House
from tests.workflow.swift import Running

pytestmark = [
    pytest.mark.workflow,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]

CRASHES = os.environ.get("LESSONPRESS_CRASHES") or str(tiers.amount(3, 200))
SPREAD = int(CRASHES.replace("all", "1000000"))  # points of the whole chain
CHAIN = min(SPREAD, 1000)
POINTS = max(3, SPREAD // 2 if SPREAD > 10 else 0)  # points of `publish` and of `site`
EACH = max(1, CHAIN // 10)  # points of each step's command
AT_ONCE = 2  # houses in which something is killed and repaired at the same time
PLAIN = ["snakemake", "--cores", "1"]
FIXED = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
ENDS = 2.0  # seconds in which everything that a run started is to end after it
CALLS = (
    "openat,open,write,fsync,fdatasync,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,rmdir,flock,ftruncate"
)
LINE = re.compile(r"^(\w+)\(")


@dataclass(frozen=True)
class Point:
    """The nth call of one kind; `named` when it names a path of the site."""

    call: str
    number: int
    named: bool


@dataclass(frozen=True)
class Site:
    """A published site before a command, after it, and after the pages have followed."""

    folder: Path
    old: dict[str, bytes]
    done: dict[str, bytes]
    new: dict[str, bytes]
    revisions: tuple[str, str]


def files(results: Path) -> dict[str, bytes]:
    """Every file of a site but what killed publishers left."""
    paths = {path.relative_to(results).as_posix(): path for path in results.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in paths.items() if ".tmp-" not in name}


def make_command(*arguments: str) -> list[str]:
    """A command of ours, as the rules call it."""
    return [sys.executable, "-m", "lessonpress", *arguments]


def strace(folder: Path, *options: str, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command under strace, which sees its first process only: the others end with that one."""
    return subprocess.run(["strace", "-qq", *options, *command], cwd=folder, env=FIXED, capture_output=True, text=True,
                          timeout=120, check=False)  # fmt: skip


def points(folder: Path, command: list[str], below: str = "results") -> list[Point]:
    """Every file-system call that a command makes once it has touched a folder, by kind and number."""
    log = folder / "strace.log"
    done = strace(folder, "-e", f"trace=?{CALLS.replace(',', ',?')}", "-o", str(log), command=command)
    assert done.returncode == 0, done.stderr
    counts: Counter[str] = Counter()
    points, touched = [], False
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if call := LINE.match(line):
            counts[call[1]] += 1
            touched = touched or f'"{below}' in line
            if touched:
                points.append(Point(call[1], counts[call[1]], f'"{below}' in line))
    log.unlink()
    return points


def chosen(every: list[Point], count: int = SPREAD) -> list[Point]:
    """All points, or an even spread with the first and the last."""
    if len(every) <= count:
        return every
    if count == 1:
        return [every[len(every) // 2]]
    return [every[round(step * (len(every) - 1) / (count - 1))] for step in range(count)]


@contextmanager
def held(results: Path) -> Iterator[None]:
    """Hold the lock on a site, so that whoever would change it waits."""
    handle = os.open(results, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(handle)


def left(pid: int) -> list[int]:
    """The processes that serve a run of Snakemake: the one that listens, and those that do commands."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"lessonpress.cli.command_server" in words and str(pid).encode() in words:
                pids.append(int(folder.name))
    return pids


def wait_for_end(pid: int, patience: float = ENDS) -> None:
    """Wait until nothing serves a run any more."""
    end = time.monotonic() + patience
    while others := left(pid):
        assert time.monotonic() < end, f"{others} go on after their Snakemake was killed"
        time.sleep(0.02)


def stopped(house: House) -> None:
    """Run Snakemake until the job that changes the site has begun, and kill it with all its processes."""
    with held(house.folder / "results"):
        command = [sys.executable, "-m", *PLAIN]
        running = subprocess.Popen(command, cwd=house.folder, env=FIXED, start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        end = time.monotonic() + 60
        while not list((house.folder / ".snakemake" / "incomplete").glob("*")):
            assert running.poll() is None, "nothing was to be done"
            assert time.monotonic() < end, "the job has not begun"
            time.sleep(0.02)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        wait_for_end(running.pid)


def second(template: House, to: Path) -> House:
    """A house with one published revision, and another one rendered."""
    shutil.copytree(template.folder, to)
    house = House(to)
    house.edit("lesson.yaml", "What does a shift", "What can a shift")
    rendered = house.state().relative_to(house.folder) / "rendered.json"
    done = house.run(*PLAIN, str(rendered), around=FIXED)
    assert done.returncode == 0, done.stdout + done.stderr
    return house


@pytest.fixture(scope="module")
def publishing(template: House, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Give a house that was killed when its `publish` was to add a revision."""
    house = second(template, tmp_path_factory.mktemp("publishing") / "house")
    stopped(house)
    return complete(house, published)


@pytest.fixture(scope="module")
def renewing(template: House, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Give a house that was killed when its `site` was to renew the pages."""
    house = second(template, tmp_path_factory.mktemp("renewing") / "house")
    published(house.settings)
    stopped(house)
    return complete(house, site.write_site)


def published(config: Config) -> None:
    """Publish the tiny lesson in this process, from what is rendered already."""
    work = steps.open_build(config, TINY)
    steps.perform(work, "rehearse")
    with pytest.MonkeyPatch.context() as around:  # at the moment at which the commands publish too
        around.setenv("SOURCE_DATE_EPOCH", FIXED["SOURCE_DATE_EPOCH"])
        assert not publish.publish(work).mistakes


def complete(house: House, act: Callable[[Config], object]) -> Site:
    """The house as it is, with the state of its site after a command and `site`."""
    other = House(house.folder.with_name("after"))
    shutil.copytree(house.folder, other.folder)
    act(other.settings)
    done = files(other.folder / "results")
    site.write_site(other.settings)
    [old] = history.read_history(house.published, TINY)["revisions"][:1]
    new = history.read_history(other.published, TINY)["current"]
    before, after = (files(each.folder / "results") for each in (house, other))
    return Site(house.folder, before, done, after, (old["revision"], new))


def fresh(given: Site, to: Path) -> House:
    """A copy to be damaged."""
    shutil.copytree(given.folder, to)
    return House(to)


def check_state(house: House, given: Site) -> None:
    """Every file is the old or the new one, each folder is whole, and the history names only what is there."""
    now = files(house.folder / "results")
    for name in given.old:
        assert now[name] in (given.old[name], given.new[name]), name
    for name in set(now) - set(given.old):
        assert now[name] == given.new[name], name
    for name in house.revisions():
        if not name.startswith("."):
            assert integrity.find_revision_faults(house.published / name, TINY) == []
    lesson_history = history.read_history(house.published, TINY)
    assert lesson_history["current"] in given.revisions
    assert all((house.published / event["revision"]).is_dir() for event in lesson_history["revisions"])


def check_repaired(house: House, given: Site, *, verified: bool = True) -> None:
    """The next plain Snakemake finishes whatever was left; then the site is the new one, and all of it verifies."""
    for words in (PLAIN, *[["lessonpress", "verify"]] * verified):
        running = Running(house.folder, words, FIXED, house.folder.with_name(f"{house.folder.name}-{words[0]}"))
        assert running.wait() == 0, running.words()
    check_finished(house, given)


def is_verified(at: int) -> bool:
    """Whether a house is verified too: at night each one, by day one of three; all are compared byte by byte."""
    return tiers.NIGHTLY or at % 3 == 1


def check_finished(house: House, given: Site) -> None:
    """The site is the new one, nothing is left over, and everything is consistent."""
    config = house.settings
    assert files(house.folder / "results") == given.new
    assert not list((house.folder / "results").rglob(lock.LEFT))
    assert integrity.find_lesson_faults(house.folder / "results" / "models", TINY) == []
    assert list(verify.find_page_faults(config)) == []
    assert history.read_history(house.published, TINY)["current"] == given.revisions[1]


def killed(given: Site, command: list[str], scratch: Path, below: str = "results", count: int = POINTS) -> float:
    """Kill a command at every chosen point, each in a house of its own, repair the house; answers their share.

    Not every run makes exactly as many calls of a kind: a point near the end may never come.
    """
    every = chosen(points(fresh(given, scratch / "counted").folder, command, below), count)

    def tried(at: int) -> bool:
        point, house = every[at], fresh(given, scratch / f"killed-{at}")
        done = strace(house.folder, "-o", os.devnull, "-e", f"trace={point.call}",
                      "-e", f"inject={point.call}:signal=KILL:when={point.number}", command=command)  # fmt: skip
        try:
            check_state(house, given)
            check_repaired(house, given, verified=is_verified(at))
        except AssertionError as error:
            raise AssertionError(f"killed at {point}: {error}") from error
        shutil.rmtree(house.folder)
        return done.returncode == -signal.SIGKILL

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return sum(pool.map(tried, range(len(every)))) / len(every)


def test_publish_may_be_killed_anywhere(publishing: Site, tmp_path: Path) -> None:
    """After SIGKILL at any call the site is the old one or the new one, and the next plain run finishes."""
    assert killed(publishing, make_command("publish", TINY), tmp_path) >= 0.9 - 1 / POINTS


def test_site_may_be_killed_anywhere(renewing: Site, tmp_path: Path) -> None:
    """Each page is the old one or the new one, and the next plain run renews the rest."""
    assert killed(renewing, make_command("site"), tmp_path) >= 0.9 - 1 / POINTS


@pytest.fixture(scope="module")
def edited(template: House, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Give a house in which every step is due: model, checks and words of its lesson are others."""
    house = House(tmp_path_factory.mktemp("edited") / "house")
    shutil.copytree(template.folder, house.folder)
    house.edit("lesson.yaml", "What does a shift", "What can a shift")
    house.edit("model.py", "self.line(points) + shift", "shift + self.line(points)")
    house.edit("lesson.yaml", "find: \"self.line(points) + shift\", with: \"self.line(points) + 0 * shift\"",
               "find: \"shift + self.line(points)\", with: \"0 * shift + self.line(points)\"")  # fmt: skip
    house.edit("checks.py", '"bound": 1e-12', '"bound": 1e-11')

    def run(config: Config) -> None:
        other = House(Path(config.work).parent)
        done = other.run(*PLAIN, around=FIXED)
        assert done.returncode == 0, done.stdout + done.stderr

    return complete(house, run)


def test_a_run_may_be_killed_at_any_moment(edited: Site, tmp_path: Path) -> None:
    """After SIGKILL, alone, with its group, or with its servers, nothing goes on, and the next plain run finishes."""
    whole = fresh(edited, tmp_path / "whole")
    begin = time.monotonic()
    assert Running(whole.folder, PLAIN, FIXED, tmp_path / "said").wait() == 0
    last = time.monotonic() - begin

    def tried(at: int) -> bool:
        house, moment = fresh(edited, tmp_path / f"killed-{at}"), (at + 0.5) * last / CHAIN
        running = Running(house.folder, PLAIN, FIXED, tmp_path / f"said-{at}")
        time.sleep(moment)
        in_time, servers = running.running(), left(running.pid) if at % 3 == 2 else []
        running.kill(signal.SIGKILL, group=at % 3 > 0)
        for pid in servers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        running.wait()
        try:
            wait_for_end(running.pid)
            check_state(house, edited)
            check_repaired(house, edited, verified=is_verified(at))
        except AssertionError as error:
            raise AssertionError(f"killed {('alone', 'with its group', 'with its servers')[at % 3]} after {moment:.3f} "
                                 f"of {last:.3f} s: {error}") from error  # fmt: skip
        shutil.rmtree(house.folder)
        return in_time

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert sum(pool.map(tried, range(CHAIN))) > CHAIN / 2  # else it was killed when all was done


@pytest.mark.parametrize("command", tiers.some(steps.STEPS, 4))
def test_a_step_may_be_killed_anywhere(edited: Site, tmp_path: Path, command: str) -> None:
    """After SIGKILL at any call that a typed step makes below work/, the next plain run finishes."""
    house = fresh(edited, tmp_path / "before")
    for before in steps.STEPS[command].after:
        assert Running(house.folder, ["lessonpress", before, TINY], FIXED, tmp_path / "said").wait() == 0
    given = Site(house.folder, edited.old, edited.done, edited.new, edited.revisions)
    assert killed(given, make_command(command, TINY), tmp_path, "work", EACH) > 0.8 - 1 / EACH


@pytest.mark.parametrize(("command", "error"), [
    ("publish", "ENOSPC"), ("site", "EACCES"),
    pytest.param("publish", "EACCES", marks=pytest.mark.nightly),
    pytest.param("site", "ENOSPC", marks=pytest.mark.nightly),
])  # fmt: skip
def test_a_refusing_disk_is_one_clear_message(
    publishing: Site, renewing: Site, tmp_path: Path, command: str, error: str
) -> None:
    """A full disk or a missing permission at any call: exit 1, one line of words, and the old state."""
    given, words = (publishing, ["publish", TINY]) if command == "publish" else (renewing, ["site"])
    typed = make_command(*words)
    every = points(fresh(given, tmp_path / "counted").folder, typed)
    # The last calls write the receipt under work/ and the words to the terminal, when all is published.
    refused = [
        p for p in every[:-6] if p.call in ("write", "fsync") or (p.named and p.call in ("openat", "mkdir", "rename"))
    ]
    failed = 0
    tried = chosen(refused, tiers.amount(4, 9))
    for at, point in enumerate(tried):
        house = fresh(given, tmp_path / f"refused-{at}")
        done = strace(house.folder, "-o", os.devnull, "-e", f"trace={point.call}",
                      "-e", f"inject={point.call}:error={error}:when={point.number}", command=typed)  # fmt: skip
        check_state(house, given)
        said = done.stdout + done.stderr
        assert "Traceback" not in said, (point, said)
        if done.returncode == 0:  # the call did not matter: a folder that was there, a compiled file that Python tried
            assert files(house.folder / "results") == given.done, (point, said)
        else:
            failed += 1
            message = {"ENOSPC": "No space left on device", "EACCES": "Permission denied"}[error]
            assert (done.returncode, len(said.strip().splitlines())) == (1, 1), (point, said)
            assert message in said, (point, said)
        published(house.settings)
        site.write_site(house.settings)
        check_finished(house, given)
        shutil.rmtree(house.folder)
    assert failed > len(tried) / 3


def test_eight_publishers_at_once_lose_nothing(publishing: Site, template: House, tmp_path: Path) -> None:
    """Eight at the same moment, on the same lesson and on another: one event each, all folders whole."""
    house = fresh(publishing, tmp_path / "house")
    other = "tiny-other"
    shutil.copytree(house.lesson, house.folder / "lessons" / other)
    recipe = house.folder / "lessons" / other / "lesson.yaml"
    recipe.write_text(recipe.read_text(encoding="utf-8").replace(TINY, other), encoding="utf-8")
    verify.regenerate(house.settings, other)

    def run(slug: str) -> int:
        return subprocess.run(
            make_command("publish", slug), cwd=house.folder, capture_output=True, timeout=120, check=False
        ).returncode

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, [TINY, other] * 4)) == [0] * 8
    site.write_site(house.settings)
    models = house.folder / "results" / "models"
    for slug, events in ((TINY, 2), (other, 1)):
        assert len(history.read_history(models / slug, slug)["revisions"]) == events
        assert integrity.find_lesson_faults(models, slug) == []
    assert list(verify.find_page_faults(house.settings)) == []


def test_the_lock_goes_with_its_holder(tmp_path: Path) -> None:
    """A publisher that is killed holds nobody up: the next one waits for nothing."""
    config = Config(results=str(tmp_path / "results"))
    code = "from lessonpress.core import lock; from pathlib import Path\n" \
           f"with lock.hold(Path({config.results!r})):\n" \
           "    print('held', flush=True); import time; time.sleep(60)"  # fmt: skip
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with lock.hold(Path(config.results)):
        pass
