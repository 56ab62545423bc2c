"""Verification: what is published is what the lessons give, and nothing published was lost or altered."""

import ast
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lessonpress.build import artifact, code_digest
from lessonpress.graph import drawing
from lessonpress.publishing import integrity, publish, verify
from lessonpress.revision import bundle, history
from tests import tiers
from tests.workflow.conftest import TINY, House
from tests.workflow.revisions import copied, edit_capture, nudged, publish_again, regenerated

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def revision(template: House) -> Path:
    """Give the published folder of the tiny lesson; nobody may write to it."""
    [name] = template.revisions()
    return template.published / name


def flips(data: bytes, count: int) -> list[int]:
    """Bits to flip, spread over a file from its first to its last."""
    last = 8 * len(data) - 1
    return sorted({round(last * step / max(1, count - 1)) for step in range(count)})


def flipped(data: bytes, bit: int) -> bytes:
    """The data with one bit turned over."""
    out = bytearray(data)
    out[bit // 8] ^= 1 << bit % 8
    return bytes(out)


def test_a_published_lesson_verifies_and_nothing_is_written(published: House) -> None:
    """The Snakemake target says so, ends in 0, runs each time that it is asked, and leaves results/ as it is."""
    before = published.bytes()
    for _ in range(2):
        done = published.snakemake("verify")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "All is good: 1 lesson verified." in done.stdout
    assert published.bytes() == before
    reports = published.folder / "work" / "verify"
    report = json.loads((reports / "report.json").read_text(encoding="utf-8"))
    assert report["good"] is True
    assert [lesson["state"] for lesson in report["lessons"]] == ["identical"]
    cases = ElementTree.parse(reports / "junit.xml").getroot().iter("testcase")
    assert [(case.get("classname"), len(case)) for case in cases] == [(TINY, 0), (TINY, 0), ("site", 0)]
    assert TINY in (reports / "summary.md").read_text(encoding="utf-8")
    page = (reports / "report.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_drift_fails_and_says_what_changed(published: House) -> None:
    """A changed source ends in 1; the table, the JUnit file and the page say what changed, and results/ stays."""
    before = published.bytes()
    published.edit("lesson.yaml", "What does a shift", "What can a shift")
    published.edit("model.py", "self.line(points) + shift", "(self.line(points) + shift).abs()")
    published.edit("checks.py", '"bound": 1e-12', '"bound": 9')
    done = published.run("lessonpress", "verify")
    assert done.returncode == 1, done.stdout + done.stderr
    for words in ("drift", "source (1 file)", "prose (1 key)", "numbers (", "graph (1 added"):
        assert words in done.stdout
    assert published.bytes() == before
    reports = published.folder / "work" / "verify"
    assert (
        "graph" in json.loads((reports / "report.json").read_text(encoding="utf-8"))["lessons"][0]["changes"]["reasons"]
    )
    failed = [case for case in ElementTree.parse(reports / "junit.xml").getroot().iter("testcase") if len(case)]
    assert [(case.get("classname"), case.get("name")) for case in failed] == [(TINY, "regenerated")]
    page = (reports / "report.html").read_text(encoding="utf-8")
    assert 'data-change="added"' in page
    assert "heatmap" in page


@pytest.mark.parametrize(("factor", "state"), [(1e-15, "within tolerance"), (1e-6, "drift")])
def test_rounding_passes_and_a_nudge_does_not(
    published: House, monkeypatch: pytest.MonkeyPatch, factor: float, state: str
) -> None:
    """Numbers that differ by 1e-15 are reported and pass, by 1e-6 they fail."""
    edit_capture(monkeypatch, lambda capture: nudged(capture, factor))
    verdict = verify.verify_lesson(published.settings, TINY)
    assert verdict.state == state
    assert verdict.good() is (state != "drift")
    assert verdict.numbers is not None
    gaps = verdict.numbers["gaps"]
    assert any(gap["name"] in verdict.words for gap in gaps)
    assert all(gap["good"] for gap in gaps) is verdict.good()
    if state != "drift":
        # 1e-15 is 4.5 steps of 2.2e-16, and one step of a number is between 1.1e-16 and 2.2e-16 of it.
        assert 3 <= max(gap["ulp"] or 0 for gap in gaps) <= 10


def test_publishing_rounding_makes_no_revision(published: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish says that nothing changed but the rounding, by how much and where, and writes nothing."""
    before = published.bytes()
    edit_capture(monkeypatch, lambda capture: nudged(capture, 1e-15))
    words = publish_again(published)
    assert f"unchanged, revision {published.revisions()[0]} (within tolerance: " in words
    assert " ulp at " in words
    assert published.bytes() == before


def without_checks(house: House) -> None:
    """Take the tiny lesson's checks away, which are stricter than its tolerance."""
    text = (house.lesson / "lesson.yaml").read_text(encoding="utf-8")
    text = text[: text.index("checks: checks.py\n")] + text[text.index("scope:") :]
    (house.lesson / "lesson.yaml").write_text(
        text.replace("      - {id: spread, value: metric_spread, of: mapped}\n", ""), "utf-8"
    )
    (house.lesson / "checks.py").unlink()


def test_every_reason_is_reported(published: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Source, recipe, prose, checks, numbers, environment and templates: each alone, and with its counts."""

    def reasons() -> list[str]:
        return list(history.read_history(published.published, TINY)["revisions"][-1]["reasons"])

    published.edit("lesson.yaml", "What does a shift", "What can a shift")
    assert publish_again(published).endswith("because of: prose (1 key)")
    assert reasons() == ["prose"]
    published.edit("model.py", "# [points, width]", "# points, width")
    assert publish_again(published).endswith("because of: source (1 file)")
    published.edit("checks.py", "For every case.", "In every case.")
    assert publish_again(published).endswith("because of: checks")
    published.edit("lesson.yaml", "range: [-4, 4]", "range: [-5, 5]")
    assert publish_again(published).endswith("because of: recipe (2 keys)")
    with monkeypatch.context() as patch:
        drawn = drawing.draw_svg
        patch.setattr(drawing, "draw_svg", lambda *given, **named: drawn(*given, **named) + "<!-- new -->\n")
        assert "because of: templates (" in publish_again(published)
    with monkeypatch.context() as patch:
        patch.setattr(code_digest, "digest_step", lambda step: "5" * 64)
        assert "(identical)" not in publish_again(published)  # the way back from the other pictures
        assert "unchanged" in publish_again(published)  # other code that gives the same bytes is no revision
        published.edit("lesson.yaml", "What can a shift", "What may a shift")
        assert "because of: prose (1 key), templates (" in publish_again(published)
        published.edit("model.py", "# points, width", "# points and width")
        assert publish_again(published).endswith("because of: source (1 file)")
    publish_again(published)
    without_checks(published)
    publish_again(published)
    with monkeypatch.context() as patch:
        edit_capture(patch, lambda capture: nudged(capture, 1e-9))
        words = publish_again(published)
    assert "because of: numbers (" in words
    assert "arrays, largest " in words
    assert reasons() == ["numbers"]
    with monkeypatch.context() as patch:
        edit_capture(patch, lambda c: {**c, "provenance": {**c["provenance"], "python": "3.12.1"}})
        words = publish_again(published)
    assert "environment (python: 3.11 → 3.12)" in words


def test_a_way_back_is_an_event_and_makes_no_second_folder(published: House) -> None:
    """Undoing an edit leads back to the earlier revision, whose folder is there already."""
    [first] = published.revisions()
    published.edit("lesson.yaml", "What does a shift", "What can a shift")
    publish_again(published)
    kept = published.revisions()
    published.edit("lesson.yaml", "What can a shift", "What does a shift")
    assert f"→ {first} because of: prose" in publish_again(published)
    assert published.revisions() == kept
    assert history.read_history(published.published, TINY)["current"] == first


def test_a_note_is_stored_and_does_nothing_alone(published: House) -> None:
    """A note reruns nothing and makes no revision; with a revision it is stored."""
    before = published.bytes()
    done = published.snakemake("--config", "note=for nothing")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing to be done" in done.stdout + done.stderr
    assert published.bytes() == before
    published.edit("lesson.yaml", "What does a shift", "What can a shift")
    assert published.snakemake("--config", "note=a clearer title").returncode == 0
    assert [event["note"] for event in history.read_history(published.published, TINY)["revisions"]] == [
        None,
        "a clearer title",
    ]
    assert "a clearer title" in (published.published / "revisions.html").read_text(encoding="utf-8")


def test_any_flipped_bit_is_noticed(revision: Path, tmp_path: Path) -> None:
    """One bit of any file of a revision, wherever it is, is noticed, and its file is named."""
    files = {path.relative_to(revision).as_posix(): path.read_bytes() for path in revision.rglob("*") if path.is_file()}
    assert not list(integrity.find_file_faults(files, TINY, revision.name))
    for name, data in files.items():
        for bit in flips(data, 60 if name in integrity.CORE else 4):
            faults = dict(integrity.find_file_faults({**files, name: flipped(data, bit)}, TINY, revision.name))
            assert faults, f"bit {bit} of {name}"
            assert name in faults or name == "SHA256SUMS", (name, bit, faults)
    folder = copied(revision.parent, tmp_path / TINY)
    (folder / revision.name / "cases.csv").write_bytes(flipped(files["cases.csv"], 77))
    [fault] = [f for f in integrity.find_lesson_faults(tmp_path, TINY) if "cases.csv" in f.where]
    assert fault.words().startswith(f"models/{TINY}/{revision.name}/cases.csv: its bytes are not the published ones")


def test_any_missing_or_extra_file_is_noticed(revision: Path) -> None:
    """Every file is missed by name, and a file that does not belong is named."""
    files = {path.relative_to(revision).as_posix(): path.read_bytes() for path in revision.rglob("*") if path.is_file()}
    for name in files:
        faults = dict(integrity.find_file_faults({k: v for k, v in files.items() if k != name}, TINY, revision.name))
        assert name in faults, name
    for name in ("notes.txt", "worker/extra.py", ".hidden", "values/x.npy"):
        faults = dict(integrity.find_file_faults({**files, name: b""}, TINY, revision.name))
        assert faults == {name: "no file of this revision"}


def test_earlier_revisions_are_verified_too(published: House) -> None:
    """A byte of a revision that is current no longer is missed as well, and the exit code says so."""
    [first] = published.revisions()
    published.edit("lesson.yaml", "What does a shift", "What can a shift")
    publish_again(published)
    path = published.published / first / "model.py"
    path.write_bytes(path.read_bytes() + b"\n")
    done = published.run("lessonpress", "verify", TINY)
    assert done.returncode == 1
    assert f"models/{TINY}/{first}: " in done.stdout
    assert "its bytes are not the published ones (model.py)" in done.stdout
    assert "damaged" in done.stdout


def test_a_page_around_the_lessons_that_was_edited_is_noticed(published: House) -> None:
    """The catalogue, a history page and a file that nobody published."""
    catalogue = published.folder / "results" / "index.html"
    catalogue.write_text(catalogue.read_text(encoding="utf-8") + "<!-- mine -->", encoding="utf-8")
    (published.folder / "results" / "extra.txt").write_text("", encoding="utf-8")
    done = published.run("lessonpress", "verify")
    assert done.returncode == 1
    assert "index.html: the page is not what the published revisions give" in done.stdout
    assert "extra.txt: no published file has this name" in done.stdout


@pytest.fixture(scope="module")
def unpacked(revision: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give an unpacked bundle."""
    folder = tmp_path_factory.mktemp("bundle")
    with zipfile.ZipFile(revision / "bundle.zip") as archive:
        archive.extractall(folder)
    [revision] = folder.iterdir()
    return revision


def by_itself(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a folder's own verify.py, with the standard library alone."""
    command = [sys.executable, "-I", "-S", str(folder / "verify.py"), "--digests"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_bundle_and_the_folder_verify_themselves(unpacked: Path, revision: Path) -> None:
    """verify.py accepts the unpacked bundle and the whole published folder, and names the revision."""
    for folder in (unpacked, revision):
        done = by_itself(folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert revision.name in done.stdout


def test_the_bundle_finds_any_flipped_bit(unpacked: Path, tmp_path: Path) -> None:
    """One bit of files that the bundle holds, at night of every one; a deleted file and an added one.

    tests/test_integrity.py turns many more over, in one process.
    """
    folder = copied(unpacked, tmp_path / "copy")
    apart = ("verify.py", "SHA256SUMS")
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in apart)
    for path in (folder / "SHA256SUMS", *files[:: tiers.amount(6, 1)]):
        data = path.read_bytes()
        for bit in flips(data, tiers.amount(4, 12) if path.name == "SHA256SUMS" else 1):
            path.write_bytes(flipped(data, bit or 8 * len(data) // 2))
            assert by_itself(folder).returncode == 1, (path.name, bit)
        path.unlink()
        assert by_itself(folder).returncode == 1, path.name
        path.write_bytes(data)
    (folder / "more.txt").touch()
    assert "more.txt: no file of this revision" in by_itself(folder).stdout
    (folder / "more.txt").unlink()
    text = (folder / "verify.py").read_text(encoding="utf-8")
    (folder / "verify.py").write_text(text + "\n", encoding="utf-8")
    assert "verify.py: its bytes are not the published ones" in by_itself(folder).stdout


def git(folder: Path, *arguments: str) -> str:
    """Run git as somebody."""
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_clone_elsewhere_gives_the_same_revision(published: House, tmp_path: Path, project: Path) -> None:
    """Another folder, umask, locale and time zone: nothing is published again, and git sees no change."""
    for name in (".gitattributes", ".gitignore"):
        (published.folder / name).write_bytes((project / name).read_bytes())
    git(published.folder, "init", "--quiet")
    git(published.folder, "add", "--all")
    git(published.folder, "commit", "--quiet", "--message", "publish")
    clone = House(tmp_path / "another name")
    git(tmp_path, "clone", "--quiet", str(published.folder), str(clone.folder))
    environment = {**os.environ, "LC_ALL": "C", "TZ": "Asia/Kathmandu", "HOME": str(tmp_path), "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-m", "snakemake", "--cores", "1"], cwd=clone.folder, env=environment,
                          umask=0o077, capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{TINY}: unchanged, revision {clone.revisions()[0]} (identical)" in done.stdout + done.stderr
    assert git(clone.folder, "status", "--porcelain") == ""


def test_publishing_into_nothing_verifies(house: House) -> None:
    """Before the first publication verify says so and fails, because a run would publish."""
    done = house.run("lessonpress", "verify")
    assert done.returncode == 1
    assert "not published" in done.stdout


def test_a_receipt_says_what_was_done(published: House) -> None:
    """The receipt under work/ holds the words, for the workflow's report."""
    work = regenerated(published)
    done = publish.publish(work)
    receipt = artifact.read(work.folder / publish.RECEIPT)
    assert receipt is not None
    assert done.words == f"{TINY}: {receipt.body['words']}"


def test_verify_py_knows_what_the_bundle_leaves_out(project: Path) -> None:
    """Its list of files that only the site has is the bundle's own."""
    text = (project / "templates" / "verify.py.txt").read_text(encoding="utf-8")
    [line] = [line for line in text.splitlines() if line.startswith("SITE = ")]
    assert set(ast.literal_eval(line.removeprefix("SITE = "))) == bundle.NOT_BUNDLED - {"bundle.zip"}
