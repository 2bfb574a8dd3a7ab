// The recursion as a drawing that one steps through: three boards, one network, and what it reads and rewrites.

import { button, goOn, html, plural, speaker, svg } from "./_page.js";

const SIDE = 180; // of a board
const NAMES = { puzzle: "the puzzle", mind: "in mind", answer: "its answer" };
// Where boards and network stand, and the ways between them, in a wide place and in a narrow one.
const WIDE = {
  size: [620, 346],
  puzzle: [0, 28],
  mind: [220, 28],
  answer: [440, 28],
  net: [210, 292, 200, 46],
  reads: { puzzle: "M90 214V315H202m-9-5 9 5-9 5", mind: "M290 214V284m-5-9 5 9 5-9", answer: "M510 214V306H418m9-5-9 5 9 5" },
  writes: { mind: "M330 292V218m-6 10 6-10 6 10", answer: "M410 326H552V218m-6 10 6-10 6 10" },
};
const NARROW = {
  size: [390, 500],
  puzzle: [0, 28],
  mind: [0, 312],
  answer: [210, 312],
  net: [218, 100, 172, 46],
  reads: { puzzle: "M184 118H210m-9-5 9 5-9 5", mind: "M90 284V236H262V154m-5 9 5-9 5 9", answer: "M350 284V154m-5 9 5-9 5 9" },
  writes: { mind: "M234 146V262H120V286m-6-10 6 10 6-10", answer: "M306 146V286m-6-10 6 10 6-10" },
};
const NARROWER = 520; // pixels, than which a wide one has letters too small

/** A board: its lines and its digits. */
function boardOf({ name, at: [x, y], task, cells, clues, wrong, changed }) {
  const { side, rows, columns } = task;
  const size = SIDE / side;
  const lines = Array.from({ length: side + 1 }, (_, i) => [
    svg("path", { class: i % columns ? "trm-thin" : "trm-thick", d: `M${i * size} 0V${SIDE}` }),
    svg("path", { class: i % rows ? "trm-thin" : "trm-thick", d: `M0 ${i * size}H${SIDE}` }),
  ]).flat();
  const parts = cells.flatMap((digit, i) => {
    const [row, column] = [Math.floor(i / side), i % side];
    const [left, top] = [column * size, row * size];
    const given = clues[i] > 0;
    const kind = given ? "trm-given" : wrong[i] ? "trm-wrongly" : `trm-of-${name}`;
    return [
      changed[i] && svg("rect", { class: `trm-new trm-of-${name}`, x: left, y: top, width: size, height: size }),
      digit && svg("text", { class: kind, x: left + size / 2, y: top + 0.69 * size }, String(digit)),
      digit && !given && wrong[i] && svg("text", { class: "trm-cross", x: left + size - 6, y: top + 10 }, "✗"),
    ].filter(Boolean);
  });
  const title = svg("text", { class: "trm-board-name", x: 0, y: -9 }, NAMES[name]);
  return svg("g", { transform: `translate(${x} ${y})` }, title, ...parts, ...lines);
}

/** The drawing in `el`: `drawing` has {rows, columns, thoughts, clues, solution}, and mind and answer after each use. */
export function recursionView({ model, el }) {
  const { rows, columns, thoughts, clues, solution, mind, answer } = model.get("drawing");
  const task = { rows, columns, side: rows * columns };
  const uses = thoughts + 1; // in a look
  const spoken = speaker();
  let at = 0; // uses so far
  const go = (to) => {
    at = to;
    draw();
    goOn(next, back);
  };
  const picture = html("div", { class: "trm-recursion-picture" });
  const told = html("p", { class: "trm-recursion-told" });
  const back = button("Back", () => go(at - 1));
  const next = button("Next", () => go(at + 1));
  const over = button("Start over", () => go(0));
  const root = html(
    "div",
    { class: "attn-widget trm trm-recursion", role: "group", "aria-label": "One look, taken apart" },
    html("div", { class: "attn-controls" }, next, back, over),
    told,
    picture,
    spoken.node,
  );
  el.append(root);

  const blank = clues.map(() => 0);
  const read = { puzzle: () => blank, mind: (use) => mind[use - 1], answer: (use) => answer[use - 1] };
  const cellsOf = (name, use) => (use ? read[name](use) : blank);
  const filled = (cells) => clues.map((clue, i) => clue || cells[i]);
  const wrongIn = (cells) => cells.map((digit, i) => !clues[i] && digit !== solution[i]);
  const writes = () => (at % uses ? "mind" : "answer");

  function sentence() {
    if (!at) return "Nothing is in mind yet, and there is no answer. Press Next.";
    const look = Math.ceil(at / uses);
    const now = cellsOf(writes(), at);
    const wrong = wrongIn(now).filter(Boolean).length;
    const found = wrong ? `Read as a board, it has ${plural(wrong, "mistake")}.` : "Read as a board, it has no mistake.";
    return writes() === "mind"
      ? `Look ${look}, thought ${at % uses} of ${thoughts}. The network reads all three boards and rewrites what is in mind. ${found}`
      : `Look ${look}, answer. The network reads what is in mind and its answer, and rewrites its answer. ${found}`;
  }

  function draw() {
    const width = root.clientWidth || NARROWER;
    const place = width < NARROWER ? NARROW : WIDE;
    const reading = at ? (writes() === "mind" ? ["puzzle", "mind", "answer"] : ["mind", "answer"]) : [];
    const boards = Object.keys(NAMES).map((name) => {
      const cells = filled(cellsOf(name, at));
      const before = filled(cellsOf(name, Math.max(0, at - 1)));
      const written = at > 0 && writes() === name;
      return boardOf({
        name,
        at: place[name],
        task,
        cells,
        clues,
        wrong: wrongIn(cells),
        changed: cells.map((digit, i) => written && digit !== before[i]),
      });
    });
    const way = (d, on, kind) => svg("path", { class: `trm-way trm-${kind}${on ? " trm-on" : ""}`, d });
    const [x, y, w, h] = place.net;
    const ways = [
      ...Object.entries(place.reads).map(([name, d]) => way(d, reading.includes(name), "reads")),
      ...Object.entries(place.writes).map(([name, d]) => way(d, at > 0 && writes() === name, `writes trm-of-${name}`)),
    ];
    const words = sentence();
    picture.replaceChildren(
      svg(
        "svg",
        { viewBox: `-2 0 ${place.size[0] + 4} ${place.size[1]}`, role: "img", "aria-label": words },
        ...boards,
        ...ways,
        svg("rect", { class: "trm-net", x, y, width: w, height: h, rx: 8 }),
        svg("text", { class: "trm-net-name", x: x + w / 2, y: y + h / 2 + 5 }, "the same network"),
      ),
    );
    told.textContent = words;
    spoken.say(words);
    back.disabled = over.disabled = at === 0;
    next.disabled = at === mind.length;
  }

  const watcher = new ResizeObserver(draw);
  watcher.observe(root);
  draw();
  return () => {
    watcher.disconnect();
    spoken.quiet();
  };
}
