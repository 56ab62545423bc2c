"""Runs JavaScript of ours in Node, or in Debian's Chromium where there is no Node, one process for all cases."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

CHROMIUM = Path("/usr/bin/chromium")


def run(script: str, data: Any, *, folder: Path) -> Any:
    """The JSON that `main(data)` of a script gives back."""
    if shutil.which("node"):
        return _in_node(script, data, folder)
    if CHROMIUM.exists():
        return _in_chromium(script, data)
    raise RuntimeError("neither node nor /usr/bin/chromium is installed: one of them runs the JavaScript kernels")


def _in_node(script: str, data: Any, folder: Path) -> Any:
    """Give the data on standard input and read the answer from standard output."""
    file = folder / "script.js"
    call = '\nprocess.stdout.write(JSON.stringify(main(JSON.parse(require("fs").readFileSync(0, "utf8")))));\n'
    file.write_text(script + call, encoding="utf-8")
    done = subprocess.run(
        ["node", str(file)], input=json.dumps(data), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _in_chromium(script: str, data: Any) -> Any:
    """Evaluate the script in an empty page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        answer = browser.new_page().evaluate(f"(data) => {{ {script}; return main(data); }}", data)
        browser.close()
    return answer
