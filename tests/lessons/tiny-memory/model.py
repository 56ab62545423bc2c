"""An LSTM over embedded words, from a start state that is given as a pair."""

from parts.gate import Gate
from torch import nn


class Remembering(nn.Module):
    """Embed, read, gate, answer."""

    def __init__(self, width):
        """Create the layers; the gate stands in a file of its own."""
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.read = nn.LSTM(4, width, batch_first=True)
        self.gate = Gate(width)
        self.answer = nn.Linear(width, 3)

    def forward(self, words, start):
        """Return [sentences, 3] from the last state of each sentence."""
        states, (last, _) = self.read(self.table(words), start)  # [sentences, words, width]
        return self.answer(self.gate(last[0], states.mean(dim=1)))
