"""One lesson at one state of its files: the folder `work/<slug>/<key>/` where its steps leave what they make."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lessonpress.build import artifact
from lessonpress.build.artifact import Artifact, Content
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import reader

if TYPE_CHECKING:
    from lessonpress.lesson.capture_records import Capture
    from lessonpress.lesson.records import Cases, SourceRecord, Verdict


@dataclass(frozen=True)
class LessonBuild:
    """A lesson's build: what it is made from, and where its artifacts lie."""

    config: Config
    slug: str
    key: str
    known: dict[str, Artifact] = field(default_factory=dict, compare=False)  # artifacts that were read and are whole

    @property
    def folder(self) -> Path:
        """Where this state's artifacts lie."""
        return self.config.work_dir(self.slug) / self.key

    @property
    def revision(self) -> Path:
        """The rendered revision's files."""
        return self.folder / "revision"

    @property
    def source_dir(self) -> Path:
        """The folder of the lesson's own files."""
        return self.config.lesson(self.slug)

    def artifact(self, name: str) -> Artifact:
        """One of its artifacts by file name. Raises LessonError where it is missing or not whole."""
        if name not in self.known:
            whole = artifact.read(self.folder / name)
            if whole is None:
                raise LessonError(str(self.folder / name), "the file is missing, or not as it was written", "",
                                  "Run `snakemake --cores 1`, which makes it.")  # fmt: skip
            self.known[name] = whole
        return self.known[name]

    def body(self, name: str) -> Content:
        """The content of one of its artifacts. Raises LessonErrors where the lesson has mistakes."""
        whole = self.artifact(name)
        whole.raise_mistakes()
        return whole.body

    # An artifact is as its step has written it, or it is not whole: so its content has the form of that step's record.

    @functools.cached_property
    def source(self) -> SourceRecord:
        """What the lesson is, as `hash` wrote it down."""
        return cast("SourceRecord", self.body("source.json"))

    @property
    def capture(self) -> Capture:
        """What the worker recorded of the lesson's runs."""
        return cast("Capture", self.body("capture.json"))

    @functools.cached_property
    def lesson(self) -> reader.Lesson:
        """The lesson as `hash` read it. Raises LessonError when one of its files is another one now."""
        return reader.reopen(self.source_dir, self.source)

    @property
    def cases(self) -> Cases:
        """What was recorded of every case."""
        return cast("Cases", self.body("cases.json"))

    @property
    def checks(self) -> list[Verdict]:
        """The verdicts of the lesson's checks."""
        return list(self.body("checks.json")["checks"])

    def bytes(self, name: str) -> bytes:
        """The bytes of a file in its folder."""
        return (self.folder / name).read_bytes()

    def digest(self, name: str) -> str:
        """A digest of a file in its folder: of an artifact, or of a file that lies beside one that is known."""
        for known in self.known.values():
            if name in known.beside:
                return known.beside[name]
        return self.artifact(name).digest
