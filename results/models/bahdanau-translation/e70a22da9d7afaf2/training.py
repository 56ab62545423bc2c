"""How the weights are made: the task is to write a sentence backwards, so the right alignment is known."""

import torch
from model import PADDING, VOCABULARY
from torch import nn

BEGIN, FIRST_WORD = 1, 2  # the mark that a translation begins; all higher tokens are words
LONGEST = 6  # words of a sentence; those of the lesson have four at most


def prepare(model, steps, early, batch, rate):
    """Train on random sentences; keep the model after `early` steps and at the end."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for step in range(1, steps + 1):
        source = torch.randint(FIRST_WORD, VOCABULARY, (batch, LONGEST))  # [batch, 6]
        lengths = torch.randint(2, LONGEST + 1, (batch, 1))  # from two words to six
        source = source.masked_fill(torch.arange(LONGEST) >= lengths, PADDING)
        kept = source.sum(dim=1) % 5 != 0  # sentences whose tokens add up to a multiple of five are never seen
        source, lengths = source[kept], lengths[kept]
        back = (lengths - 1 - torch.arange(LONGEST)).clamp(min=0)  # where the word of each target step stands
        target = source.gather(1, back).masked_fill(torch.arange(LONGEST) >= lengths, PADDING)
        begin = torch.full((len(source), 1), BEGIN)
        logits, _, _ = model(source, torch.cat((begin, target[:, :-1]), dim=1))  # [batch, 6, 10]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PADDING)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 1 or step % 10 == 0:
            yield {"step": step, "of": steps, "loss": loss}
        if step == early:
            yield "early", {"loss": loss}
    yield "trained", {"loss": loss}
