"""Stops the process that started it, so that no clock runs."""

import os
import signal

import world

# control:
os.kill(os.getpid(), 0)
# attack:
os.kill(world.supervisor, signal.SIGSTOP)
