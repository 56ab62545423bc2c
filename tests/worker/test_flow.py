"""Edges only where data flows: through views, writes, structures, states and what happens outside torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import rnn
from watching import Does, Watched, call

from lessonpress.worker.flow import Flow, Region

Watch = Callable[..., Watched]
GRID = torch.arange(6.0).reshape(2, 3) + 1


# ---- regions of memory ----


def views(base: Tensor) -> st.SearchStrategy[Tensor]:
    """Views of a tensor by slices with steps, transposed or expanded."""
    cut = st.tuples(st.integers(0, 5), st.integers(0, 6), st.integers(1, 3)).map(lambda c: slice(*c))
    return st.tuples(
        cut, cut, st.sampled_from([lambda v: v, lambda v: v.T, lambda v: v[:, None].expand(-1, 2, -1)])
    ).map(lambda parts: parts[2](base[parts[0], parts[1]]))


BASE = torch.arange(36).reshape(6, 6)


@given(views(BASE), views(BASE))
def test_overlap_and_cover_agree_with_sets_of_elements(one: Tensor, other: Tensor) -> None:
    """Two views overlap when they share an element, and one covers another when it holds all of its elements."""
    mine, theirs = set(one.reshape(-1).tolist()), set(other.reshape(-1).tolist())  # BASE[i] is the element's own number
    assert Region(one).overlaps(Region(other)) == bool(mine & theirs)
    if theirs:
        assert Region(one).covers(Region(other)) == (theirs <= mine)


def test_a_region_with_holes_and_repeats_is_not_dense() -> None:
    """Repeated elements do not make up for holes in between."""
    odd = BASE.as_strided((2, 2), (0, 3))
    assert not Region(odd).dense
    assert not Region(odd).overlaps(Region(BASE.as_strided((1,), (1,), 1)))


def test_births_and_writes_are_answered_in_time() -> None:
    """A write is a source of what was there before it and overlaps it, and of nothing that was born later."""
    flow, base = Flow(), torch.zeros(4)
    left, right = base[:2], base[2:]
    for tensor, number in ((base, 0), (left, 1), (right, 2)):
        flow.record_result(tensor, [number, ""])
    flow.record_write(left, [3, ""])
    late = base[:1]
    flow.record_result(late, [4, ""])
    assert [flow.sources(t) for t in (base, left, right, late)] == [[[0, ""], [3, ""]], [[3, ""]], [[2, ""]], [[4, ""]]]


# ---- views and writes ----


def _disjoint(_: Any, x: Tensor) -> Tensor:
    y = x.clone()
    first, second = y[0], y[1]
    first.add_(1)
    second.mul_(2)
    return y.sum()


def test_a_reader_sees_all_writes_into_its_views(watch: Watch) -> None:
    """Two disjoint views were written: the reader's numbers come from both, and from the first value by them alone."""
    seen = watch(Does(_disjoint), GRID)
    assert seen.into("sum@Does#0") == ["add_@Does#0", "mul_@Does#0"]


def test_what_is_overwritten_is_no_source(watch: Watch) -> None:
    """After `zero_` neither the earlier value nor an earlier write flows on, and `zero_` itself reads nothing."""

    def inside(_: Any, x: Tensor) -> Tensor:
        y = x.clone()
        y[0].add_(1)
        y.zero_()
        return y.sum()

    seen = watch(Does(inside), GRID)
    assert seen.into("sum@Does#0") == ["zero_@Does#0"]
    assert seen.into("zero_@Does#0") == []


def test_a_write_beside_a_view_is_no_source_of_it(watch: Watch) -> None:
    """`y[1] = 5` does not reach a view of row 0 that was taken before; `y[0, 1] = 7` does."""

    def inside(_: Any, x: Tensor) -> Any:
        y = x.clone()
        row = y[0]
        y[1] = 5
        before = row * 1
        y[0, 1] = 7
        return before, row * 2, y

    seen = watch(Does(inside), GRID)
    assert seen.into("mul@Does#0") == ["getitem@Does#0"]
    assert seen.into("mul@Does#1") == ["setitem@Does#1"]
    assert seen.into("setitem@Does#1") == ["setitem@Does#0"]
    assert "setitem@Does#1 -> output[2]" in seen.edges
    assert seen.value("setitem@Does#1").tolist() == [[1, 7, 3], [5, 5, 5]]


def test_out_is_written_and_not_read(watch: Watch) -> None:
    """`out=` hands over memory: no edge leads from its old value."""

    def inside(_: Any, x: Tensor) -> Tensor:
        y = torch.zeros(2, 3)
        torch.add(x, x, out=y)
        return y * 2

    seen = watch(Does(inside), GRID)
    assert seen.edges == {"input:x -> add@Does#0", "add@Does#0 -> mul@Does#0", "mul@Does#0 -> output"}


@pytest.mark.parametrize("write", [lambda y, x: y.copy_(x), lambda y, x: y.fill_(x.sum())])
def test_whole_overwrites_read_only_what_they_are_given(watch: Watch, write: Callable[..., Any]) -> None:
    """`copy_` and `fill_` take nothing from the tensor that they write."""

    def inside(_: Any, x: Tensor) -> Tensor:
        y = torch.zeros(2, 3)
        write(y, x)
        return y * 2

    seen = watch(Does(inside), GRID)
    assert not any(edge.startswith("zeros") for edge in seen.edges)
    assert len(seen.into("mul@Does#0")) == 1


def test_writes_into_inputs_are_seen_by_later_readers(watch: Watch) -> None:
    """An input that was changed in place comes from the change; the recorded input is as it was given."""
    seen = watch(Does(lambda _, a, b: (a.add_(1), b.relu_(), a * b)[2]), GRID.clone(), GRID.clone())
    assert seen.into("mul@Does#0") == ["add_@Does#0", "relu_@Does#0"]
    assert np.array_equal(seen.value("input:x0"), GRID.numpy())


def test_in_place_layers_write_too(watch: Watch) -> None:
    """After ReLU(inplace=True) its argument comes from it."""
    seen = watch(Does(lambda s, x: (s.rectify(x), x * 1)[1], rectify=nn.ReLU(inplace=True)), GRID.clone())
    assert seen.into("mul@Does#0") == ["rectify"]


def test_writes_through_data_and_in_inference_mode(watch: Watch) -> None:
    """Writes that torch does not count, through `.data` or in inference mode, are seen all the same."""

    def through_data(_: Any, x: Tensor) -> Tensor:
        y = x + 1
        y.data.mul_(2)
        return y * 1

    def uncounted(_: Any, x: Tensor) -> Tensor:
        with torch.inference_mode():
            y = x + 1
            y.mul_(2)
            y[0] = 3
            return y * 1

    assert watch(Does(through_data), GRID).into("mul@Does#0") == ["mul_@Does#0"]
    seen = watch(Does(uncounted), GRID)
    assert seen.into("mul@Does#0") == ["setitem@Does#0"]
    assert seen.value("setitem@Does#0").tolist() == [[3, 3, 3], [10, 12, 14]]


def test_given_data_makes_a_tensor_another_one(watch: Watch) -> None:
    """After `a.data = b`, a reader of `a` sees what is written into `b`."""

    def inside(_: Any, x: Tensor) -> Tensor:
        a, b = x + 1, x * 2
        a.data = b
        b.add_(1)
        return a - 1

    assert watch(Does(inside), GRID).into("sub@Does#0") == ["add_@Does#0"]


def test_writes_into_empty_tensors_keep_the_chain(watch: Watch) -> None:
    """A tensor without elements still comes from its last operation."""
    assert watch(Does(lambda _, x: x[:0].clone().add_(1) * 2), GRID).into("mul@Does#0") == ["add_@Does#0"]


def test_running_figures_come_from_the_layer_that_changed_them(watch: Watch) -> None:
    """Batch norm writes its buffers without telling torch: a reader gets an edge and the changed number."""
    norm = nn.BatchNorm1d(3, momentum=1.0).train()
    seen = watch(Does(lambda s, x: (s.norm(x), s.norm.running_mean * 1)[1], norm=norm), GRID)
    assert seen.into("mul@Does#0") == ["norm[running_mean]"]
    assert np.array_equal(seen.value("mul@Does#0"), GRID.mean(0).numpy())
    assert not seen.value("buffer:norm.running_mean").any()

    def functional(self: Any, x: Tensor) -> Tensor:
        F.batch_norm(x, self.mean, self.variance, training=True, momentum=1.0)
        return self.mean * 1

    model = Does(functional)
    model.register_buffer("mean", torch.zeros(3))
    model.register_buffer("variance", torch.ones(3))
    assert watch(model, GRID).into("mul@Does#0") == ["batch_norm@Does#0[written.0]"]


# ---- outside torch ----


def test_numbers_that_went_through_numpy_come_from_outside(watch: Watch) -> None:
    """The detour is a marked break, never a false edge."""

    def inside(_: Any, x: Tensor) -> Tensor:
        return torch.from_numpy(np.sort(x.numpy(), axis=1)) + 1

    assert watch(Does(inside), GRID).edges == {"outside@Does#0 -> add@Does#0", "add@Does#0 -> output"}


def test_memory_written_by_numpy_is_noticed(watch: Watch) -> None:
    """A tensor whose array was changed holds an outside value from then on, and that is what is recorded."""

    def inside(_: Any, x: Tensor) -> Tensor:
        y = x + 0
        y.numpy()[0] = 9
        return y * 1

    seen = watch(Does(inside), GRID)
    assert seen.into("mul@Does#0") == ["outside@Does#0"]
    assert seen.value("mul@Does#0").tolist() == [[9, 9, 9], [4, 5, 6]]
    assert seen.value("add@Does#0").tolist() == GRID.tolist()


def test_what_only_looks_at_known_memory_is_no_outside_value(watch: Watch) -> None:
    """A parameter made of a tensor, or a hidden view, has that tensor's source."""
    assert watch(Does(lambda _, x: nn.Parameter(x * 2) + 1), GRID).edges == {
        "input:x -> mul@Does#0", "mul@Does#0 -> add@Does#0", "add@Does#0 -> output"}  # fmt: skip


# ---- structures and states ----


def test_states_of_recurrent_layers_have_their_ports(watch: Watch) -> None:
    """An LSTM's result is (out, (h, c)); states go in and out by their own ports and calls."""

    def inside(self: Any, x: Tensor, h: Tensor, c: Tensor) -> Any:
        out, state = self.read(x, (h, c))
        return self.read(out, state)[1][1]

    given = torch.ones(1, 2, 3), torch.zeros(1, 1, 3), torch.zeros(1, 1, 3)
    seen = watch(Does(inside, read=nn.LSTM(3, 3, batch_first=True)), *given)
    assert seen.edges == {
        "input:x0 -> read#0", "input:x1 -> read#0", "input:x2 -> read#0", "read[0]#0 -> read#1",
        "read[1.0]#0 -> read#1", "read[1.1]#0 -> read#1", "read[1.1]#1 -> output"}  # fmt: skip
    assert seen.value("read[1][0]#0").shape == (1, 1, 3)


def test_packed_sequences_keep_their_edges(watch: Watch) -> None:
    """Pack, LSTM and pad hand on data, sizes and order by path."""

    def inside(self: Any, x: Tensor, lengths: Tensor) -> Tensor:
        packed = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return rnn.pad_packed_sequence(self.read(packed)[0], batch_first=True)[0]

    seen = watch(Does(inside, read=nn.LSTM(3, 2, batch_first=True)), torch.ones(2, 4, 3), torch.tensor([2, 4]))
    assert {"_pack_padded_sequence@Does#0[0] -> read", "read[0.data] -> _pad_packed_sequence@Does#0"} <= seen.edges
    assert not any(edge.startswith("outside") for edge in seen.edges)


def test_outputs_of_many_parts_have_ports(watch: Watch) -> None:
    """Chunks, sorted values and indices are kept apart."""

    def inside(_: Any, x: Tensor) -> Any:
        left, _unused, right = x.chunk(3, dim=1)
        return left + right, x.max(dim=1).indices

    assert watch(Does(inside), GRID).edges == {
        "input:x -> chunk@Does#0", "chunk@Does#0[0] -> add@Does#0", "chunk@Does#0[2] -> add@Does#0",
        "add@Does#0 -> output[0]", "input:x -> max@Does#0", "max@Does#0[1] -> output[1]"}  # fmt: skip


def test_pass_through_twice_and_unused(watch: Watch) -> None:
    """An input given back, one result returned twice, a spare layer and an ignored input are all said."""
    model = Does(lambda s, x, ignored: {"echo": x, "main": (y := s.work(x)), "again": y}, work=nn.Linear(3, 3),
                 spare=nn.Linear(100, 100))  # fmt: skip
    seen = watch(model, GRID, torch.zeros(7))
    assert seen.edges == {
        "input:x0 -> output[echo]",
        "input:x0 -> work",
        "work -> output[main]",
        "work -> output[again]",
    }
    assert seen.graph["unusedInputs"] == ["input:x1"]
    assert seen.graph["idle"] == ["spare"]


def test_identity_hands_on_the_very_tensor(watch: Watch) -> None:
    """A layer that returns its argument is passed through once, without a loop."""
    seen = watch(Does(lambda s, x: s.same(s.work(x)), work=nn.Linear(3, 3), same=nn.Identity()), GRID)
    assert seen.edges == {"input:x -> work", "work -> same", "same -> output"}


def test_tied_weights_are_one_parameter(watch: Watch) -> None:
    """An embedding's weight used for the output, or shared by two layers, has one name."""
    table, head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    head.weight = table.weight
    model = Does(lambda s, x: s.head(s.table(x)) @ s.table.weight, table=table, head=head)
    seen = watch(model, torch.tensor([1, 2]))
    assert list(seen.captured["runs"]["execution"]["params"]) == ["table.weight"]
    assert {name: seen.layers[name]["tensors"] for name in ("table", "head")} == {
        "table": ["table.weight"], "head": ["table.weight"]}  # fmt: skip
    assert seen.layers["matmul@Does#0"]["uses"] == ["param:table.weight"]


def test_state_kept_between_calls_flows_from_the_earlier_call(watch: Watch) -> None:
    """What a module has stored is what a later call reads."""

    def keeps(self: Any, x: Tensor) -> Tensor:
        self.kept = x + getattr(self, "kept", 0)
        return self.kept

    seen = watch(Does(lambda s, x: s.part(x) * s.part(x), part=Does(keeps)), GRID)
    assert seen.into("add@part#1") == ["input:x", "add@part#0"]


def test_nested_inputs_are_one_node_a_leaf() -> None:
    """Each tensor inside a given structure is its own input, by path."""
    seen = call(Does(lambda _, batch: batch["image"] + batch["boxes"][1]),
                {"batch": {"image": GRID, "boxes": [GRID.clone(), GRID.clone()]}})  # fmt: skip
    assert {"input:batch.image -> add@Does#0", "input:batch.boxes.1 -> add@Does#0"} <= seen.edges
    assert seen.graph["unusedInputs"] == ["input:batch.boxes.0"]


def test_edges_say_shape_and_dtype(watch: Watch) -> None:
    """Each connection carries what flows over it."""
    connection = watch(Does(lambda _, x: (x > 2).sum(0)), GRID).graph["connections"][1]
    assert (connection["source"], connection["shape"], connection["dtype"]) == ("gt@Does#0", [2, 3], "bool")
