"""What an attention is trained on, on the workbench: tasks of the book, at sizes for a page."""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn

from attn_notes.tasks import sorting
from attn_notes.tasks.brackets import PAD, Brackets
from attn_notes.tasks.brackets import VOCABULARY as CHARACTERS
from attn_notes.tasks.brackets import token_losses as bracket_losses
from attn_notes.tasks.copying import Copying
from attn_notes.tasks.prediction import token_losses
from attn_notes.tasks.text import FALLBACK
from attn_notes.training.comparison import BATCHES, adamw, held_out
from attn_notes.training.ensemble import Run, train
from attn_notes.training.schedules import warmup_cosine
from book.page.bench import model as bench
from book.page.bench.shannon import Ring

SEEDS = 8
RATES = (3e-3, 1e-2, 3e-2)
SWEPT = (100, 101)
"""A layer's own rate is the one of these at which these seeds, in no comparison, end lowest."""
WARMUP = 30
CLIP = 1.0
BATCH = 32
JUDGED = 2048  # sequences that recorded layers are judged on

Batch = dict[str, Tensor]


@dataclass(frozen=True)
class Task:
    """A task, and how long a layer learns it.

    Attributes:
        title: in a menu.
        says: what it is, in a sentence.
        asked: which of `bench.ASKED` makes a loss of it.
        sizes: vocabulary, length and layers of the model, and what `asked` reads besides.
        tokens: which of a batch are read in order.
        floor: below it no honest loss gets, in nats a prediction.
        steps: of training.
        sample: draws a batch of so many, or all there is.
        best: the loss of the best predictor on a batch, in nats a prediction.
        drawn: in a page fresh batches come from this task of the widgets, with these options; none
            where the batch stays.
    """

    title: str
    says: str
    asked: str
    sizes: Mapping[str, int]
    tokens: str
    floor: float
    steps: int
    sample: Callable[[int, Generator], Batch]
    best: Callable[[Batch], float]
    drawn: Mapping[str, Any] | None = None

    def outputs(self, model: Callable[..., Tensor], batch: Batch) -> dict[str, Tensor]:
        """Logits, the loss, and what else is judged."""
        found: dict[str, Tensor] = bench.ASKED[self.asked](model, batch, self.sizes)
        return found

    def models(self, source: str, seeds: tuple[int, ...]) -> list[nn.Module]:
        """Untrained ones, with the attention that some code defines."""
        space: dict[str, Any] = {"torch": torch, "nn": nn, "F": nn.functional}
        exec(compile(source, "<cell>", "exec"), space)
        with torch.random.fork_rng():
            return [bench.begun(space, source, self.sizes, seed) for seed in seeds]

    def trained(self, source: str, rate: float, seeds: tuple[int, ...]) -> Run:
        """Those, trained at a rate, and judged at the end: how far above the best each is."""
        judged = self.sample(JUDGED, held_out())
        best = self.best(judged)

        def above(model: Callable[..., Tensor]) -> dict[str, Tensor]:
            return {"above": self.outputs(model, judged)["loss"] - best}

        fixed = self.drawn is None
        return train(
            self.models(source, seeds),
            lambda model, batch: self.outputs(model, batch)["loss"],
            judged if fixed else partial(self.sample, BATCH),
            generators=None if fixed else [Generator().manual_seed(BATCHES + s) for s in seeds],
            steps=self.steps,
            optimizer=partial(adamw, lr=rate),
            schedule=warmup_cosine(self.steps, WARMUP),
            clip=CLIP,
            probe=above,
            probe_every=self.steps,
        )


def _sorting() -> Task:
    sequences = sorting.all_sequences()
    batch = {"tokens": sequences[:, :-1], "targets": sequences[:, 1:]}
    return Task(
        title="Sort three letters",
        says="Three letters of a, b, c, a bar, and the same letters sorted: all 27 in every step.",
        asked="sorting",
        sizes={"vocabulary": len(sorting.VOCABULARY), "length": sorting.LENGTH - 1, "layers": 1},
        tokens="tokens",
        floor=sorting.FLOOR,
        steps=400,
        sample=lambda n, generator: batch,
        best=lambda batch: sorting.FLOOR,
    )


def _copying(title: str, says: str, task: Copying, layers: int, steps: int) -> Task:
    sizes = {"vocabulary": task.vocabulary, "length": task.length, "layers": layers}

    def best(batch: Batch) -> float:
        x = batch["batch"]
        return float(token_losses(task.ideal(x[:, :-1]), x).mean())

    return Task(
        title=title,
        says=says,
        asked="copying",
        sizes={**sizes, "settled": task.settled.start},
        tokens="batch",
        floor=task.floor,
        steps=steps,
        sample=lambda n, generator: {"batch": task.sample(n, generator)},
        best=best,
        drawn={
            "task": "copying",
            "options": {
                "task": {**asdict(task), "periods": list(task.periods)},
                "count": 512,
                "every": steps,
                "tested": [],
            },
        },
    )


def _brackets(task: Brackets, steps: int) -> Task:
    def sample(n: int, generator: Generator) -> Batch:
        x, y = task.sample(n, generator)
        return {"batch.0": x, "batch.1": y}

    def best(batch: Batch) -> float:
        x, y = batch["batch.0"], batch["batch.1"]
        return float(bracket_losses(task.ideal(x), y).sum() / (y != PAD).sum())

    return Task(
        title="Close brackets",
        says=f"Strings of one to {task.pairs} pairs of brackets, with filler between.",
        asked="brackets",
        sizes={"vocabulary": len(CHARACTERS), "length": task.length, "layers": 1, "pad": PAD},
        tokens="batch.0",
        floor=task.floor,
        steps=steps,
        sample=sample,
        best=best,
        drawn={
            "task": "brackets",
            "options": {"task": asdict(task), "few": 32, "many": 512, "every": steps},
        },
    )


def _writing(letters: int, length: int, steps: int) -> Task:
    play = re.sub("[^a-z]+", " ", FALLBACK.read_text("utf-8").lower())
    ring = Ring(play[:letters], length)
    return Task(
        title="Go on with a text",
        says=(
            f"The first {letters} letters of Shakespeare’s Coriolanus as a source, after Shannon: "
            "after any two comes one that follows these two there."
        ),
        asked="writing",
        sizes={"vocabulary": len(ring.letters), "length": length, "layers": 1},
        tokens="batch",
        floor=ring.floor,
        steps=steps,
        sample=lambda n, generator: {"batch": ring.sample(n, generator)},
        best=lambda batch: float(ring.losses(batch["batch"]).mean()),
        drawn={
            "task": "shannon",
            "options": {"numbers": ring.numbers, "count": 512, "every": steps},
        },
    )


TASKS = {
    "sorting": _sorting(),
    "copying": _copying(
        "Copy",
        "Eight random letters of eight, and the same once more.",
        Copying(vocabulary=8, length=16, periods=(8,)),
        1,
        300,
    ),
    "periods": _copying(
        "Copy at two periods",
        "Five random letters of eight, or eight, again and again: which, has to be read off them.",
        Copying(vocabulary=8, length=20, periods=(5, 8)),
        2,
        500,
    ),
    "brackets": _brackets(Brackets(pairs=4, max_length=25), 300),
    "text": _writing(300, 16, 300),
}
