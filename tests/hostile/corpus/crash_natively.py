"""Reads from an address that is none."""
#: ends the process was ended by signal 11, SIGSEGV

import ctypes

# control:
ctypes.string_at(b"x")
# attack:
ctypes.string_at(0)
