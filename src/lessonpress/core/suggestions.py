"""What somebody probably meant by a word that nothing is called."""

from __future__ import annotations

import difflib
from collections.abc import Collection

CUTOFF = 0.6  # of 1: how much alike two words must be


def nearest(word: str, known: Collection[str], *, count: int = 1, cutoff: float = CUTOFF) -> list[str]:
    """Those of the known words that are most like a wrong one, the nearest first."""
    return difflib.get_close_matches(word, sorted(known), n=count, cutoff=cutoff)


def did_you_mean(word: str, known: Collection[str]) -> str:
    """`Did you mean title?`, or nothing where no known word is near."""
    return f"Did you mean {matches[0]}?" if (matches := nearest(word, known)) else ""
