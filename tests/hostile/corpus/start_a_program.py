"""Starts a program."""
#: open

import subprocess

import world

# control:
open(world.own).close()
# attack:
subprocess.run(["/bin/true"], check=True)
