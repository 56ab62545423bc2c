"""Closes the answer's descriptor and stays."""
#: ends its answer channel was closed

import os
import time

import world

# control:
open(world.own).close()
# attack:
os.close(3)
time.sleep(600)
