"""Normalisation over features, groups of channels, or the batch."""
