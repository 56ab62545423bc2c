"""The corpus: one small file an attack, with what it expects in its head.

    \"\"\"One sentence: what it does.\"\"\"
    #: ends REGEX            what the one message must say; without this line, a denial at the attack's own line;
                             `answered` where the attack comes to nothing and the lesson just ends
    #: limits NAME=N …       smaller limits
    #: in check|import|build|call    where in a lesson the code stands
    #: open                  without confinement the attack succeeds, and does no lasting harm outside its world
    # control:               something harmless of the same kind, which must work in the same process
    # attack:
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
DENIED = r"(PermissionError: \[Errno (1|13)\]|FileNotFoundError: \[Errno 2\]|OSError: \[Errno 30\])"
RECIPE = """\
schema: 1
slug: hostile
title: Hostile
model: {file: model.py, class: Echo}
execution:
  inputs:
    x: {shape: [2, 3], dtype: float32, fill: ones}
"""
CHECK = """

def check_nothing(runs):
    return {"measured": 0.0, "bound": 0.0, "sense": "<="}
"""
MODEL = """\
from torch import nn

%s

class Echo(nn.Module):
    def __init__(self):
        super().__init__()
%s

    def forward(self, x):
%s
        return locals().get("result", x + 1)
"""


@dataclass(frozen=True)
class Attack:
    """One file of the corpus."""

    name: str
    text: str
    ends: str = ""
    limits: dict[str, int] = field(default_factory=dict)
    where: str = "check"
    open: bool = False

    @property
    def sentence(self) -> str:
        """What it does."""
        return self.text.partition('"""')[2].partition('"""')[0]

    @property
    def lines(self) -> list[str]:
        """The lines of the attack itself, without those of its control."""
        return [line.strip() for line in self.text.partition("# attack:\n")[2].splitlines() if line.strip()]

    def files(self) -> dict[str, str]:
        """The lesson that the attack is."""
        if self.where == "check":
            return {"lesson.yaml": f"{RECIPE}checks: checks.py\n", "model.py": MODEL % ("", "", ""),
                    "checks.py": self.text + CHECK}  # fmt: skip
        indented = "\n".join(" " * 8 + line for line in self.text.splitlines())
        parts = {"import": (self.text, "", ""), "build": ("", indented, ""), "call": ("", "", indented)}
        return {"lesson.yaml": RECIPE, "model.py": MODEL % parts[self.where]}


def read(path: Path) -> Attack:
    """One attack of the corpus."""
    text = path.read_text(encoding="utf-8")
    head = dict(re.findall(r"^#: (\w+) ?(.*)$", text, flags=re.MULTILINE))
    limits = {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", head.get("limits", ""))}
    return Attack(path.stem, text, head.get("ends", ""), limits, head.get("in", "check"), "open" in head)


ALL = {path.stem: read(path) for path in sorted(CORPUS.glob("*.py"))}
