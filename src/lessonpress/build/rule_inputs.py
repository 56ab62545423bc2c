"""What the Snakemake rules ask while they are read: the lessons, their keys, and which receipts still hold.

Only digests are computed here; no file is written, touched or removed. What is due follows from this alone: each output
carries in its name the digest of what it is made from, so one that is missing is due.
"""

from __future__ import annotations

import functools
import os
import re
import secrets
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from lessonpress.build import artifact, code_digest
from lessonpress.build.artifact import Artifact
from lessonpress.build.code_digest import StepName
from lessonpress.core import canonical_json
from lessonpress.core.errors import LessonError, WrongUsage
from lessonpress.core.settings import Config
from lessonpress.lesson import lesson_files
from lessonpress.lesson.lesson_files import LessonFile

Configuration: TypeAlias = Mapping[str, Any]  # Snakemake's, before it is validated as our settings
NOTE = "note"  # belongs to a run and is no setting
FOLDERS = ("lessons", "results", "work")
HISTORY = "revisions.json"
# What Snakemake would take for a wildcard or could not print; the key covers such a file all the same, and one whose
# time is still to come, from which Snakemake lets nothing be made.
_ODD_PATH = re.compile(r"[{}\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class State:
    """The lessons, their keys and receipts, as one reading of the rules sees them.

    `config` has the folders as they lie here, `declared` as the rules write them: Snakemake itself puts a module's
    prefix before those.
    """

    config: Config
    declared: Config
    options: str  # options with which a command works with these settings; none where config.yaml says them all
    run: str = field(default_factory=lambda: secrets.token_hex(4))
    _histories: dict[str, bytes | None] = field(default_factory=dict, repr=False, compare=False)

    @functools.cached_property
    def slugs(self) -> list[str]:
        """All lessons that a rule can name."""
        return lesson_files.slugs(Path(self.config.lessons))

    @functools.cached_property
    def odd(self) -> list[str]:
        """The folders of lessons that no rule can name."""
        return lesson_files.odd_names(Path(self.config.lessons))

    @functools.cached_property
    def files(self) -> dict[str, list[LessonFile]]:
        """The files of every lesson as they are now: looked at once, for its key and as Snakemake's inputs."""
        return {slug: lesson_files.files(self.config.lesson(slug)) for slug in self.slugs}

    @functools.cached_property
    def keys(self) -> dict[str, str]:
        """The key of every lesson as its files are now."""
        entries = {slug: [(file.name, file.content) for file in files] for slug, files in self.files.items()}
        return {slug: code_digest.compute_key(self.config, those) for slug, those in entries.items()}

    def key(self, slug: str) -> str:
        """The key of one lesson."""
        return self.keys[slug] if slug in self.keys else code_digest.compute_present_key(self.config, slug)

    def sources(self, slug: str) -> list[str]:
        """A lesson's files as Snakemake's inputs."""
        folder, now = self.declared.lesson(slug), time.time()
        files = self.files[slug] if slug in self.files else lesson_files.files(self.config.lesson(slug))
        kept = [file.name for file in files if file.plain and file.changed <= now and not _ODD_PATH.search(file.name)]
        return [f"{folder}/{name}" for name in kept]

    @functools.cached_property
    def receipts(self) -> list[str]:
        """The receipts of all lessons."""
        return [self.receipt(slug) for slug in self.slugs]

    def receipt(self, slug: str) -> str:
        """The receipt of a lesson's publication: one that agrees with what is published, or a name that no file has."""
        folder = self.config.work_dir(slug) / self.key(slug)
        name = self._receipt(folder, "published", lambda receipt: self._agrees(slug, receipt))
        return f"{self.declared.work_dir(slug)}/{self.key(slug)}/{name}"

    @functools.cached_property
    def digest(self) -> str:
        """One digest of all lessons' states, of their receipts, and of what the pages around them say of the site."""
        odd = [ascii(name) for name in self.odd]
        parts = [self.receipts, odd, self.config.site.model_dump(), code_digest.digest_step("site")]
        return canonical_json.digest_of(parts)[: code_digest.KEY]

    @functools.cached_property
    def site(self) -> str:
        """The receipt of the pages around the lessons, named as `receipt` is."""
        name = self._receipt(Path(self.config.work, "site"), self.digest, self._is_current)
        return f"{self.declared.work}/site/{name}"

    @functools.cached_property
    def good(self) -> str:
        """The file that says that no lesson has a mistake."""
        return f"{self.declared.work}/good/{self.digest}.json"

    @property
    def verdicts(self) -> str:
        """The folder of this run's verdicts: verification is done anew whenever it is asked for."""
        return f"{self.declared.work}/verify/_runs/{self.run}"

    def stale(self, slug: str, name: str) -> list[str]:
        """`work/<slug>/<name>`, where it is another state's file, which Snakemake cannot see from its times."""
        here = f"{self.config.work}/{slug}/{name}"
        now = canonical_json.digest_file(Path(here))
        present = canonical_json.digest_file(self.config.work_dir(slug) / self.key(slug) / name)
        return [here] if now and now != present else []

    def _agrees(self, slug: str, receipt: Artifact) -> bool:
        """Whether a receipt says what is published: its revision is there, and is the one that was published last."""
        revision, folder = receipt.body.get("revision"), str(self.config.published(slug))
        there = bool(receipt.mistakes) or (
            os.path.isdir(f"{folder}/{revision}") and revision == _find_latest(self._history(slug))
        )
        return there and receipt.body.get("key") == self.key(slug)

    def _history(self, slug: str) -> bytes | None:
        """The bytes of a lesson's history; None where there is none that can be read."""
        if slug not in self._histories:
            self._histories[slug] = _read(f"{self.config.published(slug)}/{HISTORY}")
        return self._histories[slug]

    def _is_current(self, receipt: Artifact) -> bool:
        """Whether everything that the pages around the lessons rest on, and they themselves, is as it was."""
        known = dict(receipt.body.get("files", {}))
        histories = {f"models/{slug}/{HISTORY}": slug for slug in _list_names(f"{self.config.results}/models")}
        unknown = any(self._history(slug) is not None for name, slug in histories.items() if name not in known)
        return not unknown and all(
            self._digest(name, histories.get(name)) == digest for name, digest in known.items()
        )

    def _digest(self, name: str, slug: str | None) -> str | None:
        """The digest of a published file, by its name; of the history of `slug` from the bytes that were read."""
        if slug is None:
            return canonical_json.digest_file(Path(self.config.results, name))
        content = self._history(slug)
        return None if content is None else canonical_json.digest(content)

    def _receipt(self, folder: Path, stem: str, agrees: Callable[[Artifact], bool]) -> str:
        """The name of a receipt that agrees, else one that no file has."""
        plain, names = f"{stem}.json", [name for name in _list_names(str(folder)) if name.startswith(stem)]
        for name in sorted(name for name in names if name.endswith(".json")):
            path = folder / name
            if (receipt := artifact.read(path)) and agrees(receipt) and not is_ahead(path):
                return name
        return f"{stem}-{self.run}.json" if plain in names else plain


def is_ahead(path: Path) -> bool:
    """Whether a file's time is still to come: the clock was wrong, or is."""
    try:
        return path.stat().st_mtime > time.time()
    except OSError:
        return False


def _list_names(folder: str) -> list[str]:
    """The names in a folder; none where there is no such folder."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read(path: str) -> bytes | None:
    """The bytes of a file; None where there is none that can be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _find_latest(history: bytes | None) -> str | None:
    """The revision that a history names last: what stands for the lesson, whatever stood for it before."""
    try:
        return str(canonical_json.loads(history or b"")["revisions"][-1]["revision"])
    except (ValueError, KeyError, IndexError, TypeError):
        return None


def read_state(given: Configuration, configured: Configuration, prefix: str = "") -> State:
    """The state under Snakemake's configuration `given`, with a module's prefix; `configured` is what config.yaml says.

    Raises LessonError at the line of config.yaml that is wrong.
    """
    declared = parse_settings(given)
    folders = {name: str(Path(prefix or "", getattr(declared, name))) for name in FOLDERS}
    here = declared.model_copy(update=folders) if prefix else declared
    return State(here, declared, make_options(here, configured))


def parse_settings(given: Configuration) -> Config:
    """Snakemake's configuration as our settings; where it has a section `lessonpress`, that section."""
    section = {key: value for key, value in find_section(given).items() if key != NOTE}
    try:
        return Config.model_validate(section)
    except ValidationError as error:
        # Only now: the YAML reader with its line numbers costs as much as all the rest of this module.
        from lessonpress.core import config

        config.read()
        raise LessonError("snakemake --config", " ".join(str(error).split())) from None


def find_section(document: Any) -> Configuration:
    """Our part of a configuration: all of it, or what stands under `lessonpress:` in somebody else's."""
    inner = document.get("lessonpress") if isinstance(document, Mapping) else None
    return inner if isinstance(inner, Mapping) else document or {}


def make_options(config: Config, configured: Configuration) -> str:
    """The options of a command for what the config.yaml of this folder does not say, ready for a shell."""
    try:
        own = parse_settings(configured)
    except LessonError:
        own = Config()
    wanted, known = _flatten(config.model_dump()), _flatten(own.model_dump())
    return "".join(f" --set {shlex.quote(f'{key}={value}')}" for key, value in wanted.items() if known[key] != value)


def _flatten(value: Configuration, at: str = "") -> dict[str, object]:
    out: dict[str, object] = {}
    for key, part in value.items():
        out |= _flatten(part, f"{at}{key}.") if isinstance(part, Mapping) else {f"{at}{key}": part}
    return out


def list_forced_steps(names: Mapping[StepName, str], *, every: bool, forced: Sequence[str]) -> list[str]:
    """The steps that Snakemake is to do again; `names` are those of our rules here, by step."""
    # Only now: with what the steps are made of it takes as long to load as all the rest of this module.
    from lessonpress.build.steps import RULES, STEPS

    files = {Path(one).name for one in forced}
    rules = {name: names[RULES.get(name, name)] for name in STEPS}
    chosen = [name for name, step in STEPS.items() if every or rules[name] in forced or step.file in files]
    return list(dict.fromkeys(RULES.get(name, name) for name in chosen))


def select_published(words: Sequence[str], config: Config) -> list[str]:
    """Those of some words that name the published site or something in it."""
    results = os.path.abspath(config.results)
    return [word for word in words if f"{os.path.abspath(word)}/".startswith(f"{results}/")]


def refuse_target(target: str) -> WrongUsage:
    """What is said to somebody who asks Snakemake for a file of the published site."""
    return WrongUsage(target, "no rule makes a single file of the published site", "",
                      "All that is due is published by: snakemake --cores 1")  # fmt: skip


def hand_on(name: str, value: object) -> None:
    """Tell the commands, by the environment, what belongs to this run of Snakemake and to nothing else."""
    if value:
        os.environ[name] = str(value)
    else:
        os.environ.pop(name, None)
