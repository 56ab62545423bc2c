"""Repeat this lesson's run: build the model, load the published weights, call it once, print the output's shape.

    python run.py             # its last line is [1,16]
    python run.py --compare   # also repeats every recorded case and check, and says how close the numbers are
    python run.py --prepare   # repeats the training that made the weights, where there was one, and compares

Needs the packages in requirements.txt (a CPU build of torch is enough) and the files beside this one.
"""

import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
# The lesson's folder comes last on the path: a file of the lesson's may be called like a standard module.
sys.path = [entry for entry in sys.path if os.path.realpath(entry or ".") != HERE]
sys.dont_write_bytecode = True

import importlib  # noqa: E402
import importlib.util  # noqa: E402
import json  # noqa: E402
import random  # noqa: E402
import subprocess  # noqa: E402
from pathlib import Path  # noqa: E402

HERE = Path(HERE)

if {"--compare", "--prepare"} & set(sys.argv[1:]):
    # The last digits depend on settings that libraries read while they are loaded, and the C library before Python
    # runs at all. So this begins once more, under those of the record.
    settings = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))["provenance"]["settings"]
    record = {name: str(value) for name, value in settings.items() if name.isupper()}
    if any(os.environ.get(name) != value for name, value in record.items()):
        again = subprocess.run([sys.executable, *sys.orig_argv[1:]], env={**os.environ, **record}, check=False)
        sys.exit(again.returncode)

import numpy  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

FILE, CLASS, SEED = 'model.py', 'AdditiveDecoderStep', 0
sys.pycache_prefix = os.devnull  # from here on bytecode is not read: beside the lesson's files nobody checks it
sys.path.extend([str(HERE), str((HERE / FILE).parent)])


def load(file, name):
    """The class `name` of a file beside this one."""
    package = HERE.joinpath(file).parent
    if package != HERE and (package / "__init__.py").exists():
        return getattr(importlib.import_module(file.removesuffix(".py").replace("/", ".")), name)
    if (HERE / "__init__.py").exists():
        file, stem = HERE / "__init__.py", "." + file.removesuffix(".py").replace("/", ".")
    else:
        file, stem = HERE / file, ""
    search = [str(HERE)] if stem else None
    spec = importlib.util.spec_from_file_location("lesson_" + file.stem, file, submodule_search_locations=search)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(importlib.import_module(spec.name + stem) if stem else module, name)


def seed():
    """Seed every generator that the lesson may draw from."""
    random.seed(SEED)
    numpy.random.seed(SEED % 2**32)
    torch.manual_seed(SEED)


def tensors(model):
    """The model's parameters and buffers by name."""
    return [*model.named_parameters(), *model.named_buffers()]


def put(tensor, numbers):
    """Put numbers into a tensor; one that was spread out with expand() gets a place for each of them."""
    if numbers.shape != tensor.shape:
        raise SystemExit(f"weights.safetensors has numbers of shape {list(numbers.shape)}, the model {list(tensor.shape)}")
    try:
        tensor.copy_(numbers)
    except RuntimeError:  # several of its numbers share one place in memory
        tensor.data = numbers.to(tensor.dtype)


def switch(model, training):
    """Put the model into its mode; what torch.export made is fixed in one."""
    try:
        if callable(model.train):
            model.train(training)
    except NotImplementedError:
        for module in model.modules():
            module.training = training


def shapes(output):
    """The shape of every tensor in an output, in order."""
    if isinstance(output, torch.Tensor):
        return [str(list(output.shape)).replace(" ", "")]
    if isinstance(output, dict):
        output = output.values()
    elif hasattr(output, "__dataclass_fields__"):
        output = [getattr(output, field) for field in output.__dataclass_fields__]
    elif not isinstance(output, (list, tuple)):
        return []
    return [shape for part in output for shape in shapes(part)]


def main():
    """Run once and print the shape of what comes out."""
    kind = load(FILE, CLASS)
    seed()
    model = kind()
    switch(model, False)
    weights = load_file(HERE / "weights.safetensors")
    with torch.no_grad():
        for name, tensor in tensors(model):
            if not isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
                put(tensor, weights["execution/" + name])
    model = model.to(torch.float32) if torch.float32 is not torch.float32 else model
    inputs = {}
    inputs['source_ids'] = torch.ones([1, 5], dtype=torch.int64)
    inputs['state'] = torch.randn([1, 8], dtype=torch.float32)
    inputs['previous_token'] = torch.ones([1], dtype=torch.int64)
    seed()
    output = call(model, inputs)
    print("\n".join(shapes(output)))


def call(model, inputs):
    """Pass each input by name where forward() has a parameter of that name, else in order."""
    import inspect

    known = inspect.signature(model.forward).parameters
    named = {n for n, p in known.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    rest = any(p.kind is p.VAR_KEYWORD for p in known.values())
    cut = max((i + 1 for i, name in enumerate(inputs) if name not in named and not rest), default=0)
    items = list(inputs.items())
    return model(*[value for _, value in items[:cut]], **dict(items[cut:]))


def compare():
    """The second file, which compares."""
    found = importlib.util.spec_from_file_location("lesson_compare", HERE / "compare.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


if __name__ == "__main__":
    if "--prepare" in sys.argv[1:]:
        sys.exit(compare().prepare(HERE))
    failed = compare().main(HERE) if "--compare" in sys.argv[1:] else 0
    main()
    sys.exit(failed)
