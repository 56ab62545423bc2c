"""Reads who is connected to whom, through the entry of its thread."""
#: open

# control:
open("/proc/self/status").read()
# attack:
open("/proc/thread-self/net/unix").read()
