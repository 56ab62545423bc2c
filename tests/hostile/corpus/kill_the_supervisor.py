"""Kills the process that started it."""

import os
import signal

import world

# control:
os.kill(os.getpid(), 0)
# attack:
os.kill(world.supervisor, signal.SIGKILL)
