"""Small lessons as teachers write them, each held to PyTorch like those of tests/truth_lessons.py.

They stand for ways of writing: state on the module, hooks, copies, loops that end when something holds, gradients
inside a forward, distributions, sparse and complex numbers, writes in place, sorting and counting, caught errors.
"""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from tests.truth_architectures import IMAGE, POINTS, SERIES
from tests.truth_lessons import IDS, TruthLesson, X

PAIR: dict[str, dict[str, Any]] = {"x": {"shape": [4], "dtype": "float32"}}
LINE = "self.line = nn.Linear(3, 3)"


def model(
    forward: str, parts: str = LINE, inputs: dict[str, dict[str, Any]] = X, follows: str = "all"
) -> TruthLesson:
    """A lesson of indented lines."""
    return TruthLesson(dedent(forward).strip("\n"), dedent(parts).strip("\n"), inputs, follows)


MODELS = {
    # -- state on the module -------------------------------------------------------------------------------------------
    "gru-by-hand": model("""
        self.h = torch.zeros(3, dtype=x.dtype)
        seen = []
        for t, row in enumerate(x[0]):
            a, b = self.enter(row), self.back(self.h)
            (ra, za, na), (rb, zb, nb) = a.split(3), b.split(3)
            r, z = (ra + rb).sigmoid(), (za + zb).sigmoid()
            n = (na + r * nb).tanh()
            self.h = self.h + (1 - z) * (n - self.h)
            seen.append(self.h)
        return torch.stack(seen)
        """, parts="self.enter, self.back = nn.Linear(3, 9), nn.Linear(3, 9)", inputs=SERIES),
    "cache-of-keys": model("""
        self.keys, self.values = [], []
        out = []
        for row in x[0].unbind():
            self.keys.append(self.k(row))
            self.values.append(self.v(row))
            keys, values = torch.stack(self.keys), torch.stack(self.values)
            weight = (keys @ row / 3**0.5).softmax(0)
            out.append((weight[:, None] * values).sum(0))
        return torch.vstack(out)
        """, parts="self.k, self.v = nn.Linear(3, 3), nn.Linear(3, 3)", inputs=SERIES),
    "running-statistics": model("""
        for row in x:
            self.count += 1
            gap = row - self.mean
            self.mean += gap / self.count
            self.spread += gap * (row - self.mean)
        return torch.stack([self.mean, self.spread / self.count])
        """, parts="""
        self.register_buffer('count', torch.tensor(0.0))
        self.register_buffer('mean', torch.zeros(3))
        self.register_buffer('spread', torch.zeros(3))
        """, inputs=POINTS),
    "averaged-teacher": model("""
        import copy
        teacher = copy.deepcopy(self.line)
        with torch.no_grad():
            for mine, theirs in zip(self.line.parameters(), teacher.parameters()):
                theirs.mul_(0.9).add_(mine * x.mean(), alpha=0.1)
        return (self.line(x) - teacher(x)).pow(2)
        """),
    "state-dict-loaded": model("""
        other = nn.Linear(3, 3).to(x.dtype)
        other.load_state_dict({k: v * 2 for k, v in self.line.state_dict().items()})
        return other(x) - self.line(x)
        """),
    "memory-network": model("""
        u = x[0]
        for hop in range(3):
            m, c = self.tables[hop](x), self.tables[hop + 1](x)
            p = torch.softmax(m @ u, dim=0)
            u = u + torch.einsum('i,ij->j', p, c)
        return u
        """, parts="self.tables = nn.ModuleList(nn.Linear(3, 3, bias=False) for _ in range(4))", inputs=POINTS),
    # -- hooks, functions of one's own, gradients inside a forward -----------------------------------------------------
    "hooks": model("""
        seen = []
        handles = [self.line.register_forward_pre_hook(lambda m, a: (a[0] * 2,)),
                   self.line.register_forward_hook(lambda m, a, out: seen.append(out.detach()) or out.clamp(min=-0.5))]
        y = self.line(x)
        [h.remove() for h in handles]
        return y + seen[0] + self.line(x)
        """),
    "straight-through": model("""
        class Sign(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.sign()
            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * (x.abs() <= 1).to(g.dtype)
        x = x.clone().requires_grad_()
        loss = (self.line(Sign.apply(x)) ** 2).sum()
        return torch.autograd.grad(loss, x)[0] + Sign.apply(x)
        """),
    "physics-informed": model("""
        t = x[:, :1].clone().requires_grad_()
        u = torch.tanh(self.a(t))
        u = self.b(u)
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        (ddu,) = torch.autograd.grad(du.sum(), t)
        return torch.cat([u, du, ddu + 4 * u], 1)
        """, parts="self.a, self.b = nn.Linear(1, 4), nn.Linear(4, 1)"),
    "jacobian": model("""
        return torch.func.jacrev(lambda v: torch.tanh(self.line(v)))(x[0])
        """),
    "hessian": model("""
        return torch.autograd.functional.hessian(lambda v: torch.tanh(self.line(v)).pow(2).sum(), x[0])
        """),
    "saliency": model("""
        x = x.clone()
        x.requires_grad = True
        self.zero_grad()
        y = F.relu(self.line(x))
        y[0, 1].backward()
        return x.grad.abs()
        """),
    "clipped-gradients": model("""
        self.zero_grad()
        (self.line(x) ** 2).sum().backward()
        nn.utils.clip_grad_norm_(self.line.parameters(), 0.5)
        return self.line.weight.grad
        """),
    "adversarial-step": model("""
        make = torch.optim.Adam(self.g.parameters(), lr=0.05)
        judge = torch.optim.SGD(self.d.parameters(), lr=0.1, momentum=0.9)
        for _ in range(2):
            fake = self.g(x)
            loss = F.softplus(-self.d(x)).mean() + F.softplus(self.d(fake.detach())).mean()
            judge.zero_grad()
            loss.backward()
            judge.step()
            make.zero_grad()
            F.softplus(-self.d(self.g(x))).mean().backward()
            make.step()
        return torch.cat([self.g(x), self.d(x)], 1)
        """, parts="""
        self.g, self.d = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
        """),
    "energy-langevin": model("""
        for k in range(3):
            x = x.detach().requires_grad_()
            e = self.energy(x).sum()
            g = torch.autograd.grad(e, x)[0]
            x = x - 0.1 * g + 0.05 * torch.randn_like(x)
        return x.detach()
        """, parts="self.energy = nn.Sequential(nn.Linear(3, 4), nn.SiLU(), nn.Linear(4, 1))"),
    "tensor-hook": model("""
        x = x.clone().requires_grad_()
        h = self.line(x)
        h.register_hook(lambda g: g * 3)
        h.pow(2).sum().backward()
        return x.grad
        """),
    # -- loops that end when something holds ---------------------------------------------------------------------------
    "power-iteration": model("""
        a = (x[:, :, None] * x[:, None]).sum(0) + torch.eye(3, dtype=x.dtype)
        v = torch.ones(3, dtype=x.dtype)
        for k in range(20):
            new = a @ v
            new = new / new.norm()
            if (new - v).abs().max() < 1e-3:
                break
            v = new
        return v
        """, parts="pass", inputs=POINTS, follows="near"),
    "settling-memory": model("""
        s = torch.where(x[0] > 0, 1.0, -1.0).to(x.dtype)
        while True:
            new = torch.sign(self.w @ s + 1e-9)
            if torch.equal(new, s):
                break
            s = new
            if self.steps > 4:
                break
            self.steps += 1
        return s * x[1]
        """, parts="""
        p = torch.tensor([[1.0, -1, 1], [-1, -1, 1]])
        self.register_buffer('w', p.T @ p - 2 * torch.eye(3))
        self.steps = 0
        """, follows="near"),
    "adaptive-steps": model("""
        t, h = 0.0, 0.2
        while t < 0.5:
            k = self.field(x)
            whole = x + h * k
            half = x + h / 2 * k
            half = half + h / 2 * self.field(half)
            error = (whole - half).abs().max().item()
            if error > 0.05:
                h /= 2
                continue
            x, t = half, t + h
        return x
        """, parts="self.field = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3))", follows="near"),
    "halting": model("""
        total, out, n = torch.zeros(2, dtype=x.dtype), torch.zeros_like(x), 0
        while (total < 0.99).any() and n < 6:
            p = torch.sigmoid(self.halt(x))[:, 0]
            p = torch.minimum(p, 1 - total)
            x = torch.tanh(self.line(x))
            out = out + p[:, None] * x
            total = total + p
            n += 1
        return out
        """, parts="self.line, self.halt = nn.Linear(3, 3), nn.Linear(3, 1)", follows="near"),
    "beam-search": model("""
        beams = [([0], 0.0)]
        for step in range(3):
            grown = []
            for ids, score in beams:
                logp = F.log_softmax(self.next(self.table.weight[ids[-1]] + x[step % 2]), -1)
                for value, at in zip(*logp.topk(2)):
                    grown.append((ids + [at.item()], score + value.item()))
            beams = sorted(grown, key=lambda b: b[1], reverse=True)[:2]
        return torch.tensor([score for _, score in beams])
        """, parts="self.table, self.next = nn.Embedding(4, 3), nn.Linear(3, 4)", follows="near"),
    "viterbi": model("""
        score, back = x[0, 0], []
        for row in x[0, 1:]:
            best, at = (score[:, None] + self.between).max(0)
            score = best + row
            back.append(at)
        path = [int(score.argmax())]
        for at in reversed(back):
            path.insert(0, int(at[path[0]]))
        return torch.cat([score, torch.tensor(path).to(x.dtype)])
        """, parts="self.between = nn.Parameter(torch.randn(3, 3))", inputs=SERIES, follows="near"),
    "greedy-decoding": model("""
        token, out = torch.tensor(0), []
        h = x[0]
        for _ in range(4):
            h = torch.tanh(self.line(h) + self.table(token))
            logits = self.out(h)
            token = logits.argmax()
            out.append(logits)
            if token == 3:
                break
        return torch.stack(out)
        """, parts="self.line, self.table, self.out = nn.Linear(3, 3), nn.Embedding(4, 3), nn.Linear(3, 4)",
        follows="near"),
    "hard-tree": model("""
        out = []
        for row in x:
            if row[0] > 0.1:
                out.append(self.a(row) if row[1] > 0 else self.b(row))
            else:
                out.append(row * 2)
        return torch.stack(out)
        """, parts="self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)", follows="near"),
    # -- neighbours, sorting, counting ---------------------------------------------------------------------------------
    "nearest-neighbours": model("""
        d = torch.cdist(x, self.known)
        near = d.topk(3, largest=False).indices
        votes = F.one_hot(self.labels[near], 3).sum(1)
        weights = torch.softmax(-d.gather(1, near), 1)
        return votes.to(x.dtype) + (weights[..., None] * self.known[near]).sum(1)
        """, parts="""
        self.register_buffer('known', torch.randn(6, 3))
        self.register_buffer('labels', torch.tensor([0, 1, 2, 0, 1, 2]))
        """),
    "k-means": model("""
        c = x[[0, 3]]
        for _ in range(2):
            mine = torch.cdist(x, c).argmin(1)
            c = torch.stack([x[mine == k].mean(0) if (mine == k).any() else c[k] for k in range(2)])
        return c
        """, parts="pass", inputs=POINTS, follows="near"),
    "ranking-loss": model("""
        s = self.line(x)[:, 0]
        order = s.argsort(descending=True)
        rank = order.argsort()
        gain = (2 ** self.relevance - 1)[order] / torch.log2(torch.arange(4) + 2.0)
        return torch.cat([gain.cumsum(0), rank.to(x.dtype), s[order]])
        """, parts="""
        self.line = nn.Linear(3, 1)
        self.register_buffer('relevance', torch.tensor([3.0, 1, 0, 2]))
        """, inputs=POINTS),
    "counting": model("""
        ids = (x * 2).floor().long().clamp(-3, 3) + 3
        return torch.bincount(ids.flatten(), minlength=7).to(x.dtype) + x.mean()
        """),
    "quantiles": model("""
        flat = self.line(x).flatten()
        return torch.stack([flat.median(), flat.quantile(0.25), flat.kthvalue(2).values, flat.sort().values[-2],
            flat.std(), flat.var(unbiased=False)])
        """),
    "buckets": model("""
        edges = torch.linspace(-2, 2, 5)
        at = torch.bucketize(x, edges)
        low = torch.searchsorted(edges, x.clamp(-2, 2).contiguous())
        return self.height[at] + low * x
        """, parts="self.height = nn.Parameter(torch.randn(6))"),
    "unique": model("""
        values, at, n = torch.unique((x > 0).long(), return_inverse=True, return_counts=True)
        return values[at] * n.sum() + x
        """, follows="near"),
    "scattered": model("""
        to = torch.tensor([0, 2, 2, 1])
        out = torch.zeros(3, 3, dtype=x.dtype)
        out = out.index_add(0, to, x)
        out = out.scatter_add(0, to[:, None].expand(4, 3), x * 2)
        most = x.amax(0)
        out.index_put_((to, torch.tensor([0, 1, 1, 2])), x[:, 0], accumulate=True)
        return out + most
        """, parts="pass", inputs=POINTS),
    # -- writes in place -----------------------------------------------------------------------------------------------
    "dynamic-programming": model("""
        d = torch.full((5, 4), float('inf'), dtype=x.dtype)
        d[0, 0] = 0
        for i in range(4):
            for j in range(3):
                d[i + 1, j + 1] = x[i, j].abs() + torch.min(torch.stack([d[i, j], d[i, j + 1], d[i + 1, j]]))
        return d[1:, 1:]
        """, parts="pass", inputs=POINTS),
    "overlapping-writes": model("""
        y = self.line(x).clone()
        y[:, 1:] += y[:, :-1].clone()
        y[0], y[1] = y[1].clone(), y[0].clone()
        y[y < 0] *= 0.5
        y.view(-1)[::2].add_(1)
        y.T[0].mul_(2)
        y[torch.tensor([0, 1]), torch.tensor([1, 2])] = x[:, 0]
        y.masked_scatter_(x > 1, x * 3)
        return y
        """, follows="near"),
    "masked-attention": model("""
        s = (self.q(x) @ self.k(x).transpose(1, 2)) / 3**0.5
        future = torch.ones(6, 6).triu(1).bool()
        s = s.masked_fill(future, float('-inf'))
        s[:, 0] = float('-inf')
        p = s.softmax(-1)
        return torch.nan_to_num(p) @ x
        """, parts="self.q, self.k = nn.Linear(3, 3), nn.Linear(3, 3)", inputs=SERIES),
    "contrastive": model("""
        z = F.normalize(self.line(x), dim=1)
        s = z @ z.T / 0.5
        off = ~torch.eye(4, dtype=torch.bool)
        others = s[off].view(4, 3)
        same = s[torch.arange(4), torch.tensor([1, 0, 3, 2])]
        return torch.logsumexp(others, 1) - same
        """, inputs=POINTS),
    "swapped-views": model("""
        a = x.clone()
        rows = a.as_strided((2, 2), (3, 1), 1)
        rows *= -1
        b = a.unfold(1, 2, 1).sum(-1)
        a.data = a.data * 2
        c = a.T.flip(0)
        c[0] = 7
        return torch.cat([a.flatten(), b.flatten(), c.flatten()])
        """),
    "strided-and-tiled": model("""
        y = x.tile(2, 2)[::2, 1:].repeat_interleave(2, dim=1)
        y = torch.movedim(y[None], 0, -1).swapaxes(0, 1)
        a, *rest = torch.tensor_split(y, 3)
        return torch.hstack([a.flatten(), *(r.mean().reshape(1) for r in rest)])
        """),
    # -- kinds of numbers ----------------------------------------------------------------------------------------------
    "sparse": model("""
        at = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
        a = torch.sparse_coo_tensor(at, self.w, (4, 4))
        return torch.sparse.mm(a, x) + (a.to_dense() @ x)
        """, parts="self.w = nn.Parameter(torch.randn(4))", inputs=POINTS, follows="nothing"),
    "rotary-complex": model("""
        z = torch.view_as_complex(x.reshape(2, 2).contiguous())
        turn = torch.polar(torch.ones(2, dtype=x.dtype), torch.tensor([0.3, 1.1]).to(x.dtype))
        z = z * turn
        return torch.cat([torch.view_as_real(z).flatten(), z.abs(), z.angle(), (z.conj() * z).real])
        """, parts="pass", inputs=PAIR),
    "fourier-filter": model("""
        z = torch.fft.rfft(x[0], dim=0) * torch.complex(self.re, self.im)
        return torch.fft.irfft(z, n=6, dim=0) + x[0].roll(3, 0)
        """, parts="self.re, self.im = nn.Parameter(torch.randn(4, 3)), nn.Parameter(torch.randn(4, 3))",
        inputs=SERIES),
    "quantised-weights": model("""
        s = self.line.weight.abs().max() / 127
        q = torch.clamp(torch.round(self.line.weight / s), -128, 127).to(torch.int8)
        w = q.to(x.dtype) * s
        sx = x.abs().amax() / 127
        qx = (x / sx).round().clamp(-128, 127)
        return (qx * sx) @ w.T
        """),
    "fake-quantised": model("""
        y = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7)
        return self.line(y)
        """, follows="nothing"),
    "ternary": model("""
        w = self.line.weight
        t = 0.7 * w.abs().mean()
        q = torch.where(w > t, 1.0, torch.where(w < -t, -1.0, 0.0))
        q = w + (q - w).detach()
        return F.linear(x, q, self.line.bias)
        """),
    "whole-number-arithmetic": model("""
        a = (x * 7).round().long()
        return torch.stack([a // 3, a % 3, torch.fmod(a, 3), torch.div(a, 3, rounding_mode='trunc'), a & 3, a | 1,
            a ^ 5, a << 1, a >> 1, ~a, torch.remainder(a, -4)]).to(x.dtype)
        """),
    "bytes-as-pixels": model("""
        return self.line(ids.to(torch.uint8).double() / 255)
        """, parts="self.line = nn.Linear(4, 2).double()", inputs=IDS),
    # -- distributions -------------------------------------------------------------------------------------------------
    "gaussian-latents": model("""
        mu, logvar = self.enc(x).chunk(2, -1)
        q = torch.distributions.Normal(mu, (logvar / 2).exp())
        z = q.rsample()
        p = torch.distributions.Normal(torch.zeros_like(mu), torch.ones_like(mu))
        kl = torch.distributions.kl_divergence(q, p).sum(-1)
        return torch.cat([self.dec(z), kl[:, None]], 1)
        """, parts="self.enc, self.dec = nn.Linear(3, 4), nn.Linear(2, 3)"),
    "policy-loss": model("""
        new = torch.distributions.Categorical(logits=self.line(x))
        old = torch.distributions.Categorical(logits=self.line(x).detach() * 0.9)
        a = torch.tensor([2, 0])
        ratio = (new.log_prob(a) - old.log_prob(a)).exp()
        adv = x[:, 0]
        return torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv) + 0.01 * new.entropy()
        """),
    "gumbel-softmax": model("""
        soft = F.gumbel_softmax(self.line(x), tau=0.7)
        hard = F.gumbel_softmax(self.line(x), hard=True)
        return soft + hard
        """),
    "sampled-tokens": model("""
        p = self.line(x).softmax(-1)
        at = torch.multinomial(p, 1)
        return p.gather(1, at) + at
        """, follows="near"),
    "mixture-density": model("""
        pi, mu, s = self.line(x).chunk(3, -1)
        comp = torch.distributions.Normal(mu, F.softplus(s) + 0.1)
        return torch.logsumexp(F.log_softmax(pi, -1) + comp.log_prob(x[:, :1]), -1)
        """, parts="self.line = nn.Linear(3, 9)"),
    "special-functions": model("""
        p = x.abs() + 0.5
        return torch.stack([torch.erf(x), torch.special.xlogy(p, p), torch.expm1(x), torch.log1p(p), torch.erfc(x)])
        """),
    "bernoulli-kept": model("""
        keep = torch.bernoulli(torch.full((2, 3), 0.5, dtype=x.dtype))
        return x * keep / 0.5
        """),
    # -- linear algebra ------------------------------------------------------------------------------------------------
    "gaussian-process": model("""
        k = lambda a, b: torch.exp(-0.5 * torch.cdist(a, b) ** 2)
        kxx = k(self.at, self.at) + 0.1 * torch.eye(4, dtype=x.dtype)
        low = torch.linalg.cholesky(kxx)
        alpha = torch.cholesky_solve(self.y, low)
        ks = k(x, self.at)
        v = torch.linalg.solve_triangular(low, ks.T, upper=False)
        return torch.cat([ks @ alpha, (1 - (v**2).sum(0))[:, None]], 1)
        """, parts="""
        self.register_buffer('at', torch.randn(4, 3))
        self.register_buffer('y', torch.randn(4, 1))
        """),
    "kalman-filter": model("""
        m, p = torch.zeros(2, dtype=x.dtype), torch.eye(2, dtype=x.dtype)
        h = torch.tensor([[1.0, 0.0]], dtype=x.dtype)
        for z in x[0, :, 0]:
            m, p = self.f @ m, self.f @ p @ self.f.T + 0.1 * torch.eye(2)
            s = h @ p @ h.T + 0.5
            k = p @ h.T @ torch.linalg.inv(s)
            m = m + (k @ (z - h @ m)[None].T).squeeze(-1).squeeze()
            p = (torch.eye(2, dtype=x.dtype) - k @ h) @ p
        return torch.cat([m.flatten(), p.flatten()])
        """, parts="self.register_buffer('f', torch.tensor([[1.0, 1.0], [0.0, 1.0]]))", inputs=SERIES),
    "least-squares": model("""
        a = torch.cat([x, torch.ones(4, 1, dtype=x.dtype)], 1)
        g = a.T @ a + 0.1 * torch.eye(4, dtype=x.dtype)
        return torch.linalg.solve(g, a.T @ self.y) + torch.det(g) * 1e-3 + torch.trace(g)
        """, parts="self.register_buffer('y', torch.randn(4))", inputs=POINTS),
    "principal-axes": model("""
        c = x - x.mean(0)
        values, axes = torch.linalg.eigh(c.T @ c)
        return values
        """, parts="pass", inputs=POINTS, follows="nothing"),
    # -- ways of writing -----------------------------------------------------------------------------------------------
    "named-parts": model("""
        from collections import namedtuple
        Out = namedtuple('Out', 'a b')
        state = {'h': x, 'n': 0}
        for name, layer in self.layers.items():
            state['h'] = layer(state['h'])
            state['n'] += 1
            state[f'seen {name}'] = state['h'].mean()
        o = Out(state['h'], torch.stack([v for k, v in state.items() if k.startswith('seen')]))
        return o.a * state['n'] + o.b.sum()
        """, parts="self.layers = nn.ModuleDict({'one': nn.Linear(3, 3), 'act': nn.Tanh(), 'two': nn.Linear(3, 3)})",
        ),
    "tried-and-caught": model("""
        try:
            y = x @ self.line.weight[:2]
        except RuntimeError:
            y = x @ self.line.weight
        return y
        """),
    "asserted": model("""
        h = self.line(x)
        assert torch.isfinite(h).all(), 'no numbers'
        assert h.shape == (2, 3)
        return h * 2
        """, follows="near"),
    "sorted-by-python": model("""
        rows = sorted(x, key=lambda row: float(row.sum()))
        return torch.stack(rows)
        """, follows="near"),
    "comprehensions": model("""
        return torch.stack([torch.dot(a, b) for i,
            a in enumerate(x) for b in x[i:]]) + sum(x[0]) + sum(r.sum() for r in x)
        """),
    "python-minimum": model("""
        a, b, c = x[0]
        return torch.stack([max(a, b), min(b, c), abs(a), -b, c ** 2, 1 / (2 + c * c), a % 1, a // 1])
        """, follows="near"),
    "scheduled-by-index": model("""
        betas = torch.linspace(0.1, 0.5, 4)
        keep = torch.cumprod(1 - betas, 0)
        out = x
        for t in reversed(range(4)):
            eps = self.line(out)
            out = (out - betas[t] / (1 - keep[t]).sqrt() * eps) / (1 - betas[t]).sqrt()
            if t > 0:
                out = out + betas[t].sqrt() * torch.randn_like(x)
        return out
        """),
    "capsules": model("""
        def squash(s):
            n = (s**2).sum(-1, keepdim=True)
            return n / (1 + n) * s / (n + 1e-8).sqrt()
        u = torch.einsum('ijkl,il->ijk', self.w, x)
        b = torch.zeros(4, 2, dtype=x.dtype)
        for _ in range(3):
            c = b.softmax(1)[..., None]
            v = squash((c * u).sum(0))
            b = b + (u * v).sum(-1).detach()
        return v
        """, parts="self.w = nn.Parameter(torch.randn(4, 2, 2, 3))", inputs=POINTS),
    "vq-straight-through": model("""
        h = self.line(x)
        d = (h**2).sum(1, keepdim=True) - 2 * h @ self.book.weight.T + (self.book.weight**2).sum(1)
        q = self.book(d.argmin(1))
        return h + (q - h).detach() + F.mse_loss(q, h.detach()) * 0.25
        """, parts="self.line, self.book = nn.Linear(3, 3), nn.Embedding(4, 3)"),
    "gated-experts": model("""
        w, at = self.gate(x).softmax(-1).topk(2)
        w = w / w.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(at == e)
            if token.numel():
                out.index_add_(0, token, w[token, slot, None] * expert(x[token]))
        return out
        """, parts="self.gate, self.experts = nn.Linear(3, 3), nn.ModuleList(nn.Linear(3, 3) for _ in range(3))",
        follows="near"),
    "deep-supervision": model("""
        h = F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=False)
        h = F.conv2d(h, self.k, stride=2, padding=1)
        h = F.pad(h, (1, 1, 1, 1), mode='reflect')
        h = F.max_pool2d(h, 2, return_indices=False)
        return F.adaptive_avg_pool2d(h, 1).flatten(1)
        """, parts="self.k = nn.Parameter(torch.randn(2, 2, 3, 3))", inputs=IMAGE),
    "transposed-and-shuffled": model("""
        h = F.conv_transpose2d(x, self.k, stride=2)
        h = F.pixel_shuffle(h[:, :, :8, :8].repeat(1, 2, 1, 1), 2)
        return h.mean((2, 3))
        """, parts="""
        self.k = nn.Parameter(torch.randn(2, 2, 2, 2))
        self.register_buffer('grid', torch.rand(2, 2, 2) * 2 - 1)
        """, inputs=IMAGE),
    "training-normalisation": model("""
        self.train()
        y = self.drop(self.norm(self.line(x)))
        self.eval()
        return y + self.norm(x)
        """, parts="self.line, self.norm, self.drop = nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.4)",
        inputs=POINTS),
    "chosen-by-dtype": model("""
        y = x.double() if x.dtype == torch.float32 else x.float()
        return y * 0.1
        """),
    "losses": model("""
        t = torch.tensor([0, 2])
        h = self.line(x)
        return torch.stack([F.cross_entropy(h, t), F.nll_loss(F.log_softmax(h, -1), t), F.kl_div(F.log_softmax(h,
            -1), x.softmax(-1), reduction='batchmean'), F.huber_loss(h, x), F.l1_loss(h, x),
            F.binary_cross_entropy_with_logits(h, x.sigmoid()), F.mse_loss(h, x)])
        """),
    # -- ways by which a number may leave unseen -----
    "jitter-until-positive": model("""
        a = x.T @ x + self.w
        for jitter in (0.0, 1.0, 10.0, 100.0):
            try:
                low = torch.linalg.cholesky(a + jitter * torch.eye(3, dtype=x.dtype))
                break
            except torch.linalg.LinAlgError:
                continue
        return low
        """, parts="self.register_buffer('w', torch.diag(torch.tensor([-2.0, 0.5, 1.0])))", follows="nothing"),
    "division-caught": model("""
        s = F.relu(x[0, 0]).item()
        try:
            r = 1 / s
        except ZeroDivisionError:
            r = 0.0
        return x * r + x
        """, follows="near"),
    "index-caught": model("""
        try:
            y = self.table(torch.floor(x[0]).long().clamp(max=3)[:1])
        except IndexError:
            y = self.table.weight[:1]
        return y
        """, parts="self.table = nn.Embedding(4, 3)", follows="nothing"),
    "gradient-norms-logged": model("""
        seen = []
        x = x.clone().requires_grad_()
        h = self.line(x)
        h.register_hook(lambda g: seen.append(g.norm().item()))
        h.pow(2).sum().backward()
        return x.detach() * seen[0]
        """, follows="nothing"),
    "numbers-from-a-function": model("""
        seen = []
        class Note(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                seen.append(x.sum().item())
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return g
        y = Note.apply(x)
        return y * seen[0]
        """, follows="nothing"),
    "applied-by-python": model("""
        seen = []
        y = x.clone().apply_(lambda v: seen.append(v) or v * 2)
        return x * seen[0]
        """, follows="nothing"),
    "bits-of-floats": model("""
        y = x.abs().float() + 0.5
        i = 0x5F3759DF - (y.view(torch.int32) >> 1)
        r = i.view(torch.float32)
        return (r * (1.5 - 0.5 * y * r * r)).to(x.dtype)
        """, follows="nothing"),
    "complex-number-read": model("""
        z = torch.complex(x[0, 0], x[0, 1]).item()
        return x * z.real + z.imag
        """, follows="nothing"),
    "type-asked": model("""
        s = x.sum().item()
        return x * (2 if type(s) is float else 3)
        """),
    "statistics-of-python": model("""
        import statistics
        v = x[0].tolist()
        return x * statistics.mean(v) + sum(v) / len(v)
        """, follows="nothing"),
    "decimal-of-python": model("""
        from decimal import Decimal
        return x * float(Decimal(x[0, 0].item()) * 2)
        """, follows="nothing"),
    "fast-encoder": model("""
        with torch.no_grad():
            return self.encoder(x)
        """, parts="self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(3, 1, 4, batch_first=True), 1)",
        inputs=SERIES),
    "fast-attention": model("""
        with torch.inference_mode():
            out, weights = self.attend(x, x, x)
            return out + weights.sum()
        """, parts="self.attend = nn.MultiheadAttention(3, 1, batch_first=True)", inputs=SERIES),
    "ensemble": model("""
        params, buffers = torch.func.stack_module_state(list(self.members))
        one = lambda p, b, v: torch.func.functional_call(self.members[0], (p, b), (v,))
        return torch.vmap(one, in_dims=(0, 0, None))(params, buffers, x)
        """, parts="self.members = nn.ModuleList(nn.Linear(3, 2) for _ in range(3))"),
    "mini-batches": model("""
        data = torch.utils.data.TensorDataset(x, x.sum(1))
        out = []
        for a, b in torch.utils.data.DataLoader(data, batch_size=2, shuffle=True):
            out.append(self.line(a) * b[:, None])
        return torch.cat(out)
        """, inputs=POINTS),
    "second-order": model("""
        w = torch.zeros(3, dtype=x.dtype, requires_grad=True)
        opt = torch.optim.LBFGS([w], max_iter=4)
        def closure():
            opt.zero_grad()
            loss = ((x @ w - x[:, 0]) ** 2).sum() + (w ** 2).sum()
            loss.backward()
            return loss
        opt.step(closure)
        return w.detach()
        """, parts="pass", inputs=POINTS, follows="nothing"),
    "conditional-of-torch": model("""
        return torch.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, (x,))
        """, follows="near"),
    "number-closed-over": model("""
        s = x.sum().item()
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, v):
                return v * s
            @staticmethod
            def backward(ctx, g):
                return g * s
        return Scale.apply(x)
        """, follows="nothing"),
    "number-in-a-transform": model("""
        s = x.sum().item()
        return torch.func.grad(lambda v: (v * v * s).sum())(x)
        """, follows="nothing"),
    "number-from-a-transform": model("""
        seen = []
        g = torch.func.grad(lambda v: (seen.append(v.sum().item()), v.pow(2).sum())[1])(x)
        return x * seen[0] + g * 0
        """, follows="nothing"),
    "packed-for-later": model("""
        seen = []
        x = x.clone().requires_grad_()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.sum().item()) or t, lambda t: t):
            y = (x * x).sum()
        return x.detach() * seen[0]
        """, follows="nothing"),
    "decided-while-printing": model("""
        def step(v):
            self.k = 2.0 if v.sum().item() > 0 else 3.0
            return v
        print('step', step(x), [f'{v:.1f}' for v in x[0].tolist()])
        return x * self.k
        """, follows="near"),
    "matched-by-value": model("""
        match round(x[0, 0].item()):
            case 0:
                return x
            case -1 | 1:
                return x * 2
        return x * 3
        """, follows="near"),
    "truth-of-masks": model("""
        y = x
        if (x > 2).any() or not (x[0] < 1).all():
            y = y * 5
        while y.abs().max() > 1:
            y = y / 2
        return y if -1 < y.sum() < 1 else -y
        """, follows="near"),
    "many-small-functions": model("""
        p = x.abs() + 0.1
        return torch.stack([torch.hypot(x, p), torch.atan2(x, p), torch.logaddexp(x, p), torch.lerp(x, p, 0.3),
            torch.addcdiv(x, p, p), torch.float_power(p, 0.5), torch.nan_to_num(torch.log(x)), torch.frac(x),
            torch.deg2rad(x), torch.logit(x.sigmoid()), torch.exp2(x), torch.cummax(x, 1).values,
            torch.logcumsumexp(x, 1), torch.clamp(x, -p, p)])
        """),
    "products-of-all-kinds": model("""
        return torch.cat([torch.kron(x, x).flatten(), torch.cross(x[0], x[1], dim=0), torch.tensordot(x, x,
            dims=([0], [0])).flatten(), torch.einsum('...i,...i', x,
            x), torch.cov(x).flatten(), torch.diff(x).flatten(), torch.trapezoid(x), torch.cartesian_prod(x[0],
            x[1]).flatten(), torch.block_diag(x, x).flatten(), torch.vander(x[0]).flatten(), torch.outer(x[0],
            x[1]).flatten(), torch.nansum(x)[None], torch.aminmax(x).max[None], torch.histc(x, 4, -2, 2)])
        """, follows="nothing"),
    "sizes-by-numbers": model("""
        n = int(x[0, 0].abs()) + 1
        return torch.cat([torch.arange(n).to(x.dtype), x.flatten()]).sum() * torch.ones(n).sum()
        """, follows="near"),
    "log-text": model("""
        import logging
        logging.getLogger('lesson').info('sum %s', x.sum())
        return x * 2
        """),
}  # fmt: skip
