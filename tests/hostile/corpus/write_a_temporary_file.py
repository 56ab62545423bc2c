"""Makes a temporary file."""
#: open
#: ends (PermissionError|FileNotFoundError|OSError): .Errno (1|2|13|30).

import tempfile

import world

# control:
open(world.own).close()
# attack:
tempfile.TemporaryFile()
