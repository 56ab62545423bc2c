"""Python with torch for aarch64 in a folder of its own, and how it is started on this machine."""

from __future__ import annotations

from tests.processors import rig

ROOT = rig.PROJECT / "build" / "aarch64"  # scripts/aarch64_root.sh makes it
EXCUSED = ("LAPACK", "training", "lesson training")
ENVIRONMENT = {"OPENBLAS_CORETYPE": ""}


def started() -> list[str]:
    """How Python is started there. Raises rig.NoEmulator where emulator or folder are missing."""
    python = ROOT / "usr" / "bin" / "python3.11"
    if not python.exists():
        raise rig.NoEmulator(f"{ROOT.relative_to(rig.PROJECT)} is not there; scripts/aarch64_root.sh makes it")
    return [rig.emulator("aarch64"), "-L", str(ROOT), str(python)]
