"""Three ways to score the same annotations against one decoder state (Luong, Pham and Manning, 2015)."""

import torch
from torch import nn

WIDTH = 4  # features of an annotation and of the decoder state


class GeneralScore(nn.Module):
    """Score by the inner product after a learned matrix has turned the annotations."""

    def __init__(self):
        """Create the matrix."""
        super().__init__()
        self.projection = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, annotations, state):
        """Return one score for each source position."""
        return self.projection(annotations) @ state  # [source]


class ConcatScore(nn.Module):
    """Score by a small network that reads the state and an annotation laid end to end."""

    def __init__(self):
        """Create the two layers and the bend between them."""
        super().__init__()
        self.joint = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.tanh = nn.Tanh()
        self.score = nn.Linear(WIDTH, 1, bias=False)

    def forward(self, annotations, state):
        """Return one score for each source position."""
        pairs = torch.cat((state.expand_as(annotations), annotations), dim=1)  # [source, 8]
        return self.score(self.tanh(self.joint(pairs))).squeeze(1)  # [source]


class ThreeScores(nn.Module):
    """Attend once with each score, and mix each context with the state into an attentional state."""

    def __init__(self):
        """Create the two learned scores, the softmax, and the layer that all three contexts go through."""
        super().__init__()
        self.general = GeneralScore()
        self.concat = ConcatScore()
        self.softmax = nn.Softmax(dim=1)
        self.mix = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.tanh = nn.Tanh()

    def forward(self, annotations, state):
        """Return one attentional state for each score."""
        dot = annotations @ state  # [source]: the inner product alone; nothing is learned
        scores = torch.stack((dot, self.general(annotations, state), self.concat(annotations, state)))  # [3, source]
        weights = self.softmax(scores)  # [3, source]: over the source, each row sums to one
        contexts = weights @ annotations  # [3, 4]
        beside = torch.cat((contexts, state.expand_as(contexts)), dim=1)  # [3, 8]
        return self.tanh(self.mix(beside))  # [3, 4]
