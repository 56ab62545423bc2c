"""Reads the environment of another process of the same user."""
#: open

import world

# control:
open("/proc/self/environ", "rb").read()
# attack:
open(f"/proc/{world.victim}/environ", "rb").read()
