// At an address below a lesson's that leads nowhere: the lesson itself is shown.
const lostAt = /^(.*\/models\/[a-z0-9-]+\/)./.exec(location.pathname);
const lessonNear = document.getElementById("near");
const nearAnchor = lessonNear?.querySelector("a");
if (lostAt && lessonNear && nearAnchor && !lostAt[0].endsWith("/index.html")) {
  nearAnchor.href = lostAt[1] ?? "";
  lessonNear.hidden = false;
}
