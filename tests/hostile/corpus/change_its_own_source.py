"""Changes its own source."""
#: open

import world

# control:
open(world.own).close()
# attack:
open(world.own, "a").write("# changed")
