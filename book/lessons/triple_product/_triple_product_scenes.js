// What may stand in the space by hand: its limits, the scenes to try, and what there is to say of them.

import { norm, planeOf } from "./_triple_product_vectors.js";

export const LIMIT = 5; // of a coordinate
export const LENGTHS = [0.1, 10]; // of a key, as factors
export const FRAMED = 3; // a key that has grown to more is cut by the frame
export const BETA = 8; // of the angle score, as the chapter's models start with
export const ALLOWED = `A coordinate is a number from −${LIMIT} to ${LIMIT}, such as 1.25.`;

export const START = {
  q: [2, 0.2, 0.3],
  r: [-0.3, 1.8, 0.1],
  keys: [
    [1.4, 1, 0.9],
    [0.4, 0, 1.3],
    [-1.4, 0.7, 1.2],
  ],
  lengths: [1, 1, 1],
};

export const replace = (list, i, value) => list.map((old, n) => (n === i ? value : old));
const longer = (i, by) => ({ ...START, lengths: replace(START.lengths, i, by) });

export const OPENING = {
  name: "start again",
  note:
    "k₂ stands high over the plane of q and r, so its box is large and its score low. k₁ leans out of " +
    "the plane by a little, and wins. Drag a tip.",
  scene: START,
  selected: 1,
};

export const PRESETS = [
  {
    name: "a loud stranger",
    note:
      "k₂ is three times as long as before (the ring), and stands three times as high. The volume score gives " +
      "it nothing, while the dot product follows the little of it that lies along q.",
    scene: longer(1, 3),
    selected: 1,
  },
  {
    name: "a loud friend",
    note:
      "k₁, the friend, is three times as long as before (the ring), and stands three times as high. Compare the " +
      "three scores.",
    scene: longer(0, 3),
    selected: 0,
  },
  {
    name: "a whisper",
    note:
      "k₂ points where it did, but is a tenth as long as before (the ring), and stands a tenth as high. Compare the " +
      "three scores.",
    scene: longer(1, 0.1),
    selected: 1,
    late: true, // it tells what is to be guessed: words below that open it
  },
];

/** What to say of these vectors: a scene's own words as long as nothing in it was moved, else who wins by each score. */
export function noteOn(now, [dotted, flattest, nearest]) {
  const same = ({ scene }) => Object.keys(START).every((part) => `${scene[part]}` === `${now[part]}`);
  const scene = [OPENING, ...PRESETS].find(same);
  if (scene) return scene.note;
  if (planeOf(now.q, now.r))
    return dotted === flattest && dotted === nearest
      ? `All three scores like ${dotted} best.`
      : `The volume likes ${flattest} best, the angle ${nearest}, and the dot product ${dotted}.`;
  if (norm(now.q)) return "q and r span no plane, so every volume is 0, and the angle is that to q.";
  return norm(now.r)
    ? "There is no q: it is 0, so dot products and volumes are 0 for every key, and what is left of " +
        "the plane is the line of r. The angle is that to r."
    : "There is no q and no r: both are 0, and so is every score.";
}

/** What a key's angle is measured to. */
export function flatOf(q, r) {
  if (planeOf(q, r)) return "the plane";
  return norm(q) ? "q" : norm(r) ? "r" : "nothing";
}

/** The coordinate that the reader meant, or null. */
export function coordinate(typed) {
  const text = typed.trim().replace("−", "-");
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) return null;
  const value = Number(text);
  return Math.abs(value) <= LIMIT ? value : null;
}
