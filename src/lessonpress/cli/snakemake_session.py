"""What our Snakefile needs of Snakemake itself: how it was called, and that its run has servers for the commands.

The only module that touches Snakemake's own objects.
"""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, get_args

from snakemake.cli import get_argument_parser
from snakemake.common.configfile import load_configfile
from snakemake.exceptions import WorkflowError

from lessonpress.build import rule_inputs
from lessonpress.build.code_digest import StepName
from lessonpress.build.rule_inputs import State
from lessonpress.cli import command_server
from lessonpress.core import variables
from lessonpress.core.errors import LessonError
from lessonpress.lesson import lesson_files

# Snakemake's own objects: it declares no types for what we use of them.
Workflow: TypeAlias = Any
Modifier: TypeAlias = Any
SnakemakeConfig: TypeAlias = Mapping[str, Any]  # Snakemake's configuration, not yet validated
# This shell function is `lessonpress` in the rules: the Python that runs Snakemake starts the file in milliseconds.
FUNCTION = f'() {{ "${variables.PYTHON}" -I -S "${variables.CLIENT}" "$@"\n}}'
LONGEST = 90  # bytes in the name of a folder for a socket: the system limits a socket's name
GROUPS = ("lesson", "compare")  # of the rules whose jobs may run on another machine
SLUG = lesson_files.SLUG.pattern  # what a rule's wildcard may be
OFTEN, RARELY = gc.get_threshold(), 5_000_000  # how many new objects the garbage collector lets pass
_forced: dict[int, set[str]] = {}  # by workflow, the steps that any of its modules is to repeat


def read_state(workflow: Workflow, config: SnakemakeConfig) -> State:
    """The state of all lessons for the rules that are being read, with Snakemake's `config` (or the module's own).

    Raises WorkflowError, which Snakemake prints without a traceback, for wrong settings, and where a file of the
    published site is a target.
    """
    try:
        return _read(workflow, config)
    except LessonError as error:
        raise WorkflowError(error.message()) from None


def _read(workflow: Workflow, config: SnakemakeConfig) -> State:
    modifier = workflow.modifier
    gc.set_threshold(RARELY)
    state = rule_inputs.read_state(config, _read_config_file(), _prefix(modifier.path_modifier))
    serve_commands()
    if workflow.is_main_process:
        _refuse_published(state)
        note = config.get(rule_inputs.NOTE, workflow.config_settings.config.get(rule_inputs.NOTE))
        rule_inputs.hand_on(variables.NOTE, note)
    return state


def pass_on_forced_steps(workflow: Workflow, renamed: Callable[[str], str] | None) -> None:
    """Pass on to the commands which steps Snakemake is to repeat (-F, -R, -f).

    Called by the rules' input functions: while the rules are read Snakemake does not know it yet.
    """
    dag = workflow.dag_settings
    if not workflow.is_main_process or dag is None:
        return
    forced = [*map(str, dag.forcerun or ()), *(map(str, dag.targets or ()) if dag.forcetargets else ())]
    if id(workflow) not in _forced:  # a program may run one workflow after the other
        _forced[id(workflow)] = set()
        weakref.finalize(workflow, _forced.pop, id(workflow), None)
    again = _forced[id(workflow)]
    if forced or dag.forceall:
        names = {step: (renamed or str)(step) for step in get_args(StepName)}
        again.update(rule_inputs.list_forced_steps(names, every=dag.forceall, forced=forced))
    rule_inputs.hand_on(variables.AGAIN, ",".join(sorted(again)))


def run_as_one_group(workflow: Workflow) -> None:
    """In a job of a cluster: do all its lessons as one group, on the processors of the job.

    Slurm's executor passes on neither, and it does not pass on `keep_going`: it would start Snakemake again for each
    lesson. Called by the rules' input functions: while the rules are read there is nothing to set yet.
    """
    if workflow.is_main_process or workflow.execution_settings is None:
        return
    workflow.group_settings.group_components = dict.fromkeys(GROUPS, sys.maxsize)
    workflow.execution_settings.keep_going = True
    if given := os.environ.get("SLURM_CPUS_ON_NODE"):
        workflow.global_resources["_cores"] = int(given)


def force_files(workflow: Workflow, files: Iterable[str]) -> None:
    """Have Snakemake make files again although they exist, as if -R named them; called by their input functions."""
    workflow.dag.forcefiles.update(files)


def _refuse_published(state: State) -> None:
    """Raise WrongUsage where a file of the published site is a target on the command line.

    Snakemake would say of an existing file that nothing is to be done. It reads the rules before it knows its targets;
    so the command line is parsed a second time, and only where one of its words is a path in the published site.
    """
    if not rule_inputs.select_published(sys.argv[1:], state.config):
        return
    with contextlib.suppress(SystemExit):
        targets = get_argument_parser().parse_known_args(sys.argv[1:])[0].targets
        if published := rule_inputs.select_published([str(target) for target in targets], state.config):
            raise rule_inputs.refuse_target(published[0])


def _read_config_file() -> SnakemakeConfig:
    """The content of config.yaml in the working folder, not yet validated; a command that is typed here reads it."""
    try:
        return dict(load_configfile("config.yaml"))
    except (OSError, WorkflowError):
        return {}


def _prefix(modifier: Modifier) -> str:
    """What Snakemake puts before every relative path of a module's rules."""
    inner = _prefix(modifier.inner_modifier) if modifier.inner_modifier else ""
    return f"{inner}{modifier.prefix or ''}"


def serve_commands() -> None:
    """Have the rules' commands done by a server that belongs to this Snakemake process and ends with it.

    Nothing starts here: the first command starts the server.
    """
    process = f"{os.getpid()}|{command_server.start_time(os.getpid())}"
    if os.environ.get(variables.RUN, "").rsplit("|", 2)[1:] == process.split("|"):
        return  # done by another module of the same workflow; on another machine the process is another one
    name = f"lessonpress-run-{os.getpid()}-{secrets.token_hex(8)}"
    folder = Path(tempfile.gettempdir(), name)
    if len(os.fsencode(folder)) > LONGEST:
        folder = Path("/tmp", name)
    os.environ |= {
        variables.RUN: f"{folder}|{process}", variables.PYTHON: sys.executable,
        variables.CLIENT: str(Path(__file__).with_name("command_client.py")), "BASH_FUNC_lessonpress%%": FUNCTION,
    }  # fmt: skip


def collect_again() -> None:
    """Collect garbage as usual from now on, but in the graph of jobs: it stays to the end.

    While Snakemake builds that graph, Python's collector would go through all of it again and again and find nothing:
    a third of the whole time where nothing is to be done.
    """
    gc.freeze()
    gc.set_threshold(*OFTEN)


def remove_throttle(workflow: Workflow) -> None:
    """Without a cluster, let Snakemake start a job as soon as a core is free for it.

    Its throttle makes the scheduler look again some time after every job: with the default the run ends a second late
    and looks more and more often; with no delay it uses half a core while jobs wait.
    """
    if workflow.resource_settings.nodes is None and workflow.scheduler is not None:
        workflow.scheduler.job_rate_limiter = None


def renew_pages(state: State) -> None:
    """After a run that failed before it renewed the pages: renew them, and report all mistakes."""
    if Path(state.config.work, "site", Path(state.site).name).exists():
        return
    command = f"lessonpress site{state.options} && lessonpress mistakes{state.options}"
    subprocess.run(["bash", "-c", command], check=False)
