"""Runs the function of a lesson that makes its weights, and keeps what it says is to be kept."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from . import inputs, load, modules, portable, run, stored, values
from .places import Places
from .records import Kept, Place, Plan, Training, Value

NAME, FIGURE = re.compile(r"[a-z0-9_-]{1,60}"), re.compile(r"[^\W\d][\w ]{0,39}")
DRAWN = "drawn"  # the word for what the seed draws
MOST_FIGURES, MOST_KEPT, MOST_LINES = 20, 50, 100_000
LARGEST = 1e300
PAUSE = 0.1  # seconds between two lines of progress: more would cost more than they say
Figures: TypeAlias = dict[str, int | float]  # numbers by name
STORED = {str(dtype).removeprefix("torch.") for dtype in stored.DTYPES.values()}


def train(plan: Plan, folder: str, tell: Callable[[Figures], None]) -> Training:
    """Build the model as a run does, go through what the lesson's function yields, and answer what was kept.

    `tell` is called with figures now and then. Returns `{"kept": [{"name", "figures", "tensors": {parameter: {"dtype",
    "shape", "blob"}}}], "blobs", "lines", "first", "last"}`: how many mappings came without a name, and the first and
    the last of them. Raises run.Failed.
    """
    task, places = plan["prepare"], Places(folder)
    if task is None:
        raise ValueError("the plan has no training")
    with run.reporting(places, "import", None, None):
        run.seed(task["seed"])
        kind = load.import_class(folder, plan["model"]["file"], plan["model"]["class"])
    with run.reporting(places, "prepare", None, None):
        function = load.import_function(folder, task["file"], task["function"])
    with portable.installed():
        run.seed(task["seed"])
        with run.reporting(places, "build", None, None):
            model = kind(**inputs.from_json(task["args"]))
            run.switch(model, task["mode"])
        with run.reporting(places, "prepare", None, None):
            run.seed(task["seed"])
            steps = function(model, **inputs.from_json(task["options"]))
            if not isinstance(steps, Iterator):
                raise load.Refused("prepare", f"{task['function']} returned {type(steps).__name__}",
                                   "a function with `yield` in it")  # fmt: skip
            return _Kept(model, places, tell).all(steps)


class _Kept:
    """What came of the steps until now."""

    def __init__(self, model: nn.Module, places: Places, tell: Callable[[Figures], None]) -> None:
        self.model, self.places, self.tell = model, places, tell
        self.kept: list[Kept] = []
        self.blobs: dict[str, str] = {}
        self.ends: list[Figures] = []  # the first and the last mapping without a name
        self.lines, self.spoke = 0, 0.0

    def all(self, steps: Iterator[Any]) -> Training:
        """Go through the steps. Raises Refused, at the line where the function stands, for what cannot be kept."""
        place: Place | None = None
        try:
            for item in steps:
                place = self._where(steps)
                self._take(item)
            if not self.kept:
                raise _Wrong("nothing was kept", 'a name beside figures, such as: yield "trained", {"loss": loss}')
        except _Wrong as wrong:
            raise load.Refused("prepare", str(wrong), wrong.expected, place) from None
        first, last = (self.ends[0], self.ends[-1]) if self.ends else (None, None)
        return {"kept": self.kept, "blobs": self.blobs, "lines": self.lines, "first": first, "last": last}

    def _where(self, steps: Iterator[Any]) -> Place | None:
        """Where a generator of the lesson's stands."""
        frame = getattr(steps, "gi_frame", None)
        return self.places.at(frame.f_code, frame.f_lasti) if frame and self.places.file_of(frame.f_code) else None

    def _take(self, item: Any) -> None:
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
            self._keep(item[0], read_figures(item[1]))
        elif isinstance(item, Mapping):
            self._progress(read_figures(item))
        else:
            raise _Wrong(f"{item!r:.60} was yielded", 'figures, or a name beside them: "trained", {"loss": loss}')

    def _progress(self, figures: Figures) -> None:
        self.lines += 1
        if self.lines > MOST_LINES:
            raise _Wrong(f"more than {MOST_LINES} lines of progress", "one in so many steps is enough")
        self.ends = [*self.ends[:1], figures]
        if time.monotonic() - self.spoke >= PAUSE:
            self.tell(figures)
            self.spoke = time.monotonic()

    def _keep(self, name: str, figures: Figures) -> None:
        if not NAME.fullmatch(name) or name == DRAWN:
            raise _Wrong(f"weights called {name!r:.80}", f"small letters, digits, _ and -, and not {DRAWN!r}")
        if name in {entry["name"] for entry in self.kept}:
            raise _Wrong(f"weights called {name!r} were kept before", "each name once")
        if len(self.kept) == MOST_KEPT:
            raise _Wrong(f"weights were kept more than {MOST_KEPT} times", "the few from which the runs start")
        mapped = modules.ModelMap(self.model)
        tensors = {key: self._copy(name, key, tensor)
                   for kind in ("_parameters", "_buffers") for key, tensor in mapped.tensors(kind)}  # fmt: skip
        self.kept.append({"name": name, "figures": figures, "tensors": tensors})

    def _copy(self, name: str, key: str, tensor: Tensor) -> Value:
        kind = values.dtype_name(tensor)
        if kind not in STORED or not values.readable(tensor) or tensor.layout is not torch.strided:
            known = ", ".join(sorted(STORED))
            raise _Wrong(f"{key} cannot be kept in {name!r}", f"a plain tensor with numbers, one of {known}")
        if not bool(tensor.detach().isfinite().all()):
            raise _Wrong(f"{key} is not finite when {name!r} is kept", "training that stays finite")
        data = values.raw_bytes(tensor)
        digest = hashlib.sha256(data).hexdigest()
        if digest not in self.blobs:
            self.blobs[digest] = base64.b64encode(data).decode("ascii")
        return {"dtype": kind, "shape": list(tensor.shape), "blob": digest}


class _Wrong(Exception):
    """Something that a lesson's function may not yield."""

    def __init__(self, seen: str, expected: str) -> None:
        super().__init__(seen)
        self.expected = expected


def read_figures(values: Any) -> Figures:
    """Numbers by name as plain Python; a tensor or array of one element counts as a number. Raises _Wrong."""
    if not isinstance(values, Mapping) or len(values) > MOST_FIGURES:
        raise _Wrong(f"figures {values!r:.60}", f"a mapping of at most {MOST_FIGURES} numbers by name")
    return {name: _number(name, value) for name, value in values.items()}


def _number(name: Any, value: Any) -> int | float:
    if not isinstance(name, str) or not FIGURE.fullmatch(name):
        raise _Wrong(f"a figure called {name!r:.60}", "a word of at most 40 letters, digits, spaces and _")
    plain = value.item() if isinstance(value, Tensor) and value.numel() == 1 else value
    plain = plain.item() if hasattr(plain, "item") and getattr(plain, "size", 0) == 1 else plain
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        raise _Wrong(f"the figure {name} is {value!r:.60}", "a number")
    if not (math.isfinite(plain) and abs(plain) <= LARGEST):
        raise _Wrong(f"the figure {name} is {plain!r:.40}", "a finite number")
    return plain
