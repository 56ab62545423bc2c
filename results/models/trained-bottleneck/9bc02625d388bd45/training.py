"""Descent on the loss of all 64 sentences at all six lengths, by Adam, whose few lines are written out."""

import torch

MEAN, SPREAD, FLOOR = 0.9, 0.999, 1e-8  # the constants of the paper (Kingma and Ba, 2014)


def prepare(model, steps, rate):
    """Train with steps that grow shorter, and keep the weights after a sixth of them and at the end."""
    words, nudge = torch.ones(1, 6), torch.zeros(3)
    weights = list(model.parameters())
    means, spreads = ([torch.zeros_like(weight) for weight in weights] for _ in range(2))
    for step in range(1, steps + 1):
        loss = model(words, nudge)[2].mean()
        slopes = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for weight, slope, mean, spread in zip(weights, slopes, means, spreads, strict=True):
                mean.lerp_(slope, 1 - MEAN)
                spread.lerp_(slope.square(), 1 - SPREAD)
                lean, width = mean / (1 - MEAN**step), spread / (1 - SPREAD**step)
                weight -= rate * (1 - step / steps) * lean / (width.sqrt() + FLOOR)
        yield {"step": step, "of": steps, "loss": loss}
        if step == steps // 6:
            yield "early", {"loss": loss}
    yield "trained", {"loss": loss}
