"""What other programs need for the same models and figures: sphinx-gallery, nbconvert, Snakemake with plain scripts.

None of them isolates, records, checks or compares anything. They get an environment of their own, which sees the
project's packages (torch, numpy) and adds those of benchmarks/requirements.txt.
"""

import json
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import watched
from benchmarks.watched import Took
from lessonpress.build import source_record
from lessonpress.lesson import reader

PROJECT = Path(__file__).resolve().parents[1]
ENVIRONMENT = PROJECT / "work" / "benchmarks" / "venv"
SIZES = (1, 20)
SCRIPT = '''"""
Lesson {number}
=========

Runs the model and draws its output.
"""
import json, sys
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
sys.path.insert(0, {folder!r})
from lessonpress.worker import inputs, load
from lessonpress.worker.run import bind_inputs
plan = json.load(open({plan!r}))
kind = load.import_class({folder!r}, plan["model"]["file"], plan["model"]["class"])
for run in plan["runs"]:
    torch.manual_seed(run["seed"])
    dtype = getattr(torch, run["dtype"])
    model = kind(**inputs.from_json(run["args"])).to(dtype)
    args, kwargs = bind_inputs(model, [(name, inputs.make(spec, dtype)) for name, spec in run["inputs"]])
    with torch.no_grad():
        out = model(*args, **kwargs)
    leaves = [leaf for leaf in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(leaf, torch.Tensor)]
    figure, axes = plt.subplots(1, max(len(leaves), 1), squeeze=False)
    for axis, leaf in zip(axes[0], leaves):
        axis.matshow(leaf.reshape(-1, leaf.shape[-1] if leaf.ndim else 1).double().numpy())
    {save}
'''
CONF = """\
extensions = ["sphinx_gallery.gen_gallery"]
html_theme = "basic"
sphinx_gallery_conf = {"examples_dirs": "examples", "gallery_dirs": "gallery", "filename_pattern": "plot_"}
"""
SNAKEFILE = """\
SLUGS = sorted(glob_wildcards("examples/{slug}.py").slug)
rule all:
    input: expand("out/{slug}.png", slug=SLUGS)
rule draw:
    input: "examples/{slug}.py"
    output: "out/{slug}.png"
    shell: "PYTHON {input}"
"""


def make_environment() -> str:
    """The Python of the other programs; their environment is made where it is missing."""
    interpreter = ENVIRONMENT / "bin" / "python"
    stamp = ENVIRONMENT / "installed.txt"
    wanted = (PROJECT / "benchmarks" / "requirements.txt").read_text(encoding="utf-8")
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        print("making the environment of the other programs", flush=True)
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        packages = next(ENVIRONMENT.glob("lib/python*/site-packages"))
        # Our packages come after its own, so that the same torch is measured everywhere.
        (packages / "ours.pth").write_text(f"{sysconfig.get_path('purelib')}\n{PROJECT / 'src'}\n", encoding="utf-8")
        requirements = str(PROJECT / "benchmarks" / "requirements.txt")
        subprocess.run([str(interpreter), "-m", "pip", "install", "--quiet", "-r", requirements], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return str(interpreter)


def measure_peers(scratch: Path, sources: Sequence[Path], cores: int) -> Iterator[tuple[str, Took]]:
    """Measure every program at 1 and at 20 lessons, cold: its name with the number, and what it took."""
    interpreter = make_environment()
    for count in SIZES:
        for name, run in PROGRAMS.items():
            folder = Path(tempfile.mkdtemp(dir=scratch))
            took = run(folder, write_plans(folder, sources, count), interpreter, cores)
            yield f"{name}, {count} lesson{'s' * (count > 1)}", took
            shutil.rmtree(folder)


def write_plans(folder: Path, sources: Sequence[Path], count: int) -> list[tuple[Path, Path]]:
    """A lesson's folder and its plan, for each of `count` lessons, taking the sources in turn."""
    out = []
    for number in range(count):
        source = sources[number % len(sources)]
        plan = folder / "plans" / f"{number}.json"
        plan.parent.mkdir(exist_ok=True)
        plan.write_text(json.dumps(source_record.make_source_record(reader.read(source))["plan"]), encoding="utf-8")
        out.append((source, plan))
    return out


def write_scripts(folder: Path, lessons: Sequence[tuple[Path, Path]], save: str) -> list[Path]:
    """Write one script for each lesson."""
    (folder / "examples").mkdir()
    out = []
    for number, (source, plan) in enumerate(lessons):
        path = folder / "examples" / f"plot_{number:03d}.py"
        picture = str(folder / "out" / f"{path.stem}.png")
        path.write_text(SCRIPT.format(number=number, folder=str(source), plan=str(plan),
                                      save=save.format(picture=picture)), encoding="utf-8")  # fmt: skip
        out.append(path)
    return out


def run_gallery(folder: Path, lessons: Sequence[tuple[Path, Path]], interpreter: str, cores: int) -> Took:
    """sphinx-gallery: all scripts in one process."""
    write_scripts(folder, lessons, "plt.show()")
    (folder / "examples" / "README.txt").write_text("Lessons\n=======\n", encoding="utf-8")
    (folder / "conf.py").write_text(CONF, encoding="utf-8")
    (folder / "index.rst").write_text("Lessons\n=======\n\n.. toctree::\n\n   gallery/index\n", encoding="utf-8")
    return watched.measure_command((interpreter, "-m", "sphinx", "-q", "-b", "html", ".", "html"), folder)


def run_notebooks(folder: Path, lessons: Sequence[tuple[Path, Path]], interpreter: str, cores: int) -> Took:
    """nbconvert: a kernel for each notebook."""
    for path in write_scripts(folder, lessons, "plt.show()"):
        cell = {"cell_type": "code", "id": "one", "metadata": {}, "execution_count": None, "outputs": [],
                "source": path.read_text(encoding="utf-8").replace('matplotlib.use("Agg")', "")}  # fmt: skip
        notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        path.with_suffix(".ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    files = [str(path.relative_to(folder)) for path in sorted(folder.glob("examples/*.ipynb"))]
    return watched.measure_command((interpreter, "-m", "nbconvert", "--execute", "--to", "html", *files), folder)


def run_plain_scripts(folder: Path, lessons: Sequence[tuple[Path, Path]], interpreter: str, cores: int) -> Took:
    """Snakemake with one job a lesson, each a Python process that imports torch and draws."""
    write_scripts(folder, lessons, "plt.savefig({picture!r})")
    (folder / "out").mkdir()
    (folder / "Snakefile").write_text(SNAKEFILE.replace("PYTHON", interpreter), encoding="utf-8")
    return watched.measure_command((sys.executable, "-m", "snakemake", "--cores", str(cores)), folder)


PROGRAMS = {"sphinx-gallery": run_gallery, "nbconvert --execute": run_notebooks, "plain script": run_plain_scripts}
