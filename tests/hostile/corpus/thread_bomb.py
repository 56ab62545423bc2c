"""Starts threads without end."""
#: ends limits.(threads|memory_mib)\)
#: limits threads=20 wall_seconds=9

import threading
import time

# control:
threading.Thread(target=print).start()
# attack:
while True:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
