"""What the tests of published revisions share: the tiny lesson published in-process, and captures that are nudged."""

import base64
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lessonpress import config, execute, publish, site, verify
from lessonpress.settings import Config
from tests.workflow.conftest import TINY, House

Edit = Callable[[dict[str, Any]], dict[str, Any]]


def settings(house: House) -> Config:
    """The house's settings with absolute folders, so that no test needs another working directory."""
    folders = {name: str(house.folder / name) for name in ("lessons", "results", "work")}
    return config.read(house.folder / "config.yaml").model_copy(update=folders)


def publish_again(house: House, *, note: str | None = None) -> str:
    """Take the tiny lesson all the way in this process; answers what publish said."""
    verify.regenerate(settings(house), TINY)
    words = publish.publish(settings(house), TINY, note=note)
    site.site(settings(house))
    return words


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
    run = execute.run

    def edited(*given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        recorded, mutants = run(*given)
        return edit(recorded), mutants

    monkeypatch.setattr(execute, "run", edited)


def copied(folder: Path, to: Path) -> Path:
    """A copy of a folder, to be damaged."""
    shutil.copytree(folder, to)
    return to
