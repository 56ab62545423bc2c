"""lessonpress turns a small PyTorch model and a page of prose into a published, verifiable lesson."""

__version__ = "0.2.0"


def __getattr__(name: str) -> object:
    """The earlier names of two modules, on which Snakefiles and scripts of existing repositories depend."""
    if name == "shipped":
        from lessonpress.core import packaged_files

        return packaged_files
    if name == "config":
        from lessonpress.core import config

        return config
    raise AttributeError(f"module 'lessonpress' has no attribute {name!r}")
