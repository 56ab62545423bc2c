// Complex numbers stand as pairs: the real part, then the imaginary part.
import { EXPLAIN, EXPLAIN_FAMILY } from "#page/explain.js";
import { recomputed } from "../creation/explain.js";

EXPLAIN_FAMILY.spectra = recomputed("Arithmetic of complex numbers. Each stands as a pair: the real part, then the imaginary part.");
EXPLAIN.complex_fourier = recomputed("A discrete Fourier transform: the sum of all elements along the axis, each turned by its place times this frequency.");
