"""The page of a saved training step; what a reader does there, its transcript says."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Generator, nn

from attn_notes.programs import initial, training

from ..transcripts.played import Whole

HOW = dict(rate=0.01, steps=6, warmup=2, decay=0.1)


class Line(nn.Module):
    """Two layers, the first of which is as it was."""

    def __init__(self, generator) -> None:
        super().__init__()
        self.fixed, self.learnt = nn.Linear(3, 4), nn.Linear(4, 1)
        for p in self.parameters():
            nn.init.normal_(p, generator=generator)
        self.fixed.requires_grad_(False)

    def forward(self, x):
        return self.learnt(self.fixed(x).tanh())


def squares(model, batch):
    return (model(batch) - batch[:, :1]).square().mean()


def saved(folder):
    """A page that trains a line, its model, and three batches that it takes in turn."""
    model = Line(Generator().manual_seed(1)).double()
    batches = [torch.randn(8, 3, generator=Generator().manual_seed(i)).double() for i in range(3)]
    page = training.step(model, squares, batches[0]).save(
        folder,
        training.inputs(model, batches[0]),
        batches=[training.named(batch) for batch in batches],
        draws=initial.draws(Line),
        double=True,
        title="A line, <b>half</b> of it & more",
        **HOW,
    )
    return page, model, batches


def page():
    with TemporaryDirectory() as folder:
        return [Whole(saved(Path(folder))[0].read_text("utf-8"))]


PAGES = {"saved": page}
