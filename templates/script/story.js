// The story: the chosen step lights its node; arrow keys walk from step to step.
import { chosen, onAddress } from "./core.js";
import { all, button, one } from "./dom.js";
import { graph } from "./graph.js";
import { lightNode, onLight } from "./selection.js";

const steps = all(".step");
const markStep = (id) => steps.forEach((step) => {
  const on = step.dataset.target === id;
  step.classList.toggle("chosen", on);
  one("button", step)?.setAttribute("aria-pressed", String(on));
});
const chooseStep = (step, { quiet = false } = {}) => {
  lightNode(step.dataset.target, { quiet: true });
  steps.forEach((each) => {
    each.classList.toggle("chosen", each === step);
    one("button", each).setAttribute("aria-pressed", String(each === step));
  });
  if (!quiet) chosen.write({ step: step.dataset.step, node: null });
};
export const startStory = () => {
  onLight.push(markStep);
  steps.forEach((step, at) => {
    const heading = one("h3", step);
    const words = [...heading.childNodes];
    heading.append(button("", () => chooseStep(step)));
    one("button", heading).append(...words);
    step.addEventListener("click", (event) => {
      if (!event.target.closest("a, button, summary")) chooseStep(step);
    });
    step.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const next = by && event.target.closest("h3") && steps[at + by];
      if (!next) return;
      event.preventDefault();
      chooseStep(next);
      one("button", next).focus();
    });
  });
  if (steps.length) chooseStep(steps.find((each) => each.matches(".opening")) ?? steps[0], { quiet: true });
  onAddress.push((wished) => {
    const step = steps.find((each) => each.dataset.step === wished.step);
    if (wished.node) lightNode(wished.node, { quiet: true });
    else if (step) chooseStep(step, { quiet: true });
    (wished.node ? graph : step)?.scrollIntoView({ block: "center" });
  });
};
