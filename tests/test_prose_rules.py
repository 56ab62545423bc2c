"""What a lesson's Markdown knows beyond CommonMark, and that whatever is not taken is an error at its line."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessonpress.build import lesson_links
from lessonpress.core.errors import LessonError, RetryableError
from lessonpress.lesson import reader
from lessonpress.lesson.recipe import Recipe
from lessonpress.web import prose, surroundings
from lessonpress.web.page import lesson_words, prose_check
from tests import tiny

CODE = '''\
import torch


class Cell:
    """A cell."""

    @property
    def size(self):
        return 1

    def forward(self, x):
        scores = x @ x.T
        return scores.softmax(-1)


def helper():
    return 0
'''
SURROUNDINGS = surroundings.Surroundings(
    numbers={"eq-a": "Equation 1", "fig-k": "Figure 1"}, papers={"ba14": surroundings.Paper(2, 'A "title"')},
    files={"k.png": 900, "big.png": surroundings.MAX_IMAGE + 1, "model.py": 10},
    published=frozenset({"k.png", "model.py", "cases.csv"}),
    quote=lesson_words.make_quoter("model.py", {"model.py": CODE}),
)  # fmt: skip


def html(text: str, **more: str) -> str:
    """A text as a part of a page."""
    with surroundings.within(SURROUNDINGS):
        return prose.to_html(text, **more)


def refused(text: str) -> str:
    """What is said of a text that is not taken."""
    with pytest.raises(LessonError) as caught:
        html(text, where="lesson.yaml:7")
    assert caught.value.where == "lesson.yaml:7"
    return caught.value.message()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see @eq-a.", '<p>see <a class="ref" href="#eq-a">Equation 1</a>.</p>'),
        ("@fig-k", '<p><a class="ref" href="#fig-k">Figure 1</a></p>'),
        ("[@ba14]", '<p><span class="cited">[<a href="#paper-2" title="A &quot;title&quot;">2</a>]</span></p>'),
        ("$$x$$ {#eq-a}", '<div class="equation" id="eq-a"><math display="block"><mi>x</mi></math>'
                          '<span class="number">(1)</span></div>'),
        ('![A kernel](k.png "One *kernel*"){#fig-k}',
         '<figure class="image" id="fig-k"><img src="./k.png" alt="A kernel" loading="lazy">'
         "<figcaption><b>Figure 1.</b> One <em>kernel</em></figcaption></figure>"),
        ("![A kernel](./k.png)",
         '<figure class="image"><img src="./k.png" alt="A kernel" loading="lazy"></figure>'),
        ("a ![A *kernel*](k.png) b", '<p>a <img src="./k.png" alt="A kernel" loading="lazy"> b</p>'),
        ("> [!NOTE]\n> Mind *this*.", '<div class="callout note" role="note">\n<p class="callout-title">Note</p>\n'
                                      "<p>Mind <em>this</em>.</p>\n</div>"),
        ("> plain", "<blockquote>\n<p>plain</p>\n</blockquote>"),
        ("::: details Why *that*?\nBecause.\n:::",
         '<details class="fold details"><summary>Why <em>that</em>?</summary>\n<p>Because.</p>\n</details>'),
        ("::: solution\nIt is 4.\n:::",
         '<details class="fold solution"><summary>Solution</summary>\n<p>It is 4.</p>\n</details>'),
        ("a\n\n::: instructor\nAsk them first.\n:::\n\nb", "<p>a</p>\n<p>b</p>"),
        ("~~old~~", "<p><s>old</s></p>"),
        ("# Part\n\n### Deep", "<h4>Part</h4>\n<h6>Deep</h6>"),
        ("[a](lesson:other-one)", '<p><a href="../../other-one/">a</a></p>'),
        ("[a](model.py) [b](#walk)", '<p><a href="model.py">a</a> <a href="#walk">b</a></p>'),
        ("the token <eos> and <s>", "<p>the token &lt;eos&gt; and &lt;s&gt;</p>"),
        ("```\nplain\n```", "<pre><code>plain\n</code></pre>"),
    ],
)  # fmt: skip
def test_what_is_written_and_what_it_becomes(text: str, expected: str) -> None:
    """Worked out by hand."""
    assert html(text) == expected


def test_footnotes_stand_below_their_text_under_names_of_their_own() -> None:
    """Two texts of one page may both have a first footnote."""
    pages = [html("a[^1]\n\n[^1]: the note", where=where) for where in ("step one", "step two")]
    anchors = [re.findall(r'id="(fn[^"]*)"', page) for page in pages]
    assert len(anchors[0]) == 2
    assert not set(anchors[0]) & set(anchors[1])
    for page in pages:
        targets = re.findall(r'href="#([^"]+)"', page)
        assert sorted(targets) == sorted(re.findall(r'id="([^"]+)"', page))
        assert "the note" in page


def test_code_is_taken_by_name_with_marked_lines() -> None:
    """The lines are those of the file, with what is to be marked, by number or by what stands in them."""
    made = html('```from Cell.forward {1, "softmax"}\n```')
    first = CODE[: CODE.index("def forward")].count("\n") + 1
    assert f'<a href="#s0-{first}">model.py, lines {first} to {first + 2}</a>' in made
    words = [re.sub(r"<[^>]+>", "", line) for line in re.findall(r"<span( class=\"lit\")?>(.*)</span>\n", made)
             for line in [line[1]]]  # fmt: skip
    assert words == ["def forward(self, x):", "    scores = x @ x.T", "    return scores.softmax(-1)"]
    assert [bool(lit) for lit in re.findall(r"<code>|\n?<span( class=\"lit\")?>(?=<|\w| )", made)][1:2] is not None
    assert made.count('<span class="lit">') == 2
    assert "@property" in re.sub(r"<[^>]+>", "", html("```from model.py:Cell.size\n```"))


REFUSED = {
    "raw HTML": ("a <b>b</b>", "'<b>': raw HTML is not taken; Markdown"),
    "folded by HTML": ("<details>\nx\n</details>", "`::: details Title`"),
    "a comment": ("a <!-- b -->", "raw HTML"),
    "a scheme": ("[a](javascript:x)", "this address leads nowhere that a page may lead"),
    "a file that is not there": ("[a](mode.py)", "there is no file mode.py beside the page; Did you mean model.py?"),
    "an image elsewhere": ("![a](https://example.org/a.png)", "has no file https://example.org/a.png"),
    "an image without words": ("![](k.png)", "an image without words for those who cannot see it"),
    "an image that is none": ("![a](model.py)", "this is no image that every browser shows; .png, .jpg"),
    "a large image": ("![a](big.png)", f"the image has {surroundings.MAX_IMAGE + 1:,} bytes; at most"),
    "a label that is not there": ("see @eq-b", "'@eq-b': nothing has this label"),
    "a label on nothing": ("some words {#eq-a}", "a label with nothing to label"),
    "a label behind maths in a line": ("so $$x$$ {#eq-a}", "a label with nothing to label"),
    "a paper that is not there": ("[@ba15]", "no paper of the recipe has this key; Did you mean ba14?"),
    "a callout": ("> [!HINT]\n> x", "'[!HINT]': there is no such callout; [!NOTE], [!TIP]"),
    "a part": ("::: warning\nx\n:::", "there is no such part"),
    "a part without an end": ("::: details\nx", "a part without an end"),
    "a footnote that is not there": ("a[^2]", "'[^2]': there is no such footnote"),
    "a footnote that nobody asked for": ("a\n\n[^2]: x", "nothing refers to this footnote"),
    "maths with a blank": (r"so $ \alpha $ is", r"TeX outside of maths"),
    "TeX without dollars": (r"so \alpha is", r"'\\alpha': TeX outside of maths"),
    "maths without an end": ("so $$x", "maths without an end"),
    "maths in brackets": (r"so \(x\) is", "maths in brackets with backslashes is not taken"),
    "a tab out of double quotes": ("$\theta$", "in double quotes YAML reads"),
    "a bell out of double quotes": ("$\alpha$", "a character that nobody can see"),
    "a task": ("- [ ] do it", "task lists are not taken"),
    "a table that does not fit": ("| a | b |\n|---|---|---|\n| 1 | 2 |", "a table whose rows do not fit"),
    "code that is not there": ("```from Cell.forwards\n```", "model.py defines no Cell.forwards; Did you mean"),
    "code of another file": ("```from other.py:Cell\n```", "the lesson has no file other.py"),
    "code typed twice": ("```from Cell.forward\nx\n```", "typed here too; nothing between the fences"),
    "a line too many": ("```from Cell.forward {4}\n```", "4 names none of the 3 lines that are quoted"),
    "a line that is not there": ('```from Cell.forward {"tanh"}\n```', "no line that is quoted holds \"tanh\""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_taken_is_said(name: str) -> None:
    """What a reader would see as signs, or not at all, is an error that says what to write."""
    text, message = REFUSED[name]
    assert message in refused(text)


@pytest.mark.parametrize("name", [name for name in REFUSED if "image" not in name])
def test_code_may_show_all_of_it(name: str) -> None:
    """In a span or a block of code the same signs are what is meant."""
    text = REFUSED[name][0]
    if "`" not in text and "\n" not in text and not re.search(r"[\x07\x09]", text):
        assert "<code>" in html(f"`{text}`")
    if "`" not in text and not re.search(r"[\x07\x09]", text):
        assert "<pre>" in html(f"```text\n{text}\n```").replace(' class="language-text"', "")


def test_alone_a_text_is_shown_as_well_as_can_be() -> None:
    """The catalogue knows no figures and no other page's way; what was published once is never refused there."""
    assert prose.to_inline("a @eq-a [@k] [b](lesson:x) ![c](k.png)") == "a the equation  <span>b</span> c"
    for name, (text, _) in REFUSED.items():
        if name.startswith("a bell"):  # of which no maths can be made
            with pytest.raises(LessonError, match="holds a character that no page can show"):
                prose.to_html(text)
        else:
            prose.to_html(text)
    assert prose.to_text("see @fig-k[^1] [@k]\n\n[^1]: x") .startswith("see the figure")


@given(st.text(alphabet=st.sampled_from(list(":>[]!^@#{}$`|~-()\\ \nabefgi1.")), max_size=60))
def test_any_text_is_whole_or_refused(text: str) -> None:
    """Whatever is typed gives well-formed markup of harmless elements, or a LessonError; alone it is never refused
    for what stands around it."""
    try:
        made = html(text)
    except LessonError:
        return
    closed = re.sub(r"<(img|hr|br)([^>]*?)/?>", r"<\1\2/>", made)
    tree = ElementTree.fromstring(f"<div>{closed}</div>")
    assert not {element.tag for element in tree.iter()} & {"script", "style", "iframe", "object", "svg"}


RECIPE = """\
schema: 1
slug: echo
title: Echo
description: As @fig-late says, and [@vaswani] too. See [the other](lesson:other).
milestone: {name: N, papers: [{title: Without}, {key: vaswani, title: Attention}]}
model: {file: model.py, class: Echo}
execution: {inputs: {x: {shape: [2, 3], dtype: float32, fill: ones}}}
experiment:
  description: |
    $$a$$ {#eq-one}
  cases: [{id: one}]
steps:
  - id: a
    target: add@Echo#0
    title: A
    note: |
      As in @eq-two.

      $$b$$ {#eq-two}

      ![A square](square.png "A square."){#fig-late}
"""
PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000"
                    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082")


def lesson(folder: Path, recipe: str = RECIPE) -> reader.Lesson:
    """The lesson `echo`, with an image, beside another lesson."""
    home = tiny.write(folder / "lessons" / "echo", recipe=recipe)
    (home / "square.png").write_bytes(PNG)
    tiny.write(folder / "lessons" / "other", recipe=tiny.RECIPE.replace("echo", "other"))
    return reader.read(home)


def test_numbers_follow_the_page(tmp_path: Path) -> None:
    """The experiment comes first, then the steps, then what stands below; of each kind a count of its own."""
    read = lesson(tmp_path)
    assert lesson_words.number_labels(read.recipe) == {
        "eq-one": "Equation 1", "eq-two": "Equation 2", "fig-late": "Figure 1",
    }  # fmt: skip
    assert prose_check.find_unreadable(read) == []


def test_a_label_stands_once(tmp_path: Path) -> None:
    """Two equations of one name would have one place."""
    [error] = prose_check.find_unreadable(lesson(tmp_path, RECIPE.replace("{#eq-two}", "{#eq-one}").replace(
        "As in @eq-two.", "")))  # fmt: skip
    assert error.message().startswith(f"{os.path.relpath(tmp_path)}/lessons/echo/lesson.yaml:16: steps[0].note: ")
    assert "the label eq-one stands twice" in error.message()


def test_images_have_a_bound_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page with many images would be slow."""
    monkeypatch.setattr(surroundings, "MAX_IMAGES", len(PNG) - 1)
    [error] = prose_check.find_unreadable(lesson(tmp_path))
    assert f"the images of this lesson have {len(PNG)} bytes together" in error.message()


def test_a_link_to_a_lesson_is_checked(tmp_path: Path) -> None:
    """It names a folder beside this one, or what was published; another time it may be there, so it is no mistake of
    the lesson's own."""
    config, read = tiny.at(tmp_path), lesson(tmp_path)
    assert lesson_links.find_missing(config, read) == []
    read = lesson(tmp_path, RECIPE.replace("lesson:other", "lesson:othr"))
    [error] = lesson_links.find_missing(config, read)
    assert isinstance(error, RetryableError)
    assert "lesson.yaml:4: description: 'lesson:othr' names no lesson; Did you mean other?" in error.message()
    history = tmp_path / "results" / "models" / "othr" / "revisions.json"
    history.parent.mkdir(parents=True)
    history.write_text("{}", encoding="utf-8")
    assert lesson_links.find_missing(config, read) == []


def test_the_page_holds_it_all(tmp_path: Path) -> None:
    """References lead to places of the page, papers have their numbers, the style comes only where it is needed."""
    made = page(tmp_path, RECIPE)
    html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(made)
    places = set(re.findall(r'id="([^"]+)"', made))
    links = {each for each in re.findall(r'href="#([^"]+)"', made) if not re.match(r"s\d+-", each)}
    assert {"eq-one", "eq-two", "fig-late", "paper-2"} <= places
    assert links <= places
    assert '<li id="paper-2"><span class="number">[2]</span>' in made
    assert 'href="../../other/"' in made
    assert '<img src="./square.png" alt="A square"' in made
    assert ".callout" in made
    plain = page(tmp_path / "plain", tiny.RECIPE)
    assert ".callout" not in plain


def page(folder: Path, recipe: str) -> str:
    """The page of the lesson `echo`, of hand-made runs."""
    config = tiny.at(folder)
    lesson(folder, recipe)
    with_runs = recipe if recipe != RECIPE else recorded(recipe)
    tiny.write(config.lesson("echo"), recipe=with_runs, checks=tiny.CHECKS)
    work = tiny.without_worker(config, tiny.capture(), [tiny.verdict(mutants=[])])
    files = {path.name for path in work.revision.iterdir()}
    assert recipe != RECIPE or "square.png" in files
    return (work.revision / "index.html").read_text(encoding="utf-8")


def recorded(recipe: str) -> str:
    """The recipe with the execution and the cases of the hand-made runs."""
    text = tiny.RECORDED
    inputs = text[text.index("execution:") : text.index("experiment:")]
    recipe = re.sub(r"execution: .*\n", inputs, recipe).replace("add@Echo#0", "part.line")
    recipe = recipe.replace("cases: [{id: one}]", "cases: [{id: one}, {id: two}]")
    return recipe


def test_the_recipe_may_say_it() -> None:
    """A paper's key is a name like all others."""
    papers = [{"key": "a-1", "title": "T"}]
    assert Recipe.model_validate({
        "schema": 1, "slug": "a", "title": "A", "model": {"class": "A"}, "execution": {},
        "milestone": {"name": "N", "papers": papers}}).milestone.papers[0].key == "a-1"  # type: ignore[union-attr]
