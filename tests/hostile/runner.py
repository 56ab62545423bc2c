"""`python -m tests.hostile.runner`: runs attacks as the user who started it; a line of JSON in, a line of JSON out.

It is a process of its own so that an attack on the supervisor hits this one and not the tests, and so that one run of
the tests can be two users.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lessonpress import sandbox
from lessonpress.build import check_runner, execute, source_record
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config, Isolation, Limits
from lessonpress.lesson import reader
from tests.hostile import attacks, world

EMPTY = b'{"schema": 1, "runs": {}, "modules": {}, "blobs": {}}'


def attempt(name: str, *, outer: Any, confined: bool) -> dict[str, Any]:
    """Run one attack and tell how it ended, and everything in the world around that changed."""
    attack = attacks.ALL[name]
    with tempfile.TemporaryDirectory(dir=os.environ["WORLDS"]) as root, world.made(Path(root)) as around:
        folder = Path(root) / "lessons" / "hostile"
        folder.mkdir(parents=True)
        for file, text in {**attack.files(), "world.py": around.module(folder)}.items():
            (folder / file).write_text(text, encoding="utf-8")
        minimum: Any = "linux-strict" if confined else "posix-basic"
        config = Config(
            lessons=str(folder.parent), results=str(Path(root) / "results"), work=str(Path(root) / "work"),
            limits=Limits(**{"wall_seconds": 30, **attack.limits}),
            isolation=Isolation(minimum=minimum, bubblewrap=outer),
        )  # fmt: skip
        sandbox.warm_up(sandbox.JUDGE if attack.where == "check" else sandbox.MODEL, config.limits, config.isolation)
        if sandbox._kept:
            for server in sandbox._kept.servers.values():
                server.loaded(time.monotonic() + 60)  # its processes belong to what was there before
        before = around.look()
        message = _message(config, folder, attack)
        after = around.look()
        changed = [f"{what}: {before[what]} became {after[what]}" for what in before if before[what] != after[what]]
    return {"message": message, "changed": changed}


def _message(config: Config, folder: Path, attack: attacks.Attack) -> str | None:
    """The one message that a curator would see; None when there is none."""
    read = reader.read(folder)
    try:
        if attack.where == "check":
            check_runner.run_checks(config, read, EMPTY)
        else:
            execute.run_lesson(config, source_record.make_source_record(read), folder)
    except LessonError as error:
        return error.message()
    return None


def main() -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nothing but answers goes out
    weak = sandbox.Layers(())
    strong = sandbox.ALL
    with sandbox.keep_servers():
        kept_state = sandbox._kept
        for line in sys.stdin:
            wanted = json.loads(line)
            sandbox.run.__kwdefaults__["layers"] = strong if wanted["confined"] else weak
            # Without kept servers every attack has a process that was started for it alone.
            sandbox._kept = kept_state if wanted.pop("kept") else None
            answers.write(json.dumps(attempt(**wanted)) + "\n")
            answers.flush()
        sandbox._kept = kept_state


if __name__ == "__main__":
    main()
