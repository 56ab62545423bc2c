"""Overwrites its own machine code through /proc."""
#: open

# control:
open("/proc/self/status").read()
# attack:
open("/proc/self/mem", "r+b", buffering=0)
