"""Repeat everything that this lesson recorded, with the published weights, and say how close the numbers are.

Called by `python run.py --compare`. The folder worker/ holds the code that made the record; this repeats it in your
own process. Exit code 1 when a number is out of tolerance or a check fails.
"""

import importlib
import importlib.util
import json
import sys

import numpy
from safetensors.torch import load_file


def package(folder):
    """The code that made the record, under a name that nothing else has."""
    init = folder / "worker" / "__init__.py"
    spec = importlib.util.spec_from_file_location("lesson_worker", init, submodule_search_locations=[str(init.parent)])
    module = importlib.util.module_from_spec(spec)
    sys.modules["lesson_worker"] = module
    spec.loader.exec_module(module)
    return {name: importlib.import_module(f"lesson_worker.{name}") for name in ("run", "recorded", "judge")}


def published(manifest, folder):
    """Every recorded array by (case, id), as numpy has it."""
    found = {}
    for case in (manifest["experiment"] or {"cases": []})["cases"]:
        for entry in [*case["matrices"], *case["vectors"]]:
            values = entry["values"]
            array = numpy.load(folder / values["file"]) if isinstance(values, dict) else numbers(values)
            found[case["id"], entry["id"]] = array
    return found


def numbers(values):
    """Nested lists as an array; the strings NaN, Infinity and -Infinity are numbers, pairs of parts are complex."""
    if isinstance(values, list):
        return numpy.array([numbers(value) for value in values])
    return complex(float(values["re"]), float(values["im"])) if isinstance(values, dict) else float(values)


def largest(new, old):
    """The largest absolute difference, and the largest as a share of what the tolerance allows."""
    new = numpy.asarray(new).reshape(old.shape)
    with numpy.errstate(invalid="ignore"):
        same = (new == old) | (numpy.isnan(new) & numpy.isnan(old))
        gap = numpy.where(same, 0.0, numpy.abs(new - old))
    return gap


def compare(tools, capture, plan, manifest, folder, *, quiet=False):
    """Print a line for each recorded array; answer the largest difference and how many are out of tolerance."""
    runs, tolerance = tools["recorded"].Runs(capture), manifest["tolerance"]
    worst, failures = 0.0, 0
    cuts = {entry["id"]: entry for entry in plan["record"]}
    for (case, name), old in published(manifest, folder).items():
        cut = cuts[name]
        new = tools["recorded"].select(runs[case][cut["tensor"]], cut["select"], cut["reshape"])
        gap = largest(new, old)
        good = bool((gap <= tolerance["atol"] + tolerance["rtol"] * numpy.abs(old)).all()) if gap.size else True
        worst = max([worst, *gap.reshape(-1).tolist()])
        failures += not good
        if not quiet:
            print(f"  {'within tolerance' if good else 'OUT OF TOLERANCE'}  {max([0.0, *gap.reshape(-1).tolist()]):8.1e}  {case}: {name}")
    return worst, failures


def main(folder):
    """Repeat cases and checks; answer 0 when all agree, else 1."""
    tools = package(folder)
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    tools["run"].settle()
    try:
        capture = tools["run"].whole(plan, str(folder), load_file(folder / "weights.safetensors"))
        print("Largest difference from the recorded values, array by array:")
        worst, failures = compare(tools, capture, plan, manifest, folder)
        print(f"In all: {worst:.1e}, {failures} out of tolerance.")
        if plan["checks"]:
            task = {"file": plan["checks"], "checks": True, "metrics": []}
            print("Checks:")
            for check in tools["judge"].judge(capture, str(folder), task)["checks"]:
                measured, bound = float(check["measured"]), float(check["bound"])
                passed = measured <= bound if check["sense"] == "<=" else measured >= bound
                failures += not passed
                print(f"  {'passes' if passed else 'FAILS '}  {measured:.3g} {check['sense']} {bound:.3g}  {check['sentence']}")
    except (tools["run"].Failed, tools["judge"].Failed) as error:
        print(f"The lesson could not be repeated: {error}", file=sys.stderr)
        return 1
    try:
        native = tools["run"].whole(plan, str(folder), native=True)
        away, _ = compare(tools, native, plan, manifest, folder, quiet=True)
        print(f"From torch.manual_seed alone, with this machine's own initialisers: {away:.1e} away from the record.")
    except tools["run"].Failed as error:
        print(f"Without the stored weights the lesson could not be repeated: {error}")
    return int(failures > 0)
