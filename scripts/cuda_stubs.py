"""`python scripts/cuda_stubs.py SITE DIR`: empty CUDA libraries for aarch64, so that torch's CUDA build can be loaded.

torch's wheel for aarch64 names CUDA's libraries, several gigabytes, of which nothing runs on a processor. Each is made
here with the symbols that torch asks for, all of which answer "no device". Needs Debian's binutils-aarch64-linux-gnu.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

TOOLS = "aarch64-linux-gnu-"
OURS = re.compile(r"lib(cu|nccl|nvrtc|nvshmem)")
NAMES = re.compile(r"_?_?cu|Cu|nccl|nvrtc|nvshmem")
UNVERSIONED = "libcudart.so.13"  # which every part of torch loads
NO_DEVICE = 100  # cudaErrorNoDevice, CUDA_ERROR_NO_DEVICE


def tool(name: str, *arguments: str | Path) -> str:
    """What one of the binutils prints."""
    return subprocess.run([TOOLS + name, *arguments], capture_output=True, text=True, check=True).stdout


def wanted(libraries: list[Path]) -> dict[str, dict[str, set[str]]]:
    """By library that is missing, by version (or ""): the names that are asked for."""
    needed = {name for path in libraries for name in re.findall(r"NEEDED.*\[(.*)\]", tool("readelf", "-d", "-W", path))}
    found: dict[str, dict[str, set[str]]] = {name: defaultdict(set) for name in needed if OURS.match(name)}
    owners: dict[str, str] = {}
    for path in libraries:
        owner = ""
        for line in tool("readelf", "-V", "-W", path).splitlines():
            if file := re.search(r"File: (\S+)", line):
                owner = file[1]
            elif (version := re.search(r"Name: (\S+)", line)) and owner in found:
                owners[version[1]] = owner
        for name in re.findall(r" U (\S+)", tool("nm", "-D", "--with-symbol-versions", path)):
            symbol, _, version = name.replace("@@", "@").partition("@")
            if version in owners:
                found[owners[version]][version].add(symbol)
            elif not version and NAMES.match(symbol):
                found[UNVERSIONED][""].add(symbol)
    return found


def assemble(name: str, versions: dict[str, set[str]], folder: Path) -> None:
    """Make one library."""
    lines, script = [".text"], []
    for version, symbols in versions.items():
        for symbol in sorted(symbols):
            answer = 0 if symbol.startswith("__cuda") else NO_DEVICE
            lines.append(f".globl {symbol}\n.type {symbol},%function\n{symbol}: mov x0,#{answer}\n ret")
        if version:
            script.append(f"{version} {{ global: {' '.join(f'{symbol};' for symbol in sorted(symbols))} }};")
    source, made, mapped = (folder / f"stub.{end}" for end in ("s", "o", "map"))
    source.write_text("\n".join([*lines, '.section .note.GNU-stack,"",%progbits', ""]), encoding="utf-8")
    mapped.write_text("\n".join(script), encoding="utf-8")
    tool("as", "-o", made, source)
    tool("ld", "-shared", "-soname", name, *(["--version-script", mapped] if script else []), "-o", folder / name, made)
    for path in (source, made, mapped):
        path.unlink()


def main() -> None:
    """Make them all."""
    site, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, versions in wanted(sorted((site / "torch" / "lib").glob("*.so*"))).items():
        assemble(name, versions, folder)


if __name__ == "__main__":
    main()
