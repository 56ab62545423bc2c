"""How wide a text is and how it is shown: the same on every machine, without asking a font."""

from __future__ import annotations

import unicodedata

# Advance widths in hundredths of the font size of a wide sans serif; narrower fonts leave a little more air.
_WIDTHS = {
    27: "'", 28: "ijl", 29: "IJ", 32: " ,.", 34: "/:;\\|", 35: "f", 36: "-", 39: "()[]t", 40: "!", 41: "r", 46: '"',
    50: "*_`", 52: "sz", 53: "?", 55: "c", 56: "L", 58: "Fk", 59: "vxy", 60: "P", 61: "TYao", 62: "e",
    63: "ESbdghnpqu", 64: "$0123456789{}", 66: "K", 68: "AV", 69: "BRXZ", 70: "C", 73: "U", 75: "HN", 77: "DG",
    78: "&", 79: "OQ", 82: "w", 84: "#+<=>^~×", 86: "M", 95: "%", 97: "m", 99: "W", 100: "@…", 32.5: "·",
}  # fmt: skip
_ADVANCE = {character: width / 100 for width, characters in _WIDTHS.items() for character in characters}
_SUBSTITUTE = "\N{SYMBOL FOR SUBSTITUTE FORM TWO}"


def measure_width(text: str, size: float) -> float:
    """The estimated width of one line of text at a font size, both in pixels."""
    return size * sum(_measure_advance(character) for character in text)


def _measure_advance(character: str) -> float:
    """One character's advance in units of the font size."""
    if character in _ADVANCE:
        return _ADVANCE[character]
    if unicodedata.combining(character):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(character) in "WF" or ord(character) > 0x2000 else 0.7


def make_visible(text: str) -> str:
    """The text with everything that is no picture of itself replaced by a visible one.

    Control characters become their pictures (U+2400 block); direction overrides, other invisible formats, lone
    surrogates and non-characters become U+2426, so that a name can neither break the markup nor reorder the line.
    """
    return "".join(_make_visible_character(character) for character in text)


def _make_visible_character(character: str) -> str:
    """The character itself, or a visible stand-in."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") or code & 0xFFFE == 0xFFFE:
        return _SUBSTITUTE
    return _SUBSTITUTE if 0xFDD0 <= code <= 0xFDEF else character


def fit_width(text: str, size: float, limit: float) -> str:
    """The text, cut with an ellipsis where it is wider than `limit` pixels at a font size."""
    if measure_width(text, size) <= limit:
        return text
    space = limit - measure_width("…", size)
    kept = 0
    while kept < len(text) and (space := space - size * _measure_advance(text[kept])) >= 0:
        kept += 1
    return text[:kept].rstrip() + "…"
