"""The published graph: layers and connections, projected from what really ran."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from lessonpress.replay import operations
from lessonpress.worker import recorded

Call = Mapping[str, Any]


def build_graph(captured: Mapping[str, Any], run: str = "execution") -> dict[str, Any]:
    """The graph of one run: `{"layers", "connections", "idle", "unusedInputs"}`.

    Layers come inputs first, then modules and operations in the order in which they ran, the output last. Connections
    join nodes, never frames (layers of kind `module`), and say port, shape and dtype.
    """
    return _Graph(captured["runs"][run], captured["modules"]).told()


def is_node(call: Call) -> bool:
    """Whether a call is drawn: one that only hands a number to Python (`item`, a test of a branch) is not."""
    return call["kind"] != "op" or _holds_tensor(call["out"])


def extract_structure(graph: Mapping[str, Any]) -> tuple[Any, ...]:
    """What two graphs share when they are the same picture: layers with their calls, and who feeds whom."""
    edges = [tuple(c.get(k) for k in ("source", "target", "sourcePort", "targetPort", "sourceCall", "targetCall"))
             for c in graph["connections"]]  # fmt: skip
    return [(layer["id"], layer["calls"]) for layer in graph["layers"]], edges


class _Graph:
    def __init__(self, run: Mapping[str, Any], modules: Mapping[str, Any]) -> None:
        self.run, self.modules = run, modules
        self.calls: list[Call] = run["calls"]
        self.numbers: list[int] = []  # of each call within its layer, from 0
        self.of_layer: dict[str, list[Call]] = {}
        for call in self.calls:
            same = self.of_layer.setdefault(call["layer"], []) if is_node(call) else []
            self.numbers.append(len(same))
            same.append(call)
        self.output = "output:result" if "output" in self.of_layer else "output"

    def told(self) -> dict[str, Any]:
        inputs = [self._input(path, leaf) for path, leaf in self._inputs()]
        connections = list(self._connections())
        used = {connection["source"] for connection in connections}
        ran = set(self.of_layer) | {module["parent"] for module in self._frames()}
        return {
            "layers": [*inputs, *self._layers(), self._output()],
            "connections": [{"id": f"edge-{n}", **connection} for n, connection in enumerate(connections, 1)],
            "idle": [path for path in self.modules
                     if path and path not in ran and path not in self._running and not self._in_leaf(path)],
            "unusedInputs": [layer["id"] for layer in inputs if layer["id"] not in used],
        }  # fmt: skip

    # -- layers --------------------------------------------------------------------------------------------------

    def _inputs(self) -> Iterator[tuple[str, Any]]:
        for name, struct in self.run["inputs"]:
            for path, leaf in recorded.leaves(struct):
                yield f"{name}.{path}" if path else name, leaf

    def _input(self, path: str, leaf: Any) -> dict[str, Any]:
        params: dict[str, Any] = {}
        if isinstance(leaf, dict) and "tensor" in leaf:
            value = self.run["values"][leaf["tensor"]]
            params = {"shape": ",".join(map(str, value["shape"])), "dtype": value["dtype"]}
        else:
            params = {"value": _shown(leaf)}
        layer = _layer(f"input:{path}", "Input", "input", None, params)
        return {**layer, "calls": 1, "outputs": self._leaves(leaf)}

    def _output(self) -> dict[str, Any]:
        layer = _layer(self.output, "Output", "output", None, {})
        return {**layer, "calls": 1, "outputs": self._leaves(self.run["output"])}

    def _layers(self) -> Iterator[dict[str, Any]]:
        told: set[str] = set()
        for call in filter(is_node, self.calls[1:]):
            for path in (*self._above(call["layer"]), call["layer"]):
                if path not in told and path:
                    told.add(path)
                    yield self._module(path) if path in self.modules else self._call_layer(path)

    def _above(self, path: str) -> list[str]:
        """The frames around a module that never run themselves (a ModuleList …) but hold one that does."""
        out: list[str] = []
        module = self.modules.get(path)
        while module is not None and module["parent"]:
            out.insert(0, module["parent"])
            module = self.modules.get(module["parent"])
        return out

    def _module(self, path: str) -> dict[str, Any]:
        module, calls = self.modules[path], self.of_layer.get(path, [])
        leaf = bool(module["leaf"])
        op, kind = (module["class"], "layer") if leaf else ("Module", "module")
        layer = _layer(path, op, kind, module["parent"] or None, module["params"])
        layer.update(self._places(calls, module["source"]))
        layer.update({"calls": len(calls), "outputs": self._outputs(calls)})
        if not leaf:
            layer["class"] = module["class"]
        if module["aliases"]:
            layer["aliases"] = module["aliases"]
        callers = self._callers(calls)
        if callers and callers != [module["parent"] or ""]:
            layer["callers"] = callers
        held = [*module["parameters"].values(), *module["buffers"].values()]
        return {**layer, "tensors": held} if held else layer

    def _call_layer(self, name: str) -> dict[str, Any]:
        """An operation's layer (or an unregistered module's)."""
        calls = self.of_layer[name]
        call = calls[0]
        kind = "module" if call["kind"] == "module" else "layer"
        params = _params(call) if call["kind"] == "op" else {}
        parent = self.calls[call["inside"]]["layer"] if call["inside"] is not None else ""
        layer = _layer(name, call["op"], kind, parent or None, params)
        layer.update(self._places(calls, call["at"]))
        layer.update({"calls": len(calls), "outputs": self._outputs(calls)})
        if call["kind"] in ("layer", "module"):
            layer["registered"] = False
        uses = sorted(
            {f"{s[0]}:{s[1]}" for _, tensor in _tensors(call) for s in tensor["from"] if s[0] in ("param", "buffer")}
        )
        return {**layer, "uses": uses} if uses else layer

    def _places(self, calls: Sequence[Call], declared: Any) -> dict[str, Any]:
        source = {key: declared[key] for key in ("file", "line", "endLine")} if declared else None
        called = [dict(place) for place in dict.fromkeys(tuple(c["at"].items()) for c in calls if c["at"])]
        return {**({"source": source} if source else {}), "called": called}

    def _outputs(self, calls: Sequence[Call]) -> list[dict[str, Any]]:
        return self._leaves(calls[0]["out"]) if calls else []

    def _leaves(self, struct: Any) -> list[dict[str, Any]]:
        return [
            {"path": path, "shape": value["shape"], "dtype": value["dtype"]}
            for path, leaf in recorded.leaves(struct) if isinstance(leaf, dict) and "tensor" in leaf
            for value in (self.run["values"][leaf["tensor"]],)
        ]  # fmt: skip

    def _callers(self, calls: Sequence[Call]) -> list[str]:
        return list(dict.fromkeys(self.calls[c["inside"]]["layer"] for c in calls if c["inside"] is not None))

    def _frames(self) -> Iterator[Mapping[str, Any]]:
        return (self.modules[path] for path in self.of_layer if path in self.modules)

    @functools.cached_property
    def _running(self) -> Set[str]:
        """Every path above a layer that ran."""
        return {path[: dot.start()] for path in self.of_layer for dot in re.finditer(r"\.", path)}

    def _in_leaf(self, path: str) -> bool:
        return any(self.modules[parent]["leaf"] for parent in self._above(path))

    # -- connections ---------------------------------------------------------------------------------------------

    def _connections(self) -> Iterator[dict[str, Any]]:
        for number, call in enumerate(self.calls):
            if call["kind"] != "module" and is_node(call):
                for port, tensor in _tensors(call):
                    yield from self._into(call["layer"], port, tensor, self.numbers[number])
        for path, leaf in recorded.leaves(self.run["output"]):
            if isinstance(leaf, dict) and "tensor" in leaf:
                yield from self._into(self.output, path or None, leaf, None)

    def _into(self, target: str, port: str | None, tensor: Any, number: int | None) -> Iterator[dict[str, Any]]:
        value = self.run["values"][tensor["tensor"]]
        for source, path in tensor["from"]:
            if source in ("param", "buffer"):
                continue
            connection: dict[str, Any] = {
                "source": f"input:{path}" if source == "input" else self.calls[source]["layer"], "target": target,
                "sourcePort": None if source == "input" else path or None, "targetPort": port,
                "shape": value["shape"], "dtype": value["dtype"],
            }  # fmt: skip
            if source != "input" and len(self.of_layer[connection["source"]]) > 1:
                connection["sourceCall"] = self.numbers[source]
            if number is not None and len(self.of_layer[target]) > 1:
                connection["targetCall"] = number
            yield connection


def _layer(id_: str, op: str, kind: str, parent: str | None, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": id_, "label": id_, "op": op, "kind": kind, "parent": parent, "params": dict(params)}


def name_arguments(call: Call) -> list[tuple[str, Any]]:
    """A call's arguments with their names: torch's where the operation table knows them, else positions."""
    names, rest = _names(call["op"].removeprefix("torch."), call["kind"] == "layer")
    out: list[tuple[str, Any]] = []
    for i, arg in enumerate(call["args"]):
        if rest is not None and i >= names.index(rest) and len(call["args"]) > len(names):
            return [*out, (rest, {"list": call["args"][i:]}), *call["kwargs"].items()]
        out.append((names[i] if i < len(names) else str(i), arg))
    return [*out, *call["kwargs"].items()]


def _names(op: str, layer: bool) -> tuple[Sequence[str], str | None]:
    """The parameter names of an operation or leaf module, and the one that takes all further arguments."""
    row = operations.TABLE.get(op) or operations.TABLE.get(operations.plain_name(op))
    if row is None or row.layer != layer:
        return (), None
    return (row.parameters[2:] if layer else row.parameters), row.variadic


def _tensors(call: Call) -> Iterator[tuple[str, Any]]:
    """The tensors that a call reads, with their ports: `input`, `hx.0`, `tensors.1`."""
    for name, struct in name_arguments(call):
        for path, leaf in recorded.leaves(struct):
            if isinstance(leaf, dict) and "tensor" in leaf and "unread" not in leaf:
                yield (f"{name}.{path}" if path else name), leaf


def _params(call: Call) -> dict[str, Any]:
    """An operation's arguments that are no tensors, as a reader sees them."""
    return {
        name: _shown(struct) for name, struct in name_arguments(call)
        if not name.startswith("_") and struct is not None and not _holds_tensor(struct)
    }  # fmt: skip


def _holds_tensor(struct: Any) -> bool:
    return any(isinstance(leaf, dict) and "tensor" in leaf for _, leaf in recorded.leaves(struct))


def _shown(struct: Any) -> Any:
    """A plain argument as readable JSON: slices and ellipses as Python writes them."""
    if not isinstance(struct, dict):
        return struct
    if "slice" in struct:
        start, stop, step = ("" if part is None else str(part) for part in struct["slice"])
        return f"{start}:{stop}" + (f":{step}" if step else "")
    if "ellipsis" in struct:
        return "..."
    for kind in ("tuple", "list"):
        if kind in struct:
            return [_shown(item) for item in struct[kind]]
    if "dict" in struct:
        return {str(key): _shown(value) for key, value in struct["dict"]}
    return next((struct[key] for key in ("float", "dtype", "complex", "opaque") if key in struct), None)
