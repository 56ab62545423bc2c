"""The scripts of the pages as modules: each keeps to what the joiner can read, and joined they are one scope."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from lessonpress.core import packaged_files, script_modules
from lessonpress.replay import operations
from lessonpress.replay.operations import script
from lessonpress.web.page import scripts

PAGE = packaged_files.path("templates") / "script"
REPLAY = script_modules.REPLAY
FILES = [*sorted(PAGE.rglob("*.js")), *sorted(REPLAY.rglob("*.js"))]
TABLE_ENTRY = re.compile(r"(?<![.\w])(?:op|EXPLAIN)\.\w+")


def name_of(path: Path) -> str:
    """A file's name in the test's id."""
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_module_keeps_to_what_the_joiner_reads(path: Path) -> None:
    """No import or export in a form that would be left standing; a library begins nothing but definitions."""
    module = script_modules.read_module(path)
    assert not re.search(r"^\s*(import|export)\b", module.text, re.MULTILINE)
    if module.is_library:
        begun = re.findall(r"^[^\s})\]].*$", module.text, re.MULTILINE)
        assert [line for line in begun if not script_modules._DEFINITION.match(line)] == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_what_is_imported_is_exported(path: Path) -> None:
    """Each imported name is a definition with `export` before it, of the file that the import names."""
    for file, names in script_modules.read_module(path).imports.items():
        exported = set(re.findall(r"^export (?:const|let) (\w+)", file.read_text("utf-8"), re.MULTILINE))
        assert set(names) <= exported, file


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_entries_of_tables_come_from_imported_files(path: Path) -> None:
    """A kernel that calls `op.softmax` imports the file that defines it, as a module must."""
    module = script_modules.read_module(path)
    near = {name for file in (path, *module.imports) for name in script_modules.read_definitions(file)}
    assert {*TABLE_ENTRY.findall(module.text)} <= near


def test_no_name_is_defined_twice() -> None:
    """Joined, the modules of a page stand in one scope."""
    names = Counter(name for path in FILES for name in script_modules.read_definitions(path))
    assert {name for name, count in names.items() if count > 1} == set()


def test_no_imports_run_in_a_circle() -> None:
    """One module is below the other, so that each finds what it imports ready."""
    graph = {path: set(script_modules.read_module(path).imports) for path in FILES}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" → ".join(map(name_of, error.args[1])))


def test_kernels_know_nothing_of_the_page() -> None:
    """The interpreter and the kernels compute; only explanations are made for a page."""
    for path in REPLAY.rglob("*.js"):
        if path.name != "explain.js":
            assert all(file.is_relative_to(REPLAY) for file in script_modules.read_module(path).imports), path


def test_an_import_of_a_missing_file_is_named(tmp_path: Path) -> None:
    """Who misspells a file reads which one was looked for, and where."""
    (tmp_path / "a.js").write_text('import { b } from "./nowhere.js";\n')
    with pytest.raises(ValueError, match=r"a\.js: import from \"\./nowhere\.js\""):
        script_modules.read_module(tmp_path / "a.js")


def test_what_nothing_defines_is_named() -> None:
    """Rather than left out of a page; so is what a page's module defines that the page does not import."""
    with pytest.raises(ValueError, match=r"op\.nothing is needed, and no module defines it"):
        operations.javascript(["nothing"])
    with pytest.raises(ValueError, match=r"\w+ is needed, and the page does not import \w+\.js"):
        script_modules.join_modules([], wanted=["EXPLAIN.softmax"], libraries=script.explanation_files())


def live(*names: str) -> dict[str, object]:
    """A page's program, as far as its script depends on it."""
    families = {name: operations.TABLE[name].family for name in names}
    return {"program": {"operations": list(names)}, "families": families, "metrics": []}


def entries_in(text: str, table: str) -> set[str]:
    """The entries that a joined script makes in a table."""
    return set(re.findall(rf"(?<![.\w]){table}\.(\w+) ?=(?!=)", text))


def test_a_page_carries_what_its_program_uses_and_no_more() -> None:
    """One that computes: its kernels and what they call. One that shows records only: none at all."""
    text = "".join(scripts.join_scripts(["live", "console"], live("softmax", "Linear")))
    assert entries_in(text, "op") == {"softmax", "Linear"}
    assert entries_in(text, "EXPLAIN") == {"softmax", "Linear", "linear"}
    assert entries_in(text, "EXPLAIN_FAMILY") == set()
    recorded = "".join(scripts.join_scripts(["recorded"], None))
    assert entries_in(recorded, "op") == entries_in(recorded, "EXPLAIN") == set()


def test_a_page_carries_the_statistics_of_its_metrics() -> None:
    """By name, with what they share with the kernels."""
    metrics = [{"statistic": "argmax", "figure": ("vectors", 0)}, None]
    text = "".join(scripts.join_scripts(["live"], {**live("tanh"), "metrics": metrics}))
    assert entries_in(text, "STATISTICS") == {"argmax"}
    assert "const mostAt" in text
    assert "const lineNorm" not in text


def test_an_operation_without_an_explanation_of_its_own_has_its_familys() -> None:
    """What works element by element is explained once for its whole family."""
    text = "".join(scripts.join_scripts(["live"], live("tanh", "permute", "add")))
    assert entries_in(text, "EXPLAIN") == {"add"}
    assert entries_in(text, "EXPLAIN_FAMILY") == {"elementwise", "shapes"}


def test_every_operation_is_explained() -> None:
    """By itself or by its family."""
    known = script.explanations()
    assert [name for name, row in operations.TABLE.items()
            if not known & {f"EXPLAIN.{name}", f"EXPLAIN_FAMILY.{row.family}"}] == []  # fmt: skip


@pytest.mark.browser
def test_the_modules_are_real_ones() -> None:
    """Node loads every kernel as it stands, without our joiner, and finds the same operations."""
    files = [path.as_uri() for path in script.kernel_files()]
    code = "".join(f"import {file!r};\n" for file in files) + (
        f'import {{ op }} from "{script.INTERPRETER.as_uri()}";\nconsole.log(Object.keys(op).sort().join(" "));'
    )
    done = subprocess.run(["node", "--input-type=module", "--eval", code], capture_output=True, text=True, check=False,
                          timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == sorted(operations.kernels())


TYPOS = {
    "templates/script/machine.js": ("now.inputs", "now.inpust"),  # a property
    "templates/script/sliders.js": ("live.control", "live.controll"),  # one of the page's data
    # of a result
    "src/lessonpress/replay/operations/products/explain.js": ("{ value: numberOf(cell)", "{ valeu: numberOf(cell)"),
    "templates/script/story.js": ("lightNode(step", "lightNod(step"),  # a name
}


@pytest.mark.browser
def test_a_misspelt_name_fails_the_check_of_types(tmp_path: Path, project: Path) -> None:
    """`make lint` finds a wrong letter in a name or a property before a reader meets an empty page."""
    compiler = project / "node_modules" / "typescript" / "bin" / "tsc"
    if not compiler.is_file():
        pytest.skip("TypeScript is not installed here: make lint installs it")
    for folder in ("templates/script", "src/lessonpress/replay"):
        shutil.copytree(project / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for name in ("tsconfig.json", "package.json"):
        shutil.copy(project / name, tmp_path / name)
    for file, (right, wrong) in TYPOS.items():
        text = (tmp_path / file).read_text("utf-8")
        assert right in text
        (tmp_path / file).write_text(text.replace(right, wrong, 1), "utf-8")
    done = subprocess.run(["node", str(compiler), "--project", "tsconfig.json", "--pretty", "false"], cwd=tmp_path,
                          capture_output=True, text=True, check=False, timeout=120)  # fmt: skip
    assert {line.partition("(")[0] for line in done.stdout.splitlines() if not line.startswith(" ")} == TYPOS.keys()


def test_the_tools_are_named_exactly(project: Path) -> None:
    """What checks the scripts is the same everywhere; the lock holds digests and no address to fetch from."""
    declared = (project / "package.json").read_text("utf-8")
    assert re.findall(r'"[^"]+": "[\^~><*]', declared) == []
    assert '"resolved"' not in (project / "package-lock.json").read_text("utf-8")
