"""Returns a structure deeper than any parser likes."""
#: ends answered|deep|depth|nest|recursion
#: in call

import world

# control:
open(world.own).close()
# attack:
value = 0
for _ in range(5000):
    value = [value]
result = value
