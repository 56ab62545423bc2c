"""The people who run hostile lessons: this user, and where the tests run as root, an ordinary user too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile import world

PROJECT = Path(__file__).resolve().parents[2]
NOBODY = 65534
PEOPLE = ("root", "nobody") if os.getuid() == 0 else ("user",)


class Person:
    """A runner of attacks with the rights of one user, started anew when an attack has ended it."""

    def __init__(self, name: str, work_dir: Path) -> None:
        self.name, self.work_dir = name, work_dir
        self.python = str(_installed(work_dir)) if name == "nobody" else sys.executable
        for folder in ("worlds", "temporary"):
            (work_dir / folder).mkdir()
            if name == "nobody":
                os.chown(work_dir / folder, NOBODY, NOBODY)
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if self.name == "nobody" else {}
        environment = {
            "PATH": os.environ["PATH"], "TMPDIR": str(self.work_dir / "temporary"), "SECRET": world.SECRET,
            "WORLDS": str(self.work_dir / "worlds"), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8",
        }  # fmt: skip
        return subprocess.Popen(
            [self.python, "-m", "tests.hostile.runner"], cwd=PROJECT, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, encoding="utf-8", **user,
        )  # fmt: skip

    def attempts(
        self, name: str, *, outer: str = "never", confined: bool = True, kept: bool = False
    ) -> dict[str, Any]:
        """What came of an attack: the message, and what it changed. Fails when the supervisor did not survive it.

        With `kept` the attack is the next one of many that one server forks.
        """
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps({"name": name, "outer": outer, "confined": confined, "kept": kept}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            code = self.process.wait()
            self.process = self._start()
            pytest.fail(f"the supervisor ended with exit code {code}")
        return dict(json.loads(answer))

    def end(self) -> None:
        """End the runner."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@pytest.fixture(scope="session", params=PEOPLE)
def person(request: pytest.FixtureRequest) -> Iterator[Person]:
    """Everybody who runs the corpus."""
    work_dir = Path(tempfile.mkdtemp(prefix="lessonpress-hostile-"))
    work_dir.chmod(0o755)
    someone = Person(request.param, work_dir)
    try:
        yield someone
    finally:
        someone.end()
        shutil.rmtree(work_dir)


def _installed(work_dir: Path) -> Path:
    """An interpreter that another user can run: this one, or where its folder is private, one with the same files."""
    python = work_dir / "python"
    (python / "bin").mkdir(parents=True)
    base = Path(sys.base_prefix)
    _copied(Path(os.path.realpath(sys.executable)), python / "bin" / "python3")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for library in (base / "lib").glob("libpython*"):
        _copied(library, python / "lib" / library.name)
    shutil.copytree(base / "lib" / version, python / "lib" / version, copy_function=_copied,
                    ignore=shutil.ignore_patterns("site-packages", "dist-packages", "test", "__pycache__"))  # fmt: skip
    environment = work_dir / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(python / "bin" / "python3")
    (environment / "pyvenv.cfg").write_text(f"home = {python / 'bin'}\n")
    packages = environment / "lib" / version / "site-packages"
    packages.parent.mkdir(parents=True)
    source = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    packages.symlink_to(source)
    return environment / "bin" / "python"


def _copied(source: str | Path, target: str | Path) -> str | Path:
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target, follow_symlinks=True)
    except OSError:
        shutil.copy(source, target)
    return target
