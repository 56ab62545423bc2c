// The source: what a node calls is marked to the column, and a place in the source finds the node that it calls.
import { say } from "./core.js";
import { data } from "./data.js";
import { all, make, one } from "./dom.js";
import { lightNode, onLight } from "./selection.js";

const lineOf = (anchor, number) => document.getElementById(anchor + number);
/** @type {(line: any, column: number) => [Node, number]} */
const pointIn = (line, column) => {
  let left = column - 1;
  /** @type {any} */
  let last = null;
  const texts = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    last = texts.currentNode;
    const size = [...last.data].length;
    if (left <= size) return [last, [...last.data].slice(0, left).join("").length];
    left -= size;
  }
  return [last ?? line, last ? last.data.length : 0];
};
const stretchOf = ([anchor, first, end, column, endColumn]) => {
  const [from, to] = [lineOf(anchor, first), lineOf(anchor, end)];
  if (!from || !to) return null;
  const range = document.createRange();
  range.setStart(...pointIn(from, column));
  range.setEnd(...pointIn(to, endColumn));
  return range;
};
const marks = globalThis.Highlight && CSS.highlights ? new Highlight() : null;
if (marks) CSS.highlights.set("called", marks);
const lightSource = (node) => {
  all(".numbered .lit").forEach((line) => line.classList.remove("lit"));
  marks?.clear();
  const places = data.places[node] ?? [];
  places.forEach((place) => {
    const [anchor, first, last, column] = place;
    for (let number = first; number <= last; number++) lineOf(anchor, number)?.classList.add("lit");
    const range = marks && column ? stretchOf(place) : null;
    if (range) marks.add(range);
  });
  const first = places[0] && lineOf(places[0][0], places[0][1]);
  const listing = first?.closest("pre");
  if (listing) listing.scrollTop = Math.max(0, first.offsetTop - listing.offsetTop - listing.clientHeight / 3);
};
// All calls in the order in which they stand in the source.
const calls = Object.entries(data.places).flatMap(([node, places]) => places.filter((place) => place.length === 5).map((place) => ({ node, place })));
const before = (a, b) => a[0] < b[0] || (a[0] === b[0] && a[1] <= b[1]);
const callAt = (anchor, line, column) => {
  const around = calls.filter(({ place: [file, first, last, from, to] }) => file === anchor && before([first, from], [line, column]) && !before([last, to], [line, column]));
  const extent = ({ place: [, first, last, from, to] }) => (last - first) * 1000 + (to - from);
  return around.sort((a, b) => extent(a) - extent(b))[0]?.node ?? null;
};
/** @type {(event: MouseEvent) => [Node, number]} */
const caretAt = (event) => {
  const caret = document.caretPositionFromPoint?.(event.clientX, event.clientY);
  if (caret) return [caret.offsetNode, caret.offset];
  const range = document.caretRangeFromPoint?.(event.clientX, event.clientY);
  return range ? [range.startContainer, range.startOffset] : null;
};
const clickedCall = (event) => {
  const line = event.target.closest(".numbered > code > span");
  const caret = caretAt(event);
  if (!line || !caret || !line.contains(caret[0])) return null;
  const range = document.createRange();
  range.setStart(line, 0);
  range.setEnd(...caret);
  const [, anchor, number] = /^(.*?-)(\d+)$/.exec(line.id);
  return callAt(anchor, Number(number), [...range.toString()].length + 1);
};
const startListing = (listing) => {
  const anchor = /^(.*?-)\d+$/.exec(one("code > span", listing).id)[1];
  const own = calls.filter(({ place }) => place[0] === anchor).sort((a, b) => a.place[1] - b.place[1] || a.place[3] - b.place[3]);
  if (!own.length) return;
  one("figcaption", listing.parentElement).append(make("span", { className: "caption" }, " Click on a call, or press N and P here, to find its node."));
  listing.addEventListener("click", (event) => {
    const node = clickedCall(event);
    if (node) lightNode(node);
  });
  let at = -1;
  listing.addEventListener("keydown", (event) => {
    const by = { n: 1, p: -1 }[event.key.toLowerCase()];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    at = (at + by + own.length) % own.length;
    lightNode(own[at].node);
    say(`${own[at].node}, line ${own[at].place[1]}`);
  });
};
export const startSource = () => {
  onLight.push(lightSource);
  all(".listing pre.numbered").forEach(startListing);
};
