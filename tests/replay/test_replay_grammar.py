"""Random modules from a grammar of operations: replaying the traced graph equals running the module."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lessonpress.replay import operations
from tests.replay import test_replay as replaying

PARTS = """
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)
        self.cell = nn.GRUCell(4, 4)
        self.gru = nn.GRU(4, 2, bidirectional=True, batch_first=True)
        self.lstm = nn.LSTM(4, 4, num_layers=2, batch_first=True)
        self.attend = nn.MultiheadAttention(4, 2, batch_first=True)
        self.conv = nn.Conv1d(3, 3, 3, padding=1)
        self.drop = nn.Dropout(0.5)
        self.block = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
        self.table = nn.Embedding(4, 4)
        self.scale = nn.Parameter(torch.full((4,), 0.75))
"""
# Every expression takes and gives a [3, 4] matrix.
EXPRESSIONS = [
    "{a} + {b}", "{a} * {b}", "{a} - 2 * {b}", "1 - {a}", "{a} / (1 + {b}.abs())", "-{a}", "{a} % 2 + {b}",
    "torch.tanh({a})", "{a}.sigmoid()", "F.gelu({a})", "F.silu({a})", "torch.relu({a})", "F.elu({a})",
    "F.softplus({a})",
    "{a}.softmax(-1)", "F.log_softmax({a}, dim=0)", "{a} @ {b}.T @ {b}", "torch.einsum('ij,kj->ik', {a}, {b}) @ {b}",
    "torch.exp({a}.clamp(max=1))", "torch.where({a} > {b}, {a}, {b})", "{a}.masked_fill({b} > 0, -1.0)",
    "{a}.mean(dim=1, keepdim=True) + {b}", "{a}.max(dim=0).values + {b}", "{a}.sum(0) * {b}", "{a}.amin() * {b}",
    "torch.cat([{a}, {b}], 0)[1:4]", "torch.cat([{a}, {b}], 1)[:, ::2]", "torch.stack([{a}, {b}]).mean(0)",
    "{a}.T.reshape(3, 4)", "torch.flip({a}, [1])", "{a}.roll(1, 0)", "{a}.cumsum(1)", "{a}.chunk(2, 1)[0].repeat(1, 2)",
    "torch.maximum({a}, {b})", "{a}.pow(2).add(1).sqrt()", "F.layer_norm({a}, (4,))", "{a}.triu() + {b}.tril()",
    "F.scaled_dot_product_attention({a}[None], {b}[None], {a}[None])[0]", "{a}.var(1, keepdim=True) * {b}",
    "{a}.unsqueeze(1).expand(3, 2, 4).sum(1)", "{a}.norm(dim=1, keepdim=True) + {b}", "{a} * self.scale",
    "self.linear({a})", "self.norm({a})", "self.cell({a}, {b})", "self.gru({a}[None])[0][0]", "self.drop({a})",
    "self.lstm({a}[None])[1][0][0].expand(3, 4) + {b}", "self.attend({a}[None], {b}[None], {b}[None])[0][0]",
    "self.conv({a}[None])[0]", "self.block({a})", "self.table(({a} > 0).sum(1).clamp(max=3)) + {b}",
    "torch.zeros(3, 4) + {a}.detach()", "torch.arange(4) * {a}", "{a}.reshape(-1, 2).permute(1, 0).reshape(3, 4)",
]  # fmt: skip
STATEMENTS = [
    "{a} = {a}.clone().mul_(0.5)", "{a} = {a}.clone(); {a}[1] = {b}[0]", "{a} = {a} + 0; {a}[:, :2].tanh_()",
    "for _ in range(2): {a} = self.linear({a}).tanh()", "{a}, {b} = {b}, {a}",
]  # fmt: skip


@given(
    st.lists(
        st.tuples(st.sampled_from([*EXPRESSIONS, *STATEMENTS]), st.integers(0, 7), st.integers(0, 7)),
        min_size=1,
        max_size=12,
    )
)
@settings(max_examples=120)
def test_replaying_a_random_module_equals_running_it(steps: list[tuple[str, int, int]]) -> None:
    """Every recorded number comes back, and the program of one case computes the other case's output."""
    lines, names = [], ["x", "y"]
    for text, first, second in steps:
        line = text.format(a=names[first % len(names)], b=names[second % len(names)])
        if text in EXPRESSIONS:
            names.append(f"v{len(names)}")
            line = f"{names[-1]} = {line}"
        lines.append(line)
    body = "\n".join(f"        {line}" for line in [*lines, f"return {names[-1]} + {names[-2]}, {names[-1]}.sum()"])
    source = f"class Model(nn.Module):{PARTS}\n    def forward(self, x, y):\n{body}\n"
    capture = replaying.captured(source, {"x": [3, 4], "y": [3, 4]})
    built = replaying.built(capture)
    assert built.certificate.uncovered == ()
    assert built.certificate.max_difference is not None
    assert built.certificate.max_difference < 1e-12
    live = replaying.given(capture, "b", built.program)
    values = operations.run_program(built.program, replaying.arrays(live["inputs"]), replaying.arrays(live["tensors"]))
    assert replaying.largest_difference(values, replaying.outputs(capture, "b")) < 1e-12
