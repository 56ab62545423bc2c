"""Write pages about the modules, from their docstrings and types: `make api`."""

import importlib
import pkgutil
from pathlib import Path

import pdoc

import lessonpress

PROJECT = Path(__file__).resolve().parents[1]


def look_up_lazy_names() -> None:
    """Import what a package imports only at its first use: pdoc sees only what is imported already."""
    for module in pkgutil.walk_packages(lessonpress.__path__, "lessonpress."):
        if module.ispkg:
            package = importlib.import_module(module.name)
            for name in getattr(package, "__all__", ()):
                setattr(package, name, getattr(package, name))


if __name__ == "__main__":
    look_up_lazy_names()
    pdoc.pdoc("lessonpress", output_directory=PROJECT / "build" / "api")
