"""Attention, seen whole: a sorter's forward pass as pictures that follow a word.

A page has one `SeenWhole` with models in it, and pictures of them, `seen.show("scores", …)`, each
where the text speaks of it. They share what the reader chooses. Forward pass and training step are
torch's own, traced into programs that the page runs.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
import traitlets
from torch import Generator, Tensor

from attn_notes.models.deep_qkv import Config
from attn_notes.programs import initial, training
from attn_notes.programs.forward import forward
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Model
from book.kit import recorded
from book.lessons.attention.whole import Whole, WholeSorter, causal
from book.page.bundle import javascript, style
from book.page.shown import Models
from book.page.weights import named, pack

CONFIG = Config("plain")
LAST = sorting.LENGTH - 2  # place that asks
OPENS = {  # rem high as each picture opens: wide, on a page, on a phone
    "glance": (24.0, 21.5, 18.0),  # by itself, with its word below: 26, 26, 20
    "rows": (24.0, 24.0, 28.0),
    "query": (19.0, 19.0, 22.0),
    "scores": (31.0, 31.0, 42.0),
    "triangle": (32.0, 32.0, 26.0),
    "shares": (23.0, 23.0, 41.0),
    "mixtures": (25.0, 25.0, 40.0),
    "stream": (19.0, 19.0, 25.0),
    "chances": (21.0, 21.0, 21.0),
    "writing": (58.0, 58.0, 46.0),
    "price": (22.0, 22.0, 20.0),
    "race": (25.0, 25.0, 25.0),
    "unmasked": (29.0, 29.0, 21.0),
}


def _build(generator: Generator) -> WholeSorter:
    return WholeSorter(CONFIG, generator)


@recorded.noted
def _observe() -> str:
    """The forward pass on all 27 texts at once, and all that it makes on the way."""
    t = sorting.LENGTH - 1
    h, d = CONFIG.heads, CONFIG.embedding // CONFIG.heads
    given = {
        "tokens": sorting.all_sequences()[:, :t].contiguous(),
        "may_read": causal(t),
        "turned": torch.zeros(h, t, d),
        "held": torch.zeros(h, t, t),
    }
    return forward(_build(Generator()), given, Whole._fields, method="whole").module


@recorded.noted
def _step(loss: Callable[[Model, Tensor], Tensor], clip: float) -> str:
    """One step of training: the loss and its gradient."""
    may_read = causal(sorting.LENGTH - 1)
    return training.step(_build(Generator()), loss, may_read, clip=clip).module


class SeenWhole(Models):
    """The reader's word and the models that all pictures of a page show.

    >>> SeenWhole()
    SeenWhole: no model yet

    Args:
        traits: what it opens on, such as the word or the place that asks.
    """

    _esm = javascript("attention")
    _css = style("attention")

    picture = traitlets.Enum(tuple(OPENS), default_value="glance").tag(sync=True)
    title = traitlets.Unicode("Attention, seen whole").tag(sync=True)
    word = traitlets.Unicode("cab").tag(sync=True)
    # that asks: at first the first letter that is written
    place = traitlets.Int(sorting.LETTERS_PER_WORD + 1, min=0, max=LAST).tag(sync=True)
    # runs: name -> {mask, order, names, shapes, seeds, weights}
    program = traitlets.Unicode().tag(sync=True)
    # what the first press of the training is called, where it stands without the other pictures
    invites = traitlets.Unicode().tag(sync=True)
    # {seed, weights, step, draws, rate, steps, warmup, floor, curve}: what training one needs
    lesson = traitlets.Dict().tag(sync=True)

    @traitlets.validate("word")
    def _three_letters(self, proposal: traitlets.Bunch) -> str:
        word = proposal["value"].strip().lower()
        sorting.prompt(word)
        return word

    def load(self, name: str, parameters: Mapping[str, Tensor], *, mask: bool) -> None:
        """Show this model too, or in the place of one of that name; the first is shown at first.

        Args:
            name: how a reader chooses it.
            parameters: of a plain `Sorter`, by their names.
            mask: whether places are kept from reading ahead.

        Raises:
            ValueError: no name, or parameters that are not those of a plain sorter.
        """
        stacked = {key: value[None] for key, value in parameters.items()}
        order = self.runs.get(name.strip(), {"order": len(self.runs)})["order"]
        run = {**pack(_build, stacked, "sorter"), "mask": mask, "order": order}
        runs = {**self.runs, named(name): run}
        with self.hold_sync():
            self.program, self.runs = _observe(), runs

    def teach(
        self,
        loss: Callable[[Model, Tensor], Tensor],
        *,
        clip: float,
        rate: float,
        steps: int,
        warmup: int,
        curve: Sequence[tuple[int, float]] = (),
        start: tuple[int, Mapping[str, Tensor]] | None = None,
    ) -> None:
        """Let the reader train sorters in the page, with the mask and without.

        Args:
            loss: of a model and what each place may read.
            clip: the largest norm of a gradient.
            rate: the highest learning rate.
            steps: how long.
            warmup: steps in which the rate rises; then it falls along a cosine to a tenth.
            curve: steps and losses of one with the mask, to stand beside the first press.
            start: the first seed, and the weights that it begins with; of others they are drawn.
        """
        seed, weights = start or (0, {})
        self.lesson = {
            "seed": seed,
            "weights": {name: value.flatten().tolist() for name, value in weights.items()},
            "step": _step(loss, clip),
            "draws": initial.draws(_build),
            "rate": rate,
            "steps": steps,
            "warmup": warmup,
            "floor": sorting.FLOOR,
            "curve": [*curve],
        }

    def show(self, picture: str, title: str) -> "SeenWhole":
        """One of the pictures of the page's models, which this one brings."""
        return SeenWhole(picture=picture, title=title)

    def __repr__(self) -> str:
        if self.picture != "glance":
            return f"SeenWhole: {self.picture}"
        return super().__repr__()
