"""Runs programs in a page: what goes in and comes out are tensors."""

import json
from typing import Any

import torch
from playwright.sync_api import Page
from torch import Tensor

from attn_notes.programs import Program, source

Tensors = dict[str, Tensor]

LOAD = """async (text) => {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  try {
    return window.loaded = await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}"""
READ_TOOLS = f"async (text) => {{ window.tools = await ({LOAD})(text); }}"

# window.H, window.program and window.run, with these numbers in the inputs.
MAKE = f"""async ({{ text, values, single, wasm }}) => {{
  window.program = await ({LOAD})(text);
  const fast = wasm ? tools.loadVectors(program.size) : null;
  window.H = fast?.H ?? new (single ? Float32Array : Float64Array)(program.size);
  const options = single ? {{ exp: tools.fastExp, ...fast }} : {{}};
  // What was there before must not matter.
  H.fill(NaN, 0, program.size);
  window.run = program.make(H, options);
  for (const [name, numbers] of Object.entries(JSON.parse(values))) {{
    H.set(numbers, program.inputs[name][0]);
  }}
}}"""
READ = """(slots) => Object.fromEntries(Object.entries(program[slots]).map(([name, [at, shape]]) =>
  [name, Array.from(H.subarray(at, at + shape.reduce((a, b) => a * b, 1)))]))"""


def numbers(tensor: Tensor) -> list[float]:
    """A tensor's entries, row by row."""
    return tensor.detach().double().flatten().tolist()


def load_tools(page: Page) -> None:
    """`window.tools`: what a page has around programs."""
    page.evaluate(READ_TOOLS, "".join(map(source.read, ("program.js", "vectors.js"))))


def make(
    page: Page, program: Program, inputs: Tensors, *, single: bool = False, wasm: bool = False
) -> None:
    """A program in the page, ready to run on these inputs."""
    values = json.dumps({name: numbers(tensor) for name, tensor in inputs.items()})
    given = {"text": program.module, "values": values, "single": single or wasm, "wasm": wasm}
    page.evaluate(MAKE, given)


def read(page: Page, slots: str = "outputs") -> Tensors:
    """The outputs, or the inputs, as they stand in the array."""
    found: dict[str, Any] = page.evaluate(READ, slots)
    shapes: dict[str, Any] = page.evaluate("(slots) => program[slots]", slots)
    return {
        name: torch.tensor(values, dtype=torch.float64).reshape(shapes[name][1])
        for name, values in found.items()
    }


def outputs(page: Page, program: Program, inputs: Tensors, **options: bool) -> Tensors:
    """What a program makes of inputs; it runs twice, and leaves its inputs as they are."""
    make(page, program, inputs, **options)
    before = read(page, "inputs")
    page.evaluate("run(); run();")
    for name, tensor in read(page, "inputs").items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=0, equal_nan=True)
    return read(page)
