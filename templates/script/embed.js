// One figure alone, live, for other pages to take in a frame: `?figure=ID` leaves that figure and the controls.
import { all, make, one } from "./dom.js";

export const startEmbed = () => {
  const wanted = new URLSearchParams(location.search).get("figure");
  const figures = all("figure.matrix, figure.vector").filter((figure) => wanted && (figure.dataset.matrix ?? figure.dataset.vector) === wanted);
  if (!figures.length) return;
  const kept = [...figures.map((figure) => figure.closest(".hero-case") ?? figure), one(".controls")];
  const prune = (part) => [...part.children].forEach((child) => {
    if (kept.includes(child) || child.matches("script, .drawer, .tip, .unseen")) return;
    if (kept.some((each) => child.contains(each))) prune(child);
    else child.classList.add("outside");
  });
  prune(document.body);
  document.body.classList.add("embedded");
  one(".controls").append(make("p", { className: "caption" }, make("a", { href: location.pathname, target: "_top" }, one("h1").textContent)));
};
