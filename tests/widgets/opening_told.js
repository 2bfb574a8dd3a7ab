// The widget of opening.js, and what is seen of the page around it.

import { render } from "./opening.js";

const { document: page } = globalThis;
let words = "far"; // the id of those that were looked at last
let stood = 0;
const topOf = (node) => node.getBoundingClientRect().top;

/** Bring words to the middle, and remember where they stand. */
globalThis.look = (id) => {
  words = id;
  page.getElementById(id).scrollIntoView({ block: "center" });
  stood = topOf(page.getElementById(id));
};
/** Press words with a key held down: whether the browser may do what it does then. */
globalThis.held = (id, key) => {
  const click = new MouseEvent("click", { bubbles: true, cancelable: true, [key]: true });
  addEventListener("click", (event) => {
    page.querySelector("#held").textContent = event.defaultPrevented ? "ours" : "the browser’s";
    event.preventDefault();
  }, { once: true });
  page.getElementById(id).dispatchEvent(click);
};

/** Whether the words stand where they stood, and the top of what has the focus is well in sight. */
function tell() {
  const { activeElement: held } = page;
  const top = topOf(held);
  const there = held === page.body ? "" : top > -1 && top <= innerHeight / 2 ? "its top above the middle" : top < innerHeight && top > 0 ? "in sight" : "out of sight";
  const still = Math.abs(topOf(page.getElementById(words)) - stood) < 3;
  page.querySelector("#told").textContent = `The words ${still ? "stand where they stood" : "are elsewhere"}; with the focus: ${there || "nothing"}.`;
}

export default {
  render(given) {
    setInterval(tell, 100);
    return render(given);
  },
};
