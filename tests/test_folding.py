"""Cells that only call the package are folded; those that a learner should read are not."""

from pathlib import Path

import nbformat

from book.site.folding import elsewhere, fold, only_calls

BOOK = Path(__file__).parents[1] / "book"


FOLDED = [
    "figures.training(live)",
    "display(figures.looks(live, recorded), table(claims.lesson(live)))",
    "grids = recipe.BANK.grids()\nfigures.boards(grids[:3], titles=['a', 'b'])",
    "checks.floor(floor)",
    "live = evidence.live(run.judged, history, fresh).cpu()",
    "first, second = measure.train(recipe.KINDS, seeds=recipe.SEEDS)\nwidget.run = 'here'",
]
READ = [
    "def floor(n):\n    return figures.best(n)",
    "for step in range(10):\n    train(step)",
    "h = h + net(h)",
    "loss = F.cross_entropy(model(x), y)",
    "torch.manual_seed(0)",
    "print(figures.training(live))",
    "[figures.one(x) for x in runs]",
    "figures.bars(scores > 0)",
    "no = -inf",
    "class Cat(nn.Module):\n    pass",
    "show = lambda step: figures.one(step)",
    "both = one and other.seen()",
    "model = first() if small else second()",
    "seen = {figures.one(x) for x in runs}",
    "try:\n    checks.one()\nexcept ValueError:\n    figures.none()",
    "",
    "# nothing but a word\n",
    "rate = 0.01",
]


def test_a_cell_that_only_calls_the_package_is_folded_and_one_that_does_something_is_not() -> None:
    assert [code for code in FOLDED if not only_calls(code, {"torch", "F"})] == []
    assert [code for code in READ if only_calls(code, {"torch", "F"})] == []


def test_whose_calls_are_worth_reading() -> None:
    cells = [
        "import torch\nfrom torch.nn import functional as F\nfrom IPython.display import display",
        "from book.kit import figures\nimport book.kit.notebook\nfrom einops import pack",
    ]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    assert elsewhere(made) == {"torch", "F", "pack"}


def test_every_notebook_is_folded() -> None:
    changed = []
    for path in BOOK.rglob("[!.]*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        before = {cell.id: dict(cell.metadata) for cell in notebook.cells}
        fold(notebook)
        changed += [(path.stem, c.id) for c in notebook.cells if c.metadata != before[c.id]]
    assert not changed, "run: make strip"


def test_a_reader_may_unfold_and_strip_folds_again() -> None:
    hidden = {"tags": ["hide-input"]}
    cells = [
        ("figures.all()", "drawn", {}, True),
        ("x = y + 1", "sum", {**hidden, "jupyter": {"source_hidden": True}}, False),
        ("clock()", "setup", hidden, True),
        ("guess = claims.of()", "exercise-guess-answer", {}, False),
    ]
    made = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code, id=id_, metadata=of) for code, id_, of, _ in cells]
    )
    made.cells.append(nbformat.v4.new_code_cell("score(guess)", metadata={"tags": ["remove-cell"]}))
    fold(made)
    for cell, (*_, folded) in zip(made.cells, cells, strict=False):
        assert cell.metadata.get("tags") == (["hide-input"] if folded else None)
        assert bool(cell.metadata.get("jupyter")) == folded
    assert made.cells[-1].metadata == {"tags": ["remove-cell"]}
