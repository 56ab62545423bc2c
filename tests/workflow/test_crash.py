"""Publishing survives being killed, refused and hurried: afterwards there is the old state or the new one.

`strace` kills a verb at the entry of its Nth call of one kind, in a house where Snakemake was killed with it: its lock
and its mark of an unfinished job are there, the job's receipt is not. A plain run takes a spread of those points; with
LESSONPRESS_CRASHES=200 it takes so many of each verb, with LESSONPRESS_CRASHES=all every call that the verbs make from
the first touch of `results/` on (an hour or more).
"""

import base64
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
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lessonpress import history, integrity, lock, publish, site, verify
from lessonpress.settings import Config
from tests.workflow.conftest import TINY, House
from tests.workflow.revisions import settings

pytestmark = [
    pytest.mark.workflow,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]

SPREAD = int(os.environ.get("LESSONPRESS_CRASHES", "10").replace("all", "1000000"))  # points of each verb
AT_ONCE = 2  # houses in which a verb is killed and repaired at the same time
CALLS = (
    "openat,open,write,fsync,fdatasync,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,rmdir,flock,ftruncate"
)
LINE = re.compile(r"^\d+ +(\w+)\(")


@dataclass(frozen=True)
class Point:
    """The nth call of one kind; `named` when it names a path of the site."""

    call: str
    number: int
    named: bool


@dataclass(frozen=True)
class Site:
    """A published site before a verb, after it, and after the pages have followed."""

    folder: Path
    old: dict[str, bytes]
    done: dict[str, bytes]
    new: dict[str, bytes]
    revisions: tuple[str, str]


def files(results: Path) -> dict[str, bytes]:
    """Every file of a site but what killed publishers left."""
    found = {path.relative_to(results).as_posix(): path for path in results.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if ".tmp-" not in name}


def command(*arguments: str) -> list[str]:
    """A verb of ours, as the rules call it."""
    return [sys.executable, "-m", "lessonpress", *arguments]


def strace(folder: Path, *options: str, verb: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a verb under strace."""
    return subprocess.run(["strace", "-f", "-qq", *options, *verb], cwd=folder, capture_output=True, text=True,
                          timeout=120, check=False)  # fmt: skip


def points(folder: Path, verb: list[str]) -> list[Point]:
    """Every file-system call that a verb makes once it has touched `results`, by kind and number."""
    log = folder / "strace.log"
    done = strace(folder, "-e", f"trace=?{CALLS.replace(',', ',?')}", "-o", str(log), verb=verb)
    assert done.returncode == 0, done.stderr
    counts: Counter[str] = Counter()
    found, touched = [], False
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if call := LINE.match(line):
            counts[call[1]] += 1
            touched = touched or '"results' in line
            if touched:
                found.append(Point(call[1], counts[call[1]], '"results' in line))
    log.unlink()
    return found


def chosen(every: list[Point], count: int = SPREAD) -> list[Point]:
    """All points, or an even spread with the first and the last."""
    if len(every) <= count:
        return every
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


def stopped(house: House) -> None:
    """Run Snakemake until the job that publishes has begun, and kill it with all its processes."""
    mark = house.folder / ".snakemake" / "incomplete" / base64.b64encode(b"work/site.json").decode()
    with held(house.folder / "results"):
        command = [sys.executable, "-m", "snakemake", "--cores", "1"]
        running = subprocess.Popen(command, cwd=house.folder, start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        end = time.monotonic() + 60
        while not mark.exists():
            assert running.poll() is None, "nothing was to be done"
            assert time.monotonic() < end, "the job has not begun"
            time.sleep(0.02)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def second(template: House, to: Path) -> House:
    """A house with one published revision, and another one rendered."""
    shutil.copytree(template.folder, to)
    house = House(to)
    house.edit("lesson.yaml", "What does a shift", "What can a shift")
    done = house.snakemake(f"work/{TINY}/rendered.json")
    assert done.returncode == 0, done.stdout + done.stderr
    return house


@pytest.fixture(scope="module")
def publishing(template: House, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Give a house that was killed when its `publish` was to add a revision."""
    house = second(template, tmp_path_factory.mktemp("publishing") / "house")
    stopped(house)
    return complete(house, lambda config: publish.publish(config, TINY))


@pytest.fixture(scope="module")
def renewing(template: House, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Give a house that was killed when its `site` was to renew the pages."""
    house = second(template, tmp_path_factory.mktemp("renewing") / "house")
    publish.publish(settings(house), TINY)
    stopped(house)
    return complete(house, site.site)


def complete(house: House, act: Callable[[Config], object]) -> Site:
    """The house as it is, with the state of its site after a verb and `site`."""
    other = House(house.folder.with_name("after"))
    shutil.copytree(house.folder, other.folder)
    act(settings(other))
    done = files(other.folder / "results")
    site.site(settings(other))
    [old] = history.read(house.published, TINY)["revisions"][:1]
    new = history.read(other.published, TINY)["current"]
    before, after = (files(each.folder / "results") for each in (house, other))
    return Site(house.folder, before, done, after, (old["revision"], new))


def fresh(given: Site, to: Path) -> House:
    """A copy to be damaged."""
    shutil.copytree(given.folder, to)
    return House(to)


def check_state(house: House, given: Site) -> None:
    """Every file is the old or the new one, each folder is whole, and the history names only what is there."""
    found = files(house.folder / "results")
    for name in given.old:
        assert found[name] in (given.old[name], given.new[name]), name
    for name in set(found) - set(given.old):
        assert found[name] == given.new[name], name
    for name in house.revisions():
        if not name.startswith("."):
            assert integrity.of_revision(house.published / name, TINY) == []
    told = history.read(house.published, TINY)
    assert told["current"] in given.revisions
    assert all((house.published / event["revision"]).is_dir() for event in told["revisions"])


def check_repaired(house: House, given: Site) -> None:
    """The next plain Snakemake finishes whatever was left; then the site is the new one, and all of it verifies."""
    for module, *arguments in (("snakemake", "--cores", "1"), ("lessonpress", "verify")):
        done = house.run(module, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    check_finished(house, given)


def check_finished(house: House, given: Site) -> None:
    """The site is the new one, nothing is left over, and everything is consistent."""
    config = settings(house)
    assert files(house.folder / "results") == given.new
    assert not list((house.folder / "results").rglob(lock.LEFT))
    assert integrity.of_lesson(house.folder / "results" / "models", TINY) == []
    assert list(verify.pages(config)) == []
    assert history.read(house.published, TINY)["current"] == given.revisions[1]


def killed(given: Site, verb: list[str], scratch: Path) -> int:
    """Kill a verb at every chosen point, each in a house of its own, check and repair the house; answers how many."""
    every = chosen(points(fresh(given, scratch / "counted").folder, verb))

    def tried(at: int) -> None:
        point, house = every[at], fresh(given, scratch / f"killed-{at}")
        done = strace(house.folder, "-o", os.devnull, "-e", f"trace={point.call}",
                      "-e", f"inject={point.call}:signal=KILL:when={point.number}", verb=verb)  # fmt: skip
        assert done.returncode != 0, point
        try:
            check_state(house, given)
            check_repaired(house, given)
        except AssertionError as error:
            raise AssertionError(f"killed at {point}: {error}") from error
        shutil.rmtree(house.folder)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return len(list(pool.map(tried, range(len(every)))))


def test_publish_may_be_killed_anywhere(publishing: Site, tmp_path: Path) -> None:
    """After SIGKILL at any call the site is the old one or the new one, and the next plain run finishes."""
    assert killed(publishing, command("publish", TINY), tmp_path) >= min(SPREAD, 200)


def test_site_may_be_killed_anywhere(renewing: Site, tmp_path: Path) -> None:
    """Each page is the old one or the new one, and the next plain run renews the rest."""
    assert killed(renewing, command("site"), tmp_path) >= min(SPREAD, 100)


@pytest.mark.parametrize("error", ["ENOSPC", "EACCES"])
@pytest.mark.parametrize("verb", ["publish", "site"])
def test_a_refusing_disk_is_one_clear_message(
    publishing: Site, renewing: Site, tmp_path: Path, verb: str, error: str
) -> None:
    """A full disk or a missing permission at any call: exit 1, one line of words, and the old state."""
    given, words = (publishing, command("publish", TINY)) if verb == "publish" else (renewing, command("site"))
    every = points(fresh(given, tmp_path / "counted").folder, words)
    # The last calls write the receipt under work/ and the words to the terminal, when all is published.
    refused = [
        p for p in every[:-6] if p.call in ("write", "fsync") or (p.named and p.call in ("openat", "mkdir", "rename"))
    ]
    failed = 0
    for at, point in enumerate(chosen(refused, 9)):
        house = fresh(given, tmp_path / f"refused-{at}")
        done = strace(house.folder, "-o", os.devnull, "-e", f"trace={point.call}",
                      "-e", f"inject={point.call}:error={error}:when={point.number}", verb=words)  # fmt: skip
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
        publish.publish(settings(house), TINY)
        site.site(settings(house))
        check_finished(house, given)
        shutil.rmtree(house.folder)
    assert failed >= 4


def test_eight_publishers_at_once_lose_nothing(publishing: Site, template: House, tmp_path: Path) -> None:
    """Eight at the same moment, on the same lesson and on another: one event each, all folders whole."""
    house = fresh(publishing, tmp_path / "house")
    other = "tiny-other"
    shutil.copytree(house.lesson, house.folder / "lessons" / other)
    recipe = house.folder / "lessons" / other / "lesson.yaml"
    recipe.write_text(recipe.read_text(encoding="utf-8").replace(TINY, other), encoding="utf-8")
    verify.regenerate(settings(house), other)

    def run(slug: str) -> int:
        return subprocess.run(
            command("publish", slug), cwd=house.folder, capture_output=True, timeout=120, check=False
        ).returncode

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, [TINY, other] * 4)) == [0] * 8
    site.site(settings(house))
    models = house.folder / "results" / "models"
    for slug, events in ((TINY, 2), (other, 1)):
        assert len(history.read(models / slug, slug)["revisions"]) == events
        assert integrity.of_lesson(models, slug) == []
    assert list(verify.pages(settings(house))) == []


def test_the_lock_goes_with_its_holder(tmp_path: Path) -> None:
    """A publisher that is killed holds nobody up: the next one waits for nothing."""
    config = Config(results=str(tmp_path / "results"))
    code = f"from lessonpress import lock; from pathlib import Path\nwith lock.alone(Path({config.results!r})):\n" \
           "    print('held', flush=True); import time; time.sleep(60)"  # fmt: skip
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with lock.alone(Path(config.results)):
        pass
