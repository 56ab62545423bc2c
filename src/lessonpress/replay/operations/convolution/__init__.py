"""Convolutions and pooling over one or two axes."""
