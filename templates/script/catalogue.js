// The catalogue's search: words, a tag, an order. Cards are only hidden and moved, so thousands stay quick.
import { all, make } from "./dom.js";

const cards = all(".card");
const groups = all(".part");
const search = make("input", { type: "search", id: "find", autocomplete: "off" });
const topics = [...new Set(cards.flatMap((card) => card.dataset.tags.split("|")))].filter(Boolean).sort((a, b) => a.localeCompare(b));
const topic = make("select", { id: "topic" }, make("option", { value: "" }, "any"), ...topics.map((tag) => make("option", { value: tag }, tag)));
const order = make("select", { id: "order" }, make("option", { value: "year" }, "year"), make("option", { value: "newest" }, "year, newest first"), make("option", { value: "title" }, "title"));
const tally = make("p", { className: "caption", role: "status" });
const keys = { year: (a, b) => a.dataset.year.localeCompare(b.dataset.year), newest: (a, b) => b.dataset.year.localeCompare(a.dataset.year), title: () => 0 };
const filter = () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const card of cards) {
    const fits = words.every((word) => card.dataset.words.includes(word)) && (!topic.value || card.dataset.tags.split("|").includes(topic.value));
    card.hidden = !fits;
    count += fits;
  }
  for (const group of groups) group.hidden = !group.querySelector(".card:not([hidden])");
  tally.textContent = words.length || topic.value ? `${count} of ${cards.length} lessons` : "";
};
const arrange = () => {
  for (const group of groups) {
    const own = all(".card", group).sort((a, b) => keys[order.value](a, b) || a.dataset.title.localeCompare(b.dataset.title));
    group.querySelector(".cards").append(...own);
  }
};
if (cards.length > 1) {
  const label = (words, control) => make("label", { htmlFor: control.id }, words, control);
  const form = make("div", { className: "finder" }, label("Find ", search), label("Topic ", topic), label("Order by ", order), tally);
  form.setAttribute("role", "search");
  document.querySelector("main").prepend(form);
  search.addEventListener("input", filter);
  topic.addEventListener("change", filter);
  order.addEventListener("change", arrange);
}
