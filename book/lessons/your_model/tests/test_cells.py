"""What the lesson says of its code and no cell of it shows."""

import ast
import itertools

import pytest
import torch

from attn_notes import doubt
from attn_notes.analysis import leaks
from book.lessons.your_model import example, figures, guess
from book.site.dependencies import lesson_page, python_code
from tests import exercises

CELLS = exercises.cells(exercises.ROOT / lesson_page("your_model"))


def test_the_guess_is_told_by_what_is_right_alone() -> None:
    of: dict = {}
    defined = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    for name in ("setup", "loss", "model", "planted"):
        tree = ast.parse(python_code(CELLS[name]))
        tree.body = [node for node in tree.body if isinstance(node, defined)]
        exec(compile(tree, name, "exec"), of)
    collates = of["collate"], lambda x: x
    losses = of["loss"], lambda z, x: torch.nn.functional.cross_entropy(z.mT, x)
    pairs = itertools.product(collates, losses)
    for (collate, loss), answer in zip(pairs, ("neither", "loss", "collate", "both"), strict=True):
        (part,) = guess.predicted(collate, loss, of["texts"](0))
        assert part.came == guess.WRONG.options[answer]


def test_the_example_reads_and_asks_what_it_may() -> None:
    made = example.make()
    moved = leaks.influence(made["model"], made["tokens"][:1, :7], made["vocabulary"])
    assert float(moved.triu(1).max()) == 0 and bool((moved.diagonal() > 0).all())
    assert doubt.targets(made.pop("loss"), **made).ok


def test_what_is_wrong_is_orange_and_heavy_arrows_are_thick() -> None:
    def loss(z: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        each = torch.nn.functional.cross_entropy(z[:, :-1].mT, x[:, 1:], reduction="none")
        return (each * torch.tensor([1.0, 1.0, 2.0])).sum()

    x = torch.arange(8).view(2, 4)
    picture = figures.asked(figures.letters(x[0]), doubt.targets(loss, x, 26))
    arcs = [each.arrow_patch for each in picture.fig.axes[0].texts if hasattr(each, "arrow_patch")]
    widths = [arc.get_linewidth() for arc in arcs if arc]
    assert sorted(widths) == pytest.approx([1.8, 1.8, 3.6], rel=1e-3)
    back = lambda z, x: torch.nn.functional.cross_entropy(z[:, 2:].mT, x[:, :-2])  # noqa: E731
    odd, none = (doubt.targets(of, x, 26) for of in (back, lambda z, x: z.detach().sum()))
    assert figures.asked("abcd", odd).title == "What each place is asked for"
    assert " 0 arrows" in figures.asked("abcd", none).alt
    curves = figures.curves({"one": [3.0, 1.0], "other": [3.0, 0.0]})
    assert curves.title == "Two losses as they fall"
