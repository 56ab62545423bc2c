"""Takes another process its right to open files."""
#: open

import resource

import world

# control:
resource.prlimit(0, resource.RLIMIT_NOFILE)
# attack:
resource.prlimit(world.victim, resource.RLIMIT_NOFILE, (8, 8))
