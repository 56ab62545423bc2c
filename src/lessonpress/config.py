"""The repository's settings (config.yaml): where things lie, the site's name, and the worker's limits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lessonpress import places
from lessonpress.errors import LessonError, LessonErrors

DEFAULT = Path("config.yaml")
Positive = Annotated[int, Field(gt=0)]


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Site(_Settings):
    """The published site."""

    title: str = Field("Lessons", description="The catalogue's title.")
    base_url: str = Field("", pattern=r"^(https?://.*[^/])?$",
                          description="Where the site is served, for absolute links; no slash at the end.")  # fmt: skip


class Limits(_Settings):
    """What one worker process may use; each is reported by name when it is hit."""

    wall_seconds: Positive = Field(60, description="Seconds from start to answer.")
    cpu_seconds: Positive = Field(60, description="Seconds of processor time.")
    memory_mib: Positive = Field(4096, description="Address space in MiB; torch alone needs about 700.")
    answer_mib: Positive = Field(64, description="The worker's answer in MiB.")
    open_files: Positive = Field(256, description="Open file descriptors.")
    file_mib: Positive = Field(64, description="Any one file that the worker writes into its scratch folder, in MiB.")


class Isolation(_Settings):
    """How strongly a worker must be confined before its answer is published."""

    minimum: Literal["posix-basic"] = Field("posix-basic", description="The weakest profile that may publish.")


class Config(_Settings):
    """All settings; every key has a default."""

    lessons: str = Field("lessons", min_length=1, description="The folder that holds one folder for each lesson.")
    results: str = Field("results", min_length=1, description="The published site; it is committed.")
    work: str = Field("work", min_length=1, description="Intermediate files; never committed.")
    site: Site = Site()
    limits: Limits = Limits()
    isolation: Isolation = Isolation()

    def lesson(self, slug: str) -> Path:
        """The folder of a lesson's source."""
        return Path(self.lessons) / slug

    def room(self, slug: str) -> Path:
        """The folder of a lesson's intermediate files."""
        return Path(self.work) / slug

    def published(self, slug: str) -> Path:
        """The folder of a lesson's published revisions."""
        return Path(self.results) / "models" / slug


def read(path: Path = DEFAULT) -> Config:
    """The settings of a config file, or the defaults where there is none.

    Raises LessonError with file, line and key for anything that is no setting.
    """
    if not path.is_file():
        return Config()
    name = os.path.relpath(path)
    placed = places.read(path.read_text(encoding="utf-8-sig"), name)
    try:
        return Config.model_validate(placed.value or {})
    except ValidationError as error:
        raise LessonErrors([_told(detail, placed, name) for detail in error.errors(include_url=False)]) from None


def _told(detail: object, placed: places.Placed, name: str) -> LessonError:
    loc, message = tuple(detail["loc"]), detail["msg"]  # type: ignore[index]
    unknown = detail["type"] == "extra_forbidden"  # type: ignore[index]
    expected = "the keys stand in workflow/schemas/config.schema.json" if unknown else message[:1].lower() + message[1:]
    seen = "unknown key" if unknown else f"{detail['input']!r:.60} given"  # type: ignore[index]
    return LessonError(f"{name}:{placed.line(loc)}: {places.spelled(loc)}", seen, expected)
