// The page is complete without its scripts. These add what moves: live numbers, following one number, the graph.
"use strict";
const data = JSON.parse(document.getElementById("page-data").textContent);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const one = (selector, within = document) => within.querySelector(selector);
// An element: properties it has are set, others become attributes; children are elements or text.
const make = (tag, told = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(told)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
};
const button = (words, act, told = {}) => make("button", { type: "button", onclick: act, ...told }, words);
const SVG = "http://www.w3.org/2000/svg";
const draw = (tag, told) => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(told)) element.setAttribute(name, value);
  return element;
};
// What a screen reader is told when something changes away from the focus.
const voice = document.body.appendChild(make("div", { className: "unseen", role: "status" }));
const say = (words) => {
  voice.textContent = words;
};
// A preference that outlives the page, where the browser lets it.
const remembered = {
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
const chosen = {
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
