"""Listens to every packet on the wire."""

import socket

# control:
socket.inet_aton("127.0.0.1")
# attack:
socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)
