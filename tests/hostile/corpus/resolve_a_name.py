"""Asks for the address of a name, which tells the name's owner something."""
#: ends gaierror

import socket

# control:
socket.inet_aton("127.0.0.1")
# attack:
socket.getaddrinfo("secret.example.org", 443)
