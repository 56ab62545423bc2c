"""Small lessons after published architectures, each held to PyTorch like those of tests/truth_lessons.py.

They stand for how people write models: gates, scans, masks, rolled memories, maps between weights.
"""

from __future__ import annotations

from typing import Any

from tests.truth_lessons import IDS, TruthLesson

IMAGE: dict[str, dict[str, Any]] = {"x": {"shape": [1, 2, 4, 4], "dtype": "float32"}}
SERIES: dict[str, dict[str, Any]] = {"x": {"shape": [1, 6, 3], "dtype": "float32"}}
POINTS: dict[str, dict[str, Any]] = {"x": {"shape": [4, 3], "dtype": "float32"}}

ARCHITECTURES = {
    # He et al. 2015
    "residual-bottleneck": TruthLesson(
        "h = F.relu(self.norm(self.down(x)))\nreturn F.relu(x + self.up(F.relu(self.middle(h))))",
        "self.down, self.up = nn.Conv2d(2, 1, 1), nn.Conv2d(1, 2, 1)\n"
        "self.middle, self.norm = nn.Conv2d(1, 1, 3, padding=1), nn.BatchNorm2d(1)", IMAGE),
    # Huang et al. 2016
    "dense-block": TruthLesson(
        "for layer in self.layers:\n    x = torch.cat([x, layer(F.relu(x))], dim=1)\nreturn F.avg_pool2d(x, 2)",
        "self.layers = nn.ModuleList(nn.Conv2d(2 + n, 1, 3, padding=1) for n in range(3))", IMAGE),
    # Hu et al. 2017
    "squeeze-excite": TruthLesson(
        "gate = torch.sigmoid(self.excite(F.relu(self.squeeze(x.mean(dim=(2, 3))))))\n"
        "return x * gate[:, :, None, None]",
        "self.squeeze, self.excite = nn.Linear(2, 1), nn.Linear(1, 2)", IMAGE),
    # Tolstikhin et al. 2021
    "mixer": TruthLesson(
        "x = x + self.tokens(self.norm(x).transpose(1, 2)).transpose(1, 2)\nreturn x + self.channels(self.norm(x))",
        "self.norm = nn.LayerNorm(3)\nself.tokens = nn.Sequential(nn.Linear(6, 4), nn.GELU(), nn.Linear(4, 6))\n"
        "self.channels = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 3))", SERIES),
    # Sitzmann et al. 2020
    "sine-network": TruthLesson("return self.last(torch.sin(30 * self.first(x)))",
                                "self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 1)"),
    # Srivastava et al. 2015
    "highway": TruthLesson("t = torch.sigmoid(self.gate(x) - 1)\nreturn t * F.relu(self.line(x)) + (1 - t) * x",
                           "self.line, self.gate = nn.Linear(3, 3), nn.Linear(3, 3)"),
    # Zaheer et al. 2017, Qi et al. 2016
    "sets": TruthLesson(
        "h = F.relu(self.inner(x))\nreturn self.outer(torch.cat([h.sum(0), h.amax(0), h.mean(0)]))",
        "self.inner, self.outer = nn.Linear(3, 4), nn.Linear(12, 2)", POINTS),
    # Veličković et al. 2017
    "graph-attention": TruthLesson(
        "h = self.line(x)\nscore = F.leaky_relu(h @ self.left + (h @ self.right).T, 0.2)\n"
        "score = score.masked_fill(self.edges == 0, float('-inf'))\nreturn F.elu(score.softmax(-1) @ h)",
        "self.line = nn.Linear(3, 3, bias=False)\n"
        "self.left, self.right = (nn.Parameter(torch.randn(3, 1)) for _ in 'ab')\n"
        "self.register_buffer('edges', torch.eye(4) + torch.eye(4).roll(1, 0))", POINTS),
    # Katharopoulos et al. 2020
    "linear-attention": TruthLesson(
        "q, k, v = F.elu(self.q(x)) + 1, F.elu(self.k(x)) + 1, self.v(x)\n"
        "memory, total = torch.einsum('bti,btj->btij', k, v).cumsum(1), k.cumsum(1)\n"
        "return torch.einsum('bti,btij->btj', q, memory) / (q * total).sum(-1, keepdim=True)",
        "self.q, self.k, self.v = (nn.Linear(3, 3) for _ in range(3))", SERIES),
    # Gu and Dao 2023
    "selective-scan": TruthLesson(
        "step = F.softplus(self.step(x))\nstate, out = x.new_zeros(3, 2), []\nfor t in range(x.size(1)):\n"
        "    d, u = step[0, t, :, None], x[0, t, :, None]\n"
        "    state = torch.exp(-d * self.a.exp()) * state + d * self.b(x[0, t]) * u\n"
        "    out.append(state @ self.c(x[0, t]))\nreturn torch.stack(out)",
        "self.step, self.b, self.c = nn.Linear(3, 3), nn.Linear(3, 2), nn.Linear(3, 2)\n"
        "self.a = nn.Parameter(torch.zeros(3, 2))", SERIES),
    # van den Oord et al. 2016
    "dilated-causal": TruthLesson(
        "h = x.transpose(1, 2)\nfor n, (a, b) in enumerate(zip(self.filters, self.gates)):\n"
        "    wide = F.pad(h, (2**n, 0))\n    h = h + torch.tanh(a(wide)) * torch.sigmoid(b(wide))\nreturn h",
        "self.filters = nn.ModuleList(nn.Conv1d(3, 3, 2, dilation=2**n) for n in range(2))\n"
        "self.gates = nn.ModuleList(nn.Conv1d(3, 3, 2, dilation=2**n) for n in range(2))", SERIES),
    # Graves et al. 2014
    "turing-memory": TruthLesson(
        "w = (4 * F.cosine_similarity(self.memory, self.key(x[0]), dim=-1)).softmax(0)\n"
        "s = self.shift(x[0]).softmax(0)\nw = s[0] * w.roll(1) + s[1] * w + s[2] * w.roll(-1)\n"
        "w = w ** 2\nw = w / w.sum()\nmemory = self.memory * (1 - w[:, None]) + torch.outer(w, x[1])\n"
        "return w @ memory",
        "self.key, self.shift = nn.Linear(3, 3), nn.Linear(3, 3)\nself.register_buffer('memory', torch.randn(5, 3))"),
    # Perez et al. 2017
    "feature-modulation": TruthLesson(
        "scale, shift = self.make(x[1:]).chunk(2, dim=-1)\nreturn scale * self.norm(x[:1]) + shift",
        "self.make, self.norm = nn.Linear(3, 6), nn.LayerNorm(3, elementwise_affine=False)"),
    # Dinh et al. 2016
    "coupling-flow": TruthLesson(
        "logdet = 0\nfor net in self.nets:\n    a, b = x[:, :1], x[:, 1:]\n    s, t = net(a).chunk(2, -1)\n"
        "    x = torch.cat([b * torch.exp(torch.tanh(s)) + t, a], -1)\n    logdet = logdet + torch.tanh(s).sum(-1)\n"
        "return torch.cat([x, logdet[:, None]], -1)",
        "self.nets = nn.ModuleList(nn.Linear(1, 4) for _ in range(2))"),
    # Press et al. 2021
    "linear-biases": TruthLesson(
        "at = torch.arange(x.size(1))\nbias = -0.5 * (at[:, None] - at[None, :]).abs()\n"
        "return F.scaled_dot_product_attention(self.q(x), self.k(x), x, attn_mask=bias.to(x.dtype))",
        "self.q, self.k = nn.Linear(3, 3), nn.Linear(3, 3)", SERIES),
    # Lafferty et al. 2001
    "random-field": TruthLesson(
        "score = x[0, 0]\nfor t in range(1, x.size(1)):\n"
        "    score = torch.logsumexp(score[:, None] + self.between, dim=0) + x[0, t]\nreturn torch.logsumexp(score, 0)",
        "self.between = nn.Parameter(torch.randn(3, 3))", SERIES),
    # Mildenhall et al. 2020
    "volume-rendering": TruthLesson(
        "far = torch.cat([torch.sin(2**n * x) for n in range(2)], -1)\nout = self.field(far)\n"
        "alpha = 1 - torch.exp(-F.relu(out[:, 3]) * 0.5)\n"
        "seen = torch.cumprod(torch.cat([torch.ones(1, dtype=x.dtype), 1 - alpha[:-1]]), 0) * alpha\n"
        "return seen @ torch.sigmoid(out[:, :3])",
        "self.field = nn.Linear(6, 4)", POINTS),
    # Liu et al. 2024
    "spline-network": TruthLesson(
        "hats = F.relu(1 - (x[..., None] - self.knots).abs())\nreturn torch.einsum('bik,oik->bo', hats, self.heights)",
        "self.register_buffer('knots', torch.linspace(-2, 2, 5))\nself.heights = nn.Parameter(torch.randn(2, 3, 5))"),
    # Wang et al. 2015
    "dueling-values": TruthLesson(
        "h = F.relu(self.line(x))\na = self.advantage(h)\nq = self.value(h) + a - a.mean(-1, keepdim=True)\n"
        "return F.smooth_l1_loss(q[0], 0.9 * q[1].max() + x[0], reduction='none')",
        "self.line, self.value, self.advantage = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 3)"),
    # Schulman et al. 2015
    "generalised-advantage": TruthLesson(
        "values = self.critic(x)[:, 0]\nout, last = torch.zeros(3, dtype=x.dtype), 0.0\nfor t in reversed(range(3)):\n"
        "    delta = x[t, 0] + 0.9 * values[t + 1] - values[t]\n    last = delta + 0.9 * 0.95 * last\n"
        "    out[t] = last\n"
        "return out", "self.critic = nn.Linear(3, 1)", POINTS),
    # Rendle 2010
    "factorisation-machine": TruthLesson(
        "pairs = ((x @ self.v) ** 2 - x**2 @ self.v**2).sum(-1) / 2\nreturn self.line(x)[:, 0] + pairs",
        "self.line, self.v = nn.Linear(3, 1), nn.Parameter(torch.randn(3, 2))"),
    # Shi et al. 2015
    "convolutional-recurrence": TruthLesson(
        "h = c = torch.zeros_like(x)\nfor _ in range(2):\n"
        "    i, f, o, g = self.gates(torch.cat([x, h], 1)).chunk(4, 1)\n"
        "    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)\n"
        "    h = torch.sigmoid(o) * torch.tanh(c)\nreturn h",
        "self.gates = nn.Conv2d(4, 8, 3, padding=1)", IMAGE),
    # Tai et al. 2015
    "tree-recurrence": TruthLesson(
        "tree = {0: (1, 3), 1: (2,)}\ndef node(at):\n    own, below = self.leaf(x[at]), tree.get(at, ())\n"
        "    if below:\n        h = torch.stack([node(child) for child in below])\n"
        "        own = own + (torch.sigmoid(self.gate(h)) * h).sum(0)\n    return torch.tanh(own)\nreturn node(0)",
        "self.leaf, self.gate = nn.Linear(3, 3), nn.Linear(3, 3)", POINTS),
    # Jaeger 2001
    "echo-states": TruthLesson(
        "state = torch.zeros(5, dtype=x.dtype)\nfor row in x[0]:\n"
        "    state = 0.7 * state + 0.3 * torch.tanh(self.inner @ state + self.enter(row))\nreturn self.read(state)",
        "self.enter, self.read = nn.Linear(3, 5), nn.Linear(5, 2)\n"
        "self.register_buffer('inner', torch.randn(5, 5) / 3)",
        SERIES),
    # Kim 2014
    "text-convolution": TruthLesson(
        "h = self.table(ids).T[None]\nparts = [F.relu(c(h)).amax(-1) for c in self.filters]\n"
        "return self.out(torch.cat(parts, -1))",
        "self.table, self.out = nn.Embedding(6, 3), nn.Linear(4, 2)\n"
        "self.filters = nn.ModuleList(nn.Conv1d(3, 2, n) for n in (2, 3))", IDS),
    # Mikolov et al. 2013
    "negative-sampling": TruthLesson(
        "score = self.outer(ids[1:]) @ self.inner(ids[0])\nreturn -F.logsigmoid(score * torch.tensor([1.0, -1, -1]))",
        "self.inner, self.outer = nn.Embedding(6, 3), nn.Embedding(6, 3)", IDS),
    # Chen et al. 2018
    "differential-equation": TruthLesson(
        "for _ in range(3):\n    a = self.field(x)\n    b = self.field(x + 0.05 * a)\n"
        "    c = self.field(x + 0.05 * b)\n"
        "    d = self.field(x + 0.1 * c)\n    x = x + 0.1 / 6 * (a + 2 * b + 2 * c + d)\nreturn x",
        "self.field = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3))"),
    # Mena et al. 2018
    "sinkhorn": TruthLesson(
        "p = x[:3] @ self.mix\nfor _ in range(4):\n    p = p - p.logsumexp(0, keepdim=True)\n"
        "    p = p - p.logsumexp(1, keepdim=True)\n"
        "return p.exp()", "self.mix = nn.Parameter(torch.randn(3, 3))", POINTS),
    # Kohonen 1982
    "self-organising-map": TruthLesson(
        "best = torch.cdist(x[:1], self.map).argmin(-1)\nat = torch.arange(5)\n"
        "near = torch.exp(-((at - best).to(x.dtype) ** 2))\nreturn self.map + 0.5 * near[:, None] * (x[:1] - self.map)",
        "self.register_buffer('map', torch.randn(5, 3))", follows="near"),
    # Schroff et al. 2015
    "triplets": TruthLesson(
        "h = F.normalize(self.line(x), dim=-1)\nnear, far = (h[0] - h[1]).norm(), (h[0] - h[2]).norm()\n"
        "return F.relu(near - far + 0.4)",
        "self.line = nn.Linear(3, 2)", POINTS),
    # Huang and Belongie 2017
    "adaptive-instance-norm": TruthLesson(
        "x = x.clamp(-9, 9)  # what cancels in 1e9 is rounding\nstyle = x.flip(-1)\n"
        "mean, std = style.mean((2, 3), keepdim=True), style.std((2, 3), keepdim=True)\n"
        "return (x - x.mean((2, 3), keepdim=True)) / (x.std((2, 3), keepdim=True) + 1e-5) * std + mean", "pass", IMAGE),
    # Jaegle et al. 2021
    "latent-queries": TruthLesson(
        "h, _ = self.attend(self.latents[None], x, x)\nreturn self.latents + self.line(F.gelu(h[0]))",
        "self.latents = nn.Parameter(torch.randn(2, 3))\n"
        "self.attend, self.line = nn.MultiheadAttention(3, 1, batch_first=True), nn.Linear(3, 3)", SERIES),
    # Ha et al. 2016
    "hypernetwork": TruthLesson(
        "made = self.make(x[0]).reshape(3, 3)\nreturn torch.func.functional_call(self.line, {'weight': made}, (x,))",
        "self.make, self.line = nn.Linear(3, 9), nn.Linear(3, 3)"),
    # Miyato et al. 2018
    "bounded-discriminator": TruthLesson(
        "return self.two(F.leaky_relu(self.one(x), 0.1))",
        "norm = nn.utils.parametrizations.spectral_norm\n"
        "self.one, self.two = norm(nn.Linear(3, 4)), norm(nn.Linear(4, 1))"),
    # Schlag et al. 2021
    "fast-weights": TruthLesson(
        "with torch.no_grad():\n    for row in x[0]:\n        k = F.softmax(row, -1)\n"
        "        self.fast.weight += torch.outer(row - self.fast.weight @ k, k)\nreturn self.fast(x[0])",
        "self.fast = nn.Linear(3, 3, bias=False)", SERIES),
}  # fmt: skip
