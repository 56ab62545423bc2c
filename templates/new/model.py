"""Scores for a few options, and a share for each of them."""

from torch import nn


class SoftChoice(nn.Module):
    """Score options linearly, then share one among them."""

    def __init__(self, features=3, options=4):
        super().__init__()
        self.score = nn.Linear(features, options)

    def forward(self, item, temperature):
        """Return each option's share."""
        scores = self.score(item)  # [options]
        return (scores / temperature).softmax(dim=-1)  # [options], adds up to one
