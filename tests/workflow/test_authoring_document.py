"""docs/authoring.md does what it says: its commands are run and its edits made, in a repository of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.workflow.conftest import House

pytestmark = pytest.mark.workflow
SLUG = "warm-shares"
STAYS_OPEN = re.compile(r"--watch|lessonpress serve")
SET_UP = "make setup"  # what the test's own Python has done already


@dataclass(frozen=True)
class Block:
    """A fenced block of the document: what kind it is, what stands behind the kind, its lines."""

    kind: str
    about: str
    text: str


def blocks(document: str) -> list[Block]:
    """Every fenced block in order."""
    matches = re.findall(r"^```(\w+) ?(.*)\n((?:.*\n)*?)```$", document, flags=re.MULTILINE)
    return [Block(*each) for each in matches]


def activated(folder: Path) -> dict[str, str]:
    """Make `.venv/bin` with the commands that the document types; returns an environment whose PATH leads there."""
    place = folder / ".venv" / "bin"
    place.mkdir(parents=True)
    for name in ("lessonpress", "snakemake"):
        (place / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {name} "$@"\n')
        (place / name).chmod(0o755)
    (place / "activate").touch()
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"))}  # fmt: skip
    return {**os.environ, **who, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}"}


def edit(folder: Path, block: Block) -> None:
    """Make the edit that a block shows: lines with - go, lines with + come, the others say where."""
    path, lines = folder / block.about, block.text.splitlines(keepends=True)
    old, new = ("".join(line[1:] or line for line in lines if line[0] in f" \n{sign}") for sign in "-+")
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{block.about} does not hold once:\n{old}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def command(line: str, folder: Path, environment: dict[str, str]) -> str:
    """Run one line as it is typed; answers what it printed. What stays open is interrupted once it has something."""
    if STAYS_OPEN.search(line):
        return opened(line, folder, environment)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], cwd=folder, env=environment, capture_output=True,
                          text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def opened(line: str, folder: Path, environment: dict[str, str]) -> str:
    """Start a command that serves (on a port that is free), wait for its address and its page, and interrupt it."""
    free = f"exec {line} --port 0"
    started = subprocess.Popen(["bash", "-c", free], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    with started:
        assert started.stdout
        said = started.stdout.readline()
        assert said.startswith("http://127.0.0.1:")
        if "--watch" in line:
            said += started.stdout.readline()
        started.send_signal(signal.SIGINT)
        assert started.wait(timeout=60) == 0
    return said


def complaint(folder: Path, environment: dict[str, str]) -> str:
    """What lint says of the lesson at this point."""
    lint = ["lessonpress", "lint", SLUG]
    done = subprocess.run(lint, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


def test_the_document_is_true(house: House, project: Path) -> None:
    """From an empty repository to two published revisions, by nothing but what the document says."""
    folder = house.folder
    shutil.rmtree(house.lesson)
    environment = activated(folder)
    shutil.copy(project / ".gitignore", folder / ".gitignore")
    command("git init --quiet && git add --all && git commit --quiet -m Start", folder, environment)
    said = {}
    for block in blocks((project / "docs" / "authoring.md").read_text(encoding="utf-8")):
        if block.kind == "diff":
            edit(folder, block)
        elif block.kind == "text":
            assert block.text.strip() in complaint(folder, environment)
        else:
            assert block.kind == "sh"
            said |= {line: command(line, folder, environment) for line in block.text.splitlines() if line != SET_UP}
    assert "made in" in said[f"lessonpress preview lessons/{SLUG} --watch"]
    assert said[f"lessonpress lint {SLUG}"] == f"{SLUG}: good\n"
    history = json.loads((folder / "results" / "models" / SLUG / "revisions.json").read_text(encoding="utf-8"))
    assert [event["reasons"] for event in history["revisions"]] == [["first publication"], ["prose"]]
    assert history["revisions"][1]["note"] == "Says how many rows"
    assert command("git status --porcelain", folder, environment) == ""


def test_the_document_is_read_as_it_is_meant(project: Path) -> None:
    """There are commands, edits and a message, each fence is understood, and a wrong edit would be noticed."""
    document = (project / "docs" / "authoring.md").read_text(encoding="utf-8")
    parsed = blocks(document)
    assert len(parsed) * 2 == len(re.findall(r"^```", document, flags=re.MULTILINE))
    assert {block.kind for block in parsed} == {"sh", "diff", "text"}
    assert all(block.about.startswith(f"lessons/{SLUG}/") for block in parsed if block.kind == "diff")
    assert all(line[0] in " -+\n" for block in parsed if block.kind == "diff"
               for line in block.text.splitlines(keepends=True))  # fmt: skip


def test_the_messages_that_the_document_explains_are_ours(project: Path) -> None:
    """Each message in the last table stands in the package's source, word for word between its dots."""
    document = (project / "docs" / "authoring.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \|", document.partition("| you see |")[2], flags=re.MULTILINE)
    parts = [part.strip() for row in rows for words in re.findall("`(.*?)`", row) for part in words.split("…")]
    source = " ".join(path.read_text(encoding="utf-8") for path in sorted((project / "src").rglob("*.py")))
    assert len(rows) > 5
    assert [part for part in parts if part not in source] == []


def test_a_folder_with_an_odd_name_stops_only_itself(house: House) -> None:
    """The lesson beside it is published and the pages are made; the run fails and says which folder and why."""
    shutil.copytree(house.lesson, house.folder / "lessons" / "Odd (x{y}'")
    done = house.snakemake()
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "lessons/Odd (x{y}'/lesson.yaml:2: slug: 'tiny-affine' given; the folder is called" in said
    assert "Traceback" not in said
    assert len(house.revisions()) == 1
    assert (house.folder / "results" / "index.html").is_file()


def test_without_a_folder_of_lessons_nothing_succeeds(house: House) -> None:
    """A misspelt folder in config.yaml is an error, not a run without lessons."""
    shutil.move(house.folder / "lessons", house.folder / "elsewhere")
    for arguments in (["snakemake", "--cores", "1"], ["lessonpress", "lint"], ["lessonpress", "verify"]):
        done = house.run(*arguments)
        assert done.returncode == 1
        assert "config.yaml: lessons: there is no folder 'lessons' here" in done.stdout + done.stderr
