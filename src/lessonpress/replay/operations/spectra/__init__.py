"""Complex numbers, each as a pair of floats on a last axis, and the discrete Fourier transforms."""
