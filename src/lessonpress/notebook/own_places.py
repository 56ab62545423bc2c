"""Which code of a process is somebody's own, and how its files are called."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from types import CodeType, FrameType

from lessonpress.worker.places import Places
from lessonpress.worker.records import Place

CELL = "cell"  # what is no file: code that was typed
TYPED = ("<stdin>", "<ipython-input", "<python-input")  # other names in angles are code that a library wrote


class OwnPlaces(Places):
    """Places in all code but Python's own library, torch and lessonpress: a model library's lines are of interest, too.

    A file below the working folder is called by its path from there, one of an installed package by its path in the
    installation; code of a notebook's cell, or typed at a prompt, is `cell`.
    """

    def __init__(self, boundary: CodeType) -> None:
        super().__init__(os.getcwd())
        known = sysconfig.get_paths()
        self.boundary = boundary  # whoever called this code is no part of the model
        self.installed = [_as_folder(known[key]) for key in ("purelib", "platlib")]
        torch_folders = [os.path.join(folder, "torch", "") for folder in self.installed]
        self.foreign = [*torch_folders, _as_folder(os.path.dirname(os.path.dirname(__file__)))]
        self.standard = [_as_folder(known[key]) for key in ("stdlib", "platstdlib")]
        self.paths: dict[str, str] = {}  # of the files that were named, by their names

    def file_of(self, code: CodeType) -> str | None:
        """The name of the file in which a code object stands; None for code that is nobody's own."""
        if code not in self.files:
            self.files[code] = self._name_file(code.co_filename)
        return self.files[code]

    def _name_file(self, path: str) -> str | None:
        if path.startswith("<"):
            return CELL if path.startswith(TYPED) else None
        if any(path.startswith(folder) for folder in self.foreign):
            return None
        for folder in self.installed:
            if path.startswith(folder):
                return self._remember(path[len(folder) :], path)
        if any(path.startswith(folder) for folder in self.standard):
            return None
        if not os.path.isfile(path):
            return CELL
        return self._remember(path[len(self.prefix) :] if path.startswith(self.prefix) else path, path)

    def _remember(self, name: str, path: str) -> str:
        self.paths[name.replace(os.sep, "/")] = path
        return name.replace(os.sep, "/")

    def here(self, depth: int = 1) -> Place | None:
        """The place of the innermost own frame, from `depth` frames up to where the model was called."""
        frame: FrameType | None = sys._getframe(depth)
        while frame is not None and frame.f_code is not self.boundary:
            if self.file_of(frame.f_code) is not None:
                return self.at(frame.f_code, frame.f_lasti)
            frame = frame.f_back
        return None

    def read_sources(self) -> dict[str, str]:
        """The texts of the files in the working folder to which places lead, by name."""
        own = {name: path for name, path in sorted(self.paths.items()) if path.startswith(self.prefix)}
        return {name: "".join(linecache.getlines(path)) for name, path in own.items()}


def _as_folder(path: str) -> str:
    return os.path.join(os.path.realpath(path), "")
