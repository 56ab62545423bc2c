"""One decoder step that looks back at its source through additive attention (Bahdanau, Cho and Bengio, 2014)."""

import torch
from torch import nn

VOCABULARY = 16  # token ids, in the source and in the target
EMBEDDING = 4  # features of an embedded token
HIDDEN = 4  # features of the encoder, in each direction
ANNOTATION = 2 * HIDDEN  # features of an annotation: forward beside backward
STATE = 8  # features of the decoder state


class AdditiveAlignment(nn.Module):
    """Weigh the source positions by how well each annotation fits the previous decoder state."""

    def __init__(self):
        """Create the two projections, the score and the two functions between them; no layer has a bias."""
        super().__init__()
        self.annotation_projection = nn.Linear(ANNOTATION, STATE, bias=False)
        self.state_projection = nn.Linear(STATE, STATE, bias=False)
        self.tanh = nn.Tanh()
        self.score = nn.Linear(STATE, 1, bias=False)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, annotations, state):
        """Return the context vector and the weights that formed it."""
        projected_state = self.state_projection(state).unsqueeze(1)  # [batch, 1, 8]: the same for every position
        joint = self.tanh(self.annotation_projection(annotations) + projected_state)  # [batch, source, 8]
        weights = self.softmax(self.score(joint))  # [batch, source, 1]: over the positions, they sum to one
        context = (weights * annotations).sum(dim=1)  # [batch, 8]
        return context, weights


class AdditiveDecoderStep(nn.Module):
    """Read a source in both directions, align it with the decoder's state, and score the next token."""

    def __init__(self):
        """Create the layers in the order in which their parameters are drawn."""
        super().__init__()
        self.source_embedding = nn.Embedding(VOCABULARY, EMBEDDING)
        self.encoder = nn.GRU(EMBEDDING, HIDDEN, batch_first=True, bidirectional=True)
        self.alignment = AdditiveAlignment()
        self.target_embedding = nn.Embedding(VOCABULARY, EMBEDDING)
        self.decoder = nn.GRUCell(EMBEDDING + ANNOTATION, STATE)
        self.output_head = nn.Linear(STATE, VOCABULARY)

    def forward(self, source_ids, state, previous_token):
        """Return the logits of the next token for one step of the decoder."""
        annotations, _ = self.encoder(self.source_embedding(source_ids))  # [batch, source, 8]
        context, _ = self.alignment(annotations, state)  # [batch, 8]
        token = self.target_embedding(previous_token)  # [batch, 4]
        new_state = self.decoder(torch.cat((token, context), dim=1), state)  # [batch, 8], from 12 inputs
        return self.output_head(new_state)  # [batch, 16]
