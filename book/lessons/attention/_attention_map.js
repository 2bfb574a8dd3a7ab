// The reader's word, the place that asks, and a map of the whole model, which stays in sight and says where one is.

import { html, refuse, speaker } from "./_page.js";
import { WORDS, parse, sorted } from "./_sorter.js";
import { arrowAt, box, draws, group, line, path, shareOf, spoken, toneOf, upTo, withArticle, words } from "./_attention_kit.js";
import { HEADS, PLACES } from "./_attention_model.js";

const ALLOWED = "Three letters, each a, b or c.";
const OF_THE_LOSS = new Set(["price", "triangle", "race"]); // where nothing is tried out
const NARROW = "(max-width: 1199px)"; // there the page has no second column

/** The stations of the map, by the names of their pictures. */
const STATIONS = [
  ["rows", "letters to rows", "rows"],
  ["scores", "scores", "score"],
  ["shares", "shares", "%"],
  ["mixtures", "mixtures", "mix"],
  ["stream", "network", "add"],
  ["chances", "a letter’s chance", "next"],
  ["writing", "writing", "write"],
  ["price", "loss", "loss"],
  ["triangle", "mask", "mask"],
  ["race", "no mask", "train"],
];

/** A station's picture, small: the real thing, for the reader's word. */
function small(name, { whole, model, place, seen, machinery, word }, x, y, size) {
  const unit = size / PLACES;
  const square = (kindOf) =>
    upTo(PLACES).flatMap((i) =>
      upTo(PLACES).map((j) => {
        const tone = kindOf(i, j);
        return tone && box(x + j * unit + 0.4, y + i * unit + 0.4, unit - 0.8, unit - 0.8, `${tone.kind} whole-mixed`, { rx: 0.8, ...tone.more });
      }),
    );
  const parts = {
    rows: () => square((i, e) => toneOf(whole.row[i][e], 3.2)),
    scores: () => square((i, j) => toneOf(whole.score[0][i][j], 8.5)),
    triangle: () => square((i, j) => (j <= i ? { kind: "whole-ink" } : !model.mask && { kind: "whole-fill-alarm" })),
    shares: () => square((i, j) => seen(i, j) && shareOf(0, whole.attention[0][i][j])),
    mixtures: () =>
      upTo(HEADS).flatMap((h) =>
        whole.mixture[h][place].map((value, d) => {
          const { kind, more } = toneOf(value, 3);
          return box(x + (d * size) / 3 + 0.5, y + h * size * 0.56, size / 3 - 1, size * 0.42, `${kind} whole-mixed`, { rx: 1, ...more });
        }),
      ),
    stream: () => [draws("circle", { cx: x + size / 2, cy: y + size / 2, r: size / 2.4, class: "whole-plus" }), words(x + size / 2, y + size / 2 + 5, "+", "whole-middle")],
    chances: () => [1, 2, 3, 0].map((id, r) => box(x, y + (r * size) / 4 + 1, Math.max(1.5, whole.chances[place][id] * size), size / 4 - 2, "whole-ink", { rx: 1 })),
    writing: () => [
      path(`M${x + size * 0.86} ${y + size * 0.66} C${x + size * 0.86} ${y} ${x + size * 0.26} ${y} ${x + size * 0.26} ${y + size * 0.66}`, "whole-arc whole-stroke-1", { "stroke-width": 2.4 }),
      upTo(4).map((k) => box(x + (k * size) / 3.8, y + size * 0.74, size / 5, size / 5, k === 3 ? "whole-ink" : "whole-chance", { rx: 1 })),
    ],
    price: () =>
      machinery.surprises(model)[WORDS.indexOf(word)].map((nats, i) => {
        const high = Math.max(1, (Math.min(1.3, nats) / 1.3) * size);
        return box(x + i * unit + 0.5, y + size - high, unit - 1, high, "whole-ink");
      }),
    race: () => [
      path(`M${x} ${y + 2} C${x + size * 0.25} ${y + size * 0.5} ${x + size * 0.3} ${y + size * 0.92} ${x + size} ${y + size * 0.94}`, "whole-curve whole-cheat"),
      line(x, y + size * 0.62, x + size, y + size * 0.62, "whole-floor"),
    ],
  };
  return group(parts[name]());
}

/** Where the picture of a station is, if the page has it; its section's heading, if it has one. */
function whereIs(name) {
  const picture = document.querySelector(`.whole-picture[data-picture="${name}"]`);
  return picture?.closest("section")?.firstElementChild ?? picture;
}

/** What the reader changes, beside the map: `node` goes where there is room. */
export function guide({ store, uid }) {
  const { node: voice, say } = speaker();
  const input = html("input", {
    id: `${uid}-word`,
    class: "attn-text whole-word",
    maxlength: 3,
    size: 3,
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    "aria-describedby": `${uid}-note`,
    oninput: typed,
    onfocus: ({ target }) => target.select(),
    onblur: () => {
      input.value = store.state.word;
      answer.classList.remove("whole-away");
      object("");
    },
  });
  const answer = html("p", { class: "whole-written", "aria-hidden": "true" });
  const note = html("p", { id: `${uid}-note`, class: "attn-message attn-wrong", role: "status" });
  const places = html("fieldset", { class: "whole-places" });
  const map = html("nav", { class: "whole-map", "aria-label": "The whole model" });
  const using = html("p", { class: "whole-using" });
  const label = html("label", { for: `${uid}-word` }, "your word");
  const node = html(
    "aside",
    { class: "attn-widget whole whole-guide", "aria-label": "Your word, and the whole model" },
    html("div", { class: "whole-chosen" }, html("div", { class: "whole-asked" }, label, input, answer), places),
    html("div", { class: "whole-told" }, note, using),
    map,
    voice,
  );
  let at = "";
  let drawn = 0; // stations

  function object(sentence) {
    note.textContent = sentence;
    refuse(input, sentence);
  }

  function typed() {
    const word = parse(input.value);
    const tried = store.state.turned || store.state.push; // to type the word again lets go
    if (word && (tried || word !== store.state.word)) {
      store.set({ word });
      say(`${word} becomes ${store.now().writing.answer}`);
    }
    answer.classList.toggle("whole-away", !word);
    const missing = 3 - input.value.length;
    const begun = /^[abc]{0,2}$/i.test(input.value);
    object(word || begun ? "" : ALLOWED);
    if (begun) note.textContent = missing === 3 ? ALLOWED : `${missing === 1 ? "One letter" : "Two letters"} more.`;
  }

  function draw() {
    const now = store.now();
    if (!now) return;
    const { word, place, text, model, models, writing, turned, push } = now;
    if (document.activeElement !== input) input.value = word;
    answer.textContent = `→ ${writing.answer}`;
    answer.classList.toggle("attn-wrong", writing.answer !== sorted(word));
    answer.classList.toggle("whole-away", false);
    const focused = places.contains(document.activeElement);
    places.replaceChildren(
      html("legend", {}, "which place asks?"),
      ...upTo(PLACES).map((i) =>
        html(
          "label",
          {},
          html("input", { type: "radio", name: `${uid}-place`, checked: i === place, "aria-label": `place ${i + 1}, ${spoken(text[i])}`, onchange: () => store.set({ place: i }) }),
          html("span", {}, text[i]),
        ),
      ),
    );
    if (focused) places.querySelector(":checked").focus();
    const told = [
      model !== models[0] && `In all pictures: ${model.name}.`,
      turned && `You changed the query of place ${turned.place + 1}.`,
      push && `You make head 1 read ${withArticle(writing.steps[push.n].text[push.at])}.`,
      writing.answer !== sorted(word) && `The other pictures show ${word}|${sorted(word)}.`,
    ].filter(Boolean);
    if (using.contains(document.activeElement)) places.querySelector(":checked").focus({ preventScroll: true });
    using.hidden = !told.length;
    const changed = turned || push || model !== models[0];
    const back = html("button", { type: "button", class: "attn-button", onclick: () => store.set({ model: models[0].name }) }, "back");
    using.replaceChildren(`${told.join(" ")} `, changed ? back : "");
    chart();
  }

  /** The map: along the stream from top to bottom where there is room, else in a row. */
  function chart() {
    const now = store.now();
    if (!now) return;
    const there = STATIONS.filter(([name]) => whereIs(name));
    map.hidden = !there.length;
    drawn = there.length;
    const tall = node.parentElement === beside();
    const width = tall ? 190 : Math.min(560, Math.floor(map.clientWidth)) || 358;
    const [svg, height] = tall ? alongTheStream(now, there) : inARow(now, there, width);
    const links = () => [...map.querySelectorAll(".whole-station")];
    const focused = links().indexOf(document.activeElement);
    map.replaceChildren(draws("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "The steps of the model" }, svg));
    links()[focused]?.focus({ preventScroll: true });
  }

  function station([name, title, short], frame, ...parts) {
    const called = title.includes(short) || short === "%" ? title : `${short}: ${title}`;
    const link = draws(
      "a",
      { href: `#${whereIs(name)?.closest("[id]")?.id ?? ""}`, "aria-label": called, "aria-current": name === at ? "step" : null, class: "whole-station" },
      box(...frame, name === at ? "whole-marked-box" : "whole-nothing", { rx: 6 }),
      parts,
    );
    link.addEventListener("click", (event) => {
      event.preventDefault();
      whereIs(name)?.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    });
    return link;
  }

  function inARow(now, there, width) {
    const step = width / there.length;
    const size = Math.min(20, step - 12);
    const parts = there.map((each, k) => {
      const x = k * step + (step - size) / 2;
      return station(each, [k * step + 1, 0, step - 2, 42], small(each[0], now, x, 4, size), (step > 34 || each[0] === at) && words(k * step + step / 2, 39, each[2], "whole-middle whole-tiny whole-haloed"));
    });
    return [parts, 44];
  }

  function alongTheStream(now, there) {
    const size = 30; // with a note above it all fits into 720 pixels
    const [stem, branch] = [20, 66];
    const spots = { rows: [stem - 16, 24], scores: [branch, 64], shares: [branch, 102], mixtures: [branch, 140], chances: [stem - 16, 254], writing: [stem - 16, 296], price: [16, 346], triangle: [80, 346], race: [144, 346] };
    const plus = (y) => [draws("circle", { cx: stem, cy: y, r: 8, class: "whole-plus" }), words(stem, y + 4.5, "+", "whole-middle")];
    const parts = [
      box(stem - 3.5, 18, 7, 272, "whole-stream", { rx: 3 }),
      path(`M${stem} 60 C${stem} 80 ${branch - 22} 79 ${branch - 3} 79`, "whole-way"),
      path(`M${branch + 15} 172 C${branch + 15} 190 ${stem + 30} 188 ${stem + 10} 188`, "whole-way"),
      path(`M${stem} 200 C${stem} 214 44 216 54 216`, "whole-way"),
      path(`M80 226 C80 238 ${stem + 30} 238 ${stem + 10} 238`, "whole-way"),
      [102, 140].map((y) => path(`M${branch + 15} ${y - 7} v6`, "whole-way")),
      plus(188),
      plus(238),
      path(`M${stem - 18} 311 H1.5 V10 H6`, "whole-way"),
      line(0, 336, 190, 336, "whole-faint-line"), // what is said of the whole
      arrowAt(12, 10, 0),
      words(18, 15, now.text.slice(0, PLACES), "whole-sign whole-lesser whole-start"),
    ];
    for (const each of there) {
      if (each[0] === "stream") {
        const on = each[0] === at;
        parts.push(station(each, [52, 204, 66, 24], box(54, 206, 62, 20, on ? "whole-nothing" : "whole-network", { rx: 4 }), words(85, 220, each[1], `whole-middle whole-tiny ${on ? "whole-bold" : ""}`)));
        continue;
      }
      const [x, y] = spots[each[0]];
      const bold = each[0] === at ? "whole-bold" : "";
      if (y === 346) {
        parts.push(station(each, [x - 16, y - 4, 62, size + 26], small(each[0], now, x, y, size), words(x + size / 2, y + size + 16, each[1], `whole-middle whole-tiny ${bold}`)));
        continue;
      }
      const solid = ["rows", "chances", "writing"].includes(each[0]) && box(x - 1, y - 1, size + 2, size + 2, "whole-ground", { rx: 4 });
      parts.push(station(each, [x - 4, y - 3, 190 - x, size + 6], solid, small(each[0], now, x, y, size), words(x + size + 7, y + size / 2 + 5, each[1], bold)));
    }
    return [parts, 400];
  }

  /** Which station the reader is at: the last whose heading has passed the upper part of the window. */
  function where() {
    const passed = STATIONS.filter(([name]) => (whereIs(name)?.getBoundingClientRect().top ?? Infinity) < innerHeight * 0.42);
    const next = passed.at(-1)?.[0] ?? "";
    if (next === at && STATIONS.filter(([name]) => whereIs(name)).length === drawn) return;
    at = next;
    const tried = store.state.turned || store.state.push;
    if (tried && OF_THE_LOSS.has(at)) return store.set({ turned: null, push: null });
    chart();
  }

  /** Beside the text where the page has a second column, else a bar that stays on top; in a notebook where it is. */
  const narrow = matchMedia(NARROW);
  const beside = () => document.querySelector(".bd-sidebar-secondary"); // which a page that still loads may not have yet
  const article = document.querySelector("article.bd-article");
  function settle(el) {
    const column = !narrow.matches && beside();
    node.classList.toggle("whole-bar", Boolean(article) && !column);
    if (column) column.prepend(node);
    else if (article) article.prepend(node);
    else el.append(node);
    document.documentElement.classList.toggle("whole-guided", Boolean(article));
    chart();
  }

  let stop = () => {};
  function begin(el) {
    const again = () => settle(el);
    narrow.addEventListener("change", again);
    addEventListener("scroll", where, { passive: true });
    const sized = new ResizeObserver(chart);
    sized.observe(node);
    const grown = new ResizeObserver(where); // pictures have their height when they are drawn
    grown.observe(document.body);
    const unwatch = store.watch(draw);
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", again, { once: true });
    settle(el);
    draw();
    where();
    stop = () => {
      narrow.removeEventListener("change", again);
      removeEventListener("scroll", where);
      sized.disconnect();
      grown.disconnect();
      unwatch();
      node.remove();
    };
  }
  return { begin, free: () => stop() };
}
