"""What chapter 5 has seen, as values: the puzzles, the network trained live, the recorded runs."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from attn_notes.analysis import results
from attn_notes.chapters.trm import measure, recipe
from attn_notes.chapters.trm.measure import Legible, Reliability, Solving, Stopped
from attn_notes.chapters.trm.recipe import KINDS, TASK, THINK, TRAINED
from attn_notes.chapters.trm.supervision import History
from attn_notes.models.trm import TRM
from attn_notes.tasks.sudoku import Batch

# --- The puzzles


@dataclass(frozen=True)
class Puzzles:
    """What there is to learn from and to be judged by.

    Args:
        bank: mixed puzzles to learn from.
        tests: kind → puzzles of classes held out.
        speed: how many were drawn in a second, of the bank and of each test set in turn.
    """

    bank: tuple[Tensor, Tensor]
    tests: Mapping[str, tuple[Tensor, Tensor]]
    speed: Sequence[float] = ()

    @property
    def sets(self) -> dict[str, tuple[Tensor, Tensor]]:
        """All of them, by what a table calls them."""
        return {"training, mixed": self.bank} | {
            f"held out, {kind}": batch for kind, batch in self.tests.items()
        }

    @property
    def probed(self) -> dict[str, tuple[Tensor, Tensor]]:
        """The puzzles that are looked at along training."""
        return {kind: recipe.probed(batch) for kind, batch in self.tests.items()}

    @cached_property
    def rounds(self) -> dict[str, Int[Tensor, " n"]]:
        """Of each puzzle of a test set; −1 where they do not solve it."""
        return {kind: TASK.rounds(batch[0]) for kind, batch in self.tests.items()}

    @cached_property
    def groups(self) -> dict[str, Bool[Tensor, " n"]]:
        """Which of all held-out puzzles, the mixed ones first, are how difficult."""
        return measure.difficulties(torch.cat([*self.rounds.values()]))


def draw() -> Puzzles:
    """The chapter's puzzles, drawn anew: always the same ones."""
    speed, batches = [], []
    for drawn in (recipe.BANK, *recipe.TESTS.values()):
        start = time.perf_counter()
        batches.append(drawn.sample())
        speed.append(drawn.size / (time.perf_counter() - start))
    bank, *tests = batches
    return Puzzles(bank, dict(zip(recipe.TESTS, tests, strict=True)), speed)


def solved_by_rounds(rounds: Int[Tensor, " n"]) -> Int[Tensor, " k"]:
    """The rounds of those puzzles that take some, and are solved by them."""
    return rounds[rounds > 0]


def boards() -> dict[str, Int[Tensor, " c"]]:
    """A grid, and two puzzles dug out of it."""
    grid = TASK.grids(1, Generator().manual_seed(11))
    generator = Generator().manual_seed(12)
    mixed = TASK.dig(grid, torch.tensor([22]), generator)
    minimal = TASK.minimise(mixed, generator)
    return {"a grid": grid[0], "mixed": mixed[0], "minimal": minimal[0]}


def shared_classes(puzzles: Puzzles) -> tuple[float, int]:
    """The share of random grids whose class the bank shows, and how many mixed test grids' it does.

    Of 2,000 random grids.
    """
    known = TASK.class_key(puzzles.bank[1])
    at_random = TASK.class_key(TASK.grids(2000, Generator().manual_seed(5)))
    tested = TASK.class_key(puzzles.tests["mixed"][1])
    shared = torch.isin(at_random, known).float().mean().item()
    return shared, int(torch.isin(tested, known).sum())


def familiar(bank: Batch, n: int = 1000) -> Batch:
    """New mixed puzzles of grids that training saw."""
    grids = bank[1][:n]
    generator = Generator().manual_seed(6)
    tries = torch.randint(TASK.cells // 2, TASK.cells + 1, (len(grids),), generator=generator)
    return TASK.dig(grids, tries, Generator().manual_seed(7)), grids


def guessing(puzzles: Int[Tensor, "n c"]) -> float:
    """The share of blanks right by a guess among the digits that stand in no unit of the cell."""
    choices = TASK.look(TASK.place(puzzles)).possible.sum(1)
    return (1 / choices[puzzles == 0]).mean().item()


# --- The network trained live


@dataclass(frozen=True)
class Mind:
    """What the output head reads after each of u uses of the network, of some puzzles.

    Args:
        puzzles: with their solutions.
        answer: digits read in y.
        mind: digits read in z.
        legible: the share of the blanks that either reading gets right.
    """

    puzzles: Batch
    answer: Int[Tensor, "u n c"]
    mind: Int[Tensor, "u n c"]
    legible: Legible

    def wrong(self, name: str, use: int) -> Int[Tensor, " n"]:
        """How many cells of each puzzle are read wrong after a use, counted from 0."""
        read: Tensor = getattr(self, name)
        return (read[use] != self.puzzles[1]).sum(1)

    @cached_property
    def guessing(self) -> float:
        """What a guess among what the clues allow gets right."""
        return guessing(self.puzzles[0])


@dataclass(frozen=True)
class Live:
    """The network trained live, with its numbers rounded to 16 bits as on the page.

    Args:
        minutes: of training, at each probe.
        course: kind → share of the probed puzzles solved, at each probe; not rounded yet.
        seen: kind → what it makes of all held-out puzzles, in `THINK` supervision steps.
        changed: of the probed puzzles, how many are solved before rounding and not after at some
            step, or the other way round.
        mind: what is read in y and z.
        familiar: share solved of new puzzles of grids that training saw, after `TRAINED` steps.
    """

    minutes: Float[Tensor, " p"]
    course: Mapping[str, Float[Tensor, " p"]]
    seen: Mapping[str, Solving]
    changed: int
    mind: Mind
    familiar: float

    @property
    def boards(self) -> int:
        """How many held-out puzzles it thinks about."""
        return sum(len(seen.right[0]) for seen in self.seen.values())

    def solved(self, on: str, step: int = THINK) -> float:
        """The share of a test set after so many supervision steps."""
        return self.seen[on].right[step - 1].float().mean().item()

    def by_group(self, groups: Mapping[str, Bool[Tensor, " n"]]) -> dict[str, Tensor]:
        """The share solved of each group of all held-out puzzles, at each step."""
        right = torch.cat([self.seen[on].right for on in KINDS], 1).float()
        return {name: right[:, chosen].mean(1) for name, chosen in groups.items()}

    @cached_property
    def reliability(self) -> Reliability:
        """How often its answers of the first steps are right, by its own estimate."""
        first = recipe.INSIDE["thoughts"]
        said = torch.cat([self.seen[on].halt[:first].sigmoid().flatten() for on in KINDS])
        right = torch.cat([self.seen[on].right[:first].flatten() for on in KINDS])
        return measure.reliability(said, right, recipe.INSIDE["edges"])

    @property
    def shown(self) -> Reliability:
        """The same, of the bins with enough answers."""
        enough = self.reliability.answers >= recipe.INSIDE["fewest"]
        return Reliability(*(part[enough] for part in self.reliability))

    def stop(self, on: str, threshold: float) -> Stopped:
        """What stopping early comes to."""
        return measure.stop(self.seen[on], threshold)

    def sure(self) -> "Sure":
        """Boards that it holds to be right after `TRAINED` steps, and others; and which are."""
        says = torch.cat([self.seen[on].halt[TRAINED - 1] > 0 for on in KINDS])
        right = torch.cat([self.seen[on].right[TRAINED - 1] for on in KINDS])
        return Sure(*(int(x.sum()) for x in (says, says & right, ~says, ~says & right)))

    def in_doubt(self) -> tuple[int, float, float]:
        """Boards given a chance of 0.5 to 0.7 after one step: how many, right then, right late."""
        chance = torch.cat([self.seen[on].halt[0] for on in KINDS]).sigmoid()
        doubtful = (chance > 0.5) & (chance < 0.7)
        right = torch.cat([self.seen[on].right for on in KINDS], 1)[:, doubtful].float().mean(1)
        return int(doubtful.sum()), right[0].item(), right[-1].item()


@dataclass(frozen=True)
class Sure:
    """Boards, by what is said of them and by what they are."""

    held: int  # to be right
    held_right: int
    others: int
    others_right: int


def live(model: TRM, history: History, puzzles: Puzzles) -> Live:
    """Look at a model that has been trained."""
    rounded = measure.half_precision(model)
    seen = {on: measure.solve(rounded, batch, THINK) for on, batch in puzzles.tests.items()}
    before = {on: measure.solve(model, batch, TRAINED) for on, batch in puzzles.probed.items()}
    changed = sum(
        int((was.right != seen[on].right[:TRAINED, : was.right.shape[1]]).any(0).sum())
        for on, was in before.items()
    )
    again = measure.solve(rounded, familiar(puzzles.bank), TRAINED)
    return Live(
        minutes=history.seconds.float() / 60,
        course=dict(history.seen),
        seen=seen,
        changed=changed,
        mind=read(rounded, puzzles.probed["minimal"]),
        familiar=again.right[-1].float().mean().item(),
    )


def read(model: TRM, batch: Batch) -> Mind:
    """What is read in y and z while a model thinks about these puzzles."""
    puzzles, solutions = (part.to(model.y_init.device) for part in batch)
    seen = measure.thoughts(model, puzzles, recipe.INSIDE["thoughts"])
    answer, mind = (logits.argmax(-1).cpu() for logits in seen)
    shares = measure.legible(seen, (puzzles, solutions))
    return Mind(batch, answer, mind, Legible(*(share.cpu() for share in shares)))


# --- The recorded runs


def numbers(recorded: Sequence[object]) -> Tensor:
    """A list, or a list of lists, as a tensor: what a record could not write is NaN."""

    def clean(part: object) -> object:
        if isinstance(part, list):
            return [clean(inner) for inner in part]
        return math.nan if part is None else part

    return torch.tensor(clean(list(recorded)), dtype=torch.float64).float()


@dataclass(frozen=True)
class Recorded:
    """The recorded runs: of each kind some seeds, its `members`.

    Args:
        kinds: name of a kind → its entry in a record.
        inside: what was looked at inside each seed of the live recipe.
    """

    kinds: Mapping[str, results.Record]
    inside: Sequence[results.Record] = ()

    def members(self, kind: str = recipe.TRM_LIVE) -> list[results.Record]:
        """What was recorded of each seed of a kind."""
        found: list[results.Record] = self.kinds[kind]["members"]
        return found

    @property
    def name(self) -> str:
        """What a table calls this evidence."""
        return f"recorded, {len(self.members())} seeds"

    def course(self, kind: str, on: str) -> tuple[Tensor, Float[Tensor, "p m"]]:
        """Along training, as a share of all its steps: the share of the probed puzzles solved."""
        steps = numbers(self.kinds[kind]["steps"])
        return steps / steps[-1], numbers([m[f"{on} by step"] for m in self.members(kind)]).T

    def solved(self, kind: str, on: str = "minimal", step: int = TRAINED) -> Float[Tensor, " m"]:
        """The share of a test set solved after so many steps, per seed.

        A network without recursion has one step, and keeps its answer. Weights without the average
        are those of the live recipe's own runs.
        """
        if kind == recipe.WITHOUT_EMA:
            right = [m[kind][on]["right"] for m in self.members()]
        else:
            right = [m[on]["right"] for m in self.members(kind)]
        return numbers([seed[min(step, len(seed)) - 1] for seed in right])

    def unsolved(self, kind: str, on: str = "minimal", step: int = TRAINED) -> Float[Tensor, " m"]:
        """The share of a test set left unsolved, any cell being wrong, per seed."""
        return 1 - self.solved(kind, on, step)

    def sure_right(self) -> Float[Tensor, " m"]:
        """Of the minimal boards that it holds to be right after `TRAINED` steps: how many are."""
        found = numbers([m["certainty"]["minimal"][1] for m in self.members()])  # wrong, right
        return found[:, 1] / found.sum(1)

    def stopped(self) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        """Steps taken, and minimal puzzles solved, stopping at an estimate of one half."""
        steps, right = numbers([m["minimal"]["stopped"] for m in self.members()]).T
        return steps, right

    def lost(self) -> Float[Tensor, " m"]:
        """Of all held-out boards, how many are right at one step and wrong at the next."""
        return numbers([sum(m[on]["lost"] for on in KINDS) for m in self.members()])

    def legible(self, name: str) -> Float[Tensor, "u m"]:
        """The share of the blanks read right, in `mind` or `answer`, after each use."""
        return numbers([m["legible"][name] for m in self.inside]).T

    def by_group(self, name: str) -> Float[Tensor, "s m"]:
        """The share solved of a group of all held-out puzzles, at each step."""
        return numbers([m["by rounds"][name] for m in self.inside]).T

    def reliability(self) -> list[Float[Tensor, "2 k"]]:
        """Per seed: mean estimates, and the shares that are right, bin by bin."""
        return [numbers(m["reliability"]).T for m in self.inside]

    def stops(self, on: str) -> list[Float[Tensor, "2 k"]]:
        """Per seed: steps taken, and the shares that are right, threshold by threshold."""
        return [numbers(m["stops"][on]).T for m in self.inside]

    def thinking(self, on: str) -> Float[Tensor, "s m"]:
        """The share of a test set that is solved, at each step."""
        return numbers([m["right"][on] for m in self.inside]).T


def recorded() -> Recorded:
    """Read the records."""
    kinds = {
        name: entry
        for record in recipe.RECORDS
        for name, entry in results.load(record)["runs"].items()
    }
    return Recorded(kinds, results.load("trm_inside")["runs"][recipe.TRM_LIVE]["members"])
