"""What a built page has saved of its first widget, a model that stands in for it, shared checks."""

import base64
import json
from collections.abc import Callable, Iterable
from typing import Any

from playwright.sync_api import Locator, Page, expect

STATE = 'script[type="application/vnd.jupyter.widget-state+json"]'
VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]'

# window.widget is the widget's own module, window.saved its traits, with the weights decoded.
READ_PAGE = f"""async () => {{
  const all = [...document.querySelectorAll('{STATE}')].map((s) => JSON.parse(s.textContent).state);
  const id = JSON.parse(document.querySelector('{VIEW}').textContent).model_id;
  const {{ state, buffers }} = Object.assign({{}}, ...all)[id];
  for (const {{ path, data }} of buffers) {{
    const parent = path.slice(0, -1).reduce((node, key) => node[key], state);
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    parent[path.at(-1)] = new DataView(bytes.buffer);
  }}
  const url = URL.createObjectURL(new Blob([state._esm], {{ type: 'text/javascript' }}));
  Object.assign(window, {{ widget: await import(url), saved: state }});
}}"""

# After READ_PAGE: one more view, in #scratch, of window.fake, whose traits are as the page saved
# them but for those given. window.leave() takes the view away, as the view after it does.
# fake.set gives a promise: what it changed is shown once that is kept, for a new run has programs
# to import. Who sets from outside waits for it.
FAKE_MODEL = """async (given) => {
  window.leave?.();
  document.querySelector('#scratch')?.remove();
  const traits = { ...window.saved, ...given };
  const listeners = {};
  window.fake = {
    get: (key) => traits[key],
    set(key, value) {
      if (traits[key] === value) return;
      traits[key] = value;
      return Promise.all((listeners[`change:${key}`] ?? []).map((listener) => listener()));
    },
    // As a kernel's message: all values are there before anybody hears of one, in the order given.
    receive(values) {
      Object.assign(traits, values);
      const called = Object.keys(values).flatMap((key) => listeners[`change:${key}`] ?? []);
      return Promise.all(called.map((listener) => listener()));
    },
    on: (event, listener) => (listeners[event] ??= []).push(listener),
    off: (event, listener) => {
      listeners[event] = listeners[event].filter((other) => other !== listener);
    },
    save_changes() {},
    listening: () => Object.values(listeners).flat().length,
  };
  const el = document.createElement('div');
  el.id = 'scratch';
  document.querySelector('.attn-widget').parentElement.append(el);
  window.leave = await window.widget.default.render({ model: window.fake, el });
}"""


def saved_runs(page: Page) -> dict[str, Any]:
    """The runs that the page saved, the weights as bytes."""
    saved = [json.loads(text)["state"] for text in page.locator(STATE).all_text_contents()]
    view = json.loads(page.locator(VIEW).first.text_content() or "")
    entry = next(models[view["model_id"]] for models in saved if view["model_id"] in models)
    runs: dict[str, Any] = entry["state"]["runs"]
    for buffer in entry["buffers"]:
        _, name, key = buffer["path"]
        runs[name][key] = base64.b64decode(buffer["data"])
    return runs


# After FAKE_MODEL ------------------------------------------------------------------------------


def zero_weights(page: Page, name: str | None = None) -> None:
    """Give the fake model all runs that the page saved, the weights of one, the first, all zero."""
    page.evaluate(
        """(given) => {
          const name = given ?? Object.keys(saved.runs)[0];
          const { weights, ...run } = saved.runs[name];
          const zeros = new DataView(new ArrayBuffer(weights.byteLength));
          return fake.set('runs', { ...saved.runs, [name]: { ...run, weights: zeros } });
        }""",
        name,
    )


def assert_name_is_text(page: Page) -> None:
    """Fail if a run's name that looks like HTML is anything but text."""
    name = "<b>bold</b>"
    page.evaluate(
        """(name) => {
          const [run] = Object.values(fake.get('runs'));
          fake.set('run', name);
          return fake.set('runs', { [name]: run });
        }""",
        name,
    )
    menu = page.locator("#scratch").get_by_label("Model", exact=True)
    expect(menu.locator("option")).to_have_text([name])


def assert_nothing_left(page: Page) -> None:
    """Take the fake model's view away; fail if it shared an id or still listens."""
    ids = page.locator(".attn-widget [id]").evaluate_all("all => all.map((e) => e.id)")
    assert len(ids) == len(set(ids)), ids
    assert page.evaluate("fake.listening()") > 0
    page.evaluate("window.leave()")
    assert page.evaluate("fake.listening()") == 0


# Of any widget ---------------------------------------------------------------------------------


def light_and_dark(page: Page, axe: Callable[..., list[str]]) -> list[str]:
    """What axe finds wrong with a bare page's widget as it is, and with its colours in the dark."""
    findings = axe(page, ".attn-widget")
    page.emulate_media(color_scheme="dark")
    findings += axe(page, ".attn-widget", contrast=True)
    page.emulate_media(color_scheme="light")
    return findings


def assert_large_enough(widget: Locator) -> None:
    """Fail if any text is smaller than 12 pixels."""
    small = widget.evaluate(
        """(root) => [...root.querySelectorAll('*')]
          .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
          .filter((e) => parseFloat(getComputedStyle(e).fontSize) < 12).map((e) => e.outerHTML)"""
    )
    assert not small, small


def assert_steady_height(widget: Locator, states: Iterable[str], limit: float) -> None:
    """Fail if a widget is higher than this many rem in any state, or not the same in all of them.

    Args:
        widget: what is measured.
        states: shows one state after another, and gives its name.
        limit: in rem.
    """
    heights = {}
    for state in states:
        box = widget.bounding_box()
        assert box
        heights[state] = box["height"] / 16
        page = "({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth"
        assert widget.page.locator("html").evaluate(page), f"{state} is too wide for the page"
    assert max(heights.values()) <= limit, heights
    assert max(heights.values()) - min(heights.values()) <= 1.5, heights  # a scroll bar, a line
