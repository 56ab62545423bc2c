"""How a worker ended and what isolation applied to it, as records."""

from __future__ import annotations

import platform
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lessonpress.worker import confine
from lessonpress.worker.records import Confined

UNITS = {"wall_seconds": "time limit of {} s", "cpu_seconds": "processor time limit of {} s",
         "memory_mib": "memory limit of {} MiB", "answer_mib": "answer limit of {} MiB",
         "printed_mib": "limit of {} MiB for what it prints", "scratch_mib": "limit of {} MiB for its scratch folder",
         "file_mib": "limit of {} MiB a file", "open_files": "limit of {} open files",
         "prepare_seconds": "time limit of {} s",
         "processes": "limit of {} process(es)", "threads": "limit of {} threads"}  # fmt: skip


@dataclass(frozen=True)
class Confinement:
    """Which isolation applied to a worker.

    `report` is what the worker said before any lesson code ran (empty when it died before that): layers, what is
    missing and why, and what it tried.
    """

    profile: str
    limits: Mapping[str, int]
    namespaces: tuple[str, ...] = ()
    report: Confined = field(default_factory=Confined)

    @property
    def missing(self) -> Mapping[str, str]:
        """Each layer that could not be applied, with the reason."""
        return self.report.get("missing") or {}

    def record(self) -> dict[str, Any]:
        """Everything that provenance says about isolation, but how the worker ended."""
        kept = {key: self.report.get(key) for key in ("landlock", "seccomp", "privileges", "uid", "probe")}
        return {"profile": self.profile, **kept, "namespaces": list(self.namespaces), "kernel": platform.release(),
                "limits": dict(self.limits), "missing": dict(self.missing)}  # fmt: skip


def read_confinement(report: Confined, limits: Mapping[str, int], namespaces: tuple[str, ...]) -> Confinement:
    """The record of what a worker reported."""
    return Confinement(str(report.get("profile", confine.PROFILES[0])), limits, namespaces, report)


def name_limit(limit: str, limits: Mapping[str, int]) -> str:
    """A limit in words."""
    return UNITS[limit].format(limits[limit])


def state_limit(limit: str, limits: Mapping[str, int]) -> str:
    """A limit in words, as a statement: `memory limit is 4096 MiB`."""
    return name_limit(limit, limits).replace(" of ", " is ", 1)


@dataclass(frozen=True)
class WorkerResult:
    """How a worker ended: its complete answer lines, what it printed, and which limit it hit, if any.

    `limit` is the name of a key of `limits`; `strange` tells that somebody else wrote on the answer channel, in which
    case no line is kept.
    """

    lines: tuple[bytes, ...]
    printed: str
    code: int
    limit: str | None
    confinement: Confinement
    strange: bool = False

    def reason(self) -> str:
        """In words, why there is no answer."""
        if self.limit:
            return f"it passed the {name_limit(self.limit, self.confinement.limits)} (config.yaml: limits.{self.limit})"
        if self.strange:
            return "something other than the worker wrote on the answer channel, so there is no answer to trust"
        if self.code < 0:
            hint = " (killed: probably the machine's memory ran out)" if -self.code == signal.SIGKILL else ""
            return f"the process was ended by signal {-self.code}, {signal.Signals(-self.code).name}{hint}"
        if self.code == confine.CHANNEL_CLOSED:
            return "the process could not answer, because its answer channel was closed"
        if len(self.lines) > 1:  # one alone is what the worker says of itself before lesson code runs
            return f"it gave {len(self.lines)} line(s) on the answer channel, which is not what the worker says"
        return f"the process ended without a result, exit code {self.code}"

    def isolation(self) -> dict[str, Any]:
        """What provenance says about the isolation of this run."""
        return {**self.confinement.record(), "ended": "answered" if self.lines and not self.limit else self.reason()}
