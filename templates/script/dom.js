// Finding and making elements.
/** @type {(selector: string, within?: ParentNode) => any[]} */
export const all = (selector, within = document) => [...within.querySelectorAll(selector)];
/** @type {(selector: string, within?: ParentNode) => any} */
export const one = (selector, within = document) => within.querySelector(selector);
// An element: properties it has are set, others become attributes; children are elements or text.
/** @type {(tag: string, properties?: object, ...children: any[]) => any} */
export const make = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
};
export const button = (words, act, properties = {}) => make("button", { type: "button", onclick: act, ...properties }, words);
export const SVG = "http://www.w3.org/2000/svg";
/** @type {(tag: string, attributes: object) => any} */
export const draw = (tag, attributes) => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};
