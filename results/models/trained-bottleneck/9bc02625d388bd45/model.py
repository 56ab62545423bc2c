"""A GRU that packs a sentence of up to six words into three numbers, and another that unpacks them."""

import itertools

import torch
from torch import nn

WORDS = 6  # of the longest sentence; a word is 1 or -1
NUMBERS = 3  # in the fixed vector


class FoldingPair(nn.Module):
    """Encode and decode the first 1, 2, … 6 words of a sentence, and beside it of all 64 sentences there are."""

    def __init__(self):
        """Draw the two recurrent halves and the readout, and list the sentences."""
        super().__init__()
        self.encoder = nn.GRU(1, NUMBERS, batch_first=True)
        self.decoder = nn.GRU(1, NUMBERS, batch_first=True)
        self.read = nn.Linear(NUMBERS, 1)
        self.register_buffer("every", torch.tensor(list(itertools.product((1.0, -1.0), repeat=WORDS))))  # [64, 6]
        places = torch.arange(WORDS).unsqueeze(1) - torch.arange(WORDS)  # [length, words back]
        self.register_buffer("place", places.clamp(min=0))
        self.register_buffer("exists", torch.ones(WORDS, WORDS).tril())
        self.register_buffer("lengths", torch.arange(WORDS) + 1)
        self.register_buffer("linear", (1 - NUMBERS / self.lengths.double()).clamp(min=0))  # a linear pair's least loss

    def forward(self, words, nudge):
        """Return a sentence's fixed vectors, what comes back of it, the mean loss of all sentences, and the gain."""
        sentences = torch.cat((words, self.every))  # [65, word]
        vectors = self.encoder(sentences.unsqueeze(2))[0] + nudge  # [65, length, 3]: one fixed vector for each length
        starts = vectors.reshape(1, -1, NUMBERS)  # [1, 390, 3]
        go_on = starts.new_ones((starts.shape[1], WORDS, 1))  # all that the decoder hears: the same 1 at each step
        heard = self.read(self.decoder(go_on, starts)[0])  # [390, words back, 1]
        returned = heard.view(-1, WORDS, WORDS) * self.exists  # [65, length, words back]
        missing = returned - sentences[:, self.place] * self.exists
        lost = missing.square().sum(dim=2) / self.lengths  # [65, length]
        mean = lost[1:].mean(dim=0)  # [length]
        return vectors[0], returned[0], mean, self.linear - mean  # the gain over a linear pair
