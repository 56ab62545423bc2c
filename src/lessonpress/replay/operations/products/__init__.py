"""Products of matrices and vectors, the affine maps built on them, and embeddings."""
