"""A Slurm cluster of two nodes on the loopback of one machine, with Debian's slurm-wlm and munge, for tests."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol")
CONF = Path("/etc/slurm/slurm.conf")  # the executor plugin drops variables that would name another place
NODES = ("n1", "n2")
SETTINGS = """\
ClusterName=lessonpress
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmctldPort={controller}
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=0
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SlurmdParameters=config_overrides
SlurmdTimeout=6
KillWait=2
MinJobAge=300
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={first} CPUs=1 RealMemory=4000
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port={second} CPUs=1 RealMemory=4000
PartitionName=lessons Nodes=n1,n2 Default=YES MaxTime=60 State=UP
"""


def missing() -> str:
    """Why no cluster can be started here; empty when one can."""
    if os.geteuid() != 0:
        return "a cluster of its own needs root"
    lacking = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    if lacking:
        return f"Debian's slurm-wlm and munge are not installed ({', '.join(lacking)})"
    if CONF.exists() and "ClusterName=lessonpress" not in CONF.read_text(encoding="utf-8"):
        return f"{CONF} belongs to somebody else's cluster"
    return ""


class Cluster:
    """A running cluster; its daemons end with `running`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.started: list[str] = []

    def start(self) -> None:
        """Start munge, the controller and both nodes, and wait until the nodes are idle."""
        key = self.root / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        for folder in ("state", *(f"spool-{node}" for node in NODES)):
            (self.root / folder).mkdir()
        controller, first, second = _ports(3)
        CONF.parent.mkdir(parents=True, exist_ok=True)
        CONF.write_text(SETTINGS.format(folder=self.root, controller=controller, first=first, second=second), "utf-8")
        _run("munged", "--force", f"--key-file={key}", f"--socket={self.root}/munge.socket",
             f"--pid-file={self.root}/munged.pid", f"--log-file={self.root}/munged.log",
             f"--seed-file={self.root}/munged.seed")  # fmt: skip
        _run("slurmctld")
        for node in NODES:
            _run("slurmd", "-N", node)
        self.wait_for({node: "idle" for node in NODES})

    def wait_for(self, wanted: dict[str, str], seconds: float = 60) -> None:
        """Wait until every node is in its state. Raises TimeoutError with what was seen."""
        end = time.monotonic() + seconds
        while (seen := self.states()) != wanted:
            if time.monotonic() > end:
                raise TimeoutError(f"the nodes are {seen}, not {wanted}; see {self.root}/slurmctld.log")
            time.sleep(0.2)

    def states(self) -> dict[str, str]:
        """Each node's state in Slurm's word, without its marks."""
        words = _run("sinfo", "-h", "-N", "-o", "%N %T", check=False).split()
        return {node: state.rstrip("*~#$@") for node, state in zip(words[::2], words[1::2], strict=True)}

    def jobs(self) -> list[str]:
        """The nodes of all running jobs."""
        return _run("squeue", "-h", "-t", "running", "-o", "%N", check=False).split()

    def outcomes(self) -> dict[str, str]:
        """Every job's state in Slurm's word, by its number; also of those that ended some minutes ago."""
        words = _run("squeue", "-h", "-t", "all", "-o", "%i %T").split()
        return dict(zip(words[::2], words[1::2], strict=True))

    def kill(self, node: str) -> None:
        """Kill a node's daemon and everything that it runs, as when its machine fails."""
        pids = [int((self.root / f"slurmd-{node}.pid").read_text(encoding="utf-8"))]
        mark = f"SLURMD_NODENAME={node}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    pids += [int(process.name), *_steward(process)]
        for pid in dict.fromkeys(pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """End every daemon."""
        for name in (*(f"slurmd-{node}" for node in NODES), "slurmctld", "munged"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
                pid = int((self.root / f"{name}.pid").read_text(encoding="utf-8"))
                for sent in (signal.SIGTERM, *([0] * 100), signal.SIGKILL):
                    os.kill(pid, sent)
                    time.sleep(0.1)


@contextlib.contextmanager
def running(root: Path) -> Iterator[Cluster]:
    """A cluster whose files lie in `root`."""
    cluster = Cluster(root)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        CONF.unlink(missing_ok=True)


def _run(program: str, *arguments: str, check: bool = True) -> str:
    path = shutil.which(program, path=_path()) or program
    done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=60, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{program} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _steward(process: Path) -> list[int]:
    """Slurm's own process that watches over this one, if its parent is that."""
    parent = int(process.joinpath("stat").read_bytes().rpartition(b")")[2].split()[1])
    name = Path(f"/proc/{parent}/comm").read_text(encoding="utf-8").strip()
    return [parent] if name == "slurmstepd" else []


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def _ports(count: int) -> list[int]:
    """Ports that are free now."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
