"""The model's modules: paths, leaves, constructor parameters and tensors."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from watching import Does, Watched

from lessonpress.graph.layout import nest
from lessonpress.worker import modules


@pytest.mark.parametrize(("module", "expected"), [
    (nn.Linear(3, 4), {"in_features": 3, "out_features": 4}),
    (nn.Linear(3, 4, bias=False), {"in_features": 3, "out_features": 4, "bias": False}),
    (nn.GRU(3, 4), {"input_size": 3, "hidden_size": 4}),
    (nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True, dropout=0.5),
     {"input_size": 3, "hidden_size": 4, "num_layers": 2, "batch_first": True, "bidirectional": True, "dropout": 0.5}),
    (nn.GRUCell(3, 4, bias=False), {"input_size": 3, "hidden_size": 4, "bias": False}),
    (nn.RNN(3, 4, nonlinearity="relu"), {"input_size": 3, "hidden_size": 4, "nonlinearity": "relu"}),
    (nn.Embedding(5, 3, padding_idx=0), {"num_embeddings": 5, "embedding_dim": 3, "padding_idx": 0}),
    (nn.Conv1d(2, 4, 3), {"in_channels": 2, "out_channels": 4, "kernel_size": [3]}),
    (nn.Conv2d(2, 4, 3, stride=2, padding=1),
     {"in_channels": 2, "out_channels": 4, "kernel_size": [3, 3], "stride": [2, 2], "padding": [1, 1]}),
    (nn.LayerNorm(4, eps=1e-3), {"normalized_shape": [4], "eps": 1e-3}),
    (nn.BatchNorm1d(4, affine=False), {"num_features": 4, "affine": False}),
    (nn.Softmax(dim=-1), {"dim": -1}), (nn.Dropout(), {}), (nn.Dropout(0.1), {"p": 0.1}),
    (nn.ReLU(inplace=True), {"inplace": True}), (nn.AvgPool2d(2, stride=1), {"kernel_size": 2, "stride": 1}),
    (nn.MultiheadAttention(4, 2, batch_first=True), {"embed_dim": 4, "num_heads": 2, "batch_first": True}),
    (nn.MaxPool2d(2), {"kernel_size": 2}), (nn.LeakyReLU(0.2), {"negative_slope": 0.2}), (nn.Identity(), {}),
    (nn.Flatten(), {}), (nn.Upsample(scale_factor=2), {"scale_factor": 2.0}),
    (nn.GELU("tanh"), {"approximate": "tanh"}), (nn.Conv1d(2, 4, 3, dilation=2, bias=False),
     {"in_channels": 2, "out_channels": 4, "kernel_size": [3], "dilation": [2], "bias": False}),
    (nn.GroupNorm(2, 4), {"num_groups": 2, "num_channels": 4}), (nn.RMSNorm(4), {"normalized_shape": [4]}),
])  # fmt: skip
def test_required_and_changed_constructor_arguments_are_shown(module: nn.Module, expected: dict[str, Any]) -> None:
    """Required arguments always, others when they differ from their default."""
    assert modules.constructor(module) == expected


def _examples() -> dict[str, Callable[[], nn.Module]]:
    """Every class of torch.nn that can be built from small integers."""
    out: dict[str, Callable[[], nn.Module]] = {}
    for name, kind in vars(nn).items():
        if not (isinstance(kind, type) and issubclass(kind, nn.Module)) or name.startswith("Lazy"):
            continue
        if name.endswith("Base"):
            continue
        required = [p for p in list(inspect.signature(kind.__init__).parameters.values())[1:]
                    if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]  # fmt: skip
        if required and not any("module" in p.name or "layer" in p.name or p.name == "cutoffs" for p in required):
            out[name] = functools.partial(kind, *[2] * len(required))
    return out


@pytest.mark.parametrize("name", _examples())
@pytest.mark.filterwarnings("ignore")
def test_required_arguments_of_all_common_layers_are_shown(name: str) -> None:
    """For every layer of torch.nn that two-by-two numbers can build: each required argument is there, and is JSON."""
    try:
        module = _examples()[name]()
    except (TypeError, ValueError, RuntimeError, AttributeError):
        pytest.skip("cannot be built from small integers")
    shown = modules.constructor(module)
    json.dumps(shown, allow_nan=False)
    required = [p.name for p in list(inspect.signature(type(module).__init__).parameters.values())[1:]
                if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]  # fmt: skip
    kept = [argument for argument in required if hasattr(module, argument)]
    assert set(kept) <= set(shown)


def test_parametrised_modules_show_the_class_that_was_named() -> None:
    """A parametrised Linear is a Linear with its arguments, and its bias is there."""
    module = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))
    assert modules.named_class(module) is nn.Linear
    assert modules.is_leaf(module)
    assert modules.constructor(module) == {"in_features": 3, "out_features": 4}


def test_leaves_are_library_modules_without_children() -> None:
    """Recurrent modules and attention are leaves, composites and the author's are not."""

    class Own(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    class Renamed(nn.Linear):
        pass

    class Changed(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x) + 1

    leaves = [
        nn.Linear(1, 1),
        nn.GRU(1, 1),
        nn.LSTMCell(1, 1),
        nn.MultiheadAttention(2, 1),
        nn.Identity(),
        Renamed(1, 1),
    ]
    frames = [
        Own(),
        Changed(1, 1),
        nn.Sequential(nn.ReLU()),
        nn.TransformerEncoderLayer(2, 1, 2),
    ]
    assert [modules.is_leaf(module) for module in leaves] == [True] * len(leaves)
    assert [modules.is_leaf(module) for module in frames] == [False] * len(frames)


def test_paths_are_first_registered_and_others_are_aliases() -> None:
    """Order and names are named_modules()'s, without calling it; tensors come once."""

    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            shared = nn.Linear(2, 2)
            self.blocks = nn.ModuleList([nn.Sequential(shared, nn.ReLU()), nn.Sequential(shared)])
            self.last = shared
            self.table = nn.ParameterDict({"tilt": nn.Parameter(torch.ones(2))})
            self.register_buffer("offset", torch.ones(2), persistent=False)
            self.nothing = None

    model = Odd()
    mapped = modules.ModelMap(model)
    assert list(mapped.modules) == [name for name, _ in model.named_modules()]
    assert mapped.aliases["blocks.0.0"] == ["blocks.1.0", "last"]
    assert [name for name, _ in mapped.tensors("_parameters")] == [name for name, _ in model.named_parameters()]
    assert [name for name, _ in mapped.tensors("_buffers")] == ["offset"]


def test_attributes_that_hide_methods_are_no_obstacle() -> None:
    """Layers named `modules`, `children`, `parameters` or `_get_name` do not stop the map."""
    model = nn.Sequential(nn.Linear(2, 2))
    for name in ("modules", "children", "parameters", "named_modules", "named_parameters", "named_buffers"):
        model.__dict__[name] = []
    assert list(modules.ModelMap(model).describe({})) == ["", "0"]


def test_names_with_any_characters_stay_apart() -> None:
    """Keys with markup, spaces and line ends are kept as they are."""
    keys = ["a<b>&'\"", "has space", "{{ 7*7 }}", "two\nlines", "層", "bell\x07", "a#0@b[0]"]
    model = nn.ModuleDict({key: nn.Linear(1, 1) for key in keys})
    assert list(modules.ModelMap(model).describe({})) == ["", *keys]


def test_what_stands_inside_a_leaf_may_be_called_by_itself(watch: Callable[..., Watched]) -> None:
    """It is drawn beside the leaf: edges end at nodes, and a leaf is no frame."""
    attend = nn.MultiheadAttention(4, 2, batch_first=True)
    seen = watch(Does(lambda m, x: m.attend.out_proj(m.attend(x, x, x)[0]), attend=attend), torch.ones(1, 2, 4))
    layers = seen.layers
    assert (layers["attend"]["kind"], layers["attend"]["parent"]) == ("layer", None)
    assert (layers["attend.out_proj"]["kind"], layers["attend.out_proj"]["parent"]) == ("layer", None)
    assert "attend[0] -> attend.out_proj" in seen.edges
    nest.read_nest(seen.graph["layers"], seen.graph["connections"])
