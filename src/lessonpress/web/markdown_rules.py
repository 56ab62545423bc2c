"""What a lesson's Markdown knows beyond CommonMark, and what is refused because nobody would see what was meant."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.footnote import footnote_plugin

from lessonpress.core import suggestions
from lessonpress.core.errors import LessonError
from lessonpress.web import surroundings

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline

LABEL = re.compile(r"\s*\{#((?:eq|fig)-[\w-]+)\}$")
_REFERENCE = re.compile(r"@((?:eq|fig)-\w(?:[\w-]*\w)?)")
_CITATION = re.compile(r"\[@([\w:.-]+(?:\s*;\s*@[\w:.-]+)*)\]")
LESSON = re.compile(r"lesson:([a-z0-9-]+)")
_CALLOUT = re.compile(r"\[!(\w+)\]")
CALLOUTS = {"NOTE": "Note", "TIP": "Tip", "IMPORTANT": "Important", "WARNING": "Warning", "CAUTION": "Caution"}
FOLDS = {"details": "Details", "hint": "Hint", "solution": "Solution"}  # folded parts, with the words where none stand
UNSEEN = "instructor"  # a part that no page shows
_QUOTED = re.compile(r"from\s+(?P<name>\S+)(?:\s+\{(?P<marked>[^}]*)\})?")
# Elements of HTML that people type; `<s>`, `<eos>` and the like are tokens of a vocabulary and stay text.
_HTML = re.compile(
    r"<!--|</?(?:a|abbr|audio|b|blockquote|br|button|center|code|dd|del|details|div|dl|dt|em|embed|figcaption|"
    r"figure|font|form|h[1-6]|hr|i|iframe|img|input|ins|kbd|label|li|link|mark|object|ol|p|pre|script|section|small|span|strong|"
    r"style|sub|summary|sup|svg|table|tbody|td|th|thead|tr|tt|u|ul|video)(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
# Outside of code and maths: what was meant to be more than text, what would have been right, and what to write.
_MEANT: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (_HTML, "raw HTML is not taken", "Markdown; `::: details Title` folds a part"),
    (re.compile(r"\]\([^()\s]*\)?"), "this address leads nowhere that a page may lead",
     "https://…, mailto:…, #…, a file of the lesson, or lesson:SLUG"),
    (re.compile(r"\{#[^}]*\}?"), "a label with nothing to label",
     "`{#eq-NAME}` behind `$$…$$` on lines of its own, `{#fig-NAME}` behind an image that stands alone"),
    (re.compile(r"\[\^[^\]\s]+\]"), "there is no such footnote", "a line `[^name]: …` in the same text"),
    (re.compile(r":::+.*"), "there is no such part",
     f"`::: {'`, `::: '.join((*FOLDS, UNSEEN))}`, and `:::` at its end"),
    (re.compile(r"\$\$"), "maths without an end", "`$$` before and behind it"),
    (re.compile(r"\\[A-Za-z]{2,}"), "TeX outside of maths",
     "`$…$` around it, without a blank inside the dollars and without a digit behind them; a backslash stands in code"),
    (re.compile(r"^\[[ xX]\] "), "task lists are not taken", "a plain list"),
)  # fmt: skip
_ROW_OF_DASHES = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)+\|?\s*")
_BRACKETS = re.compile(r"\\\(.+?\\\)|\\\[.+?\\\]", re.DOTALL)


def install(reader: MarkdownIt) -> None:
    """Teach a reader what stands here."""
    reader.enable(["table", "strikethrough"])
    footnote_plugin(reader, inline=False)
    for name in (*FOLDS, UNSEEN):
        container_plugin(reader, name, render=_render_fold)
    reader.inline.ruler.before("link", "citation", _read_citation)
    reader.inline.ruler.before("link", "reference", _read_reference)
    for rule in (_take_out_unseen, _make_callouts, _make_figures, _lower_headings):
        reader.core.ruler.push(rule.__name__, rule)
    rules: dict[str, Any] = {
        "citation": _render_citation, "reference": _render_reference, "callout_title": _render_callout_title,
        "figure": _render_figure, "image": _render_image, "fence": _render_fence, "link_open": _render_link,
        "link_close": _render_link_end,
    }  # fmt: skip
    for name, rule in rules.items():
        reader.add_render_rule(name, rule)
    reader.options["lessonpress"] = reader


# -- reading -----------------------------------------------------------------------------------------------------------


def _read_reference(state: StateInline, silent: bool) -> bool:
    """`@eq-softmax` or `@fig-kernel`, at a word's beginning."""
    match = _REFERENCE.match(state.src, state.pos)
    if not match or (state.pos and (state.src[state.pos - 1].isalnum() or state.src[state.pos - 1] in "_@.")):
        return False
    return _push(state, "reference", match, silent)


def _read_citation(state: StateInline, silent: bool) -> bool:
    """`[@key]`, or several as `[@one; @two]`."""
    match = _CITATION.match(state.src, state.pos)
    return _push(state, "citation", match, silent) if match else False


def _push(state: StateInline, kind: str, match: re.Match[str], silent: bool) -> bool:
    if not silent:
        state.push(kind, "", 0).content = match[1]
    state.pos = match.end()
    return True


def _take_out_unseen(state: StateCore) -> None:
    """Leave out what is for instructors alone."""
    kept, depth = [], 0
    for token in state.tokens:
        depth += token.type == f"container_{UNSEEN}_open"
        if not depth:
            kept.append(token)
        depth -= token.type == f"container_{UNSEEN}_close"
    state.tokens = kept


def _make_callouts(state: StateCore) -> None:
    """A quotation that begins with `[!NOTE]` is a callout."""
    made: list[Token] = []
    open_quotes: list[bool] = []
    for at, token in enumerate(state.tokens):
        made.append(token)
        if token.type == "blockquote_open":
            title = _take_marker(state, at)
            open_quotes.append(bool(title))
            if title:
                token.tag, token.attrs = "div", {"class": f"callout {title.lower()}", "role": "note"}
                made.append(Token("callout_title", "", 0, content=CALLOUTS[title], block=True))
        elif token.type == "blockquote_close" and open_quotes.pop():
            token.tag = "div"
    state.tokens = made


def _take_marker(state: StateCore, at: int) -> str:
    """The kind of callout that a quotation begins with, taken out of its text; nothing for a plain quotation."""
    inline = state.tokens[at + 2] if len(state.tokens) > at + 2 else None
    children = inline.children if inline and inline.type == "inline" else None
    match = _CALLOUT.match(children[0].content) if children and children[0].type == "text" else None
    if not children or not match:
        return ""
    if match[1].upper() not in CALLOUTS:
        if surroundings.current() is None:
            return ""
        raise _error(state.env, match[0], "there is no such callout", ", ".join(f"[!{name}]" for name in CALLOUTS))
    children[0].content = children[0].content[match.end() :].lstrip()
    if not children[0].content:
        del children[0]
    if children and children[0].type == "softbreak":
        del children[0]
    return match[1].upper()


def _make_figures(state: StateCore) -> None:
    """An image that stands alone is a figure: its title is the caption, `{#fig-NAME}` behind it makes it numbered.

    In a text of one line, such as a title, nothing stands alone.
    """
    for token in [] if state.inlineMode else state.tokens:
        children = token.children or []
        if token.type != "inline" or not children or children[0].type != "image":
            continue
        label = LABEL.fullmatch(children[1].content) if len(children) == 2 and children[1].type == "text" else None
        if len(children) == 1 or label:
            figure = children[0]
            figure.meta["label"] = label[1] if label else ""
            figure.type, token.children = "figure", [figure]
    alone = [at for at, token in enumerate(state.tokens) if token.type == "inline" and token.children
             and token.children[0].type == "figure"]  # fmt: skip
    for at in alone:
        for around in (state.tokens[at - 1], state.tokens[at + 1]):
            around.hidden = around.type.startswith("paragraph")


def _lower_headings(state: StateCore) -> None:
    """A text's headings stand below those of the page."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 3)}"


# -- what it becomes ---------------------------------------------------------------------------------------------------


def _render_reference(_renderer: Any, tokens: Sequence[Token], at: int, _options: Any, env: Any) -> str:
    around, label = surroundings.current(), tokens[at].content
    if around is None:
        return "the equation" if label.startswith("eq") else "the figure"
    if label not in around.numbers:
        known = list(around.numbers)
        raise _error(env, f"@{label}", "nothing has this label", suggestions.did_you_mean(label, known)
                     or f"labels: {', '.join(known) or 'none'}")  # fmt: skip
    around.used.add("reference")
    return f'<a class="ref" href="#{label}">{around.numbers[label]}</a>'


def _render_citation(_renderer: Any, tokens: Sequence[Token], at: int, _options: Any, env: Any) -> str:
    around = surroundings.current()
    if around is None:
        return ""
    cited = []
    for key in re.split(r"\s*;\s*@", tokens[at].content):
        if key not in around.papers:
            known = list(around.papers)
            raise _error(env, f"@{key}", "no paper of the recipe has this key", suggestions.did_you_mean(key, known)
                         or f"keys: {', '.join(known) or 'none (milestone.papers[…].key)'}")  # fmt: skip
        paper = around.papers[key]
        cited.append(f'<a href="#paper-{paper.number}" title="{html.escape(paper.title)}">{paper.number}</a>')
    around.used.add("citation")
    return f'<span class="cited">[{", ".join(cited)}]</span>'


def _render_callout_title(_renderer: Any, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    _use("callout")
    return f'<p class="callout-title">{tokens[at].content}</p>\n'


def _render_fold(_renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """A folded part with its title."""
    token = tokens[at]
    if token.nesting == -1:
        if not token.markup.startswith(":::") and surroundings.current():
            raise _error(env, ":::", "a part without an end", "`:::` on a line of its own behind it")
        return "</details>\n"
    name, _, title = token.info.strip().partition(" ")
    _use("fold")
    words = options["lessonpress"].renderInline(title.strip() or FOLDS[name], {**env})
    return f'<details class="fold {name}"><summary>{words}</summary>\n'


def _render_figure(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    token, around = tokens[at], surroundings.current()
    picture = _render_image(renderer, tokens, at, options, env)
    if around is None:
        return picture
    label, caption = str(token.meta.get("label") or ""), str(token.attrGet("title") or "")
    words = options["lessonpress"].renderInline(caption, {**env}) if caption else ""
    number = f"<b>{around.numbers.get(label, '')}.</b> " if label else ""
    around.used.add("figure")
    place = f' id="{label}"' if label else ""
    below = f"<figcaption>{number}{words}</figcaption>" if number or words else ""
    return f'<figure class="image"{place}>{picture}{below}</figure>\n'


def _render_image(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """An image of the lesson's folder. Raises LessonError for another one, for one without words, and a large one."""
    token, around = tokens[at], surroundings.current()
    name = str(token.attrGet("src") or "").removeprefix("./")
    words = str(renderer.renderInlineAsText(token.children or [], options, env)).strip()
    shown = f"![{token.content}]({name})"
    if around is None:
        return html.escape(words)
    if not words:
        raise _error(env, shown, "an image without words for those who cannot see it", "`![what it shows](file.png)`")
    if name not in around.files:
        near = suggestions.did_you_mean(name, [file for file in around.files if file.endswith(surroundings.IMAGES)])
        raise _error(env, shown, f"the lesson's folder has no file {name}", near or "an image of the folder")
    if not name.lower().endswith(surroundings.IMAGES):
        raise _error(env, shown, "this is no image that every browser shows", ", ".join(surroundings.IMAGES))
    if around.files[name] > surroundings.MAX_IMAGE:
        raise _error(env, shown, f"the image has {around.files[name]:,} bytes",
                     f"at most {surroundings.MAX_IMAGE:,}; make it smaller")  # fmt: skip
    around.used.add("image")
    return f'<img src="./{html.escape(name)}" alt="{html.escape(words)}" loading="lazy">'


def _render_fence(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """Code as it is typed; or, behind the word `from`, lines of the lesson's own files by name."""
    token = tokens[at]
    match = _QUOTED.fullmatch(token.info.strip())
    if match is None:
        return str(type(renderer).fence(renderer, tokens, at, options, env))
    around = surroundings.current()
    if around is None:
        return ""
    if token.content.strip():
        raise _error(env, f"```{token.info}", "lines are taken from the lesson's files and typed here too",
                     "nothing between the fences")  # fmt: skip
    around.used.add("excerpt")
    try:
        return around.quote(match["name"], match["marked"] or "")
    except LookupError as error:
        raise _error(env, f"```{token.info}", str(error.args[0]), "") from None


def _render_link(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    token, around = tokens[at], surroundings.current()
    address = str(token.attrGet("href") or "")
    lesson = LESSON.fullmatch(address)
    if lesson and around is None:
        return "<span>"
    if lesson and around:
        token.attrSet("href", f"{around.lessons}{lesson[1]}/")
    elif around and not re.match(r"[a-z]+:|#", address, re.IGNORECASE):
        name = address.removeprefix("./").partition("#")[0]
        if name not in around.published:
            raise _error(env, f"]({address})", f"there is no file {name} beside the page",
                         suggestions.did_you_mean(name, sorted(around.published))
                         or "a file of the lesson")  # fmt: skip
    return str(renderer.renderToken(tokens, at, options, env))


def _render_link_end(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """The end of a link; of one to a lesson, where nobody knows the way, the end of its words."""
    depth, start = 0, at
    while start >= 0:
        depth += {"link_close": 1, "link_open": -1}.get(tokens[start].type, 0)
        if not depth:
            break
        start -= 1
    lost = surroundings.current() is None and LESSON.fullmatch(str(tokens[start].attrGet("href") or ""))
    return "</span>" if lost else str(renderer.renderToken(tokens, at, options, env))


def _use(feature: str) -> None:
    around = surroundings.current()
    if around:
        around.used.add(feature)


# -- what is refused ---------------------------------------------------------------------------------------------------


def require_plain(tokens: Sequence[Token], env: Any) -> None:
    """Raise LessonError for text that was meant to be more: markup that is not taken, maths that is none."""
    for token in _walk(tokens):
        if token.type == "inline":
            _require_source(token.content, env)
        elif token.type == "text":
            for pattern, seen, expected in _MEANT:
                if match := pattern.search(token.content):
                    raise _error(env, match[0], seen, expected)
    lonely = [name for name, at in env.get("footnotes", {}).get("refs", {}).items() if at < 0]
    if lonely:
        raise _error(env, f"[^{lonely[0][1:]}]:", "nothing refers to this footnote", f"[^{lonely[0][1:]}] in the text")


def _require_source(source: str, env: Any) -> None:
    """Look at a paragraph as it was typed."""
    bare = _CODE.sub("", source)
    if match := _BRACKETS.search(bare):
        raise _error(env, match[0], "maths in brackets with backslashes is not taken", "`$…$`, or `$$…$$`")
    if any(_ROW_OF_DASHES.fullmatch(line) for line in bare.splitlines()):
        raise _error(env, bare.splitlines()[0], "a table whose rows do not fit",
                     "a head, a row of dashes with as many cells, then the rows")  # fmt: skip


def _walk(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        if token.type != "image" and token.type != "figure":
            yield from _walk(token.children or ())


def _error(env: Any, what: str, seen: str, expected: str) -> LessonError:
    return LessonError(env.get("where", "prose"), f"{what[:100]!r}: {seen}", expected)
