"""The triple product's explorer: a space to turn, where a key scores by the volume that it spans.

By hand the reader moves q, r and three keys. In a trained head the same space shows the vectors of
models: those that the notebook has trained, or one that the reader trains in the page. Forward pass
and training step are torch's own, traced into programs that the page runs, so the widget needs no
kernel once a page has been saved.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from string import ascii_lowercase
from typing import Any

import torch
import traitlets
from torch import Generator, Tensor

from attn_notes.models.triple_product import AttentionOnly, Config
from attn_notes.programs import initial, training
from attn_notes.programs.forward import forward
from attn_notes.tasks.copying import Copying
from book.kit import recorded
from book.page.bundle import javascript, style
from book.page.shown import ModelsByName
from book.page.weights import named, pack

OPENS = {  # rem high as each opens: wide, on a page, on a phone
    "head": (31.5, 48.0, 60.0),
    "hand": (41.0, 57.5, 62.5),
}
SHOWN = ("dot", "volume", "angle")  # kinds of score
LONGEST_TEXT = 40


class _Shown(AttentionOnly):
    """A network with what the page draws of it."""

    def shown(self, tokens: Tensor, loudness: Tensor) -> tuple[Tensor, ...]:
        # Where a gradient may be asked for torch takes its RMSNorm apart without an operation in
        # place, which a program does not have.
        return tuple(torch.func.vjp(partial(self.look, tokens), loudness)[0])


@recorded.noted
def _observe(config: Config) -> str:
    """The forward pass on the longest text, one token of it louder: all that is drawn of it."""
    names = ("logits", "attention", "scores", "q", "k", *(["r"] if config.score != "dot" else []))
    text = {
        "tokens": torch.zeros(LONGEST_TEXT, dtype=torch.long),
        "loudness": torch.ones(LONGEST_TEXT, dtype=torch.double),
    }
    return forward(_Shown(config, Generator()).double(), text, names, method="shown").module


@recorded.noted
def _step(config: Config, task: Copying, batch: int) -> str:
    """One step of training: the loss, its gradient, and which predictions are right.

    Of the task only the sizes count, and from where on a token can be known.
    """

    def loss(model: Callable[[Tensor], Tensor], sequences: Tensor) -> tuple[Tensor, dict[str, Any]]:
        logits = model(sequences[:, :-1])
        right = (logits.argmax(-1) == sequences[:, 1:]).float()
        found = task.probe(lambda _: logits, sequences)
        return found["loss"], {"accuracy": found["accuracy"], "right": right}

    sequences = torch.zeros(batch, task.length, dtype=torch.long)
    return training.step(AttentionOnly(config, Generator()), loss, sequences, has_aux=True).module


def _sizes(config: Config) -> dict[str, Any]:
    return {
        "score": config.score,
        "vocabulary": config.vocabulary,
        "width": config.width,
        "heads": config.heads,
        "d": config.d,
        "layers": config.layers,
        "residual": config.residual,
    }


def _draws_from(task: Copying) -> dict[str, Any]:
    return {
        "vocabulary": task.vocabulary,
        "periods": list(task.periods),
        "length": task.length,
        "floor": task.floor,
    }


def _check(config: Config, task: Copying) -> None:
    if config.score not in SHOWN:
        raise ValueError(f"the explorer shows dot, volume and angle, not {config.score}")
    if config.vocabulary > len(ascii_lowercase):
        raise ValueError(f"a token is shown as a letter, so not {config.vocabulary} of them")
    if task.vocabulary != config.vocabulary:
        raise ValueError(
            f"the task has {task.vocabulary} tokens and the network {config.vocabulary}"
        )
    if task.length > LONGEST_TEXT:
        raise ValueError(f"sequences of {LONGEST_TEXT} tokens can be shown, not of {task.length}")


class TripleProductExplorer(ModelsByName):
    """Arrows to drag, and the attention of models that you load, and may load again any time.

    >>> explorer = TripleProductExplorer()
    >>> explorer
    TripleProductExplorer: no model yet
    """

    _esm = javascript("triple_product")
    _css = style("triple_product")

    # What there is to look at; where that is one thing, it is shown without a choice.
    modes = traitlets.List(["hand", "head"]).tag(sync=True)
    mode = traitlets.Enum(tuple(OPENS), default_value="hand").tag(sync=True)

    # By hand: {q, r, keys, lengths}, and which key is selected. Empty is the scene it starts with.
    vectors = traitlets.Dict().tag(sync=True)
    selected = traitlets.Int(1, min=0, max=2).tag(sync=True)

    # In a trained head; runs: name -> {config, observe, names, shapes, seeds, weights}
    # score and layers -> {config, tasks, observe, step, draws, rate, steps, warmup, copied}: what
    # the page needs to train one.
    lessons = traitlets.Dict().tag(sync=True)
    layer = traitlets.Int(0, min=0).tag(sync=True)
    head = traitlets.Int(0, min=0).tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)
    position = traitlets.Int(0, min=0).tag(sync=True)  # of the query
    key = traitlets.Int(-1, min=-1).tag(sync=True)  # -1: the one that is attended to most
    loudness = traitlets.Float(1.0, min=0.1, max=100.0).tag(sync=True)  # of that key's token

    @traitlets.validate("text")
    def _letters(self, proposal: traitlets.Bunch) -> str:
        text = proposal["value"].lower()
        vocabulary = self.runs[self.run]["config"]["vocabulary"] if self.run in self.runs else 26
        letters = ascii_lowercase[:vocabulary]
        if not 1 <= len(text) <= LONGEST_TEXT or not set(text) <= set(letters):
            raise ValueError(
                f"the text must be 1 to {LONGEST_TEXT} letters from a to {letters[-1]}, "
                f"not {text!r}"
            )
        return text

    def load(
        self, name: str, parameters: Mapping[str, Tensor], config: Config, task: Copying
    ) -> None:
        """Show these models under this name; what was shown under it before is replaced.

        Weights are sent in half precision, and what is shown is computed from these.

        Args:
            name: what the reader chooses them by, such as "volume, one layer".
            parameters: the parameters of m networks stacked along a first dimension, by the names
                of `AttentionOnly.named_parameters()`, as `torch.func.stack_module_state` returns
                them.
            config: the sizes of these networks and their kind of score.
            task: what they were trained on; sequences are drawn from it.

        Raises:
            ValueError: a name that is empty or too long, a kind of score that is not shown, more
                tokens than there are letters, a task with another vocabulary or with sequences too
                long to show, or parameters whose names or shapes are not those of an
                `AttentionOnly` with this config.
        """
        name = named(name)
        _check(config, task)
        run = {
            "config": {**_sizes(config), "periods": list(task.periods), "length": task.length},
            "observe": _observe(config),
            **pack(partial(AttentionOnly, config), parameters, "network", half=True),
        }
        with self.hold_sync():
            self._put(name, run)
            if not self.text:
                tokens = task.sample(1, Generator().manual_seed(0))[0].tolist()
                self.text = "".join(ascii_lowercase[token] for token in tokens)
                self.position = task.length - 2  # the last token is known, and can be checked

    def teach(
        self,
        config: Config,
        tasks: Sequence[Copying],
        *,
        rate: float,
        steps: int,
        batch: int,
        warmup: int,
        copied: float,
    ) -> None:
        """Let the reader train such networks in the page.

        Args:
            config: their sizes and their kind of score; another of the same score and as many
                layers gives way.
            tasks: what they may learn, alike but for the periods, which have one largest.
            rate: the highest learning rate, the one that the page offers first.
            steps: how long to train, likewise.
            batch: sequences a step.
            warmup: steps in which the rate rises; then it falls along a cosine to a tenth.
            copied: the share of copies right that counts as copying, from above 0 to 1.

        Raises:
            ValueError: as `load` does.
        """
        for task in tasks:
            _check(config, task)
        lesson = {
            "config": _sizes(config),
            "tasks": [_draws_from(task) for task in tasks],
            "observe": _observe(config),
            "step": _step(config, tasks[0], batch),
            "draws": initial.draws(partial(AttentionOnly, config)),
            "rate": rate,
            "steps": steps,
            "warmup": warmup,
            "copied": copied,
        }
        self.lessons = {**self.lessons, f"{config.score} {config.layers}": lesson}
