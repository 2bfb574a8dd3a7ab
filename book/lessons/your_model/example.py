"""A file as a reader has one: a small model, and a function that makes it."""

import torch
from torch import Generator, Tensor, nn

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


def make() -> tuple[nn.Module, Tensor, int]:
    """The model, texts to ask it about, and how many tokens there are."""
    torch.manual_seed(0)
    texts = torch.randint(VOCABULARY, (8, 20), generator=Generator().manual_seed(1))
    return Recurrent(), texts, VOCABULARY
