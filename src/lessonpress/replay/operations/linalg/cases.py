"""Cases of linear algebra, on matrices that are far from singular."""

import torch

from lessonpress.replay.operations.torch_cases import SQUARE, case, floats

MANY = floats(2, 3, 4, 4, seed=8) + 3 * torch.eye(4, dtype=torch.float64)
DEFINITE = MANY @ MANY.mT + torch.eye(4, dtype=torch.float64)
RIGHT, VECTOR = floats(4, 3, seed=9), floats(4, seed=10)
FACTOR = torch.linalg.cholesky(DEFINITE)

CASES = [
    case("linalg_solve", MANY, RIGHT, oracle=torch.linalg.solve),
    case("linalg_solve", SQUARE, VECTOR, oracle=torch.linalg.solve),
    case("linalg_solve", MANY, floats(2, 3, 4, seed=11), oracle=torch.linalg.solve),
    case("linalg_solve", MANY, floats(2, 3, 2, 4, seed=12), left=False, oracle=torch.linalg.solve),
    *[case(name, x, oracle=getattr(torch.linalg, name.removeprefix("linalg_")))
      for name in ("linalg_inv", "linalg_det", "linalg_slogdet") for x in (MANY, SQUARE)],
    *[case("logdet", x) for x in (DEFINITE, SQUARE, -SQUARE)],
    *[case("linalg_cholesky", x, upper=upper, oracle=torch.linalg.cholesky)
      for x in (DEFINITE, DEFINITE[0, 1]) for upper in (True, False)],
    *[case("linalg_solve_triangular", FACTOR if not upper else FACTOR.mT, RIGHT, upper=upper, unitriangular=ones,
           oracle=torch.linalg.solve_triangular) for upper in (True, False) for ones in (True, False)],
    case("linalg_solve_triangular", FACTOR, floats(3, 4), upper=False, left=False,
         oracle=torch.linalg.solve_triangular),
    *[case("cholesky_solve", RIGHT, FACTOR[0, 0] if not upper else FACTOR[0, 0].mT, upper=upper)
      for upper in (True, False)],
    case("cholesky_inverse", FACTOR),
    *[case("linalg_matrix_power", MANY, n, oracle=torch.linalg.matrix_power) for n in (0, 1, 3, -2)],
    case("chain_matmul", SQUARE, RIGHT, RIGHT.T, oracle=lambda *matrices: torch.linalg.multi_dot(matrices)),
]
