"""Which row of the table a recorded call is, and with which arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lessonpress.replay.operations import complex_numbers, kept, precision, python_numbers
from lessonpress.replay.operations.interpreter import Argument, Step, mark_number
from lessonpress.replay.operations.kinds import Unsupported, kind
from lessonpress.replay.operations.slots import Slots, find_tensors, list_slots
from lessonpress.replay.operations.table import TABLE, WITHOUT_EFFECT, Bound, plain_name, resolve, resolve_layer
from lessonpress.worker.records import Arguments, Call, Module, Struct

# These change a dtype, or nothing: what they do is read off the recorded dtypes.
CASTS = frozenset([
    "to", "type", "type_as", "float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool",
    "cpu",
])
SAME = frozenset(["detach", "detach_", "data", "real", "resolve_conj", "resolve_neg", "requires_grad_"])
_FUNCTIONS = {"Dropout": "dropout", "Dropout1d": "dropout1d", "Dropout2d": "dropout2d", "Dropout3d": "dropout3d",
              "AlphaDropout": "alpha_dropout"}  # fmt: skip
# A layer that needs to know nothing of its module but its weights, which the call names.
UNREGISTERED: Module = {"class": "", "leaf": True, "parent": None, "params": {}, "source": None, "aliases": [],
                        "training": False, "parameters": {}, "buffers": {}}  # fmt: skip
# The steps after 1 of a dtype, which rms_norm adds where it is given no other number.
SMALLEST = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}
REPLACING = frozenset(["data_", "set_"])  # a tensor gets another memory


@dataclass
class CallRows(Slots):
    """Finds the row of each call among the arrays that there are."""

    number: int = 0  # of the call that is repeated now

    def _bound(self, call: Call) -> Bound:
        """A call's row, with its arguments as a step holds them."""
        if plain_name(call["op"]) in REPLACING:  # what the first tensor was before is read no more
            return resolve("alias", [self._encode(arg) for arg in call["args"][1:]], {})
        if call["op"] == "torch.data_":  # the tensor looks at other memory from now on
            return resolve("alias", [self._encode(call["args"][1])], {})
        if plain_name(call["op"]) in CASTS and call["kind"] == "op" and not python_numbers.leaves_tensors(call):
            return self._converted(call, [self._encode(call["args"][0])], {"copy": call["kwargs"].get("copy")})
        args = [self._encode(arg) for arg in call["args"]]
        kwargs = {k: self._encode(v) for k, v in call["kwargs"].items() if k not in WITHOUT_EFFECT}
        if call["kind"] == "layer" and not call.get("draws"):
            return self._layer(call, args, kwargs)
        name = plain_name(call["op"])
        if call.get("draws"):
            return self._drawn(call, args, kwargs)
        if python_numbers.leaves_tensors(call):
            return resolve(python_numbers.name_step(call, self.slots, args), args[:1], {})
        if (own := python_numbers.name_arithmetic(call)) is not None:
            return resolve(own, args, kwargs)
        if self._is_complex(call):
            return self._bind_complex(name, call, args, kwargs)
        if name in CASTS | SAME:
            return self._converted(call, args, kwargs)
        if name == "rms_norm" and (args[3] if len(args) > 3 else kwargs.get("eps")) is None:
            args, kwargs = args[:3], {**kwargs, "eps": SMALLEST.get(self.dtypes[list_slots(args[:1])[0]])}
        if name in ("getitem", "setitem"):
            args[1:2] = [self._index(call["args"][1])]
        return resolve(name, args, kwargs)

    def _renormed(self, number: int, call: Call, bound: Bound) -> Bound:
        """An embedding with `max_norm` first shortens the rows that it is asked for, in the table itself."""
        if bound.operation.name == "Embedding":
            weights, options, ids = bound.args
            table, given = weights["dict"]["weight"], options["dict"]
            renorm, rest = given["max_norm"], (weights, {"dict": {**given, "max_norm": None}}, ids)
            kind = given["norm_type"]
        elif bound.operation.name == "embedding":
            ids, table, padding, renorm, kind, *others = bound.args
            rest = (ids, table, padding, None, kind, *others)
        else:
            return bound
        if renorm is None:
            return bound
        step = resolve("embedding_renorm", [table, ids, renorm, kind], {})
        self._do(Step(number, call["layer"], step.operation.name, tuple(encode_arguments(step.args)), ()))
        if any(slot in self.varying for slot in list_slots(ids)):
            self.varying |= {table["slot"], *self._beside([table["slot"]])}
        return Bound(bound.operation, tuple(rest), bound.inplace)

    def _is_complex(self, call: Call) -> bool:
        """Whether a call reads or gives complex numbers."""
        structs = [*call["args"], *call["kwargs"].values(), call["out"]]
        return any(self._dtype(leaf).startswith("complex") for struct in structs for _, leaf in find_tensors(struct))

    def _bind_complex(self, name: str, call: Call, args: list[Argument], kwargs: dict[str, Argument]) -> Bound:
        """The row that computes with pairs what torch computes with complex numbers."""
        if name == "getitem":
            args[1:2] = [self._index(call["args"][1])]

        def is_complex(arg: Argument) -> bool:
            return isinstance(arg, dict) and "slot" in arg and self.dtypes[arg["slot"]].startswith("complex")

        def shape_of(arg: Argument) -> tuple[int, ...]:
            return self.slots[arg["slot"]].shape[: -1 if is_complex(arg) else None]

        def convert(row: str, arg: Argument) -> Argument:
            slot = self._slot(f"{self.number}:{len(self.ports)}.as pairs")
            shape = self.slots[arg["slot"]].shape
            more = (*shape, 2) if row == "complex_from" else (*shape, 1)
            rest = () if row == "complex_from" else (-1,)
            self._do(Step(self.number, call["layer"], row, (arg, *rest), ((slot, more),)))
            self.limits[slot], self.dtypes[slot] = self.limits[arg["slot"]], "complex128"
            if arg["slot"] in self.varying:
                self.varying.add(slot)
            return {"slot": slot}

        kwargs = {key: value for key, value in kwargs.items() if value is not None}
        return complex_numbers.bind_complex(name, args, kwargs, is_complex, shape_of, convert)

    def _drawn(self, call: Call, args: list[Argument], kwargs: dict[str, Argument]) -> Bound:
        """The row of an operation that is given the random numbers that it drew."""
        noise = {"slot": self._source(*kept.name_noise(self.number, call, 0).split(":", 1))}
        name = plain_name(call["op"])
        if call["kind"] == "layer":
            name, kwargs = _FUNCTIONS.get(name, name), {"p": self.modules[call["layer"]]["params"].get("p", 0.5)}
        writes = "_" if name.endswith("_") else ""
        first = args[0] if args else kwargs.pop("input")
        return resolve(f"{name.rstrip('_')}_drawn{writes}", [first, noise, *args[1:]], kwargs)

    def _with_numbers(self, number: int, call: Call, bound: Bound) -> list[Argument]:
        """A row's arguments; a Python number that the row cannot take from an array must stay what it was."""

        def placed(arg: Argument, name: str) -> Argument:
            if isinstance(arg, list):
                return [placed(part, name) for part in arg]
            if not isinstance(arg, dict) or "number" not in arg:
                return arg
            given, plain = {"slot": arg["slot"]}, arg["number"]
            if not python_numbers.takes_number(bound.operation, name):
                slack = self.limits[arg["slot"]]
                self._do(Step(number, call["layer"], "alias", (given,), (), False, [plain], slack))
                return plain
            return given

        return [placed(arg, name) for arg, name in zip(bound.args, bound.operation.parameters, strict=True)]

    def _layer(self, call: Call, args: list[Argument], kwargs: dict[str, Argument]) -> Bound:
        """A leaf module's row with its weights and constructor parameters."""
        module = self.modules.get(call["layer"]) or (UNREGISTERED if call["op"] == "Linear" else None)
        if module is None:
            raise Unsupported("its module is not registered, so nobody knows how it was made")
        weights = {name: {"slot": self._source(kind, full)}
                   for kind, names in (("param", module["parameters"]), ("buffer", module["buffers"]))
                   for name, full in names.items() if name not in call.get("beside", {})}  # fmt: skip
        weights |= {name: self._encode(struct) for name, struct in call.get("beside", {}).items()}
        params = {name: self._encode(value) for name, value in _wrap_params(module["params"])}
        extra = {"training": call.get("training", False), "dtype": self.run["dtype"]}
        row = TABLE.get(plain_name(call["op"]))
        params |= {name: value for name, value in extra.items() if row is not None and name in row.options}
        packed = bool(args) and isinstance(args[0], list)  # a packed sequence, in its parts
        args = [*args[0], *args[1:]] if packed else args
        bound = resolve_layer(f"Packed{call['op']}" if packed else call["op"], weights, params, args, kwargs)
        options = {name: mark_number(value) for name, value in bound.args[1].items()}
        return Bound(bound.operation, ({"dict": bound.args[0]}, {"dict": options}, *bound.args[2:]))

    def _converted(self, call: Call, args: list[Argument], kwargs: dict[str, Argument]) -> Bound:
        """A change of dtype, or of nothing that a replay knows, as the recorded dtypes tell."""
        results: list[Struct] = [leaf for _, leaf in find_tensors(call["out"])]  # a step inside a call names it
        given, result = require_tensor(call["args"][0]), require_tensor(results[0] if results else None)
        before, after = self.run["values"][given]["dtype"], self.run["values"][result]["dtype"]
        for asked in (*call["args"][1:], *call["kwargs"].values()):
            if isinstance(asked, dict) and "dtype" in asked:
                kind(asked["dtype"])  # float8 … are recorded in a wider dtype, which does not say what was rounded
        if before != after and precision.is_narrow(after, self.run["dtype"]):
            return resolve("rounded", [args[0], {"dtype": after}], {})
        if before != after:
            small = precision.is_small(after) and before != "bool"
            return resolve("wrapped" if small else "cast", [args[0], {"dtype": after}], {})
        return resolve("clone" if kwargs.get("copy") else "alias", args[:1], {})

    def _encode(self, struct: Struct) -> Argument:
        """A recorded argument as a step holds it."""
        if not isinstance(struct, dict):
            return mark_number(struct)
        if "number" in struct:
            return {"slot": self._read(struct), "number": mark_number(float(self.array(struct["tensor"])))}
        if "tensor" in struct:
            return {"slot": self._read(struct)}
        if "tuple" in struct or "list" in struct:
            return [self._encode(part) for part in struct["tuple" if "tuple" in struct else "list"]]
        if "slice" in struct:
            return {"slice": [self._encode(part) for part in struct["slice"]]}
        if "fields" in struct:
            return [self._encode(part) for _, part in struct["fields"]]
        if struct.keys() & {"ellipsis", "dtype", "float"}:
            return dict(struct)
        raise Unsupported("it is given something that is neither a tensor nor a number")

    def _index(self, struct: Struct) -> list[Argument]:
        """An index as the list of its parts; lists of numbers are arrays."""
        parts = struct["tuple"] if isinstance(struct, dict) and "tuple" in struct else [struct]
        return [_make_constant(part["list"]) if isinstance(part, dict) and "list" in part else self._encode(part)
                for part in parts]  # fmt: skip


def encode_arguments(args: Sequence[Argument]) -> list[Argument]:
    """Defaults that a signature filled in, as a step holds them."""
    return [list(arg) if isinstance(arg, tuple) else mark_number(arg) for arg in args]


def _wrap_params(params: Arguments) -> Iterator[tuple[str, Struct]]:
    """Constructor parameters as structures: their lists are bare JSON lists."""
    for name, value in params.items():
        yield name, {"list": value} if isinstance(value, list) else value


def _make_constant(items: list[Struct]) -> Argument:
    """A list inside an index: an array of integers or bools."""

    def unwrap(struct: Struct) -> object:
        if isinstance(struct, dict):
            if "list" not in struct:
                raise Unsupported("an index that mixes numbers and tensors")
            return [unwrap(item) for item in struct["list"]]
        return struct

    values = [unwrap(item) for item in items]
    return {"list": values, "kind": "bool" if np.asarray(values).dtype == np.bool_ else "int64"}


def require_tensor(struct: Struct) -> int:
    """The number of a tensor's value; Unsupported for anything else."""
    if not isinstance(struct, dict) or "tensor" not in struct:
        raise Unsupported("a change of dtype of something that is not a tensor")
    return struct["tensor"]
