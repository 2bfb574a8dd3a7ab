"""A small model of the chapter that comes to rest, and a batch for it."""

import torch
from torch import Generator, Tensor

from attn_notes.models.equilibrium import Config, LanguageModel, Relaxation

LONG = Relaxation(steps=80, step=0.4)
SMALL = Config(vocabulary=7, context=5, width=10, heads=2, damping=1.0, relaxation=LONG)


def make(config: Config = SMALL, seed: int = 0) -> tuple[LanguageModel, Tensor]:
    generator = Generator().manual_seed(seed)
    model = LanguageModel(config, generator).double()
    return model, torch.randint(config.vocabulary, (3, config.context + 1), generator=generator)
