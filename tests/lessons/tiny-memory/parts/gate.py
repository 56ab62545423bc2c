"""A gate that mixes two states."""

import torch
from torch import nn


class Gate(nn.Module):
    """Mix two states by a learned share."""

    def __init__(self, width):
        """Create the scoring layer."""
        super().__init__()
        self.score = nn.Linear(2 * width, width)

    def forward(self, left, right):
        """Return share * left + (1 - share) * right."""
        share = torch.sigmoid(self.score(torch.cat([left, right], dim=-1)))
        return share * left + (1 - share) * right
