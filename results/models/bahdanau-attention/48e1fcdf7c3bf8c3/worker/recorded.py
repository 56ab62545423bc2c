"""Recorded runs as numpy arrays by address: `encoder[0]`, `alignment.softmax`, `input:state`, `cell#*`.

Torch-free: checks and metrics see the runs through this, and so does everything that publishes numbers.
"""

from __future__ import annotations

import ast
import base64
import difflib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import records

Array = NDArray[Any]
HEAD = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^"\[#])+')
PICK = re.compile(r'\[("(?:[^"\\]|\\.)*"|[^\]"]*)\]')
CALL = re.compile(r"#(\d+|\*)")
OPERATION = re.compile(r"(\w+@)(.*)(#\d+)", re.DOTALL)
SPECIAL = re.compile(r'[#@\[\s"]')
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


class NoSuchAddress(KeyError):
    """An address that matches nothing; `nearest` are those to write instead, and `kind` says what these are."""

    def __init__(self, address: str, why: str, nearest: list[str], kind: str = "near it") -> None:
        super().__init__(address)
        self.address, self.why, self.nearest, self.kind = address, why, nearest, kind

    def instead(self) -> str:
        """What to write instead, in words; nothing where nothing is known."""
        return f"{self.kind}: {', '.join(self.nearest)}" if self.nearest else ""

    def __str__(self) -> str:
        return f"{self.address!r} {self.why}" + (f"; {self.instead()}" if self.nearest else "")


@dataclass(frozen=True)
class Address:
    """A parsed address: what it names, the picks inside that, and which call of a module."""

    base: str
    picks: tuple[str | int, ...]
    call: int | str | None


@lru_cache(maxsize=4096)  # checks ask for the same places of run after run
def parse(text: str) -> Address:
    """Read an address. Raises NoSuchAddress for text that is none."""
    head = HEAD.match(text)
    if head is None:
        raise NoSuchAddress(text, "is no address", [])
    try:
        return _parsed(text, head)
    except ValueError:
        why = "has a name in quotes that cannot be read, or a number that is too long"
        raise NoSuchAddress(text, why, []) from None


def _parsed(text: str, head: re.Match[str]) -> Address:
    at = head.end()
    base = QUOTED.sub(lambda m: json.loads(m[0]), head[0])
    if "@" in QUOTED.sub("", head[0]) and (number := CALL.match(text, at)):
        base, at = base + number[0], number.end()
    picks: list[str | int] = []
    while pick := PICK.match(text, at):
        key = pick[1].strip()
        picks.append(json.loads(key) if key.startswith('"') else int(key) if re.fullmatch(r"-?\d+", key) else key)
        at = pick.end()
    call = CALL.match(text, at)
    at = call.end() if call else at
    if at != len(text):
        raise NoSuchAddress(text, f"cannot be read from {text[at:]!r} on", [])
    return Address(base, tuple(picks), None if call is None else "*" if call[1] == "*" else int(call[1]))


def quote(path: str) -> str:
    """A module path or id as an address writes it (parts with special characters in double quotes)."""
    operation = OPERATION.fullmatch(path)
    name, scope, number = operation.groups() if operation else ("", path, "")
    parts = [json.dumps(p, ensure_ascii=False) if SPECIAL.search(p) else p for p in scope.split(".")]
    return name + ".".join(parts) + number


def decode_array(value: records.Value, blobs: Mapping[str, str]) -> Array:
    """A recorded value as a numpy array; bfloat16 widens to float32, which holds it exactly."""
    data = base64.b64decode(blobs[value["blob"]])
    if value["dtype"] == "bfloat16":
        wide = np.frombuffer(data, dtype="<u2").astype("<u4") << 16
        return wide.view("<f4").reshape(value["shape"])
    return np.frombuffer(data, dtype=np.dtype(value["dtype"]).newbyteorder("<")).reshape(value["shape"])


def select(values: Array, spec: str | None, shape: list[int] | None) -> Array:
    """Cut an array as a recipe says: basic indexing such as `[0, :, 1:3]`, then a new shape.

    Raises ValueError for anything but basic indexing, and for indices and shapes that do not fit.
    """
    out = values[read_index(spec)] if spec else values
    return np.asarray(out).reshape(shape) if shape is not None else np.asarray(out)


def read_index(spec: str) -> Any:
    """The index that a text such as `[0, :, 1:3]` says. Raises ValueError for anything but basic indexing."""
    text = spec.strip()
    text = text if text.startswith("[") else f"[{text}]"
    try:
        node = ast.parse(f"x{text}", mode="eval").body
        if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
            raise ValueError
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return tuple(_item(item) for item in items)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise ValueError(f"{spec!r:.80} is no basic indexing such as [0, :, 1:3]") from None


def _item(node: ast.expr) -> Any:
    if isinstance(node, ast.Slice):
        return slice(*(None if part is None else _whole(part) for part in (node.lower, node.upper, node.step)))
    value = ast.literal_eval(node)
    return value if value is Ellipsis or value is None else _whole(node)


def _whole(node: ast.expr) -> int:
    value = ast.literal_eval(node)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError
    return value


class Run(Mapping[str, Array]):
    """One recorded run: every address is a key, every value a numpy array that cannot be written to."""

    def __init__(
        self, run: records.Run | records.OutputRun, modules: Mapping[str, records.Module], blobs: Mapping[str, str]
    ) -> None:
        self.run, self.blobs = run, blobs
        self.state = {"param": run["params"], "buffer": run["buffers"]}
        self.alias = {alias: path for path, m in modules.items() for alias in m.get("aliases", ())}
        self.calls: dict[str, list[records.Call | records.Output]] = {}
        for call in run["calls"][1:]:
            if call["layer"]:  # a model that calls itself has no path
                self.calls.setdefault(call["layer"], []).append(call)
        self.arrays: dict[int, Array] = {}

    def __getitem__(self, address: str) -> Array:
        parsed = parse(address)
        structs = self.structs(parsed, address)
        arrays = [self._picked(struct, parsed, address) for struct in structs]
        if parsed.call == "*":
            shapes = {array.shape: None for array in arrays}
            if len(shapes) > 1:
                raise NoSuchAddress(address, f"cannot be stacked: its calls gave {', '.join(map(str, shapes))}", [])
            return np.stack(arrays)
        return arrays[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self.addresses())

    def __len__(self) -> int:
        return len(self.addresses())

    def __contains__(self, address: object) -> bool:
        try:
            return isinstance(address, str) and self[address] is not None
        except KeyError:
            return False

    def addresses(self) -> list[str]:
        """Every address of the run that names one array."""
        out = [f"input:{quote(name)}" for name, struct in self.run["inputs"] for name in _paths(struct, name)]
        out += [f"{kind}:{quote(name)}" for kind, names in self.state.items() for name in names]
        for layer, calls in self.calls.items():
            for n, call in enumerate(calls):
                suffix = f"#{n}" if len(calls) > 1 else ""
                out += [f"{quote(layer)}{path}{suffix}" for path in _picks(call["out"])]
        return out + [f"output{path}" for path in _picks(self.run["output"])]

    def structs(self, parsed: Address, address: str) -> list[records.Struct]:
        """What an address names before its picks: one structure, or one for each call under `#*`."""
        base = parsed.base
        kind, colon, name = base.partition(":")
        if colon and name in self.state.get(kind, ()):
            return [{"tensor": self.state[kind][name], "drawn": True}]
        if colon and kind == "input":
            for top, struct in self.run["inputs"]:
                for path, leaf in _leaves(struct, top):
                    if path == name:
                        return [leaf]
        calls = self.calls.get(self.alias.get(base, base))
        if calls:
            if parsed.call == "*":
                return [call["out"] for call in calls]
            if parsed.call is None and len(calls) > 1:
                why = f"was called {len(calls)} times; say which: #0 to #{len(calls) - 1}, or #* for all"
                raise NoSuchAddress(address, why, [])
            index = int(parsed.call or 0)
            if index >= len(calls):
                raise NoSuchAddress(address, f"was called {len(calls)} times, counted from #0", [])
            return [calls[index]["out"]]
        if base == "output":
            return [self.run["output"]]
        raise NoSuchAddress(address, "matches nothing that ran", self._nearest(address))

    def find_struct(self, address: str) -> records.Tree:
        """The structure of the one array that an address names. Raises NoSuchAddress."""
        parsed = parse(address)
        structs = self.structs(parsed, address)
        if parsed.call == "*":
            raise NoSuchAddress(address, "names several arrays", [])
        struct = structs[0]
        for pick in parsed.picks:
            struct = self._inside(struct, pick, address)
        if not (isinstance(struct, dict) and "tensor" in struct):
            raise NoSuchAddress(address, "holds no single array", [])
        return struct

    def _picked(self, struct: records.Struct, parsed: Address, address: str) -> Array:
        for pick in parsed.picks:
            struct = self._inside(struct, pick, address)
        if isinstance(struct, dict) and "tensor" in struct:
            return self._array(struct)
        if isinstance(struct, (bool, int, float)) or (isinstance(struct, dict) and struct.keys() == {"float"}):
            return np.asarray(float(struct["float"]) if isinstance(struct, dict) else struct)
        inner = [f"{address}{path}" for path in _picks(struct)] if not parsed.call else []
        raise NoSuchAddress(address, "holds no single array", inner[:6], "it holds")

    def _inside(self, struct: records.Struct, pick: str | int, address: str) -> records.Struct:
        if isinstance(struct, dict):
            items = struct.get("tuple", struct.get("list"))
            if items is not None and isinstance(pick, int) and -len(items) <= pick < len(items):
                return items[pick]
            for key, value in struct.get("dict", struct.get("fields", [])):
                if key == pick or str(key) == str(pick):
                    return value
        if isinstance(struct, dict) and "tensor" in struct:
            raise NoSuchAddress(address, f"is one array, there is nothing at [{pick}] to pick; select: cuts arrays", [])
        raise NoSuchAddress(address, f"has nothing at [{pick}]", [])

    def _array(self, struct: records.Tree) -> Array:
        number = struct["tensor"]
        if number not in self.arrays:
            self.arrays[number] = decode_array(self.run["values"][number], self.blobs)
        out = self.arrays[number]
        # Parameters are kept as they were initialised; the run used them in its own precision.
        wide = struct.get("drawn") and out.dtype == np.float32 and self.run["dtype"] == "float64"
        return out.astype(np.float64) if wide else out

    def _nearest(self, address: str) -> list[str]:
        """The addresses that are spelled much like one, then those whose last name is the same."""
        known, last = self.addresses(), _last(address)
        same = [a for a in known if last and _last(a) == last]
        return list(dict.fromkeys(difflib.get_close_matches(address, known, n=4, cutoff=0.5) + same[:3]))[:5]


def keep_outputs(capture: records.Recorded) -> records.Outputs:
    """A record that keeps of every call only what it gave: what a check can read of a lesson and of its variants."""
    runs = {name: _keep_run(run) for name, run in capture["runs"].items()}
    return {"runs": runs, "modules": capture["modules"], "blobs": capture["blobs"]}


def _keep_run(run: records.Run) -> records.OutputRun:
    calls: list[records.Output] = [{"layer": call["layer"], "out": call["out"]} for call in run["calls"]]
    return {
        "kind": run["kind"], "seed": run["seed"], "dtype": run["dtype"], "mode": run["mode"], "inputs": run["inputs"],
        "output": run["output"], "calls": calls, "params": run["params"], "buffers": run["buffers"],
        "values": run["values"],
    }  # fmt: skip


def digest_results(capture: records.Recorded | records.Outputs) -> dict[str, list[str]]:
    """By run, of every call a digest of what it gave: two runs that computed the same have the same."""
    return {name: [_digest_struct(call["out"], run["values"]) for call in run["calls"]]
            for name, run in capture["runs"].items()}  # fmt: skip


def _digest_struct(out: records.Struct, values: list[records.Value]) -> str:
    return hashlib.sha256(json.dumps(_fill_in(out, values)).encode()).hexdigest()


def _fill_in(struct: Any, values: list[records.Value]) -> Any:
    """A structure with each tensor's dtype, shape and bytes in its place; what is not recorded counts for nothing."""
    if isinstance(struct, list):
        return [_fill_in(part, values) for part in struct]
    if not isinstance(struct, dict):
        return struct
    if "tensor" in struct:
        value = values[struct["tensor"]]
        return [value["dtype"], value["shape"], value["blob"]]
    return {key: _fill_in(part, values) for key, part in struct.items() if key != "opaque"}


class Runs(Mapping[str, Run]):
    """All recorded runs of a capture by id: `runs["zero"]["alignment.softmax"]`."""

    def __init__(self, capture: records.Recorded | records.Outputs) -> None:
        self.capture = capture
        self.runs = {name: Run(run, capture["modules"], capture["blobs"]) for name, run in capture["runs"].items()}

    def __getitem__(self, name: str) -> Run:
        if name not in self.runs:
            raise NoSuchAddress(name, "is no run", list(self.runs), "runs")
        return self.runs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)


def _last(address: str) -> str:
    """The last name of an address, without picks and calls: `line` of `part.line[0]#1`."""
    return address.split("[")[0].split("#")[0].rpartition(".")[2]


def _items(struct: Any) -> list[tuple[Any, Any]]:
    if isinstance(struct, dict):
        for kind in ("tuple", "list"):
            if kind in struct:
                return list(enumerate(struct[kind]))
        for kind in ("dict", "fields"):
            if kind in struct:
                return [(key, value) for key, value in struct[kind]]
    return []


def _leaves(struct: Any, path: str) -> Iterator[tuple[str, Any]]:
    """A structure and everything inside it, by dotted path."""
    yield path, struct
    for key, value in _items(struct):
        yield from _leaves(value, f"{path}.{key}" if path else str(key))


def leaves(struct: Any) -> list[tuple[str, Any]]:
    """The leaves of a structure by dotted path, `""` for a bare one."""
    return [(path, leaf) for path, leaf in _leaves(struct, "") if not _items(leaf)]


def _paths(struct: Any, name: str) -> list[str]:
    return [path for path, leaf in _leaves(struct, name) if isinstance(leaf, dict) and "tensor" in leaf]


def _picks(struct: Any) -> list[str]:
    """The picks that lead to each array of a structure: `""`, `[0]`, `[1][0]`, `[weights]`."""
    if isinstance(struct, dict) and "tensor" in struct:
        return [""]
    out = []
    for key, value in _items(struct):
        shown = str(key) if re.fullmatch(r'[^\]"\s]+', str(key)) else json.dumps(str(key), ensure_ascii=False)
        out += [f"[{shown}]{rest}" for rest in _picks(value)]
    return out
