"""Never ends, and costs nothing."""
#: ends it passed the time limit of 2 s \(config.yaml: limits.wall_seconds\)
#: limits wall_seconds=2

import time

import world

# control:
open(world.own).close()
# attack:
time.sleep(1e6)
