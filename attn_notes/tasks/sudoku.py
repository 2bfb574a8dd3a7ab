"""Sudoku with boxes of any shape: the task of the tiny recursive network.

A grid has N × N cells and boxes of r rows and c columns, N = r c. Every row, column and box, a
unit, holds each of the digits 1 to N once. A puzzle is a grid with blanks (0) that can be filled in
one way only. Boards are rows of N² numbers, from left to right and from top to bottom.

The yardstick is exact: a puzzle's solution is known, and a solver that counts solutions says so.
How far a puzzle is from its solution is counted in rounds. A round looks at the board as it stands
and fills, all at once, every cell to which one digit is left (a naked single) and every digit to
which one cell of a unit is left (a hidden single).

Puzzles are dug out of complete grids, cell after cell in random order. A digit may go if the rounds
bring it back without it; then what they found before, they still find. Rounds fall short of what is
certain, though, so a minimal puzzle is dug out further, by counting solutions, until every digit
left is needed. Of a mixed puzzle fewer cells are tried, from half of them to all.

Two grids are of one class if a symmetry turns one into the other: other names for the digits, and,
where the task's symmetries are "all", other orders of the bands of boxes and of the rows in a band,
of stacks and columns likewise, and rows for columns where boxes are square. A model that has
learned one grid of a class has seen the others in disguise, so classes are held out whole.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product
from math import factorial
from typing import NamedTuple

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor
from torch.nn import functional as F

from attn_notes import allowed

Batch = tuple[Int[Tensor, "*b c"], Int[Tensor, "*b c"]]
"""Puzzles and their solutions."""

KINDS = ("mixed", "minimal")
SYMMETRIES = ("labels", "all")
DIGITS = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
BLANKS = "0._"
FRAME = "|+-"  # may be drawn around boxes, and is not read
LARGEST = 16  # cells of a box: grids of 20 and more can take for ever to draw
MOST_TRIES = 20_000  # boards that are looked at to solve one
MOST_WAYS = 10_000  # orders of the columns that a key goes through; 9 × 9 has 1,296
MANY = 2000  # grids without one of the wanted classes are enough
CHUNK = 1024  # boards that are worked on at once, and fit a cache


class Look(NamedTuple):
    """What can be seen on boards as they stand, digit by digit."""

    possible: Bool[Tensor, "n d c"]  # where a digit could go
    singles: Bool[Tensor, "n d c"]  # where it must
    contradiction: Bool[Tensor, " n"]


class Deduced(NamedTuple):
    """Boards after as many rounds as still filled something."""

    placed: Float[Tensor, "n d c"]
    contradiction: Bool[Tensor, " n"]
    rounds: Int[Tensor, " n"]


@dataclass(frozen=True)
class Sudoku:
    """The task: the shape of a box, how to draw, how to solve, and what is held out.

    >>> task = Sudoku(rows=1, columns=2)  # rows and columns hold 1 and 2, boxes are rows
    >>> task.solve(torch.tensor([[0, 0, 0, 0], [0, 2, 0, 0], [1, 0, 0, 2]]))[0].tolist()
    [2, 1, 0]

    Raises:
        ValueError: a box of one cell or of more than `LARGEST`, unknown symmetries or too many of
            them, or a share that leaves nothing to train on.
    """

    rows: int = 2  # r, of a box
    columns: int = 3  # c
    symmetries: str = "labels"
    held_out_share: float = 0.1  # of the classes

    def __post_init__(self) -> None:
        if min(self.rows, self.columns) < 1 or not 2 <= self.side <= LARGEST:
            raise ValueError(f"a box has 2 to {LARGEST} cells, not {self.rows} × {self.columns}")
        allowed.whole(rows=self.rows, columns=self.columns)
        if self.symmetries not in SYMMETRIES:
            raise ValueError(
                f"symmetries must be one of {', '.join(SYMMETRIES)}, not {self.symmetries!r}"
            )
        ways = factorial(self.rows) * factorial(self.columns) ** self.rows
        if self.symmetries == "all" and ways > MOST_WAYS:
            raise ValueError(
                f"boxes of {self.rows} × {self.columns} have {ways:,} orders of columns, too many "
                'to compare; take symmetries="labels"'
            )
        if not 0 <= self.held_out_share < 1:
            raise ValueError(f"a share from 0 to below 1 is held out, not {self.held_out_share}")

    @property
    def side(self) -> int:
        """N: how many digits there are, and cells in a unit."""
        return self.rows * self.columns

    @property
    def cells(self) -> int:
        """N²."""
        return self.side**2

    @property
    def vocabulary(self) -> int:
        """The blank and the digits."""
        return self.side + 1

    # Looking, deducing, solving.

    @cached_property
    def units(self) -> Int[Tensor, "3 {self.cells}"]:
        """The row, the column and the box of each cell, units being counted through."""
        row, column = torch.arange(self.cells) // self.side, torch.arange(self.cells) % self.side
        box = row // self.rows * self.rows + column // self.columns
        return torch.stack([row, self.side + column, 2 * self.side + box])

    @cached_property
    def _members(self) -> Float[Tensor, "{self.cells} 3*{self.side}"]:
        """1 where a cell is in a unit: a product with this counts over every unit at once."""
        return F.one_hot(self.units, 3 * self.side).sum(0).float()

    def place(self, boards: Int[Tensor, "n {self.cells}"]) -> Float[Tensor, "n d c"]:
        """Boards, digit by digit: 1 where it stands.

        Raises:
            ValueError: a number that is neither a blank (0) nor a digit.
        """
        allowed.tokens(self.vocabulary, boards=boards)
        return F.one_hot(boards, self.vocabulary)[..., 1:].mT.float()

    def look(self, placed: Float[Tensor, "n d c"]) -> Look:
        """Where each digit could go, and where it must."""
        members = self._members
        filled, stands, possible = self._allowed(placed)
        open_ = possible.float()
        choices, places = open_.sum(1, keepdim=True), open_ @ members
        hidden = (places == 1).float() @ members.T > 0
        singles = possible & ((choices == 1) | hidden)
        contradiction = (
            (stands.amax((1, 2)) > 1)  # a digit twice in a unit
            | ((stands + places).amin((1, 2)) == 0)  # a digit without a place in a unit
            | ((filled + choices).amin((1, 2)) == 0)  # a cell without a digit
            | (singles.sum(1) > 1).any(1)  # a cell that must have two
        )
        return Look(possible, singles, contradiction)

    def _allowed(
        self, placed: Float[Tensor, "n d c"]
    ) -> tuple[Float[Tensor, "n 1 c"], Float[Tensor, "n d u"], Bool[Tensor, "n d c"]]:
        """Which cells are filled, how often each digit stands in a unit, and where it could go."""
        filled, stands = placed.sum(1, keepdim=True), placed @ self._members
        return filled, stands, stands @ self._members.T + filled == 0

    def deduce(
        self, placed: Float[Tensor, "n d c"], until: Int[Tensor, " n"] | None = None
    ) -> Deduced:
        """Go through rounds until none fills anything, a contradiction shows, or `until` is filled.

        `until` names a cell of each board.
        """
        placed, n = placed.clone(), len(placed)
        contradiction, rounds = torch.zeros(n, dtype=torch.bool), torch.zeros(n, dtype=torch.long)
        for going in torch.arange(n).split(CHUNK):
            while len(going):
                _, singles, found = self.look(placed[going])
                contradiction[going] = found
                moving = ~found & singles.flatten(1).any(1)
                going = going[moving]
                placed[going] += singles[moving]
                rounds[going] += 1
                if until is not None:
                    going = going[placed[going, :, until[going]].sum(1) == 0]
        return Deduced(placed, contradiction, rounds)

    def rounds(self, puzzles: Int[Tensor, "n {self.cells}"]) -> Int[Tensor, " n"]:
        """How many rounds solve each puzzle; −1 where they do not."""
        placed, contradiction, rounds = self.deduce(self.place(puzzles))
        return rounds.where(self._complete(placed) & ~contradiction, -1)

    def _complete(self, placed: Float[Tensor, "n d c"]) -> Bool[Tensor, " n"]:
        return placed.sum((1, 2)) == self.cells

    def _fewest(self, placed: Float[Tensor, "n d c"]) -> Float[Tensor, "n d c"]:
        """1 for what could go into the open cells that have the fewest choices."""
        *_, possible = self._allowed(placed)
        choices = possible.sum(1, keepdim=True)
        fewest = choices.where(choices > 0, self.vocabulary).amin(2, keepdim=True)
        return (possible & (choices == fewest)).float()

    def solve(
        self, puzzles: Int[Tensor, "n {self.cells}"], limit: int = 2
    ) -> tuple[Int[Tensor, " n"], Int[Tensor, "n {self.cells}"]]:
        """How many solutions each board has, counted up to a limit, and one of them.

        Exact: what rounds leave open is tried, digit by digit, in a cell with the fewest choices.
        A board without a solution gets blanks.

        Raises:
            ValueError: a number that is no digit, a limit below 1, or boards that are not decided
                after `MOST_TRIES` tries each and as many for each solution that is asked for.
        """
        allowed.whole(limit=limit)
        left = MOST_TRIES * len(puzzles) * limit
        counts, solutions = puzzles.new_zeros(len(puzzles)), torch.zeros_like(puzzles)
        owners, boards = torch.arange(len(puzzles)), puzzles  # a stack
        while len(owners):
            needed = counts[owners] < limit
            owners, boards = owners[needed], boards[needed]
            rest, owner = owners[:-CHUNK], owners[-CHUNK:]
            left -= len(owner)
            if left < 0:
                raise ValueError(
                    f"after {MOST_TRIES:,} tries a board it is not known how many solutions there "
                    "are: give more digits"
                )
            placed, contradiction, _ = self.deduce(self.place(boards[-CHUNK:]))
            complete = self._complete(placed) & ~contradiction
            counts.index_add_(0, owner[complete], torch.ones_like(owner[complete]))
            solutions[owner[complete]] = self._boards(placed[complete])
            stuck = ~complete & ~contradiction
            owner, placed = owner[stuck], placed[stuck]
            options = self._fewest(placed)
            cell = options.amax(1).argmax(1)  # the first of them
            board, digit = options[torch.arange(len(cell)), :, cell].nonzero().T
            tried = self._boards(placed)[board].scatter(1, cell[board, None], digit[:, None] + 1)
            # First choices go on top: where they lead to enough solutions, the others can wait.
            on_top = (board.diff(prepend=board[:1] - 1) > 0).long().argsort(stable=True)
            owners = torch.cat([rest, owner[board[on_top]]])
            boards = torch.cat([boards[:-CHUNK], tried[on_top]])
        return counts.clamp(max=limit), solutions

    def _boards(self, placed: Float[Tensor, "n d c"]) -> Int[Tensor, "n {self.cells}"]:
        digits = torch.arange(1, self.vocabulary, dtype=placed.dtype)
        return (digits @ placed).long()

    # Drawing.

    def sample(
        self, n: int, generator: Generator, kind: str = "mixed", *, held_out: bool | None = None
    ) -> Batch:
        """Draw puzzles with their solutions.

        Args:
            n: how many.
            generator: of all that is random, on the CPU.
            kind: "mixed" or "minimal".
            held_out: only of the classes that are held out, or only of the others; of all, if None.

        Raises:
            ValueError: fewer than no puzzles or too many; an unknown kind; grids of held-out
                classes where none are held out, or of the others where small boards leave none.
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
        solutions = self.grids(n, generator, held_out=held_out)
        tries = torch.full((n,), self.cells)
        if kind == "mixed":
            tries = torch.randint(self.cells // 2, self.cells + 1, (n,), generator=generator)
        puzzles = self.dig(solutions, tries, generator)
        return (self.minimise(puzzles, generator) if kind == "minimal" else puzzles), solutions

    def grids(
        self, n: int, generator: Generator, *, held_out: bool | None = None
    ) -> Int[Tensor, "{n} {self.cells}"]:
        """Draw complete grids, as `sample` draws the solutions.

        Every grid can be drawn, and those of a class are equally likely; from class to class it may
        differ.

        Raises:
            ValueError: fewer than no grids, or more than `allowed.MOST`; grids of held-out classes
                where none are held out, or of the others where small boards leave none.
        """
        allowed.whole(0, n=n)
        if held_out and not self.held_out_share:
            raise ValueError("this task holds out no class to draw from")
        found, seen = torch.zeros(0, self.cells, dtype=torch.long), 0
        while len(found) < n:
            drawn = self._grids(n, generator)
            seen += n
            if held_out is not None:
                drawn = drawn[self.held_out(drawn) == held_out]
            found = torch.cat([found, drawn])[:n]
            if seen >= MANY and not len(found):
                raise ValueError(f"of {seen:,} grids none is of a class to draw from")
        return found

    def _grids(self, n: int, generator: Generator) -> Int[Tensor, "{n} {self.cells}"]:
        """Grids of all classes.

        One of the cells with the fewest choices gets one of them, at random, and rounds fill what
        follows; where they come to a contradiction the board begins again.
        """
        placed = torch.zeros(n, self.side, self.cells)
        unfinished = torch.arange(n)
        while len(unfinished):
            here = placed[unfinished]
            chances = self._fewest(here) * (1 + torch.rand(here.shape, generator=generator))
            here.flatten(1).scatter_(1, chances.flatten(1).argmax(1, keepdim=True), 1)
            here, contradiction, _ = self.deduce(here)
            here[contradiction] = 0
            placed[unfinished] = here
            unfinished = unfinished[~self._complete(here)]
        return self._boards(placed)

    def dig(
        self, grids: Int[Tensor, "n {self.cells}"], tries: Int[Tensor, " n"], generator: Generator
    ) -> Int[Tensor, "n {self.cells}"]:
        """Blank digits that rounds bring back, trying so many cells of each grid."""
        return self._dig(grids, tries, generator, self._rounds_bring_back)

    def minimise(
        self, puzzles: Int[Tensor, "n {self.cells}"], generator: Generator
    ) -> Int[Tensor, "n {self.cells}"]:
        """Blank digits for which there is no other solution, until each that is left is needed."""
        tries = torch.full((len(puzzles),), self.cells)
        return self._dig(puzzles, tries, generator, self._one_solution_is_left)

    def _rounds_bring_back(
        self, boards: Int[Tensor, "n {self.cells}"], cells: Int[Tensor, " n 1"]
    ) -> Bool[Tensor, " n"]:
        """Whether rounds fill these cells again once they are blank."""
        placed = self.deduce(self.place(boards.scatter(1, cells, 0)), until=cells[:, 0]).placed
        return placed.gather(2, cells[:, None].expand(-1, self.side, -1)).sum((1, 2)) == 1

    def _one_solution_is_left(
        self, boards: Int[Tensor, "n {self.cells}"], cells: Int[Tensor, " n 1"]
    ) -> Bool[Tensor, " n"]:
        """Whether the other clues leave one solution."""
        return self.solve(boards.scatter(1, cells, 0))[0] == 1

    def _dig(
        self,
        boards: Int[Tensor, "n {self.cells}"],
        tries: Int[Tensor, " n"],
        generator: Generator,
        may_go: Callable[[Tensor, Tensor], Tensor],
    ) -> Int[Tensor, "n {self.cells}"]:
        """Go through each board's cells in random order and blank those whose digit may go."""
        boards = boards.clone()
        order = torch.rand(boards.shape, generator=generator).argsort(1)
        for step, cells in enumerate(order.split(1, 1)):
            filled = boards.gather(1, cells)[:, 0] > 0
            trying = (filled & (step < tries)).nonzero()[:, 0]
            going = trying[may_go(boards[trying], cells[trying])]
            boards[going] = boards[going].scatter(1, cells[going], 0)
        return boards

    # Symmetries.

    def augment(
        self,
        batch: tuple[Int[Tensor, "n {self.cells}"], Int[Tensor, "n {self.cells}"]],
        generator: Generator,
    ) -> Batch:
        """Turn each puzzle, with its solution, into one of its class, all equally likely.

        Raises:
            ValueError: a number that is neither a blank (0) nor a digit.
        """
        boards = torch.stack(batch, 1)
        allowed.tokens(self.vocabulary, boards=boards)
        n, (r, c), N = len(boards), (self.rows, self.columns), self.side

        def orders(*shape: int) -> Int[Tensor, "*shape k"]:
            return torch.rand(n, *shape, generator=generator).argsort(-1)

        names = F.pad(orders(N) + 1, (1, 0))  # a blank stays blank
        boards = names[:, None].expand(-1, 2, -1).gather(2, boards)
        if self.symmetries == "all":
            # N / r = c bands of r rows, r stacks of c columns.
            row = _regroup(orders(c), orders(c, r))
            column = _regroup(orders(r), orders(r, c))
            place = row[:, :, None] * N + column[:, None, :]
            if r == c:
                turned = torch.rand(n, 1, 1, generator=generator) < 0.5
                place = place.mT.where(turned, place)
            boards = boards.gather(2, place.reshape(n, 1, -1).expand(-1, 2, -1))
        puzzles, solutions = boards.unbind(1)
        return puzzles, solutions

    def drawer(self, bank: Batch) -> Callable[[int, Generator], Batch]:
        """What draws from a bank of puzzles, each time in another guise of its class.

        Raises:
            ValueError: a bank without a puzzle; when drawing, fewer than no puzzles.
        """
        allowed.some(bank=bank[0])

        def draw(n: int, generator: Generator) -> Batch:
            allowed.whole(0, n=n)
            chosen = torch.randint(len(bank[0]), (n,), generator=generator)
            return self.augment((bank[0][chosen], bank[1][chosen]), generator)

        return draw

    def class_key(self, grids: Int[Tensor, "n {self.cells}"]) -> Int[Tensor, " n"]:
        """A number that all grids of a class have; others have others, up to a chance of 2⁻⁶⁴.

        It is a sum over every way to name the digits so that a row, read in an order of the columns
        that a symmetry allows, says 1 to N. Rows and bands are added up: their order is lost, as it
        should be. Of labels alone there is one way, and every cell counts by its place.

        Raises:
            ValueError: a blank, or a number that is no digit: classes are of whole grids.
        """
        allowed.tokens(self.vocabulary, least=1, grids=grids)
        N = self.side
        if self.symmetries == "labels":
            names = grids[:, :N].argsort(1) + 1
            return _mix(_weigh(names.gather(1, grids - 1)))
        square = rearrange(grids, "n (i j) -> n i j", i=N)
        views = [square, square.mT] if self.rows == self.columns else [square]
        key = torch.zeros(len(grids), dtype=torch.long)
        stacks = torch.arange(N).view(-1, self.columns)
        for view, order in product(views, permutations(range(self.rows))):
            for inner in product(permutations(range(self.columns)), repeat=self.rows):
                columns = [stacks[s][list(p)] for s, p in zip(order, inner, strict=True)]
                here = view[:, :, torch.cat(columns)]
                names = here.argsort(2) + 1  # by every row
                named = names.gather(2, here.flatten(1)[:, None].expand(-1, N, -1) - 1)
                rows = _mix(_weigh(rearrange(named, "n k (i j) -> n k i j", j=N)))
                bands = _mix(rearrange(rows, "n k (b r) -> n k b r", r=self.rows).sum(-1))
                key += _mix(bands.sum(-1)).sum(-1)
        return key

    def held_out(self, grids: Int[Tensor, "n {self.cells}"]) -> Bool[Tensor, " n"]:
        """Whether a grid's class is held out: a matter of its key alone, so the same every time.

        Raises:
            ValueError: as `class_key`.
        """
        return _mix(self.class_key(grids)).remainder(1 << 20) < self.held_out_share * (1 << 20)

    # Boards as text.

    def read(self, text: str) -> Batch:
        """A puzzle that somebody typed, and its solution.

        Blanks are `0`, `.` or `_`; spaces, line ends, and lines drawn around boxes are passed over.

        Raises:
            ValueError: what is wrong with it: a character, the length, a digit twice in a unit, no
                solution or more than one.
        """
        N = self.side
        read = [c for c in text.upper() if not c.isspace() and c not in FRAME]
        unknown = next((c for c in read if c not in BLANKS and c not in DIGITS[:N]), None)
        if unknown:
            allowed = f"{DIGITS[0]} to {DIGITS[N - 1]}, and . for a blank"
            raise ValueError(f"{unknown!r} is not a cell: use {allowed}")
        if len(read) != self.cells:
            raise ValueError(f"a board has {self.cells} cells, and this one has {len(read)}")
        board = torch.tensor([DIGITS.find(c) + 1 for c in read])
        stands = (self.place(board[None]) @ self._members)[0]
        for digit, unit in (stands > 1).nonzero().tolist():
            name = f"{('row', 'column', 'box')[unit // N]} {unit % N + 1}"
            raise ValueError(f"{DIGITS[digit]} stands twice in {name}")
        counts, solutions = self.solve(board[None])
        if counts[0] != 1:
            how_many = "no solution" if counts[0] == 0 else "more than one solution"
            raise ValueError(f"this board has {how_many}")
        return board, solutions[0]

    def write(self, board: Int[Tensor, " {self.cells}"]) -> str:
        """A board as lines of text, which `read` reads.

        Raises:
            ValueError: a number that is neither a blank (0) nor a digit.
        """
        allowed.tokens(self.vocabulary, board=board)
        text = "".join(("." + DIGITS)[digit] for digit in board.tolist())
        return "\n".join(text[i : i + self.side] for i in range(0, self.cells, self.side))


def solved(logits: Float[Tensor, "*b c v"], solutions: Int[Tensor, "*b c"]) -> Bool[Tensor, " *b"]:
    """Whether the likeliest digit is right in every cell."""
    return (logits.argmax(-1) == solutions).all(-1)


def _regroup(groups: Int[Tensor, "n g"], members: Int[Tensor, "n g k"]) -> Int[Tensor, "n g*k"]:
    """Lines in another order: groups as they are given, and in each its members so."""
    return (groups[:, :, None] * members.shape[-1] + members).flatten(1)


# Numbers below wrap around at 2⁶⁴: the constants are odd, so that no bit is lost.


def _weigh(digits: Int[Tensor, "*b k"]) -> Int[Tensor, " *b"]:
    """A number for a row of digits that tells which stands where."""
    weights = torch.full((digits.shape[-1],), 6364136223846793005).cumprod(0)
    return (digits * weights).sum(-1)


def _mix(key: Int[Tensor, " *b"]) -> Int[Tensor, " *b"]:
    """Scatter numbers over all of 64 bits, each to another place."""
    for factor in (-7046029254386353131, -4417276706812531889):
        key = (key ^ (key >> 31)) * factor
    return key ^ (key >> 31)
