"""Starts a program in the middle of the calculation."""
#: ends PermissionError
#: in call

import subprocess

import world

# control:
open(world.own).close()
# attack:
subprocess.run(["/bin/true"], check=True)
