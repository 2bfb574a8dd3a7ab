// The workbench: an attention that a reader writes, on a task of the book, beside recorded layers. Whatever runs here
// may have come by an address, so all of it runs where it reaches nothing (_sandbox.js).

import { button, html, select } from "./_page.js";
import { codePlace } from "./_code_place.js";
import { Ended, fetched } from "./_engine.js";
import { inputsOf } from "./_inputs_of.js";
import { keptCode } from "./_kept_code.js";
import { addressOf, readAddress } from "./_bench_address.js";
import { resultTable, verdicts as compared } from "./_bench_table.js";
import { crew } from "./_bench_training.js";
import { engineApart } from "./_sandbox.js";
import { stored } from "./_stored.js";
import { readsAhead, verdicts } from "./_verdicts.js";

const UID = "attn-bench";
const PAGE = "workbench"; // as a lesson's name, for what is kept
const NEAR = 0.05; // nats above the best predictor
const AGREES = 0.01; // of the largest output
const VERDICTS = new Map([[true, "lower"], [false, "higher"], [null, "could not be told"]]);
const CAME = "This code came with the page’s address, so somebody else may have written it. It has not run: read it, and press Run.";

const chosen = stored(`attention-notes ${PAGE}`);

/** What was chosen last, if it still is there. */
function choices({ starts, tasks }) {
  const usual = { start: Object.keys(starts)[0], task: Object.keys(tasks)[0] };
  try {
    const { start, task } = JSON.parse(chosen.get());
    return Object.hasOwn(starts, start) && Object.hasOwn(tasks, task) ? { start, task } : usual;
  } catch {
    return usual;
  }
}

/** Python that asks a function of the model's module with these arguments, besides what the code has left. */
const asking = (model, name, ...given) => `${model}
import json
_given = json.loads(${JSON.stringify(JSON.stringify(given))})
def task(cell, given):
    return ${name}(cell, given, *_given)
`;

export async function mount(place) {
  const data = await fetched(`${PAGE}.json`, "the workbench").catch(() => null);
  if (!data) return;
  let { start, task } = choices(data);
  const ask = (...given) => engineApart().ask(...given, print);
  const trainers = crew();
  const train = button("Train", () => run(true));
  const came = html("p", { class: "attn-bench-came", role: "status" });
  const progress = html("p", { class: "attn-hint", role: "status" });
  const results = html("div", {});
  const says = html("p", { class: "attn-hint" });
  const link = html("input", { class: "attn-text", type: "text", readonly: "", "aria-label": "The link" });
  const copied = html("p", { class: "attn-bench-link" }, link);
  const mine = () => keptCode(PAGE, start);
  const starts = select({ uid: UID, name: "start", label: "Begin with", onchange: (value) => choose({ start: value }) });
  const tasks = select({ uid: UID, name: "task", label: "Task", onchange: (value) => choose({ task: value }) });

  const { node, tell, print, run, show, keepTyped, code } = codePlace({
    uid: UID,
    label: "Your attention",
    hint:
      "Run (Ctrl+Enter) asks at once whether it reads ahead and whether it keeps its digits. Train gives it the rate that " +
      "serves it best, then eight seeds.",
    memory: { get: () => mine().get(), put: (text) => mine().put(text), stays: () => mine().stays() },
    again: "The book’s code again",
    book: () => data.starts[start].trimEnd(),
    attributes: { "aria-label": "Write an attention" },
    measured: ["leak", "slope", "agrees", "loss", "score", "training", "step", "verdict"],
    starts: [train],
    others: [button("Link to this", share)],
    by: () => ({ ...engineApart(), end: stop }),
    forget,
    attempt,
  });
  const [lines, controls, hint, said, output] = node.children;
  const left = html("div", {}, starts.node, came, lines, controls, hint, copied);
  const right = html("div", {}, tasks.node, says, said, output, progress);
  node.replaceChildren(html("div", { class: "attn-bench-sides" }, left, right), results);

  function stop(why) {
    engineApart().end(why);
    trainers.stop(new Ended({ kind: "", message: `The training was stopped: ${why}.`, page: true }));
  }
  /** What was trained is of other code, and the link is to it. */
  function forget() {
    copied.hidden = true;
    progress.textContent = came.textContent = "";
    delete node.dataset.from;
    compare(null);
  }
  const recorded = () => Object.entries(data.tasks[task].recorded).map(([name, of]) => ({ name, ...of, above: read(of.above) }));
  const read = (numbers) => numbers.map((x) => x ?? Infinity);
  function compare(ours) {
    results.replaceChildren(resultTable(ours, recorded()));
  }

  function settle(next) {
    ({ start, task } = { start, task, ...next });
    starts.set(Object.keys(data.starts).map((name) => [name, name]), start);
    tasks.set(Object.entries(data.tasks).map(([name, { title }]) => [name, title]), task);
    const { says: words, floor } = data.tasks[task];
    says.textContent = `${words} The best predictor comes to ${floor.toFixed(4)} nats a token.`;
  }
  function choose(next) {
    const other = "start" in next;
    keepTyped();
    settle(next);
    chosen.put(JSON.stringify({ start, task }));
    const foreign = !other && node.dataset.from;
    show(other ? (mine().get() ?? data.starts[start].trimEnd()) : code());
    if (foreign) warn(); // it is there yet
  }
  function share() {
    const at = new URL(addressOf({ code: code(), start, task }), location.href).href;
    history.replaceState(null, "", at);
    copied.hidden = false;
    link.value = at;
    link.focus();
    link.select();
    navigator.clipboard?.writeText(at).catch(() => {}); // where it may not, the reader copies it
  }
  function arrive() {
    const sent = readAddress(location.hash, data);
    if (!sent) return;
    settle(sent);
    show(sent.code);
    if (sent.code === data.starts[start].trimEnd()) return;
    warn();
  }
  function warn() {
    came.textContent = CAME;
    node.dataset.from = "address";
  }

  async function attempt(source, trains) {
    const made = await judged(source);
    const { ahead, looked, differs } = made;
    Object.assign(node.dataset, { leak: ahead.moved, slope: ahead.slope ?? "none", agrees: Math.max(...differs) });
    for (const [words, kind] of verdicts({ agrees: null, ahead, looked })) tell(words, kind);
    tell(...digits(differs));
    if (!trains) return;
    await training(source, made).catch((error) => {
      progress.textContent = "";
      delete node.dataset.training;
      throw error;
    });
  }

  async function judged(source) {
    const { sizes, asked, batch, tokens } = data.tasks[task];
    await ask("run", { source });
    const of = (seed) => asking(data.model, "weights", source, sizes, seed);
    const begun = (seed) => ask("evaluate", { task: of(seed), inputs: [] }).then(({ outputs }) => outputs);
    const first = await begun(0);
    const weights = Object.entries(first).map(([name, { shape, values }]) => ({ name, shape, values }));
    const inputs = [...weights, ...batch];
    const made = await ask("evaluate", { task: asking(data.model, "outputs", source, sizes, asked), inputs, numbers: false });
    const { logits, ...others } = Object.fromEntries(Object.entries(made.outputs).map(([name, { node: id }]) => [name, id]));
    const { ahead } = await ask("judge", { logits, tokens: made.names[tokens], vocabulary: sizes.vocabulary, most: 0, every: true });
    const trained = weights.map(({ name }) => [name, made.names[name]]);
    const step = () => ask("program", { outputs: others, trained, loss: "loss", clip: data.clip }).then(({ text }) => text);
    const apart = await ask("evaluate", { task: asking(data.model, "differs", source), inputs: [] });
    const differs = apart.outputs.differs.values.map((x) => (Number.isFinite(x) ? x : Infinity));
    const count = weights.reduce((sum, { values }) => sum + values.length, 0);
    return { ahead, looked: made.looked, differs, begun, step, count };
  }

  function digits(differs) {
    const worst = Math.max(...differs);
    const at = data.factors[differs.indexOf(worst)];
    const inputs = `on inputs ${data.factors.map((x) => `${x}`).join(", ")} times as large`;
    if (worst < AGREES) return [`It keeps its digits: ${inputs}, single and double precision agree to ${worst.toPrecision(1)} of the largest output.`, "good"];
    const by = Number.isFinite(worst) ? `differ by ${worst.toPrecision(2)} of the largest output` : "give what is no number, or differ without bound";
    return [`It loses its digits: on inputs ${at} times as large, single and double precision ${by}.`, "bad"];
  }

  async function training(source, { ahead, begun, step, count }) {
    const { drawn, batch, floor, steps, title } = data.tasks[task];
    node.dataset.training = "running";
    const program = await step();
    const wanted = inputsOf(program);
    const only = (pairs) => Object.fromEntries(pairs.filter(([name]) => name in wanted).map(([name, x]) => [name, Float32Array.from(x)]));
    const given = only(batch.map(({ name, values }) => [name, values]));
    const setup = (rate, seed) => async () => {
      const weights = only(Object.entries(await begun(seed)).map(([name, { values }]) => [name, values]));
      return { program, draws: {}, weights, given, seed, rate, steps, warmup: data.warmup, ...drawn };
    };
    const aboveBest = ({ loss, judged: found }) => (found && Number.isFinite(found.loss) ? found.loss - found.best : drawn ? Infinity : loss - floor);
    const all = data.rates.length * data.swept.length + data.seeds;
    let before = 0;
    const far = (words) => (done) => {
      progress.textContent = `${words}: ${Math.round((100 * (before + done)) / all)} % of the training.`;
    };

    const tried = data.rates.flatMap((rate) => data.swept.map((seed) => setup(rate, seed)));
    const swept = (await trainers.all(tried, far("Looking for its rate, on two seeds that are not compared"))).map(aboveBest);
    before = tried.length;
    const sums = data.rates.map((_, i) => data.swept.reduce((sum, _, j) => sum + finite(swept[i * data.swept.length + j]), 0));
    const rate = data.rates[sums.indexOf(Math.min(...sums))];
    const seeds = Array.from({ length: data.seeds }, (_, seed) => setup(rate, seed));
    const found = (await trainers.all(seeds, far(`Its rate is ${rate}. Now eight seeds`))).map((each) => finite(aboveBest(each)));
    const ours = { name: "yours", rate, above: found, ahead: readsAhead(ahead), weights: count };
    tellOf(ours, title);
  }
  const finite = (x) => (Number.isFinite(x) ? x : Infinity);

  function tellOf(ours, title) {
    const { above: found, ahead } = ours;
    const mean = found.reduce((sum, x) => sum + x, 0) / found.length;
    const near = found.filter((x) => x <= NEAR).length;
    const first = recorded()[0];
    const verdict = compared(ours, recorded())[0]?.verdict;
    progress.textContent = "";
    if (ahead) {
      tell(`${title}: its mean loss is ${by(mean)} the best predictor’s. It reads ahead, so that says nothing about it, and there is no verdict.`, "bad");
    } else {
      tell(`${title}: ${near} of ${found.length} seeds end within ${NEAR} nats of the best predictor; the mean is ${by(mean)} it.`, near ? "good" : "");
      const words = verdict === null ? "It could not be told apart from" : `It ends ${VERDICTS.get(verdict)} than`;
      tell(`${words} the recorded layer “${first.name}”.`);
    }
    compare(ours);
    Object.assign(node.dataset, {
      training: "done",
      step: data.tasks[task].steps,
      loss: mean,
      score: ahead ? 0 : near / found.length,
      verdict: ahead ? "reads ahead" : VERDICTS.get(verdict),
    });
  }
  const by = (mean) => (Number.isFinite(mean) ? `${Math.abs(mean).toFixed(4)} nats ${mean < 0 ? "below" : "above"}` : "lost, for a seed is: no number above");

  settle({});
  show(mine().get() ?? data.starts[start].trimEnd());
  arrive();
  addEventListener("hashchange", arrive);
  place.replaceChildren(node);
}
