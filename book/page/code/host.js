// Puts an editor where a page has a place for one: as soon as its text is there where that is within a screen of what is
// seen, else once the page has been read and there is nothing else to do, for what is read first comes first. A page
// that is read from a disk may import nothing, so there the sentence stays that stands in the place.

(() => {
  "use strict";
  const here = document.currentScript.src;
  const KINDS = ["cell", "answer", "bench"];
  const LOST =
    "What this needs could not be loaded: the network may be gone, or the page lies in a frame that bars it. " +
    "Reload the page, or open it in a window of its own.";
  if (location.protocol === "file:") return;
  const idle = globalThis.requestIdleCallback ?? setTimeout; // which WebKit has not
  const isNear = (place) => place.getBoundingClientRect().top < 2 * innerHeight;
  const read = new Promise((resolve) => {
    if (document.readyState === "complete") resolve();
    else addEventListener("load", () => idle(resolve));
  });
  for (const kind of KINDS) {
    // Each place brings this script along; the first that runs sees to all of them.
    const places = [...document.querySelectorAll(`.attn-${kind}-place:not([data-hosted])`)];
    for (const place of places) place.dataset.hosted = "";
    if (!places.length) continue;
    const now = places.some(isNear) ? Promise.resolve() : read;
    now.then(() => import(new URL("places.js", here).href)).then(
      ({ mounts }) => places.forEach(mounts[kind]),
      () => places.forEach((place) => place.replaceChildren(LOST)),
    ).finally(() => {
      for (const place of places) place.dataset.hosted = "done";
    });
  }
})();
