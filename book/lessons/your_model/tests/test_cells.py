"""What the lesson says of its code and no cell of it shows."""

import ast

import pytest
import torch

from attn_notes import doubt
from attn_notes.analysis import leaks
from book.lessons.your_model import example, figures, guess
from book.site.dependencies import lesson_page, python_code
from tests import exercises

CELLS = exercises.cells(exercises.ROOT / lesson_page("your_model"))


def scope() -> dict:
    found: dict = {}
    for name in ("setup", "loss", "model", "planted"):
        tree = ast.parse(python_code(CELLS[name]))
        defined = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
        kept = [node for node in tree.body if isinstance(node, defined)]
        exec(compile(ast.Module(kept, []), name, "exec"), found)
    return found


def test_each_function_is_right_when_alone():
    of = scope()
    x = of["texts"](0)[:2]
    (moved,) = {int(a - b) % 26 for a, b in zip(of["collate"](x)[0, :-1], x[0, :-1], strict=True)}
    assert moved == 1 and of["collate"](x)[:, -1].eq(-100).all()
    assert doubt.targets(of["loss"], x, 26).ok
    twice = doubt.targets(of["planted"], x, 26)
    assert {arrow.to - arrow.place for arrow in twice.arrows} == {2}


def test_a_label_is_the_one_score_whose_rise_lowers_the_loss():
    of = scope()
    x = of["texts"](0)[:1, :5]
    for asks, ahead in ((of["loss"], 1), (of["planted"], 2)):
        flat = torch.zeros(1, 5, 26)
        for place in range(5 - ahead):
            changes = []
            for letter in range(26):
                raised = flat.clone()
                raised[0, place, letter] = 0.01
                changes.append(float(asks(raised, x) - asks(flat, x)))
            falls = [letter for letter, change in enumerate(changes) if change < 0]
            assert falls == [int(x[0, place + ahead])]


def test_answers_of_what_is_to_be_tried():
    of = scope()
    x = of["texts"](0)[:2]
    same = doubt.targets(lambda z, x: torch.nn.functional.cross_entropy(z.mT, x), x, 26)
    assert {arrow.to - arrow.place for arrow in same.arrows} == {0}
    half = (torch.arange(12) > 5).expand(2, 12)
    answers = lambda z, x: of["loss"](z[:, 5:], x[:, 5:])  # noqa: E731
    assert doubt.targets(answers, x, 26, weights=half).ok
    alone = doubt.targets(answers, x, 26)
    assert alone.ok and "not answered for" in str(alone)
    late = lambda z, x: of["loss"](z[:, 6:], x[:, 6:])  # noqa: E731
    assert doubt.targets(late, x, 26, weights=half).bad


def test_the_guess_is_told_by_what_is_right_alone():
    of = scope()
    collates = {True: of["collate"], False: lambda x: x}
    losses = {True: of["loss"], False: lambda z, x: torch.nn.functional.cross_entropy(z.mT, x)}
    for first, second, answer in (
        (True, True, "neither"),
        (False, True, "collate"),
        (True, False, "loss"),
        (False, False, "both"),
    ):
        (part,) = guess.predicted(collates[first], losses[second], of["texts"](0))
        assert part.came == guess.WRONG.options[answer]


def test_the_example_reads_and_asks_what_it_may():
    made = example.make()
    moved = leaks.influence(made["model"], made["tokens"][:1, :7], made["vocabulary"])
    assert float(moved.triu(1).max()) == 0 and bool((moved.diagonal() > 0).all())
    loss = made.pop("loss")
    assert doubt.targets(loss, **made).ok


def test_what_is_wrong_is_orange_and_heavy_arrows_are_thick():
    def loss(z: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        each = torch.nn.functional.cross_entropy(z[:, :-1].mT, x[:, 1:], reduction="none")
        return (each * torch.tensor([1.0, 1.0, 2.0])).sum()

    x = torch.arange(8).view(2, 4)
    picture = figures.asked(figures.letters(x[0]), doubt.targets(loss, x, 26))
    arcs = [each.arrow_patch for each in picture.fig.axes[0].texts if hasattr(each, "arrow_patch")]
    widths = [arc.get_linewidth() for arc in arcs if arc]
    assert sorted(widths) == pytest.approx([1.8, 1.8, 3.6], rel=1e-3)
    back = lambda z, x: torch.nn.functional.cross_entropy(z[:, 2:].mT, x[:, :-2])  # noqa: E731
    odd = doubt.targets(back, x, 26)
    assert figures.asked("abcd", odd).title == "What each place is asked for"
    none = doubt.targets(lambda z, x: z.detach().sum(), x, 26)
    assert " 0 arrows" in figures.asked("abcd", none).alt
    curves = figures.curves({"one": [3.0, 1.0], "other": [3.0, 0.0]})
    assert curves.title == "Two losses as they fall"
