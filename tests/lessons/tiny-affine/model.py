"""A line through points: a linear layer, a shift, and a halving that is applied twice."""

from layers import Halve
from torch import nn


class ShiftedLine(nn.Module):
    """Map points, shift what comes out, halve it twice, and give the shift back."""

    def __init__(self, width=3):
        super().__init__()
        self.line = nn.Linear(2, width)  # two coordinates in
        self.halve = Halve()

    def forward(self, points, shift):
        """Return a quarter of the shifted map, and the shift as it came."""
        moved = self.line(points) + shift  # [points, width]
        return self.halve(self.halve(moved)), shift
