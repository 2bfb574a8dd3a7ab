// What is chosen in a widget and small enough for an address: by each trait's name how it is written there, and how
// it is read, checked as what a reader types is. `read` gives {value}, or {refused}: a sentence that says what is allowed.

const fitting = (fits, value, refused) => (fits ? { value } : { refused });

/** One of some names, which `names` gives. */
export const oneOf = (names) => ({
  write: String,
  read: (text) => fitting(names().includes(text), text, `One of ${names().join(", ")}.`),
});

/** A whole number from one on, up to another, which may be known only when it is read. */
export const whole = (least, most = Number.MAX_SAFE_INTEGER) => ({
  write: String,
  read(text) {
    const [last, value] = [typeof most === "function" ? most() : most, Number(text)];
    const fits = /^-?\d+$/.test(text) && value >= least && value <= last;
    return fitting(fits, value, `A whole number from ${least} to ${last}.`);
  },
});

const isNumber = (text) => /^-?(\d+\.?\d*|\.\d+)(e-?\d+)?$/i.test(text);

/** A number within limits. */
export const decimal = (least, most) => ({
  write: (value) => String(Number(value.toPrecision(4))),
  read(text) {
    const fits = isNumber(text) && Number(text) >= least && Number(text) <= most;
    return fitting(fits, Number(text), `A number from ${least} to ${most}.`);
  },
});

/** Yes or no. */
export const yesOrNo = {
  write: (value) => (value ? "yes" : "no"),
  read: (text) => fitting(["yes", "no"].includes(text), text === "yes", "One of yes, no."),
};

/** A text; `objection` says what is wrong with one, in a sentence, and nothing where nothing is. */
export const typed = (objection) => ({
  write: String,
  read(text) {
    const refused = objection(text);
    return fitting(!refused, text, refused);
  },
});

/** What belongs to one view, and is written while that is what is looked at. */
export const within = (trait, view, chosen) =>
  Object.fromEntries(Object.entries(chosen).map(([name, each]) => [name, { ...each, trait, view }]));

/** What of a model's choices is in use, as texts by their names. */
export function choicesOf(model, chosen) {
  const used = Object.entries(chosen).filter(([, { trait, view }]) => !trait || model.get(trait) === view);
  return Object.fromEntries(used.map(([name, { write }]) => [name, write(model.get(name))]));
}
