"""With forced colours (high contrast) nothing that is told by a colour is lost.

The browser takes away backgrounds and shadows. What is chosen, what is painted and what is a scale
are found on the pages by themselves.
"""

from typing import Any

import pytest
from playwright.sync_api import FloatRect, Locator, Page

from .conftest import CHAPTERS
from .test_widgets import SCENES

SCHEMES = ("light", "dark")
PAGES = ["book/index.html", "book/workbench.html", *CHAPTERS]
"""Those with a widget, or an editor that looks like one."""

# Marks one of each kind of what is chosen and can be seen, whoever says so; gives how many.
MARK_CHOSEN = """(root) => {
  const STATES = ["pressed", "checked", "selected", "current"].map((state) => `aria-${state}`);
  const kinds = new Set();
  for (const e of root.querySelectorAll("[aria-pressed], [aria-checked], [aria-selected],"
      + " [aria-current], input:checked, .current > a.current, .nav-link.active")) {
    const state = STATES.find((name) => ![null, "false"].includes(e.getAttribute(name)));
    const own = e.matches("input") ? "checked" : e.matches(".current, .active") ? "class" : null;
    const turn = state ?? own;
    const seen = e.matches("input") ? (e.closest("label") ?? e) : e;
    const kind = `${e.tagName} ${seen.className} ${turn}`;
    const { width, height } = seen.getBoundingClientRect();
    if (!turn || kinds.has(kind) || !seen.checkVisibility() || !width || !height) continue;
    if (seen.closest(".attn-hidden")) continue;
    seen.dataset.chosen = [...kinds.add(kind)].length - 1;
    e.dataset.turn = turn;
  }
  return kinds.size;
}"""

# Takes the state away that an element, or the field in it, was marked by, and leaves all else.
TURN = """(seen) => {
  const e = seen.matches("[data-turn]") ? seen : seen.querySelector("[data-turn]");
  const { turn } = e.dataset;
  if (turn === "checked") e.checked = false;
  else if (turn === "class") {
    e.classList.remove("current", "active");
    e.removeAttribute("aria-current");
  }
  else e.setAttribute(turn, "false");
}"""

# Everything that paints without a word: what stands out from its ground by a background, or, in a
# drawing, by fill and stroke. The first call marks it, and gives how much there is; the next gives
# what stands out no longer, and which scales, of a class with many colours, have lost most of them.
PAINTED = """(root) => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const pixel = (colour) => {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      known.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(colour);
  };
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.cssText = "background: Canvas; forced-color-adjust: none";
  const empty = getComputedStyle(probe).backgroundColor;
  probe.remove();
  const filled = (e) => pixel(getComputedStyle(e).backgroundColor)[3] > 0;
  const ground = (e) => {
    for (let up = e.parentElement; up; up = up.parentElement)
      if (filled(up)) return getComputedStyle(up).backgroundColor;
    return empty;
  };
  const apart = (one, other) => pixel(one).some((part, i) => Math.abs(part - pixel(other)[i]) > 12);
  const paints = (e) => {
    const { backgroundColor, fill, stroke } = getComputedStyle(e);
    const all = e.ownerSVGElement ? [fill, stroke].filter((c) => c !== "none") : [backgroundColor];
    return all.filter((colour) => pixel(colour)[3] > 0);
  };
  const standsOut = (e) => paints(e).some((colour) => apart(colour, ground(e)));
  const silent = [...root.querySelectorAll("*:not(option, input, select, text, tspan, g)")].filter(
    (e) => !e.textContent.trim() && !e.closest(":focus") && e.checkVisibility()
      && e.getBoundingClientRect().width);
  const scales = Map.groupBy(silent, (e) => e.getAttribute("class")?.split(" ")[0] ?? "");
  const colours = (all) => new Set(all.flatMap(paints).map((c) => `${pixel(c)}`)).size;
  const lost = [];
  if (!root.querySelector("[data-painted], [data-scale]")) {
    for (const e of silent.filter(standsOut)) e.dataset.painted = "";
    for (const [, all] of scales) if (colours(all) > 8) all[0].dataset.scale = colours(all);
    return root.querySelectorAll("[data-painted]").length;
  }
  for (const e of silent.filter((e) => "painted" in e.dataset && !standsOut(e)))
    lost.push(e.outerHTML.slice(0, 120));
  for (const [name, all] of scales)
    if (all[0].dataset.scale > 2 * colours(all)) lost.push(`${name}: ${colours(all)} colours`);
  for (const e of silent) { delete e.dataset.painted; delete e.dataset.scale; }
  return [...new Set(lost)];
}"""


def forced(page: Page, scheme: Any = None) -> None:
    """Force a scheme's colours upon a page, or none."""
    page.emulate_media(forced_colors="active" if scheme else "none", color_scheme=scheme or "light")


def alike(part: Locator) -> list[str]:
    """What within an element looks the same chosen and not."""
    found = []
    for n in range(part.evaluate(MARK_CHOSEN)):
        chosen = part.locator(f"[data-chosen='{n}']")
        chosen.evaluate("(e) => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
        box = chosen.bounding_box()
        assert box
        around = FloatRect(
            x=box["x"] - 4, y=box["y"] - 4, width=box["width"] + 8, height=box["height"] + 8
        )  # a line may stand beside it
        before = part.page.screenshot(clip=around)
        chosen.evaluate(TURN)
        if part.page.screenshot(clip=around) == before:
            found.append(chosen.evaluate("(e) => e.outerHTML.slice(0, 200)"))
    return found


@pytest.mark.by_day(2)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("path", PAGES)
def test_what_is_chosen_on_a_page_is_seen(path, scheme, open_page):
    page = open_page(path).page
    forced(page, scheme)
    assert alike(page.locator("html")) == []


@pytest.mark.by_day(4)
@pytest.mark.parametrize(("stem", "scene"), SCENES, ids=[scene.name for _, scene in SCENES])
def test_what_a_widget_tells_by_colour_is_told(stem, scene, open_page):
    """In every state: bars, pictures and heat maps stand out, and what is chosen does."""
    address = f"book/lessons/{stem}/{scene.page or stem}.html?bare={scene.picture}"
    page = open_page(address).page
    widget = page.locator(scene.root).first
    seen = 0
    for state, _ in scene.states(widget):
        page.mouse.move(0, 0)
        seen += widget.evaluate(PAINTED)
        forced(page, SCHEMES[1])
        assert widget.evaluate(PAINTED) == [], state
        forced(page)
    assert seen
    forced(page, SCHEMES[0])
    assert alike(widget) == []
