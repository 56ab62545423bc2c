"""Verb check: run the lesson's numerical checks on the capture and write down the verdicts (checks.json)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lessonpress import canon, judging, lesson
from lessonpress.settings import Config


def check(config: Config, slug: str) -> None:
    """Write `work/<slug>/checks.json`. A failing check is a verdict, not an error: publish is the gate."""
    read = lesson.reopened(config.lesson(slug), canon.read(config.room(slug) / "source.json"))
    captured = canon.read(config.room(slug) / "capture.json")
    found = judging.checks(config, read, captured) if read.recipe.checks else []
    canon.write(config.room(slug) / "checks.json", canon.pretty([verdict(entry) for entry in found]))


def verdict(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A check's evidence with its verdict: it passes when `measured sense bound`; its margin is their distance."""
    measured, bound = float(str(entry["measured"])), float(str(entry["bound"]))
    passed = measured <= bound if entry["sense"] == "<=" else measured >= bound
    margin = bound - measured if entry["sense"] == "<=" else measured - bound
    return {
        "id": entry["id"], "sentence": entry["sentence"], "passed": passed, "measured": entry["measured"],
        "bound": entry["bound"], "sense": entry["sense"], "margin": _plain(margin), "line": entry["line"],
    }  # fmt: skip


def _plain(value: float) -> float | str:
    if value != value:
        return "NaN"
    return value if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"
