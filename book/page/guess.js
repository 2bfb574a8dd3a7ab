// What a reader expects before they know: a field for each question of a lesson. Kept in this browser
// (_yours.js); where a kernel runs, `guesses` tells it as well.

import { button, follow, html, refuse } from "./_page.js";
import { decimal } from "./_chosen.js";
import { listenFor } from "./_listening.js";
import { watchYours, yours } from "./_yours.js";

/** What somebody types, with a comma, a real minus or its unit, as a plain number is written. */
const plain = (text, unit) => text.replace("−", "-").replace(",", ".").replace(unit, "").trim();

const shown = (value) => `${value}`.replace("-", "−");

// Each kind of field: {node, set(guesses)}, and `give(values, refused)` when its reader has guessed something:
// numbers by the names of the parts (undefined takes one back), or a sentence why not.

function numberField({ question: { name, label, unit, low, high }, uid, give }) {
  const id = `${uid}-${name}`.replaceAll(/\W+/g, "-");
  const words = `${label}${unit ? `, in ${unit}` : ""}`;
  const input = html("input", {
    id,
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    "data-guess": name,
    "aria-describedby": `${uid}-note`,
    onchange: read,
  });
  const typed = () => decimal(low, high).read(plain(input.value, unit));
  function read() {
    const { value, refused = "" } = plain(input.value, unit) ? typed() : {};
    refuse(input, refused);
    give({ [name]: value }, refused && `${words}${words.endsWith("?") ? "" : ":"} ${refused}`);
  }
  const set = (guesses) => {
    if (input.getAttribute("aria-invalid")) return;
    if (typed().value !== guesses[name]) input.value = name in guesses ? shown(guesses[name]) : "";
  };
  return { node: html("div", { class: "attn-asked" }, html("label", { for: id }, words), input), set };
}

function choiceField({ question: { name, label, options }, uid, give }) {
  const boxes = options.map(([text, value]) => {
    const input = html("input", { type: "radio", name: `${uid}-${name}`, onchange: () => give({ [name]: value }) });
    return { value, input, node: html("label", {}, input, text) };
  });
  const row = html(
    "div",
    { class: "attn-options", role: "radiogroup", "aria-label": label, "data-guess": name },
    ...boxes.map(({ node }) => node),
  );
  const set = (guesses) => boxes.forEach(({ value, input }) => {
    input.checked = guesses[name] === value;
  });
  return { node: html("div", { class: "attn-asked attn-of-many" }, html("span", {}, label), row), set };
}

/** Names to be put in order: by dragging, or with the buttons beside each. */
function orderField({ question: { name, label, items }, give }) {
  let order = [...items];
  let noted = false;
  const list = html("ol", { "aria-label": label, "data-guess": name });
  const keep = button("This is my order", guess);
  const ranks = () => Object.fromEntries(order.map((item, i) => [item, i + 1]));
  function guess() {
    give(ranks());
  }
  function move(from, to, focus) {
    if (to < 0 || to >= order.length || from === to) return;
    const [item] = order.splice(from, 1);
    order.splice(to, 0, item);
    draw();
    if (!focus) return;
    const keys = [...list.children[to].querySelectorAll("button:not(:disabled)")];
    (keys.find((key) => key.dataset.way === focus) ?? keys[0]).focus();
  }
  const step = (i, way, sign, words) => {
    const to = i + way;
    const key = button(sign, () => {
      move(i, to, sign);
      if (noted) guess();
    }, words);
    key.dataset.way = sign;
    key.disabled = to < 0 || to >= order.length;
    return key;
  };
  function draw() {
    list.replaceChildren(
      ...order.map((item, i) =>
        html(
          "li",
          { "data-item": item, onpointerdown: (event) => grab(event, item) },
          html("span", {}, `${i + 1}. ${item}`),
          step(i, -1, "←", `${item}: sooner`),
          step(i, 1, "→", `${item}: later`),
        ),
      ),
    );
  }
  /** Carry one along: it changes places with whichever it is drawn over. */
  function grab(event, item) {
    if (event.target.closest("button")) return;
    event.preventDefault();
    let { clientX: x, clientY: y } = event;
    const before = order.join();
    follow(list, event, (dx, dy) => {
      [x, y] = [x + dx, y + dy];
      const over = [...list.children].findIndex((each) => {
        const { left, right, top, bottom } = each.getBoundingClientRect();
        return x >= left && x <= right && y >= top && y <= bottom;
      });
      if (over >= 0) move(order.indexOf(item), over);
    }, () => {
      if (noted && order.join() !== before) guess();
    });
  }
  const set = (guesses) => {
    const was = noted;
    noted = items.every((item) => item in guesses);
    list.classList.toggle("attn-noted", noted);
    const held = keep === document.activeElement; // what hides keeps no focus
    keep.hidden = noted;
    if (held && noted) list.querySelector("button:not(:disabled)").focus();
    if (!was && !noted) return; // an order that is still being made
    const given = noted ? items.toSorted((one, other) => guesses[one] - guesses[other]) : items;
    if (given.join() === order.join()) return; // what has the focus keeps it
    order = given;
    draw();
  };
  draw();
  return { node: html("div", { class: "attn-asked attn-of-many" }, html("span", {}, label), list, html("div", {}, keep)), set };
}

const FIELDS = { number: numberField, choice: choiceField, order: orderField };

const FIRST = { figure: "figure.attn-figure", widget: ".live-widget" };

/** What stands from a figure on, or behind a widget, to the score of these fields would give the answer away, or all the
 * rest of their section: veiled until something is guessed, or at a press. Returns what lifts the veil. */
function veil(el, veils) {
  const below = [];
  for (let next = el.closest(".cell")?.nextElementSibling; next && !next.matches("section"); next = next.nextElementSibling) {
    below.push(next);
  }
  const at = veils === "rest" ? 0 : below.findIndex((each) => each.querySelector(FIRST[veils]));
  const first = at + (veils === "widget"); // which itself gives nothing away until it is used
  const end = veils === "rest" ? below.length : below.findIndex((each) => each.querySelector(".scored")) + 1;
  const kept = at < 0 ? [] : below.slice(first, end);
  const lift = button("Guess first, or press to see it", () => {
    for (const each of kept) each.inert = false;
    key.remove();
  });
  const key = html("div", { class: "attn-guesses attn-veil" }, lift);
  for (const each of kept) each.inert = true;
  kept[0]?.before(key);
  return () => lift.click();
}

function render({ model, el }) {
  const uid = `guess-${Math.random().toString(36).slice(2)}`;
  const lesson = model.get("lesson");
  const note = html("p", { class: "attn-note", id: `${uid}-note`, role: "status" });
  const fields = model.get("questions").map((question) => FIELDS[question.kind]({ question, uid, give }));
  const names = model.get("questions").flatMap(({ kind, name, items }) => (kind === "order" ? items : [name]));

  const lift = veil(el, model.get("veils"));
  const refusals = new Map(); // question -> why what stands in its field is no answer

  function give(values, refused = "") {
    if (refused) refusals.set(...Object.keys(values), refused);
    else Object.keys(values).forEach((name) => refusals.delete(name));
    const guesses = { ...yours(lesson).guesses, ...values };
    for (const [name, value] of Object.entries(values)) if (value === undefined) delete guesses[name];
    yours(lesson).guess(guesses);
  }

  function show() {
    const { guesses, stays } = yours(lesson);
    for (const field of fields) field.set(guesses);
    const given = names.filter((name) => name in guesses).length;
    if (given) lift();
    const all = given
      ? `Noted, ${given} of ${names.length}: you meet it again where the result stands. It ${stays()}.`
      : `What you guess meets you again where the result stands. It ${stays()}.`;
    note.classList.toggle("attn-wrong", refusals.size > 0);
    note.textContent = [...refusals.values()].join(" ") || all;
    model.set("guesses", guesses);
    model.save_changes();
  }

  el.append(html("div", { class: "attn-guesses", role: "group", "aria-label": "Your guess" }, ...fields.map(({ node }) => node), note));
  listenFor(lesson);
  show();
  return watchYours(lesson, show);
}

export default { render };
