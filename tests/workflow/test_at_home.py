"""At home in Snakemake: its options do here what they do elsewhere, and the rules are a module like any other."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow.conftest import JUDGE, MODEL, TINY, House

pytestmark = pytest.mark.workflow

STEPS = ("hash", "execute", "record", "check", "render", "publish")
WORDS = ("lesson.yaml", "What does a shift", "What can a shift")


def asked(house: House) -> set[str]:
    """Which programs the servers of the last run had run lesson code."""
    return {line.rpartition(" asks ")[2] for line in house.served() if " asks " in line}


def said(done: subprocess.CompletedProcess[str]) -> str:
    """All that a command printed."""
    return done.stdout + done.stderr


def test_what_was_edited_is_published_though_a_step_was_typed_before(published: House) -> None:
    """A command typed by hand between an edit and a run takes nothing away from the run."""
    for command, word in (("hash", "can"), ("render", "may"), ("publish", "must")):
        text = (published.lesson / "lesson.yaml").read_text(encoding="utf-8")
        edited = re.sub(r"What \w+ a shift", f"What {word} a shift", text)
        (published.lesson / "lesson.yaml").write_text(edited, "utf-8")
        assert published.run("lessonpress", command, TINY).returncode == 0
        published.publish()
        assert f"What {word} a shift" in (published.folder / "results" / "index.html").read_text(encoding="utf-8")


def test_an_edit_runs_what_it_must_and_no_more(published: House) -> None:
    """Among several lessons other words start no model and no check of any, another check no model; and quickly."""
    for slug in ("second", "third"):
        published.add(slug)
    published.publish()
    published.forget_logs()
    published.edit(*WORDS, slug="second")
    assert "second: revision" in published.publish()
    assert asked(published) == set()
    assert not [line for line in published.served() if re.search(rf" (hash|execute|check) ({TINY}|third) ", line)]
    passed_over = [int(match[1]) for line in published.served()
                   if (match := re.search(r" (?:execute|record|check) second .*: (\d+) ms$", line))]  # fmt: skip
    assert len(passed_over) == 3
    assert min(passed_over) <= 30, published.served()
    assert sum(passed_over) <= 300, published.served()  # also where somebody else uses the machine
    published.forget_logs()
    published.edit("checks.py", "For every case.", "In every case.", slug="third")
    assert "third: revision" in published.publish()
    assert asked(published) == {JUDGE}


def test_what_is_forced_is_really_done_again(published: House) -> None:
    """-R check runs the checks, -R execute the model, -F everything; the same comes out, and then all rests.

    What follows is done again too, as Snakemake has it: a bundle that is rendered anew is rehearsed by a run.
    """
    before = set(published.bytes())
    for arguments, runs in ((("-R", "check"), 1), (("-R", "execute"), 2), (("-F",), 2)):
        published.forget_logs()
        published.publish(*arguments)
        assert JUDGE in asked(published), arguments
        asked_for = [line for line in published.served() if line.endswith(f" asks {MODEL}")]
        assert len(asked_for) == runs, (arguments, published.served())
        assert set(published.bytes()) == before
        assert "Nothing to be done" in published.publish()


def test_a_run_may_be_cut_short(published: House) -> None:
    """`--until check` checks and renders nothing, `--omit-from publish` publishes nothing; the next run goes on."""
    before = published.bytes()
    published.edit(*WORDS)
    published.publish("--until", "check")
    state = published.state()
    assert (state / "checks.json").is_file()
    assert not (state / "rendered.json").exists()
    assert published.bytes() == before
    published.publish("--omit-from", "publish")
    assert (state / "rendered.json").is_file()
    assert not list(state.glob("published*.json"))
    assert published.bytes() == before
    assert f"{TINY}: revision" in published.publish()
    assert len(published.revisions()) == 2


def test_touch_hides_no_edit(published: House) -> None:
    """Outputs are named by what they are made from: those of an edit are missing, whatever was touched."""
    published.edit(*WORDS)
    published.snakemake("--touch")
    assert f"{TINY}: revision" in published.publish()
    published.edit("lesson.yaml", "What can a shift", "What may a shift")
    published.publish("--until", "render")
    published.publish("--touch")
    assert f"{TINY}: revision" in published.publish()
    assert len(published.revisions()) == 3


def test_snakemake_lists_what_there_is(published: House) -> None:
    """--summary names every output, --dag and --rulegraph draw every rule; nothing is run and nothing is written."""
    before = published.bytes()
    state = published.state().relative_to(published.folder)
    done = published.snakemake("--summary")
    assert done.returncode == 0, done.stderr
    rows = {line.split("\t")[0]: line.split("\t")[-2:] for line in done.stdout.splitlines()}
    names = ("source.json", "capture.json", "mutants.json", "cases.json", "cases.csv", "checks.json", "rendered.json",
             "rehearsed.json", "revision", "published.json")  # fmt: skip
    assert {str(state / name) for name in names} <= rows.keys()
    assert {tuple(row) for name, row in rows.items() if name.startswith("work/")} == {("ok", "no update")}
    for option in ("--dag", "--rulegraph"):
        done = published.snakemake(option)
        assert done.returncode == 0, done.stderr
        assert done.stdout.lstrip().startswith("digraph")
        assert all(re.search(rf'label ?= ?"{rule}\b', done.stdout) for rule in (*STEPS, "site", "mistakes", "all"))
    assert published.bytes() == before


def test_delete_all_output_leaves_what_is_published(published: House) -> None:
    """It deletes scratch, never results/, and the next run finds everything unchanged."""
    before, state = published.bytes(), published.state()
    done = published.snakemake("--delete-all-output")
    assert done.returncode == 0, said(done)
    assert not (state / "capture.json").exists()
    assert published.bytes() == before
    assert f"{TINY}: unchanged" in published.publish()
    assert published.bytes() == before


def test_another_folder_can_be_named(house: House) -> None:
    """--directory works as if one had gone there."""
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--snakefile", str(house.folder / "Snakefile"),
               "--directory", str(house.folder)]  # fmt: skip
    elsewhere = house.folder.parent / "elsewhere"
    elsewhere.mkdir()
    for words in (f"{TINY}: published revision", "Nothing to be done"):
        done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, said(done)
        assert words in said(done)
    assert len(house.revisions()) == 1
    assert not (elsewhere / "results").exists()


def test_a_path_of_the_site_answers_with_what_to_type(published: House) -> None:
    """Nothing there is an output: whether the file is there or not, the answer is what makes it."""
    before = published.bytes()
    [revision] = published.revisions()
    for path in ("results/index.html", f"results/models/{TINY}/{revision}/manifest.json", "results/nothing.txt",
                 "results", "./results/index.html"):  # fmt: skip
        done = published.snakemake(path)
        assert done.returncode == 1, path
        assert "snakemake --cores 1" in said(done), (path, said(done))
        assert "Traceback" not in said(done)
    assert published.bytes() == before


def test_a_table_by_its_stable_name_follows_edits_and_their_way_back(published: House) -> None:
    """A rule of somebody's own takes work/<slug>/cases.csv: it runs after an edit, and after its undoing."""
    with (published.folder / "Snakefile").open("a", encoding="utf-8") as file:
        file.write(f'\n\nrule count:\n    input:\n        "work/{TINY}/cases.csv",\n    output:\n        "count.csv",\n'
                   "    shell:\n        \"cp {input} {output}; echo ran >> ran.txt\"\n")  # fmt: skip
    follows(published, "count.csv", published.folder / "lessons" / TINY, published.folder / "ran.txt")


def follows(house: House, target: str, lesson: Path, ran: Path) -> None:
    """Ask for a target that copies a lesson's table, through A → B → A, and when there is nothing to do."""
    model, tables = lesson / "checks.py", []
    plain = model.read_text(encoding="utf-8")
    other = plain.replace("np.max(values) - np.min(values)", "2 * (np.max(values) - np.min(values))")
    assert other != plain
    for step, text in enumerate((plain, other, plain), start=1):
        model.write_text(text, encoding="utf-8")
        house.publish(target)
        tables.append((house.folder / target).read_text(encoding="utf-8"))
        assert len(ran.read_text().splitlines()) == step
        assert "Nothing to be done" in house.publish(target)
    assert tables[0] == tables[2] != tables[1]
    spreads = [[float(row["value"]) for row in csv.DictReader(table.splitlines())
                if "spread" in row.values()] for table in tables[:2]]  # fmt: skip
    assert spreads[0]
    assert spreads[1] == [2 * value for value in spreads[0]]
    recipe = lesson / "lesson.yaml"
    recipe.write_text(recipe.read_text(encoding="utf-8").replace(*WORDS[1:]), encoding="utf-8")
    house.publish(target)  # other words, the same table
    assert (house.folder / target).read_text(encoding="utf-8") == tables[2]
    assert "Nothing to be done" in house.publish(target)


PARENT = """\
configfile: "config.yaml"


rule everything:
    default_target: True
    input:
        "mean.txt",
        "deep.csv",


rule mean:
    input:
        "work/{tiny}/cases.csv",
    output:
        "mean.txt",
    shell:
        "cp {{input}} {{output}}; echo ran >> ran.txt"


rule deep:
    input:
        "teaching/work/{tiny}/cases.csv",
    output:
        "deep.csv",
    shell:
        "cp {{input}} {{output}}; echo ran >> deep.txt"


module lessonpress:
    snakefile:
        "engine/Snakefile"
    config:
        config["lessonpress"]


use rule * from lessonpress


module teaching:
    snakefile:
        "engine/Snakefile"
    config:
        config["lessonpress"]
    prefix:
        "teaching"


use rule * from teaching as teaching_*


module more:
    snakefile:
        "engine/Snakefile"
    config:
        {{"lessons": "more/lessons", "results": "more/site", "work": "more/scratch", "site": {{"title": "More"}}}}


use rule * from more as more_*
"""


@pytest.fixture(scope="module")
def parent(template: House, tmp_path_factory: pytest.TempPathFactory, project: Path) -> House:
    """Give somebody's own workflow that takes our rules three times: plainly, with a prefix, and with other folders."""
    house = House(tmp_path_factory.mktemp("parent") / "somebody's own")
    (house.folder / "engine").mkdir(parents=True)
    shutil.copytree(project / "workflow", house.folder / "engine" / "workflow")
    shutil.copy(project / "Snakefile", house.folder / "engine")
    shutil.copytree(project / "profiles", house.folder / "profiles")
    for folder in ("lessons", "teaching/lessons", "more/lessons"):
        shutil.copytree(template.lesson, house.folder / folder / TINY)
    (house.folder / "Snakefile").write_text(PARENT.format(tiny=TINY), encoding="utf-8")
    (house.folder / "config.yaml").write_text(
        "samples: [a, b]\nthreads: 4\nlessonpress:\n  site: {title: A part}\n  limits: {wall_seconds: 50}\n", "utf-8"
    )  # the engine's own config.yaml is not there: a module takes the parent's
    (house.folder / "engine" / "config.yaml").write_text("", encoding="utf-8")
    house.publish("all", "teaching_all", "more_all")
    return house


def test_modules_publish_each_into_its_own_folders(parent: House) -> None:
    """Paths come from the rules, not from the process: three instances of the rules take nothing from each other."""
    for results, title in (("results", "A part"), ("teaching/results", "A part"), ("more/site", "More")):
        site = parent.folder / results
        assert title in (site / "index.html").read_text(encoding="utf-8")
        assert len([path for path in (site / "models" / TINY).iterdir() if path.is_dir()]) == 1
    assert sorted(path.name for path in (parent.folder / "more").iterdir()) == ["lessons", "scratch", "site"]
    assert "Nothing to be done" in parent.publish("all", "teaching_all", "more_all")
    recipe = parent.folder / "more" / "lessons" / TINY / "lesson.yaml"
    recipe.write_text(recipe.read_text(encoding="utf-8").replace(*WORDS[1:]), encoding="utf-8")
    before = parent.bytes()
    assert "revision" in parent.publish("more_all")
    assert len([path for path in (parent.folder / "more" / "site" / "models" / TINY).iterdir() if path.is_dir()]) == 2
    assert parent.bytes() == before
    assert "Nothing to be done" in parent.publish("all", "teaching_all")


def test_a_module_does_again_what_its_own_rules_are_forced_to(parent: House) -> None:
    """-R with a renamed rule runs the model of that instance, and of no other."""
    parent.forget_logs()
    parent.publish("all", "teaching_all", "-R", "teaching_execute")
    ran = [line for line in parent.served() if " execute " in line]
    assert len(ran) == 1
    assert "teaching" in ran[0]
    assert MODEL in asked(parent)


@pytest.mark.parametrize(("target", "folder", "ran"), [
    pytest.param("mean.txt", "lessons", "ran.txt", marks=pytest.mark.nightly),
    ("deep.csv", "teaching/lessons", "deep.txt"),
])  # fmt: skip
def test_rules_of_theirs_follow_a_lessons_table(parent: House, target: str, folder: str, ran: str) -> None:
    """Also with a prefix, through A → B → A, each time with the right content."""
    follows(parent, target, parent.folder / folder / TINY, parent.folder / ran)


def test_typed_commands_read_the_section(parent: House, project: Path) -> None:
    """`lessonpress doctor` and `lint` accept the larger config.yaml, and the script for CI works there."""
    parent.publish("all")
    for words in (["doctor"], ["lint"], ["hash", TINY]):
        done = parent.run("lessonpress", *words)
        assert done.returncode == 0, said(done)
    script = ["bash", str(project / "scripts" / "check_site.sh")]
    around = {**os.environ, "PYTHON": sys.executable, "CORES": "1"}
    # The script calls the workflow's first target; here that is somebody's own, which asks for the lessons' tables.
    done = subprocess.run(script, cwd=parent.folder, env=around, capture_output=True, text=True, timeout=300,
                          check=False)  # fmt: skip
    assert done.returncode == 0, said(done)
    assert "All is good: 1 lesson verified." in done.stdout
    text = (parent.folder / "config.yaml").read_text(encoding="utf-8")
    (parent.folder / "config.yaml").write_text(text.replace("title: A part", "titel: A part"), encoding="utf-8")
    try:
        done = parent.run("lessonpress", "doctor")
        assert done.returncode == 1
        assert "config.yaml:4: lessonpress.site.titel: unknown key" in said(done)
    finally:
        (parent.folder / "config.yaml").write_text(text, encoding="utf-8")
