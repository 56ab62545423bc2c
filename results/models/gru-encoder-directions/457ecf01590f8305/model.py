"""A GRU from the left beside one from the right, and which word reaches which position (Schuster and Paliwal, 1997)."""

import torch
from torch import nn

WORDS = 5  # of the sentence
FEATURES = 2  # of a word
HIDDEN = 3  # features of a state, in each direction


class BothDirections(nn.Module):
    """Read a sentence, and again with one word after the other changed, from both sides."""

    def __init__(self, shared=False, lean=0):
        """Create the two GRUs: with the same weights if `shared`, their update gates pushed by `lean`."""
        super().__init__()
        self.from_left = nn.GRU(FEATURES, HIDDEN, batch_first=True)
        self.from_right = nn.GRU(FEATURES, HIDDEN, batch_first=True)
        self.register_buffer("one_each", torch.eye(WORDS).unsqueeze(2))  # [5, 5, 1]: in sentence j word j is marked
        if shared:
            self.from_right.load_state_dict(self.from_left.state_dict())
        with torch.no_grad():
            for gru in (self.from_left, self.from_right):
                gru.bias_ih_l0[HIDDEN : 2 * HIDDEN] += lean  # gates are stacked: reset, update, new

    def forward(self, words, push):
        """Return the annotations, and for each direction and for both how far each word reaches."""
        sentences = torch.cat((words, words + push * self.one_each))  # [6, word, 2]: as it is, then word 0, 1, … pushed
        states = torch.stack(
            (
                read(self.from_left, sentences),
                read(self.from_right, sentences.flip(1)).flip(1),  # from the last word to the first, then put back
            )
        )  # [direction, 6, position, 3]
        change = states[:, 1:] - states[:, :1]  # [direction, pushed word, position, 3]
        influence = change.norm(dim=3).transpose(1, 2)  # [direction, position, pushed word]
        annotations = torch.cat((states[0, 0], states[1, 0]), dim=1)  # [position, 6]: both halves side by side
        return annotations, influence, influence.norm(dim=0)  # of two halves side by side the lengths add as squares


def read(gru, sentences):
    """Every state of every sentence; each sentence is read alone, so what another holds cannot touch its bits."""
    return torch.cat([gru(sentence)[0] for sentence in sentences.split(1)])  # [6, position, 3]
