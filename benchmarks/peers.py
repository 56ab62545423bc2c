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
PLACE = PROJECT / "work" / "benchmarks" / "venv"
SIZES = (1, 20)
SCRIPT = '''"""
Lesson {number}
=========

Runs the model and draws what comes out.
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


def python() -> str:
    """The peers' interpreter; their environment is made when it is not there."""
    found = PLACE / "bin" / "python"
    stamp = PLACE / "installed.txt"
    wanted = (PROJECT / "benchmarks" / "requirements.txt").read_text(encoding="utf-8")
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        print("making the environment of the other programs", flush=True)
        shutil.rmtree(PLACE, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(PLACE)], check=True)
        packages = next(PLACE.glob("lib/python*/site-packages"))
        # Ours after its own: the same torch is measured everywhere.
        (packages / "ours.pth").write_text(f"{sysconfig.get_path('purelib')}\n{PROJECT / 'src'}\n", encoding="utf-8")
        requirements = str(PROJECT / "benchmarks" / "requirements.txt")
        subprocess.run([str(found), "-m", "pip", "install", "--quiet", "-r", requirements], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return str(found)


def measured(scratch: Path, sources: Sequence[Path], cores: int) -> Iterator[tuple[str, Took]]:
    """Every peer at 1 and at 20 lessons, cold: its name with the number, and what it took."""
    interpreter = python()
    for count in SIZES:
        for name, run in (("sphinx-gallery", gallery), ("nbconvert --execute", notebooks), ("plain script", plain)):
            folder = Path(tempfile.mkdtemp(dir=scratch))
            took = run(folder, plans(folder, sources, count), interpreter, cores)
            yield f"{name}, {count} lesson{'s' * (count > 1)}", took
            shutil.rmtree(folder)


def plans(folder: Path, sources: Sequence[Path], count: int) -> list[tuple[Path, Path]]:
    """A lesson's folder and its plan, for each of `count` lessons, taking turns over the sources."""
    out = []
    for number in range(count):
        source = sources[number % len(sources)]
        plan = folder / "plans" / f"{number}.json"
        plan.parent.mkdir(exist_ok=True)
        plan.write_text(json.dumps(source_record.make_source_record(reader.read(source))["plan"]), encoding="utf-8")
        out.append((source, plan))
    return out


def scripts(folder: Path, lessons: Sequence[tuple[Path, Path]], save: str) -> list[Path]:
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


def gallery(folder: Path, lessons: Sequence[tuple[Path, Path]], interpreter: str, cores: int) -> Took:
    """sphinx-gallery: all scripts in one process."""
    scripts(folder, lessons, "plt.show()")
    (folder / "examples" / "README.txt").write_text("Lessons\n=======\n", encoding="utf-8")
    (folder / "conf.py").write_text(CONF, encoding="utf-8")
    (folder / "index.rst").write_text("Lessons\n=======\n\n.. toctree::\n\n   gallery/index\n", encoding="utf-8")
    return watched.run((interpreter, "-m", "sphinx", "-q", "-b", "html", ".", "html"), folder)


def notebooks(folder: Path, lessons: Sequence[tuple[Path, Path]], interpreter: str, cores: int) -> Took:
    """nbconvert: a kernel for each notebook."""
    for path in scripts(folder, lessons, "plt.show()"):
        cell = {"cell_type": "code", "id": "one", "metadata": {}, "execution_count": None, "outputs": [],
                "source": path.read_text(encoding="utf-8").replace('matplotlib.use("Agg")', "")}  # fmt: skip
        told = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        path.with_suffix(".ipynb").write_text(json.dumps(told), encoding="utf-8")
    files = [str(path.relative_to(folder)) for path in sorted(folder.glob("examples/*.ipynb"))]
    return watched.run((interpreter, "-m", "nbconvert", "--execute", "--to", "html", *files), folder)


def plain(folder: Path, lessons: Sequence[tuple[Path, Path]], interpreter: str, cores: int) -> Took:
    """Snakemake with one job a lesson, each a Python process that imports torch and draws."""
    scripts(folder, lessons, "plt.savefig({picture!r})")
    (folder / "out").mkdir()
    (folder / "Snakefile").write_text(SNAKEFILE.replace("PYTHON", interpreter), encoding="utf-8")
    return watched.run((sys.executable, "-m", "snakemake", "--cores", str(cores)), folder)
