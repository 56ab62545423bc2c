"""Sends a datagram to a port of this machine."""
#: open

import socket

import world

# control:
socket.inet_aton("127.0.0.1")
# attack:
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"secret", ("127.0.0.1", world.datagrams))
