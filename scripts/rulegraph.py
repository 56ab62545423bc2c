"""Put the graph of the rules into README.md, as Snakemake draws it: `make rulegraph`."""

import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
README = PROJECT / "README.md"
MARKS = ("<!-- rulegraph: begin -->", "<!-- rulegraph: end -->")


def draw_rules() -> str:
    """The rule graph as a Mermaid diagram, without Snakemake's colours: readers have light and dark pages."""
    command = [sys.executable, "-m", "snakemake", "--rulegraph", "mermaid-js"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    diagram = done.stdout[done.stdout.index("flowchart") :]
    lines = [line.strip() for line in diagram.splitlines() if line.strip() and not line.strip().startswith("style ")]
    names = dict(re.findall(r"(id\d+)\[(\w+)\]", diagram))
    edges = sorted(f"    {names[a]} --> {names[b]}" for a, b in (re.findall(r"id\d+", line) for line in lines
                                                                if "-->" in line))  # fmt: skip
    return "\n".join(["```mermaid", "flowchart LR", *edges, "```"])


def insert_picture(text: str, picture: str) -> str:
    """A text with a picture between the marks."""
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return f"{before}{MARKS[0]}\n{picture}\n{MARKS[1]}{after}"


if __name__ == "__main__":
    README.write_text(insert_picture(README.read_text(encoding="utf-8"), draw_rules()), encoding="utf-8")
