"""What is trained, on what and how long: a table of pairs, which sees the last sign alone."""

from functools import partial

import torch
from torch import Generator, Tensor, nn

from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Run, train

SIGNS = len(sorting.VOCABULARY)
STEPS, RATE, SEEDS = 300, 0.1, range(8)


class Table(nn.Module):
    """Logits of the next sign, a row for each sign that may stand last."""

    def __init__(self, generator: Generator) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.randn(SIGNS, SIGNS, generator=generator))

    def forward(self, tokens: Tensor) -> Tensor:
        """[b t] to [b t v]."""
        return self.rows[tokens]


def loss(model: nn.Module, texts: Tensor) -> Tensor:
    """The mean loss over all 27 texts, in nats a sign."""
    return sorting.loss(model, texts)


def train_tables(device: str = "cpu") -> Run:
    """Train a table from each seed, all at once."""
    texts = sorting.population()
    return train(
        [Table(Generator().manual_seed(seed)) for seed in SEEDS],
        loss,
        texts,
        steps=STEPS,
        optimizer=partial(torch.optim.Adam, lr=RATE),
        probe=lambda model: {"loss": loss(model, texts.to(device))},
        probe_every=10,
        device=device,
    )


def best() -> float:
    """The least loss that any table can have: what is unknown of a sign where the last is known."""
    texts = sorting.all_sequences()
    pairs = torch.zeros(SIGNS, SIGNS)
    pairs.index_put_((texts[:, :-1], texts[:, 1:]), torch.tensor(1.0), accumulate=True)
    known = pairs.sum(1, keepdim=True)
    return float((-pairs * (pairs / known).clamp(min=1e-30).log()).sum() / pairs.sum())
