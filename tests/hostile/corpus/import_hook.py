"""Puts itself into every later import."""
#: ends answered|no .* for you

import sys

import world

# control:
open(world.own).close()
# attack:
class Hook:
    def find_spec(self, name, path=None, target=None):
        raise PermissionError(f"no {name} for you")


sys.meta_path.insert(0, Hook())
