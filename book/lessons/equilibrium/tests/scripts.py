"""Pages with the explorer and its panel; what a reader does there, their transcripts say."""

import os
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import torch
from torch import Generator

from attn_notes.models.equilibrium import LanguageModel, Relaxation
from attn_notes.tasks.text import FALLBACK, Text
from book.lessons.equilibrium import evidence, figures, lesson
from book.lessons.equilibrium.widget import EquilibriumExplorer
from tests.transcripts.played import on_site


@patch.dict(os.environ, FAST="1")
def network() -> list[Any]:
    """The recorded model, and two that read less and take too few steps to come to rest."""
    explorer = EquilibriumExplorer(text="To be To", picture="network")
    model, characters = evidence.trained()
    hurried = replace(model.config, context=3, relaxation=Relaxation(2, 0.25))
    drawn = [LanguageModel(hurried, Generator().manual_seed(seed)) for seed in (0, 1)]
    for name, models in (("trained", [model]), ("hurried", drawn)):
        each = [one.state_dict() for one in models]
        numbers = {key: torch.stack([one[key] for one in each]) for key in each[0]}
        explorer.load(name, numbers, models[0].config, characters)
    return [explorer]


@patch.dict(os.environ, FAST="1")
def panel() -> list[Any]:
    """What trains in the page, and its figure, without letters: their size is a machine's."""
    trainer = EquilibriumExplorer(picture="training")
    trainer.teach(**lesson.settings(Text.read(FALLBACK)) | {"steps": 40, "every": 10})
    picture = figures.in_page(evidence.in_page())
    for ax in picture.fig.axes:
        ax.set(xticks=[], yticks=[], xlabel="")
        for words in ax.texts:
            words.remove()
    return [trainer, picture]


PAGES = {
    "springs": lambda: on_site(EquilibriumExplorer(picture="springs")),
    "row": lambda: on_site(EquilibriumExplorer(picture="row")),
    "numbers": lambda: on_site(EquilibriumExplorer(), "mutual"),
    "limit": lambda: on_site(EquilibriumExplorer(picture="limit"), "half", "whole"),
    "network": lambda: on_site(*network()),
    "training": panel,
}
