"""Reads who is connected to whom on this machine."""
#: open

# control:
open("/proc/self/status").read()
# attack:
open("/proc/self/net/tcp").read()
