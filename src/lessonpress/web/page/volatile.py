"""What a page says about one particular run: shown to readers, left out of the revision's identity."""

from __future__ import annotations

import re

NO_REVISION = "0" * 16
# The mark is always the first attribute and the element holds text only, so that these few lines suffice for anyone
# who wants to recompute an identity; lesson text cannot forge it, because `<` is escaped everywhere else.
_VOLATILE = re.compile(r"<([a-z]+) data-volatile(?: [^<>]*)?>[^<]*(?=</\1>)")


def blank_page(html: str, revision: str) -> str:
    """The page as it enters its own identity: every volatile element emptied, the revision id replaced by zeros."""
    stripped = _VOLATILE.sub(_empty, html)
    return stripped.replace(revision, NO_REVISION) if revision else stripped


def _empty(element: re.Match[str]) -> str:
    return element.group()[: element.group().index(">") + 1]
