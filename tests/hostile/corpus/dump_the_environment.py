"""Looks for secrets in its environment and shouts them out."""
#: ends RuntimeError: {.PATH.:

import os
import sys

# control:
os.environ["PATH"]
# attack:
raise RuntimeError(f"{dict(os.environ)} {sys.argv} {sys.path}")
