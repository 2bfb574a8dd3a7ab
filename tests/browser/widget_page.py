"""What a built page has saved of its first widget, and what is asked of any."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from playwright.sync_api import Locator, Page

STATE = 'script[type="application/vnd.jupyter.widget-state+json"]'
VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]'
OWN = f".live-widget:not(.guess, .scored) > {VIEW}"
"""The views that a lesson is about: in front of the first stand the fields of a guess."""

# All that the files of a widget's module export, each of which has a scope of its own there.
MODULE = """async (text) => {
  const scopes = text.match(/^const \\$\\w+(?= = )/gm) ?? [];
  const given = scopes.map((line) => line.replace('const ', '...')).join();
  const module = [text, `export const inside = { ${given} };`];
  const url = URL.createObjectURL(new Blob(module, { type: 'text/javascript' }));
  const { inside, ...own } = await import(url);
  return { ...inside, ...own };
}"""
READ_MODULE = f"async (text) => {{ window.widget = await ({MODULE})(text); }}"

# window.widget has all that the files of the widget's module export, window.saved its traits, with
# the weights decoded.
READ_PAGE = f"""async () => {{
  const texts = [...document.querySelectorAll('{STATE}')].map((script) => script.textContent);
  const put = (root, path, value) => {{
    path.slice(0, -1).reduce((node, key) => node[key], root)[path.at(-1)] = value;
  }};
  const all = Object.assign({{}}, ...texts.map((text) => JSON.parse(text).state));
  const {{ model_id: id }} = JSON.parse(document.querySelector('{OWN}').textContent);
  const {{ state, buffers = [], beside }} = all[id];
  const {{ texts: long }} = document.querySelector(`script[src="${{beside.file}}"]`);
  for (const [number, path] of beside.at) put(all[id], path, long[number]);
  for (const {{ path, data }} of buffers) {{
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    put(state, path, new DataView(bytes.buffer));
  }}
  Object.assign(window, {{ widget: await ({MODULE})(state._esm), saved: state }});
}}"""


def centre(locator: Locator) -> tuple[float, float]:
    """The middle of what is drawn, in the window."""
    box = locator.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@dataclass(frozen=True)
class Scene:
    """A view of a widget, as test_widgets.py tries it."""

    name: str
    states: Callable[[Locator], Iterator[tuple[str, bool]]]
    """Shows what a reader may come to see, one after another: a name, and whether axe is to ask
    because there is something new in it."""
    limits: dict[int, float | None] = field(default_factory=lambda: {1280: None, 390: None})
    """Width of the window in pixels → the most rem that it may be high, if it is always as high."""
    part: str = ""
    """Selects what that is measured of, if it is not the whole widget."""
    page: str = ""
    """Which of the lesson's pages has it, as `dialectical_writing`; its first, if none is named."""
    picture: str = ""
    root: str = ".attn-widget"
    """Which picture of its widget that is, and what selects it, if not the page's first."""
    handles: str = ""
    asked: str = ""
    """Selects what can be dragged, if anything can; and how an address ends that shows that."""


def of_lesson(stem: str, name: str) -> Any:
    """What a lesson's own file says by this name: `SCENES`, or what one does on a slide, `use`."""
    return getattr(import_module(f"{__package__}.test_{stem}"), name)


def light_and_dark(
    page: Page, axe: Callable[..., list[str]], within: str = ".attn-widget"
) -> list[str]:
    """What axe finds wrong there, as it is and with its colours in the dark."""
    findings = axe(page, within)
    page.emulate_media(color_scheme="dark")
    findings += axe(page, within, contrast=True)
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
