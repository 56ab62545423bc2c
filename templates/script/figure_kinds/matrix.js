// A matrix as a heatmap: its cells are painted again, in the frame that it has.
import { all, one } from "../dom.js";
import { cellElements, extremes, figureKinds } from "../figures.js";

const paintHeatmap = (svg, lines, largest) => {
  all("path", svg).forEach((path) => path.remove());
  svg.append(...cellElements(lines, svg.dataset.frame.split(" ").map(Number), largest));
  const cursor = one(".cursor", svg);
  if (cursor) svg.append(cursor);
};
figureKinds.push({
  selector: "svg[data-frame]",
  copy: (svg) => ({ paths: all("path", svg).map((path) => path.cloneNode()), words: svg.getAttribute("aria-label") }),
  restore: (svg, { paths, words }) => {
    all("path", svg).forEach((path) => path.remove());
    svg.append(...paths.map((path) => path.cloneNode()));
    svg.setAttribute("aria-label", words);
  },
  paint: (svg, { lines, numbers, largest }) => {
    paintHeatmap(svg, lines, largest);
    svg.setAttribute("aria-label", `Live values. ${extremes(numbers)}.`);
  },
});
