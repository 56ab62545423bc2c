"""TeX maths as MathML that every browser draws alike: converted, held against MathML's grammar, or refused."""

from __future__ import annotations

import html as entities
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from lessonpress.core.errors import LessonError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from math_core import LatexToMathML

_TOKENS = frozenset(["mi", "mn", "mo", "mtext"])  # they hold text, everything else holds elements
_COUNTS = {  # how many children an element has; browsers draw one with another number wrongly, and say nothing
    "mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3,
    "mspace": 0, "mprescripts": 0,
}  # fmt: skip
_ROWS = frozenset(["math", "mrow", "msqrt", "mphantom", "mpadded", "mtd", "mmultiscripts"])  # any number of children
_ROLES = {"mtable": "mtr", "mtr": "mtd"}  # what alone may stand in them
_ATTRIBUTES = frozenset([
    "display", "displaystyle", "scriptlevel", "mathvariant", "stretchy", "symmetric", "form", "lspace", "rspace",
    "minsize", "maxsize", "movablelimits", "largeop", "accent", "accentunder", "linethickness", "width", "height",
    "depth", "voffset", "mathcolor",
])  # fmt: skip
# The page's policy forbids style attributes: what the converter writes into them, as classes of page.css.
_CLASSES = {
    "text-align:right": "m-right", "text-align:left": "m-left", "justify-items:end": "", "justify-items:start": "",
    "padding-right:0": "m-close-right", "padding-left:0": "m-close-left", "padding-left:1em": "m-apart",
    "border-left:0.05em solid currentcolor": "m-rule-left", "border-right:0.05em solid currentcolor": "m-rule-right",
    "border-top:0.05em solid currentcolor": "m-rule-top", "border-bottom:0.05em solid currentcolor": "m-rule-bottom",
    "margin-left:-0.16666667em": "m-back", "padding-top:0.1667em": "m-strut", "padding-right:0.1667em": "m-operator",
}  # fmt: skip
_NUMBERED = frozenset(["width:100%", "width:50%", "width:7.5%"])
# TeX that the converter takes for something else, without a word.
_MISREAD = re.compile(r"\\\\\s*\[\s*-?[\d.]+\s*[a-z]{2}\s*\]")
_UNDER = {"mover": "\u00af", "munder": "_"}  # a bar, which the converter writes as a combining low line
# Where a long formula in a sentence may go on in the next line: before these, as in print.
_BREAKS = frozenset("=<>≤≥≈≡≠∈∼∝↦→←⇒⇔+−")
_LONG = 13  # signs; a shorter formula stays in one piece
_PIECE = 6  # signs of the shortest piece


def to_mathml(tex: str, *, block: bool = False, where: str = "prose") -> str:
    """TeX as MathML, drawn inline or as a block of its own.

    A long formula in a sentence is several `math` elements, between which a line may end. Raises LessonError for a
    command that is not known, for braces that do not match, and for whatever a browser would not draw as it is meant.
    """
    try:
        return _make_mathml(tex, block)
    except LessonError as error:
        raise LessonError(where, error.seen, error.expected) from error.__cause__


@lru_cache(maxsize=1024)  # a text is read twice: to look for mistakes, and for the page
def _make_mathml(tex: str, block: bool) -> str:
    """`to_mathml`, whose errors say no place."""
    where = ""
    misread = _MISREAD.search(tex)
    if misread:
        raise LessonError(where, f"the maths {tex!r:.200} sets the space between rows with {misread[0]!r}",
                          "rows that end with \\\\ alone")  # fmt: skip
    tree = _parse(_convert(tex, block=block, where=where), tex, where)
    _tidy(tree, tex, where)
    _check_grammar(tree, tex, where)
    if block:
        return _write(tree)
    return "".join(map(_write, _break_lines(tree)))


def _convert(tex: str, *, block: bool, where: str) -> str:
    from math_core import LatexError  # a library of its own, so only lessons with maths load it

    try:
        return _make_converter().convert_with_local_state(tex, displaystyle=block)
    except LatexError as error:
        place, _, words = str(error).partition(": ")
        unknown = re.match(r'Unknown command "(.*)"', words)
        if unknown:
            raise LessonError(where, f"unknown TeX command {unknown[1]!r:.100} in the maths {tex!r:.200}",
                              "a command of LaTeX's maths mode") from error  # fmt: skip
        at = f" at its character {int(place) + 1}" if place.isdigit() else ""
        said = (words or place).rstrip(".").replace("\\\\", "\\")
        raise LessonError(where, f"the maths {tex!r:.200} cannot be read{at}: {said[:1].lower()}{said[1:200]}",
                          "TeX maths that is complete and known") from error  # fmt: skip


@lru_cache(maxsize=1)
def _make_converter() -> LatexToMathML:
    from math_core import LatexToMathML

    return LatexToMathML(fancy_error=False)


def _parse(text: str, tex: str, where: str) -> Element:
    """The converter's text as a tree; it writes one name of HTML that XML does not know."""
    try:
        return ElementTree.fromstring(text.replace("&ApplyFunction;", "\u2061"))
    except ElementTree.ParseError as error:
        raise LessonError(where, f"the maths {tex!r:.200} holds a character that no page can show",
                          "TeX in single quotes or a block: in double quotes \\a and \\f are signs") from error


def _tidy(tree: Element, tex: str, where: str) -> None:
    """Put what browsers of today know in place of what the converter writes, where the two differ."""
    for element in tree.iter():
        _replace_style(element, tex, where)
        if element.tag == "menclose" and element.attrib.pop("notation", "") == "box":
            element.tag = "mrow"
            element.set("class", "m-box")
        bar = element[1] if element.tag in _UNDER and len(element) == 2 else None
        if bar is not None and bar.text == "\u0332":
            bar.text = _UNDER[element.tag]
        element.text = (element.text or "").translate({0xFE00: None, 0xFE01: None})  # variants that few fonts have
        if element.tag == "mtext":
            _flatten_text(element, tex, where)
    if any(element.tag == "mtext" and element.get("class") == "m-number" for element in tree.iter()):
        raise LessonError(where, f"the maths {tex!r:.200} numbers its rows", "aligned, or align* and gather*")


def _replace_style(element: Element, tex: str, where: str) -> None:
    """Turn a style attribute into classes and attributes. Raises LessonError for a style that pages do not have."""
    names = []
    for part in filter(None, element.attrib.pop("style", "").split(";")):
        style = re.sub(r":\s+", ":", part.strip())
        if style.startswith("color:"):
            element.set("mathcolor", style.removeprefix("color:"))
        elif style in _NUMBERED:  # it makes place for numbers; a display is centred without
            _number(element)
        elif style in _CLASSES:
            names.append(_CLASSES[style])
        else:
            raise LessonError(where, f"the maths {tex!r:.200} needs the style {style!r}", "maths without it")
    if any(names):
        element.set("class", " ".join(filter(None, names)))


def _number(element: Element) -> None:
    """Mark the text of a cell that the converter made for the number of a row."""
    for text in element.iter("mtext"):
        if element.tag == "mtd":
            text.set("class", "m-number")


def _flatten_text(element: Element, tex: str, where: str) -> None:
    """Text in bold or italics: the letters' element becomes the text's class."""
    for child in list(element):
        if child.tag not in {"b", "i"} or len(child) or child.attrib or len(element) > 1 or element.text:
            raise LessonError(where, f"the maths {tex!r:.200} makes an element {child.tag!r} in text",
                              "plain words in \\text{…}")  # fmt: skip
        element.remove(child)
        element.text = child.text
        element.set("class", f"m-{child.tag}")


def _check_grammar(tree: Element, tex: str, where: str) -> None:
    """Raise LessonError where an element is not what MathML Core says of it."""
    for element in tree.iter():
        fault = _find_fault(element)
        if fault:
            raise LessonError(where, f"the maths {tex!r:.200} {fault}", "plain TeX maths")


def _find_fault(element: Element) -> str:
    """What is wrong with one element by MathML's grammar, or nothing."""
    tag, children = element.tag, [child.tag for child in element]
    if tag not in _TOKENS | _ROWS | set(_COUNTS) | set(_ROLES):
        return f"makes an element {tag!r}, which browsers do not draw"
    refused = set(element.attrib) - _ATTRIBUTES - {"class"}
    if refused:
        return f"sets {', '.join(sorted(refused))}"
    if tag in _TOKENS:
        unread = re.search(r"\\[A-Za-z]+", element.text or "")
        return f"leaves {unread[0]!r} unread" if unread else f"puts {children[0]!r} into text" if children else ""
    if (element.text or "").strip() or any((child.tail or "").strip() for child in element):
        return f"puts text into {tag!r}"
    if len(children) != _COUNTS.get(tag, len(children)):
        return f"makes {tag!r} of {len(children)} parts instead of {_COUNTS[tag]}"
    wanted = _ROLES.get(tag)
    return f"puts {children[0]!r} into {tag!r}" if wanted and set(children) - {wanted} else ""


def _break_lines(tree: Element) -> Iterator[Element]:
    """The formula in pieces between which a line may end: before relations, and before sums, of its outermost level."""
    kept, signs, parts = _count_signs(tree), 0, list(tree)
    piece = ElementTree.Element("math", tree.attrib)
    depth = 0
    for at, part in enumerate(parts):
        depth += _opens(part)
        wide = signs >= _PIECE and kept - signs >= _PIECE
        if kept > _LONG and wide and not depth and at and _may_break(parts[at - 1], part):
            yield piece
            kept, signs = kept - signs, 0
            piece = ElementTree.Element("math", tree.attrib)
            part.set("form", "infix")
        piece.append(part)
        signs += _count_signs(part)
    yield piece


def _may_break(before: Element, sign: Element) -> bool:
    """Whether a sign stands between what it relates or adds, and not before a number: `− 1` after a comma does."""
    return sign.tag == "mo" and sign.text in _BREAKS and (before.tag != "mo" or (before.text or "") in ")]|}")


def _opens(part: Element) -> int:
    """1 for an opening bracket, -1 for a closing one, else 0: within brackets no line ends."""
    text = part.text or ""
    return 0 if part.tag != "mo" or len(text) != 1 else (text in "([{⟨⌊⌈") - (text in ")]}⟩⌋⌉")


def _count_signs(element: Element) -> int:
    """How many characters an element shows side by side, about; of a fraction or a table the wider part."""
    if element.tag in _TOKENS:
        return len(element.text or "")
    counts = [_count_signs(child) for child in element]
    if element.tag in {"mfrac", "mover", "munder", "munderover", "mtable"}:
        return max(counts, default=0)
    return sum(counts)


def _write(element: Element) -> str:
    """Markup of a tree whose names were checked."""
    attributes = "".join(f' {name}="{entities.escape(value)}"' for name, value in element.attrib.items())
    inside = "".join(map(_write, element))
    return f"<{element.tag}{attributes}>{entities.escape(element.text or '', quote=False)}{inside}</{element.tag}>"


def list_characters(markup: Sequence[str] | str) -> set[str]:
    """Every character that a browser draws in the `math` elements of markup, italics as characters of their own.

    MathML draws a single letter in italics, by taking another character for it.
    """
    drawn: set[str] = set()
    for maths in re.findall(r"<math\b.*?</math>", "".join(markup), re.DOTALL):
        drawn.update(entities.unescape(re.sub(r"<[^>]*>", "", maths)))
        drawn.update(_to_italic(letter) for letter in re.findall(r"<mi>([^<])</mi>", maths))
        drawn.update("√" if re.search(r"<m(sqrt|root)\b", maths) else "")
    return drawn


def _to_italic(letter: str) -> str:
    """The mathematical italic of a letter, or the character itself where it has none (ℝ, ∞)."""
    code = ord(letter)
    if letter == "h":
        return "\u210e"
    if "A" <= letter <= "Z":
        return chr(0x1D434 + code - ord("A"))
    if "a" <= letter <= "z":
        return chr(0x1D44E + code - ord("a"))
    if "Α" <= letter <= "Ω":
        return chr(0x1D6E2 + code - 0x391)
    if "α" <= letter <= "ω":
        return chr(0x1D6FC + code - 0x3B1)
    special = {"∂": 0x1D715, "ϵ": 0x1D716, "ϑ": 0x1D717, "ϰ": 0x1D718, "ϕ": 0x1D719, "ϱ": 0x1D71A, "ϖ": 0x1D71B,
               "∇": 0x1D6FB, "ϴ": 0x1D6F3, "ı": 0x1D6A4, "ȷ": 0x1D6A5}  # fmt: skip
    return chr(special[letter]) if letter in special else letter
