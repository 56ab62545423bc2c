"""Picking elements and writing them back: `x[…]`, `x[…] = y`, gather and scatter."""
