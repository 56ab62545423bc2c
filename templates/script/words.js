// Words that explain themselves: a glossary term shows its meaning on hover, focus or tap, at the reader's level.
import { remembered } from "./core.js";
import { all, button, make, one } from "./dom.js";

const tip = make("div", { className: "tip", id: "tip", role: "tooltip", hidden: true });
const entryOf = (link) => document.getElementById(link.hash.slice(1));
let shownFor = null;
let hiding = 0; // the timer that hides the tip
const hideTip = () => {
  tip.hidden = true;
  shownFor?.removeAttribute("aria-describedby");
  shownFor = null;
};
const showTip = (link) => {
  const entry = entryOf(link);
  if (!entry) return;
  const level = document.documentElement.dataset.level;
  const meaning = one(`dd.${level}`, entry) ?? one("dd", entry);
  tip.replaceChildren(make("strong", {}, ...[...one("dt", entry).childNodes].map((node) => node.cloneNode(true))), ...[...(meaning?.childNodes ?? [])].map((node) => node.cloneNode(true)));
  tip.hidden = false;
  clearTimeout(hiding);
  shownFor?.removeAttribute("aria-describedby");
  shownFor = link;
  link.setAttribute("aria-describedby", "tip");
  const [box, wide] = [link.getBoundingClientRect(), document.documentElement.clientWidth];
  tip.style.left = `${Math.max(8, Math.min(box.left, wide - tip.offsetWidth - 8)) + scrollX}px`;
  const below = box.bottom + tip.offsetHeight + 8 < innerHeight || box.top < tip.offsetHeight + 8;
  tip.style.top = `${(below ? box.bottom + 6 : box.top - tip.offsetHeight - 6) + scrollY}px`;
};
const setLevel = (level) => {
  document.documentElement.dataset.level = level;
  remembered.set("level", level);
  all(".level button").forEach((each) => each.setAttribute("aria-pressed", String(each.dataset.level === level)));
};
export const startWords = () => {
  const glossary = one(".glossary");
  if (!glossary) return;
  one("main").append(tip);
  const levels = ["beginner", "expert"].map((level) => button(level[0].toUpperCase() + level.slice(1), () => setLevel(level), { "data-level": level, "aria-pressed": "false" }));
  if (one(".glossary .expert")) glossary.before(make("div", { className: "level", role: "group", "aria-label": "Explain words for" }, "Explain words for a ", levels));
  const stored = remembered.get("level");
  setLevel(stored === "expert" ? "expert" : "beginner");
  const lazily = () => (hiding = setTimeout(hideTip, 180));
  all("a.term").forEach((link) => {
    link.addEventListener("pointerenter", () => showTip(link));
    link.addEventListener("pointerleave", lazily);
    link.addEventListener("focus", () => showTip(link));
    link.addEventListener("blur", lazily);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      showTip(link);
    });
  });
  tip.addEventListener("pointerenter", () => clearTimeout(hiding));
  tip.addEventListener("pointerleave", lazily);
  addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
};
