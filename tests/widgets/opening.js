// A widget that says which of its states were opened, and grows as it opens one; it may come late.

import { html } from "./_page.js";
import { opens } from "./_open.js";

export async function render({ model, el }) {
  const late = model.get("late");
  if (late) await new Promise((done) => setTimeout(done, late));
  const root = html("div", { class: "attn-widget" });
  const draw = () => {
    root.textContent = model.get("opened");
    root.style.height = model.get("opened") ? "40rem" : "30rem";
  };
  model.on("change:opened", draw);
  draw();
  el.append(root);
  const open = (state) => () => model.set("opened", model.get("opened") + state);
  const states = model.get("states").map((state) => [state, open(state)]);
  const shut = opens(root, Object.fromEntries(states), { model, chosen: { opened: null } });
  return () => {
    model.off("change:opened", draw);
    shut();
  };
}
