"""What the tests of published revisions share: the tiny lesson published in-process, and captures that are nudged."""

import base64
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lessonpress.build import execute, rehearse
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.publishing import publish, site, verify
from tests.workflow.conftest import TINY, House

Edit = Callable[[dict[str, Any]], dict[str, Any]]


def regenerated(house: House) -> LessonBuild:
    """Take the tiny lesson from its source to its rendering in this process, from nothing."""
    return verify.regenerate(house.settings, TINY)


def publish_again(house: House, *, note: str | None = None) -> str:
    """Take the tiny lesson all the way in this process; answers what publish said."""
    done = publish.publish(regenerated(house), note=note)
    assert not done.mistakes
    site.write_site(house.settings)
    return str(done.words)


def nudged(capture: dict[str, Any], factor: float) -> dict[str, Any]:
    """A capture in which every float64 number of the cases and probes is multiplied by 1 + factor."""
    blobs: dict[str, str] = {}
    for run in capture["runs"].values():
        for value in run["values"]:
            data = base64.b64decode(capture["blobs"][value["blob"]])
            if value["dtype"] == "float64" and run["kind"] != "execution":
                data = (np.frombuffer(data, "<f8") * (1 + factor)).tobytes()
            value["blob"] = hashlib.sha256(data).hexdigest()
            blobs[value["blob"]] = base64.b64encode(data).decode()
    return {**capture, "blobs": blobs}


def edit_capture(monkeypatch: pytest.MonkeyPatch, edit: Edit) -> None:
    """Let every run of a lesson in this process give an edited capture."""
    run = execute.run_lesson

    def edited(*given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        recorded, mutants = run(*given)
        return edit(recorded), mutants

    monkeypatch.setattr(execute, "run_lesson", edited)
    monkeypatch.setattr(rehearse, "rehearse_bundle", lambda work: None)  # no bundle gives these numbers again


def copied(folder: Path, to: Path) -> Path:
    """A copy of a folder, to be damaged."""
    shutil.copytree(folder, to)
    return to
