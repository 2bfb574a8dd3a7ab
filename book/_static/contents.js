// A wide widget takes the place of the page's contents as well: these fade while it stands beside them.
(() => {
  const contents = document.querySelector(".bd-sidebar-secondary");
  if (!contents) return;
  const beside = new Set();
  const watch = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) beside[isIntersecting ? "add" : "delete"](target);
      contents.classList.toggle("book-covered", beside.size > 0);
    },
    { rootMargin: "0px 0px -25% 0px" },
  );
  for (const widget of document.querySelectorAll(".live-widget:not(.guess, .scored, .attention)")) watch.observe(widget);
})();
