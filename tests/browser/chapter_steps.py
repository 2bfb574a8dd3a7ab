"""The training step of every chapter, at small and odd sizes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn

from attn_notes.models import deep_qkv, dialectical, equilibrium, triple_product, trm
from attn_notes.tasks import brackets, copying, sorting
from attn_notes.tasks.brackets import Brackets
from attn_notes.tasks.copying import Copying
from attn_notes.tasks.sudoku import solved
from book.lessons.equilibrium import estimators
from book.lessons.trm.supervision import answer_loss, halting_loss


@dataclass(frozen=True)
class Step:
    """What is trained: how a model is made, the loss, a batch.

    `tame` is whether a rounding error of the first step is still one after ten.
    """

    build: Callable[[Generator], nn.Module]
    loss: Callable[[Any, dict[str, Tensor]], Tensor]
    batch: dict[str, Tensor]
    tame: bool = True

    @property
    def model(self) -> nn.Module:
        """Untrained."""
        return self.build(Generator().manual_seed(3))


def sorter(variant: str, positions: bool = True) -> Step:
    config = deep_qkv.Config(variant, rank=2, embedding=10, heads=5, positions=positions)
    return Step(
        partial(deep_qkv.Sorter, config),
        lambda model, batch: sorting.loss(model, batch["weights"]),
        {"weights": sorting.population().double()},
    )


def copier(score: str, layers: int = 1, form: str = "projected") -> Step:
    sizes = {"vocabulary": 7, "width": 13, "heads": 3, "head_dim": 2, "layers": layers}
    config = triple_product.Config(score, form=form, residual=layers > 1, **sizes)
    task = Copying(vocabulary=7, length=11, periods=(3, 5))
    return Step(
        partial(triple_product.AttentionOnly, config),
        lambda model, batch: copying.loss(model, batch["sequences"]),
        {"sequences": task.sample(5, Generator().manual_seed(1))},
    )


def head(config: dialectical.Config) -> Step:
    config = replace(config, width=11, head_dim=5, context=17, steps=2)
    x, y = Brackets(max_length=13).sample(7, Generator().manual_seed(1))
    return Step(
        partial(dialectical.LanguageModel, config),
        lambda model, batch: brackets.loss(model, (batch["x"], batch["y"])),
        {"x": x, "y": y},
    )


HURRIED = equilibrium.Relaxation(2, 0.25)


def block(estimator: estimators.Estimator) -> Step:
    sizes = {"context": 7, "vocabulary": 11, "width": 6, "heads": 3}
    config = equilibrium.Config(**sizes, relaxation=HURRIED)
    return Step(
        partial(equilibrium.LanguageModel, config),
        lambda model, batch: estimators.loss(model, batch["pieces"], estimator),
        {"pieces": torch.randint(0, 11, (5, 8), generator=Generator().manual_seed(1))},
    )


def thinker(loss: str, **parts: Any) -> Step:
    sizes = {"vocabulary": 5, "cells": 16, "width": 14, "multiple": 3, "heads": 7, "layers": 1}
    config = trm.Config(**sizes, latent_steps=2, cycles=2, **parts)
    g = Generator().manual_seed(1)
    seats = 3
    puzzles, solutions = (torch.randint(low, 5, (seats, 16), generator=g) for low in (0, 1))
    shape = (seats, config.tokens, config.width)
    y, z = (torch.randn(shape, generator=g, dtype=torch.float64) for _ in range(2))

    def supervised(model: Any, batch: dict[str, Tensor]) -> Tensor:
        _, logits, halt = model(batch["puzzles"], trm.State(batch["y"], batch["z"]))
        answer = answer_loss(logits, batch["solutions"], loss)
        return answer + 0.5 * halting_loss(halt, solved(logits, batch["solutions"]))

    batch = {"puzzles": puzzles, "solutions": solutions, "y": y, "z": z}
    return Step(partial(trm.TRM, config), supervised, batch)


PUBLISHED = dialectical.PUBLISHED
STEPS: dict[str, Callable[[], Step]] = {
    **{f"deep_qkv {variant}": partial(sorter, variant) for variant in deep_qkv.VARIANTS},
    "deep_qkv without positions": partial(sorter, "gated", False),
    **{f"triple_product {score}": partial(copier, score) for score in triple_product.SCORES},
    "triple_product angle twice": partial(copier, "angle", 2),
    "triple_product expanded": partial(copier, "volume", 1, "expanded"),
    "dialectical published": partial(head, PUBLISHED),
    "dialectical mended": partial(head, replace(PUBLISHED, mask="causal")),
    "dialectical corrected": partial(head, dialectical.Config()),
    "dialectical of one stream": partial(head, dialectical.Config(streams=1)),
    "equilibrium AEP": partial(block, replace(estimators.AEP, relaxation=HURRIED)),
    "equilibrium naive": partial(
        block, replace(estimators.AEP, correction="none", relaxation=HURRIED)
    ),
    "equilibrium BPTT": partial(block, estimators.bptt),
    "trm softmax": partial(thinker, "softmax"),
    "trm stablemax": partial(thinker, "stablemax", norm="channels"),
    "trm attention": partial(thinker, "softmax", mixer="attention"),
}
