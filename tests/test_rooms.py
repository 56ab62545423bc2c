"""The house rules: imports go down only, one room knows torch, and no room knows a lesson."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from lessonpress import operations

PROJECT = Path(__file__).resolve().parents[1]
PACKAGE = PROJECT / "src" / "lessonpress"
ARCHITECTURE = PROJECT / "docs" / "architecture.md"

# A page about packaging or a workflow may be read by anyone: these are searched for a lesson's names.
SEARCHED = (
    "src", "templates", "workflow", "profiles", "scripts", "tests", "benchmarks", ".ci", ".github",
    "Snakefile", "Makefile", "pyproject.toml", "config.yaml", "README.md", "CHANGELOG.md", "docs",
)
TEXT = {".py", ".smk", ".html", ".css", ".js", ".mjs", ".md", ".j2", ".jinja", ".yaml", ".yml", ".json", ".toml",
        ".sh", ".svg", ".txt", ".rst", ""}


def read_floors(architecture: str) -> dict[str, int]:
    """Read room → floor from the table of rooms in docs/architecture.md."""
    rows = re.findall(r"^\| *(\d+)\b[^|]*\|([^|]*)\|", architecture, flags=re.MULTILINE)
    return {room.rstrip("/"): int(floor) for floor, rooms in rows for room in re.findall(r"`(\w+/?)`", rooms)}


FLOORS = read_floors(ARCHITECTURE.read_text("utf-8"))
# In a bundle the worker's files stand alone, so they may name each other directly.
OURS = {"lessonpress"} | {file.stem for file in (PACKAGE / "worker").glob("*.py")}


def room_of(module: str) -> str:
    """Give the room of a dotted module: `lessonpress.worker.trace` is in `worker`, `lessonpress` in the package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "lessonpress"


def module_of(file: Path, package: Path = PACKAGE) -> str:
    """Give a file's dotted module name."""
    parts = [package.name, *file.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted module) for every import below `tree`, wherever it stands, relative ones resolved.

    `from lessonpress import canon` yields `lessonpress.canon`; a literal given to `import_module` counts too.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = ".".join(package.split(".")[: len(package.split(".")) - level + 1]) if level else ""
                stem = ".".join(part for part in (base, module) if part)
                yield from ((node.lineno, f"{stem}.{alias.name}") for alias in names)
            case ast.Call(func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                          args=[ast.Constant(value=str(name)), *_]):
                yield node.lineno, name


def package_imports() -> list[tuple[Path, str, int, str]]:
    """List (file, its room, line, imported module) of the whole package."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        module = module_of(file)
        package = module if file.name == "__init__.py" else module.rpartition(".")[0]
        tree = ast.parse(file.read_text("utf-8"), filename=str(file))
        found += [(file, room_of(module), line, name) for line, name in imports_of(tree, package)]
    return found


def where(file: Path, line: int) -> str:
    """Name a place as an editor understands it."""
    return f"{file.relative_to(PROJECT)}:{line}"


def lines(findings: list[str]) -> str:
    """Give findings one a line, each once: `from x import a, b` is one place."""
    return "\n".join(dict.fromkeys(findings))


def is_upward(importer: str, imported: str) -> bool:
    """Tell whether a room imports one that is not below it; a room's own modules are free to import each other."""
    if imported in {importer, "lessonpress", "__version__"} or importer == "__main__":
        return False  # the package itself holds only its version, and __main__ is the door to cli
    if importer in {"worker", "lessonpress"}:
        return True  # the worker stands alone, and importing the package must load nothing
    return FLOORS.get(imported, 99) >= FLOORS.get(importer, -1)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import lessonpress.canon", ["lessonpress.canon"]),
        ("def f():\n    from lessonpress import page", ["lessonpress.page"]),
        ("from . import canon", ["lessonpress.canon"]),
        ("from .worker.trace import run", ["lessonpress.worker.trace.run"]),
        ("import importlib\nimportlib.import_module('torch')", ["importlib", "torch"]),
    ],
)
def test_every_form_of_import_is_seen(code: str, expected: list[str]) -> None:
    """The reader of imports sees absolute, relative, nested and literal dynamic imports alike."""
    assert [name for _, name in imports_of(ast.parse(code), "lessonpress")] == expected


def test_an_upward_import_is_noticed() -> None:
    """The rule itself can fail: ground importing a verb, two rooms of one floor, a worker that leans on us."""
    assert is_upward("canon", "publish")
    assert is_upward("hashing", "record")
    assert is_upward("worker", "canon")
    assert not is_upward("publish", "canon")


def test_every_room_has_a_floor() -> None:
    """A new file or folder in src/lessonpress must be entered in the table of docs/architecture.md."""
    rooms = {entry.stem for entry in PACKAGE.iterdir() if entry.suffix == ".py" or (entry / "__init__.py").exists()}
    homeless = rooms - set(FLOORS) - {"__init__", "__main__"}
    assert not homeless, f"no floor in docs/architecture.md for: {', '.join(sorted(homeless))}. Add each to its row."


def test_imports_go_down_only() -> None:
    """A room imports only rooms of lower floors, also inside functions and for type checking."""
    wrong = [
        f"{where(file, line)}: {room} (floor {FLOORS.get(room, '?')}) imports {room_of(name)} "
        f"(floor {FLOORS.get(room_of(name), '?')})"
        for file, room, line, name in package_imports()
        if name.split(".")[0] == "lessonpress" and is_upward(room, room_of(name))
    ]
    assert not wrong, lines(wrong)


def test_only_the_worker_imports_torch() -> None:
    """No room but the worker may depend on torch, so that every other one starts in an instant."""
    wrong = [
        where(file, line)
        for file, room, line, name in package_imports()
        if name.split(".")[0] == "torch" and room != "worker"
    ]
    assert not wrong, lines(wrong)


def test_the_worker_needs_only_torch_and_numpy() -> None:
    """The worker is shipped in every bundle, where nothing but torch and numpy is installed."""
    allowed = sys.stdlib_module_names | {"torch", "numpy"} | OURS
    wrong = [
        f"{where(file, line)}: {name}"
        for file, room, line, name in package_imports()
        if room == "worker" and name.split(".")[0] not in allowed
    ]
    assert not wrong, lines(wrong)


def test_every_third_party_import_is_declared() -> None:
    """What the package imports is a run-time dependency in pyproject.toml, not a guest of another package."""
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = {re.split(r"[<>=]", line)[0].lower().replace("_", "-") for line in declared}
    distributions = packages_distributions()
    wrong = []
    for file, _, line, name in package_imports():
        top = name.split(".")[0]
        providers = {provider.lower().replace("_", "-") for provider in distributions.get(top, [top])}
        if top not in sys.stdlib_module_names | OURS and not providers & names:
            wrong.append(f"{where(file, line)}: {top}")
    assert not wrong, lines(wrong)


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    """Importing the command line loads neither torch nor pandas nor jinja2: each verb loads what it needs."""
    modules = [module for module in ("cli",) if list(PACKAGE.glob(f"{module}*"))]
    code = (
        "import json, sys, importlib\n"
        f"for name in {['lessonpress', *(f'lessonpress.{m}' for m in modules)]!r}: importlib.import_module(name)\n"
        "print(json.dumps(sorted({'torch', 'pandas', 'jinja2'} & set(sys.modules))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


# What no verb may load that does not work with it, by its room; `__init__` is `import lessonpress` alone.
HEAVY = {"torch", "numpy", "pandas", "jinja2", "pydantic", "ruamel", "rich", "typer", "jsonschema", "pygments"}
LOADS = {
    "__init__": set(), "command_line": set(), "commands": set(), "verb_server": set(), "steps": {"pydantic"},
    "workflow_state": {"pydantic"}, "hashing": {"pydantic"}, "execute": {"pydantic"}, "check": {"pydantic"},
    "record": {"pydantic", "numpy", "pandas"}, "render": {"pydantic", "numpy"}, "publish": {"pydantic"},
    "site": {"pydantic"}, "mistakes": {"pydantic"}, "supervise": {"pydantic"},
}  # fmt: skip


@pytest.mark.parametrize("room", LOADS)
def test_a_verb_loads_only_the_libraries_that_it_works_with(room: str) -> None:
    """Every start is paid for by a curator who waits: nobody imports pandas to publish, or jinja2 to run a model."""
    module = "lessonpress" if room == "__init__" else f"lessonpress.{room}"
    code = f"import sys, {module}; print(*{sorted(HEAVY)!r} & sys.modules.keys())".replace("[", "{").replace("]", "}")
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, timeout=60,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= LOADS[room]


def lesson_names(lessons: Path) -> dict[str, str]:
    """Collect slug and model class of every lesson below `lessons`, each with the lesson that owns it.

    What is also an operation's name is PyTorch's word, not the lesson's, and any room may use it.
    """
    names = {}
    for recipe in sorted(lessons.glob("*/lesson.yaml")):
        model = YAML(typ="safe", pure=True).load(recipe.read_text("utf-8"))["model"]
        for name in (recipe.parent.name, recipe.parent.name.replace("-", "_"), model["class"]):
            names[name] = recipe.parent.name
    return {name: owner for name, owner in names.items() if name not in operations.TABLE}


def is_readable(file: Path) -> bool:
    """Tell whether a file is text that we wrote."""
    return file.is_file() and file.suffix in TEXT and "__pycache__" not in file.parts


def searched_files() -> Iterator[Path]:
    """Yield the text files that must not know a lesson."""
    for entry in map(PROJECT.joinpath, SEARCHED):
        files = [entry] if entry.is_file() else sorted(entry.rglob("*"))
        yield from (file for file in files if is_readable(file))


def test_no_room_knows_a_lesson() -> None:
    """Outside lessons/ and results/ no file names a lesson's slug or class: a new lesson needs no line there."""
    names = lesson_names(PROJECT / "lessons")
    if not names:
        pytest.skip("there is no lesson yet")
    pattern = re.compile(r"(?<![\w-])(" + "|".join(map(re.escape, names)) + r")(?![\w-])", flags=re.IGNORECASE)
    wrong = [
        f"{where(file, number)}: names {found[0]}"
        for file in searched_files()
        for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), start=1)
        if (found := pattern.search(line))
    ]
    assert not wrong, lines(wrong)


def test_the_lock_agrees_with_the_project_file() -> None:
    """Every direct dependency is locked, to an exact version, and exact pins are equal in both files."""
    metadata = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    pins = (PROJECT / "requirements.lock").read_text("utf-8").split()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins), "the lock holds name==version lines only"
    locked = {name.lower(): version for name, version in (pin.split("==") for pin in pins)}
    for requirement in metadata["dependencies"] + metadata["optional-dependencies"]["dev"]:
        name, _, exact = requirement.partition("==")
        name = re.split(r"[<>=]", name)[0].lower()
        assert name in locked, f"{name} is missing from requirements.lock"
        assert exact in ("", locked[name]), f"{requirement} in pyproject.toml, {locked[name]} in requirements.lock"
