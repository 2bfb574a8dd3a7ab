// Puts an editor where a page has a place for one, as soon as its text is there. A page that is read from a disk may
// import nothing, so there it stays as it is, with a sentence.

(() => {
  "use strict";
  const places = [...document.querySelectorAll(".attn-cell-place")];
  const here = document.currentScript.src;
  if (location.protocol !== "file:") {
    import(new URL("editor.js", here).href).then(({ mount }) => places.forEach(mount));
    return;
  }
  for (const place of places) {
    place.textContent = "This code can be changed and run where the page comes from a server.";
  }
})();
