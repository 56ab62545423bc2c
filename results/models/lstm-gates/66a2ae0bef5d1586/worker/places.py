"""Where in the lesson's own files something was written, by line and column."""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, FrameType, TracebackType

from .records import Place

COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})  # parts of the line they stand in


class Places:
    """Finds the innermost frame of the lesson's own code; answers are cached by instruction."""

    def __init__(self, folder: str) -> None:
        self.prefix = os.path.join(os.path.realpath(folder), "")
        self.ours = os.path.join(os.path.dirname(os.path.realpath(__file__)), "")  # may lie in a lesson's folder
        self.files: dict[CodeType, str | None] = {}
        self.known: dict[tuple[CodeType, int], Place | None] = {}

    def file_of(self, code: CodeType) -> str | None:
        """The lesson-relative name of the file in which a code object stands, or None."""
        if code not in self.files:
            name = code.co_filename
            own = name.startswith(self.prefix) and not name.startswith(self.ours)
            self.files[code] = name[len(self.prefix) :].replace(os.sep, "/") if own else None
        return self.files[code]

    def find_frame(self, depth: int = 1) -> FrameType | None:
        """The innermost frame of the lesson's own functions, seen from `depth` frames up."""
        frame: FrameType | None = sys._getframe(depth)
        while frame is not None and (self.file_of(frame.f_code) is None or frame.f_code.co_name in COMPREHENSIONS):
            frame = frame.f_back
        return frame

    def here(self, depth: int = 1) -> Place | None:
        """The place of the innermost lesson frame, seen from `depth` frames up."""
        frame: FrameType | None = sys._getframe(depth)
        while frame is not None:
            if self.file_of(frame.f_code) is not None:
                return self.at(frame.f_code, frame.f_lasti)
            frame = frame.f_back
        return None

    def declared(self, module: object, depth: int = 1) -> Place | None:
        """The place where a module under construction was asked for: the first lesson frame outside its own methods."""
        frame: FrameType | None = sys._getframe(depth)
        while frame is not None:
            code = frame.f_code
            if self.file_of(code) is not None and not _method_of(module, frame):
                return self.at(code, frame.f_lasti)
            frame = frame.f_back
        return None

    def at(self, code: CodeType, lasti: int) -> Place | None:
        """The place of one instruction: lines and columns from 1, the end column exclusive."""
        key = (code, lasti)
        if key not in self.known:
            positions = list(code.co_positions())
            line, end_line, column, end_column = positions[lasti // 2] if lasti >= 0 else (None,) * 4
            self.known[key] = None if line is None else {
                "file": self.file_of(code) or "", "line": line, "endLine": end_line or line,
                "column": _column(code, line, column), "endColumn": _column(code, end_line or line, end_column),
            }  # fmt: skip
        return self.known[key]

    def of_traceback(self, traceback: TracebackType | None) -> Place | None:
        """The innermost lesson place of an exception."""
        place = None
        while traceback is not None:
            if self.file_of(traceback.tb_frame.f_code) is not None:
                place = self.at(traceback.tb_frame.f_code, traceback.tb_lasti)
                if place is not None and place["line"] != traceback.tb_lineno:
                    place = {**place, "line": traceback.tb_lineno, "endLine": traceback.tb_lineno}
            traceback = traceback.tb_next
        return place


def _method_of(module: object, frame: FrameType) -> bool:
    """Whether a frame runs a method of the module itself."""
    code = frame.f_code
    return bool(code.co_argcount) and frame.f_locals.get(code.co_varnames[0]) is module


def _column(code: CodeType, line: int, offset: int | None) -> int:
    """A column from 1, in characters; Python counts bytes from 0."""
    text = linecache.getline(code.co_filename, line).encode()
    return len(text[: offset or 0].decode(errors="replace")) + 1 if not text.isascii() else (offset or 0) + 1
