"""The moment that is written down: now, or the one that SOURCE_DATE_EPOCH names for builds that must be repeatable."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

from lessonpress.core.errors import RetryableError


def read_clock() -> str:
    """Now in UTC, or the moment that SOURCE_DATE_EPOCH names. Raises RetryableError where that names none."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        return datetime.fromtimestamp(int(epoch) if epoch else time.time(), UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        raise RetryableError("SOURCE_DATE_EPOCH", f"{epoch!r:.50} given",
                             "seconds since the beginning of 1970, up to the year 9999",
                             "Set it to such a number, or unset it.") from None  # fmt: skip
