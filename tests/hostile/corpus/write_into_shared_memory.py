"""Leaves a file in shared memory."""

import world

# control:
open(world.own).close()
# attack:
open(f"/dev/shm/{world.name}", "w").write("x")
