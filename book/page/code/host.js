// Puts an editor where a page has a place for one, as soon as its text is there. A page that is read from a disk may
// import nothing, so there the sentence stays that stands in the place.

(() => {
  "use strict";
  const here = document.currentScript.src;
  const KINDS = [
    [".attn-cell-place", "editor.js"],
    [".attn-answer-place", "answer.js"],
    [".attn-bench-place", "workbench.js"],
  ];
  const LOST =
    "What this needs could not be loaded: the network may be gone, or the page lies in a frame that bars it. " +
    "Reload the page, or open it in a window of its own.";
  if (location.protocol === "file:") return;
  for (const [kind, name] of KINDS) {
    // Each place brings this script along; the first that runs sees to all of them.
    const places = [...document.querySelectorAll(`${kind}:not([data-hosted])`)];
    for (const place of places) place.dataset.hosted = "";
    if (!places.length) continue;
    import(new URL(name, here).href).then(
      ({ mount }) => places.forEach(mount),
      () => places.forEach((place) => place.replaceChildren(LOST)),
    );
  }
})();
