"""Publishing with real Snakemake: what is made, what is left alone, and what a curator reads."""

import hashlib
import json
import re
import shutil

import pytest

from tests.workflow.conftest import TINY, House

pytestmark = pytest.mark.workflow

FILES = {
    "SHA256SUMS", "bundle.zip", "cases.csv", "compare.py", "graph.tensorviz.json", "identity.json", "index.html",
    "lesson.yaml", "manifest.json", "model.py", "plan.json", "preview.svg", "requirements.txt", "run.py", "verify.py",
    "weights.safetensors",
}  # fmt: skip


def test_a_lesson_goes_the_whole_way_and_then_rests(house: House) -> None:
    """A cold run publishes every promised file, a second has nothing to do, and every fresh start ends the same."""
    done = house.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    [revision] = house.revisions()
    assert f"{TINY}: published revision {revision}" in done.stdout + done.stderr
    folder = house.published / revision
    assert {path.name for path in folder.iterdir() if path.is_file()} >= FILES
    assert hashlib.sha256((folder / "identity.json").read_bytes()).hexdigest()[:16] == revision
    assert (house.folder / "results" / "index.html").is_file()
    first = house.bytes()

    again = house.snakemake()
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout + again.stderr

    shutil.rmtree(house.folder / "work")
    fresh = house.snakemake()
    assert f"{TINY}: unchanged, revision {revision}" in fresh.stdout + fresh.stderr
    assert house.bytes() == first

    shutil.rmtree(house.folder / "results")
    emptied = house.snakemake()
    assert emptied.returncode == 0, emptied.stdout + emptied.stderr
    assert house.revisions() == [revision]


def test_a_change_of_words_makes_a_revision_beside_the_old_one(published: House) -> None:
    """The old revision's bytes stay, the new one is current, and the history says why."""
    [old] = published.revisions()
    before = {name: data for name, data in published.bytes().items() if f"/{old}/" in name}
    recipe = published.lesson / "lesson.yaml"
    recipe.write_text(re.sub(r"(?m)^title:.*$", "title: Another title", recipe.read_text(encoding="utf-8")))
    done = published.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    [new] = set(published.revisions()) - {old}
    assert f"{TINY}: revision {old} → {new} because of: prose" in done.stdout + done.stderr
    assert {name: data for name, data in published.bytes().items() if f"/{old}/" in name} == before
    history = json.loads((published.published / "revisions.json").read_text(encoding="utf-8"))
    assert history["current"] == new
    assert [event["reasons"] for event in history["revisions"]] == [["first publication"], ["prose"]]
    assert new in (published.published / "index.html").read_text(encoding="utf-8")


# In which file, what, by what it is replaced, and what is then said of the lesson.
MISTAKES = {
    "class": ("lesson.yaml", r"class: (\w+)", r"class: \1x", r"(lesson\.yaml:\d+|model\.py.*has no class)"),
    "key": ("lesson.yaml", r"(?m)^title:", "tittle:", r"lesson\.yaml:\d+: tittle: unknown key.*Did you mean title"),
    "shape": (
        "lesson.yaml", r"values: \[4, -4, 8\]", "values: [4, -4]",
        r"lesson\.yaml:\d+: .*inputs\.shift.*2 values given",
    ),
    "address": (
        "lesson.yaml", r"(?m)tensor: \S+?([,}\s])", r"tensor: nowhere.at.all\1", r"lesson\.yaml:\d+: .*nowhere",
    ),
    "expression": (
        "lesson.yaml", r"(?m)^(description: .*)$", r"\1 {{ nobody.mapped | max }}",
        r"lesson\.yaml:\d+: description: \{\{ nobody\.mapped \| max \}\} names no case: nobody; cases: moved, plain",
    ),
    "model": (
        "model.py", r"(?m)^(\s+)return (?=.*\n*\Z)", r"\1raise KeyError('gone')\n\1return ",
        r"model\.py:\d+: .*KeyError",
    ),
    "check": (
        "checks.py", r'"bound": [^,}]+', '"bound": -1.0', r"checks\.py:\d+: check_\w+: the check fails: measured",
    ),
}  # fmt: skip


def test_a_mistake_is_one_message_and_publishes_nothing(published: House) -> None:
    """Each, in a lesson of its own, is one clear message with file and line; the run ends in 1, the site stays.

    One of them is in the lesson that has a revision already.
    """
    before = published.bytes()
    for mistake, (file, pattern, replacement, _) in MISTAKES.items():
        folder = published.lesson if mistake == "check" else published.add(f"with-a-wrong-{mistake}")
        path = folder / file
        text, count = re.subn(pattern, replacement, path.read_text(encoding="utf-8"), count=1)
        assert count == 1
        path.write_text(text, encoding="utf-8")
    done = published.snakemake()
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "Traceback" not in said
    reported = said.rpartition(f"{len(MISTAKES)} of {len(MISTAKES)} lessons failed")[2]
    for mistake, (_, _, _, message) in MISTAKES.items():
        slug = TINY if mistake == "check" else f"with-a-wrong-{mistake}"
        assert len(re.findall(f"lessons/{slug}/{message}", reported)) == 1, reported
    assert published.bytes() == before


def test_a_note_or_a_touch_is_no_reason_to_run(published: House) -> None:
    """`--config note=` belongs to what is published, not to what is made; a touched file has the same content."""
    (published.lesson / "model.py").touch()
    done = published.snakemake("--config", "note=why")
    assert "Nothing to be done" in done.stdout + done.stderr


@pytest.mark.parametrize("edited", [False, True])
def test_a_dry_run_says_what_is_due_and_writes_nothing(published: House, edited: bool) -> None:
    """No file of the house is another afterwards, whether it is due or not; `-p` shows the command."""
    if edited:
        published.edit("lesson.yaml", "Does every number", "Will every number")
    else:
        (published.lesson / "model.py").touch()  # a run would note the new time
    before = traces(published)
    done = published.snakemake("--dry-run", "--printshellcmds")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert ("Nothing to be done" in said) is not edited
    assert ("lessonpress execute" in said and "lessonpress publish" in said) is edited
    assert traces(published) == before
    assert published.snakemake().returncode == 0
    assert len(published.revisions()) == 1 + edited


def test_a_dry_run_of_a_new_house_writes_nothing(house: House) -> None:
    """Not even the folders of what it would make, also where verification is asked for."""
    for target in ([], ["verify"]):
        done = house.snakemake("--dry-run", *target)
        assert done.returncode == 0, done.stdout + done.stderr
        assert not (house.folder / "work").exists()
        assert not (house.folder / "results").exists()


def traces(house: House) -> dict[str, int]:
    """Every file and folder that is not Snakemake's own, with its time."""
    paths = (path for path in house.folder.rglob("*") if ".snakemake" not in path.parts)
    return {str(path): path.stat().st_mtime_ns for path in paths}


def test_one_lesson_that_fails_takes_no_other_with_it(house: House) -> None:
    """The good ones are published, their pages too; all failures are reported at the end; the next run continues."""
    for slug in ("fine", "bad", "worse"):
        house.add(slug)
    bad, worse = (house.folder / "lessons" / slug / "model.py" for slug in ("bad", "worse"))
    kept = bad.read_text(encoding="utf-8")
    bad.write_text(kept + "\nraise KeyError('gone')\n")
    worse.write_text(kept + "\nimport nothing_of_this_name\n")
    done = house.snakemake()
    said = done.stdout + done.stderr
    assert done.returncode == 1
    end = said.rpartition("2 of 4 lessons failed; the others are published.")[2]
    assert "KeyError" in end
    assert "nothing_of_this_name" in end
    assert "Traceback" not in said
    catalogue = (house.folder / "results" / "index.html").read_text(encoding="utf-8")
    assert "models/fine/" in catalogue
    assert f"models/{TINY}/" in catalogue
    assert "models/bad/" not in catalogue
    bad.write_text(kept)
    again = house.snakemake()
    assert "bad: published revision" in again.stdout + again.stderr
    assert "1 of 4 lessons failed" in again.stdout + again.stderr


def test_no_job_waits_for_another_to_give_its_core_back(house: House) -> None:
    """Snakemake would look for a free core all the time, and take half of one for it; odd folders are reported."""
    house.add("second")
    for name in ("Not A Slug", "--help"):
        shutil.copytree(house.lesson, house.folder / "lessons" / name)
    done = house.snakemake("--verbose")
    said = done.stdout + done.stderr
    assert "second: published revision" in said
    assert "lessons/Not A Slug" in said
    assert "lessons/--help" in said
    jobs = said.count("Finished jobid: ")
    assert jobs >= 12
    assert said.count("Selected jobs") <= jobs + 3


def test_a_file_between_can_be_asked_for(published: House) -> None:
    """A curator names a lesson's file and gets it, made as ever; then there is nothing to do."""
    capture = published.state() / "capture.json"
    asked = str(capture.relative_to(published.folder))
    before = json.loads(capture.read_text(encoding="utf-8"))
    capture.unlink()
    published.publish(asked)
    after = json.loads(capture.read_text(encoding="utf-8"))
    assert {**after, "provenance": 0, "sha256": 0} == {**before, "provenance": 0, "sha256": 0}
    assert "Nothing to be done" in published.publish(asked)


def test_two_cores_publish_what_one_publishes(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several workers at once give the same bytes as one, and SOURCE_DATE_EPOCH fixes the moment of publishing."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    house.add("second")
    assert house.snakemake().returncode == 0
    one = house.bytes()
    shutil.rmtree(house.folder / "results")
    shutil.rmtree(house.folder / "work")
    assert house.snakemake("--cores", "2").returncode == 0
    assert house.bytes() == one


def test_a_deleted_site_comes_back(published: House) -> None:
    """A receipt outlives a deleted results folder; the next run notices."""
    first = set(published.bytes())
    shutil.rmtree(published.folder / "results")
    assert published.snakemake().returncode == 0
    assert set(published.bytes()) == first


def test_a_deleted_revision_comes_back(published: House) -> None:
    """Also when nothing else changed: the plain run notices that the current revision's folder is gone."""
    [revision] = published.revisions()
    shutil.rmtree(published.published / revision)
    done = published.snakemake()
    assert f"{TINY}: revision {revision} is back in its place" in done.stdout + done.stderr
    assert published.revisions() == [revision]


def test_preview_needs_no_house(house: House) -> None:
    """A read-only lesson folder, without config and git, becomes a complete revision folder."""
    alone = house.folder.parent / "alone" / TINY
    shutil.copytree(house.lesson, alone)
    for path in alone.rglob("*"):
        path.chmod(0o555)
    out = house.folder.parent / "out"
    elsewhere = House(house.folder.parent / "alone")
    done = elsewhere.run("lessonpress", "preview", str(alone), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert {path.name for path in out.iterdir() if path.is_file()} >= FILES
