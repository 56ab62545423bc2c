"""Linear algebra on small matrices: systems of equations, inverses, determinants, Cholesky factors, powers."""
