"""Records that more than one of the lower packages writes or reads."""

from __future__ import annotations

from typing import (
    Literal,
    NotRequired,  # what pydantic can read under Python 3.11
    TypeAlias,
)

from typing_extensions import TypedDict

Real: TypeAlias = int | float | Literal["NaN", "Infinity", "-Infinity"]


class Isolation(TypedDict):
    """How the worker was confined, what it had tried before lesson code ran, and how it ended."""

    profile: Literal["linux-strict", "linux-seccomp", "posix-basic"]
    landlock: int | None
    seccomp: str | None
    privileges: str | None
    uid: int
    probe: dict[str, str]
    namespaces: list[str]
    kernel: str
    limits: dict[str, int]
    missing: dict[str, str]
    ended: str


class ReplayCertificate(TypedDict):
    """Whether the published graph reproduces what was recorded, and how closely.

    `tolerances` says by dtype what difference was allowed; revisions of before 2026-12 do not have it.
    """

    covered: bool
    maxDifference: Real | None
    uncovered: list[str]
    tolerances: NotRequired[dict[str, Real]]
