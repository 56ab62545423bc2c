"""Reads what is mounted on this machine, by the old name."""
#: open

# control:
open("/proc/self/status").read()
# attack:
open("/proc/mounts").read()
