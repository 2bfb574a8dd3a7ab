import itertools
import math
import random
from functools import cache

import pytest
import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from attn_notes.tasks import sudoku
from attn_notes.tasks.sudoku import KINDS, Sudoku, solved

LARGE = pytest.param((3, 3), marks=pytest.mark.slow)
SHAPES = [(2, 2), (2, 3), (3, 2), LARGE, (1, 5)]
SMALL = [(2, 2), (2, 3), (1, 5)]


@cache
def drawn(rows, columns, kind):
    task = Sudoku(rows, columns)
    n = (24 if kind == "minimal" else 40) if task.side <= 6 else 3
    return task, *task.sample(n, seeded(task.side), kind)


def seeded(seed):
    return Generator().manual_seed(seed)


def free_of(task, board, near):
    every = set(range(1, task.side + 1))
    return {c: every - {board[p] for p in near[c]} for c in range(task.cells) if not board[c]}


def evenly(counts):
    """Whether counts may be of what is equally likely: chi-squared within five sigmas."""
    chi2, freedom = ((counts - counts.mean()) ** 2 / counts.mean()).sum(), len(counts) - 1
    return chi2 < freedom + 5 * math.sqrt(2 * freedom)


def peers(task):
    """The cells that may not hold the same digit as each cell, from coordinates."""

    def together(a, b):
        (i, j), (k, m) = divmod(a, task.side), divmod(b, task.side)
        same_box = (i // task.rows, j // task.columns) == (k // task.rows, m // task.columns)
        return a != b and (i == k or j == m or same_box)

    return [{b for b in range(task.cells) if together(a, b)} for a in range(task.cells)]


def backtrack(task, puzzle, limit):
    board, near, found = list(puzzle), peers(task), []

    def go() -> None:
        free = free_of(task, board, near)
        if not free:
            found.append(list(board))
        if len(found) >= limit or not free:
            return
        cell = min(free, key=lambda c: len(free[c]))
        for digit in free[cell]:
            board[cell] = digit
            go()
        board[cell] = 0

    if not any(d and any(board[p] == d for p in near[cell]) for cell, d in enumerate(board)):
        go()
    return found


def assert_complete(task, grids) -> None:
    square = grids.reshape(-1, task.side, task.side)
    box = square.reshape(-1, task.columns, task.rows, task.rows, task.columns)
    digits = torch.arange(1, task.side + 1)
    for units in (square, square.mT, box.transpose(2, 3).reshape(square.shape)):
        assert torch.equal(units.sort(-1).values, digits.expand(units.shape))


def test_all_288_grids_of_4_by_4_are_drawn_and_those_of_a_class_equally_often():
    task = Sudoku(2, 2)
    grids, counts = task.grids(12_000, seeded(2)).unique(dim=0, return_counts=True)
    # A grid in a class of 24 that is drawn even half as often as others is missed once in 10^9.
    assert len(grids) == 288
    keys = task.class_key(grids)
    assert all(evenly(counts[keys == key].double()) for key in keys.unique())


@pytest.mark.parametrize(
    ("shape", "first", "grids"),
    [  # Latin squares of order 3 and 4; Shidoku
        ((1, 3), [], 12),
        ((1, 4), [], 576),
        ((2, 2), [], 288),
        # each has 720 ways to name its digits, of which one puts the first row in order
        pytest.param((2, 3), range(1, 7), 28_200_960 // math.factorial(6), marks=pytest.mark.slow),
    ],
)
def test_the_solver_counts_all_grids(shape, first, grids):
    task = Sudoku(*shape)
    board = torch.zeros(1, task.cells, dtype=torch.long)
    board[0, : len(first)] = torch.tensor([*first])
    assert task.solve(board, limit=10**6)[0].tolist() == [grids]


@pytest.mark.parametrize("shape", [*SMALL, LARGE])
def test_the_solver_agrees_with_backtracking(shape):
    task = Sudoku(*shape)
    chance, boards = random.Random(3), task.grids(5 if task.side == 9 else 15, seeded(3))
    for board in boards:
        share = chance.uniform(0.4, 0.6)
        board *= torch.tensor([chance.random() < share for _ in board])
        if chance.random() < 0.4:
            board[chance.randrange(task.cells)] = chance.randint(1, task.side)
    for limit in (1, 2, 7):
        counts, solutions = task.solve(boards, limit)
        assert counts.tolist() == [len(backtrack(task, b, limit)) for b in boards.tolist()]
        right = counts > 0
        assert not solutions[~right].any()
        assert_complete(task, solutions[right])
        assert ((boards == 0) | (boards == solutions))[right].all()


@pytest.mark.in_short(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_puzzle_has_its_one_solution(shape, kind):
    """Rounds solve a mixed one, of many clues or few; of a minimal one every clue is needed."""
    task, puzzles, solutions = drawn(*shape, kind)
    assert_complete(task, solutions)
    assert ((puzzles == 0) | (puzzles == solutions)).all()
    counts, found = task.solve(puzzles)
    assert (counts == 1).all() and torch.equal(found, solutions)
    if kind == "mixed":
        assert (task.rounds(puzzles) > 0).all()
        # Cells are tried from half of them on, and of the first half most may go.
        blanks = (puzzles == 0).sum(1)
        assert task.side == 9 or blanks.max() > task.cells // 2 >= blanks.min()
    elif task.side < 9:
        board, cell = puzzles.nonzero().T
        without = puzzles[board].scatter(1, cell[:, None], 0)
        assert (task.solve(without)[0] == 2).all()


@pytest.mark.parametrize("shape", SMALL)
def test_as_many_cells_are_tried_as_asked(shape):
    """Of a whole grid the first digit can always go: its row, without it, says which it was."""
    task = Sudoku(*shape)
    grids = task.grids(8, seeded(6))
    assert task.rounds(grids).tolist() == [0] * 8
    for tries in (torch.full((8,), 0), torch.full((8,), 1), torch.arange(8)):
        blanks = (task.dig(grids, tries, seeded(7)) == 0).sum(1)
        assert (blanks <= tries).all() and (blanks == tries)[tries < 2].all()


def rounds_by_hand(task, puzzle):
    board, near = list(puzzle), peers(task)
    units = [[int(c) for c in (row == u).nonzero()] for row in task.units for u in row.unique()]
    rounds = 0
    while not all(board):
        rounds += 1
        free = free_of(task, board, near)
        sure = {cell: min(digits) for cell, digits in free.items() if len(digits) == 1}
        for unit, digit in itertools.product(units, range(1, task.side + 1)):
            places = [cell for cell in unit if digit in free.get(cell, ())]
            if len(places) == 1:
                sure[places[0]] = digit
        if not sure:
            return -1
        for cell, digit in sure.items():
            board[cell] = digit
    return rounds


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), LARGE])
def test_rounds_are_those_done_by_hand(shape, kind):
    task, puzzles, _ = drawn(*shape, kind)
    assert task.rounds(puzzles).tolist() == [rounds_by_hand(task, p) for p in puzzles.tolist()]


def test_a_known_puzzle_of_9_by_9():
    """The example of the article "Sudoku" of Wikipedia."""
    given = """
        53. | .7. | ...      6.. | 195 | ...      .98 | ... | .6.
        8.. | .6. | ..3      4.. | 8.3 | ..1      7.. | .2. | ..6
        .6. | ... | 28.      ... | 419 | ..5      ... | .8. | .79"""
    board, solution = Sudoku(3, 3).read(given)
    assert (board > 0).sum() == 30
    assert " ".join(Sudoku(3, 3).write(solution).split()) == (
        "534678912 672195348 198342567 859761423 426853791 713924856 961537284 287419635 345286179"
    )


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3), (2, 5)])
def test_what_is_written_is_read_again(shape):
    """Digits beyond nine are letters."""
    task, puzzles, solutions = drawn(*shape, "mixed")
    for puzzle, solution in zip(puzzles[:5], solutions[:5], strict=True):
        text = task.write(puzzle)
        board, found = task.read(text.lower())
        assert torch.equal(board, puzzle) and torch.equal(found, solution)
    assert ("A" in text) == (task.side == 10)


@pytest.mark.parametrize("symmetries", sudoku.SYMMETRIES)
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2), LARGE])
def test_augmentation_stays_in_the_class(shape, symmetries):
    task = Sudoku(*shape, symmetries=symmetries)
    n = 2 if task.side == 9 else 20
    _, puzzles, solutions = (x[:n] if isinstance(x, Tensor) else x for x in drawn(*shape, "mixed"))
    turned, turned_solutions = task.augment((puzzles, solutions), seeded(4))
    assert_complete(task, turned_solutions)
    assert ((turned == 0) | (turned == turned_solutions)).all()
    assert torch.equal((turned == 0).sum(1), (puzzles == 0).sum(1))
    assert not torch.equal(turned_solutions, solutions)
    assert torch.equal(task.class_key(turned_solutions), task.class_key(solutions))
    assert torch.equal(task.held_out(turned_solutions), task.held_out(solutions))
    if symmetries == "labels":
        assert torch.equal(turned == 0, puzzles == 0)


def test_a_bank_is_drawn_from_in_other_guises():
    task = Sudoku(2, 2)
    bank = task.sample(11, seeded(2))
    puzzles, solutions = task.drawer(bank)(200, seeded(0))

    def kinds(puzzles, solutions):
        """The class of each solution, and which cells are blank."""
        keys = task.class_key(solutions)[:, None]
        return {*map(tuple, torch.cat([keys, (puzzles == 0).long()], 1).tolist())}

    assert kinds(puzzles, solutions) == kinds(*bank)
    assert not all((solution == bank[1]).all(1).any() for solution in solutions)
    assert task.solve(puzzles)[1].equal(solutions)


@pytest.mark.slow
def test_the_number_of_classes():
    """Up to relabelling 12 of 4 × 4; in all 2, and 49 of 6 × 6, as the literature counts them."""
    for symmetries, classes in (("labels", 12), ("all", 2)):
        task = Sudoku(2, 2, symmetries=symmetries)
        grids = torch.tensor(backtrack(task, [0] * 16, 1000))
        assert len(task.class_key(grids).unique()) == classes
    grids = Sudoku(2, 3).grids(10_000, seeded(5))  # enough to meet the rarest
    assert len(Sudoku(2, 3, symmetries="all").class_key(grids).unique()) == 49
    # With names put in order by the first row, grids are of one class up to relabelling or two.
    named = (grids[:, :6].argsort(1) + 1).gather(1, grids - 1)
    assert len(Sudoku(2, 3).class_key(grids).unique()) == len(named.unique(dim=0)) > 1000


def test_augmentation_reaches_the_whole_class():
    """A 4 × 4 grid has as many disguises as the orbits have grids: 96 and 192 of 288.

    By its labels 24, equally likely.
    """
    every, labels = Sudoku(2, 2, symmetries="all"), Sudoku(2, 2)
    many = [(grid.expand(2400, -1),) * 2 for grid in labels.grids(20, seeded(6))]
    assert {len(every.augment(two, seeded(7))[0].unique(dim=0)) for two in many} == {96, 192}
    _, counts = labels.augment(many[-1], seeded(9))[0].unique(dim=0, return_counts=True)
    assert len(counts) == 24 and evenly(counts.double())


@pytest.mark.slow
def test_classes_are_held_out_whole():
    """And draws depend on the generator alone."""
    task = Sudoku(2, 3, held_out_share=0.2)
    for held_out in (True, False):
        puzzles, solutions = task.sample(60, seeded(1), held_out=held_out)
        assert puzzles.shape == solutions.shape == (60, 36)
        assert (task.held_out(solutions) == held_out).all()
    share = task.held_out(task.grids(4000, seeded(2))).double().mean()
    assert abs(share - 0.2) < 5 * math.sqrt(0.2 * 0.8 / 4000)
    first, again, other = (task.sample(5, seeded(seed), "minimal")[0] for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_solved_asks_for_every_cell():
    task, _, solutions = drawn(2, 3, "mixed")
    wrong = solutions[:6].clone()
    wrong[torch.arange(6), torch.tensor([0, 7, 13, 19, 28, 35])] = 0
    for boards, right in ((solutions[:6], True), (wrong, False)):
        logits = F.one_hot(boards, task.vocabulary).float()
        assert solved(logits, solutions[:6]).tolist() == [right] * 6


def test_puzzles_that_cannot_be_drawn_are_refused(generator):
    assert [len(part) for part in Sudoku().sample(0, generator)] == [0, 0]
    # Of 4 × 4 there are two classes up to every symmetry.
    few = Sudoku(2, 2, symmetries="all")
    (there,) = few.held_out(few.grids(50, generator)).unique().tolist()  # of one kind
    with pytest.raises(ValueError, match="none is of a class"):
        few.sample(40, generator, held_out=not there)
