// What this page's smaller Python would do otherwise than Python, without a word: found in the text before it runs,
// and said with its line. What it refuses aloud needs no word here.

const TEXT = /#[^\n]*|("""|''')[\s\S]*?\1|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g;

/** The code with its texts and comments blank, line for line and letter for letter. */
const bare = (code) => code.replaceAll(TEXT, (found) => found.replaceAll(/[^\n]/g, " "));

const TRAPS = [
  [
    /^[ \t]*[\w.[\], :]+?[ \t]*(\*\*|\/\/|[*/%@])=(?!=)/gm,
    (op) => `on this page \`${op}=\` gives the name a new tensor, and does not change the old one in place: other names for it, and views, keep their numbers.`,
  ],
  [
    /\bfor\b[^\n]*\bin\b[^\n]*\.(items|keys|values)\(\)/g,
    (method) => `on this page a dictionary has no order, so .${method}() comes in another one than in Python. Where that matters, sort it.`,
  ],
  [
    /\.(sort)\(/g,
    () => "on this page .sort() of a list does not keep the order of equals, and does not compare tensors. `sorted` does both.",
  ],
  [
    /(?:^|[^=!<>\w])(?:not[ \t]+)?\bin[ \t]*(\[)/gm,
    () => "on this page `x in [a, b]` does not compare tensors. Ask `any(bool((x == y).all()) for y in …)`.",
    // a loop over a list is none of that
    (line) => !/\bfor\b[^\n]*\bin[ \t]*\[/.test(line),
  ],
];

/** Rows of {line, words} in the order of the lines. */
export function traps(code) {
  const text = bare(code);
  const lines = text.split("\n");
  const found = TRAPS.flatMap(([pattern, words, counts = () => true]) =>
    [...text.matchAll(pattern)].map((hit) => {
      const line = text.slice(0, hit.index + hit[0].search(/\S/)).split("\n").length;
      return counts(lines[line - 1], hit[1]) ? { line, words: words(hit[1]) } : null;
    }),
  );
  const seen = new Set();
  return found
    .filter((each) => each && !seen.has(`${each.line} ${each.words}`) && seen.add(`${each.line} ${each.words}`))
    .sort((one, other) => one.line - other.line);
}
