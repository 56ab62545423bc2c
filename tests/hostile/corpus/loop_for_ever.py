"""Never ends."""
#: ends it passed the processor time limit of 1 s \(config.yaml: limits.cpu_seconds\)
#: limits cpu_seconds=1

import world

# control:
open(world.own).close()
# attack:
while True:
    pass
