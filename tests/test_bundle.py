"""What a reader takes home: scripts that are valid Python, checksums that sha256sum reads, a zip of equal bytes."""

import ast
import hashlib
import io
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lessonpress.revision import bundle, worker_files

FILES = {
    "model.py": b"x = 1\n",
    "run.py": b"y",
    "manifest.json": b"{}",
    "SHA256SUMS": b"",
    "bundle.zip": b"",
    "index.html": b"h",
    "preview.svg": b"s",
    "worker/run.py": b"w",
    "a name.txt": b"n",
}


def plan(args: dict[str, Any], inputs: list[list[Any]], **run: Any) -> dict[str, Any]:
    """A plan with one run."""
    planned = {"seed": 3, "mode": "eval", "dtype": "float32", **run, "args": args, "inputs": inputs}
    return {"model": {"file": "deep/model.py", "class": "Echo"}, "runs": [planned]}


def script(project: Path, **parts: Any) -> str:
    """run.py of a plan."""
    template = (project / "templates" / "run.py.txt").read_text("utf-8")
    return bundle.make_run_script(template, plan(parts.pop("args", {}), parts.pop("inputs", []), **parts), ["[1,16]"])


def test_the_script_is_python_without_marks(project: Path) -> None:
    """Every mark of the template is filled in, and the last line's shape stands in the first lines."""
    text = script(project, args={"width": 3}, inputs=[["x", {"shape": [2], "fill": "ones"}]])
    ast.parse(text)
    assert not [word for word in text.replace("\n", " ").split(" ") if word.startswith("@") and word.endswith("@")]
    assert "its last line is [1,16]" in text
    assert "kind(width=3)\n    switch(model, False)" in text
    assert "'deep/model.py', 'Echo', 3" in text


def test_train_mode_is_kept(project: Path) -> None:
    """A lesson that runs in train mode repeats in train mode."""
    assert "switch(model, True)" in script(project, mode="train")


@pytest.mark.parametrize(
    "args", [{"a-b": 1}, {"class": 2}, {"text": '"@INPUTS@\n"'}, {"none": None, "deep": [{"a": {"float": "NaN"}}]}]
)
def test_arguments_of_any_kind_stay_python(project: Path, args: dict[str, Any]) -> None:
    """Names that are no identifiers, text that looks like a mark, numbers that JSON lacks."""
    tree = ast.parse(script(project, args=args))
    assert any(isinstance(node, ast.Call) and getattr(node.func, "id", "") == "kind" for node in ast.walk(tree))


def test_text_that_looks_like_a_mark_is_text(project: Path) -> None:
    """A lesson cannot write into the script by naming an input after one of its marks."""
    text = script(project, inputs=[["@SHAPES@", {"literal": "@CLASS@"}]])
    assert "inputs['@SHAPES@'] = '@CLASS@'" in text


def test_requirements_are_pinned_without_local_builds() -> None:
    """Three packages at exact versions that any package index has."""
    lines = [line for line in bundle.list_requirements().splitlines() if not line.startswith("#")]
    assert [line.split("==")[0] for line in lines] == ["torch", "numpy", "safetensors"]
    assert not any("+" in line for line in lines)


def test_the_workers_own_code_is_taken_along() -> None:
    """`run.py --compare` runs the code that made the record, byte for byte."""
    files = worker_files.collect_worker_files()
    assert {"worker/__init__.py", "worker/run.py", "worker/recorded.py"} <= set(files)
    assert all(data == (worker_files.WORKER.parent / name).read_bytes() for name, data in files.items())


def test_checksums_are_what_sha256sum_checks(tmp_path: Path) -> None:
    """The tool of every Unix machine accepts the list; it leaves out itself and the zip."""
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "SHA256SUMS").write_bytes(bundle.make_checksums(FILES))
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert len(done.stdout.splitlines()) == len(FILES) - 2
    assert f"{hashlib.sha256(b'w').hexdigest()}  worker/run.py\n" in bundle.make_checksums(FILES).decode()


def test_equal_files_are_equal_zips() -> None:
    """No clock, no order of a walk, no version of a compressor is in the bytes."""
    one, two = bundle.zip_bundle(FILES, "a-1"), bundle.zip_bundle(dict(reversed(FILES.items())), "a-1")
    assert one == two


def test_the_zip_unpacks_into_one_folder() -> None:
    """Only what a reader needs to repeat and verify; readable by everybody, dated at zip's beginning."""
    archive = zipfile.ZipFile(io.BytesIO(bundle.zip_bundle(FILES, "a-1")))
    assert archive.testzip() is None
    assert archive.namelist() == sorted(f"a-1/{name}" for name in FILES if name not in bundle.NOT_BUNDLED)
    assert archive.read("a-1/worker/run.py") == b"w"
    assert {(entry.date_time, entry.external_attr >> 16) for entry in archive.infolist()} == {
        ((1980, 1, 1, 0, 0, 0), 0o644)
    }
