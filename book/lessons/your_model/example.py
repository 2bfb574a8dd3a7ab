"""A file as a reader has one: a small model, what it is trained on, and what its training asks."""

from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

VOCABULARY = 12


class Recurrent(nn.Module):
    """Reads from left to right, and cannot do otherwise."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(VOCABULARY, width), nn.Linear(width, VOCABULARY)
        self.cell = nn.GRU(width, width, batch_first=True)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [n, t] → logits [n, t, v]."""
        return self.head(self.cell(self.embed(tokens))[0])


def loss(model: nn.Module, tokens: Tensor) -> Tensor:
    """What a step of training asks."""
    return F.cross_entropy(model(tokens[:, :-1]).mT, tokens[:, 1:])


def make() -> dict[str, Any]:
    """All that is asked about."""
    torch.manual_seed(0)
    g = Generator().manual_seed(1)
    return {
        "model": Recurrent(),
        "loss": loss,
        "tokens": torch.randint(VOCABULARY, (8, 20), generator=g),
        "vocabulary": VOCABULARY,
    }
