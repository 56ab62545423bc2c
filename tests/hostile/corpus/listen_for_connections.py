"""Opens a port for others."""
#: open

import socket

# control:
socket.inet_aton("127.0.0.1")
# attack:
socket.create_server(("127.0.0.1", 0))
