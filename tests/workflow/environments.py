"""Environments of Python that hold some packages and what these need, made of this environment's own files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(sysconfig.get_path("purelib"))
HEADERS = shutil.ignore_patterns("include")  # of torch: thousands of files that nothing here compiles with


def make(folder: Path, wanted: Iterable[str]) -> Path:
    """A new environment with the packages that requirements name and with all that these require; answers its Python.

    Nothing is fetched. Raises PackageNotFoundError where something that is required is not installed here.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=300)
    [packages] = folder.glob("lib/python*/site-packages")
    for name in sorted({part for one in list_required(wanted) for part in _list_tops(one)}):
        if (HERE / name).is_dir():
            shutil.copytree(HERE / name, packages / name, copy_function=_link, ignore=HEADERS, dirs_exist_ok=True)
        else:
            _link(HERE / name, packages / name)
    return folder / "bin" / "python"


def list_required(wanted: Iterable[str]) -> list[metadata.Distribution]:
    """The installed packages that requirements name, at the versions that these ask for, and all that they require."""
    found: dict[str, metadata.Distribution] = {}
    left = [Requirement(text) for text in wanted]
    while left:
        asked = left.pop()
        name = canonicalize_name(asked.name)
        one = found.setdefault(name, metadata.distribution(name))
        assert asked.specifier.contains(one.version.partition("+")[0], prereleases=True), (str(asked), one.version)
        further = [Requirement(text) for text in one.requires or ()]
        extras = [{"extra": extra} for extra in (*asked.extras, "")]
        left += [each for each in further if canonicalize_name(each.name) not in found
                 and (each.marker is None or any(each.marker.evaluate(extra) for extra in extras))]  # fmt: skip
    return list(found.values())


def _list_tops(one: metadata.Distribution) -> set[str]:
    """What of a package lies beside the others: its folders and files at the top."""
    tops = {path.parts[0] for path in one.files or ()} - {"..", "__pycache__"}
    return {name for name in tops if (HERE / name).exists()}


def _link(source: str | Path, to: str | Path) -> None:
    """Give a file a second name, or copy it where that cannot be."""
    try:
        os.link(source, to)
    except OSError:
        shutil.copy2(source, to)
