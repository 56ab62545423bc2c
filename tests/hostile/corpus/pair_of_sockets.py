"""Makes a pair of sockets, to pass descriptors through."""
#: open

import os
import socket

# control:
os.pipe()
# attack:
socket.socketpair()
