"""What torch computes on the way back through a model: the derivative of each operation, times what arrives."""
