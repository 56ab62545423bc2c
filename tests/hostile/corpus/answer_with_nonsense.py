"""Finds the worker's own channel and answers with what no worker says."""
#: ends the answer of the checks cannot be read

import gc

import world

# control:
open(world.own).close()
# attack:
for found in gc.get_objects():
    if type(found).__name__ == "Channel":
        found.say({"ok": {"checks": "all good", "metrics": {}}})
        found.end()
