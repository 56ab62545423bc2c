"""A lesson whose every text attacks its readers, taken to a published site: what it says is shown, never obeyed."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import stat
import time
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from lessonpress.build import execute as executing
from lessonpress.build import source_record
from lessonpress.core import canonical_json, yaml_reader
from lessonpress.core.errors import LessonError, escape_invisible
from lessonpress.core.settings import Config, Site
from lessonpress.lesson import reader, validation_messages
from lessonpress.publishing import publish, site
from lessonpress.web import prose
from lessonpress.web.page import binding, volatile
from tests import tiny
from tests.hostile import mutations

SLUG = "awkward"
ATTACKS = (
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "{{ 7*7 }}", "{% raw %}", "${7*7}", "]]>",
    "-->", "<!--", "</title></style></svg></textarea><b onclick='x'>", "\"' onload=x a='", "&lt;i&gt;", "\u202egnp.exe",
    "\u2066hidden\u2069", "\u2028", "[go](javascript:alert(3))", "[go](data:text/html,x)", "[go](//evil.example/)",
    "[go](../../../x)", "![p](https://evil.example/p.png)", "<javascript:alert(4)>", "`</code><u>`", "\ufeff", "\x07"
)  # fmt: skip
# As code: prose takes neither tags nor such addresses beside it (tests/test_prose_rules.py), nor controls anywhere.
NASTY = f"```` {' '.join(ATTACKS)} ````".replace("\x07", "")
# `data-volatile` in a lesson's text must not take the text out of the page's identity.
VOLATILE = "`<span data-volatile>free</span>`"
KEYS = ["a<b>&'\"", "</script><i>", "層 größe", "has space", "{{ 7*7 }}", "up/down", "two\nlines", "bell\x07",
        "\u202egnp", "]]>", "-->", "x" * 300]  # fmt: skip
MODEL = f'''"""{{{{ 7*7 }}}} </script><b onclick="x"> --> ]]> {{% raw %}}"""
from torch import nn

KEYS = {KEYS!r}


class Größe(nn.Module):
    def __init__(self):
        super().__init__()
        self.слой = nn.ModuleDict({{key: nn.Linear(2, 2) for key in KEYS}})
        print("</script><u> \\x1b[31m {{{{ 7*7 }}}}")

    def forward(self, x):
        sums = {{}}
        for key in KEYS:
            x = self.слой[key](x)
            sums["<" + key + ">"] = x.sum()
        return sums
'''
CHECKS = f'''def check_words(runs):
    """{NASTY.replace(chr(92), "").replace(chr(0x2028), "").replace('"', "")}"""
    total = runs["one"][next(address for address in runs["one"] if address.startswith("sum@"))]
    return {{"measured": float(abs(total)), "bound": 1e-9, "sense": ">="}}
'''
OURS = frozenset((
    "html", "head", "img", "meta", "title", "link", "style", "script", "body", "a", "abbr", "article", "aside",
    "button", "caption", "cite", "code", "col", "colgroup", "dd", "details", "dialog", "div", "dl", "dt", "em",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "br",
    "i", "input", "kbd", "label", "legend", "li", "main", "mark", "menu", "nav", "ol", "optgroup", "option",
    "output", "p", "pre", "q", "s", "samp", "section", "select", "small", "span", "strong", "sub", "summary", "sup",
    "table", "tbody", "td", "template", "textarea", "tfoot", "th", "thead", "time", "tr", "ul", "var", "blockquote",
    "progress", "meter", "datalist", "noscript", "svg", "g", "path", "rect", "text", "tspan", "desc", "circle",
    "line", "polyline", "polygon", "defs", "use", "marker", "math", "mrow", "mi", "mn", "mo", "mtext", "mspace",
    "msub", "msup", "msubsup", "mfrac", "msqrt",
))  # fmt: skip


def recipe() -> dict[str, Any]:
    """A lesson with an attack in every text that it may have."""
    words = dict.fromkeys(("title", "question", "description", "category", "curator", "attribution", "license",
                           "limitations", "scope"), f"{NASTY} {VOLATILE}")  # fmt: skip
    label = {"label": NASTY}
    return {
        "schema": 1, "slug": SLUG, **words, "tags": list(ATTACKS),
        "milestone": {"name": NASTY, "year": 2014, "kind": NASTY, "fidelity": NASTY,
                      "papers": [{"title": NASTY, "url": "https://example.org/\"onload=x'><u>"}]},
        "model": {"file": "model.py", "class": "Größe"},
        "execution": {"inputs": {"x": {"shape": [1, 2], "fill": "ones"}}},
        "experiment": {
            "title": NASTY, "description": NASTY, "control": {"input": "x", **label},
            "cases": [{"id": name, **label, "note": NASTY, "inputs": {"x": {"fill": at}}}
                      for at, name in enumerate(("one", "two"))],
            "record": {
                "matrices": [{"id": "x", **label, "tensor": "input:x", "rows": {"name": NASTY, "labels": [NASTY]},
                              "columns": {"name": NASTY, "labels": [NASTY, NASTY]}}],
                "vectors": [{"id": "v", **label, "tensor": "input:x", "select": "[0]", "axis": {"name": NASTY}}],
                "metrics": [{"id": "m", **label, "value": "sum", "of": "x"}],
            },
        },
        "checks": "checks.py",
        "mutants": [{"id": "m", "sentence": f"{NASTY} {VOLATILE}", "breaks": ["check_words"],
                     "replace": {"file": "model.py", "find": "= x.sum()", "with": "= (x * 0).sum()  # " + NASTY[:20]}}],
        "steps": [{"id": "s", "target": 'слой."{{ 7*7 }}"', "title": NASTY, "note": NASTY}],
        "glossary": [{"term": f"```` {text} ````".replace("\x07", ""), "beginner": NASTY, "expert": NASTY}
                     for text in ATTACKS],
    }  # fmt: skip


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """The site with the hostile lesson in it."""
    root = tmp_path_factory.mktemp("content")
    config = Config(
        lessons=str(root / "lessons"), results=str(root / "results"), work=str(root / "work"),
        site=Site(title="</script>{{ 7*7 }}", base_url="https://example.org/l"),
    )  # fmt: skip
    tiny.write(config.lesson(SLUG), recipe=mutations.written(recipe()), model=MODEL, checks=CHECKS)
    (config.lesson(SLUG) / "{{ 7-7 }}&lt;b&gt;'.py").write_text("# </script><u>\n", encoding="utf-8")
    assert not publish.publish(tiny.made(config, SLUG), note=escape_invisible(NASTY)).mistakes
    site.write_site(config)
    return config


class Page(HTMLParser):
    """The elements, attributes and words of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        """Note words."""
        self.words.append(data)


def pages(config: Config) -> Iterator[tuple[Path, str]]:
    """Every HTML file of the site."""
    for path in sorted(Path(config.results).rglob("*.html")):
        yield path, path.read_text(encoding="utf-8")


@pytest.mark.hostile
def test_pages_hold_only_our_own_elements(published: Config) -> None:
    """No element, handler, style or address in any page comes from what the lesson says."""
    for path, text in pages(published):
        page = Page(text)
        frames = [attributes for tag, attributes in page.elements if tag == "iframe"]
        around = re.fullmatch(r"[0-9a-f]{16}\.html", path.name)  # the page around a revision shows it in a frame
        assert [frame["src"] for frame in frames] == ([f"{path.stem}/index.html"] if around else []), path
        assert {tag for tag, _ in page.elements} - {"iframe"} <= OURS, path
        for tag, attributes in page.elements:
            assert not [name for name in attributes if name.startswith("on") or name == "style"], (path, tag)
            assert tag != "img" or re.fullmatch(r"[./\w-]+/preview\.svg", attributes["src"]), path
            address = r"https://|#|data:(,$|image/svg\+xml,%3Csvg )|[\w./%-]+$|$"  # the icon of a page is none, or ours
            assert re.match(address, attributes.get("href", "")), (path, attributes)
            assert "evil.example" not in attributes.get("src", "") + attributes.get("action", ""), path


@pytest.mark.hostile
def test_no_template_syntax_is_evaluated(published: Config) -> None:
    """What stands in double braces reaches the reader as it was typed, and its value is nowhere."""
    for path, text in pages(published):
        words = " ".join(part for part in Page(text).words if "alert(1)" in part or "7*7" in part)
        assert not re.search(r"(?<![\d.\w])49(?![\d.\w])", words), path
        assert "{{ 7" in words, path


@pytest.mark.hostile
def test_nothing_is_unseen(published: Config) -> None:
    """Controls and overrides are signs one can see, in every text file that we make."""
    for pattern in ("**/*.html", "**/*.svg", "*.xml"):
        for path in Path(published.results).glob(pattern):
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".svg":
                text = re.sub(r' data-[a-z]+="[^"]*"', "", text)  # an id is kept as it is, for scripts
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text), path


@pytest.mark.hostile
def test_data_is_strict(published: Config) -> None:
    """Every JSON file and block parses without bare NaN, every picture and feed as XML."""

    def never(word: str) -> None:
        raise AssertionError(word)

    for path in Path(published.results).rglob("*.json"):
        json.loads(path.read_text(encoding="utf-8"), parse_constant=never)
    for path in (*Path(published.results).rglob("*.svg"), *Path(published.results).glob("*.xml")):
        ElementTree.fromstring(path.read_bytes())
    for path, text in pages(published):
        for block in re.findall(r'<script type="application/(?:ld\+)?json"[^>]*>(.*?)</script>', text, re.DOTALL):
            json.loads(block, parse_constant=never), path
        for drawing in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
            assert "<script" not in drawing


@pytest.mark.hostile
def test_the_policy_still_fits(published: Config) -> None:
    """Exactly the page's own scripts and styles are allowed, by their hashes."""
    for path, text in pages(published):
        policy = next(a["content"] for t, a in Page(text).elements if a.get("http-equiv") == "Content-Security-Policy")
        assert "unsafe" not in policy
        for block in re.findall(r"<script>(.*?)</script>", text, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy, path
        assert len(re.findall(r"<script>", text)) <= 1, path


@pytest.mark.hostile
def test_a_text_cannot_leave_the_identity(published: Config) -> None:
    """A lesson that imitates the mark of what a revision's identity leaves out is blanked nowhere."""
    _, text = next((path, text) for path, text in pages(published) if path.parent.parent.name == SLUG)
    assert "free" in "".join(Page(volatile.blank_page(text, "")).words)


@pytest.mark.hostile
def test_bundled_files_stay_in_their_folder(published: Config) -> None:
    """Every entry of the zip is a plain file below one folder, and the pages' files are plain files too."""
    revision = next(Path(published.results).rglob("bundle.zip")).parent
    with zipfile.ZipFile(revision / "bundle.zip") as bundle:
        for entry in bundle.infolist():
            parts = entry.filename.split("/")
            assert parts[0] == f"{SLUG}-{revision.name}"
            assert ".." not in parts
            assert stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
            assert not entry.filename.startswith("/")
            assert "\\" not in entry.filename
    assert not [path for path in Path(published.results).rglob("*") if path.is_symlink()]


@pytest.mark.hostile
def test_a_traceback_is_reported_without_its_escapes(published: Config, tmp_path: Path) -> None:
    """What a lesson prints and raises cannot colour, move or reorder the terminal of the person who runs it."""
    deed = 'print("\\x1b[2J\\u202eout"); raise ValueError("\\x1b[31m\\x9b1m\\u202e")'
    model = tiny.MODEL.replace("return x + 1", deed)
    folder = tiny.write(tmp_path / "lessons" / "echo", model=model)
    config = Config(lessons=str(tmp_path / "lessons"), work=str(tmp_path / "work"))
    with pytest.raises(LessonError, match="ValueError") as caught:
        executing.run_lesson(config, source_record.make_source_record(reader.read(folder)), folder)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", caught.value.message())


@pytest.mark.parametrize("slug", ["../x", "/etc", "a/b", "..", ".", "", "a\\b", "a\n", "ａ", "-x", "x" * 101])
def test_slugs_stay_in_their_folder(tmp_path: Path, slug: str) -> None:
    """A slug is a plain word: nothing that a path, a shell or a link could read otherwise."""
    text = tiny.RECIPE.replace("slug: echo", f"slug: {json.dumps(slug)}")
    with pytest.raises(LessonError, match="slug"):
        reader.read(tiny.write(tmp_path / "echo", recipe=text))


OUTSIDE = ("../model.py", "/etc/model.py", "a/../../model.py", "./model.py", "model.py\n", "C:\\m.py")


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("key", ["model", "checks"])
def test_file_names_stay_in_the_folder(tmp_path: Path, name: str, key: str) -> None:
    """A file that a recipe names is one of the lesson's own."""
    named = {"model": tiny.RECIPE.replace("model.py", json.dumps(name)),
             "checks": tiny.RECIPE + f"checks: {json.dumps(name)}\n"}  # fmt: skip
    folder = tiny.write(tmp_path / "echo", recipe=named[key])
    (tmp_path / "model.py").write_text(tiny.MODEL, encoding="utf-8")
    with pytest.raises(LessonError, match=key):
        reader.read(folder)


@pytest.mark.parametrize("name", ["\u202eyp.x", "a\nb.py", "a\\b.py", "\x1b[31m.py", os.fsdecode(b"\xff.py")])
def test_names_that_no_page_or_zip_can_hold_are_refused(tmp_path: Path, name: str) -> None:
    """A published file's name is one that every reader sees and every system unpacks as it is."""
    folder = tiny.write(tmp_path / "echo")
    (folder / name).write_text("", encoding="utf-8")
    with pytest.raises(LessonError, match="name") as caught:
        reader.read(folder)
    caught.value.message().encode()


TOO_MUCH = {
    "a long text": (f"description: {'x' * 100_001}\n", "a text of 100001 characters"),
    "a long key": (f"? {'k' * 100_001}\n: 1\n", "a text of 100001 characters"),
    "a long literal": (f"category: !!str {'9' * 100_001}\n", "a text of 100001 characters"),
    "a huge number": (f"curator: 0x{'f' * 20_000}\n", "a whole number of 80000 bits"),
    "half a character": ('title2: "\\ud800"\n', r"half a character, \ud800"),
    "half a character in a key": ('"\\udfff": 1\n', r"half a character, \udfff"),
    "many values": (f"tags: [{'a,' * 150_000}]\n", "too many"),
    "deep values": (f"tags: {'[' * 5_000}{']' * 5_000}\n", "deeply"),
    "deep keys": ("? " * 5_000 + "\n", "deeply"),
    "many runs of many values": (
        f"experiment: {{inputs: {{x: {{values: [{'1,' * 5_000}]}}}}, cases: [{'{id: a},' * 1_000}]}}\n",
        "1001 runs share",
    ),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much_is_refused_at_its_line(tmp_path: Path, name: str) -> None:
    """A text, number or document beyond what a page can show is one message with a line, soon."""
    text, expected = TOO_MUCH[name]
    with pytest.raises(LessonError) as caught:
        source_record.make_source_record(reader.read(tiny.write(tmp_path / "echo", recipe=tiny.RECIPE + text)))
    assert expected in caught.value.message()
    assert re.search(r"lesson\.yaml:\d+", caught.value.message())
    assert len(caught.value.message()) < 50_000


def test_many_mistakes_are_reported_in_part(tmp_path: Path) -> None:
    """Ten thousand wrong keys are a message that a person can read."""
    text = tiny.RECIPE + f"steps: [{'{x: 1},' * 5_000}]\n"
    with pytest.raises(LessonError) as caught:
        reader.read(tiny.write(tmp_path / "echo", recipe=text))
    assert 50 < caught.value.message().count("\n") < validation_messages.MAX_MISTAKES


def test_an_anchor_may_be_used_again() -> None:
    """YAML 1.2 lets a later anchor replace an earlier one, without a warning."""
    assert yaml_reader.read("a: &x 1\nb: &x 2\nc: *x\n", "x").value == {"a": 1, "b": 2, "c": 2}


def test_messages_hold_no_escapes() -> None:
    """A key cannot colour the terminal on which it is refused."""
    assert LessonError("a\x1b[31m", "\u202eb", "\x9b", "\ud800\nc").message() == (
        "a\\x1b[31m: \\u202eb; \\x9b. \\ud800\nc"
    )


LONG = (
    "x" * 99_999, "*" * 20_000, "[" * 20_000, "`" * 20_000, "<" * 20_000, "> " * 5_000, "$" * 20_000, "_a" * 20_000,
    "![" * 10_000, "- " * 5_000, "|a" * 20_000 + "\n|-\n",
)  # fmt: skip


@pytest.mark.parametrize("text", LONG)
def test_long_prose_is_rendered_in_bounded_size(text: str) -> None:
    """The longest text that a recipe may hold costs a page a small multiple of itself."""
    start = time.process_time()
    assert len(prose.to_html(text)) < 40 * len(text) + 1_000
    assert time.process_time() - start < 10


EXPRESSIONS = (
    "one.x.flat().tofile('FILE')", "one.x._flat.tofile('FILE')", "one.x._values.dump('FILE')", "one.x.__class__",
    "''.__class__.__mro__", "'a' * 9999999999", "9999999999 * 'a'", "'%9999999999d' % 1", "'a'.ljust(9999999999)",
    "one.x[0,0].hex()", "1 ** 2 + one.m", "one.m ** 9", "cycler", "range(9)", "lipsum()", "self",
    "self._TemplateReference", "one.x | attr('_values')", "one.x | map('sum')", "one.m | sig(999999999)",
    "one.m | fixed(999999999)", "one", "one.x",
)  # fmt: skip


def in_prose(folder: Path, expression: str) -> str:
    """A title that holds an expression, as it is published."""
    title = json.dumps(f"{{{{ {expression} }}}}")
    read = reader.read(tiny.write(folder, recipe=tiny.RECIPE.replace("title: Echo", f"title: {title}")))
    arrays = {"x": {"dtype": "float64", "values": [[1.0]]}}
    return binding.bind_values(read, {"cases": {"one": {"arrays": arrays, "metrics": {"m": 2.0}}}}).recipe.title


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_in_prose_only_looks_up(tmp_path: Path, expression: str) -> None:
    """What stands in double braces calls nothing, writes nothing and fills no memory: anything else is a message."""
    target = Path("/tmp", f"lp{os.getpid()}")  # short, since an expression is
    with pytest.raises(LessonError, match="cannot be evaluated"):
        in_prose(tmp_path / "echo", expression.replace("FILE", str(target)))
    assert not target.exists()


def test_deep_expressions_are_numbers_or_messages(tmp_path: Path) -> None:
    """An expression that is all brackets or signs does not bring the reader down."""
    assert in_prose(tmp_path / "echo", "(" * 40 + "one.m" + ")" * 40) == "2.000"
    assert in_prose(tmp_path / "echo", "-" * 150 + "one.m") == "2.000"


def test_what_names_nothing_stays_as_typed(tmp_path: Path) -> None:
    """Double braces around bare arithmetic are no reference to the record, so nothing is computed."""
    assert in_prose(tmp_path / "echo", "7*7") == "{{ 7*7 }}"


def test_canonical_json_refuses_what_is_no_json() -> None:
    """No bare NaN ever reaches a published file."""
    with pytest.raises(ValueError, match="JSON"):
        canonical_json.dumps({"x": float("nan")})
