"""Arrays that arise from numbers alone."""
