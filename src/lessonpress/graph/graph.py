"""The published graph: layers and connections, projected from what really ran."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import count
from typing import TYPE_CHECKING, Literal

from lessonpress.replay import operations
from lessonpress.worker import recorded

if TYPE_CHECKING:
    from lessonpress.lesson.records import CallSite, Connection, Graph, Layer, TensorType
    from lessonpress.worker.records import Arguments, Call, Json, Module, Place, Recorded, Run, Struct, Tree

Kind = Literal["input", "layer", "module", "output"]


def build_graph(captured: Recorded, run: str = "execution") -> Graph:
    """The graph of one run.

    Layers come inputs first, then modules and operations in the order in which they ran, the output last. Connections
    join nodes, never frames (layers of kind `module`), and say port, shape and dtype.
    """
    return _GraphBuilder(captured["runs"][run], captured["modules"]).build()


def is_node(call: Call) -> bool:
    """Whether a call is drawn: one that only hands a number to Python (`item`, a test of a branch) is not."""
    return call["kind"] != "op" or _holds_tensor(call["out"])


def extract_structure(graph: Graph) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """What two graphs share when they are the same picture: layers with their calls, and who feeds whom."""
    edges = [tuple(c.get(k) for k in ("source", "target", "sourcePort", "targetPort", "sourceCall", "targetCall"))
             for c in graph["connections"]]  # fmt: skip
    return [(layer["id"], layer["calls"]) for layer in graph["layers"]], edges


class _GraphBuilder:
    def __init__(self, run: Run, modules: Mapping[str, Module]) -> None:
        self.run, self.modules = run, modules
        self.calls: list[Call] = run["calls"]
        self.numbers: list[int] = []  # of each call within its layer, from 0
        self.by_layer: dict[str, list[Call]] = {}
        for call in self.calls:
            same = self.by_layer.setdefault(call["layer"], []) if is_node(call) else []
            self.numbers.append(len(same))
            same.append(call)
        self.frames: dict[str, str | None] = {}  # by module: the frame in which it is drawn
        self.output = "output:result" if "output" in self.by_layer else "output"
        self.edges = count(1)

    def build(self) -> Graph:
        inputs = [self._make_input(path, leaf) for path, leaf in self._list_inputs()]
        connections = list(self._list_connections())
        used = {connection["source"] for connection in connections}
        return {
            "layers": [*inputs, *self._list_layers(), self._make_output()],
            "connections": connections,
            "idle": self._list_idle(),
            "unusedInputs": [layer["id"] for layer in inputs if layer["id"] not in used],
        }

    # -- layers --------------------------------------------------------------------------------------------------

    def _list_inputs(self) -> Iterator[tuple[str, Struct]]:
        for name, struct in self.run["inputs"]:
            for path, leaf in recorded.leaves(struct):
                yield f"{name}.{path}" if path else name, leaf

    def _make_input(self, path: str, leaf: Struct) -> Layer:
        if isinstance(leaf, dict) and "tensor" in leaf:
            value = self.run["values"][leaf["tensor"]]
            params: Arguments = {"shape": ",".join(map(str, value["shape"])), "dtype": value["dtype"]}
        else:
            params = {"value": _format_argument(leaf)}
        layer = _make_layer(f"input:{path}", "Input", "input", None, params)
        return {**layer, "calls": 1, "outputs": self._list_tensors(leaf)}

    def _make_output(self) -> Layer:
        layer = _make_layer(self.output, "Output", "output", None, {})
        return {**layer, "calls": 1, "outputs": self._list_tensors(self.run["output"])}

    def _list_layers(self) -> Iterator[Layer]:
        seen: set[str] = set()
        for call in filter(is_node, self.calls[1:]):
            for path in (*self._list_frames(call["layer"]), call["layer"]):
                if path not in seen and path:
                    seen.add(path)
                    yield self._make_module(path) if path in self.modules else self._make_operation(path)

    def _list_frames(self, path: str) -> list[str]:
        """The frames around a module, from the outermost down."""
        frames: list[str] = []
        frame = self._find_frame(path) if path in self.modules else None
        while frame is not None:
            frames.insert(0, frame)
            frame = self._find_frame(frame)
        return frames

    def _find_frame(self, path: str) -> str | None:
        """The module in whose frame one is drawn: what it is registered in.

        A leaf is no frame: what runs inside one (a parametrised layer's weight, an attention's output layer that is
        called by itself, too) stands beside it, unless something between them has run as a whole.
        """
        if path not in self.frames:
            parent = self.modules[path]["parent"]
            above = self._list_above(path)
            leaf = next((at for at, module in enumerate(above) if self.modules[module]["leaf"]), None)
            if leaf is not None:
                ran = [module for module in above[leaf + 1 :] if module in self.by_layer]
                parent = ran[-1] if ran else self._find_frame(above[leaf])
            self.frames[path] = parent or None
        return self.frames[path]

    def _list_above(self, path: str) -> list[str]:
        """The modules around one, from the outermost down; some never run themselves (a ModuleList …)."""
        above: list[str] = []
        module = self.modules.get(path)
        while module is not None and module["parent"]:
            above.insert(0, module["parent"])
            module = self.modules.get(module["parent"])
        return above

    def _make_module(self, path: str) -> Layer:
        """A registered module's layer: a node where it is a leaf, else a frame."""
        module, calls = self.modules[path], self.by_layer.get(path, [])
        op, kind = _name_module(module)
        layer = _make_layer(path, op, kind, self._find_frame(path), module["params"])
        self._add_calls(layer, calls, module["source"])
        if not module["leaf"]:
            layer["class"] = module["class"]
        if module["aliases"]:
            layer["aliases"] = module["aliases"]
        callers = self._list_callers(calls)
        if callers and callers != [module["parent"] or ""]:
            layer["callers"] = callers
        if held := [*module["parameters"].values(), *module["buffers"].values()]:
            layer["tensors"] = held
        return layer

    def _make_operation(self, name: str) -> Layer:
        """An operation's layer (or an unregistered module's)."""
        calls = self.by_layer[name]
        call = calls[0]
        kind: Kind = "module" if call["kind"] == "module" else "layer"
        params = _list_params(call) if call["kind"] == "op" else {}
        parent = self.calls[call["inside"]]["layer"] if call["inside"] is not None else ""
        layer = _make_layer(name, call["op"], kind, parent or None, params)
        self._add_calls(layer, calls, call["at"])
        if call["kind"] in ("layer", "module"):
            layer["registered"] = False
        read = (source for _, tensor in _list_reads(call) for source in tensor["from"])
        if uses := sorted({f"{kind}:{name}" for kind, name in read if kind in ("param", "buffer")}):
            layer["uses"] = uses
        return layer

    def _add_calls(self, layer: Layer, calls: Sequence[Call], declared: Place | None) -> None:
        """Where a layer is declared and called, how often, and what its first call gave."""
        if declared:
            layer["source"] = {"file": declared["file"], "line": declared["line"], "endLine": declared["endLine"]}
        layer["called"] = _list_places(calls)
        layer["calls"] = len(calls)
        layer["outputs"] = self._list_tensors(calls[0]["out"]) if calls else []

    def _list_tensors(self, struct: Struct) -> list[TensorType]:
        values = [(path, self.run["values"][leaf["tensor"]]) for path, leaf in _find_tensors(struct)]
        return [{"path": path, "shape": value["shape"], "dtype": value["dtype"]} for path, value in values]

    def _list_callers(self, calls: Sequence[Call]) -> list[str]:
        return list(dict.fromkeys(self.calls[c["inside"]]["layer"] for c in calls if c["inside"] is not None))

    # -- modules that did not run --------------------------------------------------------------------------------

    def _list_idle(self) -> list[str]:
        """The modules that did not run, nor any inside or around them."""
        unseen = {path for call in self.calls for path in call.get("ran", ())}
        ran = {*self.by_layer, *unseen}
        ran |= {self.modules[path]["parent"] or "" for path in ran if path in self.modules}
        idle = (path for path in self.modules if path and path not in ran and path not in self._above_running)
        return [path for path in idle if not self._is_in_leaf(path)]

    @functools.cached_property
    def _above_running(self) -> Set[str]:
        """Every path above a layer that ran."""
        ran = (*self.by_layer, *(path for call in self.calls for path in call.get("ran", ())))
        return {path[: dot.start()] for path in ran for dot in re.finditer(r"\.", path)}

    def _is_in_leaf(self, path: str) -> bool:
        return any(self.modules[parent]["leaf"] for parent in self._list_above(path))

    # -- connections ---------------------------------------------------------------------------------------------

    def _list_connections(self) -> Iterator[Connection]:
        for number, call in enumerate(self.calls):
            if call["kind"] != "module" and is_node(call):
                for port, tensor in _list_reads(call):
                    yield from self._connect(call["layer"], port, tensor, self.numbers[number])
        for path, tensor in _find_tensors(self.run["output"]):
            yield from self._connect(self.output, path or None, tensor, None)

    def _connect(self, target: str, port: str | None, tensor: Tree, number: int | None) -> Iterator[Connection]:
        """The edges along which a tensor came to a port of call `number` of a layer (None: to the output)."""
        value = self.run["values"][tensor["tensor"]]
        for source, path in tensor["from"]:
            if source in ("param", "buffer"):
                continue
            connection: Connection = {
                "id": f"edge-{next(self.edges)}",
                "source": f"input:{path}" if source == "input" else self.calls[source]["layer"], "target": target,
                "sourcePort": None if source == "input" else path or None, "targetPort": port,
                "shape": value["shape"], "dtype": value["dtype"],
            }  # fmt: skip
            if source != "input" and len(self.by_layer[connection["source"]]) > 1:
                connection["sourceCall"] = self.numbers[source]
            if number is not None and len(self.by_layer[target]) > 1:
                connection["targetCall"] = number
            yield connection


def _make_layer(name: str, op: str, kind: Kind, parent: str | None, params: Arguments) -> Layer:
    return {"id": name, "label": name, "op": op, "kind": kind, "parent": parent, "params": dict(params)}


def _name_module(module: Module) -> tuple[str, Kind]:
    """What a registered module is called in the graph, and what it is there."""
    return (module["class"], "layer") if module["leaf"] else ("Module", "module")


def _list_places(calls: Sequence[Call]) -> list[CallSite]:
    """Where the calls stand in the lesson's files, each place once."""
    places = [call["at"] for call in calls if call["at"]]
    distinct = dict.fromkeys((at["file"], at["line"], at["endLine"], at["column"], at["endColumn"]) for at in places)
    return [{"file": file, "line": line, "endLine": end_line, "column": column, "endColumn": end_column}
            for file, line, end_line, column, end_column in distinct]  # fmt: skip


def name_arguments(call: Call) -> list[tuple[str, Struct]]:
    """A call's arguments with their names: torch's where the operation table knows them, else positions."""
    names, rest = _list_parameters(call["op"].removeprefix("torch."), call["kind"] == "layer")
    named: list[tuple[str, Struct]] = []
    for i, arg in enumerate(call["args"]):
        if rest is not None and i >= names.index(rest) and len(call["args"]) > len(names):
            return [*named, (rest, {"list": call["args"][i:]}), *call["kwargs"].items()]
        named.append((names[i] if i < len(names) else str(i), arg))
    return [*named, *call["kwargs"].items()]


def _list_parameters(op: str, layer: bool) -> tuple[Sequence[str], str | None]:
    """The parameter names of an operation or leaf module, and the one that takes all further arguments."""
    row = operations.TABLE.get(op) or operations.TABLE.get(operations.plain_name(op))
    if row is None or row.layer != layer:
        return (), None
    return (row.parameters[2:] if layer else row.parameters), row.variadic


def _list_reads(call: Call) -> Iterator[tuple[str, Tree]]:
    """The tensors that a call reads, with their ports: `input`, `hx.0`, `tensors.1`."""
    for name, struct in (*name_arguments(call), *call.get("beside", {}).items()):
        for path, leaf in _find_tensors(struct):
            if "unread" not in leaf:
                yield (f"{name}.{path}" if path else name), leaf


def _list_params(call: Call) -> Arguments:
    """An operation's arguments that are no tensors, as a reader sees them."""
    return {
        name: _format_argument(struct) for name, struct in name_arguments(call)
        if not name.startswith("_") and struct is not None and not _holds_tensor(struct)
    }  # fmt: skip


def _find_tensors(struct: Struct) -> Iterator[tuple[str, Tree]]:
    """The tensors in a structure with their paths, `""` for a bare one."""
    leaves: list[tuple[str, Struct]] = recorded.leaves(struct)
    for path, leaf in leaves:
        if isinstance(leaf, dict) and "tensor" in leaf:
            yield path, leaf


def _holds_tensor(struct: Struct) -> bool:
    return any(True for _ in _find_tensors(struct))


def _format_argument(struct: Struct) -> Json:
    """A plain argument as readable JSON: slices and ellipses as Python writes them."""
    if not isinstance(struct, dict):
        return struct
    if "slice" in struct:
        start, stop, step = ("" if part is None else str(part) for part in struct["slice"])
        return f"{start}:{stop}" + (f":{step}" if step else "")
    if "ellipsis" in struct:
        return "..."
    if "tuple" in struct or "list" in struct:
        return [_format_argument(item) for item in struct["tuple" if "tuple" in struct else "list"]]
    if "dict" in struct:
        return {str(key): _format_argument(value) for key, value in struct["dict"]}
    return struct.get("float", struct.get("dtype", struct.get("complex", struct.get("opaque"))))
