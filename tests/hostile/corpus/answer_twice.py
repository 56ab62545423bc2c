"""Finds the worker's own channel and answers with it, twice."""
#: ends which is not what the worker says

import gc

import world

# control:
open(world.own).close()
# attack:
for found in gc.get_objects():
    if type(found).__name__ == "Channel":
        found.say({"ok": {"checks": [], "metrics": []}})
        found.say({"ok": {"checks": [], "metrics": []}})
