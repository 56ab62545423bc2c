"""How far a training has come, as a person reads it: a line that is rewritten, or lines now and then."""

import io
import json
import sys
from typing import Any

import pytest

from lessonpress.authoring import training_progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def show_lines(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *lines: Any) -> str:
    """What a stream shows after the worker has written some lines."""
    monkeypatch.setattr(sys, "stderr", stream)
    with training_progress.ProgressLine("tiny") as line:
        for one in lines:
            line.show(one if isinstance(one, bytes) else json.dumps(one, separators=(",", ":")).encode())
    return stream.getvalue()


def test_on_a_terminal_one_line_is_rewritten_and_then_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line begins where the last one began and erases it; it is never longer than the terminal is wide."""
    monkeypatch.setenv("COLUMNS", "30")
    text = show_lines(monkeypatch, Terminal(), *({"progress": {"step": n, "of": 9, "loss": 0.5}} for n in (1, 2)))
    parts = text.split("\r\x1b[K")
    assert parts[0] == parts[-1] == ""
    assert [part[:14] for part in parts[1:-1]] == ["tiny: step 1 o", "tiny: step 2 o"]
    assert max(map(len, parts)) <= 29
    assert "\n" not in text


def test_elsewhere_lines_come_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only after a pause since the last one, as whole lines without control characters."""
    lines = [{"progress": {"step": n}} for n in range(3)]
    assert show_lines(monkeypatch, io.StringIO(), *lines) == ""
    monkeypatch.setattr(training_progress, "PAUSE", 0.0)
    text = show_lines(monkeypatch, io.StringIO(), *lines)
    assert text.splitlines() == [f"tiny: step {n}, 0 s" for n in range(3)]


@pytest.mark.parametrize("line", [
    b"", b"nonsense", b'{"ok":{}}', b'{"progress"', b'{"progress":3}', b'{"progress":{"a":NaN}}',
    b'{"progress":{"\\u001b[2J":1}}', b'{"progress":{"a":"b"}}', b'{"progress":{"a":1},"progress":{}}',
])  # fmt: skip
def test_what_is_not_progress_is_not_shown(monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    """The worker shares its process with the lesson: nothing that it says reaches a terminal unread."""
    assert show_lines(monkeypatch, Terminal(), line) == "\r\x1b[K"
