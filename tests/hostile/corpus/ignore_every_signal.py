"""Never ends, deaf to every signal."""
#: ends it passed the (processor )?time limit
#: limits cpu_seconds=1 wall_seconds=6

import signal

import world

# control:
open(world.own).close()
# attack:
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True:
    pass
