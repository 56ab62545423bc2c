"""verify.py vouches only for what it checked: whatever else lies in a folder is named, and neither imported nor run."""

from __future__ import annotations

import importlib.util
import json
import marshal
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import tiny

pytestmark = pytest.mark.slow  # commands, each in a process of its own

TRACE = "import pathlib; pathlib.Path({!r}).touch()\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Give the files of one published revision."""
    config = tiny.at(tmp_path_factory.mktemp("house"))
    tiny.published(config, "One")
    [folder] = [path.parent for path in Path(config.results).glob("models/*/*/identity.json")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(files: dict[str, bytes], tmp_path: Path) -> Path:
    """One published revision's folder."""
    for name, data in files.items():
        (tmp_path / "revision" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "revision" / name).write_bytes(data)
    return tmp_path / "revision"


def verify(folder: Path, *arguments: str, python: tuple[str, ...] = (sys.executable,)) -> tuple[int, str]:
    """Run verify.py as a reader does, and answer its exit code and what it says."""
    done = subprocess.run([*python, "verify.py", *arguments], cwd=folder, capture_output=True, text=True, timeout=60,
                          check=False)  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def test_a_whole_folder_is_vouched_for(folder: Path) -> None:
    """The positive control of all that follows."""
    code, said = verify(folder, "--digests")
    assert (code, "every file is the published one" in said) == (0, True), said


@pytest.mark.parametrize("name", ["hashlib.py", "json.py", "subprocess.py", "zipfile.py", "pathlib/__init__.py"])
def test_a_planted_module_of_the_standard_library_is_named_and_not_imported(folder: Path, name: str) -> None:
    """Python looks beside a script first: what verify.py itself imports must not come from there."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(TRACE.format(str(folder.parent / "ran")), encoding="utf-8")
    code, said = verify(folder, "--digests")
    assert code == 1
    assert f"{name}: no file of this revision" in said
    assert not (folder.parent / "ran").exists()


def plant_bytecode(folder: Path, source: str) -> Path:
    """Put bytecode beside a file that Python would run in its place, and answer what tells that it ran."""
    ran, path = folder.parent / "ran", folder / source
    code = compile(TRACE.format(str(ran)), str(path), "exec")
    cache = Path(importlib.util.cache_from_source(str(path)))
    cache.parent.mkdir(exist_ok=True)
    # Unchecked and hashed (PEP 552): Python does not even look at the source.
    cache.write_bytes(importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code))
    return ran


def test_planted_bytecode_would_run_by_itself(folder: Path) -> None:
    """The attack works where nobody prevents it: the positive control of the next test."""
    ran = plant_bytecode(folder, "model.py")
    subprocess.run([sys.executable, "-c", "import model"], cwd=folder, check=False, env={}, timeout=60)
    assert ran.exists()


@pytest.mark.parametrize("script", [("verify.py", "--digests"), pytest.param(("run.py",), marks=pytest.mark.workflow)])
def test_planted_bytecode_does_not_run(folder: Path, script: tuple[str, ...]) -> None:
    """Neither verify.py nor run.py, however it ends here, reads bytecode that lies in the folder."""
    ran = plant_bytecode(folder, "model.py")
    for module in ("compare.py", "verify.py", "worker/trace.py", "worker/recorded.py"):
        plant_bytecode(folder, module)
    done = subprocess.run([sys.executable, *script], cwd=folder, capture_output=True, text=True, check=False)
    assert not ran.exists()
    if script[0] == "verify.py":
        assert done.returncode == 0
        assert "__pycache__: not of this revision, not checked and not used" in done.stdout
        assert "worker/__pycache__: not of this revision" in done.stdout


PLANTED: dict[str, Callable[[Path], object]] = {
    ".vscode/launch.json": lambda path: path.write_text("{}"),
    "worker/.hidden": lambda path: path.write_text("x"),
    "sub/.venv/x.py": lambda path: path.write_text("x"),
    "helpers": lambda path: path.symlink_to("/usr/lib"),
    "nowhere": lambda path: path.symlink_to("nowhere"),
    "model.pyc": lambda path: path.write_bytes(b"x"),
    "sitecustomize.py": lambda path: path.write_text("x"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_whatever_is_not_listed_is_named(folder: Path, name: str) -> None:
    """Files, hidden ones, links to folders (which Python would import from) and to nowhere."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    PLANTED[name](folder / name)
    code, said = verify(folder, "--digests")
    assert code == 1
    assert f"{name}: no file of this revision" in said


def test_a_link_is_not_the_published_file(folder: Path) -> None:
    """What it leads to can be another file a moment later."""
    (folder / "model.py").rename(folder.parent / "model.py")
    (folder / "model.py").symlink_to("../model.py")
    code, said = verify(folder, "--digests")
    assert (code, "model.py: a link" in said) == (1, True)


def test_an_environment_of_the_readers_is_named_and_not_used(folder: Path) -> None:
    """The packages of a .venv in the folder are not those that were checked: another Python does not use them."""
    packages = folder / ".venv" / "lib" / "python3" / "site-packages" / "torch"
    packages.mkdir(parents=True)
    (packages / "__init__.py").write_text(TRACE.format(str(folder.parent / "ran")))
    code, said = verify(folder, "--digests")
    assert (code, ".venv: not of this revision, not checked and not used" in said) == (0, True)
    assert not (folder.parent / "ran").exists()


def test_a_bundle_that_holds_something_else_is_found(folder: Path) -> None:
    """The zip beside the files is not in the list of digests, but it must hold just what that lists."""
    with zipfile.ZipFile(folder / "bundle.zip", "a") as archive:
        archive.writestr(f"{archive.namelist()[0].split('/')[0]}/sitecustomize.py", "x")
    code, said = verify(folder, "--digests")
    assert (code, "bundle.zip: it does not hold the files of this revision" in said) == (1, True)
    (folder / "bundle.zip").write_bytes(b"no zip")
    assert verify(folder, "--digests")[0] == 1


def test_the_tasks_of_the_editor_start_isolated(files: dict[str, bytes]) -> None:
    """No task imports from the folder that it works in, and verification uses no environment that came along."""
    tasks = {task["label"]: task for task in json.loads(files[".vscode/tasks.json"])["tasks"]}
    assert tasks["Lesson: verify the files"]["command"] == "python3"
    for task in tasks.values():
        words = " ".join([task["command"], *task.get("args", [])])
        if "python" in words:
            assert re.findall(r"python3?(?= )", words) == re.findall(r"python3?(?= -I )", words), words


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is not installed")
def test_a_signature_is_held_against_who_may_sign(folder: Path, tmp_path: Path) -> None:
    """One by a known key passes; none, one of another file, and one by a stranger's key do not."""
    for name in ("known", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    signers = tmp_path / "signers"
    signers.write_text(f'curator@example.org namespaces="lessonpress-revision" {(tmp_path / "known.pub").read_text()}')

    def sign(key: str, file: Path) -> Path:
        shutil.copy(file, tmp_path / "signed")
        (tmp_path / "signed.sig").unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", str(tmp_path / key), "-n", "lessonpress-revision",
                        str(tmp_path / "signed")], check=True, capture_output=True)  # fmt: skip
        return tmp_path / "signed.sig"

    asked = ("--digests", "--signers", str(signers))
    assert verify(folder, *asked)[0] == 1
    good = sign("known", folder / "identity.json")
    code, said = verify(folder, *asked, "--signature", str(good))
    assert (code, "signed by curator@example.org" in said) == (0, True), said
    for key, file in (("stranger", "identity.json"), ("known", "manifest.json")):
        code, said = verify(folder, *asked, "--signature", str(sign(key, folder / file)))
        assert (code, "no signature of this identity.json" in said) == (1, True), said
