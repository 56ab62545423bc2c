"""Reads which container or job it runs in."""
#: open

# control:
open("/proc/self/status").read()
# attack:
open("/proc/self/cgroup").read()
