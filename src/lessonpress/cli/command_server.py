"""`python -m lessonpress.cli.command_server FOLDER PID START`: a Snakemake run's commands, without start-up.

The process that listens imports no module of ours but this and the log; it forks a worker for every command that comes
while all others are busy. A worker does one command after the other, keeps what it has imported, and keeps the servers
that it started for lesson code (`sandbox.keep_servers`): each worker has its own, so that none ends another one's
processes. All of them end when the Snakemake process ends, however that happens.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import signal
import socket
import stat
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lessonpress.core import run_log

OPEN_FILES = 3  # that come with each command: working folder, standard output, standard error
DONE = b"."
LOCK_GRACE = 60.0  # seconds in which a new folder may not be locked yet
END_GRACE = 1.0  # seconds in which workers can clean up
POLL = 1.0  # seconds between two looks at Snakemake where the system cannot tell its end


@dataclass
class Worker:
    """A process that does commands, and the socket on which it gets them."""

    pid: int
    control: socket.socket
    busy: bool = False


def start_time(pid: int) -> str:
    """When a process started, in the kernel's ticks: its id may be used again. Empty where the system cannot tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""


def main() -> None:
    """Serve until the Snakemake process has ended."""
    folder, pid, start = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    os.setsid()
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) != 0o700 or not stat.S_ISDIR(status.st_mode):
        sys.exit(f"{folder} is not this user's own folder")
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return  # another one was quicker
    _detach(folder)
    _remove_stale_folders(folder)
    listener = socket.socket(socket.AF_UNIX)
    (folder / "socket").unlink(missing_ok=True)
    listener.bind(str(folder / "socket"))
    listener.listen(1024)
    run_log.note(f"serves Snakemake {pid}")
    workers: list[Worker] = []
    try:
        with _watch_process(pid, start) as life:
            _serve(listener, life, workers)
    finally:
        listener.close()
        _end_workers(workers)
        run_log.note("ended")
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale_folders(folder: Path) -> None:
    """Remove the folders that killed servers of this user have left; a running server holds the lock on its own."""
    for other in folder.parent.glob(f"{folder.name.split('-run-')[0]}-run-*"):
        with contextlib.suppress(OSError):
            handle = os.open(other, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                old = time.time() - os.fstat(handle).st_mtime > LOCK_GRACE  # else it may be about to be locked
                if other != folder and old and os.fstat(handle).st_uid == os.getuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(other, ignore_errors=True)
            finally:
                os.close(handle)


def _detach(folder: Path) -> None:
    """Leave the terminal: read nothing from it, and write to a log beside Snakemake's own."""
    log = run_log.begin(Path(".snakemake", "log", f"{folder.name}.log"))
    null = os.open(os.devnull, os.O_RDONLY)
    for number, source in ((0, null), (1, log), (2, log)):
        os.dup2(source, number)
    os.close(null)


@contextlib.contextmanager
def _watch_process(pid: int, start: str) -> Iterator[int | None]:
    """A descriptor that becomes readable when a process ends (or has ended); None where the system has none."""
    try:
        life = os.pidfd_open(pid)
    except ProcessLookupError:
        life = os.open(os.devnull, os.O_RDONLY)
    except (AttributeError, OSError):  # another system, or a container that does not allow it
        yield None
        return
    try:
        if start and start_time(pid) != start:  # it has ended, and another process has its number
            os.dup2(os.open(os.devnull, os.O_RDONLY), life)
        yield life
    finally:
        os.close(life)


def _serve(listener: socket.socket, life: int | None, workers: list[Worker]) -> None:
    """Give commands to workers until `life` ends."""
    parent = int(sys.argv[2])
    while True:
        watched: list[Any] = [listener, *([life] if life is not None else []), *(worker.control for worker in workers)]
        ready = select.select(watched, [], [], None if life is not None else POLL)[0]
        if life in ready or (life is None and not _alive(parent)):
            return
        for worker in [worker for worker in workers if worker.control in ready]:
            if _has_done(worker):
                worker.busy = False
            else:
                _reap(worker, workers)
        if listener in ready:
            command = listener.accept()[0]
            with command:
                _assign(command, listener, life, workers)


def _has_done(worker: Worker) -> bool:
    """Whether a worker reports that its command is done; a dead worker reports nothing."""
    try:
        return worker.control.recv(1) == DONE
    except OSError:  # it died before it took the command
        return False


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _assign(command: socket.socket, listener: socket.socket, life: int | None, workers: list[Worker]) -> None:
    """Give a command to a worker that has nothing to do, or to a new one."""
    while True:
        idle = next((worker for worker in workers if not worker.busy), None)
        worker = idle or _start(command, listener, life, workers)
        try:
            socket.send_fds(worker.control, [b"c"], [command.fileno()])
        except OSError:  # it has just died
            _reap(worker, workers)
            continue
        worker.busy = True
        return


def _start(command: socket.socket, listener: socket.socket, life: int | None, workers: list[Worker]) -> Worker:
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for other in (ours, command, listener, *(worker.control for worker in workers)):
                other.close()
            if life is not None:
                os.close(life)
            _die_with(parent)
            run_worker(theirs)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    theirs.close()
    workers.append(Worker(pid, ours))
    run_log.note(f"worker {pid} starts")
    return workers[-1]


def _die_with(parent: int) -> None:
    """Have this process killed when the process that listens ends, however that happens."""
    from lessonpress.worker import kernel

    if kernel.LINUX:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _reap(worker: Worker, workers: list[Worker]) -> None:
    workers.remove(worker)
    worker.control.close()
    with contextlib.suppress(ChildProcessError):
        os.waitpid(worker.pid, 0)
    run_log.note(f"worker {worker.pid} has died")


def _end_workers(workers: list[Worker]) -> None:
    """Let the workers end by themselves, and kill those that do not."""
    for worker in workers:
        worker.control.close()
    end = time.monotonic() + END_GRACE
    left = {worker.pid for worker in workers}
    while left:
        left = {pid for pid in left if os.waitpid(pid, os.WNOHANG)[0] == 0}
        if time.monotonic() > end:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def run_worker(control: socket.socket) -> None:
    """Do one command after the other until the socket is closed."""
    from lessonpress import sandbox

    with sandbox.keep_servers():
        while handed := socket.recv_fds(control, 1, 1)[1]:
            with socket.socket(fileno=handed[0]) as command, contextlib.suppress(ConnectionError):
                try:
                    code = _do_command(command)
                finally:  # before the client gets its answer: its next command must find this worker free
                    control.sendall(DONE)
                command.sendall(bytes([code]))


def _do_command(command: socket.socket) -> int:
    """Do one command with the open files and the environment of the client; returns its exit code."""
    head, files, _, _ = socket.recv_fds(command, 4, OPEN_FILES)
    if len(files) != OPEN_FILES:
        raise ConnectionError("half a command")
    size = int.from_bytes(head, "little")
    payload = command.recv(size, socket.MSG_WAITALL)
    if len(payload) != size:  # the client was killed while it sent the command
        raise ConnectionError("half a command")
    count, *parts = payload.split(b"\0")
    words, variables = parts[: int(count)], parts[int(count) :]
    os.environb.clear()
    os.environb.update({name: value for name, _, value in (variable.partition(b"=") for variable in variables)})
    time.tzset()
    log = os.dup(1), os.dup(2)
    os.fchdir(files[0])
    try:
        for number, file in ((1, files[1]), (2, files[2])):
            os.dup2(file, number)
        return _run_command([os.fsdecode(word) for word in words])
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):  # the reader has gone, or the disk is full: go on with the next one
                stream.flush()
        for number, file in ((1, log[0]), (2, log[1])):
            os.dup2(file, number)
        for file in (*files, *log):
            os.close(file)
        os.chdir("/")


def _run_command(words: list[str]) -> int:
    from lessonpress.cli import command_line

    begin = time.monotonic()
    try:
        command_line.main(words)
        return 0
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        run_log.note(f"{' '.join(words)}: {1000 * (time.monotonic() - begin):.0f} ms")


if __name__ == "__main__":
    main()
