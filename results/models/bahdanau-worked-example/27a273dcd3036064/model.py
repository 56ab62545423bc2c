"""Additive attention over three words with every weight given, after a worked example in a handbook chapter."""

import torch
from torch import nn

W = ((0.3, -0.2, 0.5, 0.1), (0.4, 0.6, -0.1, 0.2), (-0.2, 0.3, 0.4, -0.5))  # [3, 4]: turns the decoder state
U = ((0.2, 0.4, -0.3, 0.1), (-0.1, 0.5, 0.2, 0.3), (0.6, -0.2, 0.1, 0.4))  # [3, 4]: turns an annotation
V = ((0.5, -0.3, 0.4),)  # [1, 3]: reads the score off the joint features


def linear(rows):
    """Return a layer without bias that holds the given matrix, in double precision so that 0.3 stays 0.3."""
    layer = nn.Linear(len(rows[0]), len(rows), bias=False)
    layer.weight = nn.Parameter(torch.tensor(rows, dtype=torch.float64))
    return layer


class AdditiveAlignment(nn.Module):
    """Score each word's annotation against the decoder state, and blend the annotations by their scores."""

    def __init__(self):
        """Create the layers in the order in which they are used."""
        super().__init__()
        self.state_projection = linear(W)
        self.annotation_projection = linear(U)
        self.tanh = nn.Tanh()
        self.score = linear(V)
        self.softmax = nn.Softmax(dim=0)

    def forward(self, annotations, state):
        """Return the context vector."""
        joint = self.tanh(self.annotation_projection(annotations) + self.state_projection(state))  # [word, 3]
        scores = self.score(joint).squeeze(1)  # [word]
        weights = self.softmax(scores)  # [word]: shares of one
        return weights @ annotations  # [4]


class Comparison(nn.Module):
    """Say how near a blend lies to each of its ingredients: by direction, and feature by feature."""

    def forward(self, annotations, context):
        """Return the cosine of the angle to each annotation, and the mean size of the difference."""
        lengths = annotations.norm(dim=1) * context.norm()  # [word]
        cosine = annotations @ context / lengths  # [word]: one for the same direction, zero for a right angle
        difference = (annotations - context).abs().mean(dim=1)  # [word]
        return cosine, difference


class WorkedExample(nn.Module):
    """Attend from one decoder state over three annotations, then compare the context with them."""

    def __init__(self):
        """Create the alignment and the comparison."""
        super().__init__()
        self.alignment = AdditiveAlignment()
        self.comparison = Comparison()

    def forward(self, annotations, state):
        """Return the context, its cosine similarity to each annotation and its mean difference from each."""
        context = self.alignment(annotations, state)  # [4]
        cosine, difference = self.comparison(annotations, context)  # [word] each
        return context, cosine, difference
