"""What a layout is: boxes, frames, routes, loops and labels, all in pixels with y growing downwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """One drawn node: a leaf of the graph, a collapsed module, or a row of equal collapsed modules."""

    id: str
    kind: str  # input, layer, module or output
    x: float  # left
    y: float  # top
    w: float
    h: float
    label: str  # first line, already cut to fit
    detail: str  # second line, likewise
    inside: int = 0  # leaves hidden inside a collapsed module
    members: tuple[str, ...] = ()  # every module that a rolled-up box stands for, in order


@dataclass(frozen=True, slots=True)
class Frame:
    """An open module: a border around its children with a title bar at the top."""

    id: str
    parent: str | None
    x: float
    y: float
    w: float
    h: float
    title: str
    title_x: float  # where the title starts, clear of every route


@dataclass(frozen=True, slots=True)
class Route:
    """One drawn edge from box to box; parallel connections of one output share it.

    Between consecutive `points` the route runs straight down (or up), or changes column inside a gap where no box is.
    """

    id: str  # the first connection's id
    connections: tuple[str, ...]
    source: str  # a box
    target: str  # a box
    points: tuple[Point, ...]
    upward: bool  # it closes a cycle, against the reading direction


@dataclass(frozen=True, slots=True)
class Loop:
    """An arc at a box's right side: the connections of a layer with itself, between its calls."""

    id: str
    connections: tuple[str, ...]
    box: str
    x: float  # where the arc touches the box
    y: float  # its middle
    r: float


@dataclass(frozen=True, slots=True)
class Label:
    """A tensor's shape, centred at (x, y) just below the box where it arises."""

    x: float
    y: float
    text: str
    box: str
    connections: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """A whole picture's geometry; every connection is in exactly one of `routes`, `loops` and `hidden`."""

    width: float
    height: float
    boxes: Mapping[str, Box]
    frames: Mapping[str, Frame]  # an outer frame comes before those inside it
    routes: Mapping[str, Route]
    loops: Mapping[str, Loop]
    labels: tuple[Label, ...]
    hidden: Mapping[str, str]  # a connection inside a collapsed box → that box
    drawn: Mapping[str, str]  # any other connection → the id of its route or loop
    home: Mapping[str, str]  # every layer → the box or frame that shows it
