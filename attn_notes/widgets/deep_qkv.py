"""The ABC sorter of chapter 1 as a widget: type three letters, see every step and every weight.

The forward pass runs in `deep_qkv.js` on the weights sent from here, so the widget needs no kernel
once a page has been saved. Weights travel as little-endian float32, exactly as they are.
"""

from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets
from torch import Generator, Tensor

from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.tasks import sorting
from attn_notes.widgets._source import javascript, style
from attn_notes.widgets._weights import pack, summary


class ABCSorter(anywidget.AnyWidget):
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

    # variant -> {config, names, shapes, seeds, weights}. One trait, so that weights and the
    # description of them never arrive apart.
    runs = traitlets.Dict().tag(sync=True)
    variant = traitlets.Enum(VARIANTS, default_value=VARIANTS[0]).tag(sync=True)
    seed = traitlets.Int(0, min=0).tag(sync=True)
    text = traitlets.Unicode("cab").tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._asked = traits.get("variant")  # not loaded yet

    @traitlets.validate("text")
    def _three_letters(self, proposal: traitlets.Bunch) -> str:
        text = proposal["value"].strip().lower()
        sorting.prompt(text)
        return text

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
        if variant not in VARIANTS:
            raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, not {variant!r}")
        if variant != config.variant:
            raise ValueError(f"the config is of a {config.variant} model, not of a {variant} one")
        run = {
            "config": {
                "rank": config.rank,
                "temperature": config.temperature,
                "embedding": config.embedding,
                "heads": config.heads,
                "scale": 1 / 3 if variant == "fixed_gate" else 1,  # of a base without a gate
            },
            **pack(Sorter(config, Generator()), parameters, "sorter"),
        }
        with self.hold_sync():
            self.runs = {**self.runs, variant: run}
            if self.variant not in self.runs or variant == self._asked:
                self.variant = variant
            if variant == self._asked:
                self._asked = None  # what is chosen from now on is chosen by the reader

    def __repr__(self) -> str:
        return f"ABCSorter: {summary(self.runs, 'variant')}"
