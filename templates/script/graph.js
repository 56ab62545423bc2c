// The graph: zoom, pan, fold and unfold; the chosen node lights in the graph, in the source and in the figures.
import { shownFigures } from "./cases.js";
import { keyOf, sections } from "./cells.js";
import { chosen, onAddress, say } from "./core.js";
import { data } from "./data.js";
import { all, button, make, one } from "./dom.js";
import { chosenNode, lightNode, onLight, visit } from "./selection.js";
import { layerPorts, live, watchers } from "./state.js";

export const graph = one(".graph");
const pictures = new Map();
let zoom = null; // null: as wide as the page lets it be
const nodesOf = () => all("g.node[data-id]", graph);
// The module around a node: as the page's data say, or else by the node's id.
const parentOf = (id) => data.parents[id] ?? (/^\w+@(.*)#\d+$/.exec(id)?.[1] || id.slice(0, Math.max(0, id.lastIndexOf("."))));
const shownAs = (id) => {
  for (let each = id; each; each = parentOf(each)) {
    const element = all("g[data-id]", graph).find((shape) => !shape.matches(".edge") && (shape.dataset.id === each || shape.dataset.members?.split("\n").includes(each)));
    if (element) return element;
  }
  return null;
};
const info = make("p", { className: "node-info", role: "status" });
const figuresAt = (id) => (data.records[id] ?? []).flatMap((place) => sections.filter((figure) => {
  const { kind, at } = keyOf(figure);
  return `${kind}/${at}` === place && shownFigures().includes(figure);
}));
const rowOf = (id) => all(".layers tbody tr").find((row) => row.cells[0].textContent === id);
const describe = (id) => {
  const cells = rowOf(id)?.cells;
  const words = cells ? [cells[1].textContent, cells[3].textContent].filter(Boolean).join(", gives ") : "";
  const values = live && layerPorts[id] ? button("Look at its values", () => visit({ node: id }), { className: "plain-button" }) : null;
  const record = figuresAt(id)[0]?.closest("figure");
  const name = record && one(".name", record).textContent;
  const link = record ? button(`Recorded above: ${name}`, () => { record.scrollIntoView({ block: "center" }); one("[tabindex]", record)?.focus({ preventScroll: true }); }, { className: "plain-button" }) : null;
  info.replaceChildren(make("code", {}, id.replace(/^input:/, "")), words ? ` ${words}. ` : " ", ...[values, values && link ? " · " : null, link].filter(Boolean));
};
const bringIntoView = (element) => {
  const [box, around] = [element.getBoundingClientRect(), graph.getBoundingClientRect()];
  if (box.top < around.top || box.bottom > around.bottom) graph.scrollTop += box.top + box.height / 2 - around.top - around.height / 2;
  if (box.left < around.left || box.right > around.right) graph.scrollLeft += box.left + box.width / 2 - around.left - around.width / 2;
};
const lightGraph = (id) => {
  all(".recorded-here").forEach((figure) => figure.classList.remove("recorded-here"));
  figuresAt(id).forEach((figure) => figure.closest("figure").classList.add("recorded-here"));
  if (graph) {
    const element = shownAs(id);
    all("g[data-id]", graph).forEach((each) => each.classList.toggle("on", each === element));
    nodesOf().forEach((node) => node.setAttribute("aria-pressed", String(node === element)));
    if (element) bringIntoView(element);
    describe(id);
  }
};
const setZoom = (factor) => {
  const svg = one("svg", graph);
  const natural = svg.viewBox.baseVal;
  const fit = Math.min(graph.clientWidth - 32, 10 * natural.width) / natural.width;
  zoom = factor === null ? null : Math.min(4, Math.max(0.2, (zoom ?? Math.min(1, fit)) * factor));
  svg.style.maxWidth = zoom === null ? "" : "none";
  svg.style.width = zoom === null ? "" : `${natural.width * zoom}px`;
};
// The whole graph in the frame.
const fit = () => {
  const natural = one("svg", graph).viewBox.baseVal;
  zoom = 1;
  setZoom(Math.min((graph.clientWidth - 34) / natural.width, (graph.clientHeight - 34) / natural.height, 1));
};
const foldedNow = () => JSON.parse(graph.dataset.folded);
const apart = (a, b) => a.filter((each) => !b.includes(each)).length + b.filter((each) => !a.includes(each)).length;
// The picture in which one module is folded or open and all else is as it was, or else the nearest there is.
const toggleFold = (id) => {
  const current = foldedNow();
  const wanted = current.includes(id) ? current.filter((each) => each !== id) : [...current, id];
  const fitting = [...pictures.keys()].filter((key) => JSON.parse(key).includes(id) !== current.includes(id));
  const key = fitting.sort((a, b) => apart(JSON.parse(a), wanted) - apart(JSON.parse(b), wanted))[0];
  if (key === undefined) return false;
  swap(key);
  chosen.write({ fold: JSON.parse(key).join(",") });
  const element = shownAs(id);
  (element?.matches(".node") ? element : one(`g.node`, graph))?.focus();
  say(current.includes(id) ? `${id} is open` : `${id} is folded`);
  return true;
};
const swap = (key) => {
  one("svg", graph).replaceWith(pictures.get(key));
  graph.dataset.folded = key;
  dress();
  if (zoom !== null) setZoom(1);
  const id = chosenNode();
  if (id) lightNode(id, { quiet: true });
  all(".folder").forEach((each) => each.setAttribute("aria-pressed", String(foldedNow().includes(each.dataset.module))));
};
const foldable = () => [...new Set([...pictures.keys()].flatMap((key) => JSON.parse(key)))].filter((id) => [...pictures.keys()].some((key) => !JSON.parse(key).includes(id)));
const neighbour = (node, key) => {
  const box = (element) => element.getBoundingClientRect();
  const from = box(node);
  const [vertical, sign] = [key === "ArrowUp" || key === "ArrowDown", key === "ArrowDown" || key === "ArrowRight" ? 1 : -1];
  const scored = nodesOf().filter((each) => each !== node).map((each) => {
    const to = box(each);
    const [dx, dy] = [to.left + to.width / 2 - from.left - from.width / 2, to.top + to.height / 2 - from.top - from.height / 2];
    const [ahead, aside] = vertical ? [dy * sign, Math.abs(dx)] : [dx * sign, Math.abs(dy)];
    return { each, ahead, score: ahead + 2 * aside };
  });
  return scored.filter(({ ahead }) => ahead > 4).sort((a, b) => a.score - b.score)[0]?.each ?? null;
};
const onNodeKey = (event, node) => {
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    lightNode(node.dataset.id);
  } else if (event.key.toLowerCase() === "f" && !event.ctrlKey && !event.metaKey) {
    toggleFold(foldable().includes(node.dataset.id) ? node.dataset.id : parentOf(node.dataset.id));
  } else if (event.key.startsWith("Arrow")) {
    const next = neighbour(node, event.key);
    event.preventDefault();
    event.stopPropagation();
    if (!next) return;
    node.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    bringIntoView(next);
  }
};
// Make the nodes of the picture in place usable: buttons of which one is a tab stop.
const dress = () => {
  const modules = foldable();
  nodesOf().forEach((node, at) => {
    if (node.dataset.dressed) return;
    node.dataset.dressed = "yes";
    node.setAttribute("role", "button");
    node.setAttribute("aria-pressed", "false");
    node.tabIndex = at ? -1 : 0;
    node.addEventListener("click", () => lightNode(node.dataset.id));
    node.addEventListener("keydown", (event) => onNodeKey(event, node));
    if (modules.includes(node.dataset.id)) node.addEventListener("dblclick", () => toggleFold(node.dataset.id));
  });
  all("g.frame[data-id]", graph).forEach((frame) => {
    if (frame.dataset.dressed) return;
    frame.dataset.dressed = "yes";
    frame.addEventListener("click", () => lightNode(frame.dataset.id));
    frame.addEventListener("dblclick", () => toggleFold(frame.dataset.id));
  });
};
export const startGraph = () => {
  onLight.push(lightGraph);
  if (!graph) return;
  watchers.push(() => chosenNode() && describe(chosenNode()));
  pictures.set(graph.dataset.folded, one("svg", graph));
  all("template.view").forEach((view) => pictures.set(view.dataset.folded, one("svg", view.content)));
  const folders = foldable().slice(0, 12).map((id) => button(`Fold ${id}`, () => toggleFold(id) && tools.querySelector(`[data-module="${CSS.escape(id)}"]`).focus(), { className: "folder", "data-module": id, "aria-pressed": String(foldedNow().includes(id)) }));
  const tools = make("div", { className: "tools", role: "group", "aria-label": "Graph view" },
    button("+", () => setZoom(1.25), { "aria-label": "Zoom in", title: "Zoom in" }),
    button("−", () => setZoom(0.8), { "aria-label": "Zoom out", title: "Zoom out" }),
    button("Whole", fit, { title: "Show the whole graph" }),
    button("Readable", () => setZoom(null), { title: "Show the graph at its own size" }),
    folders);
  graph.before(tools);
  graph.after(info);
  dress();
  onAddress.push(({ fold }) => {
    const key = [...pictures.keys()].find((each) => fold !== undefined && JSON.parse(each).join(",") === fold);
    if (key !== undefined && key !== graph.dataset.folded) swap(key);
  });
  graph.addEventListener("keydown", (event) => {
    const act = { "+": () => setZoom(1.25), "=": () => setZoom(1.25), "-": () => setZoom(0.8), 0: fit }[event.key];
    if (!act || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
  graph.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    setZoom(event.deltaY < 0 ? 1.1 : 0.9);
  }, { passive: false });
  // Drag to pan; a finger scrolls by itself.
  let grip = null;
  graph.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) grip = [event.clientX + graph.scrollLeft, event.clientY + graph.scrollTop];
  });
  addEventListener("pointermove", (event) => {
    if (!grip) return;
    [graph.scrollLeft, graph.scrollTop] = [grip[0] - event.clientX, grip[1] - event.clientY];
  });
  addEventListener("pointerup", () => (grip = null));
};
