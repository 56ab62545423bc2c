// Numbers that were drawn at random, and what became of them.
import { EXPLAIN, GIVEN, numberOf, ref, spread } from "#page/explain.js";
import { recomputed } from "../creation/explain.js";

GIVEN.draw = "This number was drawn at random when the lesson was recorded. The draw does not depend on the inputs, so the page keeps it.";
GIVEN.kept = "This number was computed from weights alone when the lesson was recorded. No input reaches it, so the page keeps it.";
EXPLAIN.kept = (args, place) => {
  const part = ref(args[0], place);
  return { value: numberOf(part), blocks: [{ says: GIVEN[part.port.slice(0, part.port.indexOf(":"))] }] };
};
const explainDropout = (args, place) => {
  const [x, mask, share] = [spread(args[0], place), spread(args[1], place), 1 - args[2]];
  const value = numberOf(x) * (numberOf(mask) / share);
  return { value, blocks: [{ says: "Dropout drew a 1, which keeps this number and divides it by the share that is kept, or a 0." }, { line: [x, " · ", mask, " / ", share, " = ", value] }] };
};
EXPLAIN.dropout_drawn = explainDropout;
EXPLAIN.dropout1d_drawn = explainDropout;
EXPLAIN.dropout2d_drawn = explainDropout;
EXPLAIN.dropout3d_drawn = explainDropout;
EXPLAIN.normal_drawn = (args, place) => {
  const [mean, z, std] = args.slice(0, 3).map((x) => (x?.flat ? spread(x, place) : x));
  const value = numberOf(mean) + numberOf(std) * numberOf(z);
  return { value, blocks: [{ says: "A standard normal number was drawn; it is scaled and moved." }, { line: [mean, " + ", std, " · ", z, " = ", value] }] };
};
EXPLAIN.bernoulli_drawn = (args, place) => {
  const [share, drawn] = [spread(args[2] ?? args[0], place), spread(args[1], place)];
  const value = Number(numberOf(drawn) < numberOf(share));
  return { value, blocks: [{ says: "A number from 0 to 1 was drawn; the result is 1 where it is below the probability." }, { line: [drawn, value ? " < " : " ≥ ", share, " gives ", value] }] };
};
EXPLAIN.multinomial_drawn = recomputed("Each probability is divided by a random number that was drawn for it; the positions of the largest quotients are the sample.");
EXPLAIN.gumbel_softmax_drawn = recomputed("Random noise that was drawn is added to each score, all are divided by the temperature, and a softmax follows.");
EXPLAIN.alpha_dropout_drawn = recomputed("What falls is set to the limit of SELU; then all numbers are scaled so that mean and variance stay.");
