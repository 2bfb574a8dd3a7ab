"""Right answers that differ from the solution pass, guesses do not (wrong.py); of the budget."""

from functools import cache
from typing import Any

import pytest
import torch
from torch import Generator, Tensor

from attn_notes.models.trm import TRM, Output, State
from book.lessons.trm import checks, recipe


def by_hand(q: Tensor, level: float) -> Tensor:
    ends = ([i + 1 for i, x in enumerate(p) if x > level] or [len(p)] for p in q.sigmoid().T)
    return torch.tensor([end[0] for end in ends])


def known_steps(q: Tensor, level: float) -> Tensor:
    return torch.tensor([1, 2, 3, 1] if level == 0.5 else [2, 3, 3, 1])


def known_boards(a: list[int], b: list[int]) -> bool:
    guises = ([int(n[d - 1]) for d in checks.GRID] for n in ("1234", "2143", "2341"))
    return a == checks.GRID and b in guises


def test_right_answers_pass_however_they_are_written_and_no_table_of_the_known_cases():
    for outcome in (
        checks.left_of_start(lambda d, n: torch.tensor(d).pow(n)),
        checks.same_class(lambda a, b: [a.index(x) for x in a] == [b.index(x) for x in b]),
        checks.steps_taken(by_hand),
    ):
        assert outcome.passed, outcome.message
    for outcome in (checks.steps_taken(known_steps), checks.same_class(known_boards)):
        assert outcome.share == 0 and outcome.message.startswith("right ")


class Oracle(TRM):
    """A network that answers with the solution after so many looks at a puzzle, then sure."""

    def __init__(self, looks: int) -> None:
        super().__init__(recipe.LIVE.config, Generator().manual_seed(0))
        self.looks = looks

    def forward(self, puzzles: Tensor, state: State | None = None) -> Output:
        y, z = state or (self.y_init, torch.zeros(len(puzzles), 1, 1))
        done = z[:, 0, 0] + 1
        right = recipe.TASK.solve(puzzles, limit=1)[1]
        digits = torch.where((done >= self.looks)[:, None], right, 1)
        logits = torch.nn.functional.one_hot(digits, 7).float()
        return Output(State(y, done[:, None, None]), logits, 9 * (done - self.looks))


def spend(look: Any, puzzles: Tensor, looks: int = 4) -> Tensor:
    state, logits = None, torch.zeros(0)
    for _ in range(looks):
        state, logits, _ = look(puzzles, state)
    return logits.argmax(-1)


def half(look: Any, puzzles: Tensor) -> Tensor:
    return torch.cat([spend(look, puzzles[:5], 8), puzzles[5:]])


def now_and_then(look: Any, puzzles: Tensor) -> Tensor:
    """Draws, and tells the tries apart by the seed that they start at: fewer looks in each."""
    torch.rand(())
    return spend(look, puzzles, 4 - torch.initial_seed())


@cache
def drawn() -> tuple[Tensor, Tensor]:
    return recipe.TASK.sample(10, Generator().manual_seed(0), "minimal", held_out=True)


SPENT = [
    (spend, 4, ["Right: 10 of 10 solved with 4.00 looks a puzzle."]),
    (spend, 5, ["0 of 10 solved with 4.00"]),
    (lambda look, x: spend(look, x, 5), 4, ["Not yet", "more than 40 looks, 4 a puzzle"]),
    (lambda look, x: spend(look, x, 1), 1, ["Right", "10 of 10 solved with 1.00"]),
    (lambda look, x: spend(look, x, 3), 4, ["Not yet: 0 of 10 solved, and 4 looks for each"]),
    (lambda look, x: ..., 1, ["no answer yet"]),
    (lambda look, x: x[:3], 1, ["shape (10, 36)"]),
    (lambda look, x: look(x[:, :4])[1], 1, ["takes boards [n, 36]"]),
    (half, 8, ["5 of 10 solved with 4.00"]),
    (lambda look, x: x.clamp(min=1), 1, ["Not yet", "only 0 looks for 10 puzzles"]),
    (now_and_then, 1, ["Right", "draws at random", *(f"with {n}.00 looks" for n in (4, 3, 2))]),
]


@pytest.mark.in_short(4)
@pytest.mark.parametrize(("answer", "needs", "said"), SPENT)
def test_the_budget(answer, needs, said, monkeypatch):
    ten = drawn()
    monkeypatch.setattr(checks, "PUZZLES", len(ten[0]))
    monkeypatch.setattr(type(checks.TASK), "sample", lambda *_, **__: ten)
    outcome = repr(checks.budget((answer, Oracle(needs))))
    assert all(words in outcome for words in said), outcome
