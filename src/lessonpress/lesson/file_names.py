"""Which names a published file may have: those that every system can show, unpack and keep apart from the others."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

MAX_NAME, MAX_PATH = 100, 180  # characters; Windows opens 260 of them, and the reader's own folder is among these
# Windows' separators and what its shells and file systems read otherwise.
_SIGNS = re.compile(r'[\\<>:"|?*]')
# Controls, directions, what has no width, halves of characters (bytes that are not UTF-8), signs of nobody.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])", re.IGNORECASE)


def fault(name: str) -> str | None:
    """What is wrong with a file's path below its lesson (with `/`), in words; None when every system can have it."""
    if len(name) > MAX_PATH:
        return f"the file's name has {len(name)} characters, which is more than {MAX_PATH}"
    return next(filter(None, map(_fault, name.split("/"))), None)


def _fault(part: str) -> str | None:
    odd = _SIGNS.search(part)
    if sign := odd[0] if odd else next((char for char in part if unicodedata.category(char) in _UNSEEN), None):
        return f"the file's name holds {sign!a}"
    if len(part) > MAX_NAME:
        return f"a part of the file's name has {len(part)} characters, which is more than {MAX_NAME}"
    if part.endswith((".", " ")) or part.startswith(" "):
        return "the file's name begins or ends in a space or ends in a dot, which other systems drop"
    if _DEVICE.fullmatch(part.split(".")[0].rstrip()):
        return "the file's name is that of a device on Windows"
    return None


def folded(name: str) -> str:
    """What a name is where neither case nor composition of characters counts: two files of one are one file there."""
    whole = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", name).upper()).casefold()
    return unicodedata.normalize("NFC", whole)


def collisions(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs of different names, folders among them, that another system takes for one; the later name first."""
    seen: dict[str, str] = {}
    for name in names:
        parts = name.split("/")
        for end in range(1, len(parts) + 1):
            part = "/".join(parts[:end])
            if (first := seen.setdefault(folded(part), part)) != part:
                yield part, first
                break
