"""What a built page has saved of its first widget, and a model that stands in for it."""

import base64
import json
from typing import Any

from playwright.sync_api import Page

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
# them but for those given. window.leave() takes the view away.
FAKE_MODEL = """(given) => {
  const traits = { ...window.saved, ...given };
  const listeners = {};
  window.fake = {
    get: (key) => traits[key],
    set(key, value) {
      if (traits[key] === value) return;
      traits[key] = value;
      for (const listener of listeners[`change:${key}`] ?? []) listener();
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
  window.leave = window.widget.default.render({ model: window.fake, el });
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
