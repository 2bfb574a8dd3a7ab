// Deep supervision in the Worker: what stands around one traced step of training, as
// book/lessons/trm/supervision.py has it in Python. A batch is a set of seats; on each a puzzle is
// thought about, one supervision step a step of the optimiser, until it leaves and a new one sits down.

import { fastExp, random, slot } from "./program.js";
import { TASKS } from "./trainer.js";
import { machine, make, think } from "./_trm_model.js";
import { boards, sample } from "./_trm_puzzles.js";
import { loadVectors } from "./vectors.js";

/**
 * Whether a puzzle leaves after its `had`-th supervision step. A share of the seats, drawn anew at every
 * step, keeps its puzzle at least up to a step drawn from 2 on.
 */
export function leaves(q, had, { steps, halting, exploration }, random) {
  if (had >= steps) return true;
  if (!halting) return false;
  const explores = random() < exploration;
  const least = 2 + Math.floor(random() * (steps - 1));
  return q > 0 && !(explores && had < least);
}

/** Of these puzzles, as many as `think` takes at once, those that a network has solved after each step. */
export function solvedOf(network, batch, steps) {
  const cells = batch[0].puzzle.length;
  const thoughts = think(network, batch.flatMap(({ puzzle }) => puzzle));
  const solved = [];
  while (solved.length < steps) {
    const { value } = thoughts.next();
    if (!value) continue;
    const { logits } = value;
    const size = logits.length / cells / batch.length;
    const likeliest = (at) => {
      const row = logits.subarray(at * size, (at + 1) * size);
      return row.indexOf(Math.max(...row));
    };
    const right = ({ solution }, i) => solution.every((digit, cell) => likeliest(i * cells + cell) === digit);
    solved.push(batch.filter(right).length);
  }
  return solved;
}

/** A machine on single precision, with all that is faster there. */
const fastMachine = (text) =>
  machine(text, (size) => ({ exp: fastExp, ...(loadVectors(size) ?? { H: new Float32Array(size) }) }));

/** How `learn` trains by it: see TASKS. The weights to be judged and shown are their moving averages. */
async function supervision({ H, program, random: generator, options }) {
  const { board, config, ema, judged } = options;
  const task = boards(board);
  const uniform = generator.uniform;
  const part = (name) => slot(H, program.inputs[name]);
  const [puzzles, solutions, y, z] = ["puzzles", "solutions", "y", "z"].map((x) => part(`batch.${x}`));
  const [nextY, nextZ, halt] = ["y", "z", "halt"].map((name) => slot(H, program.outputs[name]));
  const seats = program.inputs["batch.puzzles"][1][0];
  const had = new Array(seats).fill(0); // supervision steps of each seat's puzzle
  const free = new Array(seats).fill(true);

  const starts = { y_init: part("buffer.y_init").slice(), z_init: part("buffer.z_init").slice() };
  const trained = Object.keys(program.outputs)
    .filter((name) => name.startsWith("gradient."))
    .map((name) => name.slice("gradient.".length));
  const average = Object.fromEntries(trained.map((name) => [name, part(name).slice()]));

  function seat(i) {
    const drawn = sample(task, "mixed", false, uniform);
    puzzles.set(drawn.puzzle, i * task.cells);
    solutions.set(drawn.solution, i * task.cells);
    const size = y.length / seats;
    for (const [state, start] of [[y, starts.y_init], [z, starts.z_init]]) {
      for (let j = 0; j < size; j++) state[i * size + j] = start[j % start.length];
    }
    had[i] = 0;
    free[i] = false;
  }
  function feed() {
    for (let i = 0; i < seats; i++) if (free[i]) seat(i);
  }
  function after() {
    y.set(nextY);
    z.set(nextZ);
    for (let i = 0; i < seats; i++) free[i] = leaves(halt[i], ++had[i], options, uniform);
    for (const [name, values] of Object.entries(average)) {
      const now = part(name);
      for (let j = 0; j < values.length; j++) values[j] = ema * values[j] + (1 - ema) * now[j];
    }
  }
  const read = () =>
    Object.fromEntries(
      Object.entries({ ...average, ...starts }).map(([name, values]) => [name, values.slice()]),
    );

  // Held-out puzzles of their own generator, so that judging changes nothing that is trained.
  const apart = random(generator.below(2 ** 32)).uniform;
  let tests = null;
  const tester = await fastMachine(options.use);
  function judge(last) {
    tests ??= Array.from({ length: judged.last }, () => sample(task, "minimal", true, apart));
    const network = make(tester, read(), config);
    const count = last ? judged.last : judged.along;
    const byStep = new Array(judged.steps).fill(0);
    for (let i = 0; i < count; i += tester.boards) {
      const found = solvedOf(network, tests.slice(i, i + tester.boards), judged.steps);
      found.forEach((solved, step) => {
        byStep[step] += solved;
      });
    }
    return { solved: byStep.at(-1), count, looks: byStep.map((solved, i) => [i + 1, (100 * solved) / count]) };
  }
  return { feed, after, read, judge, every: judged.every };
}

/** Its name as a task. */
export const DEEP = "deep supervision";
TASKS[DEEP] = supervision;
