// At an address below a lesson's that leads nowhere: the lesson itself is shown, and the site, wherever it is served.
const lostAt = /^((.*\/)models\/[a-z0-9-]+\/)./.exec(location.pathname);
const front = /** @type {HTMLAnchorElement | null} */ (document.getElementById("front"));
const lessonNear = document.getElementById("near");
const nearAnchor = lessonNear?.querySelector("a");
if (lostAt && lessonNear && nearAnchor && !lostAt[0].endsWith("/index.html")) {
  nearAnchor.href = lostAt[1] ?? "";
  lessonNear.hidden = false;
}
if (lostAt && front) front.href = `${lostAt[2]}index.html`;
