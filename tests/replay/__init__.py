"""What needs torch as its oracle: the kernels of every operation, and programs replayed against real runs."""
