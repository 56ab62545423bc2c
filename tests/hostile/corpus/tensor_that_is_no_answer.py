"""Records more than an answer may hold."""
#: ends it passed the answer limit of 1 MiB \(config.yaml: limits.answer_mib\)
#: limits answer_mib=1
#: in call

import torch

# control:
torch.ones(1)
# attack:
result = torch.zeros(1 << 19).cumsum(0)
