// What scrolls sideways by itself can be scrolled by keyboard: it is a stop of the Tab key while it has more than it shows.
import { all } from "./dom.js";

const watcher = new ResizeObserver((entries) => entries.forEach(({ target }) => {
  if (target.scrollWidth > target.clientWidth + 1) target.setAttribute("tabindex", "0");
  else target.removeAttribute("tabindex");
}));
export const startScrollers = () => all("pre:not([tabindex]), math[display], .picture, .hero-case").forEach((part) => watcher.observe(part));
