"""Makes a tensor that no machine holds."""
#: ends the memory limit is 4096 MiB \(config.yaml: limits.memory_mib\)
#: in call

import torch

# control:
torch.ones(1)
# attack:
result = torch.zeros(1 << 38)
