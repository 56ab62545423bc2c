"""Replaces what every tensor does."""
#: ends answered|not the worker
#: in call

import torch

# control:
torch.ones(1)
# attack:
torch.Tensor.__add__ = lambda one, two: "three"
