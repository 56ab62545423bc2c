"""Published numbers find their way back into a capture, to the places that they were cut from."""

from typing import Any

import numpy as np
import pytest

from lessonpress.core import canonical_json
from lessonpress.publishing import equivalence
from lessonpress.web.page.program import pack, read_inputs, unpack
from lessonpress.worker import recorded
from tests import tiny


def run_of(captured: dict[str, Any]) -> recorded.Run:
    """The case `one` of a capture."""
    return recorded.Runs(captured)["one"]


@pytest.mark.parametrize(
    ("tensor", "select", "reshape"),
    [
        ("part.line#1", None, None),
        ("part.line#0", "[0, 1:]", None),
        ("part.line#0", "[1, 2]", None),
        ("part.line#0", "[:, 0]", [2, 1]),
        ("part.line#*", None, None),
        ("part.line#*", "[1, :, 0]", [1, 2]),
        ("add@Pair#0[0]", "[::-1]", [6]),
        ("input:batch.x", "[0]", None),
    ],
)
def test_an_array_goes_back_through_its_cut(tensor: str, select: str | None, reshape: list[int] | None) -> None:
    """Cutting it out again gives the published numbers; what the cut leaves out is as it was."""
    captured = tiny.capture()
    before = run_of(captured)[tensor]
    cut = recorded.select(before, select, reshape)
    published = np.random.default_rng(3).normal(size=cut.shape)
    plan = {"record": [{"id": "it", "tensor": tensor, "select": select, "reshape": reshape}]}
    after = run_of(equivalence.substitute_arrays(captured, plan, {"one: it": published}))[tensor]
    np.testing.assert_array_equal(recorded.select(after, select, reshape), published)
    assert (after != before).sum() == published.size
    assert run_of(captured)[tensor].tolist() == before.tolist()  # the capture that was given is as it was


def test_other_cases_stay() -> None:
    """A case's array goes into that case alone."""
    captured = tiny.capture()
    plan = {"record": [{"id": "it", "tensor": "part.line#0", "select": None, "reshape": None}]}
    after = equivalence.substitute_arrays(captured, plan, {"one: it": np.full((2, 3), 7.0)})
    np.testing.assert_array_equal(
        recorded.Runs(after)["two"]["part.line#0"], recorded.Runs(captured)["two"]["part.line#0"]
    )


def test_inputs_go_back_by_case_and_leaf() -> None:
    """A nested input is found by its dotted path, in its own dtype."""
    captured = tiny.capture()
    after = equivalence.substitute_inputs(captured, {"one": {"batch.x": np.full((2, 3), 0.1)}})
    np.testing.assert_array_equal(run_of(after)["input:batch.x"], np.full((2, 3), 0.1))


def test_cases_take_the_published_numbers(tmp_path: Any) -> None:
    """Arrays and metrics come from the identity; kinds and shapes stay those of the new run."""
    (tmp_path / "identity.json").write_text('{"recorded":{"a":{"m":[1.5,"NaN"],"total":3}}}', encoding="utf-8")
    (tmp_path / "manifest.json").write_text('{"experiment":null}', encoding="utf-8")
    new = {
        "cases": {
            "a": {"arrays": {"m": {"dtype": "float64", "shape": [2], "values": [1.6, 0.0]}}, "metrics": {"total": 4}}
        }
    }
    assert equivalence.substitute_cases(new, tmp_path) == {"cases": {"a": {
        "arrays": {"m": {"dtype": "float64", "shape": [2], "values": [1.5, "NaN"]}}, "metrics": {"total": 3},
    }}}  # fmt: skip


PACKED = {
    "float64": np.array([[0.1, -np.inf], [np.nan, 5e-324]]), "float32": np.array([0.5, 3.0, -1e30], "float32"),
    "int64": np.array([[1, -2, 3]]), "bool": np.array([True, False]), "empty": np.zeros((0, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", PACKED)
def test_what_a_page_packs_is_read_back(name: str) -> None:
    """Every bit of an array survives the page's data block, in the narrowest dtype that holds it."""
    array = PACKED[name]
    values = [v if np.isfinite(v) else {"float": repr(v).replace("inf", "Infinity")} for v in array.ravel().tolist()]
    array_record = {"dtype": str(array.dtype), "shape": list(array.shape), "values": values}
    back = unpack(pack(array_record))
    np.testing.assert_array_equal(back.astype(array.dtype), array)
    text = canonical_json.dumps({"live": {"cases": {"one": {"inputs": {"x": pack(array_record)}}}}})
    page = f'<p>x</p><script type="application/json" id="page-data">{text}</script>'
    np.testing.assert_array_equal(read_inputs(page)["one"]["x"], back)


def test_a_page_that_computes_nothing_offers_nothing() -> None:
    """Neither a page of recorded values nor one without data."""
    assert read_inputs('<script type="application/json" id="page-data">{"live":null}</script>') == {}
    assert read_inputs("<p>old</p>") == {}
