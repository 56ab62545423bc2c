"""A small lesson's manifest, made by hand, for the tests of its page."""

from __future__ import annotations

import copy
from typing import Any

from lessonpress.lesson.recipe import Recipe

REVISION = "5eed5eed5eed5eed"
SOURCE = '''"""A layer that weighs three words."""

from torch import nn


class Weigher(nn.Module):
    """Scores each word and makes the scores sum to one."""

    def __init__(self):
        super().__init__()
        self.score = nn.Linear(2, 1)
        self.share = nn.Softmax(dim=0)

    def forward(self, words):
        return self.share(
            self.score(words)
        )
'''
GRAPH = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 100" width="120" height="100" role="img" aria-label="g">'
    '<g class="node" data-id="score" tabindex="0"><rect width="100" height="30"/><text y="20">score</text></g>'
    '<g class="node" data-id="share" tabindex="0"><rect y="50" width="100" height="30"/><text y="70">share</text></g>'
    "</svg>"
)
BARE = Recipe.model_validate({
    "schema": 1, "slug": "bare", "title": "Bare", "model": {"class": "Bare"}, "execution": {},
})  # fmt: skip
RECIPE = Recipe.model_validate({
    "schema": 1, "slug": "weigher", "title": "How are three words weighed?", "model": {"class": "Weigher"},
    "execution": {"seed": 3, "mode": "eval", "dtype": "float32", "inputs": {"words": {}, "bias": {}}},
    "experiment": {"seed": 4, "dtype": "float64", "cases": [{"id": "quiet"}, {"id": "loud"}]},
})  # fmt: skip


def _case(name: str, words: list[list[Any]], shares: list[Any]) -> dict[str, Any]:
    return {
        "id": name,
        "label": name.capitalize(),
        "note": f"A note on {name}.",
        "matrices": [
            {
                "id": "words",
                "label": "Words, $w_i$",
                "values": words,
                "rows": {"name": "word", "labels": ["I", "love", "cats"]},
                "columns": {"name": "feature"},
            },
            {"id": "scores", "label": "Scores", "values": [[share - 0.375 for share in shares]]},
        ],
        "vectors": [{"id": "shares", "label": "Shares", "values": shares, "axis": {"name": "word"}}],
        "metrics": [{"id": "sum", "label": "Sum of shares", "value": sum(shares)}],
    }


_MANIFEST: dict[str, Any] = {
    "schemaVersion": 1,
    "slug": "weigher",
    "title": "How are three words weighed?",
    "className": "Weigher",
    "question": "Which word *wins*?",
    "description": "Scores become shares: $$s_i = \\frac{e^{x_i}}{\\sum_j e^{x_j}}$$",
    "category": "Warm-up",
    "tags": ["softmax", "linear"],
    "curator": "The curator",
    "attribution": "Made by hand.",
    "license": "MIT",
    "limitations": "Nothing is trained.",
    "openingStep": "share",
    "milestone": {
        "name": "Softmax",
        "year": 1868,
        "kind": "Function",
        "fidelity": "As it was.",
        "papers": [{"title": "On equilibrium", "url": "https://example.org/paper"}],
    },
    "steps": [
        {"id": "score", "target": "score", "title": "Score", "note": "Each word gets a score."},
        {"id": "share", "target": "share", "title": "Share", "note": "The scores become shares."},
    ],
    "glossary": [{"term": "share", "beginner": "A part of one.", "expert": "A softmax weight."}],
    "layers": [
        {
            "id": "score", "label": "score", "op": "Linear", "kind": "layer", "parent": None, "calls": 1,
            "params": {"in_features": 2, "out_features": 1}, "outputs": [{"shape": [3, 1], "dtype": "float32"}],
            "source": {"file": "model.py", "line": 11, "endLine": 11},
            "called": [{"file": "model.py", "line": 16, "endLine": 16, "column": 13, "endColumn": 30}],
        },
        {
            "id": "share", "label": "share", "op": "Softmax", "kind": "layer", "parent": None, "calls": 1,
            "params": {"dim": 0}, "outputs": [{"shape": [3, 1], "dtype": "float32"}],
            "source": {"file": "model.py", "line": 12, "endLine": 12},
            "called": [{"file": "model.py", "line": 15, "endLine": 17, "column": 16, "endColumn": 10}],
        },
    ],
    "connections": [
        {"id": "edge-1", "source": "score", "target": "share", "sourcePort": None, "targetPort": None,
         "shape": [3, 1], "dtype": "float32"},
    ],
    "experiment": {
        "kind": "matrices",
        "title": "Two places",
        "description": "The same words, twice.",
        "control": {"input": "words", "label": "Space", "range": [-1, 1]},
        "cases": [
            _case("quiet", [[0.125, -0.5], [0.0, 0.25], [1.0, -1.0]], [0.25, 0.5, 0.25]),
            _case("loud", [[0.125, -0.5], [0.0, 0.25], [1.0, -1.0]], [0.12345678901234567, 0.75, 0.125]),
        ],
    },
    "checks": [
        {"id": "sum", "sentence": "The shares sum to one.", "passed": True, "measured": 3.14e-17, "bound": 1e-12,
         "sense": "<=", "margin": 8.765e-13, "mutants": [
             {"id": "twice", "sentence": "Shares were doubled.", "failed": True, "measured": 2.0, "bound": 1e-12},
             {"id": "same", "sentence": "Nothing was done.", "failed": False, "measured": 0.0, "bound": 1e-12},
         ]},
    ],
    "replay": {"covered": True, "maxDifference": 4.44e-16, "uncovered": []},
    "provenance": {
        "capturedAt": "2031-05-06T07:08:09+00:00",
        "productRevision": "c0ffee" * 6 + "c0ff",
        "sourceSha256": "12" * 32,
        "weightsSha256": "34" * 32,
        "initialisation": "portable-1",
        "python": "3.11.97",
        "torch": "2.13.0+patched",
        "host": {"system": "Plan9 machine"},
        "cpu": {"capability": "CPULEVEL"},
        "isolation": {"profile": "posix-basic", "limits": {"wall": 61}},
        "settings": {"OMP_NUM_THREADS": "1", "deterministic": True},
        "execution": {
            "inputs": {"args": [
                {"shape": [3, 2], "dtype": "float32", "fill": "randn"},
                {"values": [0.5], "dtype": "float32"},
            ]},
            "device": "cpu", "mode": "eval", "seed": 3, "deterministic": True,
        },
        "outputShape": [3, 1],
        "outputs": [{"path": "", "shape": [3, 1], "dtype": "float32"}],
    },
    "revision": REVISION,
    "files": {
        "model.py": {"url": f"/models/weigher/{REVISION}/model.py", "sha256": "56" * 32, "bytes": 412},
        "run.py": {"url": f"/models/weigher/{REVISION}/run.py", "sha256": "78" * 32, "bytes": 6607},
    },
}  # fmt: skip

# Facts of the machine and the moment, which may appear in volatile elements only.
VOLATILE = (
    "2031-05-06", "c0ffee", "3.11.97", "patched", "Plan9", "CPULEVEL", "posix-basic", "3.14e-17", "8.765e-13",
    "4.44e-16",
)  # fmt: skip


def manifest() -> dict[str, Any]:
    """A fresh copy of the manifest, so that a test may change it."""
    return copy.deepcopy(_MANIFEST)
