"""Gives the machine another name."""

import socket

# control:
socket.gethostname()
# attack:
socket.sethostname(socket.gethostname())
