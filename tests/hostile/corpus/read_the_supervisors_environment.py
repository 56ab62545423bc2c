"""Reads the environment of the process that started it, secrets included."""

import world

# control:
open("/proc/self/environ", "rb").read()
# attack:
open(f"/proc/{world.supervisor}/environ", "rb").read()
