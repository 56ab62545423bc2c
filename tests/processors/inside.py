"""What stands in the place of Python where a whole lesson goes through an emulated processor.

It is started by a wrapper that the variable EMULATED names: by the rig with a command of lessonpress, and by that
command, which takes it for its interpreter, with a worker. The kernel's ways to confine a process are not emulated.
"""

from __future__ import annotations

import os
import sys

from lessonpress.worker import kernel

kernel.LINUX = False  # neither subreaper nor Landlock nor seccomp; workers are then started, not forked

if "lessonpress.worker.server" in sys.argv:
    del sys.argv[: sys.argv.index("lessonpress.worker.server")]
    from lessonpress.worker import server

    server.main()
else:
    sys.executable = os.environ["EMULATED"]
    sys.argv[0] = "lessonpress"
    from lessonpress.__main__ import main

    main()
