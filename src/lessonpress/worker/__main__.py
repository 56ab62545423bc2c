"""`python -m lessonpress.worker PLAN FOLDER MUTANTS FD`: runs a plan, answers lines of JSON on the descriptor.

The first two lines are written before any lesson code runs: the confinement, and facts about the process; a lesson
cannot forge them. The third is the answer, `{"ok": …, "mutants": {…}}` or `{"error": …}`.
MUTANTS is a folder with a whole lesson for every broken variant of the plan, each with one place changed.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from . import confine


def main() -> None:
    """Run the plan that the command line names."""
    plan_file, folder, mutants, descriptor = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    channel = confine.begin(descriptor)
    with open(plan_file, encoding="utf-8") as file:
        plan = json.load(file)
    from . import run

    run.settle()
    channel.seal()
    channel.say(run.facts())
    try:
        answer: dict[str, Any] = {"ok": run.whole(plan, folder), "mutants": run.variants(plan, mutants)}
    except run.Failed as error:
        answer = {"error": error.told}
    channel.say(answer)
    channel.end()


if __name__ == "__main__":
    main()
