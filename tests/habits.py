"""A class that was marked by hand first: what sixty and more students do to one week's sheet.

Each habit is a change of a notebook in which `floor`, `leak`, `rank` and `verdict` are right, with
the points that a teacher gives for it: of `floor`, `leak`, `rescue`, `rank` and `verdict`. A `?` is
left to the teacher, who is told why.
"""

import json
from functools import partial

import nbformat

from book.course import homework
from book.lessons.deep_qkv import checks

from .exercises import answer_of
from .test_grading import zipped

FLOOR = """\
def floor(letters, length):
    import math
    cost = (length - 1) * math.log(letters)
    return cost / (2 * length)"""
LEAK = """\
def future_leak(model, tokens):
    plain = model(tokens)
    worst = 0.0
    for place in reversed(range(1, tokens.shape[1])):
        for letter in range(4):
            other = tokens.clone()
            other[:, place] = letter
            moved = (model(other) - plain)[:, :place].abs()
            worst = max(worst, float(moved.max()))
    return worst"""
RANK = "answer = (torch.ones(6, 1), torch.tensor([[2.0, 0.0, -1.0]]))"


def sheet(week):
    """The sheet of a student who has all right but the open exercise, which is not begun."""
    (one,) = (one for one in week.exercises if one.name == "verdict")
    right = answer_of(checks.part, 1000 * one.case + 42)
    verdict = f"{one.stub.replace('...', '042', 1)}\nanswer = {right}"
    book = homework.sheet(week, "0.2.0")
    answers = {"floor": FLOOR, "leak": LEAK, "rank": RANK, "verdict": verdict}
    both(*(puts(name, source) for name, source in answers.items()))(book, week)
    return book


def at(book, name):
    return next(i for i, cell in enumerate(book.cells) if cell.id == name)


def change(does):
    """What does something with a notebook becomes what makes a habit: `puts(name, source)`."""
    return lambda *given: lambda book, week: does(book, week, *given)


@change
def puts(book, week, name, source):
    book.cells[at(book, name)].source = source


floor = partial(puts, "floor")


@change
def stub(book, week, name):
    (one,) = (one for one in week.exercises if one.name == name)
    puts(name, one.stub)(book, week)


@change
def rewrites(book, week, name, source):
    """Another source, in which `{}` is the one before."""
    puts(name, source.format(book.cells[at(book, name)].source))(book, week)


@change
def adds(book, week, below, name, *sources):
    """Cells above another, or so many below."""
    place = at(book, name) + below
    book.cells[place:place] = map(nbformat.v4.new_code_cell, sources)


above = partial(adds, 0)
below_all = partial(adds, 2, "verdict")


@change
def both(book, week, *changes):
    for each in changes:
        each(book, week)


@change
def drops(book, week, *names):
    book.cells = [cell for cell in book.cells if cell.id not in names]


@change
def as_text(book, week, kind, fence="{}"):
    """The answer in a cell that is no code any more."""
    cell = book.cells[at(book, "floor")]
    cell.cell_type, cell.source = kind, fence.format(cell.source)
    cell.pop("outputs"), cell.pop("execution_count")


@change
def stripped(book, week, *names):
    """As a program leaves it that keeps no ids, or no metadata."""
    told = json.loads(nbformat.writes(book))
    for cell in told["cells"]:
        for name in names:
            cell.pop(name, None)
        cell.setdefault("metadata", {})
    return json.dumps(told).encode()


@change
def says(book, week, name, text):
    shown = nbformat.v4.new_output("execute_result", {"text/plain": text})
    book.cells[at(book, f"{name}-check")].outputs = [shown]


def old(book, week):
    return nbformat.writes(nbformat.convert(book, 3), version=3).encode()


def program(book, week):
    cells = [f"# In[{i}]:\n\n{c.source}" for i, c in enumerate(book.cells) if "outputs" in c]
    return {"sheet.py": "\n\n".join(cells).encode()}


def in_zip(book, week):
    floor("from mine import floor\nn = open('n.txt').read()")(book, week)
    files = {"all/sheet.ipynb": book, "mine.py": FLOOR.encode(), "n.txt": b"3"}
    return {"all.zip": zipped(files)}


def two(book, week):
    other = homework.sheet(week, "0.2.0")
    for name in ("floor", "leak"):
        puts(name, book.cells[at(book, name)].source)(other, week)
        stub(name)(book, week)
    return {"a.ipynb": book, "b.ipynb": other}


def page(book, week):
    """Answers that a page has saved, and the verdict in a notebook."""
    names = ("floor", "leak", "rank")
    saved = [{"name": name, "answer": book.cells[at(book, name)].source} for name in names]
    both(*map(stub, names))(book, week)
    return {"x.ipynb": book, "answers.json": {"lesson": week.stem, "exercises": saved}}


BOTH_CHECKS = "checks.floor(floor)\nchecks.future_leak(future_leak)"


LIBRARIES = ("time", "warnings", "enum", "logging", "os, sys", "matplotlib.pyplot as plt")
FLOORS = {
    **{f"imports {name}": f"import {name}\n{FLOOR}" for name in (*LIBRARIES, "pandas as pd")},
    "future": f"from __future__ import annotations\n{FLOOR}",
    "main": f"{FLOOR}\nif __name__ == '__main__':\n    print(floor(3, 3))",
    "lambda": "import math\nfloor = lambda n, k: (k - 1) * math.log(n) / (2 * k)",
    "partial": "import math\nfrom functools import partial\n"
    "def f(h, n, k): return (k - 1) * math.log(n) / (h * k)\nfloor = partial(f, 2)",
    "callable": "import math\nclass F:\n    def __call__(self, n, k):\n"
    "        return (k - 1) * math.log(n) / (2 * k)\nfloor = F()",
    "numpy": FLOOR.replace("import math", "import numpy as math"),
    "torch": "def floor(n, k): return (k - 1) * torch.tensor(float(n)).double().log() / (2 * k)",
    "decimal": "from decimal import Decimal\n"
    "def floor(n, k): return (k - 1) * Decimal(n).ln() / (2 * k)",
    "cached": f"from functools import lru_cache\n@lru_cache\n{FLOOR}",
    "global": "HALF = 2\n" + FLOOR.replace("2 *", "HALF *"),
    "counts calls": "calls = []\n" + FLOOR.replace("    import", "    calls.append(1)\n    import"),
    "german": f"größe = 'ß'\n{FLOOR}",
    "prints inside": FLOOR.replace("    cost", "    print(letters)\n    cost"),
}
"""Answers to `floor` that are as good."""

CHECKS = {
    "asserts": "assert checks.floor(floor).passed",
    "prints": "print(checks.floor(floor))",
    "keeps": "found = checks.floor(floor)\nfound",
    "loops": "for f in (lambda a, b: 1, floor): checks.floor(f)",
}
"""Ways to call its check."""

ABOVE_FLOOR = {
    "colab": "try:\n    import google.colab\n    1 / 0\nexcept ImportError:\n    pass",
    "repr": "class A:\n    def __repr__(self): return 'mine'\nA()",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass P:\n    n: int\nP(2)",
    "double": "torch.set_default_dtype(torch.float64)",
    "seeds": "torch.manual_seed(1)\nimport random\nrandom.seed(1)",
    "no gradients": "torch.set_grad_enabled(False)",
}
ABOVE_LEAK = {
    "endless cell": "while True: pass", "sleeps": "import time\ntime.sleep(10**6)",
    "asks": "n = input('How many? ')", "flood": "for i in range(10**5): print('x' * 1000)",
    "exit": "exit()", "sys.exit": "import sys\nsys.exit(1)", "dies": "import os\nos._exit(1)",
    "deep": "def f(n): return f(n + 1)\nf(0)", "await": "import asyncio\nawait asyncio.sleep(0)",
    "thread": "import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()",
    "widget": "import ipywidgets\nipywidgets.IntSlider()",
    "plot": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
}  # fmt: skip
"""A cell of their own, that earns and costs nothing."""

RIGHT = {
    "plain": lambda book, week: None,
    "first cell": both(rewrites("floor-setup", "{}\nimport math as m, statistics"),
                       floor("def floor(n, k): return (k - 1) * m.log(n) / (2 * k)")),
    "helper above": both(
        above("floor", "import math\ndef whole(a, b): return (b - 1) * math.log(a)"),
        floor("def floor(a, b): return whole(a, b) / (2 * b)")),
    "below the stub": both(stub("floor"), adds(1, "floor", FLOOR)),
    "below the check": both(floor(""), adds(2, "floor", FLOOR)),
    "copy below": lambda book, week: adds(2, "floor", week.exercises[0].stub)(book, week),
    "begins with seaborn": rewrites("floor-setup", "import seaborn as sns\nsns.set_theme()\n{}"),
    "renamed with its check": both(floor(FLOOR.replace("def floor", "def my_floor")),
                                   puts("floor-check", "checks.floor(my_floor)")),
    "markdown": as_text("markdown"), "raw": as_text("raw"),
    "fenced": as_text("markdown", "```python\n{}\n```"),
    "crash": above("floor", "1 / 0", "x = (", "undefined"),
    "shows much": above("leak", "list(range(10**6))", "'x' * 10**8"),
    "memory": above("leak", "x = torch.zeros(10**11)", "y = [0] * 10**11"),
    "magics": both(floor(f"%time y = 2\n{FLOOR}"), above(
        "leak", "%%time\nx = 3", "!ls -l\n%matplotlib inline", "%pip install einops")),
    "no ids": stripped("id"), "no metadata": stripped("metadata"),
    "neither": stripped("id", "metadata"), "format before": old, "program": program,
    "zip": in_zip, "two files": two, "page and notebook": page,
    "no checks": drops(*(f"{name}-check" for name in ("floor", "leak", "rank", "verdict"))),
    "checks at the end": both(drops("floor-check", "leak-check"), below_all(BOTH_CHECKS)),
    "no setup": drops("floor-setup"),
    "star": both(above("floor", "from book.lessons.deep_qkv.checks import floor as look"),
                 puts("floor-check", "look(floor)")),
    # A helper below the cell that needs its value, by somebody who went back and forth.
    "back and forth": both(floor("scale = HALF\n" + FLOOR.replace("2 *", "scale *")),
                           below_all("HALF = 2")),
    "own file": both(above("floor", "open('two.txt', 'w').write('2')"),
                     floor(FLOOR.replace("2 *", "int(open('two.txt').read()) *"))),
    "says not yet": says("floor", "Not yet: it was not."),
    **{name: floor(source) for name, source in FLOORS.items()},
    **{name: puts("floor-check", source) for name, source in CHECKS.items()},
    **{name: above("floor", source) for name, source in ABOVE_FLOOR.items()},
    **{name: above("leak", source) for name, source in ABOVE_LEAK.items()},
}  # fmt: skip

OTHER_FLOORS = {
    "needs pandas": (f"import pandas\n{FLOOR}".replace("cost / ", "pandas.to(cost) / "), "?"),
    "renamed alone": (FLOOR.replace("def floor", "def my_floor"), "?"),
    "in part": (FLOOR.replace("(2 * length)", "6"), 1), "wrong": ("def floor(n, k): return n", 0),
    "fenced code": (f"```python\n{FLOOR}\n```", 0), "stops": ("def floor(n, k): return 1 / 0", 0),
    "never ends": ("def floor(n, k):\n    while True: pass", 0),
    "waits": ("import time\ndef floor(n, k): time.sleep(10**5)", 0),
    "asks inside": ("def floor(n, k): return float(input())", 0),
    "no Python": ("def floor(n, k:\n    return 1", 0),
}  # fmt: skip
VERDICTS = {
    "wrong verdict": ("{}\nanswer['verdict'] = 'no difference'", 1.5),
    "number as a number": ("number = 42\n{}\ncase = (case[0], number)", 3),
    "no number": ("{}\ncase = case[0], '...'", "?"), "another's case": ("{}\ncase = 0", "?"),
    "number and no answer": ("{}\nanswer = {{'p': ..., 'verdict': ...}}", 0),
}  # fmt: skip
"""Answers that are worth as much."""
NOT_HERE = says("floor", "Right: it is.")

HABITS = {
    **{name: (change, "2 4 0 3 3") for name, change in RIGHT.items()},
    **{name: (floor(source), f"{worth} 4 0 3 3") for name, (source, worth) in OTHER_FLOORS.items()},
    **{n: (rewrites("verdict", x), f"2 4 0 3 {worth}") for n, (x, worth) in VERDICTS.items()},
    "says right": (both(floor("def floor(n, k): return n"), NOT_HERE), "? 4 0 3 3"),
    "lost helper": (both(floor("def floor(n, k): return helper(n, k)"), NOT_HERE), "? 4 0 3 3"),
    "not begun": (both(*map(stub, ("floor", "leak", "rank", "verdict"))), "0 0 0 0 0"),
    "wrong gate": (puts("rank", "answer = 1, 2"), "2 4 0 0 3"),
}
"""What they do → the points of each exercise."""


def handed_in(week):
    files = {}
    for number, (name, (change, _)) in enumerate(HABITS.items()):
        book = sheet(week)
        made = change(book, week)
        if not isinstance(made, dict):
            made = {"Blatt (1).ipynb": made or book}
        folder = f"{name}_{number}_assignsubmission_file_"
        files |= {f"{folder}/{file}": content for file, content in made.items()}
    return files
