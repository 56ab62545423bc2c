"""Whatever somebody writes into a published document, every command ends in words that say what to mend."""

import copy
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lessonpress.build import steps
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.publishing import diff, doctor, prune, publish, site, verify
from lessonpress.revision import history
from tests import tiny

pytestmark = pytest.mark.slow

SLUG = "echo"
WRONG = (None, True, -1.5, "", "../..", "\ud800", "\x1b[31m", [], {}, [1], {"a": 1})
COMMANDS: dict[str, Callable[[Config], object]] = {
    "site": site.write_site,
    "doctor": lambda config: doctor.format_faults(doctor.find_faults(config)),
    "history": lambda config: prune.list_history(config, SLUG),
    "diff": lambda config: diff.format_difference(diff.diff(config, SLUG)),
    "publish": lambda config: publish.publish(steps.open_build(config, SLUG)),
    "accept": lambda config: prune.accept(config, SLUG),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Give a repository with two published revisions, and a third one rendered."""
    config = tiny.at(tmp_path_factory.mktemp("template"))
    for title in ("One", "Two"):
        tiny.published(config, title)
    site.write_site(config)
    tiny.rendered(config, "Three")
    return config


def copied(template: Config, root: Path) -> Config:
    """A copy to be damaged."""
    shutil.copytree(Path(template.results).parent, root)
    return tiny.at(root)


def wrong(document: Any, keep: tuple[Any, ...] = ()) -> Iterator[Any]:
    """The document with one value at a time replaced by each wrong one, and with one part left out."""
    for value in WRONG:
        yield put(document, keep, value)
    inside = document
    for key in keep:
        inside = inside[key]
    for key in list(inside) if isinstance(inside, dict) else range(len(inside[:2])) if isinstance(inside, list) else ():
        yield put(document, (*keep, key), None, delete=True)
        yield from wrong(document, (*keep, key))


def put(document: Any, path: tuple[Any, ...], value: Any, *, delete: bool = False) -> Any:
    """The document with one value replaced or left out."""
    if not path:
        return value
    whole = copy.deepcopy(document)
    inside = whole
    for key in path[:-1]:
        inside = inside[key]
    if delete:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return whole


def test_a_history_is_one_or_is_refused(template: Config, tmp_path: Path) -> None:
    """Each value of revisions.json, each wrong one in its place: what is read has the form that all readers expect."""
    lesson_history, folder = history.read_history(template.published(SLUG), SLUG), tmp_path / SLUG
    folder.mkdir()
    refused = 0
    for document in wrong(lesson_history):
        (folder / history.FILE).write_text(json.dumps(document), encoding="utf-8")
        try:
            read = history.read_history(folder, SLUG)
        except LessonError as error:
            refused += "this is no history" in error.message()
            continue
        history.serialise(read).encode()
        assert all(isinstance(event["publishedAt"], str) for event in read["revisions"])
        assert not any("/" in name for name in history.list_newest_first(read))
    assert refused > 50


@pytest.mark.parametrize("file", ["revisions.json", "manifest.json", "identity.json"])
def test_no_command_stumbles_over_an_edited_document(template: Config, tmp_path: Path, file: str) -> None:
    """A draw of edits, each met by every command: done, or a LessonError; never anything else."""
    folder = template.published(SLUG)
    below = file if file == history.FILE else f"{history.read_history(folder, SLUG)['current']}/{file}"
    edits = list(wrong(json.loads((folder / below).read_text(encoding="utf-8"))))
    for number, document in enumerate(random.Random(file).sample(edits, 6)):
        config = copied(template, tmp_path / str(number))
        for command in COMMANDS.values():
            (config.published(SLUG) / below).write_text(json.dumps(document), encoding="utf-8")
            with suppress(LessonError):
                command(config)


def test_a_note_that_is_no_text_is_refused_before_anything_is_written(template: Config, tmp_path: Path) -> None:
    """Bytes of another encoding reach a program as halves of characters."""
    config = copied(template, tmp_path / "house")
    before = sorted(Path(config.results).rglob("*"))
    with pytest.raises(LessonError, match="the note"):
        publish.publish(steps.open_build(config, SLUG), note=os.fsdecode(b"\xff"))
    assert sorted(Path(config.results).rglob("*")) == before


@pytest.mark.parametrize("name", [b"\xff.txt", b"two\nlines", b"\x1b[31mred"])
def test_a_files_name_does_nothing_to_the_terminal(template: Config, tmp_path: Path, name: bytes) -> None:
    """A name that is no text, that has two lines, or that would colour a terminal is shown with escapes."""
    config = copied(template, tmp_path / "house")
    for folder in (Path(config.results), config.published(SLUG), next(config.published(SLUG).glob("*/worker"))):
        (Path(os.fsdecode(bytes(folder) + b"/" + name))).touch()
    words = doctor.format_faults(doctor.find_faults(config))
    assert len(words.encode().splitlines()) == 3
    assert "\x1b" not in words
    assert len(list(verify.find_page_faults(config))) == 1
