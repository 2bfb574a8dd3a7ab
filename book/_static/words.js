// A card for each word of the glossary: under the pointer, at the focus, at the first tap. What the
// words of a page mean stands at its end, where notes_site/words.py has put it.
(() => {
  const list = document.querySelector(".attn-words");
  if (!list) return;
  const PAUSE = 250; // ms: who passes over a word wants no card, and the way to a card takes a moment
  const GAP = 6; // px
  const entries = new Map();
  for (const entry of list.children)
    for (const anchor of entry.dataset.anchors.split(" ")) entries.set(`#${anchor}`, entry);

  const card = document.createElement("div");
  card.className = "attn-word-card";
  card.hidden = true;
  const meaning = card.appendChild(document.createElement("dl"));
  const more = card.appendChild(document.createElement("a"));
  more.textContent = "More in the glossary";
  more.tabIndex = -1; // the word itself is this link, for the keyboard
  list.after(card);

  let word = null; // whose card is shown
  let waiting = 0;

  function show(next) {
    clearTimeout(waiting);
    if (word === next) return;
    hide();
    word = next;
    word.dataset.shown = "";
    const entry = entries.get(word.hash).cloneNode(true);
    entry.querySelector("[id]").removeAttribute("id");
    meaning.replaceChildren(entry);
    more.href = word.href;
    card.hidden = false;
    place();
  }

  function hide() {
    clearTimeout(waiting);
    if (!word) return;
    delete word.dataset.shown;
    word = null;
    card.hidden = true;
  }

  // Below the word, or above where there is more room, and never over the edge of the window.
  function place() {
    const at = word.getClientRects()[0];
    const from = card.offsetParent.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = card;
    const room = document.documentElement.clientWidth - width - 8;
    const above = at.bottom + GAP + height > innerHeight && at.top > innerHeight - at.bottom;
    const last = [...word.getClientRects()].at(-1);
    card.style.left = `${Math.max(8, Math.min(at.left, room)) - from.left}px`;
    card.style.top = `${(above ? at.top - GAP - height : last.bottom + GAP) - from.top}px`;
  }

  const kept = () => word?.matches(":hover, :focus") || card.matches(":hover");
  const leave = ({ pointerType }) => {
    if (pointerType === "touch") return;
    clearTimeout(waiting);
    waiting = setTimeout(() => kept() || hide(), PAUSE);
  };

  for (const link of document.querySelectorAll("a.attn-word")) {
    const entry = entries.get(link.hash);
    link.setAttribute("aria-describedby", entry.querySelector("[id]").id);
    let first = false; // whether a finger came down on it while its card was not shown
    link.addEventListener("pointerenter", ({ pointerType }) => {
      if (pointerType === "touch") return;
      clearTimeout(waiting);
      waiting = setTimeout(show, PAUSE, link);
    });
    link.addEventListener("pointerleave", leave);
    link.addEventListener("pointerdown", ({ pointerType }) => {
      first = pointerType === "touch" && word !== link;
    });
    link.addEventListener("pointercancel", () => {
      first = false; // it became a scroll
    });
    link.addEventListener("click", (event) => {
      if (first) event.preventDefault();
      if (first) show(link);
      first = false;
    });
    link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
    link.addEventListener("blur", ({ relatedTarget }) => relatedTarget && !kept() && hide());
  }
  card.addEventListener("pointerenter", () => clearTimeout(waiting));
  card.addEventListener("pointerleave", leave);
  addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  addEventListener("pointerdown", ({ target }) => {
    if (!card.contains(target) && !word?.contains(target)) hide();
  });
  addEventListener("resize", () => word && place());
})();
