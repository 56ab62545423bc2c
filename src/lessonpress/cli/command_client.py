"""Sends one command to the server of a Snakemake run: this is the rules' `lessonpress …` while Snakemake runs.

Python runs this file with nothing imported (`python -I -S command_client.py check SLUG`), so that it starts in
milliseconds. It starts the run's server where there is none, sends its arguments, environment and open files, and exits
with the code that comes back.
"""

import _socket  # `socket` itself imports more than all of this
import os
import sys
import time

TIMEOUT = 60.0  # seconds to wait for a server to answer
REFUSED = "the server of this run does not start"


def main() -> int:
    """Have the command of the command line done; returns its exit code."""
    folder, pid, start = os.environ["LESSONPRESS_RUN"].rsplit("|", 2)
    server = connect(folder, pid, start)
    here = os.open(".", os.O_RDONLY)
    arguments = [os.fsencode(word) for word in sys.argv[1:]]
    payload = b"\0".join([b"%d" % len(arguments), *arguments, *(k + b"=" + v for k, v in os.environb.items())])
    handed = b"".join(number.to_bytes(4, sys.byteorder) for number in (here, 1, 2))
    head = len(payload).to_bytes(4, "little")
    server.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handed)])
    server.sendall(payload)
    code = server.recv(1)
    if not code:
        print("the server of this run has ended; run the same command again", file=sys.stderr)
        return 1
    return code[0]


def connect(folder: str, pid: str, start: str) -> _socket.socket:
    """A connection to the run's server, which is started where there is none."""
    end, child = time.monotonic() + TIMEOUT, 0
    while True:
        server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            server.connect(f"{folder}/socket")
            return server
        except OSError:
            server.close()
        if not child or has_ended(child):
            if time.monotonic() > end:
                raise SystemExit(REFUSED)
            command = [sys.executable, "-s", "-P", "-m", "lessonpress.cli.command_server", folder, pid, start]
            child = os.posix_spawn(sys.executable, command, os.environ)
        time.sleep(0.002)


def has_ended(child: int) -> bool:
    """Whether a server that was started here has ended because another one was quicker. Exits where it failed."""
    process, status = os.waitpid(child, os.WNOHANG)
    if status:
        raise SystemExit(REFUSED)
    return process != 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # Ctrl-C reaches every job; Snakemake says so once
        sys.exit(130)
