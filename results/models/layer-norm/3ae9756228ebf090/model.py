"""Layer normalisation (Ba, Kiros and Hinton, 2016) written out, beside PyTorch's own and beside batch normalisation."""

import torch
from torch import nn

WIDTH = 5  # features of a token
EPSILON = 1e-5  # added to every variance, so that a constant token is not divided by zero


class WrittenOut(nn.Module):
    """Layer normalisation in single steps: every token by its own mean and its own variance."""

    def forward(self, tokens, gain, bias):
        """Return the tokens [tokens, 5] normalised, then stretched by the gain and moved by the bias."""
        mean = tokens.mean(dim=1, keepdim=True)  # [tokens, 1]: over the features of one token
        centred = tokens - mean  # [tokens, 5]
        variance = centred.square().mean(dim=1, keepdim=True)  # [tokens, 1]: divided by 5, not by 4
        normalised = centred / (variance + EPSILON).sqrt()  # [tokens, 5]
        return normalised * gain + bias  # [tokens, 5]


class LayerNormLesson(nn.Module):
    """Normalise the same tokens in three ways."""

    def __init__(self):
        """Create the layers; gain and bias are those of PyTorch's layer, and the written steps borrow them."""
        super().__init__()
        self.written_out = WrittenOut()
        self.built_in = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.batch_norm = nn.BatchNorm1d(WIDTH, eps=EPSILON, affine=False, track_running_stats=False)

    def forward(self, tokens):
        """Return the three results [ways, tokens, 5]: written out, built in, and over the batch instead."""
        written = self.written_out(tokens, self.built_in.weight, self.built_in.bias)  # [tokens, 5]
        return torch.stack((written, self.built_in(tokens), self.batch_norm(tokens)))  # [3, tokens, 5]
