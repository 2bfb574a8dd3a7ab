"""What somebody else writes with types: mypy reads it as strictly as they would; it never runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from attn_notes import doubt

TOKENS = torch.randint(9, (2, 6))
MODEL = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 9))


def of_logits(logits: Tensor, tokens: Tensor) -> Tensor:
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def call(model: nn.Module, tokens: Tensor) -> Tensor:
    made: Tensor = model(tokens)
    return made


def loss(model: nn.Module, tokens: Tensor) -> Tensor:
    return of_logits(call(model, tokens), tokens)


def backward(model: nn.Module, tokens: Tensor) -> None:
    loss(model, tokens).backward()


def of_batch(model: nn.Module) -> Tensor:
    return loss(model, TOKENS)


def cached(model: nn.Module, tokens: Tensor, sizes: Sequence[int]) -> Tensor:
    return torch.cat([call(model, piece) for piece in tokens.split(list(sizes), 1)], 1)


def make(generator: Generator) -> nn.Sequential:
    return MODEL


def draw(generator: Generator) -> Tensor:
    return torch.randint(9, (2, 6), generator=generator)


def train(rate: float, seeds: Sequence[int]) -> Tensor:
    return torch.tensor([rate + seed for seed in seeds])


def scored(tokens: Tensor) -> Tensor:
    return torch.zeros(tokens.shape)


if TYPE_CHECKING:
    report: doubt.Report = doubt.targets(loss, TOKENS, 9, model=MODEL)
    report = doubt.targets(of_logits, TOKENS, 9, weights=lambda x: x.double())
    report = doubt.targets(backward, TOKENS, 9, model=MODEL)
    report = doubt.slope(MODEL, of_batch)
    report = doubt.causal(MODEL, TOKENS, 9, call=call, cached=cached)
    report = doubt.proper(scored, TOKENS, 9)
    arm = doubt.arm(make, loss, draw, of_batch, steps=1)
    compared: doubt.Compared = doubt.compare(arm, train, [0.1])
    reports: list[doubt.Report] = doubt.doubted(model=MODEL, tokens=TOKENS, vocabulary=9, loss=loss)
