"""Every kind of model of brackets, here and in the page."""

import base64
import itertools
from dataclasses import asdict
from typing import Any

import pytest
from torch.func import stack_module_state

from attn_notes.models.dialectical import PARTS, Config, LanguageModel
from book.lessons.dialectical.tests.models import SMALL
from book.lessons.dialectical.widget import _observe
from book.page.weights import pack

from .asked import Asked

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
