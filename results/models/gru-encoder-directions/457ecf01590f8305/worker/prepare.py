"""The program that makes a lesson's weights, by training say, and answers them; `server` runs it.

It has two arguments, the plan's file and the lesson's folder. The first two lines are written before any
lesson code runs, as by a run. Then come lines `{"progress": {…}}` while the lesson works, and at the end `{"ok": …}`
(see `training.train`) or `{"error": …}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import confine


def format_figures(figures: Mapping[str, int | float]) -> str:
    """A line of progress in words: `step 10 of 300, loss 0.4132`."""
    rest = dict(figures)
    head = [f"step {rest.pop('step')}" + (f" of {rest.pop('of')}" if "of" in rest else "")] if "step" in rest else []
    return ", ".join([*head, *(f"{name} {value:.4g}" for name, value in rest.items())])


def load() -> None:
    """Import torch and settle it."""
    from . import run

    run.settle()


def main() -> None:
    """Prepare the lesson that the request names."""
    channel = confine.begin()
    plan_file, folder = channel.arguments
    with open(plan_file, encoding="utf-8") as file:
        plan = json.load(file)
    from . import run, training

    channel.seal()
    channel.say(run.facts())
    try:
        kept = training.train(plan, folder, lambda figures: channel.say({"progress": figures}))
        answer: dict[str, Any] = {"ok": kept}
    except run.Failed as error:
        answer = {"error": error.record}
    channel.say(answer)
    channel.end()
