"""Chapter 3's widget: what each character costs a model, and what a model writes.

The forward pass of `attn_notes.models.dialectical`, the best predictor of
`attn_notes.tasks.brackets` and what `attn_notes.tasks.grammar` leaves of what a model wants to
write run in JavaScript on the weights sent from here, so the widget needs no kernel once a page has
been saved.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import anywidget
import traitlets
from torch import Generator, Tensor

from attn_notes.models.dialectical import Config, LanguageModel
from attn_notes.tasks.brackets import PAD, VOCABULARY, Brackets, encode
from attn_notes.tasks.grammar import BRACKETS
from attn_notes.widgets._source import javascript, style
from attn_notes.widgets._weights import named, pack, summary

LARGEST_BUDGET = 60
HOTTEST = 2.0
VIEWS = ("losses", "writing")


class BracketGenerator(anywidget.AnyWidget):
    """Predicts a string and continues a prompt with models that you load, any time again.

    >>> generator = BracketGenerator()
    >>> generator
    BracketGenerator: no model yet

    Args:
        task: what the best predictor knows; the published settings if left out.
        traits: what the widget opens on, such as `view="writing"` or `text="(a)"`.
    """

    _esm = javascript("dialectical")
    _css = style("dialectical")

    # name -> {config, names, shapes, seeds, weights}. One trait, so that weights and the
    # description of them never arrive apart.
    runs = traitlets.Dict().tag(sync=True)
    run = traitlets.Unicode().tag(sync=True)
    seed = traitlets.Int(0, min=0).tag(sync=True)
    view = traitlets.Enum(VIEWS, default_value=VIEWS[0]).tag(sync=True)

    # Of the losses: the string, what it was before the reader last typed, and which of its
    # characters (from 0; -1: none) is taken and what stands in its place, if anything.
    task = traitlets.Dict().tag(sync=True)
    text = traitlets.Unicode("(()a(b))").tag(sync=True)
    before = traitlets.Unicode("").tag(sync=True)
    place = traitlets.Int(-1, min=-1).tag(sync=True)
    replacement = traitlets.Unicode("").tag(sync=True)

    # Of the writing.
    prompt = traitlets.Unicode("((").tag(sync=True)
    budget = traitlets.Int(20, min=0, max=LARGEST_BUDGET).tag(sync=True)
    temperature = traitlets.Float(0.0, min=0.0, max=HOTTEST).tag(sync=True)  # 0: the likeliest
    constrained = traitlets.Bool(True).tag(sync=True)  # by the grammar
    # A space where nothing is open is the end; else one more filler, and the model writes on.
    stop_on_closed = traitlets.Bool(True).tag(sync=True)
    draw = traitlets.Int(0, min=0).tag(sync=True)  # the seed of what is drawn by chance
    # Which written character is looked at; -1: where the grammar removed the most.
    selected = traitlets.Int(-1, min=-1).tag(sync=True)

    def __init__(self, task: Brackets | None = None, **traits: Any) -> None:
        super().__init__(task=asdict(task or Brackets()), **traits)

    @traitlets.validate("prompt")
    def _legal(self, proposal: traitlets.Bunch) -> str:
        prompt: str = proposal["value"]
        if not prompt:
            raise ValueError("the prompt is empty, and a model predicts from what came before")
        BRACKETS.read(prompt)
        return prompt

    @traitlets.validate("text")
    def _predictable(self, proposal: traitlets.Bunch) -> str:
        text: str = proposal["value"]
        if len(text) < 2:
            raise ValueError("the text has at least two characters: nothing predicts the first")
        if PAD in encode(text):
            raise ValueError(f"{VOCABULARY[PAD]!r} is padding and stands in no text")
        return text

    @traitlets.validate("replacement")
    def _one_character(self, proposal: traitlets.Bunch) -> str:
        character: str = proposal["value"]
        if len(character) > 1 or PAD in encode(character):
            raise ValueError(f"the replacement is one character or none, not {character!r}")
        return character

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
