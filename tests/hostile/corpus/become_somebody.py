"""Changes its user, if only to the one that it is."""
#: open

import os

# control:
os.getuid()
# attack:
os.setresuid(-1, -1, -1)
