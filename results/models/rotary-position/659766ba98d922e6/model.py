"""Rotary position embedding (Su et al., 2021): queries and keys are turned by an angle that grows with the position."""

import math

import torch
from torch import nn

WORDS = 6  # words in a row
WIDTH = 8  # features of a word, of a query and of a key: four pairs
BASE = 10000  # from which the paces of the pairs are made


class Rotary(nn.Module):
    """Turn every pair of features by its position times the pair's own pace."""

    def __init__(self):
        """Work out the paces, in radians a position: 1, 0.1, 0.01 and 0.001. Nothing is learned here."""
        super().__init__()
        self.paces = [BASE ** (pair / WIDTH) for pair in (0, -2, -4, -6)]

    def forward(self, features, positions):
        """Return the features [sides, words, 8] with every pair turned; a pair's length stays as it was."""
        angles = positions.unsqueeze(2) * positions.new_tensor(self.paces)  # [sides, words, pairs], in radians
        cosine, sine = angles.cos(), angles.sin()  # [sides, words, pairs] each
        x, y = features.unflatten(2, (4, 2)).unbind(3)  # [sides, words, pairs] each: the two numbers of every pair
        turned = torch.stack((x * cosine - y * sine, x * sine + y * cosine), dim=3)  # [sides, words, pairs, 2]
        return turned.flatten(2)  # [sides, words, 8]: the pairs side by side, as before


class RotaryScores(nn.Module):
    """Score every query against every key after both were turned by their positions."""

    def __init__(self):
        """Create two projections without biases, the rotation, and the positions of six words counted from 0."""
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, WIDTH, bias=False)
        self.rotary = Rotary()
        self.register_buffer("count", torch.arange(float(WORDS)), persistent=False)

    def forward(self, words, start):
        """Return the scores [queries, keys]; `start` holds the positions of the first query and of the first key."""
        positions = self.count + start.unsqueeze(1)  # [sides, words]: those of the queries, then those of the keys
        sides = torch.stack((self.query(words), self.key(words)))  # [sides, words, 8]
        queries, keys = self.rotary(sides, positions).unbind(0)  # [words, 8] each
        return queries @ keys.transpose(0, 1) / math.sqrt(WIDTH)  # [queries, keys]
