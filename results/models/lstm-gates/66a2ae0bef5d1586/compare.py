"""Repeat everything that this lesson recorded, with the published weights, and say how close the numbers are.

Called by `python run.py --compare` and `python run.py --prepare`. The folder worker/ holds the code that made the record; this repeats it in your
own process. Exit code 1 when a number is out of tolerance or a check fails.
"""

import base64
import importlib
import importlib.util
import json
import sys

import numpy
import torch
from safetensors.torch import load_file


def package(folder):
    """The code that made the record, under a name that nothing else has."""
    init = folder / "worker" / "__init__.py"
    spec = importlib.util.spec_from_file_location("lesson_worker", init, submodule_search_locations=[str(init.parent)])
    module = importlib.util.module_from_spec(spec)
    sys.modules["lesson_worker"] = module
    spec.loader.exec_module(module)
    return {name: importlib.import_module(f"lesson_worker.{name}") for name in ("run", "recorded", "judge", "prepare", "training")}


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
        capture = tools["run"].run_plan(plan, str(folder), load_file(folder / "weights.safetensors"))
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
        native = tools["run"].run_plan(plan, str(folder), native=True)
        away, _ = compare(tools, native, plan, manifest, folder, quiet=True)
        trained = any(run["weights"] for run in plan["runs"])
        start = "prepared weights and, where they are drawn, " if trained else "torch.manual_seed alone, with "
        print(f"From {start}this machine's own initialisers: {away:.1e} away from the record.")
    except tools["run"].Failed as error:
        print(f"Without the stored weights the lesson could not be repeated: {error}")
    return int(failures > 0)


def prepare(folder):
    """Repeat the training, compare its weights and figures with the stored ones; answer 0 when all agree, else 1."""
    tools = package(folder)
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    if not plan["prepare"]:
        print("Nothing is trained here: the weights are those that the seed draws.")
        return 0
    tools["run"].settle()
    print(f"Training as {plan['prepare']['function']}() in {plan['prepare']['file']} says:")
    try:
        made = tools["training"].train(plan, str(folder), lambda figures: progress(tools["prepare"].format_figures(figures)))
    except tools["run"].Failed as error:
        print(f"The training could not be repeated: {error}", file=sys.stderr)
        return 1
    old, new = stored(folder), dict(trained(made))
    print("Largest difference from the stored weights and figures:")
    failures = len(old.keys() ^ new.keys())
    for name in sorted(old.keys() & new.keys()):
        fits = old[name].shape == new[name].shape
        gap = largest(new[name], old[name]) if fits else numpy.array(numpy.inf)
        tolerance = plan["prepare"]["tolerance"]
        good = bool((gap <= tolerance["atol"] + tolerance["rtol"] * numpy.abs(old[name])).all())
        failures += not good
        print(f"  {'within tolerance' if good else 'OUT OF TOLERANCE'}  {gap.max(initial=0.0):8.1e}  {name}")
    print(f"In all: {failures} out of tolerance.")
    return int(failures > 0)


def progress(words):
    """Say how far the training is: on a terminal, in one line."""
    if sys.stdout.isatty():
        print(f"  {words:<70}", end="\r", flush=True)


def stored(folder):
    """The lesson's prepared weights as numbers by `<name>/<parameter>`, and its figures by `<name>: <figure>`."""
    record = json.loads((folder / "prepared.json").read_text(encoding="utf-8"))
    tensors = {name: number(tensor) for name, tensor in load_file(folder / "prepared.safetensors").items()}
    return {**tensors, **dict(figures(record["kept"]))}


def trained(made):
    """The same of a training that has just ended."""
    for entry in made["kept"]:
        for key, value in entry["tensors"].items():
            data, dtype = base64.b64decode(made["blobs"][value["blob"]]), getattr(torch, value["dtype"])
            flat = torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype)
            yield f"{entry['name']}/{key}", number(flat.reshape(value["shape"]))
    yield from figures(made["kept"])


def figures(kept):
    """Every figure of what was kept, by name."""
    return ((f"{entry['name']}: {key}", numpy.array(value)) for entry in kept for key, value in entry["figures"].items())


def number(tensor):
    """A tensor of any dtype as numpy has it, wide enough for every number."""
    return tensor.to(torch.complex128).numpy()
