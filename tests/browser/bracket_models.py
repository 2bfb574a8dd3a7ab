"""Models of brackets for the browser's tests, and in the page."""

import base64
import itertools
from dataclasses import asdict
from typing import Any

import pytest
import torch
from torch import Generator
from torch.func import stack_module_state

from attn_notes.models.dialectical import PARTS, Config, LanguageModel
from attn_notes.tasks.brackets import VOCABULARY
from book.lessons.dialectical.widget import _observe
from book.page.weights import pack

from .asked import Asked

SMALL: dict[str, Any] = dict(
    context=31, width=11, head_dim=5, steps=4, min_steps=2, tension_tau=0.3
)
KINDS = [
    Config(
        **dict(zip(PARTS, kinds, strict=True)),
        streams=streams,
        tension_gate=tension_gate,
        learned_gate=learned_gate,
        **SMALL,
    )
    for kinds in itertools.product(*PARTS.values())
    for streams, tension_gate, learned_gate in (
        (2, True, True),
        (2, False, True),
        (1, True, True),
        (1, False, False),
    )
]
SOME = KINDS[::13]
"""Of each part both kinds. To trace one takes longer than to ask it, so tests ask the same few."""
SOME_OR_ALL = [pytest.param(SOME, id="some"), pytest.param(KINDS, id="all", marks=pytest.mark.long)]

# window.models: networks ready to run, of runs whose weights are in base64.
MAKE_MODELS = """async (runs) => {
  await widget.prepare(runs);
  window.models = runs.map(({ weights, ...run }) => {
    const bytes = Uint8Array.from(atob(weights), (character) => character.charCodeAt(0));
    return widget.make(run, widget.unpack({ ...run, weights: new DataView(bytes.buffer) }, 0));
  });
}"""


def send(ask: Asked, models: list[LanguageModel]) -> None:
    """Make models ready in the page, from here on in double precision here."""
    ask(MAKE_MODELS, [*map(run_of, models)])
    for model in models:
        model.double()


def run_of(model: LanguageModel) -> dict[str, Any]:
    """A run of one seed, as a page saves it."""
    packed = pack(lambda _: model, stack_module_state([model])[0], "model")
    weights = base64.b64encode(packed.pop("weights")).decode()
    observe = _observe(model.config)
    return {"config": asdict(model.config), "observe": observe, **packed, "weights": weights}


def far_from_start(config: Config, seed: int) -> LanguageModel:
    generator = Generator().manual_seed(seed)
    model = LanguageModel(config, generator).requires_grad_(False)
    for p in model.parameters():
        p.mul_(1.5).add_(0.3 * torch.randn(p.shape, generator=generator))
    return model


def wanting(**wishes: float) -> LanguageModel:
    """A model that has these logits, whatever it reads, and 0 for all other tokens."""
    model = LanguageModel(Config(**SMALL), Generator()).requires_grad_(False)
    names = {"open": "(", "close": ")", "space": " ", "pad": "_"}
    model.unembedding.weight.zero_()
    model.unembedding.bias.zero_()
    for name, logit in wishes.items():
        model.unembedding.bias[VOCABULARY.index(names.get(name, name))] = logit
    return model
