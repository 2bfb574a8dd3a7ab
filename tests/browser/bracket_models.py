"""Models of brackets for the browser tests: made here, sent to a page, rebuilt from one."""

import base64
import itertools
from dataclasses import asdict
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page
from torch import Generator, Tensor
from torch.func import stack_module_state

from attn_notes.models.dialectical import PARTS, Config, LanguageModel
from attn_notes.tasks.brackets import VOCABULARY
from attn_notes.widgets._weights import pack
from attn_notes.widgets.dialectical import _observe

from ..packed import parameters
from .widget_page import FAKE_MODEL

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


def rebuild(run: dict[str, Any], seed: int = 0) -> LanguageModel:
    """A torch model with the weights that the page holds, in double precision."""
    model = LanguageModel(Config(**run["config"]), Generator())
    model.load_state_dict(parameters(run, seed))
    return model.double().requires_grad_(False)


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


def run_of(*models: LanguageModel) -> dict[str, Any]:
    """One run with a seed for each of these models, as a page saves it."""
    observe = _observe(models[0].config)
    packed = pack(lambda _: models[0], stack_module_state([*models])[0], "model")
    weights = base64.b64encode(packed.pop("weights")).decode()
    return {
        "config": asdict(models[0].config),
        "observe": observe,
        **packed,
        "weights": weights,
    }


def send(page: Page, models: list[LanguageModel]) -> None:
    page.evaluate(MAKE_MODELS, [run_of(model) for model in models])
    for model in models:
        model.double()


def close(actual: Any, expected: Tensor, atol: float = 1e-6) -> None:
    actual = torch.tensor(actual, dtype=torch.float64)
    torch.testing.assert_close(actual, expected.double(), atol=atol, rtol=0)


def put_in(page: Page, *models: LanguageModel, **traits: Any) -> Locator:
    """One more widget, which shows these models as seeds of one run; after READ_PAGE."""
    page.evaluate(FAKE_MODEL, {"runs": {}, "run": "one", "selected": -1, **traits})
    page.evaluate(
        """({ weights, ...run }) => {
          const bytes = Uint8Array.from(atob(weights), (character) => character.charCodeAt(0));
          return fake.set('runs', { one: { ...run, weights: new DataView(bytes.buffer) } });
        }""",
        run_of(*models),
    )
    return page.locator("#scratch")


def model_named(widget: Locator, name: str) -> Locator:
    return widget.get_by_role("radiogroup", name="Model").get_by_role(
        "radio", name=name, exact=True
    )


def take_model(widget: Locator, name: str) -> None:
    model_named(widget, name).check()
