"""What the types are there to notice: each of these slips fails `mypy --strict`, and nothing else in the file does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SLIPS = '''\
from lessonpress.build import code_digest, steps
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.cli import commands
from lessonpress.lesson.records import Cases, Connection, Graph, Layer, Plan, SourceRecord, Verdict
from lessonpress.replay.operations.recurrent.kernels import Params
from lessonpress.revision.manifest_schema import Manifest
from lessonpress.worker.records import Call, Recorded


def good(work: LessonBuild, given: commands.Arguments, manifest: Manifest, captured: Recorded, source: SourceRecord,
         plan: Plan, cases: Cases, graph: Graph, verdict: Verdict, params: Params) -> None:
    steps.perform(work, "check")
    commands.run_step("record", given)
    commands.publish(given)
    code_digest.digest_step("site")
    print(manifest["provenance"]["torch"], captured["runs"]["execution"]["calls"][0]["layer"], source["digests"])
    print(plan["runs"][0]["seed"], cases["cases"]["one"]["arrays"]["y"]["dtype"], graph["layers"], verdict["margin"])
    print(params["hidden_size"])


def slips(work: LessonBuild, given: commands.Arguments, manifest: Manifest, captured: Recorded, source: SourceRecord,
          plan: Plan, cases: Cases, graph: Graph, verdict: Verdict, call: Call, layer: Layer, edge: Connection,
          params: Params) -> None:
    steps.perform(work, "chekc")  # slip
    steps.perform_all(work, last="rendre")  # slip
    commands.run_step("excecute", given)  # slip
    commands.pubilsh(given)  # slip
    code_digest.digest_step("sites")  # slip
    print(manifest["provenence"])  # slip
    print(manifest["provenance"]["troch"])  # slip
    print(captured["run"])  # slip
    print(captured["runs"]["execution"]["call"])  # slip
    print(call["layers"])  # slip
    print(source["digest"])  # slip
    print(source["digests"]["source_"])  # slip
    print(plan["runs"][0]["seeds"])  # slip
    print(cases["cases"]["one"]["array"])  # slip
    print(graph["layer"])  # slip
    print(layer["name"])  # slip
    print(edge["from"])  # slip
    print(verdict["pass"])  # slip
    print(params["hiden_size"])  # slip
    verdict["margin"] = None  # slip
'''


def test_a_slip_fails_the_type_check(project: Path) -> None:
    """A misspelt command, step or key, and a value of another kind."""
    file = project / ".mypy_cache" / "slips.py"  # always there: mypy remembers what it has said of a file, and where
    file.parent.mkdir(exist_ok=True)
    file.write_text(SLIPS, encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "src", str(file)], cwd=project, text=True,
                          capture_output=True, timeout=600, check=False)  # fmt: skip
    noticed = {int(match[1]) for match in re.finditer(r"^\S*slips.py:(\d+): error", done.stdout, re.MULTILINE)}
    slips = {at for at, line in enumerate(SLIPS.splitlines(), 1) if line.endswith("# slip")}
    assert noticed == slips, done.stdout + done.stderr
