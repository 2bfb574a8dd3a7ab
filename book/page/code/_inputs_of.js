// What the text of a program says of its inputs, before anything of it runs.

/** name → [start, shape] */
export const inputsOf = (text) => JSON.parse(/^export const inputs=(.*);$/m.exec(text)[1]);
