(() => {
  "use strict";
  const mine = document.currentScript.dataset.build;
  const told = document.getElementById("told") ?? document.createElement("pre");
  if (!told.id) {
    told.id = "lessonpress-told";
    told.setAttribute("role", "alert");
    told.style.cssText = "position:fixed;inset:auto 0 0 0;z-index:99;max-height:50vh;overflow:auto;margin:0;" +
      "padding:.8rem 1rem;border-top:3px solid #b3261e;background:#fff4f2;color:#410e0b;white-space:pre-wrap;" +
      "overflow-wrap:anywhere;font:.9rem/1.5 monospace";
    told.hidden = true;
    document.body.append(told);
  }
  const tell = (message) => {
    if (told.textContent !== message) told.textContent = message;
    told.hidden = !message;
  };
  const events = new EventSource("/.lessonpress/events");
  events.onmessage = (event) => {
    const now = JSON.parse(event.data);
    if (now.build !== mine) location.reload();
    else tell(now.message);
  };
  events.onerror = () => tell("The preview has ended. Start it again, and this page will follow.");
})();
