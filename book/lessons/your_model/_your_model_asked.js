// What a loss was found to ask for: of its numbers, what the reader has tried of them, and how that is said.

export const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];
const STAYS = 1e-5; // less of a change is rounding

export const [UNKNOWN, NOTHING, SEVERAL] = ["?", "–", "…"];

/** How a loss moves as one score is raised, by place and letter, and what each place asks for. */
export function reader({ alike, raised }, text) {
  const changes = raised.map((row) => row.map((loss) => loss - alike));
  const change = (place, letter) => changes[place][LETTERS.indexOf(letter)];
  const falling = changes.map((_, place) => LETTERS.filter((letter) => change(place, letter) < -STAYS));

  /** The letter that a place asks for, as far as it can be known from those that were tried. */
  function found(place, tried) {
    const [letter, ...more] = falling[place];
    if (letter && !more.length && tried.includes(letter)) return letter;
    if (tried.length < LETTERS.length) return UNKNOWN;
    return letter ? SEVERAL : NOTHING;
  }

  return {
    alike,
    change,
    found,
    /** How far it rises and falls at most. */
    most: [Math.max(...changes.flat(), 0), -Math.min(...changes.flat(), 0)],
    /** All letters, and last those at which it falls. */
    all: (place) => [...LETTERS.filter((letter) => !falling[place].includes(letter)), ...falling[place]].join(""),
    /** How far behind a place the letter stands that it asks for: 1 is the next. */
    ahead: (place, letter) => (text.includes(letter) ? text.indexOf(letter) - place : NaN),
  };
}

export const way = (change) => (Math.abs(change) <= STAYS ? "stays" : change < 0 ? "falls" : "rises");
export const SIGNS = { falls: "↓", rises: "↑", stays: "=" };

const NAMES = { 0: "the letter itself", 1: "the next letter", 2: "the letter after the next" };
const nameOf = (reads, place, letter) => NAMES[reads.ahead(place, letter)] ?? `the ${letter}`;
const and = (words) => words.join(", ").replace(/, ([^,]*)$/, " and $1");

/** What came of all that was tried, in a sentence or two. */
export function told({ reads, text, place, tried }) {
  const each = tried.map((some, at) => reads.found(at, some));
  if (!each.includes(UNKNOWN)) return whole(reads, text, each);
  const [here, letter] = [text[place], tried[place].at(-1)];
  if (!letter) return `At the ${here} all 26 scores are alike. Raise one: which letter makes the loss fall?`;
  const does = way(reads.change(place, letter));
  if (each[place] === NOTHING) return `At the ${here} no letter makes the loss fall. There it asks for nothing.`;
  if (each[place] === SEVERAL) return `At the ${here} the loss falls with several letters.`;
  const called = [`the ${letter}`, NAMES[reads.ahead(place, letter)]].filter(Boolean).join(", ");
  if (does === "falls" && each[place] !== letter) return `With ${letter} raised the loss falls, and not with it alone.`;
  if (does === "falls") return `With ${letter} raised the loss falls. So at the ${here} it asks for ${called}.`;
  if (does === "rises") return `With ${letter} raised the loss rises. So at the ${here} it does not ask for ${called}.`;
  return `With ${letter} raised the loss stays as it is.`;
}

/** The same once every place has been asked. */
function whole(reads, text, each) {
  const ways = {};
  each.forEach((letter, at) => {
    const what = letter === NOTHING ? "nothing" : letter === SEVERAL ? "several letters" : nameOf(reads, at, letter);
    (ways[what] ??= []).push(text[at]);
  });
  const said = Object.entries(ways).map(([what, places]) => `at ${and(places)} for ${what}`);
  return `This loss asks ${said.join(", ")}.`;
}
