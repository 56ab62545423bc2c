"""Repeats a bundle as its reader will: its own `run.py --compare` runs, in a process that is another one.

`program` comes here when it is asked for a bundle's folder alone. Torch is loaded and settled already, so what a reader
waits for is not done again: the modules of the bundle's folder `worker/` are taken for those that are loaded where they
are the same bytes. The answer is `{"ended", "error", "results", "drawn", "asked"}`: how run.py ended, of every call of
every run a digest of what it gave, digests of the weights that the seed draws, and which calls asked for a clock or an
address.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import runpy
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from . import (
    NOT_SHIPPED,
    confine,
    elsewhere,
    inputs,
    judge,
    load,
    modules,
    portable,
    prepare,
    recorded,
    run,
    stored,
    training,
    values,
)
from .places import Places
from .records import Plan, Recorded, Rehearsed

OWN = Path(__file__).parent
BUNDLED = "lesson_worker"  # what compare.py calls the package of the bundle's `worker/`
LOADED = (run, recorded, judge, prepare, training)  # what compare.py asks for; each has loaded all that it needs


def rehearse(channel: confine.Channel) -> None:
    """Seal the process, repeat the bundle in the folder that the request names, and answer."""
    [folder] = channel.arguments
    channel.seal()
    noted = elsewhere.move(folder, lambda size: torch.empty(size, dtype=torch.uint8))
    plan: Plan = json.loads(Path(folder, "plan.json").read_text(encoding="utf-8"))
    results: dict[str, list[str]] = {}
    kinds: list[type[torch.nn.Module]] = []
    with contextlib.suppress(Exception):  # what cannot be imported cannot be for run.py either, which says so
        runs, loads = take_worker(folder)
        runs.run_plan, loads.import_class = _watched(runs, results), _kept(loads.import_class, kinds)
    ended, error = _run_script(folder)
    drawn = draw_weights(plan, kinds[0]) if kinds and not (error or ended) else {}
    asked = noted.listed()
    answer: Rehearsed = {"ended": ended, "error": error, "results": results, "drawn": drawn, "asked": asked}
    channel.say(answer)
    channel.end()


def take_worker(folder: str) -> tuple[Any, Any]:
    """The modules `run` and `load` that compare.py will find.

    Those of this process are taken for the bundle's where all files of its `worker/` are the same bytes.
    """
    shipped = {path.name: path.read_bytes() for path in Path(folder, "worker").iterdir()}
    if shipped != {path.name: path.read_bytes() for path in OWN.glob("*.py") if path.name not in NOT_SHIPPED}:
        file = os.path.join(folder, "worker", "__init__.py")
        spec = importlib.util.spec_from_file_location(BUNDLED, file, submodule_search_locations=[
            os.path.dirname(file)])  # fmt: skip
        assert spec
        sys.modules[BUNDLED] = importlib.util.module_from_spec(spec)
        run_module, load_module = (importlib.import_module(f"{BUNDLED}.{name}") for name in ("run", "load"))
        return run_module, load_module
    for name, module in list(sys.modules.items()):
        home, _, last = name.rpartition(".")
        if home == __package__ and f"{last}.py" in shipped:
            sys.modules[f"{BUNDLED}.{last}"] = module
    return run, load


def _watched(runs: Any, results: dict[str, list[str]]) -> Any:
    """`run_plan`, of whose runs the results are digested. Not the one by torch's own initialisers: it only informs."""
    native = runs.run_plan

    def run_plan(*given: Any, **named: Any) -> Recorded:
        if named.get("native"):
            raise runs.Failed({"stage": "build", "run": None, "type": "Refused", "message": "left out", "place": None,
                               "expected": "", "code": None, "context": None})  # fmt: skip
        made: Recorded = native(*given, **named)
        results.update(recorded.digest_results(made))
        return made

    return run_plan


def _kept(native: Any, kinds: list[type[torch.nn.Module]]) -> Any:
    """`import_class`, whose results are kept: the lesson's files need not be imported once more."""
    def import_class(*given: Any) -> type[torch.nn.Module]:
        kinds.append(native(*given))
        return kinds[-1]

    return import_class


def _run_script(folder: str) -> tuple[int, Any]:
    """Run `run.py --compare` as Python runs a file; its exit code, and the exception that it ended with, as data."""
    script = os.path.join(folder, "run.py")
    os.chdir(folder)
    sys.argv = [script, "--compare"]
    sys.path.insert(0, folder)
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as error:
        return (error.code if isinstance(error.code, int) else int(error.code is not None)), None
    except BaseException as error:
        traceback.print_exc()
        return 1, load.describe_error(error, "call", Places(folder), None)
    return 0, None


def draw_weights(plan: Plan, kind: type[torch.nn.Module]) -> dict[str, dict[str, str]]:
    """By run, digests of the weights that its seed draws: stored ones hide what a constructor takes from a clock."""
    drawn: dict[str, dict[str, str]] = {}
    made: dict[str, dict[str, str]] = {}
    for one in plan["runs"]:
        if one["weights"]:
            continue
        alike = json.dumps([one["seed"], one["args"]], sort_keys=True)
        if alike not in made:
            with portable.installed():
                run.seed(one["seed"])
                made[alike] = _digest_weights(kind(**inputs.from_json(one["args"])))
        drawn[one["id"]] = {name: sha for name, sha in made[alike].items() if name not in one["parameters"]}
    return drawn


def _digest_weights(model: torch.nn.Module) -> dict[str, str]:
    mapped = modules.ModelMap(model)
    held: Mapping[str, torch.Tensor] = {n: t for kind in ("_parameters", "_buffers") for n, t in mapped.tensors(kind)}
    kept = values.Values(run.LIMIT)
    numbers = {name: kept.take(tensor) for name, tensor in held.items() if not stored.is_lazy(tensor)}
    return {name: hashlib.sha256(values.raw_bytes(kept.copies[at])).hexdigest() for name, at in numbers.items()}
