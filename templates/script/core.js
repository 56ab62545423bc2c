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
// What is chosen stands in the address, as #case=…&step=…&node=…, so that it can be linked to.
export const chosen = {
  read() {
    const parts = location.hash.slice(1).split("&").map((part) => part.split("="));
    return Object.fromEntries(parts.filter((part) => part.length === 2).map(([name, value]) => [name, decodeURIComponent(value)]));
  },
  write(changes) {
    const now = { ...chosen.read(), ...changes };
    const parts = Object.entries(now).filter(([, value]) => value !== null);
    const hash = "#" + parts.map(([name, value]) => name + "=" + encodeURIComponent(value)).join("&");
    try {
      history.replaceState(null, "", parts.length ? hash : location.pathname + location.search);
    } catch {
      return;
    }
  },
};
