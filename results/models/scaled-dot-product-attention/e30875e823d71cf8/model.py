"""Causal dot-product attention with the scale 1/sqrt(d_k), and without it (Vaswani et al., 2017)."""

import torch
from torch import nn


class CausalMask(nn.Module):
    """Keep a position from looking at those that come after it."""

    def forward(self, scores):
        """Return the scores with minus infinity where the key comes after the query."""
        later = torch.ones_like(scores, dtype=torch.bool).triu(1)  # [2, query, key]: above the diagonal
        return scores.masked_fill(later, -torch.inf)


class Entropy(nn.Module):
    """Measure how evenly each query spreads its weights."""

    def forward(self, weights):
        """Return the entropy of each row in nats: zero for a single key, log n for n keys alike."""
        return -torch.xlogy(weights, weights).sum(dim=2)  # [2, query]; a weight of zero adds nothing


class ScaledDotProductAttention(nn.Module):
    """Let each query blend the values of the keys up to its own position."""

    def __init__(self):
        """Create the parts; nothing is learned."""
        super().__init__()
        self.mask = CausalMask()
        self.softmax = nn.Softmax(dim=2)
        self.entropy = Entropy()

    def forward(self, queries, keys, values, length):
        """Return the output with the scale, and the entropies with the scale and without it."""
        asked = length * queries  # [query, d_k]: the queries, made longer or shorter all together
        raw = asked @ keys.T  # [query, key]
        scaled = raw / queries.shape[1] ** 0.5  # [query, key]
        both = torch.stack((scaled, raw))  # [2, query, key]: as the method has it, and as it would be without
        weights = self.softmax(self.mask(both))  # [2, query, key]: each row sums to one
        return weights[0] @ values, self.entropy(weights)  # [query, d_v] and [2, query]
