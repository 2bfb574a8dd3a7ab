// A widget that says which of its states were opened, and grows as it opens one; and what is seen of the page around.

import { html } from "./_page.js";
import { opens } from "./_open.js";

const { document: page } = globalThis;
let stood = 0;
const topOf = (node) => node.getBoundingClientRect().top;

/** Bring words to the middle, and remember where they stand. */
globalThis.look = (id) => {
  page.getElementById(id).scrollIntoView({ block: "center" });
  stood = topOf(page.querySelector("#far"));
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
  const still = Math.abs(topOf(page.querySelector("#far")) - stood) < 3;
  page.querySelector("#told").textContent = `The words ${still ? "stand where they stood" : "are elsewhere"}; with the focus: ${there || "nothing"}.`;
}

function render({ model, el }) {
  const root = html("div", { class: "attn-widget" });
  const draw = () => {
    root.textContent = model.get("opened");
    root.style.height = model.get("opened") ? "40rem" : "30rem";
  };
  model.on("change:opened", draw);
  draw();
  el.append(root);
  setInterval(tell, 100);
  const open = (state) => () => model.set("opened", model.get("opened") + state);
  const states = model.get("states").map((state) => [state, open(state)]);
  return opens(root, Object.fromEntries(states), { model, chosen: { opened: null } });
}

export default { render };
