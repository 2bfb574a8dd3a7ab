// A tensor as torch prints it: four digits, one form for all its numbers.

const DIGITS = 4;
const MOST = 1000; // numbers; of more the first and last three along each dimension are shown
const EDGE = 3;

function formOf(numbers, dtype) {
  if (dtype === "bool") return (x) => (x ? "True" : "False");
  if (!dtype.startsWith("float")) return String;
  const sizes = numbers.filter((x) => Number.isFinite(x) && x !== 0).map(Math.abs);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  const whole = numbers.every((x) => !Number.isFinite(x) || Number.isInteger(x));
  const long = sizes.length > 0 && (whole ? most > 1e8 : most / least > 1e3 || most > 1e8 || least < 1e-4);
  const form = (x) => {
    if (long) return x.toExponential(DIGITS).replace(/e([+-])(\d)$/, "e$10$2");
    return whole ? `${x}.` : x.toFixed(DIGITS);
  };
  return (x) => (x !== x ? "nan" : Number.isFinite(x) ? form(x) : x > 0 ? "inf" : "-inf");
}

export function printed({ data, shape, dtype }) {
  const short = data.length > MOST;
  const shown = (length) => {
    const all = Array.from({ length }, (_, i) => i);
    return short && length > 2 * EDGE ? [...all.slice(0, EDGE), null, ...all.slice(-EDGE)] : all;
  };
  const cells = [];
  const places = (dims, at) => {
    if (!dims.length) return cells.push(data[at]);
    const step = dims.slice(1).reduce((product, length) => product * length, 1);
    for (const i of shown(dims[0])) if (i !== null) places(dims.slice(1), at + i * step);
    return cells.length;
  };
  places(shape, 0);
  const form = formOf(cells, dtype);
  const finite = cells.filter(Number.isFinite); // torch makes no room for inf and nan
  const width = shape.length ? Math.max(0, ...finite.map((x) => form(x).length)) : 0;
  let next = 0;
  const block = (dims, indent) => {
    if (!dims.length) return form(cells[next++]).padStart(width);
    const [length, ...rest] = dims;
    const inner = shown(length).map((i) => (i === null ? "..." : block(rest, indent + 1)));
    const between = rest.length ? `,${"\n".repeat(rest.length)}${" ".repeat(indent + 1)}` : ", ";
    return `[${inner.join(between)}]`;
  };
  const other = dtype === "float64" ? ", dtype=torch.float64" : "";
  return `tensor(${block(shape, "tensor(".length)}${other})`;
}
