"""What the chapter measures: puzzles solved by step, when to stop, what is kept in mind."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from attn_notes.models.trm import TRM
from attn_notes.tasks.sudoku import Batch, Sudoku, solved
from attn_notes.training.schedules import warmup_cosine
from book.lessons.trm.recipe import BETAS, WARM_UP, WEIGHT_DECAY, Recipe
from book.lessons.trm.supervision import History, Supervision, train

# --- Training


def learn(
    recipe: Recipe,
    task: Sudoku,
    bank: Batch,
    *,
    seed: int,
    probe: Callable[[TRM], dict[str, Tensor]],
    probe_every: int = 100,
    device: torch.device | str = "cpu",
    watch: Callable[[int, dict[str, Tensor]], None] = lambda step, seen: None,
) -> tuple[Supervision, History]:
    """Train one seed on the puzzles of a bank, each time in another guise.

    Args:
        recipe: what is trained, and how long.
        task: knows the guises.
        bank: puzzles and solutions to draw from.
        seed: of the weights, and of what is drawn.
        probe: what to record of the model to be judged.
        probe_every: steps between two probes.
        device: where to train.
        watch: called after each probe with the step and what was recorded.
    """
    run = Supervision(
        recipe.model(seed).to(device),
        task.drawer(bank),
        recipe.settings,
        optimizer=partial(
            torch.optim.AdamW, lr=recipe.lr, weight_decay=WEIGHT_DECAY, betas=BETAS, fused=True
        ),
        generator=Generator().manual_seed(seed),
        schedule=warmup_cosine(recipe.steps, WARM_UP),
    )
    return run, train(run, recipe.steps, probe=probe, probe_every=probe_every, watch=watch)


# --- Solving


class Solving(NamedTuple):
    """What a model makes of n puzzles at each of s supervision steps."""

    right: Bool[Tensor, "s n"]  # every cell is
    cells: Float[Tensor, "s n"]  # share of the blanks that are; 0 for a board without any
    halt: Float[Tensor, "s n"]  # q


@torch.no_grad()
def solve(model: TRM, batch: Batch, steps: int, at_once: int = 16) -> Solving:
    """Let a model think about puzzles for so many supervision steps, whatever q says."""
    device = model.y_init.device
    parts = []
    for puzzles, solutions in zip(*(x.to(device).split(at_once) for x in batch), strict=True):
        logits, halt = model.trace(puzzles, steps)
        blank = puzzles == 0
        right = (logits.argmax(-1) == solutions) & blank
        cells = right.sum(-1) / blank.sum(-1).clamp(min=1)
        parts.append((solved(logits, solutions.expand(steps, -1, -1)), cells, halt))
    return Solving(*(torch.cat(part, 1).cpu() for part in zip(*parts, strict=True)))


def probe(model: TRM, tests: dict[str, Batch], steps: int) -> dict[str, Tensor]:
    """The share of each test set that is solved after so many steps."""
    return {
        name: solve(model, batch, steps).right[-1].float().mean() for name, batch in tests.items()
    }


def lost(right: Bool[Tensor, "s n"]) -> Int[Tensor, " n"]:
    """How often an answer that was right is wrong at the next step."""
    return (right[:-1] & ~right[1:]).sum(0)


def difficulties(rounds: Int[Tensor, " n"]) -> dict[str, Bool[Tensor, " n"]]:
    """Which puzzles take so many rounds (of `Sudoku.rounds`, which says −1 for never).

    A board without a blank takes none and is in no group.
    """
    return (
        {"1–2": (rounds >= 1) & (rounds <= 2)}
        | {str(k): rounds == k for k in range(3, 7)}
        | {"7+": rounds >= 7, "never": rounds < 0}
    )


# --- Stopping


class Stopped(NamedTuple):
    """What stopping early comes to."""

    steps: Float[Tensor, ""]  # taken, in the mean
    right: Float[Tensor, ""]  # share of the answers that are, where it stopped


def stop(seen: Solving, threshold: float) -> Stopped:
    """Stop at the first step at which the estimate sigmoid(q) exceeds a threshold, or at the last.

    The estimate is the model's own, of whether its whole answer is right.
    """
    sure = seen.halt.sigmoid() > threshold
    sure[-1] = True
    first = sure.int().argmax(0)
    right = seen.right.gather(0, first[None])[0]
    return Stopped((first + 1).float().mean(), right.float().mean())


class Reliability(NamedTuple):
    """How often answers are right where the model gives them about this chance."""

    said: Float[Tensor, " k"]  # mean estimate; NaN where there is none
    right: Float[Tensor, " k"]
    answers: Int[Tensor, " k"]  # how many


def reliability(
    said: Float[Tensor, " n"], right: Bool[Tensor, " n"], edges: Sequence[float]
) -> Reliability:
    """Put answers into bins by the chance that the model gives them, and compare.

    Args:
        said: estimates, from 0 to 1.
        right: whether each answer is.
        edges: of the k bins, k + 1 from 0 to 1; a bin has its lower edge, and the last both.

    Raises:
        ValueError: an estimate is no number.
    """
    if said.isnan().any():
        raise ValueError("an estimate is NaN: it belongs to no bin")
    bins = torch.bucketize(said, torch.tensor(edges[1:-1]), right=True)
    count = torch.bincount(bins, minlength=len(edges) - 1)
    pairs = torch.stack([said, right.to(said.dtype)])
    total = said.new_zeros(2, len(count)).index_add_(1, bins, pairs)
    said_mean, right_share = total / count
    return Reliability(said_mean, right_share, count)


# --- Looking inside


class Thoughts(NamedTuple):
    """Logits that the output head reads in the state after each of u uses of the network."""

    answer: Float[Tensor, "u n c v"]  # in y
    mind: Float[Tensor, "u n c v"]  # in z


@torch.no_grad()
def thoughts(model: TRM, puzzles: Int[Tensor, "n c"], steps: int) -> Thoughts:
    """Read y and z after every use of the network in so many supervision steps.

    The head is trained to read y. That it can read z as well is not asked of the model.
    """
    x, state = model.embed(puzzles), model.start(len(puzzles))
    read = []
    for _ in range(steps):
        for reached in model.path(x, state):
            read.append((model.decode(reached.y), model.decode(reached.z)))
        state = reached
    return Thoughts(*(torch.stack(part) for part in zip(*read, strict=True)))


class Legible(NamedTuple):
    """The share of the blanks that is read right after each of u uses of the network."""

    answer: Float[Tensor, " u"]
    mind: Float[Tensor, " u"]


def legible(read: Thoughts, batch: Batch) -> Legible:
    """How much of these puzzles' solutions is read in y and in z; no number without a blank."""
    puzzles, solutions = batch
    blank = puzzles == 0
    hits = (((part.argmax(-1) == solutions) & blank).sum((1, 2)) for part in read)
    return Legible(*(hit / blank.sum() for hit in hits))


def half_precision(model: TRM) -> TRM:
    """A copy whose numbers are rounded to 16 bits, and computes with 32."""
    rounded = deepcopy(model)
    return rounded.half().to(model.y_init.dtype)


def alone(model: TRM) -> dict[str, Tensor]:
    """Its numbers, as those of one seed: stacked along a first dimension, which a widget takes."""
    return {name: value[None].cpu() for name, value in model.state_dict().items()}
