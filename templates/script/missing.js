// At an address below a lesson's that leads nowhere: the lesson itself is shown.
const found = /^(.*\/models\/[a-z0-9-]+\/)./.exec(location.pathname);
const near = document.getElementById("near");
const link = near?.querySelector("a");
if (found && near && link && !found[0].endsWith("/index.html")) {
  link.href = found[1] ?? "";
  near.hidden = false;
}
