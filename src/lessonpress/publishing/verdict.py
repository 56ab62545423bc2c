"""What a verification found of a lesson: the verdict, and its forms as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from lessonpress.publishing.integrity import Fault
from lessonpress.revision.numeric_diff import ComparisonDocument
from lessonpress.revision.revision_diff import RevisionDiffDocument

IDENTICAL, WITHIN, DRIFT, RETIRED = "identical", "within tolerance", "drift", "retired"


class FaultDocument(TypedDict):
    """A fault as JSON."""

    where: str
    what: str
    mend: str


class VerdictDocument(TypedDict):
    """A lesson's verdict as JSON; its keys are published."""

    slug: str
    state: str
    good: bool
    revision: str | None
    words: str
    faults: list[FaultDocument]
    numbers: ComparisonDocument | None
    changes: RevisionDiffDocument | None
    seconds: float


class StoredVerdict(VerdictDocument):
    """A verdict that one job writes and another reads."""

    made: str | None


class Report(TypedDict):
    """The report of a verification, `work/verify/report.json`; its keys are published."""

    schema: int
    good: bool
    summary: str
    lessons: list[VerdictDocument]
    site: list[FaultDocument]


@dataclass(frozen=True)
class Verdict:
    """The result of verifying one lesson."""

    slug: str
    state: str  # identical, within tolerance, retired, or drift
    revision: str | None  # the published one that it was compared with
    words: str
    faults: tuple[Fault, ...] = ()
    numbers: ComparisonDocument | None = None  # how the recorded ones compare
    changes: RevisionDiffDocument | None = None  # everything that differs
    made: str | None = None  # the folder of the revision that was made for the comparison
    seconds: float = field(default=0.0, compare=False)

    def good(self) -> bool:
        """Whether the lesson gives what is published, and everything published is unchanged."""
        return self.state != DRIFT and not self.faults

    def label(self) -> str:
        """The verdict in a word, as reports for people show it: a lesson with faults is not called identical."""
        return self.state if self.good() or self.state == DRIFT else "damaged"

    def document(self) -> VerdictDocument:
        """The verdict as plain data."""
        return {
            "slug": self.slug, "state": self.state, "good": self.good(), "revision": self.revision, "words": self.words,
            "faults": describe_faults(self.faults),
            "numbers": self.numbers, "changes": self.changes, "seconds": round(self.seconds, 3),
        }  # fmt: skip


def read_verdict(stored: StoredVerdict) -> Verdict:
    """A verdict from its stored form."""
    faults = tuple(Fault(fault["where"], fault["what"], fault["mend"]) for fault in stored["faults"])
    return Verdict(stored["slug"], stored["state"], stored["revision"], stored["words"], faults, stored["numbers"],
                   stored["changes"], stored["made"], stored["seconds"])  # fmt: skip


def describe_faults(faults: Sequence[Fault]) -> list[FaultDocument]:
    """Faults as plain data."""
    return [{"where": fault.where, "what": fault.what, "mend": fault.mend} for fault in faults]
