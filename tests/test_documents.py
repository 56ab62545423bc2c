"""The documents name only what exists: paths, links, commands with their options, targets, modules and their names."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
import typer

from lessonpress.cli import commands, main

PROJECT = Path(__file__).resolve().parents[1]
PACKAGE = PROJECT / "src" / "lessonpress"
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md",
         *(path.relative_to(PROJECT).as_posix() for path in sorted((PROJECT / "docs").rglob("*.md"))))  # fmt: skip
# A path in a document: parts between slashes, with <…> and * in the place of names that vary; no option, no address.
PATH = re.compile(r"(?<![\w./:@$~<{=-])((?:\.{0,2}[\w*][\w.*-]*|\.[\w*-]+|<[\w ]+>)(?:/[\w.*<>-]*)+)(?![\w/(])")
FILE = re.compile(r"(?<![\w./:@$*<>-])(\w[\w-]*\.(?:py|js|mjs|smk|sh|jinja|toml|lock))(?![\w(])")
PLAIN = re.compile(r"(?<![\w/.-])((?:docs|tests|scripts|src|benchmarks|templates)/[\w./-]+\.\w+)")  # not in backticks
COMMAND = re.compile(r"(?:^|[\s;&|(/])(?<!from )lessonpress ([a-z]+)((?: [^\n|;&#]*)?)")
MAKE = re.compile(r"(?:^|&& )make ((?:[a-z]+ ?)+)", re.MULTILINE)
TARGET = re.compile(r"\bsnakemake (?:--cores (?:\d+|all) )(?:--config note=\S+ )?([a-z_]+)\b")
NAME = re.compile(r"^(?:lessonpress\.)?((?:\w+\.)+)(\w+)(?:\(.*\))?$")
SUFFIXES = {"csv", "html", "js", "json", "lock", "md", "npy", "py", "safetensors", "smk", "svg", "toml", "txt", "yaml",
            "yml", "zip"}  # fmt: skip
KEYS = ("provenance.",)  # of documents: they begin as a name in a module of ours
SCRATCH = (".snakemake", ".venv", "build", "dist", "release", "results", "wheels", "work")  # what commands make
READERS = ("figures", "teaching")  # folders of an imagined reader


def read_code(page: str) -> Iterator[str]:
    """Yield the code of a document: each span between backticks, and each line of its code blocks."""
    text = (PROJECT / page).read_text(encoding="utf-8")
    for block in re.findall(r"^```(?!mermaid|diff|jsonc)\w*[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield from block.splitlines()
    words = re.sub(r"<!--.*?-->|^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    yield from (" ".join(span.split()) for span in re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", words))


@cache
def list_files() -> tuple[str, ...]:
    """List the repository's files, and their folders with a slash at the end."""
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=PROJECT,
                           check=True, capture_output=True, text=True).stdout.split("\0")  # fmt: skip
    files = [name for name in names if name and (PROJECT / name).exists()]
    folders = {f"{parent.as_posix()}/" for name in files for parent in Path(name).parents if parent != Path()}
    return (*files, *sorted(folders))


@cache
def read_sources() -> str:
    """Read everything that can name a scratch file: the package, the rules, the templates, the scripts."""
    roots = ("src", "workflow", "templates/init", "scripts", "tests/workflow", "Snakefile", "Makefile", "profiles")
    files = [name for name in list_files() if name.startswith(roots) and not name.endswith("/")]
    return "\n".join((PROJECT / name).read_text(encoding="utf-8", errors="replace") for name in files)


@cache
def exists(path: str, page: str) -> bool:
    """Whether a path of a document is one of the repository: from its root, a package, a revision, or the document.

    Any name of a lesson stands for one that exists. What a command makes counts when the sources name it.
    """
    text = re.sub(r"<[\w ]+>", "*", path.removeprefix("./").removeprefix("OWNER/lessonpress/"))
    text = re.sub(r"^models/", "results/models/", text)  # as addresses within the site are written
    text = re.sub(r"(?:(?<=^lessons/)|(?<=^results/models/))[^/]+", "*", text)
    pattern = re.escape(text).replace(r"\*", "[^/]*")
    folder = re.escape(f"{Path(page).parent.as_posix()}/") if "/" in page else ""
    roots = rf"(?:|{folder}|src/lessonpress/(?:[\w/]+/)?|templates/(?:[\w-]+/)*|tests/|results/models/\w[^/]*/\w+/)"
    if re.search(rf"^{roots}{pattern}/?$", "\n".join(list_files()), re.MULTILINE):
        return True
    first, *rest = [part for part in text.split("/") if part]
    named = all(piece in read_sources() for part in rest for piece in part.split("*"))
    return first in READERS or (first in SCRATCH and named) or read_sources().count(f'"{text}"') > 0


@pytest.mark.parametrize("page", PAGES)
def test_every_path_exists(page: str) -> None:
    """A path that a document names is there; a file without a folder is somewhere in the repository."""
    names = {name.rpartition("/")[2] for name in list_files()}
    words = re.sub(r"`[^`]*`|\]\([^)]*\)", "", (PROJECT / page).read_text(encoding="utf-8"))
    missing = [path for path in PLAIN.findall(words) if not exists(path, page)]
    for code in read_code(page):
        for path in PATH.findall(code):
            if not exists(path, page):
                missing.append(path)
        missing += [name for name in FILE.findall(code) if name not in names and name not in read_sources()]
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    """A relative link of a document is a file or folder, and its fragment a heading there."""
    text = (PROJECT / page).read_text(encoding="utf-8")
    text = re.sub(r"^(`{3,}).*?^\1|(`+)[^\n]+?\2", "", text, flags=re.DOTALL | re.MULTILINE)  # in code it is no link
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in link:
            file, _, fragment = unquote(link).partition("#")
            target = (PROJECT / page).parent / file if file else PROJECT / page
            assert target.exists(), link
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE) if fragment else []
            slugs = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert not fragment or fragment in slugs, link


@cache
def list_commands() -> dict[str, set[str]]:
    """List the commands with their options; those of the rules alone take the rules' options."""
    group = typer.main.get_command(main.app)
    options = {name: {"--help", "--set", *(opt for param in command.params for opt in param.opts)}
               for name, command in group.commands.items()}  # fmt: skip
    rules = {"--key", "--receipt", "--set"}
    return {name: options.get(name, set()) | (rules if name in commands.COMMANDS else set())
            for name in {*options, *commands.COMMANDS}}  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_every_command_exists(page: str) -> None:
    """Each `lessonpress …` is a command with these options, each make target and each Snakemake target is defined."""
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    rules = {rule for file in (PROJECT / "Snakefile", *(PROJECT / "workflow" / "rules").glob("*.smk"))
             for rule in re.findall(r"^rule (\w+):", file.read_text(encoding="utf-8"), re.MULTILINE)}  # fmt: skip
    for code in read_code(page):
        for name, rest in COMMAND.findall(code):
            assert name in list_commands(), code
            unknown = set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", rest)) - list_commands()[name]
            assert not unknown, code
        for made in MAKE.findall(code):
            assert set(made.split()) <= targets, code
        for target in TARGET.findall(code):
            assert target.removeprefix("press_") in rules, code


@cache
def list_names(module: str) -> set[str]:
    """List what our modules or packages of this name define: functions, classes, constants, fields, and imports."""
    *folders, stem = module.split(".")
    pattern = "/".join([*folders, stem])
    files = [*PACKAGE.rglob(f"{pattern}.py"), *PACKAGE.rglob(f"{pattern}/*.py")]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    names = {file.stem for file in files}
    for node in (node for body in [*trees, *classes] for node in body.body):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
    return names


@pytest.mark.parametrize("page", PAGES)
def test_every_name_of_a_module_exists(page: str) -> None:
    """`steps.perform` in a document is something that our module `steps` defines."""
    wrong = []
    for code in read_code(page):
        match = NAME.match(code)
        if match and match[2] not in SUFFIXES and not code.startswith(KEYS):
            defined = list_names(match[1].rstrip("."))
            wrong += [code] if defined and match[2] not in defined else []
    assert not wrong


@pytest.mark.parametrize(
    ("code", "path"),
    [("docs/never.md", "docs/never.md"), ("lessons/<slug>/never.yaml", "lessons/<slug>/never.yaml"),
     ("work/<slug>/never.json", "work/<slug>/never.json"), ("replay/never.py", "replay/never.py")],
)  # fmt: skip
def test_a_path_that_is_missing_is_noticed(code: str, path: str) -> None:
    """The rule itself can fail: for a file, a pattern, a scratch file, and a module of a package."""
    assert PATH.findall(f"see {code} for") == [path]
    assert not exists(path, "README.md")
