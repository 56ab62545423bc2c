"""Publishing adds a revision whole or not at all, and never touches one that is there."""

import base64
import multiprocessing
import shutil
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lessonpress.build import artifact, steps
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.build.steps import Done
from lessonpress.core import atomic_io, canonical_json
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.publishing import integrity, publish
from lessonpress.revision import dated, history, packed
from tests import tiny

SLUG = "echo"


def read_history(config: Config, slug: str = SLUG) -> history.History:
    """The published history."""
    return history.read_history(config.published(slug), slug)


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file's time and bytes."""
    return {str(p): (p.stat().st_mtime_ns, p.read_bytes()) for p in folder.rglob("*") if p.is_file()}


def test_a_note_that_no_page_could_show_is_refused(tmp_path: Path) -> None:
    """A note stays in the history for ever, so one with unknown TeX would break the pages for ever."""
    config = tiny.at(tmp_path)
    work = tiny.rendered(config, "one")
    with pytest.raises(LessonError) as caught:
        publish.publish(work, note="So $\\nix$.")
    assert caught.value.message().startswith("the note: unknown TeX command")
    assert not config.published(SLUG).exists()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (b"import numpy\n\nimport pandas as pd\n", "lessons/echo/model.py:3: pandas is imported; readers have torch, "),
        (b"def f(:\n", "lessons/echo/model.py:1: this is no Python"),
        (b"import json, checks\ntry:\n    import pandas\nexcept ImportError:\n    pass\n", ""),
    ],
)
def test_a_lesson_that_imports_what_readers_lack_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: bytes, message: str
) -> None:
    """In lint's words; what Python has, what lies beside it and what it can do without is nobody's lack."""
    config = tiny.at(tmp_path)
    tiny.write(config.lesson(SLUG), recipe=tiny.RECORDED, checks=tiny.CHECKS)
    (config.lesson(SLUG) / "model.py").write_bytes(code + b"# + 1\n")
    work = tiny.without_worker(config, tiny.capture(), [tiny.verdict()])
    monkeypatch.chdir(tmp_path)
    done = publish.publish(work)
    if not message:
        assert "published revision" in (done.words or "")
        return
    assert done.mistakes[0].message().startswith(message)
    assert tiny.words(publish.find_missing_packages(work)) == tiny.words(done.mistakes)  # which preview warns of
    assert not config.published(SLUG).exists()


def test_an_event_says_when_it_was_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when the model ran: several revisions of one run have moments of their own; none is before its run."""
    config = tiny.at(tmp_path)
    moments = []
    for second, title in enumerate(("one", "two", "three")):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(second if title == "three" else 2_000_000_000 + second))
        tiny.published(config, title)
        moments.append(read_history(config)["revisions"][-1]["publishedAt"])
    assert moments == ["2033-05-18T03:33:20+00:00", "2033-05-18T03:33:21+00:00", "2026-01-01T00:00:00+00:00"]


def test_the_first_revision_is_published_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files of the rendered folder, an event with its reason and its moment, and a receipt."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "2000000000")
    config = tiny.at(tmp_path)
    work = tiny.rendered(config, "one")
    name = tiny.revision(work)
    assert publish.publish(work, note="hello") == Done(f"echo: published revision {name}")
    folder, new = config.published(SLUG) / name, work.revision
    published, rendered = packed.read_files(folder), packed.read_files(new)
    assert published.keys() == rendered.keys()
    assert {name for name in published if published[name] != rendered[name]} <= set(dated.NAMES)
    # The run was years before; whoever cites it, or reads its crate, learns when it was published.
    assert b'date-released: "2033-05-18"' in published["CITATION.cff"]
    assert b'"datePublished": "2033-05-18T03:33:20+00:00"' in published["ro-crate-metadata.json"]
    assert integrity.find_revision_faults(folder, SLUG) == []
    with zipfile.ZipFile(folder / "bundle.zip") as bundled:
        assert bundled.read(f"{SLUG}-{name}/CITATION.cff") == published["CITATION.cff"]
    assert read_history(config) == {
        "slug": SLUG,
        "current": name,
        "pinned": None,
        "revisions": [
            {
                "revision": name,
                "publishedAt": "2033-05-18T03:33:20+00:00",
                "reasons": ["first publication"],
                "note": "hello",
            }
        ],
    }
    receipt = artifact.read(work.folder / "published.json")
    assert receipt
    assert receipt.made_from == work.artifact("rendered.json").digest
    assert receipt.body == {
        "slug": SLUG, "key": work.key, "revision": name, "words": f"published revision {name}",
    }  # fmt: skip


def test_the_same_revision_again_writes_nothing(tmp_path: Path) -> None:
    """No file under results/ gets another time or another byte, also when derived facts are newer."""
    config = tiny.at(tmp_path)
    name = tiny.published(config, "one")
    before = state(tmp_path / "results")
    done = publish.publish(tiny.rendered(config, "one", at="2027-07-07T00:00:00+00:00"))
    assert done.words == f"echo: unchanged, revision {name} (identical)"
    assert state(tmp_path / "results") == before


def rounded(factor: float) -> dict[str, Any]:
    """The hand-made runs on a processor that rounds otherwise: all that was computed is so much larger."""
    captured = tiny.capture()
    for run in captured["runs"].values():
        for value in run["values"][2:5]:
            numbers = np.frombuffer(base64.b64decode(captured["blobs"][value["blob"]])) * factor
            value["blob"] = canonical_json.digest(numbers.tobytes())
            captured["blobs"][value["blob"]] = base64.b64encode(numbers.tobytes()).decode()
    return captured


@pytest.mark.parametrize(("factor", "same"), [(1 + 1e-14, True), (1 + 1e-3, False)])
def test_rounding_is_no_new_revision(tmp_path: Path, factor: float, same: bool) -> None:
    """Numbers within the lesson's tolerance of the published ones leave the site alone; the receipt says so."""
    config = tiny.at(tmp_path)
    tiny.write(config.lesson(SLUG), recipe=tiny.RECORDED, checks=tiny.CHECKS)
    work = tiny.without_worker(config, tiny.capture(), [tiny.verdict()])
    assert not publish.publish(work).mistakes
    one, before = tiny.revision(work), state(tmp_path / "results")
    shutil.rmtree(config.work)
    work = tiny.without_worker(config, rounded(factor), [tiny.verdict()])
    assert tiny.revision(work) != one
    words = publish.publish(work).words or ""
    assert (state(tmp_path / "results") == before) is same
    assert words.startswith(
        f"echo: unchanged, revision {one} (within tolerance: " if same else f"echo: revision {one} → "
    )
    receipt = artifact.read(work.folder / "published.json")
    assert receipt
    assert receipt.body["revision"] == read_history(config)["current"] == (one if same else tiny.revision(work))


def test_a_new_revision_stands_beside_the_old_one(tmp_path: Path) -> None:
    """The old folder keeps every time and byte; the history says why there is another."""
    config = tiny.at(tmp_path)
    one = tiny.published(config, "one")
    before = state(config.published(SLUG) / one)
    work = tiny.rendered(config, "two")
    two = tiny.revision(work)
    assert (publish.publish(work).words or "").startswith(f"echo: revision {one} → {two} because of: prose")
    assert state(config.published(SLUG) / one) == before
    assert [(e["revision"], e["reasons"]) for e in read_history(config)["revisions"]] == [
        (one, ["first publication"]),
        (two, ["prose"]),
    ]
    assert read_history(config)["current"] == two


def test_going_back_is_an_event_and_no_new_folder(tmp_path: Path) -> None:
    """A lesson that says again what it said before is at its old revision; the folder of then stays as it was."""
    config = tiny.at(tmp_path)
    one = tiny.published(config, "one")
    tiny.published(config, "two")
    before = state(config.published(SLUG) / one)
    tiny.published(config, "one", at="2027-07-07T00:00:00+00:00")
    assert state(config.published(SLUG) / one) == before
    assert [event["revision"] for event in read_history(config)["revisions"]][2] == one
    assert read_history(config)["current"] == one


def test_a_failing_check_publishes_nothing(tmp_path: Path) -> None:
    """Publish is the gate: file, line, what was measured and what it should have been."""
    config = tiny.at(tmp_path)
    tiny.published(config, "one")
    before = state(tmp_path / "results")
    work = tiny.rendered(config, "two", measured=1.5)
    [mistake] = publish.publish(work).mistakes
    assert mistake.message().endswith(
        "lessons/echo/checks.py:7: check_it: the check fails: measured 1.5; it must be <= 1.0 (It adds up.). "
        "Nothing was published; earlier revisions stay as they are."
    )
    assert state(tmp_path / "results") == before
    receipt = artifact.read(work.folder / "published.json")
    assert receipt
    assert tiny.words(receipt.mistakes) == [mistake.message()]
    assert (receipt.body["key"], receipt.body["revision"]) == (work.key, None)


GATES: dict[str, tuple[dict[str, Any], str]] = {
    "a check that a broken variant passes": (
        {"mutants": [{**tiny.BROKEN, "failed": False, "measured": 0.25}]},
        "the check passes on the broken variant broken: measured 0.25; it must fail there",
    ),
    "a check that nothing shows to fail": ({"mutants": []}, "no broken variant shows that this check can fail"),
}


@pytest.mark.parametrize("gate", GATES)
def test_a_check_without_teeth_publishes_nothing(tmp_path: Path, gate: str) -> None:
    """What passes on the broken variant, or was never tried on one, proves nothing; the message names its line."""
    config, (verdict, message) = tiny.at(tmp_path), GATES[gate]
    tiny.write(config.lesson(SLUG), recipe=tiny.RECORDED, checks=tiny.CHECKS)
    work = tiny.without_worker(config, tiny.capture(), [tiny.verdict(**verdict)])
    [mistake] = publish.publish(work).mistakes
    assert mistake.where.endswith("lessons/echo/checks.py:7: check_it")
    assert message in mistake.message()
    assert not config.published(SLUG).exists()


def test_a_lessons_mistakes_stand_in_its_receipt(tmp_path: Path) -> None:
    """What was wrong before it came to publishing is handed on, into the receipt that is asked for."""
    config = tiny.at(tmp_path)
    tiny.write(config.lesson(SLUG), recipe=tiny.RECIPE.replace("title", "tittle"))
    work = steps.open_build(config, SLUG)
    steps.perform(work, "render")
    done = publish.publish(work, receipt=tmp_path / "receipt.json")
    assert done.passed_over  # it was reported before
    assert [mistake.split("lesson.yaml:")[1][:9] for mistake in tiny.words(done.mistakes)] == ["1: title:", "3: tittle"]
    receipt = artifact.read(tmp_path / "receipt.json")
    assert receipt
    assert tiny.words(receipt.mistakes) == tiny.words(done.mistakes)
    assert not (work.folder / "published.json").exists()
    assert not Path(config.results).exists()


def test_a_pinned_lesson_stays_where_it_is(tmp_path: Path) -> None:
    """A later revision is added without becoming current, and adding it twice adds nothing."""
    config = tiny.at(tmp_path)
    one = tiny.published(config, "one")
    history.write_history(config.published(SLUG), {**read_history(config), "pinned": one})
    two = tiny.published(config, "two")
    before = state(tmp_path / "results")
    done = publish.publish(steps.open_build(config, SLUG))
    assert (done.words or "").startswith(f"echo: unchanged, revision {two}")
    assert state(tmp_path / "results") == before
    assert (read_history(config)["current"], history.find_latest(read_history(config))) == (one, two)


def test_a_crash_before_the_history_is_repaired_by_the_next_publish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is there, the history does not know it: the next publish enters it and touches no byte of it."""
    config = tiny.at(tmp_path)
    one = tiny.published(config, "one")
    work = tiny.rendered(config, "two")
    two = tiny.revision(work)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(history, "write_history", killed)
        with pytest.raises(KeyboardInterrupt):
            publish.publish(work)
    assert read_history(config)["current"] == one
    assert not (work.folder / "published.json").exists()
    before = state(config.published(SLUG) / two)
    assert before
    publish.publish(work)
    assert read_history(config)["current"] == two
    assert state(config.published(SLUG) / two) == before


@pytest.mark.parametrize("step", ["first file", "last file", "rename"])
def test_a_full_disk_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Whatever write fails, no half folder and no half file is left, and the history stays."""
    config = tiny.at(tmp_path)
    tiny.published(config, "one")
    before = state(tmp_path / "results")
    work = tiny.rendered(config, "two")
    write, count = atomic_io._flush, 0

    def full(*arguments: Any) -> None:
        nonlocal count
        count += 1
        if step == "rename" or count == (1 if step == "first file" else 4):
            raise OSError(28, "No space left on device")
        write(*arguments)

    if step == "rename":
        monkeypatch.setattr(publish.os, "rename", full)
    else:
        monkeypatch.setattr(atomic_io, "_flush", full)
    with pytest.raises(LessonError, match="No space left on device"):
        publish.publish(work)
    assert state(tmp_path / "results") == before
    assert not (work.folder / "published.json").exists()
    assert [p for p in config.published(SLUG).iterdir() if p.name.startswith(".")] == []


def test_what_a_killed_publisher_left_is_swept_by_the_next(tmp_path: Path) -> None:
    """A half copy under its hidden name is nobody's, because whoever publishes holds the lock."""
    config = tiny.at(tmp_path)
    left = config.published(SLUG) / ".0123456789abcdef.tmp-99999" / "worker"
    left.mkdir(parents=True)
    tiny.published(config, "one")
    assert [p.name for p in config.published(SLUG).iterdir() if p.name.startswith(".")] == []


def test_a_deleted_folder_comes_back_without_an_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When somebody has removed the folder by hand, publishing restores it; the history already tells of it."""
    config = tiny.at(tmp_path)
    name = tiny.published(config, "one")
    before = read_history(config)
    files = packed.read_files(config.published(SLUG) / name)
    shutil.rmtree(config.published(SLUG) / name)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "2000000000")
    done = publish.publish(steps.open_build(config, SLUG))
    assert done.words == f"echo: revision {name} is back in its place"
    assert packed.read_files(config.published(SLUG) / name) == files  # with the date of then
    assert read_history(config) == before


def _publish(root: Path, name: str, key: str, barrier: Any) -> None:
    config = tiny.at(root / name).model_copy(update={"results": str(root / "results")})
    barrier.wait(20)
    publish.publish(LessonBuild(config, SLUG, key))


@pytest.mark.parametrize("kind", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_publishers_at_once_take_turns(tmp_path: Path, kind: str) -> None:
    """Three publishers of three revisions of one lesson: three folders, three events, each once."""
    names = ["one", "two", "three"]
    works = {name: tiny.rendered(tiny.at(tmp_path / name), name) for name in names}
    made = {name: tiny.revision(work) for name, work in works.items()}
    processes: Any = multiprocessing.get_context("forkserver")
    start, barrier = (threading.Thread, threading.Barrier(3)) if kind == "threads" else (
        processes.Process, processes.Barrier(3))  # fmt: skip
    publishers = [start(target=_publish, args=(tmp_path, name, works[name].key, barrier)) for name in names]
    for publisher in publishers:
        publisher.start()
    for publisher in publishers:
        publisher.join(60)
    events = [event["revision"] for event in read_history(tiny.at(tmp_path))["revisions"]]
    assert sorted(events) == sorted(made.values())
    folder = tiny.at(tmp_path).published(SLUG)
    assert {p.name for p in folder.iterdir()} == {*made.values(), "revisions.json"}
    assert read_history(tiny.at(tmp_path))["current"] == events[-1]


def test_of_two_that_made_the_same_revision_the_first_landed_stays(tmp_path: Path) -> None:
    """Two machines render the same revision at different times; what is published keeps the first one's date."""
    config = tiny.at(tmp_path)
    name = tiny.published(config, "one")
    other = config.model_copy(update={"work": str(tmp_path / "other")})
    assert tiny.published(other, "one", at="2030-01-01T00:00:00+00:00") == name
    published = canonical_json.read(config.published(SLUG) / name / "manifest.json")
    assert published["provenance"]["capturedAt"] == "2026-01-01T00:00:00+00:00"
    assert len(read_history(config)["revisions"]) == 1


def test_a_damaged_folder_is_never_published_again(tmp_path: Path) -> None:
    """Going back to a revision whose folder somebody edited is refused, and the history stays as it was."""
    config = tiny.at(tmp_path)
    one = tiny.published(config, "one")
    tiny.published(config, "two")
    with (config.published(SLUG) / one / "index.html").open("a", encoding="utf-8") as page:
        page.write("<!-- by hand -->")
    before = state(tmp_path / "results")
    work = tiny.rendered(config, "one")
    with pytest.raises(LessonError, match=r"this published revision was changed: .*index\.html"):
        publish.publish(work)
    assert state(tmp_path / "results") == before


@pytest.mark.parametrize("file", ["rendered.json", "checks.json", "revision/index.html"])
def test_what_is_not_whole_is_said_with_the_way_to_make_it(tmp_path: Path, file: str) -> None:
    """A part that is missing or another than was made: what to run, and nothing is published."""
    config = tiny.at(tmp_path)
    work = tiny.rendered(config, "one")
    if file == "rendered.json":
        (work.folder / file).unlink()
    else:
        (work.folder / file).write_bytes(work.bytes(file).replace(b"It adds up", b"It adds UP"))
    with pytest.raises(LessonError, match="snakemake --cores 1"):
        publish.publish(work)
    assert not (tmp_path / "results").exists()
