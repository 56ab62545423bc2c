"""What our Snakefile asks of Snakemake itself: how it was called, and that its run has servers.

The only module that touches Snakemake's own objects.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from snakemake.cli import get_argument_parser
from snakemake.common.configfile import load_configfile
from snakemake.exceptions import WorkflowError

from lessonpress.build import rule_inputs, steps
from lessonpress.build.rule_inputs import State
from lessonpress.cli import command_server
from lessonpress.core import variables
from lessonpress.core.errors import LessonError
from lessonpress.lesson import lesson_files

# A command of a rule is this shell function: the file starts in milliseconds, by the Python that runs Snakemake.
FUNCTION = f'() {{ "${variables.PYTHON}" -I -S "${variables.CLIENT}" "$@"\n}}'
LONGEST = 90  # bytes of a folder's name in which a socket can have a name
GROUPS = ("lesson", "compare")  # of the rules whose jobs may run on another machine
SLUG = lesson_files.SLUG.pattern  # what a rule's wildcard may be
_forced: dict[int, set[str]] = {}  # by workflow, the steps that Snakemake was told to do again by any module of it


def read_state(workflow: Any, config: Mapping[str, Any]) -> State:
    """The state of all lessons for the rules that are being read, under Snakemake's `config` (a module's its own).

    Raises WorkflowError, which Snakemake tells without a traceback, for wrong settings, and where a file of the
    published site is asked for.
    """
    try:
        return _read(workflow, config)
    except LessonError as error:
        raise WorkflowError(error.message()) from None


def _read(workflow: Any, config: Mapping[str, Any]) -> State:
    modifier = workflow.modifier
    state = rule_inputs.read_state(config, _configured(), _prefix(modifier.path_modifier))
    serve_commands()
    if workflow.is_main_process:
        _refuse_published(state)
        note = config.get(rule_inputs.NOTE, workflow.config_settings.config.get(rule_inputs.NOTE))
        rule_inputs.hand_on(variables.NOTE, note)
    return state


def pass_on_forced_steps(workflow: Any, renamed: Callable[[str], str] | None) -> None:
    """Tell the commands which steps Snakemake was told to do again (-F, -R, -f).

    Asked when inputs are looked for: while the rules are read Snakemake itself does not know it yet.
    """
    asked = workflow.dag_settings
    if not workflow.is_main_process or asked is None:
        return
    forced = [*map(str, asked.forcerun or ()), *(map(str, asked.targets or ()) if asked.forcetargets else ())]
    names = {step: (renamed or str)(step) for step in steps.STEPS}
    if id(workflow) not in _forced:  # a program may run one workflow after the other
        _forced[id(workflow)] = set()
        weakref.finalize(workflow, _forced.pop, id(workflow), None)
    again = _forced[id(workflow)]
    again.update(rule_inputs.list_forced_steps(names, every=asked.forceall, forced=forced))
    rule_inputs.hand_on(variables.AGAIN, ",".join(sorted(again)))


def run_as_one_group(workflow: Any) -> None:
    """In a job of a cluster: do all its lessons as one group, on the processors that the job was given.

    Slurm's executor hands on neither, nor that a failing job stops no other: it would start Snakemake once more for
    each lesson. Asked when inputs are looked for: while the rules are read there is nothing to set yet.
    """
    if workflow.is_main_process or workflow.execution_settings is None:
        return
    workflow.group_settings.group_components = dict.fromkeys(GROUPS, sys.maxsize)
    workflow.execution_settings.keep_going = True
    if given := os.environ.get("SLURM_CPUS_ON_NODE"):
        workflow.global_resources["_cores"] = int(given)


def force_files(workflow: Any, files: Iterable[str]) -> None:
    """Have Snakemake make files anew that are there, as if they had been named after -R; asked with their inputs."""
    workflow.dag.forcefiles.update(files)


def _refuse_published(state: State) -> None:
    """Raise WrongUsage where a file of the published site is asked for on the command line.

    Its words are read a second time, and only where one of them lies there: Snakemake reads the rules before it says
    what its targets are, and would answer for a file that is there that nothing is to be done.
    """
    if not rule_inputs.select_published(sys.argv[1:], state.config):
        return
    with contextlib.suppress(SystemExit):
        targets = get_argument_parser().parse_known_args(sys.argv[1:])[0].targets
        if found := rule_inputs.select_published([str(target) for target in targets], state.config):
            raise rule_inputs.refuse_target(found[0])


def _configured() -> dict[str, Any]:
    """What config.yaml in the working folder says, where a command that is typed here would read it."""
    try:
        return dict(load_configfile("config.yaml"))
    except (OSError, WorkflowError):
        return {}


def _prefix(modifier: Any) -> str:
    """What Snakemake puts before every relative path of a module's rules."""
    inner = _prefix(modifier.inner_modifier) if modifier.inner_modifier else ""
    return f"{inner}{modifier.prefix or ''}"


def serve_commands() -> None:
    """Let the rules' commands be done by servers that this Snakemake process shares, and that end with it.

    Nothing starts here: the first command starts the first server.
    """
    process = f"{os.getpid()}|{command_server.start_time(os.getpid())}"
    if os.environ.get(variables.RUN, "").rsplit("|", 2)[1:] == process.split("|"):
        return  # another module of the same workflow was here; another machine's process is another one
    name = f"lessonpress-run-{os.getpid()}-{secrets.token_hex(8)}"
    folder = Path(tempfile.gettempdir(), name)
    if len(os.fsencode(folder)) > LONGEST:
        folder = Path("/tmp", name)
    os.environ |= {
        variables.RUN: f"{folder}|{process}", variables.PYTHON: sys.executable,
        variables.CLIENT: str(Path(__file__).with_name("command_client.py")), "BASH_FUNC_lessonpress%%": FUNCTION,
    }  # fmt: skip


def remove_throttle(workflow: Any) -> None:
    """On this machine alone, let Snakemake start a job as soon as there is a core for it.

    Its throttle has the scheduler look again a while after every job: with the default the run ends a second late and
    looks ever more often, with no time at all it takes half a core while jobs wait.
    """
    if workflow.resource_settings.nodes is None and workflow.scheduler is not None:
        workflow.scheduler.job_rate_limiter = None


def renew_pages(state: State) -> None:
    """After a run that failed before its pages were renewed: do that for what was published, and tell all mistakes."""
    if Path(state.config.work, "site", Path(state.site).name).exists():
        return
    command = f"lessonpress site{state.options} && lessonpress mistakes{state.options}"
    subprocess.run(["bash", "-c", command], check=False)
