"""Jobs of GitHub Actions on this machine: each shell command of a job in order, as the runner there runs it.

Actions (`uses`) are code of others and are not run. Their inputs are held against what each takes, and their outputs
are given by the caller. Expressions are computed, so a condition that is wrong skips its step here as it would there.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

# What each action takes, by its own action.yml at the digest that the workflows name.
ACTIONS: Mapping[str, frozenset[str]] = {
    "actions/checkout": frozenset({"fetch-depth"}),
    "actions/setup-python": frozenset({"python-version"}),
    "actions/cache": frozenset({"path", "key"}),
    "actions/upload-artifact": frozenset({"name", "path", "retention-days", "if-no-files-found"}),
    "actions/download-artifact": frozenset({"name", "path"}),
    "actions/deploy-pages": frozenset(),
    "actions/attest-build-provenance": frozenset({"subject-path"}),
    "pypa/gh-action-pypi-publish": frozenset(),
}
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
TOKEN = re.compile(r"'(?:[^']|'')*'|&&|\|\||[!=]=|!|[(),]|[\w.-]+|\s+")
WORDS = {"&&": " and ", "||": " or ", "!": " not ", "true": "True", "false": "False", "null": "None"}


@dataclass(frozen=True)
class Step:
    """A command that was run, or an action that was not: what it said, or what it was given."""

    name: str
    returncode: int
    output: str
    given: Mapping[str, Any]


@dataclass
class Job:
    """A job of a workflow in a checkout, with what GitHub would know: `github`, `inputs`, `matrix`, `steps`, …"""

    workflow: Mapping[str, Any]
    name: str
    folder: Path
    known: dict[str, Any]
    around: Mapping[str, str]  # the environment on top of which the runner's variables come
    done: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the runner's own files, outside of the checkout."""
        self.temp = Path(tempfile.mkdtemp(prefix=f"{self.name}-runner-", dir=self.folder.parent))
        defaults = {"github": {}, "inputs": {}, "matrix": {}, "vars": {}, "steps": {}, "needs": {}}
        self.known = {**defaults, "runner": {"os": "Linux", "arch": "X64", "temp": str(self.temp)}, **self.known}

    @property
    def job(self) -> Mapping[str, Any]:
        """What the workflow says of this job."""
        return dict(self.workflow["jobs"][self.name])

    @property
    def summary(self) -> str:
        """The page of the job."""
        path = self.temp / "summary"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def runs(self, *, ok: bool = True) -> bool:
        """Whether the job runs at all, by its condition."""
        return bool(self._is_met(self.job, ok))

    def run(self) -> bool:
        """Run the job's steps; whether it succeeded. After a failure only those run that are to run always."""
        good = True
        for step in self.job["steps"]:
            if self._is_met(step, good):
                one = self._run_step(step) if "run" in step else self._look_at_action(step)
                self.done.append(one)
                good = good and one.returncode == 0
        return good

    def outputs(self) -> dict[str, str]:
        """What the job hands on."""
        return {name: self.fill(text) for name, text in self.job.get("outputs", {}).items()}

    def fill(self, text: Any) -> str:
        """A text of the workflow with its expressions computed."""
        return EXPRESSION.sub(lambda match: self._format(self.compute(match[1])), self._format(text))

    def evaluate(self, value: Any) -> Any:
        """A value of the workflow: what is one expression as a whole keeps its type."""
        whole = EXPRESSION.fullmatch(value) if isinstance(value, str) else None
        return self.compute(whole[1]) if whole else self.fill(value) if isinstance(value, str) else value

    def compute(self, expression: str) -> Any:
        """The value of an expression. Raises ValueError for a form, and KeyError for a context, that GitHub lacks."""
        tokens = TOKEN.findall(expression)
        if "".join(tokens) != expression:
            raise ValueError(expression)
        code = "".join(self._translate(token, following) for token, following in
                       zip(tokens, [*tokens[1:], ""], strict=True))  # fmt: skip
        return eval(code.strip(), {"__builtins__": {}}, {
            "look_up": self._look_up, "always": lambda: True, "hashFiles": self._hash_files,
            "format": lambda text, *values: text.format(*values)})  # fmt: skip

    def _translate(self, token: str, following: str) -> str:
        if token.startswith("'"):
            return repr(token[1:-1].replace("''", "'"))
        is_name = re.match(r"[A-Za-z_]", token) and token not in WORDS and following != "("
        return f"look_up({token!r})" if is_name else WORDS.get(token, token)

    def _look_up(self, name: str) -> Any:
        context, *path = name.split(".")
        value = self.known[context]
        for part in path:
            value = value.get(part, "") if isinstance(value, Mapping) else ""  # as there: what is not there is empty
        return value

    def _hash_files(self, *patterns: str) -> str:
        return "+".join(path.name for pattern in patterns for path in sorted(self.folder.glob(pattern)))

    @staticmethod
    def _format(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)

    def _is_met(self, part: Mapping[str, Any], good: bool) -> bool:
        condition = str(part.get("if", "true"))
        return (good or "always()" in condition) and bool(self.compute(EXPRESSION.sub(r"\1", condition).strip()))

    def _environment(self, step: Mapping[str, Any]) -> dict[str, str]:
        given = {**self.workflow.get("env", {}), **self.job.get("env", {}), **step.get("env", {})}
        runner = {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(self.folder),
                  "GITHUB_OUTPUT": str(self.temp / "output"), "GITHUB_STEP_SUMMARY": str(self.temp / "summary"),
                  "RUNNER_TEMP": str(self.temp)}  # fmt: skip
        filled = {name: self.fill(value) for name, value in given.items()}
        return {**self.around, **runner, **{name: value for name, value in filled.items() if value or
                                            name not in self.around}}  # fmt: skip

    def _run_step(self, step: Mapping[str, Any]) -> Step:
        assert "${{" not in step["run"], "no expression stands in a shell command"
        shell = step.get("shell") or self.job.get("defaults", {}).get("run", {}).get("shell")
        options = ["--noprofile", "--norc", "-eo", "pipefail"] if shell == "bash" else ["-e"]
        (self.temp / "output").write_text("")
        script = self.temp / "script.sh"
        script.write_text(step["run"], encoding="utf-8")
        done = subprocess.run(["bash", *options, str(script)], cwd=self.folder, env=self._environment(step), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=3600, check=False)  # fmt: skip
        if "id" in step:
            text = (self.temp / "output").read_text(encoding="utf-8")
            self.known["steps"] = {**self.known["steps"], step["id"]: {"outputs": read_outputs(text)}}
        return Step(step.get("name", step["run"]), done.returncode, done.stdout + done.stderr, {})

    def _look_at_action(self, step: Mapping[str, Any]) -> Step:
        """What an action is given; an artifact whose files are not there fails, where the step says so."""
        action = step["uses"].partition("@")[0]
        given = {name: self.fill(value) for name, value in step.get("with", {}).items()}
        assert given.keys() <= ACTIONS[action], step
        code = 0
        if action == "actions/upload-artifact":
            given["files"] = "\n".join(self._list_files(given["path"].split()))
            code = int(given["if-no-files-found"] == "error" and not given["files"])
        return Step(step.get("name", action), code, "", given)

    def _list_files(self, paths: Iterable[str]) -> list[str]:
        found = (self.folder / path for path in paths)  # an absolute path stays what it is
        return [os.path.relpath(path, self.folder) for path in found if path.is_file() or
                (path.is_dir() and any(path.iterdir()))]  # fmt: skip


def read_workflow(path: Path) -> dict[str, Any]:
    """Read a workflow file; its keys are those of GitHub Actions."""
    return dict(YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8")))


def read_outputs(text: str) -> dict[str, str]:
    """The outputs that a step has written: `name=value`, or `name<<MARK`, lines, `MARK`."""
    several = re.compile(r"^([\w-]+)<<(\S+)\n(.*?)\n?^\2$", re.DOTALL | re.MULTILINE)
    outputs = {match[1]: match[3] for match in several.finditer(text)}
    single = re.findall(r"(?m)^([\w-]+)=(.*)$", several.sub("", text))
    return {**outputs, **dict(single)}


def fill_inputs(reusable: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a reusable workflow: what the caller gives, and its defaults. Raises KeyError for another name."""
    declared = reusable["on"]["workflow_call"]["inputs"]
    unknown = given.keys() - declared.keys()
    if unknown:
        raise KeyError(*unknown)
    return {name: given.get(name, entry["default"]) for name, entry in declared.items()}
