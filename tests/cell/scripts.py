"""The workbench's table: what recorded layers came to, and what is said beside one of one's own."""

import json
from base64 import urlsafe_b64encode
from functools import partial
from pathlib import Path

import anywidget
import torch
import traitlets

from book.kit import results
from book.page import bundle
from book.page.bench import told as bench_told
from book.page.bench.starts import STARTS
from book.page.bench.told import RECORD
from book.page.code import answers, engine
from book.page.code.engine import FOLDERS
from book.page.code.lesson import Cell, Training
from book.site import micropython
from book.site.dependencies import lesson_page

from ..transcripts.played import BESIDE

ROOT = Path(__file__).parents[2]

SHOW = """
const read = (layer) => ({ ...layer, above: layer.above.map((x) => x ?? Infinity) });
export default { render({ model, el }) {
  const show = () => {
    const [above, ahead] = [model.get("above"), model.get("ahead")];
    const ours = above.length && read({ name: "yours", rate: 0.01, weights: 6852, ahead, above });
    const layers = Object.entries(model.get("layers")).map(([name, of]) => read({ name, ...of }));
    el.replaceChildren(resultTable(ours || null, layers));
  };
  model.on("change", show);
  show();
  return () => model.off("change", show);
} };
"""


class Compared(anywidget.AnyWidget):
    _esm = bundle.javascript("_bench_table", FOLDERS) + SHOW
    layers = traitlets.Dict().tag(sync=True)
    above = traitlets.List().tag(sync=True)
    ahead = traitlets.Bool(False).tag(sync=True)


def page(task: str) -> list[Compared]:
    return [Compared(layers=results.load(RECORD)["runs"][task])]


SHORT = (Path(__file__).parent / "short.js").read_text("utf-8")


class Beside(str):
    files: dict[str, str | bytes]


def hosted(html: str, more: dict[str, str]) -> Beside:
    mpy = {Path(name).name: content for name, content in micropython.files(ROOT).items()}
    found = Beside(f'{html}<script>{SHORT}</script><script defer src="{BESIDE}host.js"></script>')
    found.files = {**engine.files(), **mpy, **more}
    return found


CODE = """\
def forward(p, tokens):
    # the letter itself decides
    return p["next"][tokens]
"""
TASK = """\
def task(cell, given):
    logits = cell["forward"]({"next": given["next"]}, given["tokens"])
    return {"logits": logits, "loss": F.cross_entropy(logits.mT, given["targets"])}
"""


def editor() -> list[Beside]:
    """A cell that predicts of two letters the next: its own weights, on two texts."""
    tokens = torch.tensor([[0, 1, 0], [1, 0, 1]])
    given = {"next": torch.tensor([[0, 1], [0.5, 0]]), "tokens": tokens, "targets": 1 - tokens}
    draws = {"next": {"shape": [2, 2], "draw": "normal", "mean": 0.0, "std": 1.0}}
    training = Training(draws=draws, rate=0.2, steps=40, warmup=2, clip=1.0, floor=0.0)
    of = {"task": TASK, "given": given, "ahead": ("tokens", 2), "chooses": ("letter", 2)}
    data = json.dumps({"model": Cell("model", "model", training=training, **of).told(CODE)})
    means = (Path(__file__).parent / "_lesson_coins.js").read_text("utf-8")
    place = 'class="attn-cell-place" data-lesson="coins" data-cell="model" data-of="code"'
    html = f'<div id="code"><pre>{CODE}</pre></div><div {place} data-trains></div>'
    html += "<script>location.search && document.querySelector('pre').append('# later')</script>"
    return [hosted(html, {"coins.json": data, "_lesson_coins.js": means})]


def answer(stem: str = "deep_qkv") -> list[Beside]:
    all_of_them, made = answers.of_lesson([ROOT / lesson_page(stem)], stem)
    found = [x for x in all_of_them if not x.why_not]
    points = json.dumps({x.name: x.points for x in found})
    html = f"<script>window.SOLUTION = {json.dumps(found[0].solution)};</script>" + "".join(
        f'<div id="answer-{x.name}"><pre>{x.stub}</pre></div><p id="check-{x.name}">checks</p>'
        f'<div class="attn-answer-place" data-lesson="{stem}" data-name="{x.name}"'
        f" data-title='Exercise {i}' data-points='{points}'></div>"
        for i, x in enumerate(found, 1)
    )
    return [hosted(html, {f"{stem}.answers.json": made()})]


CODES = f"# é <img src=x onerror=document.title=1>\nprint('it ran')\n{STARTS['ordinary']}"
FOREIGN = json.dumps({"code": CODES, "start": "ordinary", "task": "brackets"})
SENT = urlsafe_b64encode(FOREIGN.encode()).decode().rstrip("=")
BOOKS = json.dumps({"code": STARTS["ordinary"].rstrip(), "start": "ordinary", "task": "sorting"})


def bench() -> list[Beside]:
    told = bench_told.told() | {"rates": [1e-6, 0.01, 1e-5], "swept": [0, 1], "seeds": 4}
    for task in ("sorting", "brackets"):
        told["tasks"][task] |= {"steps": 12}
    told["tasks"]["sorting"] |= {"floor": 1.5}  # so that what reads ahead falls through it
    html = f"<script>window.SENT = {SENT!r}; window.BOOKS = {BOOKS};</script>"
    html += '<div class="attn-bench-place"></div>'
    return [hosted(html, {"workbench.json": json.dumps(told)})]


PAGES = {task: partial(page, task) for task in results.load(RECORD)["runs"]}
PAGES |= {"editor": editor, "trained": editor, "answers": answer, "bench": bench}
PAGES["fields"] = partial(answer, "attention")
