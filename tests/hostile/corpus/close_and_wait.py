"""Closes the answer's descriptor and stays."""
#: ends its answer channel was closed

import os
import sys
import time

import world

# control:
open(world.own).close()
# attack:
os.close(int(sys.argv[-1]))
time.sleep(600)
