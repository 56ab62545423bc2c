"""The maths font of a page: of STIX Math those characters that the page's formulas draw, as a style that holds them."""

from __future__ import annotations

import base64
import io
from functools import lru_cache

from lessonpress.core import packaged_files

FAMILY = "Lesson Maths"  # a changed STIX font may not bear the name of the original
FILE = "fonts/STIXMath-Regular.otf"
# The Open Font License wants both in every copy, where readers can see them.
NOTICE = (
    "Formulas are set in a part of STIX Math 1.1.1, copyright 2001-2011 by the STI Pub Companies, portions copyright"
    " 1998-2003 by MicroPress, Inc. and 1990 by Elsevier, Inc., under the "
)
LICENSE = "SIL Open Font License 1.1"
LICENSE_URL = "https://openfontlicense.org"
_NAMES = (0, 7, 13, 14)  # the font's own words on copyright and licence stay in it


def make_style(characters: frozenset[str]) -> str:
    """The `@font-face` rule that holds the font with these characters; nothing for a page without maths."""
    if not characters:
        return ""
    font = base64.b64encode(cut_font(characters)).decode()
    notice = f"/* {NOTICE}{LICENSE}: {LICENSE_URL} */"
    return f'{notice}@font-face{{font-family:"{FAMILY}";src:url(data:font/woff2;base64,{font})format("woff2")}}'


def make_notice(characters: frozenset[str]) -> str:
    """Whose font it is and under which licence, for readers of the page; nothing for a page without maths."""
    return f' {NOTICE}<a href="{LICENSE_URL}">{LICENSE}</a>.' if characters else ""


@lru_cache(maxsize=16)
def cut_font(characters: frozenset[str]) -> bytes:
    """A WOFF2 font of these characters, with the larger brackets and the measures by which browsers set maths.

    The same characters always give the same bytes: the font holds no time, and both libraries are pinned.
    """
    from fontTools import subset, ttLib  # 0.2 s, so only pages with maths pay for it

    options = subset.Options(
        layout_features=[], hinting=False, desubroutinize=True, name_IDs=list(_NAMES), notdef_outline=False,
        glyph_names=False, recalc_timestamp=False, drop_tables=["FFTM", "GSUB", "GPOS", "GDEF", "DSIG"],
    )  # fmt: skip
    font = ttLib.TTFont(packaged_files.path("templates") / FILE, recalcTimestamp=False)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=[ord(character) for character in characters])
    cutter.subset(font)
    font.flavor = "woff2"
    made = io.BytesIO()
    font.save(made)
    return made.getvalue()
