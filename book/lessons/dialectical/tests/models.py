"""Models of brackets that are small, far from their start, or want one thing only."""

import torch
from torch import Generator

from attn_notes.models.dialectical import Config, LanguageModel
from attn_notes.tasks.brackets import VOCABULARY

SMALL = dict(context=31, width=11, head_dim=5, steps=4, min_steps=2, tension_tau=0.3)


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
