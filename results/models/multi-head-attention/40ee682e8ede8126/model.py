"""Multi-head attention (Vaswani et al., 2017), written out so that the split into heads can be seen."""

import math

from torch import nn

WIDTH = 8  # features of a word, before and after


class SplitHeads(nn.Module):
    """Cut the features of every word into equal slices and give each head its own slice."""

    def __init__(self, heads):
        """Note how many slices there are; nothing is learned here."""
        super().__init__()
        self.heads = heads

    def forward(self, features):
        """Return [batch, heads, words, width / heads] from [batch, words, width]."""
        slices = features.unflatten(2, (self.heads, -1))  # [batch, words, heads, width / heads]
        return slices.transpose(1, 2)  # [batch, heads, words, width / heads]


class JoinHeads(nn.Module):
    """Lay the heads' results side by side again, head 0 first."""

    def forward(self, contexts):
        """Return [batch, words, width] from [batch, heads, words, width / heads]."""
        return contexts.transpose(1, 2).flatten(2)


class ScaledDotProduct(nn.Module):
    """Let every query weigh every key, in each head for itself."""

    def __init__(self):
        """Create the softmax, which works along the keys."""
        super().__init__()
        self.softmax = nn.Softmax(dim=3)

    def forward(self, queries, keys, values):
        """Return what each query collects, and the weights with which it did."""
        agreement = queries @ keys.transpose(2, 3)  # [batch, heads, queries, keys]
        weights = self.softmax(agreement / math.sqrt(queries.shape[3]))  # over the keys they sum to one
        return weights @ values, weights  # [batch, heads, queries, width / heads]


class AttentionInHeads(nn.Module):
    """Project, split into heads, attend in each head, join, and mix the heads' results."""

    def __init__(self, heads=2):
        """Create four square projections without biases; the heads are slices of them, not layers of their own."""
        super().__init__()
        self.query_projection = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key_projection = nn.Linear(WIDTH, WIDTH, bias=False)
        self.value_projection = nn.Linear(WIDTH, WIDTH, bias=False)
        self.query_heads = SplitHeads(heads)
        self.key_heads = SplitHeads(heads)
        self.value_heads = SplitHeads(heads)
        self.attention = ScaledDotProduct()
        self.join = JoinHeads()
        self.output_projection = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, queries, keys, values):
        """Return one row of features for every query, [batch, queries, width]."""
        asked = self.query_heads(self.query_projection(queries))  # [batch, heads, queries, width / heads]
        offered = self.key_heads(self.key_projection(keys))  # [batch, heads, keys, width / heads]
        carried = self.value_heads(self.value_projection(values))  # [batch, heads, keys, width / heads]
        contexts, _ = self.attention(asked, offered, carried)  # [batch, heads, queries, width / heads]
        return self.output_projection(self.join(contexts))  # [batch, queries, width]
