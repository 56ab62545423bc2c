"""Asks what the machine's memory holds, which another lesson could have changed by what it read."""
#: open

import world

# control:
open("/proc/self/status").close()
open(world.own).close()
# attack:
open("/proc/meminfo").close()
