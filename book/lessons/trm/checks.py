"""The checks of the lesson's exercises, and of those of its evidence."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from attn_notes.models.trm import TRM, Output, State
from book.kit.exercises import Score, WrongError, answered, check, need, number, same, yes_or_no
from book.kit.judgement import Case, Judged
from book.lessons.trm.evidence import network
from book.lessons.trm.recipe import TASK

NOTEBOOK_ONLY = {
    "budget": "a trained network takes four hundred looks",
    "stops": "its numbers are drawn by torch, and a page draws others",
}
"""Checks that a page does not run, and why."""


@check
def left_of_start(answer: Callable[[float, int], float], draw: Generator) -> str:
    """The share of the first weights in an average with this decay after so many steps."""
    fresh = (
        0.8 + 0.19 * torch.rand((), generator=draw).item(),
        int(torch.randint(3, 90, (), generator=draw)),
    )
    for decay, steps in ((0.9, 7), (0.99, 30), fresh):
        value = number(answer(decay, steps))
        need(not same(value, decay * steps), "the factor comes again at each step: it is a power.")
        need(
            not same(value, 1 - decay**steps),
            "that is the share of all that came later. What is left of the start?",
        )
        need(
            not same(value, (1 - decay) ** steps),
            "that keeps 1 − decay at each step; the average keeps decay.",
        )
        need(
            not same(value, (1 - decay) * decay**steps),
            "the start is not weighed by 1 − decay: the average is the start, at first.",
        )
        need(
            not same(value, decay ** (steps - 1)),
            "one step too few: after one step the share is decay, after none it is 1.",
        )
        right = decay**steps
        need(
            same(value, right),
            f"for {decay} and {steps} steps it should be {right:.4g}, not {value:.4g}.",
        )
    return "each step keeps the same share of what was there."


NUMBERS = [
    (x, y, z)
    for x, y, z in itertools.product((8, 16, 24, -8, -16), (0, 16, 32, 80, -40), (0, 8, 24))
    if 7 * x + z != y
]
"""Puzzle, answer and mind before a look whose answer the next one changes: the cases of `look`."""
FAR = 31  # steps from a case to the next: prime, so that each comes once


@Judged
def look(draw: Generator) -> Case:
    """Mind and answer after one look of a network that halves, and where the next one leads."""
    x, y, start = NUMBERS[draw.initial_seed() * FAR % len(NUMBERS)]

    def after(y: float, z: float, thoughts: int = 3) -> tuple[float, float]:
        for _ in range(thoughts):
            z = (x + y + z) / 2
        return z, (y + z) / 2

    z, answer = after(y, start)
    return Case(
        {"puzzle": x, "mind before the look": start, "answer before it": y},
        {"mind": z, "answer": answer},
        "it rises" if after(answer, z)[1] > answer else "it falls",
        {
            "it rises": "after the second look the mind lies below the answer, and draws it down.",
            "it falls": "after the second look the mind lies above the answer, and draws it up.",
            "it stays": "the second look begins with another mind and another answer.",
        },
        {
            "mind": (
                (
                    (x + y + start) / 2,
                    "each thought starts from the one before, and there are three.",
                ),
                (after(y, start, 2)[0], "it thinks three times, and that is two."),
                (after(y, start, 4)[0], "it thinks three times, and that is four."),
                (x + start / 8 - x / 8, "a thought reads the answer, too."),
                (y + start / 8 - y / 8, "a thought reads the puzzle, too."),
            ),
            "answer": (
                ((x + y + z) / 2, "an answer leaves the puzzle aside."),
                ((y + start) / 2, "it answers from what is in mind after thinking."),
                (z / 2, "it reads its answer so far, too."),
            ),
        },
    )


GRID = [1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1]


@check
def same_class(answer: Callable[[list[int], list[int]], bool], draw: Generator) -> str:
    """Whether two grids are one up to other names for the digits."""

    def told(a: list[int], b: list[int]) -> bool:
        return yes_or_no(answer(list(a), list(b)))

    def renamed(names: list[int]) -> list[int]:
        return [names[digit - 1] for digit in GRID]

    swapped = GRID[4:8] + GRID[:4] + GRID[8:]
    need(told(GRID, GRID), "a grid is of its own class.")
    need(told(GRID, renamed([2, 1, 4, 3])), "1 ↔ 2 and 3 ↔ 4 exchanged: the same grid in disguise.")
    need(
        told(GRID, renamed([2, 3, 4, 1])),
        "1 became 2, 2 became 3, 3 became 4 and 4 became 1: still the same grid.",
    )
    need(not told(GRID, swapped), "two rows exchanged: that is no other name for a digit.")
    need(
        not told([1, 2, 2, 1], [1, 2, 1, 2]),
        "1221 and 1212 hold each digit equally often, in other places.",
    )
    need(
        not told([1, 2, 1, 2], [1, 1, 1, 1]),
        "1212 became 1111: two digits may not get one name.",
    )
    need(
        not told([1, 1, 1, 1], [1, 2, 1, 2]),
        "1111 became 1212: one digit may not get two names.",
    )
    for i in torch.randperm(12, generator=draw).tolist():  # half of them in disguise
        board, names = torch.randint(1, 5, (16,), generator=draw), torch.randperm(4, generator=draw)
        other = names[board - 1] + 1
        if i % 2:  # one cell gets a digit that stands elsewhere under another name
            other[0] = names[(board[board != board[0]] - 1)[0]] + 1
        need(
            told(board.tolist(), other.tolist()) == (i % 2 == 0),
            f"right so far, but not for {board.tolist()} and {other.tolist()}.",
        )
    return "each digit has one new name, and each name one digit."


@check
def steps_taken(answer: Callable[[Tensor, float], Tensor], draw: Generator) -> str:
    """After how many steps each puzzle is stopped, given logits [s, n] and a level."""
    says = torch.tensor([[0.6, 0.1, 0.4, 0.9], [0.95, 0.7, 0.2, 0.1], [0.9, 0.3, 0.3, 0.99]])
    for level, right in ((0.5, [1, 2, 3, 1]), (0.8, [2, 3, 3, 1])):
        q = says.logit()
        value = answered(answer(q, level))
        if not isinstance(value, Tensor) or value.shape != (4,):
            got = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise WrongError(f"return a tensor of shape (4,), one number a puzzle, not {got}.")
        found = value.tolist()
        need(q.equal(says.logit()), "what was passed in has been changed.")
        need(found != [k - 1 for k in right], "steps are counted from 1 on.")
        need(level == 0.5 or found != [1, 2, 3, 1], "does the level count? At 0.8 it stops later.")
        none = (says > level).sum(0) == 0
        need(
            bool(((value == 3) | ~none).all()),
            f"level {level}: where no estimate exceeds it, all three steps are taken.",
        )
        by_logit = (q > level).int()
        by_logit[-1] = 1
        need(
            found != (by_logit.argmax(0) + 1).tolist(),
            "the level is a chance, and q a logit: compare σ(q).",
        )
        last = [max([i + 1 for i in range(3) if says[i, j] > level] or [3]) for j in range(4)]
        need(found != last, "that is the last step at which it is sure. Stop at the first.")
        best = (says.argmax(0) + 1).masked_fill(none, 3).tolist()
        need(found != best, "that is where it is surest. Stop at the first that exceeds the level.")
        need(found == right, f"level {level}: it should be {right}, not {found}.")
    says, level = torch.rand(9, 50, generator=draw), 0.9
    steps = torch.arange(9)[:, None].where(says > level, 8).amin(0) + 1
    value = answered(answer(says.logit(), level))
    need(
        isinstance(value, Tensor) and value.tolist() == steps.tolist(),
        "right for three steps and four puzzles, but not for nine steps and fifty.",
    )
    return "the first step that exceeds the level, or the last of all."


BUDGET = 4  # looks a puzzle, on average
PUZZLES = 100


@check(seconds=120.0)
def budget(answer: Callable[..., Any] | tuple[Callable[..., Any], TRM], draw: Generator) -> Score:
    """How many of a hundred fresh minimal puzzles are solved with so many looks each on average.

    Given is a way to spend them: it gets a function that takes one look for each puzzle it is
    given, and the puzzles. The network that looks is the recorded one, so that scores compare, or
    another that is given beside it. What a board was made from is not looked into, since answers
    may be put together; but each puzzle has to be looked at.
    """
    if isinstance(answer, tuple):
        spend, model = answer
    else:
        spend, model = answer, network()
    puzzles, solutions = TASK.sample(PUZZLES, draw, "minimal", held_out=True)
    spent = 0

    def look(boards: Tensor, state: Any = None) -> Output:
        nonlocal spent
        need(
            isinstance(answered(boards), Tensor) and boards.shape[1:] == (TASK.cells,),
            f"a look takes boards [n, {TASK.cells}].",
        )
        spent += len(boards)
        need(
            spent <= BUDGET * PUZZLES,
            f"that is more than {BUDGET * PUZZLES:,} looks, {BUDGET} a puzzle.",
        )
        with torch.no_grad():
            found: Output = model(boards, None if state is None else State(*state))
        return found

    boards = answered(spend(look, puzzles.clone()))
    if not isinstance(boards, Tensor) or boards.shape != puzzles.shape:
        raise WrongError(f"return a tensor of boards of shape {tuple(puzzles.shape)}.")
    need(
        spent >= PUZZLES,
        f"only {spent} looks for {PUZZLES} puzzles. The network is to solve them, not your code.",
    )
    solved = int((boards == solutions).all(1).sum())
    with torch.no_grad():
        found = model(puzzles)
        for _ in range(BUDGET - 1):
            found = model(puzzles, found.state)
    alike = int((found.logits.argmax(-1) == solutions).all(1).sum())
    need(
        solved >= alike,
        f"{solved} of {PUZZLES} solved, and {BUDGET} looks for each would solve {alike}.",
    )
    said = f"{solved} of {PUZZLES} solved with {spent / PUZZLES:.2f} looks a puzzle."
    return Score(said, float(solved), half=0.98 * PUZZLES, best=float(PUZZLES))


@Judged
def stops(draw: Generator) -> Case:
    """One cell, one weight, two looks: the answer, and its slope where the gradient stops."""
    sizes, puzzles, most = (0.2, 0.25, 0.4, 0.5, -0.5), (-6, -4, -3, -2, 2, 3, 4, 6), 3
    i, j, k = (int(torch.randint(n, (), generator=draw)) for n in (len(sizes), len(puzzles), most))
    size, x, thoughts = sizes[i], puzzles[j], 1 + k
    weight = torch.tensor(size, dtype=torch.float64, requires_grad=True)

    def slopes(stop: bool) -> tuple[float, float]:
        y, z = torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
        for look in range(2):
            if look and stop:
                y, z = y.detach(), z.detach()
            for _ in range(thoughts):
                z = weight * (x + y + z)
            y = weight * (y + z)
        (slope,) = torch.autograd.grad(y, weight)
        return y.item(), slope.item()

    (answer, stopped), (_, whole) = slopes(True), slopes(False)
    return Case(
        {"w": size, "x": x, "thoughts": thoughts, "looks": 2},
        {"answer": answer, "slope": stopped},
        "larger" if whole > stopped else "smaller",
        {
            "larger": "what is added has the other sign here. Which way do y and z of the first "
            "look move with w?",
            "smaller": "what is added has the other sign here. Which way do y and z of the first "
            "look move with w?",
            "the same": "y and z of the first look depend on w, too.",
        },
        {
            "answer": (
                (size * sum(size**i for i in range(1, thoughts + 1)) * x, "take a second look."),
            ),
            "slope": ((whole, "that goes back through both looks; it stops after the first."),),
        },
    )
