"""Whether a page will follow its reader, as far as that is known without a run: what it records, what it repeats."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from lessonpress.authoring.lint.sources import Sources
from lessonpress.core.errors import LessonError
from lessonpress.lesson.python_ast import Call
from lessonpress.lesson.recipe import Experiment
from lessonpress.replay import operations
from lessonpress.replay.operations import call_rows, table

# Functions of torch that compute nothing.
SETTINGS = frozenset({
    "autocast", "broadcast_shapes", "can_cast", "compile", "device", "enable_grad", "finfo", "from_numpy",
    "get_default_dtype", "get_rng_state", "iinfo", "inference_mode", "initial_seed", "is_complex", "is_floating_point",
    "is_grad_enabled", "is_nonzero", "is_storage", "is_tensor", "load", "manual_seed", "no_grad", "numel",
    "promote_types", "result_type", "save", "seed", "set_default_dtype", "set_grad_enabled", "set_printoptions",
    "set_rng_state", "typename",
})  # fmt: skip
FAMILIES = ("linalg", "fft", "special")
EVERYWHERE = "where the model calls it, the page will show what follows from it as it was recorded"
REPLACE = "Use operations that docs/reference.md lists, or take `control:` out."
UNREAD = "Record what follows it, or take `control:` out."


def find_doubts(sources: Sources) -> Iterator[LessonError]:
    """A control that nothing will follow, and calls that no page repeats, in a lesson whose page is to follow."""
    experiment = sources.lesson.recipe.experiment
    if experiment is None or experiment.control is None:
        return
    control = experiment.control.input
    if reason := _explain_unread(sources, experiment, control):
        at = ("experiment", "control", "input")
        yield sources.lesson.error(at, f"nothing on the page will follow {control}", reason, UNREAD)
    recipe = sources.lesson.recipe
    beside = {recipe.checks, recipe.prepare.file if recipe.prepare else None}
    for name, file in sources.files.items():
        if name not in beside:
            built = _list_lines_of_building(sources.lesson.files[name])
            for call in file.calls:
                if call.line not in built and _is_beyond(call):
                    yield LessonError(f"{file.where}:{call.line}", f"{call.name} is called", EVERYWHERE, REPLACE)


def _explain_unread(sources: Sources, experiment: Experiment, control: str) -> str:
    """Why no figure can depend on the control, where that is certain."""
    addresses = [entry.tensor for entry in (*experiment.record.matrices, *experiment.record.vectors)]
    if not addresses:
        return "the experiment records nothing"
    if all(_is_given(address, control) for address in addresses):
        return "every recorded tensor is a parameter, a buffer or another input"
    forward = _find_forward(sources)
    return "" if forward is None or _reads(forward, control) else "the model's forward does not read it"


def _is_given(address: str, control: str) -> bool:
    """Whether an address names something that is given, and is not the control."""
    kind, colon, name = address.partition(":")
    return bool(colon) and (kind in ("param", "buffer") or (kind == "input" and name.split(".")[0] != control))


def _find_forward(sources: Sources) -> ast.FunctionDef | None:
    """The forward of the model's class, where its file holds it."""
    model = sources.lesson.recipe.model
    tree = _parse(sources.lesson.files.get(model.file, b""))
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == model.class_)
    methods = (node for each in classes for node in each.body if isinstance(node, ast.FunctionDef))
    return next((method for method in methods if method.name == "forward"), None)


def _reads(forward: ast.FunctionDef, name: str) -> bool:
    """Whether a function may read its parameter `name`; certainly not only where no name in it is that."""
    known = {argument.arg for argument in (*forward.args.args, *forward.args.kwonlyargs)}
    used = {node.id for node in ast.walk(forward) if isinstance(node, ast.Name)}
    return name not in known or name in used or "locals" in used


def _list_lines_of_building(text: bytes) -> set[int]:
    """The lines that run while the file is imported or the model is built."""
    tree = _parse(text)
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name != "__init__":
            inside |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return set(range(1, text.count(b"\n") + 2)) - inside


def _parse(text: bytes) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _is_beyond(call: Call) -> bool:
    """Whether a call is certainly an operation of torch that the table does not have.

    Functions under a transform, and gradients, are repeated by what runs inside them: that only a run can tell.
    """
    parts = call.name.removeprefix("torch.").removeprefix("nn.functional.").split(".")
    if not call.name.startswith("torch.") or parts[-1] in SETTINGS or parts[0] in ("autograd", "func", "vmap"):
        return False
    if not parts[-1][:1].islower() or len(parts) > 2 or (len(parts) == 2 and parts[0] not in FAMILIES):
        return False
    name = operations.plain_name("_".join(parts))
    known = {name, name.removesuffix("_"), operations.plain_name(parts[-1]) if parts[0] == "special" else name}
    return not known & {*operations.TABLE, *table.REWRITES, *table.RANDOM, *call_rows.CASTS, *call_rows.SAME}
