"""Sets the machine's clock."""

import time

# control:
time.clock_gettime(time.CLOCK_REALTIME)
# attack:
time.clock_settime(time.CLOCK_REALTIME, time.time())
