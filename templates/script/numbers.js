// Numbers as the page's tables write them: four significant digits, or every digit.
export const exact = (value) => (Object.is(value, -0) ? "0" : String(value));
export const short = (value, whole = false) => (whole || !Number.isFinite(value) ? exact(value) : exact(Number(value.toPrecision(4))));
export const signed = (value) => (value > 0 ? "+" : "") + short(value);
export const shapeWords = (shape) => (shape.length ? shape.join(" × ") : "a single number");
// Values recorded as text are numbers that JSON lacks.
export const numeric = Number;
// The place of element `at` of an array, axis by axis.
export const placeOf = (at, shape) => {
  const place = [];
  let rest = at;
  for (let d = shape.length - 1; d >= 0; d--) {
    place.unshift(rest % shape[d]);
    rest = Math.floor(rest / shape[d]);
  }
  return place;
};
export const atPlace = (place, shape) => place.reduce((sum, i, d) => sum * shape[d] + i, 0);
export const sizeOf = (shape) => shape.reduce((n, m) => n * m, 1);
export const counted = (n, f) => Array.from({ length: n }, (_, i) => f(i));
