"""The capture as a type: what the worker recorded, with what the process that started it knows of the run."""

from __future__ import annotations

from typing_extensions import TypedDict  # what pydantic can read under Python 3.11

from lessonpress.core.records import Isolation
from lessonpress.lesson.records import Cpu, Host
from lessonpress.worker.records import Recorded


class CaptureProvenance(TypedDict):
    """Who ran the lesson, where, when and under which settings."""

    capturedAt: str
    productRevision: str | None  # the commit of the repository in which the lesson lies
    python: str
    torch: str
    initialisation: str
    settings: dict[str, str | int | bool]
    cpu: Cpu
    host: Host
    isolation: Isolation


class Capture(Recorded):
    """What one run of the worker recorded of a lesson (capture.json)."""

    schema: int
    slug: str
    provenance: CaptureProvenance
