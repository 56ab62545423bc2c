"""How long a page takes to read, from the words that it shows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

PACE = 200  # words of explanatory prose that an adult reads in a minute (Brysbaert 2019 gives 238 for non-fiction)
_MATHS = re.compile(r"<math\b.*?</math>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def count_words(texts: Iterable[str]) -> int:
    """The number of words in rendered texts; a formula counts as three."""
    total = 0
    for text in texts:
        formulas = _MATHS.findall(text)
        total += 3 * len(formulas) + len(_TAG.sub(" ", _MATHS.sub(" ", text)).split())
    return total


def estimate_minutes(texts: Iterable[str], *, figures: int = 0) -> int:
    """Whole minutes to read texts and look at `figures` figures for a quarter of a minute each; at least one."""
    return max(1, math.ceil(count_words(texts) / PACE + figures / 4 - 0.25))
