"""Whether an input's spec holds together: values that fit shape and dtype, fills that fit both. Nothing is made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lessonpress.worker.records import InputSpec

Path = tuple[str | int, ...]
BITS = {"int64": 63, "int32": 31, "int16": 15, "int8": 7}
RANGES = {**{name: (-(2**bits), 2**bits - 1) for name, bits in BITS.items()}, "uint8": (0, 255)}


@dataclass(frozen=True)
class Fault:
    """What is wrong with a spec, and where inside it."""

    path: Path
    seen: str
    expected: str = ""
    fix: str = ""


class Ragged(Exception):
    """Nested lists whose rows differ in length."""


def find_faults(spec: InputSpec, path: Path = (), *, shaped: bool = True) -> Iterator[Fault]:
    """Everything that is wrong with a complete spec, as plain JSON (`plan.write_spec`).

    With `shaped=False` the shape is known elsewhere: a parameter has its own.
    """
    for way in ("list", "tuple", "dict"):
        if way in spec and shaped:
            items = spec[way].items() if way == "dict" else enumerate(spec[way])
            for key, item in items:
                yield from find_faults(item, (*path, way, key))
            return
    if "words" in spec:  # nobody knows their numbers: the reader has said so
        return
    if "values" in spec:
        yield from _values(spec, path)
    elif "fill" in spec:
        yield from _fill(spec, path, shaped=shaped)
    elif "literal" not in spec or not shaped:
        ways = "one of fill, values, literal, list, tuple, dict" if shaped else "fill or values"
        yield Fault(path, "nothing says what this input holds" if shaped else "nothing says what it holds", ways)


def infer_shape(values: Any) -> list[int]:
    """The shape of nested lists, `[]` for a bare number. Raises Ragged where rows differ."""
    if not isinstance(values, list):
        return []
    shapes = [infer_shape(item) for item in values]
    if any(shape != shapes[0] for shape in shapes):
        raise Ragged(f"rows of shape {shapes[0]} and {next(s for s in shapes if s != shapes[0])} stand side by side")
    return [len(values), *(shapes[0] if shapes else [])]


def _values(spec: InputSpec, path: Path) -> Iterator[Fault]:
    values, shape = spec["values"], spec.get("shape")
    try:
        count = math.prod(infer_shape(values))
    except Ragged as error:
        yield Fault(path, str(error), "", "Give every row the same number of values.")
        return
    if shape is not None and count != math.prod(shape):
        given = f"{count} value{'' if count == 1 else 's'} given"
        wanted = math.prod(shape)
        fix = f"Give {wanted} value{'' if wanted == 1 else 's'} or a single fill."
        yield Fault(path, f"{given}, the input has shape {list(shape)}", "", fix)
    yield from _unfit(_leaves(values), spec.get("dtype"), path)


def _fill(spec: InputSpec, path: Path, *, shaped: bool) -> Iterator[Fault]:
    fill, shape = spec["fill"], spec.get("shape")
    if shape is None and shaped:
        yield Fault(path, "a fill without a shape", "shape, dtype and fill")
    if fill == "eye" and shape is not None and len(shape) < 2:
        yield Fault(path, f"the fill eye needs two axes, the input has shape {list(shape)}")
    if fill != "ramp" and ("start" in spec or "step" in spec):
        yield Fault(path, "start and step belong to the fill ramp", f"the fill is {fill!r}")
    if not isinstance(fill, str):
        yield from _unfit([fill], spec.get("dtype"), path)


def _leaves(values: Any) -> Iterator[Any]:
    for item in values if isinstance(values, list) else [values]:
        if isinstance(item, list):
            yield from _leaves(item)
        else:
            yield item


def _unfit(leaves: Iterator[Any] | Sequence[Any], dtype: str | None, path: Path) -> Iterator[Fault]:
    """The first value that the dtype cannot hold."""
    for leaf in leaves:
        reason = _reason(leaf, dtype)
        if reason:
            yield Fault(path, f"{_shown(leaf)} given", reason)
            return


def _reason(leaf: Any, dtype: str | None) -> str:
    text = isinstance(leaf, str)
    if dtype in ("complex64", "complex128") and text:
        return "" if _is_complex(leaf) else "complex numbers are written like 1+2j"
    if text or leaf is None or (isinstance(leaf, dict) and leaf.keys() != {"float"}):
        return "expected numbers"
    if dtype not in RANGES or isinstance(leaf, bool):
        return ""
    if not isinstance(leaf, int) and not (isinstance(leaf, float) and leaf.is_integer()):
        return f"{dtype} holds whole numbers"
    low, high = RANGES[dtype]
    return "" if low <= leaf <= high else f"{dtype} holds {low} to {high}"


def _is_complex(text: str) -> bool:
    try:
        complex(text.replace(" ", ""))
    except ValueError:
        return False
    return True


def _shown(leaf: Any) -> str:
    if isinstance(leaf, dict) and leaf.keys() == {"float"}:
        return str(leaf["float"])
    text = repr(leaf)
    return text if len(text) <= 40 else text[:39] + "…"
