"""Kills another process of the same user."""
#: open

import os
import signal

import world

# control:
os.kill(os.getpid(), 0)
# attack:
os.kill(world.victim, signal.SIGKILL)
