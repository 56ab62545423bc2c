"""Following a number, operation by operation: what the page writes out must be the number itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lessonpress.replay import operations
from lessonpress.web.page import scripts
from tests import javascript_runner
from tests.operation_cases import ALL
from tests.replay.test_operations import BY_NAME, bound, job

pytestmark = pytest.mark.browser
EMPTY = {"program": {"ports": [], "steps": []}, "tensors": {}, "cases": {}, "modules": {}, "metrics": []}
# What the page's scripts find their data by; the harness gives them one program after the other.
DATA = json.dumps(json.dumps({"live": EMPTY}))
DOCUMENT = f"const document = {{ getElementById: () => ({{ textContent: {DATA} }}) }};"
HARNESS = Path(__file__).parents[1] / "js" / "explain.js"


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """For every case of the table the elements that the page cannot write out."""
    families = {name: row.family for name, row in operations.TABLE.items()}
    live = {"program": {"operations": sorted(families)}, "families": families, "metrics": []}
    data = {"families": families, "cases": [job(bound(one)) for one in ALL]}
    parts = [DOCUMENT, *scripts.join_scripts(["machine", "explain"], live), HARNESS.read_text(encoding="utf-8")]
    results: list[list[str]] = javascript_runner.run("\n".join(parts), data, folder=tmp_path_factory.mktemp("js"))
    return results


@pytest.mark.parametrize("name", BY_NAME)
def test_every_element_is_written_out(name: str, lost: list[list[str]]) -> None:
    """Each element of each result is written out as its value, in every case of an operation."""
    assert {f"case {at + 1} of {name}": lost[number] for at, number in enumerate(BY_NAME[name]) if lost[number]} == {}
