"""A sentence squeezed into one vector of fixed width and read back, in the plainest form that is still recurrent."""

import torch
from torch import nn

WORDS = 8  # of the longest sentence; a word is one number
SLOTS = 4  # numbers in the fixed vector


class Encoder(nn.Module):
    """Read a sentence word by word: turn the vector by one slot, then add the word to the first slot."""

    def __init__(self, crossed):
        """Create the ring of slots; `crossed` makes it change the sign of what has gone round once."""
        super().__init__()
        self.turn = nn.Linear(SLOTS, SLOTS, bias=False)
        self.enter = nn.Linear(1, SLOTS, bias=False)
        with torch.no_grad():
            self.turn.weight.copy_(torch.eye(SLOTS).roll(1, dims=0))  # slot k moves on to slot k + 1, the last to 0
            self.enter.weight.copy_(torch.eye(SLOTS)[:, :1])
            if crossed:
                self.turn.weight[0] *= -1

    def forward(self, words):
        """Return the vector after each word, the fixed vector of every sentence that ends there."""
        first, *others = words.split(1, dim=1)  # each [1, 1]
        vectors = [self.enter(first)]
        for word in others:
            vectors.append(self.turn(vectors[-1]) + self.enter(word))  # [1, 4]
        return torch.cat(vectors)  # [length, 4]


class Decoder(nn.Module):
    """Write a sentence from its vector alone, last word first: read the first slot, then turn back by one."""

    def __init__(self, encoder):
        """Create the two maps that undo those of the encoder, and the shares in which words that met are parted."""
        super().__init__()
        self.read = nn.Linear(SLOTS, 1, bias=False)
        self.turn_back = nn.Linear(SLOTS, SLOTS, bias=False)
        with torch.no_grad():
            self.read.weight.copy_(encoder.enter.weight.T)
            self.turn_back.weight.copy_(encoder.turn.weight.T)
        self.register_buffer("share", shares())

    def forward(self, vectors):
        """Return the words for each length, counted back from the last one."""
        heard = []
        for _ in range(WORDS):
            heard.append(self.read(vectors))  # [length, 1]: the sum of all words that lie in this slot
            vectors = self.turn_back(vectors)  # [length, 4]
        return torch.cat(heard, dim=1) * self.share  # [length, words back]


class Bottleneck(nn.Module):
    """Encode and decode the first 1, 2, … 8 words of a sentence, and measure what is lost."""

    def __init__(self, crossed=False):
        """Create the two halves, and the places where a word that lies so many back is found in the sentence."""
        super().__init__()
        self.encoder = Encoder(crossed)
        self.decoder = Decoder(self.encoder)
        places = torch.arange(WORDS).unsqueeze(1) - torch.arange(WORDS)  # [length, words back]
        self.register_buffer("place", places.clamp(min=0))
        self.register_buffer("exists", torch.ones(WORDS, WORDS).tril())
        self.register_buffer("lengths", torch.arange(WORDS) + 1)

    def forward(self, words):
        """Return the fixed vectors, what comes back from them, and the mean squared loss of a word for each length."""
        vectors = self.encoder(words)  # [length, 4]
        returned = self.decoder(vectors)  # [length, words back]
        missing = returned - words[0, self.place] * self.exists  # [length, words back]
        return vectors, returned, missing.square().sum(dim=1) / self.lengths


def shares():
    """One over the number of words that lie in one slot, by length and words back; 0 before a sentence's beginning."""
    exists = torch.ones(WORDS, WORDS).tril()  # [length, words back]
    met = torch.eye(SLOTS).repeat(WORDS // SLOTS, WORDS // SLOTS)  # [8, 8]: 1 for two words in the same slot
    return exists / (exists @ met).clamp(min=1)
