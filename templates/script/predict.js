// Predict first: a choice is answered at once, by the option that the record proves right.
import { all, button, make, one } from "./dom.js";
import { short } from "./numbers.js";

const startPrediction = (question) => {
  const right = Number(question.dataset.right);
  const verdict = make("p", { className: "verdict-line", role: "status" });
  const options = all(".options li", question);
  const answer = one("details:not(.hint)", question);
  options.forEach((option, at) => {
    const choice = button("", () => {
      options.forEach((each, i) => one("button", each).setAttribute("aria-pressed", String(i === at)));
      verdict.textContent = at === right ? "Right." : "Not quite.";
      answer.open = true;
    }, { "aria-pressed": "false" });
    choice.append(...option.childNodes);
    option.append(choice);
  });
  if (options.length) return void answer.before(verdict);
  const guess = make("input", { type: "number", step: "any", "aria-label": "Your guess" });
  const check = () => {
    const off = guess.valueAsNumber - Number(one("p", answer).textContent);
    if (Number.isFinite(off)) verdict.textContent = off ? `Off by ${short(Math.abs(off))}.` : "Exactly.";
    answer.open = true;
  };
  answer.before(make("p", { className: "guess" }, guess, button("Check", check)), verdict);
};
all(".prediction").forEach(startPrediction);
