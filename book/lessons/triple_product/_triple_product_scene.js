// The scene: an orthographic view from a point that the reader turns around the origin. It knows no model.
//
// `draw` takes {arrows, plane, box, reach, low, axes, axis}: arrows are {id, text, at, foot,
// className, weight, label}, and `was` where a tip would be at length × 1, `plane` is {e1, e2, radius}, `box` the three edges of a parallelepiped,
// `reach` the length that fits the frame, `low` says that nothing lies below the plane, `axes` that
// x, y and z are to be shown, and `axis` is the line that is left where there is no plane.

import { add, argmax, dot } from "./_model.js";
import { follow, svg } from "./_page.js";
import { cross, times } from "./_triple_product_vectors.js";

const STEP = 6; // degrees, by an arrow key
const MARGIN = 22;

export function sceneView({ uid, label, azimuth, onmove, ondrag, onpick, ondrop = () => {} }) {
  const start = { azimuth, elevation: 24 };
  const view = { ...start };
  let size = { width: 520, height: 400 };
  let content = null;
  const back = svg("g", { class: "tp-space", "aria-hidden": "true" });
  const front = svg("g", {});
  const names = svg("g", { class: "tp-names", "aria-hidden": "true" });
  const handles = new Map(); // id -> the group that takes pointer and focus

  const node = svg(
    "svg",
    {
      class: "tp-scene",
      role: "application",
      tabindex: "0",
      "aria-label": label,
      "aria-describedby": `${uid}-help`,
      onpointerdown: grab,
      onkeydown: press,
    },
    back,
    front,
    names,
  );

  // --- from space to screen

  function camera() {
    const [a, e] = [view.azimuth, view.elevation].map((degrees) => (degrees * Math.PI) / 180);
    const [ca, sa, ce, se] = [Math.cos(a), Math.sin(a), Math.cos(e), Math.sin(e)];
    const fit = Math.min(size.width / 2, size.height / (content.low ? 1.35 : 2)) - MARGIN;
    return {
      right: [-sa, ca, 0],
      up: [-se * ca, -se * sa, ce],
      toward: [ce * ca, ce * sa, se],
      scale: fit / content.reach,
      x: size.width / 2,
      y: size.height * (content.low ? 0.68 : 0.5),
    };
  }

  function project(x, eye) {
    return {
      x: eye.x + eye.scale * dot(x, eye.right),
      y: eye.y - eye.scale * dot(x, eye.up),
      depth: dot(x, eye.toward),
    };
  }

  /** Where the line from a to b leaves the frame, or b: what is too long is cut, and says so. */
  function cut(a, b) {
    const inset = MARGIN - 6;
    const share = (from, to, end) => {
      if (to < inset) return (inset - from) / (to - from);
      return to > end - inset ? (end - inset - from) / (to - from) : 1;
    };
    const t = Math.min(share(a.x, b.x, size.width), share(a.y, b.y, size.height));
    return { x: a.x + t * (b.x - a.x), y: a.y + t * (b.y - a.y), beyond: t < 1 };
  }

  // --- drawing

  function draw(next = content) {
    content = next;
    const eye = camera();
    const { plane, box, arrows } = content;
    const zero = project([0, 0, 0], eye);
    const normal = plane && cross(plane.e1, plane.e2);
    // All that is on the far side of the plane is drawn before it, all else after it; for every
    // arrow starts in the plane, and none crosses it.
    const far = (x) => normal && dot(x, normal) * dot(eye.toward, normal) < 0;
    const parts = [];
    const put = (x, shape, flat = false) =>
      parts.push({ shape, depth: dot(x, eye.toward), layer: flat ? 1 : far(x) ? 0 : 2 });

    if (plane) {
      parts.push({ shape: disc(plane, eye), depth: 0, layer: 1 });
    } else if (content.axis) {
      const end = times(content.axis, content.reach);
      put([0, 0, 0], line(project(times(end, -1), eye), project(end, eye), "tp-axis"), true);
    }
    if (box) drawBox(box, eye, put);
    const labels = [];
    for (const arrow of arrows) {
      const tip = project(arrow.at, eye);
      const end = cut(zero, tip);
      if (arrow.foot) {
        const foot = project(arrow.foot, eye);
        put(
          times(add(arrow.at, arrow.foot), 0.5),
          svg("g", {}, line(tip, foot, "tp-drop"), svg("circle", { cx: foot.x, cy: foot.y, r: 2, class: "tp-foot" })),
        );
      }
      put(times(arrow.at, 0.5), arrowShape(arrow, zero, end), arrow.flat);
      if (arrow.was) {
        const { x: cx, y: cy } = project(arrow.was, eye);
        put(arrow.was, svg("circle", { cx, cy, r: 5, class: "tp-was" }));
      }
      moveHandle(arrow, end);
      labels.push({ arrow, end, zero });
    }
    parts.sort((a, b) => a.layer - b.layer || a.depth - b.depth);
    back.replaceChildren(...parts.map((part) => part.shape), ...axes(eye));
    for (const [id, handle] of handles) {
      if (arrows.some((arrow) => arrow.id === id)) continue;
      handle.remove();
      handles.delete(id);
    }
    names.replaceChildren(...placeLabels(labels));
  }

  const line = (a, b, className, more = {}) =>
    svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: className, ...more });
  const path = (points, className) =>
    svg("path", { d: `M${points.map((p) => `${p.x} ${p.y}`).join("L")}Z`, class: className });

  function disc({ e1, e2, radius }, eye) {
    const at = (a, b) => project(add(times(e1, a), times(e2, b)), eye);
    const rim = Array.from({ length: 72 }, (_, i) => {
      const turn = (i * Math.PI) / 36;
      return at(radius * Math.cos(turn), radius * Math.sin(turn));
    });
    const group = svg("g", { class: "tp-plane" }, path(rim, "tp-disc"));
    for (let i = -3; i <= 3; i++) {
      const a = (i * radius) / 4;
      const b = Math.sqrt(radius ** 2 - a ** 2);
      group.append(line(at(a, -b), at(a, b), "tp-grid"), line(at(-b, a), at(b, a), "tp-grid"));
    }
    return group;
  }

  function drawBox([a, b, c], eye, put) {
    const corner = (i) =>
      [a, b, c].reduce((sum, edge, n) => (i & (1 << n) ? add(sum, edge) : sum), [0, 0, 0]);
    const corners = Array.from({ length: 8 }, (_, i) => corner(i));
    const shown = corners.map((x) => project(x, eye));
    const middle = (...all) => times(all.map((i) => corners[i]).reduce(add), 1 / all.length);
    const farthest = argmax(shown.map(({ depth }) => -depth)); // no edge of this corner is seen
    for (let n = 0; n < 3; n++) {
      const [u, v] = [0, 1, 2].filter((m) => m !== n).map((m) => 1 << m);
      for (const base of [0, 1 << n]) {
        const face = [base, base | u, base | u | v, base | v];
        put(middle(...face), path(face.map((i) => shown[i]), "tp-face"), base === 0 && n === 2);
      }
    }
    for (let i = 0; i < 8; i++) {
      for (const n of [0, 1, 2]) {
        const j = i | (1 << n);
        if (i === j) continue;
        const unseen = i === farthest || j === farthest;
        put(middle(i, j), line(shown[i], shown[j], unseen ? "tp-edge tp-unseen" : "tp-edge"));
      }
    }
  }

  function arrowShape({ className, weight = 0.5, id }, from, end) {
    const length = Math.hypot(end.x - from.x, end.y - from.y) || 1;
    const [ux, uy] = [(end.x - from.x) / length, (end.y - from.y) / length];
    const head = Math.min(5 + 7 * weight, 0.6 * length);
    const base = { x: end.x - head * ux, y: end.y - head * uy };
    const wing = 0.38 * head;
    const points = [
      end,
      { x: base.x - wing * uy, y: base.y + wing * ux },
      { x: base.x + wing * uy, y: base.y - wing * ux },
    ];
    return svg(
      "g",
      { class: `tp-arrow ${className} ${end.beyond ? "tp-beyond" : ""}`, "data-arrow": id },
      line(from, base, "tp-shaft", { "stroke-width": (1 + 2.5 * weight).toFixed(2) }),
      path(points, "tp-tip"),
    );
  }

  /** The three axes, small, in the corner. */
  function axes(eye) {
    if (!content.axes) return [];
    const centre = { x: 38, y: size.height - 38 };
    return ["x", "y", "z"].flatMap((name, n) => {
      const axis = [0, 1, 2].map((m) => Number(m === n));
      const to = (length) => ({
        x: centre.x + length * dot(axis, eye.right),
        y: centre.y - length * dot(axis, eye.up),
      });
      const text = { ...to(29), class: "tp-axis-name", "text-anchor": "middle", dy: "0.35em" };
      return [line(centre, to(20), "tp-axis"), svg("text", text, name)];
    });
  }

  /** Each label beside its tip, where it covers the least; one that is not needed may be left out. */
  function placeLabels(labels) {
    const taken = labels.map(({ end }) => ({ x: end.x - 5, y: end.y - 5, width: 10, height: 10 }));
    const shared = (a, b) =>
      Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)) *
      Math.max(0, Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y));
    const outside = (box) =>
      box.width * box.height - shared(box, { x: 2, y: 2, width: size.width - 4, height: size.height - 4 });
    const order = [...labels].sort((a, b) => (b.arrow.weight ?? 0.5) - (a.arrow.weight ?? 0.5));
    return order.flatMap(({ arrow, end, zero }) => {
      const outward = Math.atan2(end.y - zero.y, end.x - zero.x);
      const width = 9 * arrow.text.length + 4;
      let best = null;
      for (let turn = 0; turn < 8; turn++) {
        const angle = outward + (Math.ceil(turn / 2) * (turn % 2 ? 1 : -1) * Math.PI) / 4;
        const x = end.x + (8 + width / 2) * Math.cos(angle);
        const y = end.y + 16 * Math.sin(angle);
        const box = { x: x - width / 2, y: y - 9, width, height: 19 };
        const cost = taken.reduce((sum, other) => sum + shared(box, other), 0) + 4 * outside(box);
        if (!best || cost < best.cost - 1) best = { x, y, box, cost };
      }
      if (best.cost > 1 && !arrow.needed) return [];
      taken.push(best.box);
      const place = { x: best.x, y: best.y, dy: "0.35em", "text-anchor": "middle" };
      return [svg("text", { ...place, class: `tp-name ${arrow.className}` }, arrow.text)];
    });
  }

  function moveHandle(arrow, { x, y }) {
    let handle = handles.get(arrow.id);
    if (!handle) {
      handle = svg(
        "g",
        { class: "tp-handle", "data-id": arrow.id },
        svg("circle", { class: "tp-hit", r: 14 }),
        svg("circle", { class: "tp-ring", r: 9 }),
      );
      if (ondrag) {
        handle.setAttribute("tabindex", "0");
        handle.setAttribute("role", "button");
      }
      handles.set(arrow.id, handle);
      front.append(handle);
    }
    handle.setAttribute("transform", `translate(${x} ${y})`);
    if (ondrag) handle.setAttribute("aria-label", arrow.label);
    handle.classList.toggle("tp-chosen", Boolean(arrow.chosen));
  }

  // --- pointer and keyboard

  function grab(event) {
    if (event.button) return;
    const id = event.target.closest("[data-id]")?.dataset.id;
    if (id) onpick(id);
    const tip = ondrag && id;
    node.classList.add("tp-held");
    const large = node.getBoundingClientRect().width / node.clientWidth; // alone it is more than 1
    const move = (dx, dy) => {
      if (tip) {
        const { right, up, scale: own } = camera();
        const scale = own * large;
        ondrag(id, add(times(right, dx / scale), times(up, -dy / scale)));
      } else turn(-0.5 * dx, 0.4 * dy);
    };
    const stop = () => {
      node.classList.remove("tp-held");
      ondrop();
    };
    follow(node, event, move, stop);
  }

  function turn(around, over) {
    view.azimuth = (view.azimuth + around) % 360;
    view.elevation = Math.max(content.low ? 0 : -85, Math.min(85, view.elevation + over));
    draw();
  }

  function press(event) {
    const id = event.target.closest("[data-id]")?.dataset.id;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (id && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      onpick(id);
      return;
    }
    const step = {
      ArrowLeft: [-1, 0, 0],
      ArrowRight: [1, 0, 0],
      ArrowDown: [0, -1, 0],
      ArrowUp: [0, 1, 0],
      PageDown: [0, 0, -1],
      PageUp: [0, 0, 1],
    }[event.key];
    if (!step || (!id && step[2])) return;
    event.preventDefault();
    if (id) onmove(id, times(step, event.shiftKey ? 0.5 : 0.1));
    else turn(STEP * step[0], STEP * step[1]);
  }

  const observer = new ResizeObserver(() => {
    const { clientWidth: width, clientHeight: height } = node;
    if (!width || (width === size.width && height === size.height)) return;
    size = { width, height };
    if (content) draw();
  });
  observer.observe(node);
  const face = () => Object.assign(view, start);
  return { node, draw, face, leave: () => observer.disconnect() };
}
