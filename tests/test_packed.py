"""Superseded revisions as archives: the same bytes, the same names, the same addresses, less than a tenth."""

from __future__ import annotations

import io
import json
import lzma
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.publishing import compact, deploy, diff, doctor, prune, publish, site
from lessonpress.revision import history, packed
from lessonpress.web import dev_server
from tests import tiny

pytestmark = pytest.mark.workflow

SLUG = "echo"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Give a repository that has published four revisions as folders."""
    config = tiny.at(tmp_path_factory.mktemp("packed"))
    for title in ("One", "Two", "Three", "Four"):
        tiny.published(config, title)
    site.write_site(config)
    return config


@pytest.fixture
def house(template: Config, tmp_path: Path) -> Config:
    """Give a copy of it that packs."""
    for name in ("lessons", "results", "work"):
        shutil.copytree(getattr(template, name), tmp_path / name)
    return tiny.at(tmp_path, earlier="packed")


def names(config: Config) -> list[str]:
    """The revisions in order."""
    return [event["revision"] for event in history.read_history(config.published(SLUG), SLUG)["revisions"]]


def kinds(config: Config) -> list[str]:
    """How each revision is kept, in order: `plain` or `packed`."""
    folder = config.published(SLUG)
    assert not [name for name in names(config) if (folder / name).is_dir() and packed.locate(folder / name).is_file()]
    return ["plain" if (folder / name).is_dir() else "packed" for name in names(config)]


def files(config: Config) -> dict[str, dict[str, bytes]]:
    """Every file of every revision."""
    return {name: packed.read_files(config.published(SLUG) / name) for name in names(config)}


def test_an_archive_gives_the_bytes_again_and_tar_reads_it(house: Config, tmp_path: Path) -> None:
    """Whatever packs and unpacks: our code, or the system's tar."""
    before = files(house)
    said = compact.pack_published(house)
    assert said.startswith("packed 3 revisions: ")
    assert kinds(house) == ["packed"] * 3 + ["plain"]
    assert files(house) == before
    one = names(house)[0]
    (tmp_path / "by-tar").mkdir()
    [shared] = house.published(SLUG).glob("worker-*")  # of three revisions
    for archive in (packed.locate(house.published(SLUG) / one), shared):
        subprocess.run(["tar", "xJf", str(archive), "-C", str(tmp_path / "by-tar")], check=True, timeout=60)
    outside = json.loads((tmp_path / "by-tar" / "packed.json").read_text(encoding="utf-8"))
    assert outside["worker"] == shared.name
    (tmp_path / "by-tar" / "packed.json").unlink()
    assert packed.read_files(tmp_path / "by-tar") == {n: data for n, data in before[one].items() if n != "bundle.zip"}
    assert compact.pack_published(house.model_copy(update={"earlier": "plain"})).startswith("unpacked 3")
    assert kinds(house) == ["plain"] * 4
    assert files(house) == before
    assert not list(house.published(SLUG).glob("worker-*"))


def test_a_revision_whose_bundle_is_another_is_kept_whole(house: Config) -> None:
    """What cannot be made again from the rest is in the archive, byte for byte."""
    one = files(house)[names(house)[0]]
    other = {**one, "bundle.zip": one["bundle.zip"][:-1]}
    archive, beside = packed.pack(other)
    assert beside == {}
    assert packed.unpack(archive, beside.__getitem__) == other
    less = {name: data for name, data in one.items() if name not in ("cases.csv", "index.html")}
    archive, beside = packed.pack(less)  # a bundle that holds another selection, as earlier versions made it
    assert packed.unpack(archive, beside.__getitem__) == less
    assert len(archive) < 100_000 > sum(map(len, beside.values())) > 0


def test_everything_works_on_a_packed_site(house: Config, tmp_path: Path) -> None:
    """The doctor, differences, the pages, a pin on an earlier revision, a withdrawal, the deployed site, the server."""
    before = files(house)
    compact.pack_published(house)
    site.write_site(house)
    assert doctor.find_faults(house) == []
    one, two, three, _ = names(house)
    assert diff.diff(house, SLUG, one, two, out=tmp_path / "page.html").reasons == ("prose",)
    assert "[packed]" in prune.list_history(house, SLUG)
    deploy.deploy(house, tmp_path / "site")
    for name, content in before.items():
        assert packed.read_files(tmp_path / "site" / "models" / SLUG / name) == content
    assert not list((tmp_path / "site").rglob(f"*{packed.SUFFIX}"))
    handler = dev_server.Handler.__new__(dev_server.Handler)
    handler.directory = house.results
    served = Path(handler.translate_path(f"/models/{SLUG}/{one}/manifest.json"))
    assert served.read_bytes() == before[one]["manifest.json"]
    prune.pin(house, SLUG, one)
    assert kinds(house) == ["plain", "packed", "packed", "plain"]
    prune.pin(house, SLUG, None)
    assert kinds(house) == ["packed", "packed", "packed", "plain"]
    prune.withdraw(house, SLUG, three, "wrong")
    assert not packed.exists(house.published(SLUG) / three)
    site.write_site(house)
    assert doctor.find_faults(house) == []


def test_publishing_packs_what_it_supersedes(house: Config) -> None:
    """The new revision is a folder, those before it are archives; an earlier one that comes back is a folder again."""
    compact.pack_published(house)
    five = tiny.published(house, "Five")
    assert names(house)[-1] == five
    assert kinds(house) == ["packed"] * 4 + ["plain"]
    one = names(house)[0]
    assert tiny.published(house, "One") == one
    folder = house.published(SLUG)
    assert (folder / one).is_dir()
    assert packed.locate(folder / five).is_file()
    site.write_site(house)
    assert doctor.find_faults(house) == []
    work = tiny.rendered(house, "One")
    assert "unchanged" in str(publish.publish(work).words)


def test_git_knows_that_packing_loses_nothing(house: Config) -> None:
    """Folders that a commit holds may become archives; other bytes in an archive are noticed, by git's own names."""
    def git(*words: str) -> None:
        command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words]
        subprocess.run(command, cwd=Path(house.results).parent, check=True, capture_output=True, timeout=60)

    site.write_site(house)
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "plain")
    compact.pack_published(house)
    assert doctor.find_faults(house) == []
    git("add", "--all")
    git("commit", "--quiet", "--message", "packed")
    assert doctor.find_faults(house) == []
    place = house.published(SLUG) / names(house)[0]
    content = packed.read_files(place)
    other = {**content, "CITATION.cff": content["CITATION.cff"] + b"# more\n"}
    packed.locate(place).write_bytes(packed.pack(other)[0])
    where = {fault.where.rpartition("/")[2] for fault in doctor.find_faults(house)}
    assert "CITATION.cff" in where


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("damage", ["cut", "other", "flipped"])
def test_a_damaged_archive_is_named(house: Config, damage: str, shared: bool) -> None:
    """Cut off, no archive at all, or one bit another: never a traceback, and the one command is named."""
    compact.pack_published(house)
    damaged = path = packed.locate(house.published(SLUG) / names(house)[1])
    if shared:  # all three need it
        [path] = house.published(SLUG).glob("worker-*")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes({"cut": path.read_bytes()[:-100], "other": b"no archive", "flipped": bytes(data)}[damage])
    faults = doctor.find_faults(house)
    assert faults
    assert len({fault.where.partition(packed.SUFFIX)[0] for fault in faults}) == (3 if shared else 1)
    assert any(damaged.name in fault.where for fault in faults)
    assert "lessonpress merge" in faults[0].mend


def test_an_archive_of_somebody_else_is_refused() -> None:
    """Links, names that lead out, a name twice: none of it is unpacked."""
    def archive(*entries: tarfile.TarInfo) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for entry in entries:
                tar.addfile(entry, io.BytesIO(b""))
        return lzma.compress(out.getvalue())

    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    for entries in ([link], [tarfile.TarInfo("../out")], [tarfile.TarInfo("/out")], [tarfile.TarInfo("a")] * 2):
        with pytest.raises(ValueError, match="no plain file"):
            packed.unpack(archive(*entries), {}.__getitem__)
    for outside in (b"[]", b'{"worker":"../../x.tar.xz","bundled":"a","unbundled":[]}', b"{"):
        with pytest.raises(ValueError, match=r"packed\.json|Expecting"):
            packed.unpack(packed.pack({"packed.json": outside})[0], {}.__getitem__)


def test_the_copies_of_a_process_are_few(house: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was unpacked to be read goes again; a revision that is nowhere is its own place."""
    compact.pack_published(house)
    monkeypatch.setattr(packed, "COPIES", 1)
    first, second = (packed.open_revision(house.published(SLUG) / name) for name in names(house)[:2])
    assert second.is_dir()
    assert not first.exists()
    with pytest.raises(LessonError):
        diff.find_revision(house.published(SLUG), [], "0" * 16)
    assert packed.open_revision(house.published(SLUG) / ("0" * 16)) == house.published(SLUG) / ("0" * 16)


LAYER = 2_000  # bytes of the page around a revision, which comes with it


def latest(project: Path) -> list[dict[str, bytes]]:
    """The files of every lesson's latest revision that this repository has published."""
    folders = sorted((project / "results" / "models").iterdir())
    ids = [str(history.find_latest(history.read_history(folder, folder.name))) for folder in folders]
    return [packed.read_files(folder / name) for folder, name in zip(folders, ids, strict=True)]


def test_a_further_revision_of_words_is_small(project: Path) -> None:
    """What the one before it takes from then on: at most 150 kB, whatever the lesson."""
    assert max(len(packed.pack(files)[0]) for files in latest(project)) + LAYER <= 150_000


def test_fifty_lessons_of_twenty_revisions_are_small(project: Path) -> None:
    """By the revisions that this repository has published: fifty lessons of twenty each, by two workers."""
    revisions = latest(project)
    archives = [packed.pack(files) for files in revisions]
    assert [packed.unpack(archive, beside.__getitem__) for archive, beside in archives] == revisions
    sizes = [sum(map(len, files.values())) for files in revisions]
    whole = sum(size + 19 * (len(archive) + LAYER) + 2 * sum(map(len, beside.values()))
                for size, (archive, beside) in zip(sizes, archives, strict=True))  # fmt: skip
    assert 50 * whole / len(sizes) <= 250_000_000
