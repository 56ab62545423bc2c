(() => {
  "use strict";
  const mine = document.currentScript.dataset.build;
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
  const events = new EventSource("/.lessonpress/events");
  events.onmessage = (event) => {
    const now = JSON.parse(event.data);
    if (now.build !== mine) location.reload();
    else show(now.message);
  };
  events.onerror = () => show("The preview has ended. Start it again, and this page will follow.");
})();
