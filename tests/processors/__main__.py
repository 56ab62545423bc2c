"""`python -m tests.processors [--quick | --identities] [MODEL …]`: the table of what differs between processors.

Exit code 1 where an x86-64 processor gives another byte than this machine for what must be the same, or another
architecture differs by more than it may. `--quick` leaves out what takes longest: the trainings of lessons, and the
whole way of three lessons from source to identity; `--identities` is that way alone.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.processors import aarch64, probe, rig

EVERY = 4  # of the lessons, this one goes the whole way


def requests(*, trainings: bool) -> list[dict[str, Any]]:
    """What is asked of every processor, in parts."""
    asked = {slug: rig.lesson_request(folder) for slug, folder in rig.lessons().items()}
    trained = {slug: request for slug, request in asked.items() if request["plan"]["prepare"]}
    return [
        {"groups": list(probe.GROUPS), "lessons": asked},
        *([{"groups": [], "trainings": trained}] if trainings else []),
    ]


def collect(command: Sequence[str], asked: Sequence[Mapping[str, Any]], scratch: Path, **more: str) -> rig.Answers:
    """Everything that a processor answers."""
    found: rig.Answers = {}
    for request in asked:
        found |= rig.ask(command, request, scratch, **more)
    return found


def row(name: str, words: str, differences: Sequence[rig.Difference], compared: int, good: bool) -> Iterator[str]:
    """A processor's line of the table, and below it the names of what differs."""
    verdict = "the same bytes" if not differences else f"{len(differences)} differ"
    yield f"{name:15} {words:43} {compared:6} arrays  {verdict:15} {'good' if good else 'WRONG'}"
    for group, names in rig.operations(differences).items():
        yield f"    {group}: {', '.join(names)}"


def other_model(name: str, ours: rig.Answers, asked: Sequence[Mapping[str, Any]], scratch: Path) -> int:
    """A model of x86-64 beside this machine; how many faults."""
    begun = time.monotonic()
    theirs = collect(rig.started(name), asked, scratch)
    found = rig.compare(ours, theirs)
    good = all(one.group in rig.EXCUSED for one in found)
    print(*row(name, rig.MODELS[name], found, len(theirs), good), sep="\n")
    print(f"    {time.monotonic() - begun:.0f} s", flush=True)
    return int(not good)


def other_architecture(ours: rig.Answers, asked: Sequence[Mapping[str, Any]], scratch: Path) -> int:
    """The same on aarch64, where a folder for it was made; how many faults."""
    try:
        command = aarch64.started()
    except rig.NoEmulator as error:
        print(f"aarch64: skipped: {error}")
        return 0
    theirs = collect(command, asked[:1], scratch, **aarch64.ENVIRONMENT)
    found = [one for one in rig.compare(ours, theirs) if one.cells]  # the sign of a NaN is the architecture's
    good = all(rig.is_tolerated(one) or one.group in aarch64.EXCUSED for one in found)
    print(*row("aarch64", "ARM, 1e-12 (float64), 1e-5 (float32)", found, len(theirs), good), sep="\n", flush=True)
    return int(not good)


def whole_way(slug: str, model: str, scratch: Path) -> int:
    """A lesson from its source to its identity, on this machine and on a model; how many faults."""
    lesson = rig.lessons()[slug]
    ours, theirs = (rig.identity(name, lesson, scratch / f"{slug} {name}") for name in (rig.HERE, model))
    said = "the same as here" if ours == theirs else "ANOTHER than here"
    shown = "the published one" if theirs == rig.published(slug) else "not the published one"
    print(f"identity of {slug} on {model}: {said}, {shown}", flush=True)
    try:
        compared = aarch64.compare_bundle(scratch / f"{slug} {rig.HERE}" / "out")
    except rig.NoEmulator:
        return int(ours != theirs)
    print(f"    its bundle on aarch64: {compared}", flush=True)
    return int(ours != theirs) + int(" 0 out of tolerance" not in compared)


def table(models: Sequence[str], scratch: Path, *, trainings: bool) -> int:
    """Everything that is computed, on one processor after another; how many faults."""
    asked = requests(trainings=trainings)
    ours = collect(rig.started(rig.HERE), asked, scratch)
    print(f"{rig.HERE}: {len(ours)} arrays; compared with it, byte by byte:", flush=True)
    failed = sum(other_model(name, ours, asked, scratch) for name in models)
    return failed + other_architecture(ours, asked, scratch)


def main() -> int:
    """Print the table, and the identities of some lessons."""
    models = [word for word in sys.argv[1:] if not word.startswith("-")] or list(rig.MODELS)
    quick, alone = "--quick" in sys.argv[1:], "--identities" in sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="processors-") as folder:
        if not alone:
            failed += table(models, Path(folder), trainings=not quick)
        for n, slug in enumerate([] if quick else list(rig.lessons())[::EVERY]):
            failed += whole_way(slug, models[n % len(models)], Path(folder))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
