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
    const { above, ahead } = { above: model.get("above"), ahead: model.get("ahead") };
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
    """The table, of the recorded layers of a task and of how far above the best ours ends."""

    _esm = bundle.javascript("_bench_table", FOLDERS) + SHOW
    layers = traitlets.Dict().tag(sync=True)
    above = traitlets.List().tag(sync=True)
    ahead = traitlets.Bool(False).tag(sync=True)


def page(task: str) -> list[Compared]:
    return [Compared(layers=results.load(RECORD)["runs"][task])]


OURS = """
# lower than all in every pair; as the ordinary one; higher than all
js models[0].set("above", [1, 2, 3, 4, 5, 6, 7, 8].map((x) => x * 1e-6))
js models[0].set("above", models[0].get("layers").ordinary.above)
js models[0].set("above", [1, 2, 3, 4, 5, 6, 7, 8])
# seeds that are lost count as highest; one that reads ahead is compared with none
js models[0].set("above", [null, null, null, null, null, null, null, 1e-6])
js models[0].set("ahead", true)
"""


SHORT = (Path(__file__).parent / "short.js").read_text("utf-8")


class Beside(str):
    """A part of a page, and the files that it asks for."""

    files: dict[str, str | bytes]


def hosted(html: str, more: dict[str, str]) -> Beside:
    """A place where code may be changed, and all that a site has beside it."""
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
    cell = Cell(
        "model",
        "model",
        task=TASK,
        given={"next": torch.tensor([[0, 1], [0.5, 0]]), "tokens": tokens, "targets": 1 - tokens},
        ahead=("tokens", 2),
        chooses=("letter", 2),
        training=Training(
            draws={"next": {"shape": [2, 2], "draw": "normal", "mean": 0.0, "std": 1.0}},
            rate=0.2, steps=40, warmup=2, clip=1.0, floor=0.0,
        ),
    )  # fmt: skip
    data = json.dumps({"model": cell.told(CODE)})
    means = (Path(__file__).parent / "_lesson_coins.js").read_text("utf-8")
    place = 'class="attn-cell-place" data-lesson="coins" data-cell="model" data-of="code"'
    html = f'<div id="code"><pre>{CODE}</pre></div><div {place} data-trains></div>'
    html += "<script>location.search && document.querySelector('pre').append('# later')</script>"
    return [hosted(html, {"coins.json": data, "_lesson_coins.js": means})]


def answer(stem: str = "deep_qkv") -> list[Beside]:
    """The exercises of a lesson, each with the notebook's stub and its check."""
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


def bench() -> list[Beside]:
    """The workbench, with two tasks, and less training than on the site."""
    told = bench_told.told() | {"rates": [1e-6, 0.01, 1e-5], "swept": [0, 1], "seeds": 4}
    for task in ("sorting", "brackets"):
        told["tasks"][task] |= {"steps": 12}
    told["tasks"]["sorting"] |= {"floor": 1.5}  # so that what reads ahead falls through it
    return [hosted('<div class="attn-bench-place"></div>', {"workbench.json": json.dumps(told)})]


EDITOR = """
# the book's own code is the book's model
press Run
# another, and where it chooses otherwise; one that reads ahead, in values and in slopes
js edit("[tokens]", "[tokens] + 0.5")
press Run
js edit("[tokens]", "[tokens * 0]")
press Run
js edit("[tokens]", "[tokens.flip(1)]")
press Run
js edit("[tokens]", "[tokens] * float('nan')")
press Run
# what is wrong is said with its line, in Python's words, as a text; and the next run works
js edit("tokens):", "tokens:")
press Run
js edit("tokens]", "tokans]")
press Run
js edit("[tokens]", "[tokens].mT @ p['next']")
press Run
js edit("def forward", "def backward")
press Run
js edit("# the", "raise ValueError('<img src=x onerror=document.title=1>') #")
press Run
js edit("# the", "print('<b>', tokens.shape, torch.tensor([1, -1]) / 0) #")
press Run
press Run
js edit("# the", "[2, 1].sort()\\n    tokens *= 1 #")
press Run
js edit("# the", "import js #")
press Run
# by the keyboard: Control and Enter run it, and Tab leads on; the focus is there again
focus Code of this cell
keys Control+End Enter i f Space 1 : Enter p a s s Control+Enter
keys Tab Enter
# it can be stopped, and what is changed while it runs is told of other code
js edit("# the", "while True: pass #"); press("Run"); await wait(300); press("Stop")
js edit("# the", "#"); press("Run"); edit("# the", "##")
# what is typed stays, on leaving too, and the book's is there again
js edit("# the", "# left"); dispatchEvent(new PageTransitionEvent("pagehide")); full()
reload
press The book’s code again
js full()
js edit("# the", "# a full")
press Run
# whoever keeps nothing has the code of a later edition
go to ?later
"""

TRAINING = """
# it trains in the panel of all widgets, which takes the button's place, and the focus
focus Train
keys Enter
press .attn-settings summary
choose "12" of Steps
press 2 seeds
# of other code it is another model's
js edit("[tokens]", "[tokens].relu()")
press Train
# what is changed while its program is made is not trained
js edit("[tokens]", "[tokens] * 2"); press("Train"); edit("[tokens]", "[tokens] * 3")
# nor what has begun by then, of which nothing comes any more
js press("Train"); await until(".attn-train"); edit("[tokens]", "[tokens] * 4"); press("Run")
# nor is what does not run
js edit("[tokens]", "[token]")
press Train
js edit("[tokens]", "[tokens.flip(1)]")
press Train
"""

ANSWERS = """
# the stub is no answer yet
press Run
js answer("floor", "def floor(letters, length):\\n    return 1")
press Run
# an answer is checked by the notebook's own check; what was reached is kept
js answer("floor", SOLUTION)
press Run
reload
# what goes wrong is a text, with its line
js answer("floor", "def floor(letters, length):\\n    raise ValueError('<b>bold</b>')")
press Run
js answer("floor", "def floor(letters, length):\\n    return <img src=x onerror=bad()>")
press Run
# by another name it is asked for by its own; what the page lacks is not held against it
js answer("floor", "import math\\nx, y = 1, 2")
press Run
js answer("floor", "def counting(p):\\n    return 1")
press Run
js answer("floor", "1 + 1")
press Run
js answer("floor", "def floor(letters, length):\\n    return torch.ones(2).exponential_()")
press Run
press Begin anew
press Save
# nonsense that stands there counts nothing
js localStorage.setItem("attention-notes reached deep_qkv", '{"floor": 7}')
reload
"""

FIELDS = r"""
# an answer of a few values is typed in fields, which write the code and follow it
type "cab" into [data-name=disagree] input 0
type "1" into [data-name=disagree] input 1
keys Enter
# what was kept is there again; a quote is a letter, a comma is a point
reload
press [data-name=disagree] summary
type ""b\" into [data-name=disagree] input 0
press [data-name=disagree] button 2
press [data-name=disagree] summary
js answer("disagree", "answer = None")
type "baa" into [data-name=disagree] input 0
type "2" into [data-name=disagree] input 1
keys Enter
press [data-name=softmax] summary
type "1 / 5,367" into all three
choose "it does not double" of verdict
"""

FOREIGN = {
    "code": f"# é <img src=x onerror=document.title=1>\nprint('it ran')\n{STARTS['ordinary']}",
    "start": "ordinary",
    "task": "brackets",
}
SENT = urlsafe_b64encode(json.dumps(FOREIGN).encode()).decode().rstrip("=")
BOOKS = json.dumps({"code": STARTS["ordinary"].rstrip(), "start": "ordinary", "task": "sorting"})
BENCH = f"""
# each layer to begin with is asked at once
press Run
choose "published mask" of Begin with
press Run
choose "brackets" of Task
press Run
# what is wrong is said, and the next run works
js write("x = (")
press Run
js write("x = 1")
press Run
js write("def attention(q, k, v):\\n    return q[0]")
press Run
js write("import js")
press Run
# what leads nowhere may be imported
choose "ordinary" of Begin with
js write("import collections, functools, itertools, json, math, random, re\\n" + shown())
press Run
press The book’s code again
# what loses its digits is told from which size on
js write(shown().replace("scores.softmax(-1)", "(e := scores.exp()) / e.sum(-1, keepdim=True)"))
press Run
press The book’s code again
# what is typed is kept with what it began with
choose "published mask" of Begin with
reload
press The book’s code again
# it trains, and is compared; what reads ahead is told so, and is not
choose "ordinary" of Begin with
press Train
choose "published mask" of Begin with
press Train
# stopped, nothing is left of it, and another time it trains
choose "copying" of Task
js press("Train"); await until("[data-training=running]"); press("Stop")
press Run
choose "sorting" of Task
press Train
# a link is to this code, until that is changed
js write("# >>>>>>>>>")
press Link to this
js write("mine = 2")
# code that comes by an address waits, is a text, and is not kept; it is foreign on whatever task
go to #bench={SENT}
choose "sorting" of Task
press Run
reload
# a broken one changes nothing
go to #bench=AAAA
js arrive({{ code: 1, start: "ordinary", task: "copying" }})
js arrive({{ code: "x", start: "toString", task: "copying" }})
js arrive({{ code: "x".repeat(30000), start: "ordinary", task: "copying" }})
js full()
choose "copying" of Task
js write("y = 1"); await wait(300)
# the book’s own is nobody else’s
js arrive({BOOKS})
"""

SCRIPTS = {
    task: (partial(page, task), OURS if task == "sorting" else "")
    for task in results.load(RECORD)["runs"]
} | {
    "editor": (editor, EDITOR),
    "trained": (editor, TRAINING),
    "answers": (answer, ANSWERS),
    "fields": (partial(answer, "attention"), FIELDS),
    "bench": (bench, BENCH),
}
