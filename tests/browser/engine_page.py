"""An empty page with the engine of the lessons' cells beside it: `ask` as an editor does."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import Browser, Page
from torch import Tensor

from attn_notes.programs import source
from book.page.code import engine
from book.site import micropython

from .conftest import ROOT, empty_page
from .program_page import LOAD

ASK = """async () => {
  const { engine } = await import('./_engine.js');
  window.printed = [];
  window.ask = async (action, given) => {
    try {
      return await engine().ask(action, given, (line) => printed.push(line));
    } catch ({ kind, message, lines, page }) {
      return { error: { kind, message, lines, page } };
    }
  };
}"""
RUN = f"""async ({{ text, values }}) => {{
  const program = await ({LOAD})(text);
  const H = new Float64Array(program.size).fill(NaN);
  const run = program.make(H);
  for (const [name, numbers] of Object.entries(values)) {{
    if (name in program.inputs) H.set(numbers, program.inputs[name][0]);
  }}
  run();
  return Object.fromEntries(Object.entries(program.outputs).map(([name, [at, shape]]) =>
    [name, Array.from(H.subarray(at, at + shape.reduce((a, b) => a * b, 1)))]));
}}"""


def put_engine(folder: Path, lessons: dict[str, str] | None = None) -> None:
    """Everything that a site has in `_static/cell`."""
    names = ("_engine.js", "_traps.js")  # on the site, in places.js
    alone = {name: source.read(name, engine.FOLDERS) for name in names}
    for name, text in (engine.files() | alone | (lessons or {})).items():
        (folder / name).write_text(text, "utf-8")
    found = micropython.files(ROOT)
    assert found, "MicroPython could not be had; see above"
    for name, content in found.items():
        (folder / Path(name).name).write_bytes(content)


@contextmanager
def engine_page(browser: Browser, folder: Path) -> Iterator[Page]:
    """A page that has started the engine."""
    put_engine(folder)
    with empty_page(browser, folder) as page:
        page.evaluate(ASK)
        yield page


def ask(page: Page, action: str, **given: Any) -> dict[str, Any]:
    """What the Worker answers."""
    found: dict[str, Any] = page.evaluate(
        "([action, given]) => ask(action, given)", [action, given]
    )
    return found


def given(name: str, x: Tensor) -> dict[str, Any]:
    """A tensor as an input of a task."""
    dtype = str(x.dtype).removeprefix("torch.")
    values = x.detach().flatten().tolist()
    return {"name": name, "values": values, "shape": list(x.shape), "dtype": dtype}


def tensor(values: list[float | str], shape: list[int]) -> Tensor:
    """What came of it, in double precision."""
    return torch.tensor([float(x) for x in values], dtype=torch.float64).reshape(shape)


def printed(page: Page, source: str) -> str:
    """What a cell prints; it must end well."""
    page.evaluate("printed.length = 0")
    answer = ask(page, "run", source=source)
    assert answer == {"error": None}, answer
    found: str = page.evaluate("printed.join('\\n')")
    return found.rstrip("\n")
