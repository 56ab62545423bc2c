"""Connects to a server on this machine."""
#: open

import socket

import world

# control:
socket.inet_aton("127.0.0.1")
# attack:
socket.create_connection(("127.0.0.1", world.port), 2).close()
