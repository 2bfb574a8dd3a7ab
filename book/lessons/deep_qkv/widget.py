"""The ABC sorter as a widget: type three letters, see every step, train it; and a race of many.

Forward pass and training step are torch's own, traced into programs that the page runs, so the
widget needs no kernel once a page has been saved. Weights travel as little-endian float32, exactly
as they are.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import traitlets
from torch import Generator, Tensor

from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.programs import initial, training
from attn_notes.programs.forward import forward
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Run
from book.kit import recorded
from book.page.bundle import javascript, style
from book.page.shown import Models
from book.page.weights import pack

OPENS = {  # rem high as each opens: wide, on a page, on a phone
    "training": (51.5, 75.0, 95.0),
    "race": (35.5, 36.5, 39.5),
}
CLIP = 1.0  # largest norm of a gradient, as in the notebook

LOSSES = {
    "all": ("all six", sorting.ALL, sorting.FLOOR),
    "knowable": ("the four it can know", sorting.KNOWABLE, 0.0),
    "answer": ("the three of the answer", sorting.OUTPUTS, 0.0),
}
"""Which predictions a loss may count in the page: its name there, which these are, its floor."""


@recorded.noted
def _observe(config: Config) -> str:
    """The forward pass on all 27 inputs at once: their logits and each head's attention."""
    tokens = sorting.all_sequences()[:, :-1].contiguous()
    model = Sorter(config, Generator())
    return forward(model, {"tokens": tokens}, ("logits", "attention"), method="observe").module


@recorded.noted
def _step(config: Config) -> str:
    """One step of training: the loss and its gradient."""
    batch = {"tokens": sorting.all_sequences(), "counted": sorting.counted(sorting.ALL)}
    return training.step(Sorter(config, Generator()), sorting.counted_loss, batch, clip=CLIP).module


def _check(variant: str, config: Config) -> None:
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, not {variant!r}")
    if variant != config.variant:
        raise ValueError(f"the config is of a {config.variant} model, not of a {variant} one")


class ABCSorter(Models):
    """A text box that sorts three letters with models that you load, and may load again any time.

    >>> sorter = ABCSorter(variant="plain", seed=3)
    >>> sorter
    ABCSorter: no model yet

    Args:
        traits: what it opens on, such as the variant, the seed and the text. A variant that is not
            loaded, or a seed that its models do not have, gives way to one that there is.
    """

    _esm = javascript("deep_qkv")
    _css = style("deep_qkv")

    noun = "variant"

    picture = traitlets.Enum(tuple(OPENS), default_value="training").tag(sync=True)

    # The race: {steps, lanes: [[kind, name, words sorted at each step by each seed]]}. Which race,
    # how far it has come, and the sorter that is picked, counted along the lanes; -1: none.
    race = traitlets.Dict().tag(sync=True)
    racing = traitlets.Enum(("one of each", "all"), default_value="one of each").tag(sync=True)
    at = traitlets.Int(0, min=0).tag(sync=True)
    picked = traitlets.Int(-1, min=-1).tag(sync=True)

    # runs: variant -> {observe, names, shapes, seeds, weights}
    # variant -> {observe, step, draws, rate, steps, warmup}: what the page needs to train one.
    lessons = traitlets.Dict().tag(sync=True)
    variant = traitlets.Enum(VARIANTS, default_value=VARIANTS[0]).tag(sync=True)
    seed = traitlets.Int(0, min=0).tag(sync=True)
    text = traitlets.Unicode("cab").tag(sync=True)

    losses = traitlets.Dict(
        {
            key: {"label": label, "counted": sorting.counted(part).tolist(), "floor": floor}
            for key, (label, part, floor) in LOSSES.items()
        }
    ).tag(sync=True)
    sequences = traitlets.List(sorting.all_sequences().flatten().tolist()).tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._asked = traits.get("variant")  # not loaded yet

    @traitlets.validate("text")
    def _three_letters(self, proposal: traitlets.Bunch) -> str:
        text = proposal["value"].strip().lower()
        sorting.prompt(text)
        return text

    def enter(self, runs: Mapping[str, Run], names: Mapping[str, str]) -> None:
        """Let these kinds race, as they were trained.

        Args:
            runs: kind → its seeds, probed at the same steps.
            names: of those that race, what each lane is called, from above.
        """
        lanes = [
            [kind.replace(", ", "-"), name, runs[kind].history["solved"].tolist()]
            for kind, name in names.items()
        ]
        steps = runs[next(iter(names))].steps.tolist()
        self.race = {"steps": steps, "lanes": lanes}

    def load(self, variant: str, parameters: Mapping[str, Tensor], config: Config) -> None:
        """Show these models of one variant; what was shown of it before is replaced.

        Args:
            variant: the way the weights are made, one of `VARIANTS`.
            parameters: the parameters of m sorters stacked along a first dimension, by the names
                of `Sorter.named_parameters()`, as `torch.func.stack_module_state` returns them.
            config: the sizes of these sorters.

        Raises:
            ValueError: an unknown variant, one that is not the config's, or parameters whose
                names or shapes are not those of a `Sorter` with this config.
        """
        _check(variant, config)
        run = {
            **pack(partial(Sorter, config), parameters, "sorter"),
            "observe": _observe(config),
        }
        with self.hold_sync():
            self.runs = {**self.runs, variant: run}
            if self.variant not in self.runs or variant == self._asked:
                self.variant = variant
            if variant == self._asked:
                self._asked = None  # what is chosen from now on is chosen by the reader

    def teach(self, variant: str, config: Config, *, rate: float, steps: int, warmup: int) -> None:
        """Let the reader train sorters of this variant in the page.

        Args:
            variant: one of `VARIANTS`.
            config: the sizes of the sorters.
            rate: the highest learning rate, the one that the page offers first.
            steps: how long to train, likewise.
            warmup: steps in which the rate rises; then it falls along a cosine to a tenth.

        Raises:
            ValueError: an unknown variant, or one that is not the config's.
        """
        _check(variant, config)
        lesson = {
            "observe": _observe(config),
            "step": _step(config),
            "draws": initial.draws(partial(Sorter, config)),
            "rate": rate,
            "steps": steps,
            "warmup": warmup,
        }
        self.lessons = {**self.lessons, variant: lesson}
