"""Opens files and closes none."""
#: ends Too many open files.*the limit is 64 open files \(config.yaml: limits.open_files\)
#: limits open_files=64

import world

# control:
open(world.own).close()
# attack:
held = [open(world.own) for _ in range(9999)]
