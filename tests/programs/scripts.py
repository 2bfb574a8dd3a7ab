"""What a reader does on the page of a saved training step, a line each; why stands above some."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Generator, Tensor, nn

from attn_notes.programs import initial, training

from ..transcripts.played import Whole

HOW: dict[str, Any] = dict(rate=0.01, steps=6, warmup=2, decay=0.1)


class Line(nn.Module):
    """Two layers, the first of which is as it was."""

    def __init__(self, generator: Generator) -> None:
        super().__init__()
        self.fixed, self.learnt = nn.Linear(3, 4), nn.Linear(4, 1)
        for p in self.parameters():
            nn.init.normal_(p, generator=generator)
        self.fixed.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.learnt(self.fixed(x).tanh())


def squares(model: Any, batch: Tensor) -> Tensor:
    return (model(batch) - batch[:, :1]).square().mean()


def saved(folder: Path) -> tuple[Path, nn.Module, list[Tensor]]:
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


def page() -> list[Whole]:
    with TemporaryDirectory() as folder:
        return [Whole(saved(Path(folder))[0].read_text("utf-8"))]


SAVED = """
# to its end, once more to the same, and what was learnt is a file
press Train
press Start again
press Train
press Download the weights
# of another seed it starts elsewhere, and of the same where it did; what is frozen stays
type "3" into #seed
press Train
type "4" into #seed
press Train
type "3" into #seed
press Train
# what cannot be is said, as a text, and nothing is trained until it can
type "-1" into #seed
press Train
type "<img src=x onerror=document.title='run'>" into #seed
press Train
type "" into #seed
type "0" into #rate
press Train
type "1e999" into #rate
type "0.01" into #rate
type "2.5" into #steps
press Train
type "<b>9" into #steps
type "9" into #steps
press Train
# it pauses and goes on; who starts again while it trains has step 0, and what comes late is nothing
press Start again
js document.querySelector("#train").click(); document.querySelector("#train").click()
press Train
press Start again
js document.querySelector("#train").click(); document.querySelector("#again").click()
press Train
# a loss that is lost is said to be
type "1e308" into #rate
press Train
# a Worker that does not begin is told, in whatever way it does not
reload
js hire("there is none")
press Train
reload
js hire("none may be made")
press Train
reload
js hire("it ends at once")
press Train
reload
js hire("it imports nothing")
press Train
reload
js hire("it says nothing")
press Train
"""

SCRIPTS = {"saved": (page, SAVED)}
