"""The chapter's checks tell a wrong answer by its symptom and let every right one pass."""

from functools import cache
from typing import Any

import pytest
import torch
from torch import Generator, Tensor

from attn_notes.chapters.trm import checks, recipe
from attn_notes.models.trm import TRM, Output, State


def fail(*_: object) -> None:
    raise RuntimeError("boom")


def changes_its_input(net, x, y, z, n):
    found = cycle()(net, x, y, z, n)
    z.zero_()
    return found


def cycle(thought=(1, 1, 1), answer=(0, 1, 1), more=0, same=False, old=False):
    """A cycle, or one with a part of it wrong: what a thought and an answer see of x, y and z."""

    def run(net, x, y, z, n):
        start, new = z, z
        for _ in range(n + more):
            new = net(thought[0] * x + thought[1] * y + thought[2] * (start if same else new))
        seen = start if old else new
        return net(answer[0] * x + answer[1] * y + answer[2] * seen), new

    return run


def adds(what):
    """A cycle whose updates are added to what came in."""

    def run(net, x, y, z, n):
        for _ in range(n):
            z = (z if what == "z" else 0) + net(x + y + z)
        return (y if what == "y" else 0) + net(y + z), z

    return run


def hasty(net, x, y, z, n):
    """A cycle that answers first."""
    y = net(y + z)
    for _ in range(n):
        z = net(x + y + z)
    return y, z


def stop(level=None, first=True, none=None, offset=1, logit=False):
    """Steps taken, or with a part of it wrong."""

    def run(q, asked):
        sure = (q if logit else q.sigmoid()) > (asked if level is None else level)
        taken = sure.int().argmax(0) if first else len(q) - 1 - sure.flip(0).int().argmax(0)
        return torch.where(sure.any(0), taken, len(q) - 1 if none is None else none) + offset

    return run


@pytest.mark.parametrize(
    ("check", "answer", "symptom"),
    [
        (checks.left_of_start, lambda d, n: None, "no answer yet"),
        (checks.left_of_start, lambda d, n: "all", "give a number, not str"),
        (checks.left_of_start, fail, "your code stopped with RuntimeError: boom"),
        (checks.left_of_start, lambda d, n: d * n, "it is a power"),
        (checks.left_of_start, lambda d, n: 1 - d**n, "What is left of the start?"),
        (checks.left_of_start, lambda d, n: (1 - d) ** n, "the average keeps decay"),
        (checks.left_of_start, lambda d, n: (1 - d) * d**n, "not weighed by 1 − decay"),
        (checks.left_of_start, lambda d, n: d ** (n - 1), "one step too few"),
        (checks.left_of_start, lambda d, n: 0.9**n, "for 0.99 and 30 steps it should be"),
        (checks.cycle, lambda *_: None, "no answer yet"),
        (checks.cycle, lambda *_: (..., ...), "no answer yet"),
        (checks.cycle, lambda net, x, y, z, n: y, "return two tensors"),
        (checks.cycle, lambda net, x, y, z, n: (y, 1.0), "the new z should be a tensor"),
        (checks.cycle, changes_its_input, "has been changed"),
        (checks.cycle, lambda *args: cycle()(*args)[::-1], "changed places"),
        (checks.cycle, cycle(more=1), "used 4 times, not 5"),
        (checks.cycle, cycle(more=-1), "used 4 times, not 3"),
        (checks.cycle, cycle(same=True), "each should start from the one before"),
        (checks.cycle, cycle(thought=(1, 0, 1)), "sees the answer so far"),
        (checks.cycle, cycle(thought=(0, 1, 1)), "sees the puzzle"),
        (checks.cycle, cycle(thought=(2, 1, 1)), "again and again"),
        (checks.cycle, hasty, "think n times first, then answer"),
        (checks.cycle, cycle(answer=(1, 1, 1)), "does not see the puzzle"),
        (checks.cycle, cycle(old=True), "comes from the new z"),
        (checks.cycle, cycle(answer=(0, 0, 1)), "sees itself"),
        (checks.cycle, cycle(answer=(0, 2, 1)), "with the new z"),
        (checks.cycle, adds("y"), "not added once more"),
        (checks.cycle, adds("z"), "not added once more"),
        (checks.cycle, lambda net, x, y, z, n: cycle()(net, x, y, z, 3), "used 2 times, not 4"),
        (checks.same_class, lambda a, b: None, "no answer yet"),
        (checks.same_class, lambda a, b: 1, "return True or False"),
        (checks.same_class, lambda a, b: False, "of its own class"),
        (checks.same_class, lambda a, b: a == b, "the same grid in disguise"),
        (
            checks.same_class,
            lambda a, b: all(b[a.index(y)] == x for x, y in zip(a, b, strict=True)),
            "still the same grid",
        ),
        (checks.same_class, lambda a, b: True, "two rows exchanged"),
        (
            checks.same_class,
            lambda a, b: sorted(a) == sorted(b) and a[:4] != b[4:8],
            "in other places",
        ),
        (
            checks.same_class,
            lambda a, b: len(set(zip(a, b, strict=True))) == len(set(a)),
            "may not get one name",
        ),
        (
            checks.same_class,
            lambda a, b: len(set(zip(a, b, strict=True))) == len(set(b)),
            "may not get two names",
        ),
        (checks.steps_taken, lambda q, level: None, "no answer yet"),
        (checks.steps_taken, lambda q, level: [1, 2, 3, 1], "one number a puzzle, not list"),
        (checks.steps_taken, lambda q, level: q, "not (3, 4)"),
        (checks.steps_taken, lambda q, level: stop()(q.fill_(0), level), "has been changed"),
        (checks.steps_taken, stop(offset=0), "counted from 1"),
        (checks.steps_taken, stop(none=0), "all three steps are taken"),
        (checks.steps_taken, stop(level=0.0, logit=True), "does the level count?"),
        (checks.steps_taken, stop(logit=True), "compare σ(q)"),
        (checks.steps_taken, stop(first=False), "Stop at the first"),
        (checks.steps_taken, lambda q, level: q.argmax(0) + 1, "level 0.5"),
        (checks.steps_taken, stop(level=0.5), "does the level count?"),
        (checks.steps_taken, lambda q, level: (q.sigmoid() > level).sum(0), "level 0.5"),
    ],
)
def test_a_wrong_answer_is_told_by_its_symptom(check, answer, symptom) -> None:
    outcome = check(answer)
    assert not outcome.passed
    assert symptom in outcome.message


def by_hand(q, level):
    return torch.tensor(
        [next((i + 1 for i, x in enumerate(p) if x > level), len(p)) for p in q.sigmoid().T]
    )


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (checks.left_of_start, lambda d, n: torch.tensor(d).pow(n)),
        (checks.cycle, cycle()),
        (checks.cycle, lambda *args: list(cycle()(*args))),
        (
            checks.same_class,
            lambda a, b: [a.index(x) for x in a] == [b.index(x) for x in b],
        ),
        (checks.steps_taken, stop()),
        (checks.steps_taken, by_hand),
    ],
)
def test_a_right_answer_passes_however_it_is_written(check, answer) -> None:
    outcome = check(answer)
    assert outcome.passed, outcome.message


class Oracle(TRM):
    """A network that answers with the solution after so many looks at a puzzle, then sure."""

    def __init__(self, looks: int) -> None:
        super().__init__(recipe.LIVE.config, Generator().manual_seed(0))
        self.looks = looks

    def forward(self, puzzles: Tensor, state: State | None = None) -> Output:
        """The count of looks is kept in the state."""
        y, z = self.start(len(puzzles)) if state is None else state
        done = (z[:, 0, 0] if state is not None else torch.zeros(len(puzzles))) + 1
        right = recipe.TASK.solve(puzzles, limit=1)[1]
        digits = torch.where((done >= self.looks)[:, None], right, 1)
        logits = torch.nn.functional.one_hot(digits, 7).float()
        return Output(
            State(y, done[:, None, None].expand(z.shape)), logits, 9 * (done - self.looks)
        )


def spend(look: Any, puzzles: Tensor, looks: int = 4) -> Tensor:
    state, logits = None, torch.zeros(0)
    for _ in range(looks):
        state, logits, _ = look(puzzles, state)
    return logits.argmax(-1)


@cache
def oracle(looks: int) -> Oracle:
    return Oracle(looks)


@cache
def drawn() -> tuple[Tensor, Tensor]:
    return recipe.TASK.sample(10, Generator().manual_seed(0), "minimal", held_out=True)


@pytest.fixture
def ten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten puzzles, and always the same: to draw them takes the most time."""
    puzzles = drawn()
    monkeypatch.setattr(checks, "PUZZLES", 10)
    monkeypatch.setattr(type(checks.TASK), "sample", lambda *_, **__: puzzles)


@pytest.mark.usefixtures("ten")
def test_the_budget_counts_looks_and_boards() -> None:
    four = checks.budget((spend, oracle(4)))
    assert repr(four) == "Right: 10 of 10 solved with 4.00 looks a puzzle."
    assert "0 of 10 solved with 4.00" in repr(checks.budget((spend, oracle(5))))
    over = checks.budget((lambda look, x: spend(look, x, 5), oracle(4)))
    assert not over.passed and "more than 40 looks, 4 a puzzle" in repr(over)
    few = checks.budget((lambda look, x: spend(look, x, 1), oracle(1)))
    assert "10 of 10 solved with 1.00" in repr(few)


@pytest.mark.usefixtures("ten")
def test_the_budget_refuses_what_is_no_answer() -> None:
    model = oracle(1)
    assert "no answer yet" in repr(checks.budget((lambda look, x: ..., model)))
    assert "shape (10, 36)" in repr(checks.budget((lambda look, x: x[:3], model)))
    assert "takes boards [n, 36]" in repr(checks.budget((lambda look, x: look(x[:, :4])[1], model)))
    alone = checks.budget((lambda look, x: torch.cat([spend(look, x[:5], 8), x[5:]]), oracle(8)))
    assert "5 of 10 solved with 4.00" in repr(alone)  # all looks spent on half of them
    unspent = checks.budget((lambda look, puzzles: puzzles.clamp(min=1), model))
    assert "only 0 looks for 10 puzzles" in repr(unspent)


@pytest.mark.usefixtures("ten")
def test_an_answer_that_draws_is_told_the_score_of_each_try() -> None:
    """The puzzles stay, what it draws does not: here, whether to spend all its looks."""

    def now_and_then(look: Any, puzzles: Tensor) -> Tensor:
        torch.rand(())  # draws, and tells the tries apart by the seed that they start at
        return spend(look, puzzles, 4 - torch.initial_seed())

    outcome = checks.budget((now_and_then, oracle(1)))
    assert [f"with {n}.00 looks" in outcome.message for n in (4, 3, 2)] == [True] * 3
    assert outcome.passed and "draws at random" in outcome.message


def test_a_table_of_the_known_cases_earns_nothing() -> None:
    def steps(q: Tensor, level: float) -> Tensor:
        return torch.tensor([1, 2, 3, 1] if level == 0.5 else [2, 3, 3, 1])

    def alike(a: list[int], b: list[int]) -> bool:
        names = ([1, 2, 3, 4], [2, 1, 4, 3], [2, 3, 4, 1])
        return a == checks.GRID and b in [[n[d - 1] for d in checks.GRID] for n in names]

    for check, table in ((checks.steps_taken, steps), (checks.same_class, alike)):
        outcome = check(table)
        assert outcome.share == 0 and outcome.message.startswith("right ")
