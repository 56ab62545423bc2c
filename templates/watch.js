(() => {
  "use strict";
  const mine = document.currentScript.dataset.build;
  const kept = "lessonpress-preview";
  const notice = document.getElementById("notice") ?? document.createElement("pre");
  if (!notice.id) {
    notice.id = "lessonpress-notice";
    notice.setAttribute("role", "alert");
    notice.style.cssText = "position:fixed;inset:auto 0 0 0;z-index:99;max-height:50vh;overflow:auto;margin:0;" +
      "padding:.8rem 1rem;border-top:3px solid #b3261e;background:#fff4f2;color:#410e0b;white-space:pre-wrap;" +
      "overflow-wrap:anywhere;font:.9rem/1.5 monospace";
    notice.hidden = true;
    document.body.append(notice);
  }
  const show = (message) => {
    if (notice.textContent !== message) notice.textContent = message;
    notice.hidden = !message;
  };
  // What a reload would lose: the place on the page, what is unfolded, the numbers that were moved. The page itself
  // keeps the case, the step and the node, in its address.
  /** @type {() => HTMLDetailsElement[]} */
  const foldings = () => Array.from(document.querySelectorAll("main details"));
  /** @type {() => HTMLInputElement[]} */
  const fields = () => Array.from(document.querySelectorAll(".play input[type=number]"));
  const nameOf = (part) => part.querySelector("summary")?.textContent ?? "";
  const moved = () => document.querySelector(".state-line button:not([hidden])") !== null;
  const remember = () => {
    const isAbove = (part) => part.getClientRects().length && part.getBoundingClientRect().top <= 1; // and is shown
    const above = [...document.querySelectorAll("main [id]")].filter(isAbove).pop();
    sessionStorage.setItem(kept, JSON.stringify({
      at: scrollY, id: above?.id, top: above?.getBoundingClientRect().top,
      open: foldings().filter((part) => part.open).map(nameOf),
      numbers: moved() ? Object.fromEntries(fields().map((field) => [field.ariaLabel, field.value])) : {},
    }));
  };
  const restore = () => {
    const state = JSON.parse(sessionStorage.getItem(kept) ?? "null");
    sessionStorage.removeItem(kept);
    if (!state) return;
    history.scrollRestoration = "manual";
    foldings().forEach((part) => (part.open ||= state.open.includes(nameOf(part))));
    fields().forEach((field) => {
      const value = state.numbers[field.ariaLabel];
      if (value === undefined || value === field.value) return;
      field.value = value;
      field.dispatchEvent(new Event("change", { bubbles: true }));
    });
    const settle = () => {
      const part = state.id && document.getElementById(state.id);
      scrollTo({ top: part ? scrollY + part.getBoundingClientRect().top - state.top : state.at, behavior: "instant" });
    };
    settle();
    addEventListener("load", () => requestAnimationFrame(settle));
  };
  restore();
  const events = new EventSource("/.lessonpress/events");
  events.onmessage = (event) => {
    const now = JSON.parse(event.data);
    if (now.build !== mine) {
      remember();
      location.reload();
    } else show(now.message);
  };
  events.onerror = () => show("The preview has ended. Start it again, and this page will follow.");
})();
