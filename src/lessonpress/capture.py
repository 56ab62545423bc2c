"""What the worker recorded, validated as untrusted data before anything else reads it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

BYTES = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip
RUN_KEYS = {"kind", "seed", "dtype", "mode", "inputs", "output", "calls", "params", "buffers", "values"}
CALL_KEYS = {"layer", "op", "kind", "inside", "at", "args", "kwargs", "out"}
PLACE_KEYS = {"file", "line", "endLine", "column", "endColumn"}
MODULE_KEYS = {"class", "leaf", "parent", "params", "source", "aliases", "training", "parameters", "buffers"}
DEPTH = 100


class Malformed(Exception):
    """An answer that is not what the worker's own code would have sent."""


def loads(line: bytes) -> Any:
    """Strict JSON: no duplicate keys, no bare NaN, bounded depth. Raises Malformed."""
    try:
        return json.loads(line, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no strict JSON: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a key stands twice")
    return out


def _no_constant(name: str) -> float:
    raise ValueError(f"the number {name}")


def validated(answer: Any, plan: Mapping[str, Any]) -> dict[str, Any]:
    """The answer's `ok` part, checked against the plan and against itself; raises Malformed.

    Runs and their kinds are those of the plan; every value's bytes have the size of its shape and dtype and the digest
    by which they are named; every number that refers to a value or a call refers to one.
    """
    if not isinstance(answer, dict) or answer.keys() != {"runs", "modules", "blobs"}:
        raise Malformed("the answer has other keys than runs, modules, blobs")
    blobs = _sizes(answer["blobs"])
    planned = {run["id"]: run for run in plan["runs"]}
    if not isinstance(answer["runs"], dict) or list(answer["runs"]) != list(planned):
        raise Malformed("the answer's runs are not the plan's")
    for name, run in answer["runs"].items():
        _keys(run, RUN_KEYS, f"run {name}")
        for key in ("kind", "seed", "dtype", "mode"):
            if run[key] != planned[name][key]:
                raise Malformed(f"run {name} says another {key} than the plan")
        _run(run, blobs)
    _modules(answer["modules"])
    return answer


def _sizes(blobs: Any) -> dict[str, int]:
    out = {}
    for name, text in _items(blobs, "blobs"):
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise Malformed("a blob is no base64") from None
        if hashlib.sha256(data).hexdigest() != name:
            raise Malformed("a blob's name is not its digest")
        out[name] = len(data)
    return out


def _run(run: Mapping[str, Any], blobs: Mapping[str, int]) -> None:
    for value in _list(run["values"], "values"):
        _keys(value, {"dtype", "shape", "blob"}, "a value")
        size = BYTES.get(value["dtype"] if isinstance(value["dtype"], str) else "")
        for n in _list(value["shape"], "a shape"):
            if not _count(n) or size is None:
                raise Malformed("a shape or dtype is none")
            size *= n
        if size is None or blobs.get(value["blob"]) != size:
            raise Malformed("a value's bytes do not fit its shape and dtype")
    values, calls = len(run["values"]), _list(run["calls"], "calls")
    if not calls:
        raise Malformed("a run without calls")
    for number, call in enumerate(calls):
        _keys(call, CALL_KEYS, "a call")
        if not (isinstance(call["layer"], str) and isinstance(call["op"], str)) or call["kind"] not in (
            "layer", "op", "module", "outside",
        ):  # fmt: skip
            raise Malformed("a call without a layer, operation or kind")
        if call["inside"] is not None and not (_count(call["inside"]) and call["inside"] < number):
            raise Malformed("a call inside one that has not begun")
        _place(call["at"])
        structs = [*_list(call["args"], "args"), *dict(_items(call["kwargs"], "kwargs")).values(), call["out"]]
        for struct in structs:
            _struct(struct, values, len(calls), 0)
    for pair in _list(run["inputs"], "inputs"):
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)):
            raise Malformed("an input without a name")
        _struct(pair[1], values, 0, 0)
    _struct(run["output"], values, len(calls), 0)
    for kind in ("params", "buffers"):
        for _, number in _items(run[kind], kind):
            if not (_count(number) and number < values):
                raise Malformed("a parameter without a value")


def _struct(struct: Any, values: int, calls: int, depth: int) -> None:
    if depth > DEPTH:
        raise Malformed("a structure nests too deeply")
    if struct is None or isinstance(struct, (bool, int, float, str)):
        return
    if not isinstance(struct, dict) or not struct:
        raise Malformed("a structure of no known kind")
    if "tensor" in struct:
        if not (_count(struct["tensor"]) and struct["tensor"] < values):
            raise Malformed("a tensor without a value")
        for source in _list(struct.get("from", []), "from"):
            _source(source, calls)
        return
    for kind in ("tuple", "list", "slice"):
        for item in _list(struct.get(kind, []), kind):
            _struct(item, values, calls, depth + 1)
    for kind in ("dict", "fields"):
        for pair in _list(struct.get(kind, []), kind):
            if not (isinstance(pair, list) and len(pair) == 2):
                raise Malformed("an entry without key and value")
            _struct(pair[0], values, calls, depth + 1)
            _struct(pair[1], values, calls, depth + 1)


def _source(source: Any, calls: int) -> None:
    if not (isinstance(source, list) and len(source) == 2 and isinstance(source[1], str)):
        raise Malformed("a source of no known kind")
    if not (source[0] in ("input", "param", "buffer") or (_count(source[0]) and source[0] < calls)):
        raise Malformed("a source that is no call")


def _modules(modules: Any) -> None:
    for path, module in _items(modules, "modules"):
        _keys(module, MODULE_KEYS, f"module {path}")
        _place(module["source"])
        if not isinstance(module["class"], str) or not isinstance(module["params"], dict):
            raise Malformed("a module without class or params")
        for kind in ("parameters", "buffers"):
            for _, full in _items(module[kind], kind):
                if not isinstance(full, str):
                    raise Malformed("a module's tensor without a name")


def _place(place: Any) -> None:
    if place is None:
        return
    _keys(place, PLACE_KEYS, "a place")
    if not isinstance(place["file"], str) or not all(_count(place[key]) for key in PLACE_KEYS - {"file"}):
        raise Malformed("a place without file and lines")


def _keys(value: Any, keys: set[str], what: str) -> None:
    if not isinstance(value, dict) or value.keys() != keys:
        raise Malformed(f"{what} has other keys than {', '.join(sorted(keys))}")


def _items(value: Any, what: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise Malformed(f"{what} is no mapping")
    return iter(value.items())


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise Malformed(f"{what} is no list")
    return value


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
