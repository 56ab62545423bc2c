"""lessonpress turns a small PyTorch model and a page of prose into a published, verifiable lesson."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lessonpress.notebook import trace as trace

__version__ = "0.2.0"


def __getattr__(name: str) -> object:
    """What a notebook asks for, imported with torch only then; and the earlier names of two modules.

    Snakefiles and scripts of existing repositories depend on the latter.
    """
    if name == "trace":
        from lessonpress.notebook import trace

        return trace
    if name == "shipped":
        from lessonpress.core import packaged_files

        return packaged_files
    if name == "config":
        from lessonpress.core import config

        return config
    raise AttributeError(f"module 'lessonpress' has no attribute {name!r}")
