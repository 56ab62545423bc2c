"""Cases of complex numbers, handed over as pairs, and of Fourier transforms."""

from __future__ import annotations

from typing import Any

import torch

from lessonpress.replay.operations.torch_cases import Case, X, Y, case, floats

P, Q = floats(3, 4, 2), floats(3, 4, 2, seed=2)


def paired(function: Any) -> Any:
    """A function of complex tensors as one of pairs."""

    def of_pairs(*args: Any, **kwargs: Any) -> Any:
        out = function(*(torch.view_as_complex(arg.contiguous()) for arg in args), **kwargs)
        return torch.view_as_real(out) if out.is_complex() else out

    return of_pairs


def fourier(name: str, x: torch.Tensor, sizes: list[int], dims: list[int], norm: str | None, **kwargs: Any) -> Case:
    """A transform of `torch.fft` by its name."""
    function = getattr(torch.fft, name)

    def oracle(x: torch.Tensor, sizes: list[int], dims: list[int], norm: str | None, **_: Any) -> torch.Tensor:
        given = x[..., 0] if name.startswith("r") else torch.view_as_complex(x.contiguous())
        out = function(given, s=sizes, dim=dims, norm=norm)
        return out if name.startswith("ir") else torch.view_as_real(out.resolve_conj())

    return case("complex_fourier", x, sizes, dims, norm, oracle=oracle, **kwargs)


REAL = torch.stack([X, torch.zeros_like(X)], dim=-1)  # [2, 3, 4, 2]
WHOLE = floats(2, 3, 4, 2, seed=6)
SIZES: list[tuple[list[int], list[int]]] = [([4], [2]), ([3, 4], [1, 2]), ([5, 3], [1, 2]), ([2, 3], [0, 1])]

CASES = [
    case("complex_from", X, oracle=lambda x: torch.view_as_real(x.to(torch.complex128))),
    case("complex_polar", X.abs(), Y, oracle=lambda r, phi: torch.view_as_real(torch.polar(r, phi))),
    *[case(f"complex_{name}", P, oracle=paired(getattr(torch, name))) for name in ("abs", "angle", "exp")],
    case("complex_conj", P, oracle=paired(lambda x: x.conj().resolve_conj())),
    *[case(f"complex_{name}", P, Q, oracle=paired(getattr(torch, name))) for name in ("mul", "div")],
    case("complex_mul", P, Q[0], oracle=paired(torch.mul)),
    case("complex_matmul", P, floats(2, 4, 5, 2, seed=3), oracle=paired(torch.matmul)),
    *[fourier(name, WHOLE, sizes, dims, norm, inverse=name.startswith("i")) for name in ("fftn", "ifftn")
      for sizes, dims in SIZES for norm in (None, "ortho", "forward")],
    *[fourier("rfftn", REAL, sizes, dims, norm, half="keep") for sizes, dims in SIZES for norm in (None, "ortho")],
    *[fourier("irfftn", WHOLE, sizes, dims, norm, inverse=True, half="fill") for sizes, dims in (*SIZES, ([5], [2]))
      for norm in (None, "ortho")],
]
