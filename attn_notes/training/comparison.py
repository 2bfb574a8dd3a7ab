"""Train several kinds under the same conditions: equal seeds, batches, steps, schedule.

Kinds differ in their model, as scores of attention do, or in the loss that they follow, as ways to
a gradient do.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from attn_notes import allowed
from attn_notes.training.ensemble import Run, Tensors, train
from attn_notes.training.schedules import warmup_cosine

__all__ = ["held_out", "train_kinds"]

BATCHES = 20_000  # seed of member 0's batches; member 1 has the next


def held_out() -> Generator:
    """Draws what no member trains on, the same every time."""
    return Generator().manual_seed(10_000)


adamw = partial(torch.optim.AdamW, fused=True)


@allowed.typed
def train_kinds(
    kinds: Mapping[str, Callable[[Generator], nn.Module]],
    loss: Callable[[Any, Any], Tensor] | Mapping[str, Callable[[Any, Any], Tensor]],
    sample: Callable[[Generator], Any],
    *,
    seeds: int | Sequence[int],
    steps: int,
    lr: float | Mapping[str, float],
    warmup: int = 50,
    optimizer: Callable[..., Optimizer] = adamw,
    constrain: Callable[[Any, Tensors, Any], Tensors] | None = None,
    probe: Callable[[Any], Tensors] | None = None,
    probe_every: int = 25,
    device: torch.device | str = "cpu",
    show: Callable[[str, int, Tensors], None] | None = None,
    watch: Callable[[str, int, Tensors], None] | None = None,
) -> dict[str, Run]:
    """Train every kind from the same seeds and on the same batches.

    Args:
        kinds: name → what makes an untrained model of this kind.
        loss: as `train` takes it, one for all or one a kind.
        sample: draws a batch.
        seeds: of the members of each kind: how many, 0, 1, ..., or which.
        steps: updates, the same for every kind.
        lr: learning rate, one for all or one a kind.
        warmup: steps in which the rate rises; then it falls along a cosine to a tenth.
        optimizer: called with the tensors and `lr`.
        constrain: as `train` takes it.
        probe: what to record of a member.
        probe_every: steps between two probes.
        device: where to train.
        show: called after each probe with the kind, the step and what was recorded.
        watch: the same with the kind, the step and the parameters [m, ...] as they are then.

    Raises:
        ValueError: no seed; a learning rate that is not positive and finite; a kind without a rate
            or a loss of its own, where kinds have theirs; what `train` refuses.
    """
    members = range(seeds) if isinstance(seeds, int) else seeds
    allowed.whole(seeds=len(members))
    for name, own in (("learning rate", lr), ("loss", loss)):
        if isinstance(own, Mapping) and not kinds.keys() <= own.keys():
            raise ValueError(f"a {name} is missing: of {', '.join(kinds.keys() - own.keys())}")
    for rate in lr.values() if isinstance(lr, Mapping) else (lr,):
        allowed.positive(lr=rate)

    def told(kind: str, step: int, seen: Tensors, parameters: Tensors) -> None:
        if show:
            show(kind, step, seen)
        if watch:
            watch(kind, step, parameters)

    def train_kind(kind: str, make: Callable[[Generator], nn.Module]) -> Run:
        return train(
            [make(Generator().manual_seed(seed)) for seed in members],
            loss[kind] if isinstance(loss, Mapping) else loss,
            sample,
            generators=[Generator().manual_seed(BATCHES + seed) for seed in members],
            steps=steps,
            optimizer=partial(optimizer, lr=lr[kind] if isinstance(lr, Mapping) else lr),
            schedule=warmup_cosine(steps, warmup),
            clip=1.0,
            constrain=constrain,
            probe=probe,
            probe_every=probe_every,
            watch=partial(told, kind) if show or watch else None,
            device=device,
        )

    return {kind: train_kind(kind, make) for kind, make in kinds.items()}
