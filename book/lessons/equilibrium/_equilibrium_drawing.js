// The plane as it is drawn: its units, the flow, and where it ends.

import { along, minus, norm } from "./_equilibrium_credit.js";
import { EDGE } from "./_equilibrium_plane.js";

export const UNIT = 72; // pixels of the drawing
export const SIZE = 2 * EDGE * UNIT;
export const across = (x) => (x + EDGE) * UNIT;
export const below = (y) => (EDGE - y) * UNIT;
export const inside = (x) => Math.max(-EDGE, Math.min(EDGE, x));

/** Strokes along the flow, thin where they start and broad where they go, as one path. */
export function flow(force) {
  let d = "";
  for (let row = 0; row < 16; row++) {
    for (let column = 0; column < 16; column++) {
      const start = [column + 0.25 + (row % 2) / 2, row + 0.5];
      let z = Float64Array.from(start, (value) => 0.375 * value - EDGE);
      const speed = norm(force(z));
      const length = (0.34 * speed) / (speed + 0.5);
      const left = [];
      const right = [];
      for (let i = 0; i <= 5; i++) {
        const f = force(z);
        const [u, v] = [f[0] / (norm(f) + 1e-12), f[1] / (norm(f) + 1e-12)];
        const half = 0.0035 * i;
        left.push([z[0] - half * v, z[1] + half * u]);
        right.unshift([z[0] + half * v, z[1] - half * u]);
        z = along(z, [u, v], length / 5);
      }
      d += `${trace([...left, ...right])}Z`;
    }
  }
  return d;
}

export const trace = (points) =>
  `M${points.map(([x, y]) => `${across(x).toFixed(1)} ${below(y).toFixed(1)}`).join("L")}`;

/** Where the line from a leaves the plane on its way to b, or b. */
export function cut(a, b) {
  const share = [0, 1].map((i) => {
    const most = (Math.sign(b[i] - a[i]) * (EDGE - 0.06) - a[i]) / (b[i] - a[i]);
    return Number.isFinite(most) ? Math.max(0, most) : 1;
  });
  const t = Math.min(1, ...share);
  return { at: along(a, minus(b, a), t), beyond: t < 1 };
}
