"""Reads the entries of its own threads, which hold all that is closed in its own."""
#: open

import os

# control:
open("/proc/self/status").read()
# attack:
open(f"/proc/self/task/{os.getpid()}/status").read()
