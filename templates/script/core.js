// The page is complete without its scripts. These add what moves: live numbers, following one number, the graph.
// What a screen reader says when something changes away from the focus.
import { make } from "./dom.js";

const voice = document.body.appendChild(make("div", { className: "unseen", role: "status" }));
export const say = (words) => {
  voice.textContent = words;
};
// A preference that outlives the page, where the browser lets it.
export const remembered = {
  get(name) {
    try {
      return localStorage.getItem("lessonpress:" + name);
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem("lessonpress:" + name, value);
    } catch {
      return;
    }
  },
};
// What is chosen stands in the address, as #case=…&step=…&node=…, so that it can be linked to. What cannot be read there
// is left out.
const decoded = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
};
let waiting = {}; // changes that are still to be written
let timer = 0;
export const chosen = {
  read() {
    const parts = location.hash.slice(1).split("&").map((part) => [part.slice(0, part.indexOf("=")), decoded(part.slice(part.indexOf("=") + 1))]);
    return Object.fromEntries(parts.filter(([name, value]) => name && value !== null));
  },
  write(changes) {
    const before = chosen.read();
    if (Object.entries(changes).every(([name, value]) => (before[name] ?? null) === value)) return;
    const now = { ...before, ...changes };
    const parts = Object.entries(now).filter(([, value]) => value !== null);
    const hash = "#" + parts.map(([name, value]) => name + "=" + encodeURIComponent(value)).join("&");
    try {
      history.replaceState(null, "", parts.length ? hash : location.pathname + location.search);
    } catch {
      return;
    }
  },
  // What moves all the time is written when it rests: browsers refuse a hundred changes of an address.
  writeSoon(changes) {
    waiting = { ...waiting, ...changes };
    clearTimeout(timer);
    timer = setTimeout(chosen.flush, 250);
  },
  flush() {
    clearTimeout(timer);
    if (Object.keys(waiting).length) chosen.write(waiting);
    waiting = {};
  },
};
// Each takes what an address wishes for, at the start and whenever the address is changed; of others than its own
// wishes it knows nothing.
/** @type {((wished: Record<string, string>) => void)[]} */
export const onAddress = [];
