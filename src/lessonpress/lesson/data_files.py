"""Inputs out of files: `{data: digit}` stands for the numbers of a NumPy file of the lesson's folder.

They are put into the recipe when it is read, as if they had been typed there: so plan, run.py and bundle need nothing
else, and every later step sees values. That is why such a file may hold some thousands of numbers and no more.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel

from lessonpress.core import suggestions
from lessonpress.core.errors import LessonError
from lessonpress.core.source_map import Path
from lessonpress.lesson.recipe import Dtype, Recipe, Spec

MOST = 20_000  # numbers of one file
Model = TypeVar("Model", bound=BaseModel)
Describe = Callable[[Path, str, str, str], LessonError]  # place, what was seen, what was expected, what to do


def find_mistakes(recipe: Recipe, files: Mapping[str, bytes], describe: Describe) -> Iterator[LessonError]:
    """Files that are not there or cannot be read, and inputs that name no data."""
    for name, entry in recipe.data.items():
        at: Path = ("data", name, "file")
        if entry.file not in files:
            there = [file for file in files if file.endswith(".npy")]
            yield describe(at, f"there is no {entry.file} in the folder",
                           f"NumPy files there: {', '.join(there) or 'none'}",
                           suggestions.did_you_mean(entry.file, there))  # fmt: skip
        elif why := _find_fault(files[entry.file]):
            yield describe(at, f"{entry.file} {why}", "a file that numpy.save wrote", "")
    for path, spec in _list_specs(recipe, ()):
        if spec.data is not None and spec.data not in recipe.data:
            yield describe((*path, "data"), f"no data is called {spec.data!r}",
                           f"data: {', '.join(recipe.data) or 'none'}",
                           suggestions.did_you_mean(spec.data, list(recipe.data)))  # fmt: skip
        elif spec.data is not None and {"shape", "dtype"} & spec.model_fields_set:
            yield describe(path, "a shape or dtype beside data", "the file says both", "Leave them out.")


def fill_in(recipe: Recipe, files: Mapping[str, bytes]) -> Recipe:
    """The recipe with the numbers of its files in the places of their names; it must hold no mistake."""
    known = {name: _read(files[entry.file]) for name, entry in recipe.data.items()}
    return _fill(recipe, known) if known else recipe


def _find_fault(data: bytes) -> str:
    try:
        spec = _read(data)
    except (ValueError, EOFError, OSError, SyntaxError, MemoryError) as error:
        return f"cannot be read: {error!s:.200}"
    if spec.dtype is None or spec.dtype not in get_args(Dtype):
        return "holds numbers of a dtype that no input has"
    count = _count(spec.values)
    return f"holds {count:,} numbers; at most {MOST:,} stand in a recipe" if count > MOST else ""


def _count(values: Any) -> int:
    return sum(map(_count, values)) if isinstance(values, list) else 1


def _read(data: bytes) -> Spec:
    """The array of a file as an input's spec. Raises ValueError for what is no plain array."""
    import numpy as np  # only lessons that have such files wait for it

    array = np.load(io.BytesIO(data), allow_pickle=False)
    if not isinstance(array, np.ndarray):
        raise ValueError("it holds several arrays")
    plain = array.astype(str) if array.dtype.kind == "c" else array
    known = str(array.dtype) if str(array.dtype) in get_args(Dtype) else None
    return Spec.model_validate({"values": plain.tolist(), "shape": list(array.shape), "dtype": known})


def _list_specs(node: Any, path: Path) -> Iterator[tuple[Path, Spec]]:
    """Every spec of a record, nested ones too, with its place."""
    if isinstance(node, Spec):
        yield path, node
    if isinstance(node, BaseModel):
        for name, field in type(node).model_fields.items():
            yield from _list_specs(getattr(node, name), (*path, field.alias or name))
    elif isinstance(node, (list, dict)):
        for key, item in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(item, (BaseModel, list, dict)):
                yield from _list_specs(item, (*path, key))


def _fill(node: Model, known: Mapping[str, Spec]) -> Model:
    changed: dict[str, Any] = {}
    for name in type(node).model_fields:
        value = getattr(node, name)
        new = _fill_any(value, known)
        if new is not value:
            changed[name] = new
    return node.model_copy(update=changed) if changed else node


def _fill_any(value: Any, known: Mapping[str, Spec]) -> Any:
    if isinstance(value, Spec) and value.data is not None:
        return known[value.data]
    if isinstance(value, BaseModel):
        return _fill(value, known)
    if isinstance(value, dict) and any(isinstance(item, BaseModel) for item in value.values()):
        return {key: _fill_any(item, known) for key, item in value.items()}
    if isinstance(value, list) and any(isinstance(item, BaseModel) for item in value):
        return [_fill_any(item, known) for item in value]
    return value
