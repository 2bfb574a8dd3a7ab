"""The bracket generator: what each character costs a model, and what a model writes.

Forward pass and training step are torch's own, traced into programs that the page runs; the best
predictor of `attn_notes.tasks.brackets` and what `attn_notes.tasks.grammar` leaves of what a model
wants to write stand in JavaScript. So the widget needs no kernel once a page has been saved.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
import traitlets
from torch import Generator, Tensor, nn
from torch.func import functional_call

from attn_notes.models.dialectical import Config, LanguageModel
from attn_notes.programs import export, initial, training
from attn_notes.tasks.brackets import PAD, VOCABULARY, Batch, Brackets, encode, token_losses
from attn_notes.tasks.grammar import BRACKETS
from book.kit import recorded
from book.page.bundle import javascript, style
from book.page.shown import ModelsByName
from book.page.weights import named, pack

OPENS = {  # rem high as each view opens: wide, on a page, on a phone
    "losses": (32.0, 52.5, 59.5),
    "writing": (39.5, 39.5, 49.5),
}
LARGEST_BUDGET = 60
HOTTEST = 2.0
VIEWS = tuple(OPENS)
SHORT = 32  # characters: most texts are no longer, and a program for them takes half the time
OBSERVED = ("logits", "attention", "tension", "active")


class _Observer(nn.Module):
    """A model that gives all that the page draws of it."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> tuple[Tensor, ...]:
        logits, seen = self.model.observe(tokens)
        return logits, seen.attention, seen.tension, seen.active.to(logits.dtype)


@recorded.noted
def _observe(config: Config) -> list[tuple[int, str]]:
    """The forward pass for texts of up to so many characters, shorter ones padded."""
    model = LanguageModel(config, Generator()).double()
    observer = _Observer(model)

    def function(given: dict[str, Tensor]) -> dict[str, Tensor]:
        def look(weights: dict[str, Tensor]) -> Any:
            held = {f"model.{name}": weight for name, weight in weights.items()}
            return functional_call(observer, held, (given["tokens"],))

        # Where a gradient may be asked for, torch takes its cosine apart without an operation in
        # place, which a program does not have.
        seen = torch.func.vjp(look, {name: given[name] for name in weights})[0]
        return dict(zip(OBSERVED, seen, strict=True))

    weights = {name: p.detach() for name, p in model.named_parameters()}
    return [
        (n, export(function, {**weights, "tokens": torch.zeros(n, dtype=torch.long)}).module)
        for n in sorted({min(SHORT, config.context), config.context})
    ]


@recorded.noted
def _step(config: Config, length: int, batch: int) -> str:
    """One step of training: the loss, its gradient, and what each prediction costs."""

    def loss(model: Callable[[Tensor], Tensor], strings: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        x, y = strings
        costs = token_losses(model(x), y)
        return costs.sum() / (y != PAD).sum(), {"costs": costs}

    strings = torch.zeros(batch, length, dtype=torch.long)
    model = LanguageModel(config, Generator())
    return training.step(model, loss, (strings, strings.clone()), has_aux=True).module


def _check(config: Config) -> None:
    if config.vocabulary != len(VOCABULARY):
        raise ValueError(f"the task has {len(VOCABULARY)} tokens, not {config.vocabulary}")
    if config.pad != PAD:
        raise ValueError(f"the task's padding is token {PAD}, not {config.pad}")


class BracketGenerator(ModelsByName):
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

    # runs: name -> {config, observe, names, shapes, seeds, weights}
    # name -> {config, task, observe, step, draws, rate, steps, warmup, floor, near}: what the page
    # needs to train one.
    lessons = traitlets.Dict().tag(sync=True)
    view = traitlets.Enum(VIEWS, default_value=VIEWS[0]).tag(sync=True)
    views = traitlets.List(traitlets.Enum(VIEWS), default_value=[*VIEWS], minlen=1).tag(sync=True)

    # Of the losses: the string, what it was before the reader last typed, and which of its
    # characters (from 0; -1: none) is taken and what stands in its place, if anything.
    task = traitlets.Dict().tag(sync=True)
    text = traitlets.Unicode("(a)((b)a)").tag(sync=True)
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
        _check(config)
        packed = pack(partial(LanguageModel, config), parameters, "model")
        run = {"config": asdict(config), "observe": _observe(config), **packed}
        with self.hold_sync():
            self._put(name, run)

    def teach(
        self,
        name: str,
        config: Config,
        task: Brackets,
        *,
        rate: float,
        steps: int,
        batch: int,
        warmup: int,
        near: float,
    ) -> None:
        """Let the reader train such a model in the page.

        Args:
            name: what the reader chooses it by; another lesson of this name gives way.
            config: its parts and sizes.
            task: what it learns.
            rate: the highest learning rate, the one that the page offers first.
            steps: how long to train, likewise.
            batch: strings a step.
            warmup: steps in which the rate rises; then it falls along a cosine to a tenth.
            near: how close to the best predictor's loss is close enough, in nats.

        Raises:
            ValueError: a name, vocabulary or padding as in `load`.
        """
        name = named(name)
        _check(config)
        lesson = {
            "config": asdict(config),
            "task": asdict(task),
            "observe": _observe(config),
            "step": _step(config, task.length, batch),
            "draws": initial.draws(partial(LanguageModel, config)),
            "rate": rate,
            "steps": steps,
            "warmup": warmup,
            "floor": task.floor,
            "near": near,
        }
        self.lessons = {**self.lessons, name: lesson}
