// The page at a lesson's own address leads on to the current revision. Its markup does so without scripts as well; with
// them the place in the lesson that the address names is kept, and the frame of an earlier revision is left.
const link = document.querySelector("a");
if (link) {
  const to = link.href + location.search + location.hash;
  (document.defaultView?.top?.location ?? location).replace(to);
}
