"""How a worker ended and what isolation applied to it, as records."""

from __future__ import annotations

import platform
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lessonpress.settings import Limits
from lessonpress.worker import confine


@dataclass(frozen=True)
class Confinement:
    """Which isolation applied to a worker, told before lesson code ran; `known` is False when it died before that."""

    profile: str
    limits: Mapping[str, int]
    namespaces: tuple[str, ...] = ()
    landlock: int | None = None
    seccomp: str | None = None
    privileges: str | None = None
    uid: int | None = None
    missing: Mapping[str, str] = ()  # type: ignore[assignment]
    probe: Mapping[str, str] = ()  # type: ignore[assignment]
    refused: bool = False
    known: bool = False
