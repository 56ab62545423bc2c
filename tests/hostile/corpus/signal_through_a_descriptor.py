"""Signals another process by a descriptor instead of its number."""
#: open

import os
import signal

import world

# control:
os.kill(os.getpid(), 0)
# attack:
signal.pidfd_send_signal(os.pidfd_open(world.victim), signal.SIGKILL)
