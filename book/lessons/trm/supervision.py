"""Deep supervision: a loss at every step of a recursion whose state is carried on.

After Jolicoeur-Martineau (2025), arXiv 2510.04871, and the official code; the source has the model
only. A batch is a set of seats. On each seat a puzzle is thought about for up to `steps`
supervision steps, one a step of the optimiser: the model goes on from the state that its last step
left, of which no gradient is taken. When the puzzle leaves, its seat is reset and a new one sits
down; a whole batch is drawn at every step, so that what is drawn does not depend on who leaves. So
there are puzzles at every stage in a batch. What is minimised is

    answer    the cross-entropy of each cell's digit, with softmax or with stablemax:
              p ∝ s(logit), s(x) = x + 1 where x ≥ 0, 1 / (1 − x) below: no exponential
    halting   the binary cross-entropy of q with whether the whole answer is right, at half weight

A puzzle leaves after its last step, or earlier (adaptive computation time, ACT) when q > 0, which
says that the answer is more likely right than not. So that steps beyond are learned too, a share
of the seats, drawn anew at every step, keeps its puzzle at least up to a step drawn from 2 on.

What is judged in the end are the weights' exponential moving averages (EMA): after each step
average ← d average + (1 − d) weight, beginning with the weights as they started.

`Settings` switches each of these off: steps=1 for deep supervision, halt_early=False for ACT,
halt_weight=0 for the halting loss, ema=None, loss="softmax".

The loop is its own: `attn_notes.training.ensemble` trains by a function of weights and batch, and
here a step also hands on a state, and who is seated next follows from what the model said.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from attn_notes import allowed
from attn_notes.models.trm import TRM, Output, State
from attn_notes.tasks.sudoku import Batch, solved
from book.kit import recorded

LOSSES = ("softmax", "stablemax")


@dataclass(frozen=True)
class Settings:
    """How to supervise. The defaults are the paper's.

    Raises:
        ValueError: an unknown loss, no seat or no step, a number that is no share, one below zero,
            or no number at all.
    """

    seats: int = 768  # batch size
    steps: int = 16  # N_sup: supervision steps of a puzzle, at most
    loss: str = "stablemax"
    halt_weight: float = 0.5
    halt_early: bool = True
    exploration: float = 0.1  # the share of the seats that are kept from halting early
    ema: float | None = 0.999  # d
    clip: float | None = None  # largest norm of the gradient

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, not {self.loss!r}")
        if min(self.seats, self.steps) < 1:
            raise ValueError(f"there is no training with {self.seats} seats, {self.steps} steps")
        allowed.whole(seats=self.seats, steps=self.steps)
        if not 0 <= self.exploration <= 1 or not 0 <= (self.ema or 0) < 1:
            raise ValueError(f"exploration and ema are shares, not {self.exploration}, {self.ema}")
        if (
            not 0 <= self.halt_weight < math.inf
            or not 0 < (1 if self.clip is None else self.clip) < math.inf
        ):
            raise ValueError(
                f"halt_weight is 0 or more and clip above 0, not {self.halt_weight}, {self.clip}"
            )


class Carry(NamedTuple):
    """What is on each seat between two steps."""

    puzzles: Int[Tensor, "b c"]
    solutions: Int[Tensor, "b c"]
    state: State
    steps: Int[Tensor, " b"]  # how many the puzzle has had
    halted: Bool[Tensor, " b"]  # the puzzle leaves


class Seen(NamedTuple):
    """What a step reports, means over all seats."""

    answer: Float[Tensor, ""]  # loss of the digits
    halting: Float[Tensor, ""]  # loss of q
    solved: Float[Tensor, ""]  # share of whole answers that are right
    left: Float[Tensor, ""]  # share of the puzzles that leave after this step


def stablemax_cross_entropy(
    logits: Float[Tensor, "*b v"], targets: Int[Tensor, " *b"]
) -> Float[Tensor, " *b"]:
    """The cross-entropy where a class's weight is x + 1, below zero 1 / (1 − x), not exp x."""
    # By parts, since neither branch of `where` may be infinite anywhere.
    weights = torch.where(logits >= 0, logits + 1, 1 / (1 + logits.neg().clamp(min=0)))
    chosen = weights.gather(-1, targets[..., None])[..., 0]
    return weights.sum(-1).log() - chosen.log()


def answer_loss(
    logits: Float[Tensor, "*b c v"], solutions: Int[Tensor, "*b c"], loss: str
) -> Float[Tensor, ""]:
    """Mean cross-entropy of a cell's digit, in nats."""
    if loss == "stablemax":
        return stablemax_cross_entropy(logits.double(), solutions).mean().to(logits.dtype)
    return F.cross_entropy(logits.flatten(0, -2), solutions.flatten())


def halting_loss(halt: Float[Tensor, " *b"], right: Bool[Tensor, " *b"]) -> Float[Tensor, ""]:
    """Mean binary cross-entropy of q, a logit, with whether the answer is right."""
    return F.binary_cross_entropy_with_logits(halt, right.to(halt.dtype))


def step_loss(
    model: Callable[..., Output], batch: dict[str, Tensor], settings: Settings
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """The loss of one supervision step, and what the next goes on from, as a page trains by it.

    Args:
        model: of puzzles and a state.
        batch: `puzzles` and `solutions` [b, c], and the state, `y` and `z` [b, t, e].
        settings: say which loss, and what halting counts.
    """
    state, logits, halt = model(batch["puzzles"], State(batch["y"], batch["z"]))
    answer = answer_loss(logits, batch["solutions"], settings.loss)
    halting = halting_loss(halt, solved(logits, batch["solutions"]))
    return answer + settings.halt_weight * halting, {"y": state.y, "z": state.z, "halt": halt}


def vacant(model: TRM, seats: int) -> Carry:
    """Seats that nobody has sat on: all of them draw a puzzle next."""
    device = model.y_init.device
    blank = torch.zeros(seats, model.config.cells, dtype=torch.long, device=device)
    halted = torch.ones(seats, dtype=torch.bool, device=device)
    return Carry(blank, blank, model.start(seats), torch.zeros_like(blank[:, 0]), halted)


def seat(carry: Carry, fresh: Batch, start: State) -> Carry:
    """Put fresh puzzles, with a state that starts anew, where the last ones leave."""
    left = carry.halted
    puzzles, solutions = (
        torch.where(left[:, None], new, old)
        for new, old in zip(fresh, (carry.puzzles, carry.solutions), strict=True)
    )
    y, z = (
        torch.where(left[:, None, None], new, old)
        for new, old in zip(start, carry.state, strict=True)
    )
    steps = carry.steps.where(~left, 0)
    return Carry(puzzles, solutions, State(y, z), steps, torch.zeros_like(left))


def halts(
    halt: Float[Tensor, " b"], steps: Int[Tensor, " b"], settings: Settings, generator: Generator
) -> Bool[Tensor, " b"]:
    """Which puzzles leave after this step, their `steps`-th."""
    last = steps >= settings.steps
    if not settings.halt_early or settings.steps == 1:
        return last  # nobody to keep, and no step to draw from 2 on
    explores = torch.rand(len(steps), generator=generator) < settings.exploration
    least = torch.randint(2, settings.steps + 1, (len(steps),), generator=generator)
    stays = explores.to(steps.device) & (steps < least.to(steps.device))
    return last | ((halt > 0) & ~stays)


class Supervision:
    """A run of deep supervision that goes on step by step.

    Args:
        model: it is trained in place.
        draw: draws a batch of puzzles and solutions of this size.
        settings: what is done.
        optimizer: makes an optimiser from the parameters.
        schedule: factor of the learning rate at step 0, 1, ...
        generator: of the puzzles and of what explores, on the CPU.
        autocast: the dtype that products are taken in, for mixed precision.
    """

    def __init__(
        self,
        model: TRM,
        draw: Callable[[int, Generator], Batch],
        settings: Settings,
        *,
        optimizer: Callable[[Any], Optimizer],
        generator: Generator,
        schedule: Callable[[int], float] = lambda step: 1.0,
        autocast: torch.dtype | None = None,
    ) -> None:
        self.model, self.draw, self.settings = model, draw, settings
        self.generator, self.autocast = generator, autocast
        self.optimizer = optimizer(model.parameters())
        self.scheduler = LambdaLR(self.optimizer, schedule)
        self.carry = vacant(model, settings.seats)
        self.done = 0  # steps of the optimiser
        self.average = None
        if settings.ema is not None:
            average = get_ema_multi_avg_fn(settings.ema)
            self.average = AveragedModel(model, multi_avg_fn=average)
            self.average.update_parameters(model)  # the first time it copies

    @property
    def judged(self) -> TRM:
        """The model to be judged: with averaged weights, if they are averaged."""
        return self.model if self.average is None else cast(TRM, self.average.module)

    def precision(self) -> torch.autocast:
        """The context in which the model is run.

        Casts of weights are not kept: older torch keeps those of the cycles without gradient for
        the one with it, and the weights then get none (pytorch issue 112583).
        """
        device = self.carry.puzzles.device.type
        mixed = self.autocast is not None
        return torch.autocast(device, self.autocast, enabled=mixed, cache_enabled=False)

    def step(self) -> Seen:
        """Seat fresh puzzles, go one supervision step, update the weights, see who leaves."""
        settings, device = self.settings, self.carry.puzzles.device
        puzzles, solutions = self.draw(settings.seats, self.generator)
        fresh = puzzles.to(device), solutions.to(device)
        carry = seat(self.carry, fresh, self.model.start(settings.seats))
        with self.precision():
            state, logits, halt = self.model(carry.puzzles, carry.state)
        exact = torch.promote_types(logits.dtype, torch.float32)
        logits, halt = logits.to(exact), halt.to(exact)
        right = solved(logits, carry.solutions)
        answer = answer_loss(logits, carry.solutions, settings.loss)
        halting = halting_loss(halt, right)

        self.optimizer.zero_grad()
        (answer + settings.halt_weight * halting).backward()
        if settings.clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), settings.clip)
        self.optimizer.step()
        self.scheduler.step()
        if self.average is not None:
            self.average.update_parameters(self.model)

        steps = carry.steps + 1
        leaves = halts(halt.detach(), steps, settings, self.generator)
        self.carry = carry._replace(state=state, steps=steps, halted=leaves)
        self.done += 1
        return Seen(answer.detach(), halting.detach(), right.float().mean(), leaves.float().mean())


@dataclass(frozen=True)
class History:
    """What `train` recorded.

    Attributes:
        steps: the steps at which the probe was taken.
        seconds: the time of training at each of them, without the probes.
        seen: name → tensor [len(steps), ...], what the probe returned.
    """

    steps: Tensor
    seconds: Tensor
    seen: dict[str, Tensor]


def train(
    run: Supervision,
    steps: int,
    *,
    probe: Callable[[TRM], dict[str, Tensor]],
    probe_every: int,
    watch: Callable[[int, dict[str, Tensor]], None] = lambda step, seen: None,
) -> History:
    """Go on with a run until it has done so many steps.

    Args:
        run: what is trained.
        steps: of the optimiser, in all.
        probe: what to record of the model to be judged.
        probe_every: steps between two probes; there is one more at the end.
        watch: called after each probe with the step and what was recorded.
    """
    key = ""
    if recorded.wanted() and run.done == 0:
        how = (run.settings, run.optimizer, run.scheduler.lr_lambdas, probe, probe_every)
        key = recorded.key([run.model], train, run.draw, run.generator, steps, *how)
        if (found := recorded.find(key)) and recorded.begins(found, probe(run.judged)):
            return _recalled(run, found, watch)
    probed: list[tuple[int, float, dict[str, Tensor]]] = []
    seconds = 0.0

    def record() -> None:
        probed.append((run.done, seconds, probe(run.judged)))
        watch(run.done, probed[-1][2])

    while run.done < steps:
        if run.done % probe_every == 0:
            record()
        start = time.perf_counter()
        run.step()
        seconds += time.perf_counter() - start
    record()
    at, times, seen = zip(*probed, strict=True)
    named = {name: torch.stack([each[name] for each in seen]) for name in seen[0]}
    history = History(torch.tensor(at), torch.tensor(times), named)
    told = {"steps": history.steps, "seconds": history.seconds}
    told |= {f"h.{name}": value for name, value in named.items()}
    recorded.keep(key, run.judged.state_dict(), told)
    return history


def _recalled(
    run: Supervision,
    found: dict[str, Tensor],
    watch: Callable[[int, dict[str, Tensor]], None],
) -> History:
    """A recorded run in place of a training: its weights, averaged, are put into the model."""
    weights = recorded.part(found, "w")
    for model in {id(m): m for m in (run.model, run.judged)}.values():
        model.load_state_dict(weights)
    run.done = int(found["steps"][-1])
    history = History(found["steps"], found["seconds"], recorded.part(found, "h"))
    watch(run.done, {name: value[-1] for name, value in history.seen.items()})
    return history
