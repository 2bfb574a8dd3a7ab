"""Pages with the bracket generator; what a reader does there, their transcripts say."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Generator
from torch.func import stack_module_state

from attn_notes.models.dialectical import Config, LanguageModel
from attn_notes.tasks.brackets import VOCABULARY, Brackets
from book.lessons.dialectical import claims, evidence, figures, recipe
from book.lessons.dialectical.widget import BracketGenerator
from tests.transcripts.played import on_site

SMALL = dict(context=31, width=11, head_dim=5, steps=4, min_steps=2, tension_tau=0.3)


def wanting(**wishes: float) -> LanguageModel:
    """A model that has these logits, whatever it reads, and 0 for all other tokens."""
    model = LanguageModel(Config(**SMALL), Generator()).requires_grad_(False)
    names = {"open": "(", "close": ")", "space": " ", "pad": "_"}
    model.unembedding.weight.zero_()
    model.unembedding.bias.zero_()
    for name, logit in wishes.items():
        model.unembedding.bias[VOCABULARY.index(names.get(name, name))] = logit
    return model


def lesson(**traits: Any) -> list[Any]:
    widget = BracketGenerator(**traits)
    for name, config in recipe.LESSON.items():
        widget.load(name, evidence.stacked(name), config)
    return [widget]


def odd(**traits: Any) -> list[Any]:
    """Models that want one thing only, one of a single stream, one without a number, two seeds."""
    widget, broken = BracketGenerator(Brackets(pairs=2, max_length=6), **traits), wanting()
    broken.token.weight.fill_(math.nan)
    generator = Generator().manual_seed(0)
    far_from_its_start = LanguageModel(Config(**SMALL, streams=1), generator).requires_grad_(False)
    for p in far_from_its_start.parameters():
        p.mul_(1.5).add_(0.3 * torch.randn(p.shape, generator=generator))
    for name, models in {
        **{f"wants {one}": [wanting(**{one: 40.0})] for one in ("open", "close", "pad")},
        "one stream": [far_from_its_start],
        "no number": [broken],
        "two seeds": [wanting(a=9.0), wanting(b=9.0)],
    }.items():
        widget.load(name, stack_module_state([*models])[0], models[0].config)
    return [widget]


def trained() -> list[Any]:
    [widget] = lesson(text="()")
    sizes = {"width": 12, "head_dim": 6, "context": 16, "steps": 2}
    taught = {"rate": 0.02, "steps": 100, "batch": 16, "warmup": 5, "near": 0.05}
    for name, config in recipe.LESSON.items():
        widget.teach(name, replace(config, **sizes), Brackets(pairs=1, max_length=8), **taught)
    ends = {"as published": torch.full((3,), -0.2), "mask mended": torch.full((3,), 0.02)}
    curves = {name: torch.stack([end + 0.7, end]) for name, end in ends.items()}
    live = evidence.Live(torch.tensor([0, 100]), curves)
    table = claims.table(claims.lesson(evidence.recorded()), lesson="dialectical")
    return [*on_site(widget, "mended"), figures.falling(live), table.data]


PAGES = {
    "losses": lambda: on_site(*lesson(text="(a()")),
    "strings": partial(odd, text="()"),
    "writing": partial(lesson, view="writing", prompt="((", budget=4),
    "requests": partial(odd, view="writing", prompt="(", budget=2),
    "training": trained,
}
