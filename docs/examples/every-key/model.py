"""A line whose result is scaled, and what is added to it: small enough to use every key of a recipe."""

import torch
from torch import nn


class ScaledLine(nn.Module):
    """Map points by a line, add what the inputs say, keep the result within bounds, and scale it."""

    def __init__(self, width=3):
        super().__init__()
        self.line = nn.Linear(2, width)
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, points, shift, factor, terms, bounds, extra):
        """Return the scaled map, [points, width], and its halves by column, [2, points, width]."""
        moved = self.line(points) + shift + factor * extra["offset"]
        for term in terms:
            moved = moved + term
        low, high = bounds
        scaled = moved.clamp(low, high) * self.gain
        return scaled, torch.stack([scaled.relu(), -(-scaled).relu()])
