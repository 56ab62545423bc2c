"""Writes a file while its module is imported."""
#: ends PermissionError|OSError: .Errno 30|FileNotFoundError
#: in import

import world

# control:
open(world.own).close()
# attack:
open(world.home + "/new", "w").write("x")
