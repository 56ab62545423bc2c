"""The rules of the house: imports go down only, one package knows torch, and no code knows a lesson."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from lessonpress.replay import operations

PROJECT = Path(__file__).resolve().parents[1]
PACKAGE = PROJECT / "src" / "lessonpress"
OPERATIONS = PACKAGE / "replay" / "operations"
# The packages from the ground up. One imports only those of lower layers; docs/architecture.md says what each holds.
LAYERS = (
    ("core", "worker"), ("lesson", "sandbox", "replay"), ("graph", "revision"), ("web",), ("build",), ("publishing",),
    ("authoring", "notebook"), ("cli",),
)  # fmt: skip
LAYER = {package: number for number, packages in enumerate(LAYERS) for package in packages}

# A page about packaging or a workflow may be read by anyone: these are searched for a lesson's names.
SEARCHED = (
    "src", "templates", "workflow", "profiles", "scripts", "tests", "benchmarks", ".ci", ".github",
    "Snakefile", "Makefile", "pyproject.toml", "config.yaml", "README.md", "CHANGELOG.md", "docs",
)
TEXT = {".py", ".smk", ".html", ".css", ".js", ".mjs", ".md", ".j2", ".jinja", ".yaml", ".yml", ".json", ".toml",
        ".sh", ".svg", ".txt", ".rst", ""}


# In a bundle the worker's files stand alone, so they may name each other directly.
OURS = {"lessonpress"} | {file.stem for file in (PACKAGE / "worker").glob("*.py")}


def package_of(module: str) -> str:
    """Give the package of a dotted module: `lessonpress.worker.trace` is in `worker`, `lessonpress` in itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "lessonpress"


def module_of(file: Path, package: Path = PACKAGE) -> str:
    """Give a file's dotted module name."""
    parts = [package.name, *file.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted module) for every import below `tree`, wherever it stands, relative ones resolved.

    `from lessonpress.core import git` yields `lessonpress.core.git`; a literal given to `import_module` counts too.
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


@cache
def parsed(file: Path) -> ast.Module:
    """Read a Python file of ours, once."""
    return ast.parse(file.read_text("utf-8"), filename=str(file))


@cache
def package_imports() -> list[tuple[Path, str, int, str]]:
    """List (file, its package, line, imported module) of the whole package."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        module = module_of(file)
        package = module if file.name == "__init__.py" else module.rpartition(".")[0]
        found += [(file, package_of(module), line, name) for line, name in imports_of(parsed(file), package)]
    return found


def where(file: Path, line: int) -> str:
    """Name a place as an editor understands it."""
    return f"{file.relative_to(PROJECT)}:{line}"


def lines(findings: list[str]) -> str:
    """Give findings one a line, each once: `from x import a, b` is one place."""
    return "\n".join(dict.fromkeys(findings))


def is_upward(importer: str, imported: str) -> bool:
    """Tell whether a package imports one that is not below it; its own modules are free to import each other."""
    if imported in {importer, "lessonpress", "__version__"} or importer == "__main__":
        return False  # the package itself holds little but its version, and __main__ is the door to cli
    if importer == "lessonpress":
        return imported not in ("core", "notebook")  # `lessonpress.trace`, imported when it is asked for
    return LAYER.get(imported, 99) >= LAYER.get(importer, -1)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import lessonpress.core.errors", ["lessonpress.core.errors"]),
        ("def f():\n    from lessonpress.web import page", ["lessonpress.web.page"]),
        ("from . import core", ["lessonpress.core"]),
        ("from .worker.trace import run", ["lessonpress.worker.trace.run"]),
        ("import importlib\nimportlib.import_module('torch')", ["importlib", "torch"]),
    ],
)
def test_every_form_of_import_is_seen(code: str, expected: list[str]) -> None:
    """The reader of imports sees absolute, relative, nested and literal dynamic imports alike."""
    assert [name for _, name in imports_of(ast.parse(code), "lessonpress")] == expected


def test_an_upward_import_is_noticed() -> None:
    """The rule itself can fail: ground importing a command, two packages of one layer, a worker that leans on us."""
    assert is_upward("core", "publishing")
    assert is_upward("sandbox", "lesson")
    assert is_upward("worker", "core")
    assert not is_upward("publishing", "core")


def test_every_package_has_a_layer() -> None:
    """A new folder in src/lessonpress must be entered in the list of layers; no module stands beside them."""
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == set(LAYER)
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_imports_go_down_only() -> None:
    """A package imports only those of lower layers, also inside functions and for type checking."""
    wrong = [
        f"{where(file, line)}: {package} imports {package_of(name)}"
        for file, package, line, name in package_imports()
        if name.split(".")[0] == "lessonpress" and is_upward(package, package_of(name))
    ]
    assert not wrong, lines(wrong)


def test_no_imports_run_in_a_circle() -> None:
    """Within a package too, one module is below the other; what is imported inside a function counts."""
    known = {module_of(file): file for file in PACKAGE.rglob("*.py") if "worker" not in file.parts}
    graph: dict[str, set[str]] = {module: set() for module in known}
    for module, file in known.items():
        package = module if file.name == "__init__.py" else module.rpartition(".")[0]
        for _, name in imports_of(parsed(file), package):
            target = name if name in known else name.rpartition(".")[0]
            if target in known and target != module and module != "lessonpress":
                graph[module].add(target)
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"imports run in a circle: {' → '.join(error.args[1])}")


def test_imports_are_absolute() -> None:
    """What a step's code is follows from them (build/code_digest.py); the worker's files alone name each other."""
    wrong = [
        where(file, node.lineno)
        for file in sorted(PACKAGE.rglob("*.py")) if "worker" not in file.parts
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.ImportFrom) and node.level
    ]  # fmt: skip
    assert wrong == []


def test_nothing_is_imported_by_a_name_in_a_string() -> None:
    """mypy follows an import inside a function, and no string: a misspelt command must fail it.

    Only the families of operations are found by their folders: no name of theirs is used by who imports them.
    """
    wrong = [
        where(file, node.lineno)
        for file in sorted(PACKAGE.rglob("*.py")) if "worker" not in file.parts
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Attribute) and node.attr == "import_module"
        and file != OPERATIONS / "__init__.py"
    ]  # fmt: skip
    assert wrong == []


def imported_modules() -> set[str]:
    """The modules that the package itself imports, by their names inside it."""
    names = [name.removeprefix("lessonpress.") for file, _, _, name in package_imports() if file.name != "cases.py"]
    return {name for whole in names for name in (whole, whole.rpartition(".")[0])} - {""}


def test_only_the_worker_imports_torch() -> None:
    """Nothing but the worker may depend on torch, so that everything else starts in an instant.

    The cases of the operations do, as the oracle: they lie beside the kernels, and no module of ours imports them.
    """
    cases = {OPERATIONS / "torch_cases.py", *OPERATIONS.glob("*/cases.py")}
    assert not {module_of(file).removeprefix("lessonpress.") for file in cases} & imported_modules()
    wrong = [
        where(file, line)
        for file, package, line, name in package_imports()
        if name.split(".")[0] == "torch" and package not in ("worker", "notebook") and file not in cases
    ]
    assert not wrong, lines(wrong)


def worker_modules_with_torch() -> set[str]:
    """The worker's modules of which an import loads torch."""
    folder = PACKAGE / "worker"
    imports = {}
    for file in folder.glob("*.py"):
        body = ast.parse(file.read_text("utf-8")).body
        top = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        imports[file.stem] = {name for _, name in imports_of(ast.Module(top, []), "lessonpress.worker")}
    met = {stem for stem, names in imports.items() if any(name.split(".")[0] == "torch" for name in names)}
    while True:
        more = {stem for stem, names in imports.items()
                if {name.removeprefix("lessonpress.worker.").split(".")[0] for name in names} & met} - met  # fmt: skip
        if not more:
            return met
        met |= more


def test_only_the_notebook_meets_torch_beside_the_worker() -> None:
    """Its one function runs an author's own model in the author's own process; nothing else of ours imports it."""
    met = worker_modules_with_torch()
    assert {"trace", "run", "outline"} <= met
    assert not {"recorded", "records", "judge", "confine", "server"} & met
    meeting = {
        package for _, package, _, name in package_imports()
        if package != "worker" and name.startswith("lessonpress.worker.") and name.split(".")[2] in met
    }  # fmt: skip
    assert meeting == {"notebook"}
    importers = {module_of(file) for file, package, _, name in package_imports()
                 if package != "notebook" and name.startswith("lessonpress.notebook")}  # fmt: skip
    assert importers == {"lessonpress"}


def test_the_worker_needs_only_torch_and_numpy() -> None:
    """The worker is shipped in every bundle, where nothing but torch and numpy is installed."""
    allowed = sys.stdlib_module_names | {"torch", "numpy"} | OURS
    wrong = [
        f"{where(file, line)}: {name}"
        for file, package, line, name in package_imports()
        if package == "worker" and name.split(".")[0] not in allowed
    ]
    assert not wrong, lines(wrong)


def test_every_third_party_import_is_declared() -> None:
    """What the package imports is a run-time dependency in pyproject.toml, or an extra that users may ask for."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [line for extra, lines in project["optional-dependencies"].items() if extra != "dev" for line in lines]
    declared = [*project["dependencies"], *extras]
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
    code = (
        "import json, sys, lessonpress, lessonpress.cli.main\n"
        "print(json.dumps(sorted({'torch', 'pandas', 'jinja2'} & set(sys.modules))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


# What no command may load that does not work with it, by its module; "" is `import lessonpress` alone.
HEAVY = {"torch", "numpy", "pandas", "jinja2", "pydantic", "ruamel", "rich", "typer", "jsonschema", "pygments"}
LOADS = {
    "": set(), "cli.command_line": set(), "cli.commands": set(), "cli.command_server": set(),
    "build.steps": {"pydantic"}, "build.rule_inputs": {"pydantic"}, "build.source_record": {"pydantic"},
    "build.execute": {"pydantic"}, "build.check": {"pydantic"}, "build.record": {"pydantic", "numpy", "pandas"},
    "build.render": HEAVY - {"torch", "pandas", "rich", "typer", "jsonschema"}, "publishing.publish": {"pydantic"},
    "publishing.site": {"pydantic", "jinja2", "pygments"}, "publishing.mistakes": {"pydantic"}, "sandbox": {"pydantic"},
}  # fmt: skip


@pytest.mark.parametrize("module", LOADS)
def test_a_command_loads_only_the_libraries_that_it_works_with(module: str) -> None:
    """Every start is paid for by a curator who waits: nobody imports pandas to publish, or jinja2 to run a model."""
    whole = f"lessonpress.{module}".rstrip(".")
    code = f"import sys, {whole}; print(*{sorted(HEAVY)!r} & sys.modules.keys())".replace("[", "{").replace("]", "}")
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, timeout=60,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= LOADS[module]


def lesson_names(lessons: Path) -> dict[str, str]:
    """Collect slug and model class of every lesson below `lessons`, each with the lesson that owns it.

    What is also an operation's name is PyTorch's word, not the lesson's, and any module may use it.
    """
    names = {}
    for recipe in sorted(lessons.glob("*/lesson.yaml")):
        model = YAML(typ="safe", pure=True).load(recipe.read_text("utf-8"))["model"]
        for name in (recipe.parent.name, recipe.parent.name.replace("-", "_"), model["class"]):
            names[name] = recipe.parent.name
    return {name: owner for name, owner in names.items() if name not in operations.TABLE}


def is_readable(file: Path) -> bool:
    """Tell whether a file is text that we wrote."""
    return file.is_file() and file.suffix in TEXT and not {"__pycache__", ".ruff_cache"}.intersection(file.parts)


def searched_files() -> Iterator[Path]:
    """Yield the text files that must not know a lesson."""
    for entry in map(PROJECT.joinpath, SEARCHED):
        files = [entry] if entry.is_file() else sorted(entry.rglob("*"))
        yield from (file for file in files if is_readable(file))


def test_no_code_knows_a_lesson() -> None:
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


# Words of an earlier private vocabulary, as names or in sentences, and what CONTRIBUTING.md says to write instead.
PRIVATE = re.compile(
    r"(?<![A-Za-z])(_?told(?! apart)(?![A-Za-z])|[Rr]ooms?(?![A-Za-z])|toothless(?![A-Za-z]))|def (of)\("
    r"|\b(bury|buried|hangs? on|numbers? that (?:is|are) none)\b"
)
WRITTEN = ("src", "tests", "templates", "workflow", "profiles", "scripts", "benchmarks", ".github", "Snakefile", "docs",
           "README.md", "SECURITY.md")  # fmt: skip


def private_words(text: str) -> list[str]:
    """The words of the private vocabulary that stand in a text."""
    return [match[0] for match in PRIVATE.finditer(text)]


@pytest.mark.parametrize("text", ["told = 1", "self._told(x)", "def of(x):", "in one room", "Rooms", "hangs on"])
def test_a_private_word_is_noticed(text: str) -> None:
    """Whether it is a name or stands in a sentence."""
    assert private_words(text)


@pytest.mark.parametrize("text", ["kinds told apart by shape", "bedroom", "mushrooms", "def offset(x):", "roomy"])
def test_a_plain_word_is_none(text: str) -> None:
    """Idioms and words that only contain one are plain English."""
    assert private_words(text) == []


def test_words_are_the_fields() -> None:
    """Nobody has to learn a vocabulary of ours: CONTRIBUTING.md lists what to write instead."""
    wrong = [
        f"{where(file, number)}: {', '.join(words)}"
        for file in searched_files()
        if file.relative_to(PROJECT).parts[0] in WRITTEN and file != Path(__file__)
        if "decisions" not in file.parts  # what was decided then, in the words of then
        for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), start=1)
        if (words := private_words(line))
    ]
    assert not wrong, lines(wrong)


# What has a type in lesson/records.py, worker/records.py, revision/manifest_schema.py and history.py.
RECORDS = frozenset({
    "source", "plan", "planned", "capture", "captured", "recorded", "cases", "checks", "verdicts", "graph", "executed",
    "layer", "layers", "connection", "connections", "edge", "edges", "manifest", "provenance", "history", "event",
    "events", "run", "runs", "call", "calls", "struct", "modules", "live", "report", "spec",
})  # fmt: skip
LOOSE = re.compile(r"\b(dict|Mapping|MutableMapping)\[str, (Any|object)\]")
# A layer's kernel is called as torch calls the layer; a worker's confinement is not declared yet.
FREE = {("torch_cases.py", "call"), ("confine.py", "spec")}


def loose_parameters(tree: ast.AST) -> list[tuple[int, str, str]]:
    """List (line, function, parameter) of every parameter that is called like a record and typed as a loose dict."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [
        (function.lineno, function.name, given.arg)
        for function in functions
        for given in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if given.arg in RECORDS and given.annotation and LOOSE.search(ast.unparse(given.annotation))
    ]


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("def f(plan: dict[str, Any]): ...", 1),
        ("def f(*, runs: Mapping[str, Mapping[str, Any]]): ...", 1),
        ("class C:\n    async def f(self, source: dict[str, object] | None): ...", 1),
        ("def f(plan: Plan, options: dict[str, Any]): ...", 0),
    ],
)
def test_a_loose_record_is_noticed(code: str, count: int) -> None:
    """The rule itself can fail: in any kind of function, however deep the dict stands in the type."""
    assert len(loose_parameters(ast.parse(code))) == count


def test_records_have_types() -> None:
    """What passes between modules is a declared record, so that a misspelt key fails mypy."""
    wrong = [
        f"{where(file, line)}: {name}({given})"
        for file in sorted(PACKAGE.rglob("*.py"))
        for line, name, given in loose_parameters(parsed(file))
        if (file.name, given) not in FREE
    ]
    assert not wrong, lines(wrong)
