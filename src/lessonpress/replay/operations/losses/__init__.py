"""Losses, as operations and as leaf modules."""
