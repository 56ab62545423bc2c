"""Makes a file that exists only in memory, to execute it."""
#: open

import os

# control:
os.pipe()
# attack:
os.memfd_create("program")
