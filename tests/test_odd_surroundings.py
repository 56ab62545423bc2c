"""What the surroundings may hold that nobody thinks of: each ends in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from lessonpress.build import rule_inputs
from lessonpress.core import canonical_json, clock
from lessonpress.core.errors import LessonError, RetryableError
from lessonpress.publishing import doctor, integrity, site
from lessonpress.revision import history
from lessonpress.web import mathml
from tests import tiny


@pytest.mark.parametrize("epoch", ["99999999999999999999", "253402300800", "-99999999999999", "²", "yesterday", "1e9"])
def test_a_moment_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, epoch: str) -> None:
    """A date beyond the year 9999, or no number, names the variable and what it may be."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with pytest.raises(RetryableError, match=r"SOURCE_DATE_EPOCH: .* given; seconds since the beginning of 1970"):
        clock.read_clock()


def test_a_moment_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control."""
    for epoch, moment in (("0", "1970-01-01T00:00:00+00:00"), ("1700000000", "2023-11-14T22:13:20+00:00")):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
        assert clock.read_clock() == moment


def test_a_history_that_nests_without_end_is_one_message(tmp_path: Path) -> None:
    """A hundred thousand brackets exhaust a reader's stack; who reads histories says which file it is."""
    config = tiny.at(tmp_path)
    tiny.published(config, "One")
    path = config.published("echo") / history.FILE
    path.write_text('{"slug": ' + "[" * 100_000)
    with pytest.raises(LessonError, match="this is no history"):
        site.write_site(config)
    assert any(history.FILE in fault.where for fault in doctor.find_faults(config))
    assert rule_inputs._find_latest(path.read_bytes()) is None
    with pytest.raises(ValueError, match="nests too deeply"):
        canonical_json.read(path)
    assert integrity._parse_json(b"[" * 100_000) is None


@pytest.mark.parametrize("tex", ["x" * 40_000 + r"^", r"\undefined" + "y" * 40_000, r"\href{a}{" + "z" * 40_000 + "}"])
def test_long_maths_makes_a_short_message(tex: str) -> None:
    """Forty kilobytes of TeX are named by their beginning."""
    with pytest.raises(LessonError) as caught:
        mathml.to_mathml(tex)
    assert len(caught.value.message()) < 1_000
