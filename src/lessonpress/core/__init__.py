"""Ground work that knows nothing of lessons: errors, settings, JSON, files, YAML with lines, locks, git."""

from __future__ import annotations


def __getattr__(name: str) -> object:
    """The earlier name of a module, which the Snakefiles of repositories that 0.1.0 began import."""
    if name == "resources":
        from lessonpress.core import packaged_files

        return packaged_files
    raise AttributeError(f"module 'lessonpress.core' has no attribute {name!r}")
