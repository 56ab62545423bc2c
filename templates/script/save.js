// Taking figures along: SVG and PNG as they are shown, tables as CSV, commands to the clipboard.
import { caseNow } from "./cases.js";
import { headsOf, isVector, linesNow, rowsOf } from "./cells.js";
import { chosen, say } from "./core.js";
import { data } from "./data.js";
import { SVG, all, button, draw, make, one } from "./dom.js";
import { graph } from "./graph.js";
import { exact } from "./numbers.js";
import { now } from "./state.js";

const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "paint-order"];
const standalone = (svg) => {
  const copy = svg.cloneNode(true);
  const [from, to] = [[svg, ...all("*", svg)], [copy, ...all("*", copy)]];
  from.forEach((element, i) => {
    if (!(element instanceof SVGElement) || element.closest("title, desc, style")) return;
    const style = getComputedStyle(element);
    KEPT.forEach((name) => style.getPropertyValue(name) && to[i].setAttribute(name, style.getPropertyValue(name)));
    ["tabindex", "role", "class", "style"].forEach((name) => to[i].removeAttribute(name));
  });
  all("style, .cursor", copy).forEach((each) => each.remove());
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("xmlns", SVG);
  const paper = draw("rect", { width, height, fill: getComputedStyle(document.body).backgroundColor });
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
};
// Bars as one picture, from the same numbers as the table.
const barsPicture = (figure) => {
  const rows = rowsOf(figure);
  const width = 520;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${rows.length * 24 + 8}` });
  rows.forEach((row, i) => {
    const bar = all("rect", row)[1];
    const y = 8 + 24 * i;
    const text = (x, anchor, words) => {
      svg.append(draw("text", { x, y: y + 13, "text-anchor": anchor, "font-size": 12, "font-family": "sans-serif", fill: getComputedStyle(row).color }));
      svg.lastChild.textContent = words;
    };
    text(100, "end", row.cells[0].textContent);
    svg.append(draw("rect", { x: 110 + 3 * parseFloat(bar.getAttribute("x")), y, width: 3 * parseFloat(bar.getAttribute("width")), height: 16, fill: getComputedStyle(bar).fill }));
    text(width - 10, "end", row.cells[2].textContent);
  });
  return svg;
};
const download = (name, blob) => {
  const link = make("a", { download: name, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  say(`${name} is saved`);
};
const svgText = (figure) => {
  const svg = figure.matches(".vector") ? barsPicture(figure) : one("svg.heatmap, svg.lpg", figure);
  return figure.matches(".vector") ? new XMLSerializer().serializeToString(svg) : standalone(svg);
};
const savePng = (name, text) => {
  const image = new Image();
  image.onload = () => {
    const canvas = make("canvas", { width: image.naturalWidth * 2, height: image.naturalHeight * 2 });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => download(name, blob), "image/png");
  };
  const { width, height } = /** @type {any} */ (new DOMParser().parseFromString(text, "image/svg+xml").documentElement).viewBox.baseVal;
  const sized = text.includes(" width=") && /^<svg[^>]* width=/.test(text) ? text : text.replace("<svg", `<svg width="${width}" height="${height}"`);
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(sized);
};
const quoted = (words) => (/[",\n]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words);
const csv = (figure) => all("[data-figure]", figure.parentElement).filter((each) => figure.contains(each)).concat(figure.matches("[data-figure]") ? [figure] : []).map((part) => {
  const lines = linesNow(part);
  const names = rowsOf(part).map((row) => row.cells[0].textContent);
  const corner = one(".panel-name", part)?.textContent ?? ""; // which panel, where there are several
  const heads = isVector(part) ? ["", "value"] : [corner, ...headsOf(part).map((th) => th.textContent)];
  const rows = names.map((name, i) => [name, ...(isVector(part) ? [lines[0][i]] : lines[i]).map(exact)]);
  return [heads, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}).join("\r\n");
const plainCsv = (table) => all("tr", table).map((row) => [...row.cells].map((cell) => quoted(cell.textContent.trim())).join(",")).join("\r\n") + "\r\n";
const copyText = async (words, what) => {
  await navigator.clipboard.writeText(words);
  say(`${what} copied`);
};
const saver = (name, actions) => make("details", { className: "save" }, make("summary", {}, "Save"), make("div", {}, Object.entries(actions).filter(([, act]) => act).map(([words, act]) => button(words, act, { "aria-label": `${words} of ${name}` }))));
const fileName = (figure) => {
  const id = figure.dataset.matrix ?? figure.dataset.vector ?? "graph";
  return [data.slug, figure !== graph ? caseNow() : null, id, now.inputs ? "live" : null].filter(Boolean).join("-");
};
export const startSave = () => {
  all("figure.matrix, figure.vector").forEach((figure) => {
    const caption = one("figcaption", figure);
    const drawn = figure.matches(".vector") ? one(".bar rect", figure) : one("svg.heatmap", figure);
    if (!one("tbody", figure)) return;
    caption.append(saver(one(".name", figure).textContent, {
      SVG: drawn && (() => download(fileName(figure) + ".svg", new Blob([svgText(figure)], { type: "image/svg+xml" }))),
      PNG: drawn && (() => savePng(fileName(figure) + ".png", svgText(figure))),
      CSV: () => download(fileName(figure) + ".csv", new Blob([csv(figure)], { type: "text/csv" })),
      "Copy CSV": navigator.clipboard && (() => copyText(csv(figure), "Table")),
    }));
  });
  if (graph) one(".tools").append(saver("the graph", {
    SVG: () => download(fileName(graph) + ".svg", new Blob([svgText(graph)], { type: "image/svg+xml" })),
    PNG: () => savePng(fileName(graph) + ".png", svgText(graph)),
  }));
  const nodes = one(".layers table");
  if (nodes) one(".layers summary").after(saver("the table of nodes", { CSV: () => download("nodes.csv", new Blob([plainCsv(nodes)], { type: "text/csv" })) }));
  if (!navigator.clipboard) return;
  all(".shell, .listing").forEach((figure) => {
    const words = button("Copy", async () => {
      await copyText(one("code", figure).textContent.trimEnd() + "\n", "Text");
      words.textContent = "Copied";
      setTimeout(() => (words.textContent = "Copy"), 1500);
    }, { className: "copy" });
    figure.prepend(words);
  });
  const place = one("#repeat .bibtex");
  if (place) place.before(make("p", {}, button("Copy a link to what is chosen", () => { chosen.flush(); copyText(location.href, "Link"); }, { className: "plain-button copy-link" })));
};
