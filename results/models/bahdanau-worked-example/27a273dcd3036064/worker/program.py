"""The program that runs a lesson: reads its plan, carries it out, answers lines of JSON; `server` runs it.

It has three arguments: the plan's file, the lesson's folder, and MUTANTS, a folder with a whole lesson for
every broken variant of the plan, each with one place changed.

The first two lines are written before any lesson code runs: the confinement, and facts about the process; a lesson
cannot forge them. The third is the answer, `{"ok": …}` or `{"error": …}`; after the former comes a line with what the
variants recorded, by id. With one argument, a bundle's folder, it repeats that bundle instead: see `rehearsal`. With
two, a plan and a folder, it keeps of the plan's only run no more than a picture needs: see `outline`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
from typing import Any

from . import confine


def load() -> None:
    """Import torch and settle it: what every lesson needs, and no lesson changes."""
    from . import rehearsal, run  # noqa: F401  # the former for the request that comes after the run

    for name in ("numpy.random", "safetensors.torch"):  # what a run, or a reader's run.py, asks for only later
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    run.settle()


def main() -> None:
    """Run the plan that the request names."""
    channel = confine.begin()
    if len(channel.arguments) == 1:
        from . import rehearsal

        rehearsal.rehearse(channel)
    plan_file, folder, *mutants = channel.arguments
    with open(plan_file, encoding="utf-8") as file:
        plan = json.load(file)
    from . import run

    channel.seal()
    channel.say(run.facts())
    try:
        answers: list[Any]
        if mutants:
            answers = [{"ok": run.run_plan(plan, folder)}, run.run_variants(plan, mutants[0])]
        else:
            from . import outline

            answers = [{"ok": outline.outline_plan(plan, folder)}]
    except run.Failed as error:
        answers = [{"error": error.record}]
    for answer in answers:
        channel.say(answer)
    channel.end()
