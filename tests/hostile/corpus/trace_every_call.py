"""Watches and replaces what the worker does after it."""
#: ends answered|cannot be read

import sys

import world

# control:
open(world.own).close()
# attack:
def tracer(frame, event, value):
    if frame.f_code.co_name == "say":
        frame.f_locals["value"]["ok"] = {"checks": "forged"}
    return tracer


sys.settrace(tracer)
