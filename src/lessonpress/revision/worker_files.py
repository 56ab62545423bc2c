"""The worker's own source, which is shipped with every revision."""

from __future__ import annotations

from pathlib import Path

from lessonpress import worker

WORKER = Path(__file__).parents[1] / "worker"


def collect_worker_files() -> dict[str, bytes]:
    """The worker's own source, which `run.py --compare` runs again."""
    return {f"worker/{path.name}": path.read_bytes() for path in sorted(WORKER.glob("*.py"))
            if path.name not in worker.NOT_SHIPPED}  # fmt: skip
