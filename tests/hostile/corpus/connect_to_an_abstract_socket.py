"""Connects to a service through a socket that no file stands for."""
#: open

import socket

import world

# control:
socket.inet_aton("127.0.0.1")
# attack:
socket.socket(socket.AF_UNIX).connect(world.abstract)
