// What is said of two numbers: of one setting, and of what was learned in it.

import { number, plural } from "./_page.js";
import { AT_REST, LESSONS, PLANE, WAYS, comparable } from "./_equilibrium_plane.js";
import { NAMES_OF, tiny } from "./_equilibrium_text.js";

export const methodName = (method) =>
  ({ none: "Naive", true: "True gradient" })[method] ?? NAMES_OF[method];

/** What stands in the way of any gradient, or what the method chosen makes of it. */
export function judge(seen, method) {
  if (seen.left >= AT_REST || Number.isNaN(seen.left)) {
    return (
      `The state does not come to rest: after ${PLANE.steps} steps the force is still ` +
      `${tiny(seen.left)}. Without a state at rest there is no gradient.`
    );
  }
  if (seen.abscissa >= 0) {
    return (
      `The state stands still, but ${seen.abscissa > 1e-9 ? "the slightest push drives it away" : "no push is undone"}: ` +
      `J has an eigenvalue of ${number(seen.abscissa)}. There is no gradient here.`
    );
  }
  if (!comparable(seen)) {
    return seen.push < 1e-9
      ? "The state rests on the target. Nothing is left to learn."
      : "No small step of these weights brings the state closer to the target.";
  }
  const name = methodName(method);
  const { angle, length, away, moving, step } = seen.methods[method];
  if (away) {
    return (
      `${name}: the nudged state runs away. It ended so far off that the gradient has ` +
      `${number(length, 0)} times its true length.`
    );
  }
  if (!step) return `${name} finds no gradient, and leaves the weights as they are.`;
  const still = moving > 0.1 ? " The nudged state still moves: take more steps." : "";
  const points =
    angle < 0.5
      ? `${name} turns the weights the true way.`
      : `${name} turns the weights ${number(angle, 0)}° away from the true step.`;
  return angle > 90 ? `${points} A small step that way goes uphill.${still}` : points + still;
}

/** The costs after so many lessons by each way, and who has lost ground. */
export function learnedSo(courses, count) {
  if (!count) {
    return `Learn takes ${LESSONS} steps of the weights by each method, all of one length.`;
  }
  const last = (way) => courses[way][Math.min(count, courses[way].length - 1)];
  const start = courses.true[0].cost;
  const lost = WAYS.filter((way) => last(way).cost > start);
  const stopped = WAYS.filter((way) => courses[way].length <= count);
  const named = (ways) => ways.map(methodName).join(", ");
  return [
    `After ${plural(count, "step")} the cost, ${start.toPrecision(2)} at first, is ` +
      `${last("true").cost.toPrecision(2)} by the true gradient.`,
    lost.length ? `Farther from the target than at first: ${named(lost)}.` : "",
    stopped.length ? `Where no state rests any more, learning ends: ${named(stopped)}.` : "",
  ]
    .filter(Boolean)
    .join(" ");
}
