"""Changes the permissions that new files get."""
#: open

import os

# control:
os.getuid()
# attack:
os.umask(0o22)
