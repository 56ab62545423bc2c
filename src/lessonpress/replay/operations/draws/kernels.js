// Random operations with the numbers that they drew, which are the same for every input.
import { FLOAT, INT, along, copy, map, op, refuse, write } from "../interpreter.js";
import "../activations/kernels.js";
import { real } from "../elementwise/kernels.js";
import { mostAt, sorting } from "../reductions/kernels.js";

op.kept = (recorded) => copy(recorded);
const droppedBy = (input, noise, p, training, inplace) => {
  const result = real((x, m) => x * (m / (1 - p)), input, noise);
  return inplace ? write(input, result) : result;
};
op.dropout_drawn = droppedBy;
op.dropout1d_drawn = droppedBy;
op.dropout2d_drawn = droppedBy;
op.dropout3d_drawn = droppedBy;
const SELU_LIMIT = 1.7580993408473766;
op.alpha_dropout_drawn = (input, noise, p, training, inplace) => {
  const scale = 1 / Math.sqrt((SELU_LIMIT * SELU_LIMIT * p + 1) * (1 - p));
  const result = real((x, m) => x * (m * scale) + ((m - 1) * (SELU_LIMIT * scale) + SELU_LIMIT * scale * p), input, noise);
  return inplace ? write(input, result) : result;
};
op.normal_drawn = (mean, noise, std) => real((m, z, s) => (s < 0 ? refuse("a standard deviation below 0") : m + s * z), mean, noise, std);
op.bernoulli_drawn = (input, noise, p) =>
  map(input.kind, (share, u) => (share >= 0 && share <= 1 ? Number(u < share) : refuse("a probability outside of 0 to 1")), p ?? input, noise);
op.multinomial_drawn = (input, noise, count) => {
  along(input, -1, FLOAT, (line) => {
    const known = line.every((x) => x >= 0 && Number.isFinite(x));
    if (!known || !line.some((x) => x > 0)) refuse("probabilities that are negative, not finite, or all 0");
    return line.filter((x) => x > 0).length < count ? refuse("fewer probabilities above 0 than are to be drawn") : line;
  });
  return along(real((x, e) => x / e, input, noise), -1, INT, (line) => sorting(line, true).slice(0, count));
};
op.gumbel_softmax_drawn = (logits, noise, tau, hard, eps, dim) => {
  const soft = op.softmax(real((x, e) => (x - Math.log(e)) / tau, logits, noise), dim);
  if (!hard) return soft;
  return along(soft, dim, FLOAT, (line) => line.map((x, i) => Number(i === mostAt(line)) - x + x));
};
