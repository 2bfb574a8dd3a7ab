// An exercise that is answered in the page: the notebook's stub as an editor, and the notebook's own check of it. What
// is typed and what is reached are kept in this browser.

import { button, download, html } from "./_page.js";
import { codePlace, takePlaceOf } from "./_code_place.js";
import { keptCode } from "./_kept_code.js";
import { engine, fetched } from "./_engine.js";
import { reach, reached } from "./_reached.js";
import { answerFields } from "./_answer_fields.js";

const CHANGED = "attn-reached";
const nameOf = (exercise) => `exercise ${exercise}`; // under which its code is kept

const many = (points) => `${Number(points.toFixed(2))} ${points === 1 ? "point" : "points"}`;

/** All that was reached and written in a lesson, as a file. */
function save(lesson, points, places) {
  const shares = reached(lesson);
  const exercises = Object.entries(points).map(([name, of]) => {
    const stub = places.find(({ dataset }) => dataset.name === name)?.stub ?? null;
    return { name, of, points: (shares[name] ?? 0) * of, answer: keptCode(lesson, nameOf(name)).get() ?? stub };
  });
  const text = JSON.stringify({ lesson, exercises }, null, 2);
  download(`answers-${lesson}.json`, [text], "application/json");
}

/** The place of an exercise, after the notebook's stub and check. */
export function mount(place, _, places) {
  const { lesson, name, title } = place.dataset;
  const points = JSON.parse(place.dataset.points); // of all exercises of the lesson that are answered in a page
  const check = document.getElementById(`check-${name}`);
  const score = html("p", { class: "attn-hint" });
  const answer = document.getElementById(`answer-${name}`);
  const book = takePlaceOf(answer);
  const uid = `attn-exercise-${lesson}-${name}`;
  const { node, tell, print, number, run, put, code } = codePlace({
    uid,
    label: `Your answer: ${title}`,
    hint: "Run (Ctrl+Enter) checks it, here in the page.",
    memory: keptCode(lesson, nameOf(name)),
    again: "Begin anew",
    book: () => book,
    attributes: { "aria-label": title, "data-exercise": name, "data-passed": "false" },
    measured: [],
    others: [button("Save", () => save(lesson, points, places))],
    below: [score],
    printed: answer.querySelector(".cell_output pre")?.textContent.trim(), // what is to be judged
    forget: () => {
      node.dataset.passed = false;
      fields.follow();
    },
    attempt,
  });
  const fields = answerFields({ stub: book, uid, code, put, run: () => run(), lines: node.firstChild });
  node.prepend(fields.node);
  fields.follow();
  place.stub = book;

  async function attempt(source) {
    const { checks, files, exercises } = await fetched(`${lesson}.answers.json`, "the check");
    const { outcome } = await engine().ask("check", { checks, files, source, ...exercises[name] }, print);
    if (outcome.lines.length) number(outcome.lines);
    tell(outcome.says, outcome.passed ? "good" : "bad");
    node.dataset.passed = outcome.passed;
    reach(lesson, name, outcome.share);
    document.dispatchEvent(new CustomEvent(CHANGED));
  }
  function show() {
    const shares = reached(lesson);
    const earned = (names) => names.reduce((sum, each) => sum + (shares[each] ?? 0) * points[each], 0);
    const here = places.map(({ dataset }) => dataset.name);
    const of = here.reduce((sum, each) => sum + points[each], 0);
    score.textContent = `Reached: ${many(earned([name]))} of ${points[name]} here, ${many(earned(here))} of the ${of} that this page can check.`;
  }

  document.addEventListener(CHANGED, show);
  addEventListener("storage", show);
  show();
  check.hidden = true;
  place.replaceChildren(node);
}
