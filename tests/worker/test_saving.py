"""What a live preview does after a save: only what follows from it, by the processes that it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from lessonpress import sandbox
from lessonpress.authoring import live_preview
from lessonpress.build import check, execute
from lessonpress.core.settings import Config
from tests import tiny


def test_a_save_does_only_what_follows_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words run no model and no check; a model is run once more, by the server that has torch loaded already."""
    tiny.repository(tmp_path)
    folder = tmp_path / "lessons" / tiny.SLUG
    live = live_preview.Live(tmp_path / "out")
    maker = live_preview.Maker(folder, live, tmp_path / "work", Config)
    done: list[str] = []
    for module, name in ((execute, "run_lesson"), (check, "judge_checks")):
        native = getattr(module, name)

        def note(*args: object, native=native, name=name) -> object:  # type: ignore[no-untyped-def]
            done.append(name)
            return native(*args)

        monkeypatch.setattr(module, name, note)

    def server() -> int:
        assert sandbox._kept
        return sandbox._kept.servers[sandbox.MODEL].process.pid

    with sandbox.keep_servers():
        assert maker.make()[0] == ""
        assert done == ["run_lesson", "judge_checks"]
        first = server()
        tiny.edit(folder / "lesson.yaml", "question: Does every", "question: Will every")
        assert maker.make()[0] == ""
        assert "Will every" in (live.folder / "index.html").read_text("utf-8")
        assert done == ["run_lesson", "judge_checks"]
        (folder / "model.py").write_text((folder / "model.py").read_text("utf-8") + "# one more line\n", "utf-8")
        assert maker.make()[0] == ""
        assert done == ["run_lesson", "judge_checks"] * 2
        assert server() == first
        tiny.edit(folder / "lesson.yaml", "question: Will every", "qestion: Will every")
        assert "qestion: unknown key" in maker.make()[0]


def test_a_failure_of_ours_does_not_end_the_preview(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands in the page, and the next save is followed."""
    maker = live_preview.Maker(tiny.write(tmp_path / "echo"), live_preview.Live(tmp_path / "out"), tmp_path, Config)
    monkeypatch.setattr(live_preview.preview, "build_preview", lambda *_: 1 / 0)
    message, printed = maker.make()
    assert message == "lessonpress itself failed: ZeroDivisionError: division by zero"
    assert "Traceback" in printed[0]
