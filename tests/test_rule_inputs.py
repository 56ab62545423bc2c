"""What is due follows from digests alone: a receipt that does not say what lies there is asked for anew.

Reading the rules writes nothing, and takes no time worth speaking of.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lessonpress.build import artifact, code_digest, rule_inputs, steps
from lessonpress.build.rule_inputs import State
from lessonpress.core import atomic_io, canonical_json, config
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config, Isolation, Limits, Site
from lessonpress.publishing import publish, site, verify
from lessonpress.revision import history
from tests import tiny

SLUG = "echo"
PACKAGE = code_digest.PACKAGE


def state(settings: Config) -> State:
    """What one reading of the rules finds."""
    return rule_inputs.read_state(settings.model_dump(), settings.model_dump())


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a repository whose one lesson is published, with a receipt, and whose pages are made."""
    root = tmp_path_factory.mktemp("template") / "house"
    settings = tiny.at(root)
    work = tiny.rendered(settings, "One")
    assert not publish.publish(work, receipt=Path(state(settings).receipt(SLUG))).mistakes
    site.write_site(settings)
    return root


@pytest.fixture
def house(template: Path, tmp_path: Path) -> Config:
    """Give a copy of it, with a receipt of its pages; its name depends on the folder's."""
    shutil.copytree(template, tmp_path / "house")
    settings = tiny.at(tmp_path / "house")
    assert site.write_site(settings, receipt=Path(state(settings).site)) == "site: unchanged"
    return settings


def state_dir(house: Config) -> Path:
    """The folder of the lesson's present state."""
    return steps.open_build(house, SLUG).folder


def write_history(house: Config, document: Any) -> None:
    """Let the lesson's history tell this, as a rollback by git or a pin would."""
    text = document if isinstance(document, str) else canonical_json.pretty(document)
    atomic_io.write(house.published(SLUG) / "revisions.json", text)


def revision(house: Config) -> str:
    """The published revision."""
    return str(history.read_history(house.published(SLUG), SLUG)["current"])


def events(house: Config, *names: str) -> dict[str, Any]:
    """A history of some revisions; `one` is the published one's name."""
    return {"current": names[0], "revisions": [{"revision": revision(house) if n == "one" else n} for n in names]}


def other_key(house: Config) -> None:
    """Put the receipt of another state into the place of the present one's."""
    receipt = artifact.read(state_dir(house) / "published.json")
    assert receipt
    artifact.write(state_dir(house) / "published.json", receipt.made_from, {**receipt.body, "key": "0" * 16})


def ahead(path: Path) -> None:
    """Give a file a time that is still to come."""
    os.utime(path, (time.time() + 86_400, time.time() + 86_400))


CHANGES: dict[str, tuple[Callable[[Config], object], bool]] = {
    "nothing": (lambda house: None, False),
    "a touch": (lambda house: (house.lesson(SLUG) / "model.py").touch(), False),
    "another receipt beside it": (lambda house: atomic_io.write(state_dir(house) / "published-00.json", "{}"), False),
    "a cut receipt": (lambda house: os.truncate(state_dir(house) / "published.json", 90), True),
    "an edited receipt": (lambda house: atomic_io.write(state_dir(house) / "published.json", "{}"), True),
    "another state's receipt": (other_key, True),
    "a receipt of tomorrow": (lambda house: ahead(state_dir(house) / "published.json"), True),
    "no revision": (lambda house: shutil.rmtree(house.published(SLUG) / revision(house)), True),
    "no history": (lambda house: (house.published(SLUG) / "revisions.json").unlink(), True),
    "half a history": (lambda house: write_history(house, '{"revisions": [{"rev'), True),
    "a history of nothing": (lambda house: write_history(house, {"revisions": []}), True),
    "no history at all": (lambda house: write_history(house, [1]), True),
    "a later event": (lambda house: write_history(house, events(house, "one", "later")), True),
    "an event less": (lambda house: write_history(house, events(house, "earlier")), True),
    "a pinned revision": (lambda house: write_history(house, events(house, "earlier", "one")), False),
    "no results": (lambda house: shutil.rmtree(house.results), True),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_receipt_agrees_with_what_is_published_or_is_due(house: Config, change: str) -> None:
    """One that does not is asked for under a name that no file has, and that no other run asks for."""
    make, due = CHANGES[change]
    make(house)
    one, other = state(house), state(house)
    expected = f"published-{one.run}.json" if due else "published.json"
    assert one.receipt(SLUG) == str(state_dir(house) / expected)
    assert Path(one.receipt(SLUG)).exists() is not due
    assert (one.receipt(SLUG) != other.receipt(SLUG)) is due
    assert re.fullmatch(r"[0-9a-f]{8}", one.run)


def test_a_lost_receipt_is_made_under_its_own_name(house: Config) -> None:
    """As at the first time."""
    (state_dir(house) / "published.json").unlink()
    assert state(house).receipts == [str(state_dir(house) / "published.json")]


def test_a_receipt_that_was_asked_for_anew_counts(house: Config) -> None:
    """What was restored once is right until something else changes; publishing leaves one receipt of them."""
    shutil.rmtree(house.published(SLUG) / revision(house))
    due = Path(state(house).receipt(SLUG))
    assert "is back in its place" in (publish.publish(steps.open_build(house, SLUG), receipt=due).words or "")
    assert state(house).receipt(SLUG) == str(due)
    assert [path.name for path in state_dir(house).glob("published*.json")] == [due.name]


def test_a_mistakes_receipt_agrees_with_whatever_is_published(house: Config) -> None:
    """Nothing can be published of a lesson with a mistake, so nothing is due until its files change."""
    (house.lesson(SLUG) / "model.py").write_text("# + 1\n")
    work = steps.open_build(house, SLUG)
    artifact.write(work.folder / "published.json", "", {"key": work.key, "revision": None},
                   mistakes=[LessonError("lesson.yaml:1", "wrong")])  # fmt: skip
    shutil.rmtree(house.results)
    assert state(house).receipt(SLUG) == str(work.folder / "published.json")
    (house.lesson(SLUG) / "model.py").write_text("# + 2\n")
    assert not Path(state(house).receipt(SLUG)).exists()


@pytest.mark.parametrize("file", ["lesson.yaml", "model.py", "checks.py", "new.txt"])
def test_another_state_of_a_lesson_is_due(house: Config, file: str) -> None:
    """Whatever its time: a checkout may bring an older file."""
    path = house.lesson(SLUG) / file
    path.write_text("# new\n" + (path.read_text() if path.exists() else ""))
    os.utime(path, (1, 1))
    receipt = Path(state(house).receipt(SLUG))
    assert (receipt.exists(), receipt.name, receipt.parent.name) == (False, "published.json", state_dir(house).name)


def first(house: Config) -> Path:
    """The lesson's folder of the published site."""
    return house.published(SLUG)


def rewritten(path: Path) -> None:
    """Other bytes of the same meaning, as after a rollback by git or an editor's reformatting."""
    path.write_bytes(path.read_bytes() + b" ")


STALE: dict[str, tuple[Callable[[Config], object], bool]] = {
    "nothing": (lambda house: None, False),
    "a touch": (lambda house: (Path(house.results) / "index.html").touch(), False),
    "what is no page": (lambda house: (first(house) / revision(house) / "run.py").write_text("x"), False),
    "an edited page": (lambda house: rewritten(Path(house.results) / "index.html"), True),
    "a lost page": (lambda house: (Path(house.results) / "404.html").unlink(), True),
    "an edited page of a lesson": (lambda house: rewritten(first(house) / "index.html"), True),
    "a lost schema": (lambda house: (Path(house.results) / "schema" / "lesson.schema.json").unlink(), True),
    "a changed history": (lambda house: rewritten(first(house) / "revisions.json"), True),
    "another manifest": (lambda house: rewritten(first(house) / revision(house) / "manifest.json"), True),
    "a new published lesson": (lambda house: atomic_io.write(house.published("new") / "revisions.json", "{}"), True),
    "a lesson that is gone": (lambda house: shutil.rmtree(first(house)), True),
    "a cut receipt": (lambda house: os.truncate(state(house).site, 90), True),
    "a receipt of tomorrow": (lambda house: ahead(Path(state(house).site)), True),
    "no receipt": (lambda house: Path(state(house).site).unlink(), True),
    "no results": (lambda house: shutil.rmtree(house.results), True),
    "an edited lesson": (lambda house: rewritten(house.lesson(SLUG) / "model.py"), True),
    "a new lesson": (lambda house: tiny.write(house.lesson("new")), True),
    "a folder that is no slug": (lambda house: tiny.write(house.lesson("No Slug")), True),
}


@pytest.mark.parametrize("stale", STALE)
def test_the_pages_receipt_goes_with_what_it_stands_for(house: Config, stale: str) -> None:
    """Pages are due when one is gone or edited, and when anything that they say may have changed."""
    make, due = STALE[stale]
    make(house)
    one = state(house)
    assert Path(one.site).exists() is not due
    assert re.fullmatch(rf"{one.digest}(-{one.run})?\.json", Path(one.site).name)
    assert Path(one.good) == Path(house.work, "good", f"{one.digest}.json")


def test_each_run_verifies_anew(house: Config) -> None:
    """Its verdicts lie in a folder of its own, which the report knows when it removes those of earlier runs."""
    one, other = state(house), state(house)
    assert one.verdicts != other.verdicts
    assert Path(one.verdicts).parent == Path(house.work, "verify", verify.RUNS)


@pytest.mark.parametrize("other", ["title", "base_url", "code"])
def test_pages_that_would_say_something_else_are_due(
    house: Config, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """The site is called otherwise, or our code that makes its pages is another; the lessons are not due for it."""
    receipt = state(house).receipt(SLUG)
    if other == "code":
        digests = {**code_digest.digest_steps(), "site": "other"}
        monkeypatch.setattr(code_digest, "digest_steps", lambda: digests)
    else:
        house = house.model_copy(update={"site": Site(**{other: "https://example.org"})})
    assert not Path(state(house).site).exists()
    assert state(house).receipt(SLUG) == receipt


def test_reading_the_rules_writes_nothing(house: Config) -> None:
    """A dry run leaves no trace, and neither does a run with nothing to do."""
    root = Path(house.lessons).parent
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    one = state(house)
    _ = one.receipts, one.site, one.good, one.verdicts, one.sources(SLUG), one.stale(SLUG, "cases.csv"), one.odd
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_parse_time_is_short(house: Config) -> None:
    """Reading the state of a repository loads neither numpy nor pandas nor a template engine nor a YAML reader."""
    heavy = {"numpy", "pandas", "jinja2", "torch", "ruamel.yaml", "markdown_it", "jsonschema"}
    code = (
        "import sys; from lessonpress.build import rule_inputs as workflow_state\n"
        f"state = workflow_state.read_state({house.model_dump()!r}, {{}})\n"
        "assert state.slugs and state.receipts and state.site and state.good and state.options\n"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_snakemake_gets_no_path_that_it_could_not_take(house: Config) -> None:
    """Braces would be wildcards, and of a file of tomorrow nothing is made; the key covers such files all the same."""
    before = state(house).key(SLUG)
    for name in ("a{b}.txt", "two\nlines", "later.txt"):
        (house.lesson(SLUG) / name).write_text(name)
    ahead(house.lesson(SLUG) / "later.txt")
    one = state(house)
    assert [Path(path).name for path in one.sources(SLUG)] == ["checks.py", "lesson.yaml", "model.py"]
    assert all(Path(path).is_file() for path in one.sources(SLUG))
    assert one.key(SLUG) != before


def test_names_for_other_workflows_are_given_anew_where_they_show_another_state(house: Config) -> None:
    """Whatever the files' times; what is right already, or is not there yet, is no reason."""
    here = house.work_dir(SLUG) / "cases.csv"
    assert state(house).stale(SLUG, "cases.csv") == []
    shutil.copyfile(state_dir(house) / "cases.csv", here)
    assert state(house).stale(SLUG, "cases.csv") == []
    here.write_text("of another state")
    assert state(house).stale(SLUG, "cases.csv") == [str(here)]
    shutil.copyfile(state_dir(house) / "cases.csv", here)
    (state_dir(house) / "cases.csv").unlink()
    assert state(house).stale(SLUG, "cases.csv") == [str(here)]


SETTINGS = {
    "none": (Config(), ""),
    "a limit": (Config(limits=Limits(wall_seconds=5)), " --set limits.wall_seconds=5"),
    "folders": (Config(results="a site", work="w"), " --set 'results=a site' --set work=w"),
    "words for a shell": (Config(site=Site(title="It's $HOME = `x`")), """ --set 'site.title=It'"'"'s $HOME = `x`'"""),
    "a choice": (Config(isolation=Isolation(bubblewrap="never")), " --set isolation.bubblewrap=never"),
}


@pytest.mark.parametrize("given", SETTINGS)
def test_commands_learn_what_config_yaml_does_not_say(given: str) -> None:
    """Nothing where it says all; what is given makes the same settings of it again."""
    wanted, text = SETTINGS[given]
    assert rule_inputs.make_options(wanted, {}) == text
    overrides = [word for word in shlex.split(text) if word != "--set"]
    assert config.override(Config(), overrides) == wanted
    assert rule_inputs.make_options(wanted, wanted.model_dump()) == ""
    assert rule_inputs.make_options(wanted, {"lessonpress": wanted.model_dump(), "samples": 3}) == ""


def test_what_config_yaml_says_is_taken_back_where_snakemake_says_otherwise() -> None:
    """Also to a default; a config.yaml that is no settings' says nothing."""
    assert rule_inputs.make_options(Config(), {"work": "scratch"}) == " --set work=work"
    assert rule_inputs.make_options(Config(work="w"), {"samples": [1, 2]}) == " --set work=w"


def test_a_larger_workflow_has_a_section_of_ours(tmp_path: Path) -> None:
    """What stands beside it is none of our business, and neither is the note of a run."""
    one = rule_inputs.read_state({"lessonpress": {"work": "w", "note": "why"}, "samples": 3}, {})
    assert one.config == Config(work="w")
    assert rule_inputs.read_state({"work": "w", "note": "why"}, {}).config == Config(work="w")
    assert rule_inputs.find_section({"lessonpress": None, "work": "w"}) == {"lessonpress": None, "work": "w"}
    assert rule_inputs.find_section(None) == {}


@pytest.mark.parametrize("given", [{"lesons": "x"}, {"limits": {"wall_seconds": "soon"}}, {"work": "results"}])
def test_wrong_settings_are_reported_where_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    """At the line of config.yaml, or as what was typed."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LessonError, match=r"^snakemake --config: "):
        rule_inputs.read_state(given, {})
    (tmp_path / "config.yaml").write_text(f"\n{canonical_json.dumps(given)[1:-1]}\n")
    with pytest.raises(LessonError, match=r"^config\.yaml:\d: "):
        rule_inputs.read_state(given, given)


def test_a_modules_folders_lie_below_its_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules write them without it, for Snakemake puts it there itself; commands get them whole."""
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path / "below" / "lessons" / SLUG)
    one = rule_inputs.read_state({"results": str(tmp_path / "site")}, {}, "below/")
    assert one.slugs == [SLUG]
    assert one.options.split(" --set ")[1:] == [
        "lessons=below/lessons", f"results={tmp_path / 'site'}", "work=below/work",
    ]  # fmt: skip
    assert one.receipt(SLUG) == f"work/{SLUG}/{one.key(SLUG)}/published.json"
    assert one.sources(SLUG) == [f"lessons/{SLUG}/lesson.yaml", f"lessons/{SLUG}/model.py"]
    assert one.site == f"work/site/{one.digest}.json"


def test_files_of_the_site_are_kept_apart_from_other_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However they are spelled; a folder that only begins alike is none of them."""
    monkeypatch.chdir(tmp_path)
    inside = ["results", "results/", "results/index.html", "./results/a", "x/../results/a", str(tmp_path / "results/a")]
    outside = ["all", "results2/index.html", "work/results", "--cores", "", "lessons/../work"]
    assert rule_inputs.select_published([*inside, *outside], Config()) == inside
    refusal = rule_inputs.refuse_target("results/index.html")
    assert refusal.code == 2
    assert refusal.message().startswith("results/index.html: no rule makes a single file of the published site. All ")


def test_steps_that_snakemake_was_asked_to_do_again() -> None:
    """By rule (-R, also of a module that renamed it), by file (-f), or all of them (-F)."""
    names = {name: name for name in steps.STEPS}
    renamed = {name: f"ours_{name}" for name in steps.STEPS}
    again = rule_inputs.list_forced_steps
    assert again(names, every=True, forced=[]) == [name for name in steps.STEPS if name not in steps.RULES]
    assert again(names, every=False, forced=["render", "all"]) == ["render"]
    assert again(renamed, every=False, forced=["render", "ours_check"]) == ["check"]
    assert again(names, every=False, forced=["work/a/0123/capture.json", "x.csv"]) == ["execute"]
    assert again(names, every=False, forced=[]) == []


def test_what_belongs_to_one_run_is_not_left_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """A note is handed on by the environment, and taken out of it where there is none."""
    monkeypatch.setenv("LESSONPRESS_TEST", "of an outer run")
    rule_inputs.hand_on("LESSONPRESS_TEST", 5)
    assert os.environ["LESSONPRESS_TEST"] == "5"
    for nothing in (None, ""):
        rule_inputs.hand_on("LESSONPRESS_TEST", nothing)
        assert "LESSONPRESS_TEST" not in os.environ
