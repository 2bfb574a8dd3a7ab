"""The equilibrium explorer: a state that relaxes, is nudged, and whose difference is the gradient.

Two rings are pushed, on springs as stiff as the reader likes. Two neurons are nudged, and the
reader turns the street between them round. In the network the lesson's `estimators` run through the
reader's own `attn_notes.models.equilibrium`, and a small one is trained by them. All of it runs in
the page, rings and numbers by a formula, the rest by programs traced from torch on what is sent
from here. So the widget needs no kernel once a page is saved.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
import traitlets
from jaxtyping import Int
from torch import Generator, Tensor
from torch.func import grad, vjp

from attn_notes.models.equilibrium import Config, LanguageModel
from attn_notes.programs import initial, training
from attn_notes.programs.forward import forward
from attn_notes.tasks.prediction import token_losses
from attn_notes.tasks.text import Text
from book.kit import recorded
from book.lessons.equilibrium.estimators import asymmetry
from book.page.bundle import javascript, style
from book.page.shown import ModelsByName
from book.page.weights import named, pack

OPENS = {  # rem high as each opens: wide, on a page, on a phone
    "springs": (14.5, 15.0, 25.5),
    "row": (15.5, 15.5, 22.5),
    "numbers": (24.0, 24.0, 40.0),
    "limit": (24.0, 24.0, 40.0),
    "network": (41.5, 41.5, 63.0),
    "training": (30.0, 30.0, 34.0),
}
FRAMES = 60  # from rest to rest
RINGS = 7  # in a row
LINE = "To be, or not to b"
SHORTEST = 16  # characters, of the programs that read no more than so many


class _Parts(LanguageModel):
    """What the page does with a model, each a method to be traced.

    Rows of a state may be more than a text has characters: attention is causal, so what stands in
    those after it reaches none of the others.
    """

    def force(self, x: Tensor, z: Tensor) -> Tensor:
        """F(z; x)."""
        return self.block(z, x)

    def say(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of a state, and where each position looks: the mean over heads."""
        return self.unembedding(z), self.block.attend(z)[1].mean(-3)

    def slope(self, state: Tensor, wanted: Tensor) -> Tensor:
        """The gradient of −log p of a character, given one-hot, in the state of one position."""
        return grad(lambda z: -(self.unembedding(z).log_softmax(-1) * wanted).sum())(state)

    def back(self, z: Tensor, v: Tensor) -> Tensor:
        """Jᵀ v, with the Jacobian J = ∂F/∂z."""
        return vjp(self._field, z)[1](v)[0]

    def curl(self, z: Tensor, v: Tensor) -> Tensor:
        """(J − Jᵀ) v."""
        return asymmetry(self._field, z)(v)

    def cost(self, pieces: Tensor) -> Tensor:
        """The mean loss of predicting next characters."""
        return token_losses(self(pieces[:, :-1]), pieces).mean()

    def _field(self, z: Tensor) -> Tensor:
        return self.block(z, torch.zeros_like(z))  # J does not depend on x


@recorded.noted
def _programs(config: Config) -> list[dict[str, Any]]:
    """The network's programs, for texts of at most `length` characters, the shortest first."""
    lengths = [config.context]
    while lengths[0] > SHORTEST:
        lengths.insert(0, -(-lengths[0] // 2))
    return [{"length": length, "parts": _traced(config, length)} for length in lengths]


def _traced(config: Config, length: int) -> dict[str, str]:
    model = _Parts(config, Generator())
    z = torch.zeros(length, config.width)
    tokens = torch.zeros(length, dtype=torch.long)
    state, wanted = torch.zeros(config.width), torch.zeros(config.vocabulary)
    inputs: dict[str, dict[str, Tensor]] = {
        "embed": {"tokens": tokens},
        "force": {"x": z, "z": z},
        "say": {"z": z},
        "slope": {"state": state, "wanted": wanted},
        "back": {"z": z, "v": z},
        "curl": {"z": z, "v": z},
    }
    outputs = {part: (part,) for part in inputs} | {"say": ("logits", "attention")}
    return {
        part: forward(model, examples, outputs[part], method=part).module
        for part, examples in inputs.items()
    }


@recorded.noted
def _step(config: Config, loss: Callable[..., Any], batch: int) -> str:
    """One step of training: the loss, its gradient by one way, what is left of the force."""
    model = LanguageModel(config, Generator())
    return training.step(model, loss, _pieces(config, batch), has_aux=True).module


@recorded.noted
def _read(config: Config, count: int) -> str:
    """What a model loses on so many pieces."""
    model = _Parts(config, Generator())
    inputs = {"pieces": _pieces(config, count)}
    return forward(model, inputs, ("loss",), method="cost").module


def _pieces(config: Config, count: int) -> Tensor:
    return torch.zeros(count, config.context + 1, dtype=torch.long)


class EquilibriumExplorer(ModelsByName):
    """Two neurons to nudge, or models that you load, and may load again any time.

    >>> explorer = EquilibriumExplorer()
    >>> explorer
    EquilibriumExplorer: no model yet
    """

    _esm = javascript("equilibrium")
    _css = style("equilibrium")

    picture = traitlets.Enum(tuple(OPENS), default_value="numbers").tag(sync=True)

    # Two rings on springs: how stiff each spring is.
    left = traitlets.Float(1.0, min=1.0, max=5.0).tag(sync=True)
    middle = traitlets.Float(1.0, min=1.0, max=5.0).tag(sync=True)
    right = traitlets.Float(1.0, min=1.0, max=5.0).tag(sync=True)

    # A row of rings: how many were pushed in turn, whether the output was, and which was last.
    tried = traitlets.Int(0, min=0, max=RINGS).tag(sync=True)
    nudged = traitlets.Int(0, min=0, max=1).tag(sync=True)
    last = traitlets.Enum(("tried", "nudged"), default_value="tried").tag(sync=True)

    # Two neurons: who hears whom, the share of AEP's force, and how far the nudge has come. Of
    # "limited" the share is what the script's limit leaves.
    connected = traitlets.Enum(("one way", "both ways", "limited"), default_value="one way").tag(
        sync=True
    )
    turned = traitlets.Float(0.0, min=0.0, max=1.0).tag(sync=True)
    moved = traitlets.Int(0, min=0, max=FRAMES).tag(sync=True)

    # The network; runs: name -> {config, characters, programs, names, shapes, seeds, format,
    # weights}
    text = traitlets.Unicode(LINE).tag(sync=True)
    step = traitlets.Int(-1, min=-1).tag(sync=True)  # of the relaxation; -1: the last
    selected = traitlets.Int(-1, min=-1).tag(sync=True)  # character; -1: the one in the middle

    # What the page needs to train one: {config, characters, text, held, ways, read, draws,
    # optimizer, steps, every, governor, yardsticks}. Empty: it trains nothing.
    lesson = traitlets.Dict().tag(sync=True)

    @traitlets.default("connected")
    def _first_shown(self) -> str:
        return "limited" if self.picture == "limit" else "one way"

    @traitlets.validate("left", "middle", "right", "turned")
    def _number(self, proposal: traitlets.Bunch) -> Any:
        value = proposal["value"]
        if math.isnan(value):  # which is within any limits
            raise traitlets.TraitError(f"{proposal['trait'].name} cannot be {value}")
        return value

    @traitlets.validate("text")
    def _legal(self, proposal: traitlets.Bunch) -> str:
        text: str = proposal["value"]
        if not text:
            raise ValueError("the text is empty, and a model predicts from what came before")
        if self.run in self.runs:
            context = self.runs[self.run]["config"]["context"]
            if len(text) > context:
                raise ValueError(f"the model reads at most {context} characters, not {len(text)}")
            unknown = sorted(set(text) - set(self.runs[self.run]["characters"]))
            if unknown:
                raise ValueError(f"the model does not know {', '.join(map(repr, unknown))}")
        return text

    def load(
        self, name: str, numbers: Mapping[str, Tensor] | None, config: Config, characters: str
    ) -> None:
        """Show these models under this name; what was shown under it before is replaced.

        Weights are sent in half precision, and what is shown is computed from these.

        Args:
            name: what the reader chooses them by, such as "corrected".
            numbers: the parameters and, where the embedding is fixed, the buffers of m models
                stacked along a first dimension, as `attn_notes.training.ensemble.Run` has them:
                `run.parameters | run.buffers`; or None, for one as it starts, which the page draws.
            config: their parts and sizes.
            characters: the vocabulary in order, as `attn_notes.tasks.text.Text.characters` has it.

        Raises:
            ValueError: a name that is empty or too long, a relaxation that mixes states, characters
                that are too few, too many or stand there twice, or numbers whose names or shapes
                are not those of a `LanguageModel` with this config, or too large to be sent.
        """
        name = named(name)
        if config.relaxation.memory > 1:
            raise ValueError(
                "the page takes plain steps, no Anderson mixing: load the model with a relaxation "
                f"of memory 0, not {config.relaxation.memory}"
            )
        if len(characters) != config.vocabulary or len(set(characters)) != len(characters):
            raise ValueError(
                f"a vocabulary of {config.vocabulary} has as many different characters; these are "
                f"{len(characters)}, {len(set(characters))} of them different"
            )
        run = {
            "config": asdict(config),
            "characters": characters,
            "programs": _programs(config),
            **pack(partial(LanguageModel, config), numbers, "model", half=True),
        }
        with self.hold_sync():
            self._put(name, run)
            if self.run == name:  # what was read so far may not be in its vocabulary
                self.text = opening(self.text, characters, config.context)

    def teach(
        self,
        config: Config,
        text: Text,
        ways: Mapping[str, Callable[..., Any]],
        *,
        held: Int[Tensor, "n l"],
        batch: int,
        steps: int,
        every: int,
        optimizer: Mapping[str, Any],
        governor: Mapping[str, float],
        yardsticks: Mapping[str, float],
    ) -> None:
        """Let the reader train such a model in the page: the picture `training` shows where.

        Args:
            config: its parts and sizes.
            text: what it learns, in pieces of its context's length.
            ways: name → loss(model, pieces): a scalar whose gradient is what this way makes of it,
                and by name `left`, what is left of the force where the state should rest.
            held: pieces that a model is judged by.
            batch: pieces a step.
            steps: how long to train.
            every: how many steps from one judgement to the next.
            optimizer: AdamW's `rate`, `warmup`, and `rates`, what multiplies it, by parameter.
            governor: the `tolerance` of what is left, and the `factor` that the block is scaled by
                where more is.
            yardsticks: of two, name → what counting loses on the held pieces, in nats a character:
                from the first on a model is followed, below the second it is to end.

        Raises:
            ValueError: the model has another vocabulary than the text.
        """
        if config.vocabulary != len(text.characters):
            raise ValueError(
                f"the text has {len(text.characters)} different characters, and the model a "
                f"vocabulary of {config.vocabulary}"
            )
        # What has an order is a list: a saved page keeps names by the alphabet.
        self.lesson = {
            "config": asdict(config),
            "characters": text.characters,
            "text": text.decode(text.train.tolist()),
            "held": [text.decode(piece) for piece in held.tolist()],
            "ways": [[name, _step(config, loss, batch)] for name, loss in ways.items()],
            "read": _read(config, len(held)),
            "draws": initial.draws(partial(LanguageModel, config)),
            "optimizer": dict(optimizer),
            "steps": steps,
            "every": every,
            "governor": dict(governor),
            "yardsticks": [[name, nats] for name, nats in yardsticks.items()],
        }


def opening(text: str, characters: str, context: int) -> str:
    """What a model can read of a text, or else its vocabulary, so that there is something to see.

    >>> opening("To be, or not", "Tbeo, ", context=6)
    'To be,'
    >>> opening("To be, or not", "xyz", context=2)
    'xy'
    """
    known = "".join(character for character in text if character in characters)
    return (known or characters)[:context]
