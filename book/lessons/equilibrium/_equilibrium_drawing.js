// The plane as it is drawn: its units, and where it ends.

import { along, minus } from "./_equilibrium_credit.js";
import { EDGE } from "./_equilibrium_plane.js";

export const UNIT = 72; // pixels of the drawing
export const SIZE = 2 * EDGE * UNIT;
export const across = (x) => (x + EDGE) * UNIT;
export const below = (y) => (EDGE - y) * UNIT;
export const inside = (x) => Math.max(-EDGE, Math.min(EDGE, x));

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
