"""Goes to a private file through its own entry in /proc."""
#: open

import world

# control:
open("/proc/self/status").read()
# attack:
open("/proc/self/root" + world.key).read()
