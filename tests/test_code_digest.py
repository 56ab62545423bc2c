"""A lesson's key: which code each step rests on, held against the imports, and all else that decides what is made."""

import ast
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from lessonpress.build import code_digest
from lessonpress.core import packaged_files
from lessonpress.core.settings import Config, Isolation, Limits
from lessonpress.replay import operations
from tests import tiny
from tests.test_layers import imports_of, module_of

PACKAGE = code_digest.PACKAGE
AROUND = ("build.artifact", "build.lesson_build", "build.steps")
BEGINS = {
    "hash": "build.source_record", "execute": "build.execute", "record": "build.record", "check": "build.check",
    "render": "build.render", "rehearse": "build.rehearse", "publish": "publishing.publish", "site": "publishing.site",
}  # fmt: skip


def module_file(module: str) -> Path:
    """The file of a module by its name inside the package."""
    stem = PACKAGE / module.replace(".", "/")
    return stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")


def inside(name: str) -> str:
    """The module, by its name inside the package, in which a dotted name lies; empty for the package itself."""
    parts = name.split(".")[1:]
    while parts and not module_file(".".join(parts)).is_file():
        parts.pop()
    return ".".join(parts)


def without_types(tree: ast.Module) -> ast.Module:
    """A module without what it imports for its types alone."""
    tree.body = [node for node in tree.body
                 if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")]  # fmt: skip
    return tree


@cache
def named(module: str) -> frozenset[str]:
    """The modules that a module names: by any import that can run, or as one to run; and their packages."""
    file = module_file(module)
    tree, own = without_types(ast.parse(file.read_text("utf-8"))), module_of(file)
    package = own if file.name == "__init__.py" else own.rpartition(".")[0]
    names = {name for _, name in imports_of(tree, package) if name.split(".")[0] == "lessonpress"}
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    names |= {text for text in texts if re.fullmatch(r"lessonpress(\.\w+)+", text)}
    modules = {inside(name) for name in names} - {""}
    return frozenset(modules | {module.rsplit(".", depth)[0] for module in modules
                                for depth in range(1, module.count(".") + 1)})  # fmt: skip


def reach(begin: str) -> set[str]:
    """A module and all that it imports, directly or not; through the one that names all steps none is reached."""
    seen, waiting = set[str](), [begin]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += named(one) if one != "build.steps" else ()
            waiting += loaded_families() if one == "replay.operations" else ()
    return seen


def loaded_families() -> list[str]:
    """The modules with the kernels of the operations, which are found by their folders: those that Python loaded."""
    assert operations.FAMILIES
    return [name.removeprefix("lessonpress.") for name in sys.modules
            if re.fullmatch(rf"{re.escape(operations.__name__)}\.\w+\.kernels", name)]  # fmt: skip


def outside(modules: set[str] | frozenset[str]) -> set[str]:
    """Without the worker's modules, which enter whole."""
    return {module for module in modules if not module.startswith("worker")}


@pytest.mark.parametrize("step", code_digest.STEPS)
def test_a_steps_code_is_what_it_imports(step: str) -> None:
    """A module that is left out would leave old results standing, one too many makes them again for nothing."""
    begins = [BEGINS[step], *(AROUND if step != "site" else ())]
    expected = set().union(*map(reach, begins))
    assert outside(code_digest.list_modules(step)) == outside(expected)
    worker = set((PACKAGE / "worker").glob("*.py"))
    own = worker & set(code_digest.list_files(step))
    assert own == (worker if any(module.startswith("worker") for module in expected) else set())


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from lessonpress.lesson import plan, page as shown\n", {"lesson", "lesson.plan", "lesson.page"}),
        ("from lessonpress.lesson import (\n    plan,\n    page,\n)  # fmt: skip\n",
         {"lesson", "lesson.plan", "lesson.page"}),
        ("from lessonpress.lesson.page import Page\n", {"lesson", "lesson.page"}),
        ("def late():\n    from lessonpress.lesson import plan\n", {"lesson", "lesson.plan"}),
        ("if TYPE_CHECKING:\n    from lessonpress.lesson.plan import Plan\n\n    Shown = Plan\n\n"
         "if True:\n    from lessonpress.lesson import page\n", {"lesson", "lesson.page"}),
        ('MODEL = "lessonpress.worker.program"\n', {"worker", "worker.program"}),
        ("from lessonpress import __version__\nimport json\n", set()),
    ],
)  # fmt: skip
def test_every_form_of_import_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, expected: set[str]
) -> None:
    """On one line or several, inside functions, by a name in a string; what is imported for its types never runs."""
    for name in ("lesson/__init__", "lesson/plan", "lesson/page", "worker/__init__", "worker/program",
                 "publishing/__init__"):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "publishing" / "site.py").write_text(code)
    monkeypatch.setattr(code_digest, "PACKAGE", tmp_path)
    assert code_digest.list_modules("site") == {"publishing.site", *expected}


@pytest.mark.parametrize("step", code_digest.STEPS)
def test_every_file_of_a_step_is_there(step: str) -> None:
    """The digest is made of files that exist, scripts and templates included."""
    files = code_digest.list_files(step)
    assert all(path.is_file() for path in files)
    assert module_file(BEGINS[step]) in files
    shows = "web.page.rendering" in code_digest.list_modules(step)
    assert (packaged_files.path("templates") / "lesson.html.jinja" in files) is shows
    replays = any(module.startswith("replay.operations") for module in code_digest.list_modules(step))
    assert (PACKAGE / "replay" / "operations" / "interpreter.js" in files) is replays


def copies(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Copies of the package, each of which is our own while it is to be edited."""
    while True:
        package = root / str(len(list(root.iterdir()))) / "src" / "lessonpress"
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
        monkeypatch.setattr(code_digest, "PACKAGE", package)
        yield package


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("web/page/view_models.py", {"render", "publish"}),
        ("build/render.py", {"render", "publish"}),
        ("sandbox/server.py", {"execute", "record", "check", "rehearse", "publish"}),
        ("lesson/input_specs.py", {"hash"}),
        ("worker/trace.py", {"execute", "record", "check", "render", "rehearse", "publish"}),
        ("cli/main.py", set()),
        ("__init__.py", set()),
    ],
)
def test_a_change_of_code_moves_the_digests_of_its_steps_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, expected: set[str]
) -> None:
    """A change to pages executes nothing again, one to the confinement renders nothing, a new version does nothing."""
    own = copies(tmp_path, monkeypatch)
    next(own)
    before = code_digest.digest_steps()
    with (next(own) / file).open("a", encoding="utf-8") as edited:
        edited.write("# new\n")
    after = code_digest.digest_steps()
    assert {step for step in before if before[step] != after[step]} == expected


def test_an_installed_package_has_the_same_digests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel carries its templates inside the package: the same code is the same wherever it lies."""
    before = code_digest.digest_steps()
    package = next(copies(tmp_path, monkeypatch))
    shutil.copytree(packaged_files.path("templates"), package / "templates")
    monkeypatch.setattr(packaged_files, "PACKAGE", package)
    assert packaged_files.path("templates") == package / "templates"
    assert code_digest.digest_steps() == before


def test_what_a_person_goes_on_to_edit_is_no_part_of_a_page() -> None:
    """The files that `init` and `new` write are templates too, but nothing is rendered again because of them."""
    folder = packaged_files.path("templates")
    starters = {path for name in code_digest.STARTERS for path in (folder / name).rglob("*") if path.is_file()}
    assert starters
    assert not starters & set(code_digest.list_files("render"))


@pytest.fixture
def house(tmp_path: Path) -> Config:
    """Give a repository with one lesson."""
    tiny.write(tmp_path / "lessons" / "echo")
    return Config(lessons=str(tmp_path / "lessons"), results=str(tmp_path / "results"), work=str(tmp_path / "work"))


def limited(config: Config, **limits: int) -> Config:
    """Settings with other limits."""
    return config.model_copy(update={"limits": Limits(**limits)})


OTHER: dict[str, tuple[Callable[[Config], Config | None], bool]] = {
    "nothing": (lambda config: config, False),
    "a touch": (lambda config: (config.lesson("echo") / "model.py").touch(), False),
    "a byte": (lambda config: tiny.edit(config.lesson("echo") / "model.py", "x + 1", "x + 2"), True),
    "words": (lambda config: tiny.edit(config.lesson("echo") / "lesson.yaml", "title: Echo", "title: Ecco"), True),
    "a new file": (lambda config: (config.lesson("echo") / "data.txt").touch(), True),
    "a lost file": (lambda config: (config.lesson("echo") / "model.py").unlink(), True),
    "another name": (
        lambda config: (config.lesson("echo") / "model.py").rename(config.lesson("echo") / "b.py") and None, True
    ),
    "limits": (lambda config: limited(config, memory_mib=5000), True),
    "the limit of a training": (lambda config: limited(config, prepare_seconds=9), False),
    "isolation": (lambda config: config.model_copy(update={"isolation": Isolation(bubblewrap="never")}), True),
    "folders": (lambda config: config.model_copy(update={"work": "elsewhere", "results": "there"}), False),
}  # fmt: skip


@pytest.mark.parametrize("change", OTHER)
def test_a_lessons_key_is_its_state(house: Config, change: str) -> None:
    """Whatever decides what is made gives another key; what does not leaves the key, and nothing is due."""
    before = code_digest.compute_present_key(house, "echo")
    assert re.fullmatch(r"[0-9a-f]{16}", before)
    make, another = OTHER[change]
    assert (code_digest.compute_present_key(make(house) or house, "echo") != before) is another


@pytest.mark.parametrize("step", code_digest.STEPS)
def test_other_code_is_another_key(house: Config, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """An upgrade of lessonpress makes every lesson due; that of the pages around the lessons makes none."""
    before = code_digest.compute_present_key(house, "echo")
    other = {**code_digest.digest_steps(), step: "other"}
    monkeypatch.setattr(code_digest, "digest_steps", lambda: other)
    assert (code_digest.compute_present_key(house, "echo") != before) is (step != "site")


def test_what_is_installed_is_named_by_its_version(
    house: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another torch is another key; the first folder of Python's path counts, as it does for an import."""
    from importlib.metadata import version

    versions = code_digest.list_installed()
    assert set(versions) == {"python", *code_digest.INSTALLED}
    assert versions["torch"] == version("torch").partition("+")[0]
    before = code_digest.compute_present_key(house, "echo")
    (tmp_path / "first" / "torch-9.9.9+cpu.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "first")
    code_digest.list_installed.cache_clear()
    assert code_digest.list_installed()["torch"] == "9.9.9"
    assert code_digest.compute_present_key(house, "echo") != before
    monkeypatch.undo()
    code_digest.list_installed.cache_clear()


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digests are asked for at every start of Snakemake, and for every lesson."""
    next(copies(tmp_path, monkeypatch))
    read, own = [], Path.read_bytes
    files, below = code_digest.list_files("site"), packaged_files.path("templates")
    templates = len([path for path in files if below in path.parents])
    monkeypatch.setattr(Path, "read_bytes", lambda path: (read.append(path), own(path))[1])
    for _ in range(2):
        code_digest.digest_steps()
    every = {path for step in code_digest.STEPS for path in code_digest.list_files(step)}
    assert len(read) == len(set(read)) <= len(every)
    assert len(every) > templates > 0
