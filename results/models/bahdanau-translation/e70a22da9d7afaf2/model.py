"""The whole decoder of Bahdanau, Cho and Bengio (2014): gated units, additive alignment, deep output with maxout."""

import torch
from torch import nn

PADDING = 0  # the token that fills a shorter source up; it is no word
VOCABULARY = 10  # padding, the mark that a translation begins, and eight words
EMBEDDING = 4  # features of an embedded token
HIDDEN = 4  # features of each encoder direction
ANNOTATION = 2 * HIDDEN  # features of an annotation: forward beside backward
STATE = 8  # features of the decoder state
PIECES = 6  # features that are left after maxout took the larger of every pair


class GatedUnit(nn.Module):
    """Move a state by what is seen now, through an update gate and a reset gate."""

    def __init__(self, features, state):
        """Create the matrices of both gates and of the candidate; each reads what is seen beside the state."""
        super().__init__()
        self.update = nn.Linear(features + state, state, bias=False)
        self.reset = nn.Linear(features + state, state, bias=False)
        self.candidate = nn.Linear(features + state, state, bias=False)
        self.sigmoid = nn.Sigmoid()
        self.tanh = nn.Tanh()

    def forward(self, seen, state):
        """Return the next state: some features stay, the others become the candidate's."""
        both = torch.cat((seen, state), dim=1)  # [batch, features + state]
        update = self.sigmoid(self.update(both))  # z, between 0 and 1: how far to go
        reset = self.sigmoid(self.reset(both))  # r, between 0 and 1: how much of the past the candidate hears
        candidate = self.tanh(self.candidate(torch.cat((seen, reset * state), dim=1)))  # r before the matrix
        return torch.lerp(state, candidate, update)  # (1 - z) * state + z * candidate


class Encoder(nn.Module):
    """Annotate every source word from both sides."""

    def __init__(self):
        """Create one gated unit for each direction."""
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, EMBEDDING)
        self.rightward = GatedUnit(EMBEDDING, HIDDEN)
        self.leftward = GatedUnit(EMBEDDING, HIDDEN)

    def forward(self, source_ids, present):
        """Return the annotations; padding leaves no trace in those of words."""
        words = self.embedding(source_ids)  # [batch, source, 4]
        batch, length = source_ids.shape
        nothing = torch.zeros(batch, HIDDEN, dtype=words.dtype)  # what is known before the first word
        state, forward, backward = nothing, [], []
        for position in range(length):
            state = self.rightward(words[:, position], state)  # [batch, 4]
            forward.append(state)
        state = nothing
        for position in reversed(range(length)):
            moved = self.leftward(words[:, position], state)
            state = torch.where(present[:, position], moved, state)  # padding comes first here and moves nothing
            backward.append(state)
        return torch.cat((torch.stack(forward, dim=1), torch.stack(backward[::-1], dim=1)), dim=2)  # [batch, source, 8]


class Alignment(nn.Module):
    """Weigh the source words by how well each annotation fits the previous decoder state."""

    def __init__(self):
        """Create the two projections and the score."""
        super().__init__()
        self.annotation_projection = nn.Linear(ANNOTATION, STATE, bias=False)
        self.state_projection = nn.Linear(STATE, STATE, bias=False)
        self.tanh = nn.Tanh()
        self.score = nn.Linear(STATE, 1, bias=False)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, annotations, projected, state, absent):
        """Return the context and the weights that formed it; `projected` are the annotations, projected once."""
        joint = self.tanh(projected + self.state_projection(state).unsqueeze(1))  # [batch, source, 8]
        scores = self.score(joint).masked_fill(absent, -torch.inf)  # [batch, source, 1]: exp(-inf) is exactly 0
        weights = self.softmax(scores)  # over the source words, they sum to one
        return (weights * annotations).sum(dim=1), weights  # [batch, 8], [batch, source, 1]


class DeepOutput(nn.Module):
    """Score the next token from state, previous token and context."""

    def __init__(self):
        """Create the matrix of the pieces, and that of the logits."""
        super().__init__()
        self.pieces = nn.Linear(STATE + EMBEDDING + ANNOTATION, 2 * PIECES, bias=False)
        self.maxout = nn.MaxPool1d(2)
        self.logits = nn.Linear(PIECES, VOCABULARY, bias=False)

    def forward(self, state, token, context):
        """Return one logit for each token of the vocabulary."""
        pieces = self.pieces(torch.cat((state, token, context), dim=1))  # [batch, 12]
        return self.logits(self.maxout(pieces))  # [batch, 10], from the larger of every two neighbours


class Translator(nn.Module):
    """Read a batch of padded sources, then write one token a step, looking back before each."""

    def __init__(self):
        """Create encoder, alignment, decoder and output."""
        super().__init__()
        self.encoder = Encoder()
        self.first_state = nn.Linear(HIDDEN, STATE, bias=False)
        self.tanh = nn.Tanh()
        self.target_embedding = nn.Embedding(VOCABULARY, EMBEDDING)
        self.alignment = Alignment()
        self.decoder = GatedUnit(EMBEDDING + ANNOTATION, STATE)
        self.deep_output = DeepOutput()

    def forward(self, source_ids, previous_ids):
        """Return logits and alignment of every step, and the last state; `previous_ids` is what was written before."""
        present = (source_ids != PADDING).unsqueeze(2)  # [batch, source, 1]
        absent = ~present
        annotations = self.encoder(source_ids, present)  # [batch, source, 8]
        state = self.tanh(self.first_state(annotations[:, 0, HIDDEN:]))  # [batch, 8], from what was read right to left
        projected = self.alignment.annotation_projection(annotations)  # the same for every step
        tokens = self.target_embedding(previous_ids)  # [batch, target, 4]
        logits, alignment = [], []
        for step in range(previous_ids.shape[1]):
            token = tokens[:, step]  # [batch, 4]
            context, weights = self.alignment(annotations, projected, state, absent)
            logits.append(self.deep_output(state, token, context))
            alignment.append(weights)
            state = self.decoder(torch.cat((token, context), dim=1), state)  # [batch, 8]
        return torch.stack(logits, dim=1), torch.stack(alignment, dim=1).squeeze(3), state  # [batch, target, …]
