"""Who made the numbers that a tensor holds now: through views and in-place writes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from .values import readable

Source = list[int | str]
EXACT = 1 << 16  # elements up to which overlap is decided element by element


class Region:
    """The bytes of memory that a tensor looks at."""

    __slots__ = ("end", "itemsize", "shape", "start", "strides")

    def __init__(self, tensor: Tensor) -> None:
        if not _stored(tensor):  # sparse and the like: one piece
            self.itemsize, self.start, self.end = 1, 0, 1
            self.shape: tuple[int, ...] = ()
            self.strides: tuple[int, ...] = ()
            return
        self.itemsize = tensor.element_size()
        self.start = tensor.data_ptr()
        self.shape = tuple(tensor.shape)
        self.strides = tuple(s * self.itemsize for s in tensor.stride())
        reach = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        self.end = self.start + reach + self.itemsize if tensor.numel() else self.start

    @property
    def dense(self) -> bool:
        """Whether the region is certainly one run of elements, each there once."""
        expected = self.itemsize
        for stride, n in sorted((s, n) for s, n in zip(self.strides, self.shape, strict=True) if n != 1):
            if stride != expected:
                return False
            expected *= n
        return True

    @property
    def count(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def cells(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The address of every element's first byte, sorted, each once."""
        out = np.array([self.start], dtype=np.int64)
        for n, stride in zip(self.shape, self.strides, strict=True):
            out = (out[:, None] + np.arange(n) * stride).reshape(-1)
        return np.unique(out)

    def overlaps(self, other: Region) -> bool:
        """Whether two regions share memory (for very large strided ones: whether they may)."""
        if self.end <= other.start or other.end <= self.start:
            return False
        if (self.dense and other.dense) or max(self.count, other.count) > EXACT or self.itemsize != other.itemsize:
            return True
        return bool(np.isin(self.cells(), other.cells(), assume_unique=True).any())

    def covers(self, other: Region) -> bool:
        """Whether every element of `other` lies in this region."""
        if self.start > other.start or self.end < other.end:
            return False
        same = self.start == other.start and (self.shape, self.strides) == (other.shape, other.strides)
        if same or self.dense:
            return True
        if max(self.count, other.count) > EXACT or self.itemsize != other.itemsize:
            return False
        return bool(np.isin(other.cells(), self.cells(), assume_unique=True).all())


class Flow:
    """Remembers for every tensor object which call made it, and for every storage what was written into it since."""

    def __init__(self) -> None:
        self.clock = 0
        self.origin: dict[int, tuple[Tensor, Source, int]] = {}
        self.log: dict[int, list[tuple[int, Source, Region, Region]]] = {}
        self.exposed: set[int] = set()
        self.results: list[Tensor] = []
        self.by_storage: dict[int, list[Tensor]] = {}  # tensors by storage, of the first `indexed` results
        self.indexed = 0

    def record_result(self, tensor: Tensor, source: Source) -> None:
        """`tensor` is the result of `source`, now."""
        self.clock += 1
        self.origin[id(tensor)] = (tensor, source, self.clock)  # kept alive: an id is never used twice
        self.results.append(tensor)

    def record_write(self, tensor: Tensor, source: Source, part: Tensor | None = None) -> None:
        """`source` has just written into `tensor`'s memory, only into `part` where that is given, and gave `tensor`."""
        if tensor.numel() == 0:
            return self.record_result(tensor, source)
        self.clock += 1
        whole = Region(tensor)
        changed = whole if part is None or part is tensor else Region(part)
        self.log.setdefault(storage_of(tensor), []).append((self.clock, source, changed, whole))

    def adopt_view(self, tensor: Tensor) -> bool:
        """Take an unseen tensor for what it is when it only looks at the memory of a known one (`as_subclass` …)."""
        for known in self.find_around(tensor):
            _, source, since = self.origin[id(known)]
            self.origin[id(tensor)] = (tensor, source, since)
            return True
        return False

    def find_around(self, tensor: Tensor) -> Iterator[Tensor]:
        """The known tensors that look at all of a tensor's memory, the last one first."""
        for known in self.results[self.indexed :]:
            if _stored(known) and known.numel() and readable(known):
                self.by_storage.setdefault(storage_of(known), []).append(known)
        self.indexed = len(self.results)
        if not _stored(tensor) or not tensor.numel():
            return
        mine = Region(tensor)
        for known in reversed(self.by_storage.get(storage_of(tensor), ())):
            alike = id(known) in self.origin and known.dtype == tensor.dtype
            if alike and storage_of(known) == storage_of(tensor) and Region(known).covers(mine):
                yield known

    def forget(self, tensor: Tensor) -> None:
        """The tensor has got another memory: what made it says no more where its numbers come from."""
        self.origin.pop(id(tensor), None)

    def expose(self, tensor: Tensor) -> None:
        """From now on the tensor's memory may be written without torch knowing."""
        self.exposed.add(storage_of(tensor))

    def is_exposed(self, tensor: Tensor) -> bool:
        """Whether the tensor's memory may be written without torch knowing."""
        return storage_of(tensor) in self.exposed

    def knows(self, tensor: Tensor) -> bool:
        """Whether it was seen how the tensor was made."""
        return id(tensor) in self.origin

    def writes(self, tensor: Tensor) -> int:
        """How often the tensor's storage has been written into."""
        return len(self.log.get(storage_of(tensor), ())) if self.log else 0

    def sources(self, tensor: Tensor) -> list[Source]:
        """Everything whose numbers `tensor` holds now, oldest first: what made it, and later writes that overlap it."""
        _, source, since = self.origin[id(tensor)]
        if not self.log:
            return [source]
        log = self.log.get(storage_of(tensor))
        if not log or log[-1][0] <= since:
            return [source]
        writers: list[Source] = []
        left = _Rest(Region(tensor))
        for time, writer, changed, whole in reversed(log):
            if time <= since:
                break
            if left.overlaps(changed):
                if writer not in writers:
                    writers.append(writer)
                if left.take(whole):
                    return writers[::-1]
        return [*writers, source][::-1] if source not in writers else writers[::-1]


class _Rest:
    """What is left of a region, going back in time, of which it is not yet known who wrote it last."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.exact = region.count <= EXACT and region.end > region.start + region.itemsize
        self.cells: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None  # once a part of it is known

    def overlaps(self, changed: Region) -> bool:
        """Whether a write reached what is left."""
        if self.cells is None or changed.itemsize != self.region.itemsize or changed.count > EXACT:
            return changed.overlaps(self.region)
        return changed.overlaps(self.region) and bool(np.isin(self.cells, changed.cells(), assume_unique=True).any())

    def take(self, whole: Region) -> bool:
        """Take away what a writer gave; whether nothing is left."""
        if whole.covers(self.region):
            return True
        if not self.exact or whole.itemsize != self.region.itemsize or whole.count > EXACT:
            return False
        cells = self.region.cells() if self.cells is None else self.cells
        self.cells = cells[~np.isin(cells, whole.cells(), assume_unique=True)]
        return not self.cells.size


def _stored(tensor: Tensor) -> bool:
    return tensor.layout is torch.strided and not tensor.is_nested


def storage_of(tensor: Tensor) -> int:
    """The memory that a tensor looks at, as a key."""
    return tensor.untyped_storage().data_ptr() if _stored(tensor) else -id(tensor)
