"""Opens a private file to everybody, as its owner may."""
#: open

import os

import world

# control:
os.stat(world.own)
# attack:
os.chmod(world.key, 0o777)
