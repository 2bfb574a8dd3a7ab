"""Chapter 3's widget: a model writes brackets, freely or within the grammar.

The forward pass of `attn_notes.models.dialectical`, and what `attn_notes.tasks.grammar` leaves of
it, run in `dialectical.js` on the weights sent from here, so the widget needs no kernel once a page
has been saved.
"""

from collections.abc import Mapping
from dataclasses import asdict

import anywidget
import traitlets
from torch import Generator, Tensor

from attn_notes.models.dialectical import Config, LanguageModel
from attn_notes.tasks.brackets import PAD, VOCABULARY
from attn_notes.tasks.grammar import BRACKETS
from attn_notes.widgets._source import javascript, style
from attn_notes.widgets._weights import named, pack, summary

LARGEST_BUDGET = 60
HOTTEST = 2.0


class BracketGenerator(anywidget.AnyWidget):
    """Continues a prompt with models that you load, and may load again any time.

    >>> generator = BracketGenerator()
    >>> generator
    BracketGenerator: no model yet
    """

    _esm = javascript("dialectical")
    _css = style("dialectical")

    # name -> {config, names, shapes, seeds, weights}. One trait, so that weights and the
    # description of them never arrive apart.
    runs = traitlets.Dict().tag(sync=True)
    run = traitlets.Unicode().tag(sync=True)
    seed = traitlets.Int(0, min=0).tag(sync=True)
    prompt = traitlets.Unicode("((").tag(sync=True)
    budget = traitlets.Int(20, min=0, max=LARGEST_BUDGET).tag(sync=True)
    temperature = traitlets.Float(0.0, min=0.0, max=HOTTEST).tag(sync=True)  # 0: the likeliest
    constrained = traitlets.Bool(True).tag(sync=True)  # by the grammar
    draw = traitlets.Int(0, min=0).tag(sync=True)  # the seed of what is drawn by chance
    # Which written character is looked at; -1: where the grammar removed the most.
    selected = traitlets.Int(-1, min=-1).tag(sync=True)

    @traitlets.validate("prompt")
    def _legal(self, proposal: traitlets.Bunch) -> str:
        prompt: str = proposal["value"]
        if not prompt:
            raise ValueError("the prompt is empty, and a model predicts from what came before")
        BRACKETS.read(prompt)
        return prompt

    def load(self, name: str, parameters: Mapping[str, Tensor], config: Config) -> None:
        """Show these models under this name; what was shown under it before is replaced.

        Args:
            name: what the reader chooses them by, such as "corrected".
            parameters: the parameters of m models stacked along a first dimension, by the names
                of `LanguageModel.named_parameters()`, as `torch.func.stack_module_state` returns
                them.
            config: their parts and sizes.

        Raises:
            ValueError: a name that is empty or too long, another vocabulary or padding than the
                task's, or parameters whose names or shapes are not those of a `LanguageModel`
                with this config.
        """
        name = named(name)
        if config.vocabulary != len(VOCABULARY):
            raise ValueError(f"the task has {len(VOCABULARY)} tokens, not {config.vocabulary}")
        if config.pad != PAD:
            raise ValueError(f"the task's padding is token {PAD}, not {config.pad}")
        model = LanguageModel(config, Generator())
        run = {"config": asdict(config), **pack(model, parameters, "model")}
        with self.hold_sync():
            self.runs = {**self.runs, name: run}
            if self.run not in self.runs:
                self.run = name

    def __repr__(self) -> str:
        return f"BracketGenerator: {summary(self.runs, 'model')}"
