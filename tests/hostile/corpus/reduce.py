"""Returns an object that runs code when somebody unpickles it."""
#: ends answered
#: in call

import os

import world

# control:
open(world.own).close()
# attack:
class Trap:
    def __reduce__(self):
        return os.system, ("touch /tmp/trapped",)


result = Trap()
