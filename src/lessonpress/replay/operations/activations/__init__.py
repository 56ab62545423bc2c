"""The activation functions, as operations and as leaf modules."""
