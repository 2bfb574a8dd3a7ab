"""Pages with the bracket generator; what a reader does there, their transcripts say."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.func import stack_module_state

from attn_notes.models.dialectical import Config
from attn_notes.tasks.brackets import Brackets
from book.lessons.dialectical import claims, evidence, figures, recipe
from book.lessons.dialectical.tests.models import SMALL, far_from_start, wanting
from book.lessons.dialectical.widget import BracketGenerator
from tests.transcripts.played import on_site


def lesson(**traits: Any) -> list[Any]:
    """The lesson's recorded models."""
    widget = BracketGenerator(**traits)
    for name, config in recipe.LESSON.items():
        widget.load(name, evidence.stacked(name), config)
    return [widget]


def odd(**traits: Any) -> list[Any]:
    """Models that want one thing only, one of a single stream, one without a number, two seeds."""
    widget, broken = BracketGenerator(Brackets(pairs=2, max_length=6), **traits), wanting()
    broken.token.weight.fill_(math.nan)
    for name, models in {
        **{f"wants {one}": [wanting(**{one: 40.0})] for one in ("open", "close", "pad")},
        "one stream": [far_from_start(Config(**SMALL, streams=1), 0)],
        "no number": [broken],
        "two seeds": [wanting(a=9.0), wanting(b=9.0)],
    }.items():
        widget.load(name, stack_module_state([*models])[0], models[0].config)
    return [widget]


def trained() -> list[Any]:
    """Models and a task that are learnt in a second, beside what shows such runs."""
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
