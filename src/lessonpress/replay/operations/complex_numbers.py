"""Calls of torch with complex numbers, as rows of the table that compute with pairs of floats (`spectra/`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lessonpress.replay.operations.kinds import Unsupported
from lessonpress.replay.operations.table import Bound, resolve

Argument = Any
# Rows that do to pairs what they do to numbers, as long as axes are counted from the front and shapes end in 2.
PLAIN = frozenset(["neg", "clone", "contiguous", "alias", "detach", "zeros_like", "resolve_conj", "resolve_neg"])
AXES = {"sum": 1, "mean": 1, "unsqueeze": 1, "squeeze": 1, "select": 1, "narrow": 1, "flip": 1, "transpose": 2,
        "cumsum": 1, "stack": 1, "cat": 1, "index_select": 1}  # fmt: skip
TRANSFORMS = {f"fft_{inverse}{half}fft{rank}": (inverse, half, rank)
              for inverse in ("", "i") for half in ("", "r") for rank in ("", "2", "n")}  # fmt: skip


def bind_complex(
    name: str, args: list[Argument], kwargs: dict[str, Argument], is_complex: Callable[[Argument], bool],
    shape_of: Callable[[Argument], Sequence[int]], convert: Callable[[str, Argument], Argument],
) -> Bound:  # fmt: skip
    """The row of a call that reads or gives complex numbers.

    `is_complex` says of an argument whether it is an array of them, `shape_of` how long its axes are (without that of
    the pairs), and `convert` makes a step of one array and gives its result. Raises Unsupported for what the table
    does not do with complex numbers.
    """
    first = args[0] if args else kwargs.get("input")
    if name in TRANSFORMS:
        return _bind_transform(name, args, kwargs, is_complex, shape_of, convert)
    if name in ("view_as_complex", "view_as_real", "resolve_conj", "resolve_neg"):
        return resolve("alias", [first], {})
    if name in ("real", "imag"):
        part = [first, -1, int(name == "imag")]
        return resolve("select", part, {}) if is_complex(first) else resolve("alias", [first], {})
    if name == "complex":
        return resolve("stack", [args[:2], -1], {})
    if name == "polar":
        return resolve("complex_polar", args, kwargs)
    if name in ("abs", "angle", "conj", "exp", "conj_physical") and is_complex(first):
        return resolve(f"complex_{name.removesuffix('_physical')}", [first], {})
    if name in ("add", "sub", "mul", "div", "matmul"):
        return _bind_two(name, args, kwargs, is_complex, convert)
    if name in PLAIN:
        return resolve(name, args, kwargs)
    if name in ("reshape", "view"):
        sizes = args[1] if isinstance(args[1], list) else args[1:]
        return resolve(name, [first, [*sizes, 2]], {})
    if name == "permute":
        dims, rank = args[1] if isinstance(args[1], list) else args[1:], len(shape_of(first))
        return resolve("permute", [first, [*(d % rank for d in dims), rank]], {})
    if name == "getitem":
        index = [part for part in args[1]]
        ellipsis = any(isinstance(part, dict) and "ellipsis" in part for part in index)
        return resolve("getitem", [first, [*index, {"slice": [None, None, None]}] if ellipsis else index], {})
    if name in AXES:
        return _bind_axes(name, args, kwargs, shape_of)
    raise Unsupported(f"pages do not know {name} of complex numbers")


def _bind_two(
    name: str, args: list[Argument], kwargs: dict[str, Argument], is_complex: Callable[[Argument], bool],
    convert: Callable[[str, Argument], Argument],
) -> Bound:  # fmt: skip
    """Arithmetic of two arrays, or of one and a number."""
    arrays = [isinstance(arg, dict) and "slot" in arg for arg in args[:2]]
    mixed = [is_complex(arg) for arg in args[:2]]
    if name in ("mul", "div") and mixed[0] and not mixed[1]:
        return resolve(name, [args[0], convert("unsqueeze", args[1]) if arrays[1] else args[1]], {})
    if name == "mul" and mixed[1] and not mixed[0]:
        return resolve(name, [convert("unsqueeze", args[0]) if arrays[0] else args[0], args[1]], {})
    if not all(arrays):
        raise Unsupported(f"pages do not know {name} of complex numbers and a plain one")
    both = [arg if mixed[at] else convert("complex_from", arg) for at, arg in enumerate(args[:2])]
    if name in ("add", "sub"):
        return resolve(name, both, kwargs)
    return resolve(f"complex_{name}", both, {})


def _bind_axes(
    name: str, args: list[Argument], kwargs: dict[str, Argument], shape_of: Callable[[Argument], Sequence[int]]
) -> Bound:  # fmt: skip
    """An operation along axes that are named, counted from the front."""
    several = args[0] if isinstance(args[0], list) else None
    rank = len(shape_of(several[0] if several else args[0])) + (name in ("unsqueeze", "stack"))
    count = AXES[name]
    dims = args[1 : 1 + count] or [kwargs.pop("dim", None)]
    if any(dim is None for dim in dims):
        dims = [list(range(rank))] if name in ("sum", "mean") else [0]
    turned = [[d % rank for d in dim] if isinstance(dim, list) else dim % rank for dim in dims]
    return resolve(name, [args[0], *turned, *args[1 + count :]], kwargs)


def _bind_transform(
    name: str, args: list[Argument], kwargs: dict[str, Argument], is_complex: Callable[[Argument], bool],
    shape_of: Callable[[Argument], Sequence[int]], convert: Callable[[str, Argument], Argument],
) -> Bound:  # fmt: skip
    """A Fourier transform: the sizes and axes that torch takes where none are named are written out."""
    inverse, half, rank = TRANSFORMS[name]
    names = ["input", "n" if not rank else "s", "dim", "norm"]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    x, sizes, dims = given["input"], given.get(names[1]), given.get("dim")
    shape = list(shape_of(x))
    if not rank:
        dims, sizes = [-1 if dims is None else dims], None if sizes is None else [sizes]
    if dims is None:
        dims = [-2, -1] if rank == "2" else list(range(-len(sizes or shape), 0))
    dims = [d % len(shape) for d in dims]
    fill = inverse and half
    if sizes is None:
        sizes = [shape[d] for d in dims]
        if fill:
            sizes[-1] = 2 * (sizes[-1] - 1)
    pairs = x if is_complex(x) else convert("complex_from", x)
    kind = "fill" if fill else "keep" if half else None
    return resolve("complex_fourier", [pairs, sizes, dims, given.get("norm"), bool(inverse), kind], {})
