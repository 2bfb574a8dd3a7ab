"""Cells that only call the package are folded; those that a learner should read are not."""

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from book import build
from book.site.folding import elsewhere, only_calls

from .exercises import written

FOLDED = "grids = recipe.BANK.grids()\nfigures.boards(grids[:3], titles=['a', 'b'])"
READ = [
    "def floor(n):\n    return figures.best(n)", "for step in range(10):\n    train(step)",
    "class Cat(nn.Module):\n    pass", "show = lambda step: figures.one(step)",
    "try:\n    checks.one()\nexcept ValueError:\n    figures.none()", "h = h + net(h)",
    "loss = F.cross_entropy(model(x), y)", "torch.manual_seed(0)", "print(figures.training(live))",
    "[figures.one(x) for x in runs]", "seen = {figures.one(x) for x in runs}", "no = -inf",
    "figures.bars(scores > 0)", "both = one and other.seen()", "rate = 0.01",
    "model = first() if small else second()", "", "# nothing but a word\n",
]  # fmt: skip


def test_a_cell_that_only_calls_the_package_is_folded_and_one_that_does_something_is_not():
    """The lessons have most kinds of the first: test_notebooks.py looks at each."""
    assert only_calls(FOLDED, {"torch", "F"})
    assert [code for code in READ if only_calls(code, {"torch", "F"})] == []


def test_whose_calls_are_worth_reading():
    cells = [
        "import torch\nfrom torch.nn import functional as F\nfrom IPython.display import display",
        "from book.kit import figures\nimport book.kit.notebook\nfrom einops import pack",
    ]
    made = nbformat.v4.new_notebook(cells=[new_code_cell(cell) for cell in cells])
    assert elsewhere(made) == {"torch", "F", "pack"}


def test_a_reader_may_unfold_and_strip_folds_again(tmp_path):
    hidden, jupyter = {"tags": ["hide-input"]}, {"source_hidden": False, "outputs_hidden": True}
    folded = {"tags": ["hide-input"], "jupyter": {"source_hidden": True}}
    kept = {"tags": ["remove-cell"]}
    cells = [
        ("figures.all()", "drawn", {"jupyter": jupyter}, folded),
        ("x = y + 1", "sum", {**hidden, "jupyter": {"source_hidden": True}}, {}),
        ("x = y + 2", "shown", {"jupyter": jupyter}, {}),
        ("now = clock() + 1", "setup", hidden, folded),
        ("guess = claims.of()", "exercise-guess-answer", {}, {}),
        ("score(guess)", "score", kept, kept),
    ]
    made = nbformat.v4.new_notebook()
    made.cells = [new_code_cell(code, id=id_, metadata=of) for code, id_, of, _ in cells]
    made.cells.append(new_markdown_cell("A word.", metadata={"jupyter": jupyter}))
    build.strip(written(tmp_path, {"book/page.ipynb": nbformat.writes(made)}))
    found = nbformat.read(tmp_path / "book/page.ipynb", as_version=4).cells
    assert [cell.metadata for cell in found] == [*(left for *_, left in cells), {}]
