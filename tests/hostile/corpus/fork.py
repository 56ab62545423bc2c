"""Makes a copy of itself."""

import os
import threading

# control:
threading.Thread(target=print).start()
# attack:
if os.fork() == 0:
    os._exit(0)
