// Arithmetic, comparisons, logic and the elementary functions: the JavaScript of kernels.py.
import {
  BOOL, FLOAT, INT, arr, copy, flat, isPacked, kindNamed, kindOf, map, nd, op, reduce, refuse,
} from "../interpreter.js";

export const real = (f, ...xs) => map(FLOAT, f, ...xs);
export const same = (f, ...xs) => map(kindOf(...xs), f, ...xs);
const test = (f, ...xs) => map(BOOL, f, ...xs);

op.exp = (x) => real(Math.exp, x);
op.exp2 = (x) => real((v) => 2 ** v, x);
op.expm1 = (x) => real(Math.expm1, x);
op.log = (x) => real(Math.log, x);
op.log2 = (x) => real(Math.log2, x);
op.log10 = (x) => real(Math.log10, x);
op.log1p = (x) => real(Math.log1p, x);
op.sqrt = (x) => real(Math.sqrt, x);
op.rsqrt = (x) => real((v) => 1 / Math.sqrt(v), x);
op.reciprocal = (x) => real((v) => 1 / v, x);
op.sin = (x) => real(Math.sin, x);
op.cos = (x) => real(Math.cos, x);
op.tan = (x) => real(Math.tan, x);
op.asin = (x) => real(Math.asin, x);
op.acos = (x) => real(Math.acos, x);
op.atan = (x) => real(Math.atan, x);
op.sinh = (x) => real(Math.sinh, x);
op.cosh = (x) => real(Math.cosh, x);
op.tanh = (x) => real(Math.tanh, x);
op.asinh = (x) => real(Math.asinh, x);
op.acosh = (x) => real(Math.acosh, x);
op.atanh = (x) => real(Math.atanh, x);
op.deg2rad = (x) => real((v) => (v * Math.PI) / 180, x);
op.rad2deg = (x) => real((v) => (v * 180) / Math.PI, x);

// The complement by Lentz's continued fraction (Abramowitz & Stegun 7.1.14), for x >= 2.
const erfcTail = (x) => {
  if (x > 27) return 0;
  let [c, d, f] = [x, 0, x];
  for (let n = 1; n < 200; n++) {
    d = 1 / (x + (n / 2) * d);
    c = x + n / 2 / c;
    f *= c * d;
    if (Math.abs(c * d - 1) < 1e-16) break;
  }
  return Math.exp(-x * x) / (f * Math.sqrt(Math.PI));
};
// The error function by its series of positive terms (Abramowitz & Stegun 7.1.6), for |x| < 2.
const erfSeries = (x) => {
  let [term, sum] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) sum += term *= (2 * x * x) / (2 * n + 1);
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
};
export const erf = (x) => (Math.abs(x) < 2 ? erfSeries(x) : Number.isNaN(x) ? x : Math.sign(x) * (1 - erfcTail(Math.abs(x))));
const erfc = (x) => (x < 2 || Number.isNaN(x) ? 1 - erf(x) : erfcTail(x));

op.erf = (x) => real(erf, x);
op.erfc = (x) => real(erfc, x);
op.abs = (x) => same(Math.abs, x);
op.neg = (x) => same((v) => -v, x);
op.positive = (x) => same((v) => v, x);
op.square = (x) => same((v) => v * v, x);
op.sign = (x) => same((v) => +(v > 0) - +(v < 0), x);
op.floor = (x) => same(Math.floor, x);
op.ceil = (x) => same(Math.ceil, x);
op.trunc = (x) => same(Math.trunc, x);
op.frac = (x) => real((v) => v - Math.trunc(v), x);
op.isnan = (x) => test(Number.isNaN, x);
op.isinf = (x) => test((v) => Math.abs(v) === Infinity, x);
op.isfinite = (x) => test(Number.isFinite, x);
op.logical_not = (x) => test((v) => v === 0, x);
op.bitwise_not = (x) => same(kindOf(x) === BOOL ? (v) => 1 - v : (v) => -v - 1, x);

const modulo = (a, b) => {
  const r = a % b;
  return r !== 0 && r < 0 !== b < 0 ? r + b : r;
};
const floorDivide = (a, b) => {
  if (b === 0) return a / b;
  const quotient = (a - modulo(a, b)) / b;
  const whole = Math.floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
};
// Integers by squaring, which is exact; floats as C's pow, of which JavaScript's differs in two corners.
const power = (a, b) => (a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b);
const wholePower = (a, b) => {
  if (b < 0) return refuse("an integer to a negative power");
  let [result, base] = [1, a];
  for (let n = b; n > 0; n = Math.floor(n / 2)) {
    if (n % 2) result *= base;
    base *= base;
  }
  return result;
};
// Bits of integers up to 2 ** 53, which are wider than JavaScript's own bit operators.
const bits = (f) => (a, b) => Number(BigInt.asIntN(64, f(BigInt(a), BigInt(b))));

// Whole numbers cannot be divided by zero.
const divided = (f, input, other) => same(kindOf(input, other) === FLOAT ? f : (a, b) => (b ? f(a, b) : refuse("a whole number is divided by zero")), input, other);

op.add = (input, other, alpha) => map(kindOf(input, other), (a, b) => a + alpha * b, input, other);
op.sub = (input, other, alpha) => map(kindOf(input, other), (a, b) => a - alpha * b, input, other);
op.mul = (input, other) => same((a, b) => a * b, input, other);
op.div = (input, other, mode) => {
  if (mode === null) return real((a, b) => a / b, input, other);
  return divided(mode === "floor" ? floorDivide : (a, b) => Math.trunc(a / b), input, other);
};
op.floor_divide = (input, other) => divided(floorDivide, input, other);
op.remainder = (input, other) => divided(modulo, input, other);
op.fmod = (input, other) => divided((a, b) => a % b, input, other);
op.pow = (input, exponent) => same(kindOf(input, exponent) === FLOAT ? power : wholePower, input, exponent);
op.float_power = (input, exponent) => real(power, input, exponent);
op.logaddexp = (input, other) =>
  real((a, b) => (a === b ? a + Math.LN2 : Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)))), input, other);
op.logit = (input, eps) => real((v) => {
  const x = eps === null ? v : Math.min(Math.max(v, eps), 1 - eps);
  return Math.log(x / (1 - x));
}, input);
op.maximum = (input, other) => same((a, b) => Math.max(a, b), input, other);
op.minimum = (input, other) => same((a, b) => Math.min(a, b), input, other);
op.fmax = (input, other) => same((a, b) => (a >= b || Number.isNaN(b) ? a : b), input, other);
op.fmin = (input, other) => same((a, b) => (a <= b || Number.isNaN(b) ? a : b), input, other);
op.atan2 = (input, other) => real(Math.atan2, input, other);
op.hypot = (input, other) => real((a, b) => Math.hypot(a, b), input, other);
op.xlogy = (input, other) => real((a, b) => (a === 0 && !Number.isNaN(b) ? 0 : a * Math.log(b)), input, other);
op.eq = (input, other) => test((a, b) => a === b, input, other);
op.ne = (input, other) => test((a, b) => a !== b, input, other);
op.lt = (input, other) => test((a, b) => a < b, input, other);
op.le = (input, other) => test((a, b) => a <= b, input, other);
op.gt = (input, other) => test((a, b) => a > b, input, other);
op.ge = (input, other) => test((a, b) => a >= b, input, other);
op.logical_and = (input, other) => test((a, b) => a !== 0 && b !== 0, input, other);
op.logical_or = (input, other) => test((a, b) => a !== 0 || b !== 0, input, other);
op.logical_xor = (input, other) => test((a, b) => (a !== 0) !== (b !== 0), input, other);
op.bitwise_and = (input, other) => same(bits((a, b) => a & b), input, other);
op.bitwise_or = (input, other) => same(bits((a, b) => a | b), input, other);
op.bitwise_xor = (input, other) => same(bits((a, b) => a ^ b), input, other);
op.bitwise_left_shift = (input, other) => same(bits((a, b) => a << b), input, other);
op.bitwise_right_shift = (input, other) => same(bits((a, b) => a >> b), input, other);
const rint = (v) => {
  const low = Math.floor(v);
  const over = v - low;
  return over < 0.5 || (over === 0.5 && low % 2 === 0) ? low : over >= 0.5 ? low + 1 : v;
};
op.round = (input, decimals) => {
  const scale = 10 ** Math.abs(decimals);
  if (input.kind !== FLOAT) return copy(input);
  return real(decimals >= 0 ? (v) => rint(v * scale) / scale : (v) => rint(v / scale) * scale, input);
};
op.clamp = (input, min, max) => {
  const low = min === null ? copy(input) : same((a, b) => Math.max(a, b), input, min);
  return max === null ? low : same((a, b) => Math.min(a, b), low, max);
};
op.lerp = (input, end, weight) => same((a, b, w) => a + w * (b - a), input, end, weight);
op.addcmul = (input, tensor1, tensor2, value) => same((a, b, c) => a + value * b * c, input, tensor1, tensor2);
op.addcdiv = (input, tensor1, tensor2, value) => real((a, b, c) => a + (value * b) / c, input, tensor1, tensor2);
op.where = (condition, input, other) => map(kindOf(input, other), (c, a, b) => (c !== 0 ? a : b), condition, input, other);
op.masked_fill = (input, mask, value) => map(input.kind, (a, m, v) => (m !== 0 ? v : a), input, mask, value);
op.nan_to_num = (input, nan, posinf, neginf) => {
  const to = (v, name) => (v === null ? refuse(`${name} without a replacement`) : Number(v));
  return same((v) => {
    if (Number.isNaN(v)) return Number(nan);
    return v === Infinity ? to(posinf, "infinity") : v === -Infinity ? to(neginf, "-infinity") : v;
  }, input);
};

const LIMITS = { uint8: [0, 255], int8: [-128, 127], int16: [-32768, 32767], int32: [-(2 ** 31), 2 ** 31 - 1] };
op.cast = (input, dtype) => {
  const kind = kindNamed(dtype);
  const [low, high] = LIMITS[dtype] ?? [-(2 ** 53), 2 ** 53];
  const fits = (v) => (v >= low && v <= high ? Math.trunc(v) : refuse(`a value does not fit into ${dtype}`));
  return map(kind, kind === INT ? fits : (v) => v, input);
};
// Half precision after single, as torch rounds: digits, lowest exponent, largest number.
const FORMATS = { float16: [10, -14, 65504], bfloat16: [7, -126, (2 - 2 ** -7) * 2 ** 127] };
const toHalf = ([digits, lowest, largest]) => (v) => {
  const single = Math.fround(v);
  if (!single || !Number.isFinite(single)) return single;
  const step = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(single))), lowest) - digits);
  const half = rint(single / step) * step;
  return Math.abs(half) > largest ? Math.sign(half) * Infinity : half;
};
op.rounded = (input, dtype) => real(dtype in FORMATS ? toHalf(FORMATS[dtype]) : Math.fround, input);
op.wrapped = (input, dtype) => {
  const [low, high] = LIMITS[dtype];
  const fits = (v) => input.kind !== FLOAT || Math.abs(v) < 2 ** 31 || refuse(`a value is too large for ${dtype}`);
  return same((v) => fits(v) && modulo(v - low, high - low + 1) + low, op.cast(input, "int64"));
};
op.number_div = (input, other) => real((a, b) => (b === 0 ? refuse("Python divides by zero here") : a / b), input, other);
op.number_pow = (input, exponent) => real((a, b) => {
  const value = power(a, b);
  return Number.isFinite(value) ? value : refuse("Python has no such power");
}, input, exponent);
// Where a value leaves the tensors for Python, the recorded path holds only as long as that value stays.
op.guard = (step, result) => {
  const near = (a, b) => a === b || Math.abs(a - b) <= step.within * (1 + Math.abs(b)) || (Number.isNaN(a) && Number.isNaN(b));
  const seen = Array.from(flat(result));
  const held = [step.guard].flat(Infinity).map((v) => Number(v !== null && typeof v === "object" ? v.float : v));
  if (seen.length !== held.length || !seen.every((v, i) => near(v, held[i]))) {
    refuse(`${step.layer}: what Python reads here is another than the recorded one`);
  }
};
op.alias = (input) => input;
op.clone = (input) => copy(input);
op.contiguous = (input) => (isPacked(input) ? input : copy(input));
op.copy = (input, src) => src;
op.fill = (input, value) => map(input.kind, (a, v) => v, input, value);
op.zero = (input) => nd(input.shape, input.kind);
op.isclose = (input, other, rtol, atol, equalNan) => {
  const near = (a, b) => a === b || (equalNan && Number.isNaN(a) && Number.isNaN(b));
  const within = (a, b) => Number.isFinite(a) && Number.isFinite(b) && Math.abs(a - b) <= atol + rtol * Math.abs(b);
  return test((a, b) => near(a, b) || within(a, b), input, other);
};
op.contains = (input, element) => reduce(test((a, b) => a === b, input, element), null, false, BOOL, (line) => +line.some((v) => v));
op.allclose = (input, other, rtol, atol, equalNan) => {
  return reduce(op.isclose(input, other, rtol, atol, equalNan), null, false, BOOL, (line) => +line.every((v) => v));
};
op.equal = (input, other) => {
  if (String(input.shape) !== String(other.shape)) return arr(false);
  return reduce(test((a, b) => a === b, input, other), null, false, BOOL, (line) => +line.every((v) => v));
};
