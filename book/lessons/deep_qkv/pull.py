"""Do the two letters that nobody can know pull against the other four predictions, and is that why?

Two measurements. Along a training the gradients of the six predictions, whose dot products say for
any two of them how they stand to the other four. And trainings in which what the two letters
contribute is changed: were it their pull that holds the rest back, taking the pull away would help.
"""

import itertools
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.func import functional_call, grad, jacrev, stack_module_state, vmap
from torch.optim.lr_scheduler import LambdaLR

from attn_notes.models.deep_qkv import Config
from attn_notes.tasks import sorting
from attn_notes.tasks.prediction import token_losses
from attn_notes.training.ensemble import Run, Tensors, traced
from attn_notes.training.schedules import warmup_cosine
from book.lessons.deep_qkv import recipe

PREDICTIONS = sorting.LENGTH - 1
PAIRS = tuple(itertools.combinations(range(PREDICTIONS), 2))
"""All ways to take two of the six; the first are the two letters."""

TWO = sorting.counted(slice(0, 2)) / 3  # as they count in the mean of all six
FOUR = sorting.counted(sorting.KNOWABLE) * 2 / 3


# Along a training


class Pulls(NamedTuple):
    """The gradients of the six predictions at one moment, in nats of the mean loss."""

    products: Float[Tensor, "*m 6 6"]  # of any two of them
    noise: Float[Tensor, "*m 2"]  # of one input's gradient: of the two letters, of the four


def pulls(template: torch.nn.Module, parameters: Tensors) -> Pulls:
    """What the six predictions of one sorter ask of its weights, over all 27 inputs.

    The noise is the root of the mean square by which an input's gradient is off their mean: a
    batch of n draws has 1/√n of it, and all 27 at once have none.
    """
    sequences = sorting.all_sequences()

    def losses(p: Tensors) -> Tensor:
        return token_losses(functional_call(template, p, (sequences[:, :-1],)), sequences)

    each = [g.flatten(2) for g in jacrev(losses)(parameters).values()]
    gradients = torch.cat(each, -1) / PREDICTIONS  # [27, 6, weights]
    mean = gradients.mean(0)
    off = gradients - mean
    both = [off[:, part].sum(1).square().sum(-1).mean() for part in (slice(0, 2), sorting.KNOWABLE)]
    return Pulls(mean @ mean.T, torch.stack(both).sqrt())


_UPPER = torch.triu_indices(PREDICTIONS, PREDICTIONS)


def half(products: Float[Tensor, "*m 6 6"]) -> Float[Tensor, "*m 21"]:
    """The products on and above the diagonal, which are all there are."""
    return products[..., _UPPER[0], _UPPER[1]]


def whole(upper: Float[Tensor, "*m 21"]) -> Float[Tensor, "*m 6 6"]:
    """What `half` was taken of."""
    products = upper.new_zeros(*upper.shape[:-1], PREDICTIONS, PREDICTIONS)
    products[..., _UPPER[0], _UPPER[1]] = upper
    products[..., _UPPER[1], _UPPER[0]] = upper
    return products


def cosine(
    products: Float[Tensor, "*b 6 6"], two: tuple[int, ...] = PAIRS[0]
) -> Float[Tensor, " *b"]:
    """Of the gradient of two predictions and that of the other four: −1 is straight against."""
    chosen = torch.zeros(PREDICTIONS, dtype=products.dtype)
    chosen[list(two)] = 1
    parts = torch.stack([chosen, 1 - chosen])
    own, across, _, others = (parts @ products @ parts.T).flatten(-2).unbind(-1)
    return across / (own * others).sqrt()


def opposed(
    losses: Float[Tensor, "n m 6"], two: tuple[int, ...] = PAIRS[0]
) -> Float[Tensor, "k m"]:
    """Whether a step helps two of the predictions and hurts the other four, or the other way."""
    ours = losses[..., list(two)].sum(-1)
    theirs = losses.sum(-1) - ours
    return (ours.diff(dim=0) * theirs.diff(dim=0) < 0).float()


# Trainings in which the two letters contribute something else


@dataclass(frozen=True)
class Way:
    """What the first two predictions contribute to a step.

    Args:
        share: of their gradient, beside all of the other four's.
        until: the step from which on they count no more.
        yielding: whether the part of their gradient that is against the other four's is taken out.
        asked: what the two have to predict, in place of the letter that comes.
    """

    share: float = 1.0
    until: int = 10**9
    yielding: bool = False
    asked: str = "next"

    def targets(self) -> Int[Tensor, "27 6"]:
        """What each of the six predictions should be."""
        sequences = sorting.all_sequences()
        targets = sequences[:, 1:].clone()
        if self.asked == "repeat":
            targets[:, :2] = sequences[:, :2]
        elif self.asked == "a":
            targets[:, :2] = sorting.prompt("aaa")[:2]
        return targets


ALL_SIX, OUT, YIELDING = "all six", "two letters out", "without their pull"
TENTH, EARLY = "at a tenth of their weight", "in the first 50 steps only"
REPEAT, CONSTANT = "asked to repeat a letter", "asked for an a"
WAYS = {
    ALL_SIX: Way(),
    OUT: Way(until=0),
    YIELDING: Way(yielding=True),
    TENTH: Way(share=0.1),
    EARLY: Way(until=recipe.LIVE.warmup),
    REPEAT: Way(asked="repeat"),
    CONSTANT: Way(asked="a"),
}
RATES = (recipe.RATE["plain"], recipe.RATE["plain, knowable"])
"""Plain's own, and the one that suits it with two letters out."""


def train(ways: Mapping[str, Way], setting: recipe.Setting) -> dict[str, Run]:
    """Train plain sorters in each of these ways, as `recipe.train_sorters` does in the usual one.

    All at once, the seeds of all ways side by side; `seconds` is what a way has of that.
    """
    start, m = time.perf_counter(), len(setting.seeds)
    sorters = [each for _ in ways for each in recipe.sorters(Config("plain"), setting.seeds)]
    template, stacked = sorters[0], stack_module_state(sorters)[0]
    parameters = {name: values.detach().clone() for name, values in stacked.items()}

    def of_each(values: Iterable[float]) -> Tensor:
        return torch.tensor([*values]).repeat_interleave(m)[:, None]

    shares = of_each(way.share for way in ways.values())
    until = of_each(way.until for way in ways.values())
    yielding = of_each(way.yielding for way in ways.values())
    targets = torch.stack([way.targets() for way in ways.values()]).repeat_interleave(m, 0)

    def loss(p: Tensors, target: Tensor, counted: Tensor) -> Tensor:
        logits = functional_call(template, p, (sorting.all_sequences()[:, :-1],))
        chosen = logits.log_softmax(-1).gather(-1, target[..., None])[..., 0]
        return -chosen.mean(0) @ counted

    def both(p: Tensors, target: Tensor) -> tuple[Tensor, ...]:
        parts = (grad(loss)(p, target, counted) for counted in (TWO, FOUR))
        return tuple(torch.cat([g.flatten() for g in part.values()]) for part in parts)

    def probe(p: Tensors) -> Tensors:
        return sorting.probe(lambda x: functional_call(template, p, (x,)))

    gradients = traced(vmap(both), (parameters, targets))
    optimizer = torch.optim.AdamW(list(parameters.values()), lr=setting.lr, fused=True)
    schedule = LambdaLR(optimizer, warmup_cosine(setting.steps, setting.warmup))
    steps, seen = [], []
    for step in range(setting.steps + 1):
        if step % setting.probe_every == 0 or step == setting.steps:
            with torch.no_grad():
                seen.append(vmap(probe)(parameters))
            steps.append(step)
        if step < setting.steps:
            two, four = gradients(parameters, targets)
            _set(parameters, combined(two * shares * (step < until), four, yielding))
            optimizer.step()
            schedule.step()
    each = (time.perf_counter() - start) / len(ways)
    history = {name: torch.stack([at[name] for at in seen]) for name in seen[0]}
    return {
        name: Run(
            *({}, {}),
            torch.tensor(steps),
            {key: values[:, i * m : (i + 1) * m] for key, values in history.items()},
            each,
            template,
        )
        for i, name in enumerate(ways)
    }


def combined(
    two: Float[Tensor, "m n"], four: Float[Tensor, "m n"], yielding: Tensor
) -> Float[Tensor, "m n"]:
    """The gradient of a step: both parts, of at most norm 1.

    Where the two yield, what of theirs points against the four's is taken out before.
    """
    against = (two * four).sum(1, keepdim=True).clamp(max=0)
    turned = two - against / four.square().sum(1, keepdim=True) * four
    total = torch.where(yielding, turned, two) + four
    return total * (1 / (total.norm(dim=1, keepdim=True) + 1e-6)).clamp(max=1)


def _set(parameters: Tensors, flat: Float[Tensor, "m n"]) -> None:
    sizes = [p[0].numel() for p in parameters.values()]
    for p, part in zip(parameters.values(), flat.split(sizes, 1), strict=True):
        # On a CPU torch's fused AdamW misreads a gradient of other strides, silently.
        p.grad = part.reshape(p.shape).contiguous()
