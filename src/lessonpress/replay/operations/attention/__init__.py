"""Scaled dot-product attention and the multi-head module built on it (Vaswani et al., 2017)."""
