// The page is complete without this script. It adds a remembered case, full-precision values, steps and copy buttons.
"use strict";
(() => {
const data = JSON.parse(document.getElementById("page-data").textContent);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Cases: the chosen one is kept in the address, so that it can be linked to.
const choices = all('.chooser input[type="radio"]');
const fromAddress = () => {
  const id = decodeURIComponent((/^#case=(.*)$/.exec(location.hash) || [])[1] || "");
  const choice = choices.find((input) => input.value === id);
  if (choice) choice.checked = true;
};
choices.forEach((input) => input.addEventListener("change", () => {
  history.replaceState(null, "", "#case=" + encodeURIComponent(input.value));
}));
addEventListener("hashchange", fromAddress);
fromAddress();

// Cells: a pointer on a heatmap, or the focus in a table, reads a value with every digit.
const tone = "http://www.w3.org/2000/svg";
const outline = (svg, row, column) => {
  const [left, top, side] = svg.dataset.frame.split(" ").map(Number);
  const box = svg.querySelector(".cursor") || svg.appendChild(document.createElementNS(tone, "rect"));
  box.setAttribute("class", "cursor");
  box.setAttribute("x", left + column * side);
  box.setAttribute("y", top + row * side);
  box.setAttribute("width", side - 1);
  box.setAttribute("height", side - 1);
};
const read = (figure, row, column) => {
  const line = figure.querySelectorAll("tbody tr")[row];
  const svg = figure.querySelector("svg[data-frame]");
  const value = (data.figures[figure.dataset.figure][row] || [])[column];
  if (value === undefined) return;
  const names = [line.cells[0].textContent, figure.querySelectorAll("thead th")[column].textContent];
  figure.querySelector(".readout").textContent = "[" + names.join(", ") + "] = " + value;
  all(".lit", figure).forEach((cell) => cell.classList.remove("lit"));
  line.cells[column + 1].classList.add("lit");
  if (svg) outline(svg, row, column);
};
const readVector = (figure, position) => {
  const value = data.figures[figure.dataset.figure][0][position];
  const line = figure.querySelectorAll("tbody tr")[position];
  figure.querySelector(".readout").textContent = "[" + line.cells[0].textContent + "] = " + value;
  all(".lit", figure).forEach((cell) => cell.classList.remove("lit"));
  line.cells[2].classList.add("lit");
};
const readCell = (figure, cell) => {
  const row = cell.parentElement.sectionRowIndex;
  if (figure.matches(".vector")) readVector(figure, row);
  else read(figure, row, cell.cellIndex - 1);
};
const move = (event, figure, cell) => {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  if (!step) return;
  const line = cell.parentElement.parentElement.rows[cell.parentElement.sectionRowIndex + step[0]];
  const next = line && line.cells[cell.cellIndex + step[1]];
  if (!next || next.tagName !== "TD" || next.matches(".bar")) return;
  event.preventDefault();
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
};
all("[data-figure]").forEach((figure) => {
  const cells = all("tbody td:not(.bar)", figure);
  cells.forEach((cell, at) => {
    cell.tabIndex = at ? -1 : 0;
    cell.addEventListener("focus", () => readCell(figure, cell));
    cell.addEventListener("pointerenter", () => readCell(figure, cell));
    cell.addEventListener("keydown", (event) => move(event, figure, cell));
  });
  const svg = figure.querySelector("svg[data-frame]");
  if (svg) svg.addEventListener("pointermove", (event) => {
    const [left, top, side] = svg.dataset.frame.split(" ").map(Number);
    const area = svg.getBoundingClientRect();
    const unit = svg.viewBox.baseVal.width / area.width;
    const column = Math.floor(((event.clientX - area.left) * unit - left) / side);
    const row = Math.floor(((event.clientY - area.top) * unit - top) / side);
    const lines = data.figures[figure.dataset.figure];
    if (row >= 0 && column >= 0 && row < lines.length && column < lines[row].length) read(figure, row, column);
  });
});

// Steps: the chosen one lights its node in the graph and its lines in the source.
const steps = all(".step");
const nodes = all(".graph g.node[data-id]");
const drawn = all(".graph g[data-id]");
const graph = document.querySelector(".graph");
const bringIntoView = (element) => {
  const [box, around] = [element.getBoundingClientRect(), graph.getBoundingClientRect()];
  if (box.top < around.top || box.bottom > around.bottom) {
    graph.scrollTop += box.top + box.height / 2 - around.top - around.height / 2;
  }
};
const light = (id) => {
  all(".numbered .lit").forEach((line) => line.classList.remove("lit"));
  drawn.forEach((element) => {
    element.classList.toggle("on", element.dataset.id === id);
    if (element.dataset.id === id) bringIntoView(element);
  });
  (data.places[id] || []).forEach(([file, first, last]) => {
    for (let number = first; number <= last; number += 1) {
      const line = document.getElementById(file + number);
      if (line) line.classList.add("lit");
    }
  });
};
const choose = (step) => {
  steps.forEach((each) => {
    each.classList.toggle("chosen", each === step);
    each.querySelector("button").setAttribute("aria-pressed", String(each === step));
  });
  light(step.dataset.target);
};
steps.forEach((step, at) => {
  const heading = step.querySelector("h3");
  const button = document.createElement("button");
  button.type = "button";
  button.append(...heading.childNodes);
  heading.append(button);
  step.addEventListener("click", (event) => { if (!event.target.closest("a")) choose(step); });
  button.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = by && steps[at + by];
    if (!next) return;
    event.preventDefault();
    choose(next);
    next.querySelector("button").focus();
  });
});
const pick = (node) => {
  const step = steps.find((each) => each.dataset.target === node.dataset.id);
  if (step) choose(step); else light(node.dataset.id);
};
nodes.forEach((node) => {
  node.addEventListener("click", () => pick(node));
  node.addEventListener("keydown", (event) => { if (event.key === "Enter") pick(node); });
});
if (steps.length) choose(steps.find((step) => step.matches(".opening")) || steps[0]);

// Copy buttons, only where the browser lets a page copy.
if (navigator.clipboard) all(".shell, .listing").forEach((figure) => {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(figure.querySelector("code").textContent.trimEnd() + "\n");
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  figure.prepend(button);
});
addEventListener("beforeprint", () => all("details").forEach((part) => { part.open = true; }));
all(".hint").forEach((hint) => { hint.hidden = false; });
})();
