"""PyTorch's long short-term memory, step by step, and its gates written out (Hochreiter and Schmidhuber, 1997)."""

import torch
from torch import nn
from torch.nn.functional import pad

FEATURES = 4  # of a token: value, write, read, keep
CELLS = 2  # memory cells, each with gates of its own
FIRM = 1000  # so far out that the logistic function is exactly 1 there, and exactly 0 on the other side
SHIFT = (0, 0, 1, -1)  # along the steps: zeros come in before the first, the last is cut off


class Gates(nn.Module):
    """What happens inside one step, for all steps at once; there are no peepholes."""

    def __init__(self):
        """Create three gates and the candidate; each reads a token beside what was shown before it."""
        super().__init__()
        self.input = nn.Sequential(nn.Linear(FEATURES + CELLS, CELLS), nn.Sigmoid())
        self.candidate = nn.Sequential(nn.Linear(FEATURES + CELLS, CELLS), nn.Tanh())
        self.forget = nn.Sequential(nn.Linear(FEATURES + CELLS, CELLS), nn.Sigmoid())
        self.output = nn.Sequential(nn.Linear(FEATURES + CELLS, CELLS), nn.Sigmoid())
        self.tanh = nn.Tanh()

    def forward(self, tokens, shown_before, memory_before):
        """Return what the cells show and hold after each step, from what they showed and held before it."""
        seen = torch.cat((tokens, shown_before), dim=2)  # [batch, step, 6]
        written = self.input(seen) * self.candidate(seen)  # [batch, step, 2]
        memory = self.forget(seen) * memory_before + written  # [batch, step, 2]: no weight on the way from the past
        shown = self.output(seen) * self.tanh(memory)  # [batch, step, 2]
        return shown, memory


class OpenedMemory(nn.Module):
    """Run PyTorch's cell over a sequence, then open it: do each of its steps again with the gates in the open."""

    def __init__(self, given=True):
        """Draw the cell's weights, put hand-made ones in their place if `given`, and share them out to the gates."""
        super().__init__()
        self.cell = nn.LSTMCell(FEATURES, CELLS)
        self.gates = Gates()
        with torch.no_grad():
            self.cell.bias_hh.zero_()  # PyTorch adds two biases where one would do
            if given:
                self._give()
            self._share()

    def forward(self, tokens, keep):
        """Return what the cells show and hold after every step, as the written-out gates have it."""
        tokens = torch.cat((tokens, keep), dim=2)  # [batch, step, 4]
        state, states = None, []  # a cell that is given no state starts from zeros
        for token in tokens.unbind(dim=1):
            state = self.cell(token, state)  # what it shows and holds, each [batch, 2]
            states.append(state)
        before = (pad(torch.stack(part, dim=1), SHIFT) for part in zip(*states, strict=True))  # two of [batch, step, 2]
        return self.gates(tokens, *before)

    def _give(self):
        """Let each gate listen to one feature of the token, and the candidate to the value and to what was shown."""
        from_token, from_shown = self.cell.weight_ih.view(4, CELLS, FEATURES), self.cell.weight_hh.view(4, CELLS, CELLS)
        for place, feature, weight, bias in ((0, 1, 2 * FIRM, -FIRM), (1, 3, 1, 0), (3, 2, 2 * FIRM, -FIRM)):
            from_token[place] = torch.eye(FEATURES)[feature] * weight  # the same row for both cells
            from_shown[place] = 0
            self.cell.bias_ih.view(4, CELLS)[place] = bias
        from_token[2, :, 1:] = 0  # the candidate keeps the weights that were drawn for the value

    def _share(self):
        """Cut PyTorch's stacked weights into their four parts: input, forget, candidate, output, in this order."""
        weights = torch.cat((self.cell.weight_ih, self.cell.weight_hh), dim=1).chunk(4)  # four of [2, 6]
        biases = self.cell.bias_ih.chunk(4)  # four of [2]
        parts = (self.gates.input, self.gates.forget, self.gates.candidate, self.gates.output)
        for part, weight, bias in zip(parts, weights, biases, strict=True):
            part[0].weight.copy_(weight)
            part[0].bias.copy_(bias)
