"""Python with torch for aarch64 in a folder of its own, and how it is started on this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from lessonpress.sandbox import SETTINGS
from tests.processors import rig

ROOT = rig.PROJECT / "build" / "aarch64"  # scripts/aarch64_root.sh makes it
MODEL = "neoverse-n1"  # the script's /proc/cpuinfo names it too
# Other libraries decompose matrices there; training repeats rounding errors until they are large.
EXCUSED = ("LAPACK", "training", "lesson training")
SITE = os.pathsep.join(str(path) for path in (ROOT / "site", rig.PROJECT / "src", rig.PROJECT))
ENVIRONMENT = {"PYTHONPATH": SITE, "LD_LIBRARY_PATH": str(ROOT / "stubs")}


def started() -> list[str]:
    """How Python is started there. Raises rig.NoEmulator where emulator or folder are missing."""
    python = ROOT / "usr" / "bin" / "python3.11"
    if not python.exists():
        raise rig.NoEmulator(f"{ROOT.relative_to(rig.PROJECT)} is not there; scripts/aarch64_root.sh makes it")
    return [rig.emulator("aarch64"), "-cpu", MODEL, "-L", str(ROOT), str(python)]


def compare_bundle(folder: Path) -> str:
    """What `run.py --compare` of a revision says there of all its numbers together. Raises rig.NoEmulator.

    It is started under the settings of the record, because it could not start itself again: that would not be emulated.
    """
    done = subprocess.run([*started(), "run.py", "--compare"], cwd=folder, env={**SETTINGS, **ENVIRONMENT},
                          capture_output=True, text=True, check=False)  # fmt: skip
    [said] = [line for line in done.stdout.splitlines() if line.startswith("In all:")] or [done.stderr[-2000:]]
    return said
