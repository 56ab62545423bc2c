// The drawer: one tensor, or one number with how it arises; a trail leads back.
import { chosen, onAddress } from "./core.js";
import { all, button, make } from "./dom.js";
import { TABLES, explain, numberOf } from "./explain.js";
import { counted, exact, placeOf, short, sizeOf } from "./numbers.js";
import { drawers, follow, lightNode, visit } from "./selection.js";
import { layerPorts, nodeOf, now, portName, watchers } from "./state.js";
import { tensorView } from "./tensor.js";

const drawer = make("aside", { className: "drawer", hidden: true, tabIndex: -1, "aria-label": "Follow one number" });
const trail = []; // what was looked at: {port, at} for a number, {node} for all that a node gave
let opener = null;
const elementName = ({ port, at }) => `${portName(port)}[${placeOf(at, now.values[port].shape).join(", ")}]`;
const stopName = (stop) => (stop.node ? stop.node.replace(/^input:/, "") : elementName(stop));
const refButton = (part) => button(short(numberOf(part)), () => follow(part), { className: "ref", title: elementName(part), "aria-label": `${elementName(part)} is ${short(numberOf(part))}` });
const partView = (part) => (typeof part === "string" ? part : typeof part === "number" ? make("span", { className: "figure", title: exact(part) }, short(part)) : refButton(part));
const placeWords = (part) => (typeof part === "number" ? "–" : `[${placeOf(part.at, now.values[part.port].shape).join(", ")}]`);
const tableView = ({ head, rows, total: last, chosen: mark }) => {
  const shown = rows.slice(0, TABLES);
  const first = shown.map((line) => line[0]).find((part) => part.port);
  const cells = (line) => line.map((part) => make("td", {}, partView(part)));
  const line = (parts) => (typeof parts[0] === "string" ? [make("th", { scope: "row" }, parts[0]), cells(parts.slice(1))] : [make("th", { scope: "row" }, placeWords(parts[0])), cells(parts)]);
  const heads = typeof shown[0]?.[0] === "string" ? head : [first ? portName(first.port) : "Element", ...head];
  const table = make("table", { className: "terms" }, make("caption", {}, "Terms"),
    make("thead", {}, make("tr", {}, heads.map((name) => make("th", { scope: "col", title: name }, name)))),
    make("tbody", {}, shown.map((parts, i) => make("tr", { className: i === mark ? "lit" : "" }, line(parts)))),
    make("tfoot", {}, make("tr", {}, make("th", { scope: "row", colSpan: heads.length - 1 }, last[0]), make("td", {}, partView(last[1])))));
  const cut = rows.length > TABLES ? make("p", { className: "caption" }, `The first ${TABLES} of ${rows.length} terms are shown; the sum is over all.`) : null;
  return make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Terms" }, table, cut);
};
const blockView = (block) => {
  if (block.says) return make("p", { className: "says" }, block.says);
  if (block.line) return make("p", { className: "line" }, block.line.map(partView));
  if (block.fold) return make("details", {}, make("summary", {}, block.fold), block.blocks.map(blockView));
  return tableView(block);
};
const nodeLink = (port) => button(portName(port), () => visit({ node: nodeOf(port) }), { className: "plain-button" });
const numberView = (stop) => {
  const explanation = explain(stop);
  const inputs = explanation.inputs.filter((port) => /^(input|\d)/.test(port) || explanation.whole);
  return [
    make("p", { className: "answer" }, make("span", {}, exact(explanation.value))),
    ...explanation.blocks.map(blockView),
    inputs.length ? make("p", { className: "caption" }, "Reads ", inputs.flatMap((port, i) => [i ? ", " : "", nodeLink(port)])) : null,
  ];
};
const nodeView = ({ node }) => {
  const ports = layerPorts[node] ?? [];
  if (!ports.length) return [make("p", { className: "says" }, "Nothing that this node gives was needed for the result.")];
  return ports.flatMap((port) => {
    const shape = now.values[port].shape;
    const panels = sizeOf(shape.slice(0, -2));
    const holder = make("div", {});
    const show = (lead) => holder.replaceChildren(...tensorView(port, lead, follow).filter(Boolean));
    show(0);
    const pick = make("select", { onchange: (event) => show(Number(event.target.value)) }, counted(Math.min(panels, 64), (i) => make("option", { value: i }, `[${placeOf(i, shape.slice(0, -2)).join(", ")}]`)));
    return [
      ports.length > 1 ? make("h4", {}, portName(port)) : null,
      panels > 1 ? make("label", { className: "panel-choice" }, "Leading axes ", pick) : null,
      holder,
    ].filter(Boolean);
  });
};
const refresh = () => {
  const stop = trail[trail.length - 1];
  if (drawer.hidden || !stop) return;
  const open = all("details", drawer).map((part) => part.open);
  const back = trail.length > 1 ? button("← Back", () => { trail.pop(); refresh(); drawer.focus(); }, { className: "plain-button" }) : null;
  const kind = now.inputs ? "Live" : "As recorded";
  drawer.replaceChildren(
    make("div", { className: "drawer-head" }, back ?? make("span", {}), button("Close", closeDrawer, { className: "plain-button", "aria-keyshortcuts": "Escape" })),
    make("h3", {}, stopName(stop)),
    make("p", { className: "caption" }, stop.node ? `What this node gave · ${kind}` : `How one number arises · ${kind}`),
    ...(stop.node ? nodeView(stop) : numberView(stop)).filter(Boolean),
    stop.node ? "" : make("p", { className: "caption" }, button("The whole tensor", () => visit({ node: nodeOf(stop.port) }), { className: "plain-button" })),
  );
  all("details", drawer).forEach((part, i) => (part.open = open[i] ?? false));
};
const closeDrawer = () => {
  drawer.hidden = true;
  trail.length = 0;
  document.body.classList.remove("with-drawer");
  chosen.write({ number: null });
  if (opener?.isConnected) opener.focus();
};
const openDrawer = (stop) => {
  if (drawer.hidden) opener = document.activeElement;
  trail.push(stop);
  drawer.hidden = false;
  document.body.classList.add("with-drawer");
  refresh();
  drawer.scrollTop = 0;
  drawer.focus();
  lightNode(stop.node ?? nodeOf(stop.port), { quiet: true });
  chosen.write({ number: stop.node ? null : `${stop.port} ${stop.at}` });
};
export const startDrawer = () => {
  document.body.append(drawer);
  drawer.addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeDrawer();
  });
  watchers.push(refresh);
  drawers.push(openDrawer);
  onAddress.push(({ number }) => {
    const [, port, at] = /^(.+) (\d+)$/.exec(number ?? "") ?? [];
    if (port in (now.values ?? {}) && Number(at) < sizeOf(now.values[port].shape)) openDrawer({ port, at: Number(at) });
  });
};
