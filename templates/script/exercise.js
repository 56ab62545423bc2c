// Exercises: a number that a reader works out, right within a tolerance; a condition that is reached by moving an input.
import { STATISTICS } from "#replay/statistics.js";
import { all, button, make, one } from "./dom.js";
import { atPlace } from "./numbers.js";
import { computing, live, now, watchers } from "./state.js";

const SENSES = { "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b };
/**
 * @typedef {object} Goal
 * @property {string} kind
 * @property {number} at
 * @property {number[] | null} place
 * @property {string | null} statistic
 * @property {string} sense
 * @property {number} bound
 */
/** @type {(goal: Goal) => number | null} */
const reachedBy = ({ kind, at, place, statistic }) => {
  if (kind === "metrics") return computing.metric(at)?.value ?? null;
  const figure = computing.figure(kind, at);
  if (!figure) return null;
  if (statistic) return STATISTICS[statistic](figure.numbers);
  return figure.numbers[place ? atPlace(place.map((i, d) => (i < 0 ? i + figure.shape[d] : i)), figure.shape) : 0];
};
const askNumber = (exercise, verdict) => {
  const answer = make("input", { type: "number", step: "any", "aria-label": "Your answer" });
  const right = Number(exercise.dataset.number);
  const check = () => {
    const off = answer.valueAsNumber - right;
    if (!Number.isFinite(off)) return;
    const near = Math.abs(off) <= Number(exercise.dataset.within);
    verdict.textContent = near ? "Right." : off > 0 ? "Not yet: it is smaller." : "Not yet: it is larger.";
  };
  answer.addEventListener("keydown", (event) => event.key === "Enter" && check());
  return make("p", { className: "guess" }, answer, button("Check", check));
};
const awaitGoal = (exercise, verdict) => {
  const goal = JSON.parse(exercise.dataset.goal);
  verdict.textContent = live ? "Not yet." : "This page cannot be moved; the answer is below.";
  watchers.push(() => {
    const value = now.inputs && reachedBy(goal);
    if (verdict.textContent !== "Done." && value !== null && SENSES[goal.sense](value, goal.bound)) verdict.textContent = "Done.";
  });
};
all(".exercise").forEach((exercise) => {
  const verdict = make("p", { className: "verdict-line", role: "status" });
  const first = one("details", exercise); // the hint, or the answer
  if (exercise.dataset.goal) awaitGoal(exercise, verdict);
  else first.before(askNumber(exercise, verdict));
  first.before(verdict);
});
