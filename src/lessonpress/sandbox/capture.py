"""What the worker recorded, validated as untrusted data before anything else reads it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from lessonpress.worker.records import Json, Plan, Recorded

Untrusted: TypeAlias = Mapping[str, Json]  # JSON of a worker before it has been validated: it may hold anything
BYTES = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip
RUN_KEYS = {"kind", "seed", "dtype", "mode", "inputs", "output", "calls", "params", "buffers", "values"}
CALL_KEYS = {"layer", "op", "kind", "inside", "at", "args", "kwargs", "out"}
FLAGS = ("left", "raised", "training", "unseen")  # true, or not there
CALL_MAY = {"beside", "draws", "given", "ran", "steps", *FLAGS}
NON_FINITE = ("NaN", "Infinity", "-Infinity")
PLACE_KEYS = {"file", "line", "endLine", "column", "endColumn"}
MODULE_KEYS = {"class", "leaf", "parent", "params", "source", "aliases", "training", "parameters", "buffers"}
# Every form that a structure may take, by its keys.
STRUCTS = tuple(set(keys.split()) for keys in (
    "tensor", "tensor from", "tensor from born", "tensor from unread", "tensor from born unread", "tuple", "list",
    "tensor number", "tensor from number", "dict",
    "record fields", "slice", "ellipsis", "dtype", "complex", "float", "opaque",
))  # fmt: skip
DEPTH, AXES, ELEMENTS = 100, 64, 1 << 40
# What an answer may hold, so that the work on it has a bound: parts of its JSON, characters of a name and of a text,
# modules, calls of all runs, layers of one run, and pairs of layers of which one feeds the other, of all runs,
# and parts of one argument or result.
PARTS, NAME, TEXT = 4_000_000, 1_000, 100_000
MODULES, CALLS, LAYERS, PAIRS, STRUCTURE = 25_000, 200_000, 25_000, 50_000, 100_000
_LINE_END = re.compile(rb"\r\n|\r|\n")


class Malformed(Exception):
    """An answer that is not what the worker's own code would have sent."""


def loads(line: bytes) -> Any:
    """Strict JSON: no duplicate keys, no NaN or infinity, no half characters, bounded depth. Raises Malformed."""
    if line.count(b",") + line.count(b"[") + line.count(b"{") > PARTS:
        raise Malformed(f"more than {PARTS} parts")
    try:
        value = json.loads(line, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
        if b"\\ud" in line or b"\\uD" in line:
            json.dumps(value, ensure_ascii=False).encode()  # one half of a pair cannot be written as UTF-8
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no strict JSON: {error!s:.200}") from None
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a key stands twice")
    return out


def _no_constant(name: str) -> float:
    raise ValueError(f"the number {name}")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text:.40}")
    return value


def read_answer(answer: Json, plan: Plan, files: Mapping[str, bytes]) -> Recorded:
    """What the lesson recorded, out of the worker's answer; `files` are those that it ran. Raises Malformed."""
    if not isinstance(answer, dict) or answer.keys() != {"ok"}:
        raise Malformed("the answer has other keys than ok")
    return validate(answer["ok"], plan, files)


def validate(answer: Json, plan: Plan, files: Mapping[str, bytes], *, outline: bool = False) -> Recorded:
    """The answer's `ok` part, checked against the plan, the lesson's files and itself; raises Malformed.

    Runs and their kinds are those of the plan; every value's bytes have the size of its shape and dtype and the digest
    by which they are named; every number that refers to a value or a call refers to one, every place to a line. Of an
    `outline` no value has bytes.
    """
    if not isinstance(answer, dict) or answer.keys() != {"runs", "modules", "blobs"}:
        raise Malformed("the answer has other keys than runs, modules, blobs")
    if outline and answer["blobs"] != {}:
        raise Malformed("an outline with bytes")
    blobs = None if outline else measure_blobs(answer["blobs"])
    bounds = _Bounds(measure_lines(files))
    planned = {run["id"]: run for run in plan["runs"]}
    if not isinstance(answer["runs"], dict) or list(answer["runs"]) != list(planned):
        raise Malformed("the answer's runs are not the plan's")
    for name, run in answer["runs"].items():
        _keys(run, RUN_KEYS, f"run {name}")
        for key in ("kind", "seed", "dtype", "mode"):
            if run[key] != planned[name][key] or type(run[key]) is not type(planned[name][key]):
                raise Malformed(f"run {name} says another {key} than the plan")
        _run(run, blobs, [name for name, _ in planned[name]["inputs"]], bounds)
    _modules(answer["modules"], bounds)
    return cast(Recorded, answer)


@dataclass
class _Bounds:
    """The lesson's lines, by file, and what the answer has used of what it may hold."""

    lines: Mapping[str, Sequence[int]]  # the bytes of each line, of which a column is never beyond the end
    calls: int = 0
    pairs: int = 0

    def take_run(self, calls: Sequence[Untrusted], pairs: Set[tuple[str, str]]) -> None:
        """Count one run's calls, and the pairs of layers of which one feeds the other."""
        self.calls, self.pairs = self.calls + len(calls), self.pairs + len(pairs)
        if self.calls > CALLS or self.pairs > PAIRS or len({call["layer"] for call in calls}) > LAYERS:
            raise Malformed("more calls, layers or connections than a lesson has")


def measure_lines(files: Mapping[str, bytes]) -> dict[str, list[int]]:
    """How many bytes each line of each file has."""
    return {name: [len(line) for line in _LINE_END.split(data)] for name, data in files.items()}


def measure_blobs(blobs: Any) -> dict[str, int]:
    """How many bytes each blob has, by its digest; raises Malformed for one that is not what its name says."""
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


def _run(run: Untrusted, blobs: Mapping[str, int] | None, inputs: list[str], bounds: _Bounds) -> None:
    for value in _list(run["values"], "values"):
        check_array(value, blobs)
    values, calls = len(run["values"]), _list(run["calls"], "calls")
    if not calls:
        raise Malformed("a run without calls")
    held = {f"{kind[:-1]}:{name}" for kind in ("params", "buffers") for name, _ in _items(run[kind], kind)}
    reach = _Reach(values, len(calls), inputs, frozenset(held), bounds)
    given = _list(run["inputs"], "inputs")
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in given) or [name for name, _ in given] != inputs:
        raise Malformed("the inputs are not the plan's")
    for name, struct in given:
        _struct(struct, reach, 0, name)
        reach.leaves.update(reach.take_tensors())
    for number, call in enumerate(calls):
        _call(call, number, reach)
    bounds.take_run(calls, reach.pairs)
    _struct(run["output"], reach, len(calls), reader="")
    reach.take_tensors()
    for kind in ("params", "buffers"):
        for _, number in _items(run[kind], kind):
            if not (_count(number) and number < values):
                raise Malformed("a parameter without a value")


@dataclass(frozen=True)
class _Reach:
    """What a run's structures may refer to."""

    values: int
    calls: int
    inputs: list[str]
    held: frozenset[str]  # `param:NAME` and `buffer:NAME` of the run
    bounds: _Bounds
    leaves: set[str] = field(default_factory=set)  # the tensors of its inputs
    layers: list[str | None] = field(default_factory=list)  # of the calls so far; None for one that is no node
    pairs: set[tuple[str, str]] = field(default_factory=set)  # layers (or origins) of which one feeds the other
    parts: list[str] = field(default_factory=list)  # paths in the structure at hand; empty but for its tensors

    def take_part(self, path: str, *, tensor: bool) -> None:
        """Count a part of a structure: each has a path, and later readers list them all."""
        if len(self.parts) >= STRUCTURE or len(path) > NAME:
            raise Malformed("a structure with more parts, or longer names, than a lesson has")
        self.parts.append(f"{path}!" if tensor else "")

    def take_tensors(self) -> list[str]:
        """The paths of the tensors in the structure that was walked last."""
        lines = [path[:-1] for path in self.parts if path]
        self.parts.clear()
        return lines

    def read(self, source: Sequence[Any], reader: str) -> None:
        """A layer reads what an earlier call made, or an input or parameter."""
        origin, path = source
        layer = origin if isinstance(origin, str) else self.layers[origin]
        if layer is None or (origin == "input" and path not in self.leaves):
            raise Malformed("a source that holds no tensor")
        self.pairs.add((layer, reader))


def check_array(value: Any, blobs: Mapping[str, int] | None) -> None:
    """A described array: known dtype, a shape, and a blob of just its size (none where `blobs` is), else Malformed."""
    _keys(value, {"dtype", "shape", "blob"}, "a value")
    if not (isinstance(value["dtype"], str) and value["dtype"] in BYTES and isinstance(value["blob"], str)):
        raise Malformed("a value without dtype and bytes")
    shape = _list(value["shape"], "a shape")
    if len(shape) > AXES or not all(_count(n) and n <= ELEMENTS for n in shape):
        raise Malformed("a shape that no array has")
    # numpy refuses an empty array whose other axes are too long together
    size = math.prod(shape) * BYTES[value["dtype"]]
    fits = value["blob"] == "" if blobs is None else blobs.get(value["blob"]) == size
    if math.prod(n for n in shape if n) > ELEMENTS or not fits:
        raise Malformed("a value's bytes do not fit its shape and dtype")


def _call(call: Any, number: int, reach: _Reach) -> None:
    _keys(call, CALL_KEYS | (CALL_MAY & call.keys() if isinstance(call, dict) else set()), "a call")
    kinds = ("layer", "op", "module", "outside")
    if not (_name(call["layer"]) and _name(call["op"])) or call["kind"] not in kinds:
        raise Malformed("a call without a layer, operation or kind")
    if not call["layer"] and call["kind"] != "module":
        raise Malformed("a call of no layer, which only the model itself may be")
    if call["inside"] is not None and not (_count(call["inside"]) and call["inside"] < number):
        raise Malformed("a call inside one that has not begun")
    _place(call["at"], reach.bounds)
    named = [struct for key in ("kwargs", "beside") for _, struct in _items(call.get(key, {}), key)]
    if not all(_name(path) for path in _list(call.get("ran", []), "ran")):
        raise Malformed("a call in which something ran that has no name")
    for struct in (*_list(call["args"], "args"), *named):
        _struct(struct, reach, number, reader=call["layer"])  # what a call reads was made by an earlier one
        reach.take_tensors()
    if not all(_count(value) and value < reach.values for value in _list(call.get("draws", []), "draws")):
        raise Malformed("a call that drew numbers which have no value")
    for step in _list(call.get("steps", []), "steps"):
        _inside(step, number, reach)
    for path, step in _items(call.get("given", {}), "given"):
        if not (isinstance(path, str) and isinstance(step, str)):
            raise Malformed("a call whose results come from no step")
    if any(call.get(flag, True) is not True for flag in FLAGS):
        raise Malformed("a call that is marked in a way of no known kind")
    _struct(call["out"], reach, reach.calls)
    # A frame is no node of the graph, nor an operation that made no tensor: nothing is read from them.
    reach.layers.append(call["layer"] if reach.take_tensors() and call["kind"] != "module" else None)


def _inside(step: Any, number: int, reach: _Reach) -> None:
    """One of the operations inside a call: it reads what the call may read, and what the call's own steps gave."""
    _keys(step, {"op", "args", "kwargs", "out"}, "a step inside a call")
    if not _name(step["op"]):
        raise Malformed("a step without an operation")
    for struct in (*_list(step["args"], "args"), *dict(_items(step["kwargs"], "kwargs")).values(), step["out"]):
        _struct(struct, reach, number + 1)
        reach.take_tensors()


def _struct(
    struct: Any, reach: _Reach, before: int, path: str = "", depth: int = 0, reader: str | None = None
) -> None:
    """A structure whose tensors come from calls numbered below `before`; what a `reader` reads says from which."""
    if depth > DEPTH:
        raise Malformed("a structure nests too deeply")
    if isinstance(struct, str) and len(struct) > TEXT:
        raise Malformed(f"a text of more than {TEXT} characters")
    reach.take_part(path, tensor=isinstance(struct, dict) and "tensor" in struct)
    if struct is None or isinstance(struct, (bool, int, float, str)):
        return
    if not isinstance(struct, dict) or struct.keys() not in STRUCTS:
        raise Malformed("a structure of no known kind")
    if "tensor" in struct:
        _tensor(struct, reach, before, reader)
    for key, part in _parts(struct):
        _struct(part, reach, before, f"{path}.{key}" if path else key, depth + 1, reader)
    _leaf(struct)


def _parts(struct: Untrusted) -> Iterator[tuple[str, Any]]:
    """The parts of a container with their keys as a path shows them; keys of a mapping are parts, too."""
    for kind in ("tuple", "list", "slice"):
        yield from ((str(at), item) for at, item in enumerate(_list(struct.get(kind, []), kind)))
    for kind in ("dict", "fields"):
        for pair in _list(struct.get(kind, []), kind):
            if not (isinstance(pair, list) and len(pair) == 2):
                raise Malformed("an entry without key and value")
            if isinstance(pair[0], (dict, list)):
                yield "", pair[0]  # is valid, hence not too deep to be written
            yield str(pair[0]), pair[1]


def _tensor(struct: Untrusted, reach: _Reach, before: int, reader: str | None) -> None:
    if not (_count(struct["tensor"]) and struct["tensor"] < reach.values):
        raise Malformed("a tensor without a value")
    if reader is not None and "from" not in struct:
        raise Malformed("a tensor that is read without a source")
    for source in _list(struct.get("from", []), "from"):
        _source(source, reach, before)
        if reader is not None:
            reach.read(source, reader)
    if "born" in struct:
        _source(struct["born"], reach, before)
    if struct.get("unread", True) is not True or struct.get("number", True) is not True:
        raise Malformed("an argument that is marked in a way of no known kind")


def _leaf(struct: Untrusted) -> None:
    """The forms that hold no structures."""
    for kind in ("opaque", "dtype", "record"):
        if not isinstance(struct.get(kind, ""), str) or len(struct.get(kind, "")) > TEXT:
            raise Malformed(f"{kind} is no text, or a long one")
    if struct.get("float", "NaN") not in NON_FINITE or struct.get("ellipsis", True) is not True:
        raise Malformed("a number or ellipsis of no known kind")
    parts = _list(struct.get("complex", [0.0, 0.0]), "complex")
    if len(parts) != 2 or not all(isinstance(part, (int, float)) or part in NON_FINITE for part in parts):
        raise Malformed("a complex number of no known kind")
    if len(struct.get("slice", (None, None, None))) != 3:
        raise Malformed("a slice without start, stop and step")


def _source(source: Any, reach: _Reach, before: int) -> None:
    if not (isinstance(source, list) and len(source) == 2 and isinstance(source[1], str)):
        raise Malformed("a source of no known kind")
    origin, path = source
    if _count(origin) and origin < before:
        return
    if origin == "input" and any(path == name or path.startswith(f"{name}.") for name in reach.inputs):
        return
    if origin not in ("param", "buffer") or f"{origin}:{path}" not in reach.held:
        raise Malformed("a source that is no earlier call, input or parameter")


def _modules(modules: Any, bounds: _Bounds) -> None:
    if isinstance(modules, dict) and len(modules) > MODULES:
        raise Malformed(f"more than {MODULES} modules")
    for path, module in _items(modules, "modules"):
        _keys(module, MODULE_KEYS, f"module {path:.80}")
        _place(module["source"], bounds)
        parent = module["parent"]
        above = isinstance(parent, str) and parent in modules and len(parent) < len(path)
        if not (above or (path == "" and parent is None)):
            raise Malformed("a module whose parent is not above it")
        if not (_name(path) and _name(module["class"])) or not isinstance(module["leaf"], bool):
            raise Malformed("a module without a class")
        if not all(isinstance(name, str) for name in _list(module["aliases"], "aliases")):
            raise Malformed("an alias that is no text")
        if not isinstance(module["params"], dict):
            raise Malformed("a module without params")
        _plain(module["params"], 0)
        for kind in ("parameters", "buffers"):
            for _, full in _items(module[kind], kind):
                if not isinstance(full, str):
                    raise Malformed("a module's tensor without a name")


def _plain(value: Any, depth: int) -> None:
    if depth > DEPTH:
        raise Malformed("a module's params nest too deeply")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _plain(item, depth + 1)


def _place(place: Any, bounds: _Bounds) -> None:
    """A place in the lesson's own files, whose lines and columns are there."""
    if place is None:
        return
    _keys(place, PLACE_KEYS, "a place")
    if not isinstance(place["file"], str) or not all(_count(place[key]) for key in PLACE_KEYS - {"file"}):
        raise Malformed("a place without file and lines")
    lines = bounds.lines.get(place["file"])
    if lines is None:
        raise Malformed("a place in a file that is none of the lesson's")
    first, last = place["line"], place["endLine"]
    if not 1 <= first <= last <= len(lines):
        raise Malformed("a place at a line that its file does not have")
    if not (1 <= place["column"] <= lines[first - 1] + 1 and 1 <= place["endColumn"] <= lines[last - 1] + 1):
        raise Malformed("a place at a column that its line does not have")


def _name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= NAME


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
