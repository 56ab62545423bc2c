"""Reads what is mounted on this machine, and from where."""
#: open

# control:
open("/proc/self/status").read()
# attack:
open("/proc/self/mountinfo").read()
