"""A model that changes itself whenever it is called, and all that may not have changed after."""

import random

import numpy as np
import torch
from torch import Generator, nn
from torch.nn import functional as F

V = 5


def causal(x):
    """Reads the tokens before, all of them, each with another weight."""
    weight = torch.arange(1.0, x.shape[-1] + 1).sqrt()
    return (F.one_hot(x, V) * weight[:, None]).cumsum(-2)


class Model(nn.Module):
    """A past that is summed up, a norm over batch and time, and random numbers of every kind.

    It leaks by the norm in training mode, and by `ahead` whatever the mode. For itself it makes a
    cache, names, a table that it registers, an attribute, and numbers in place.
    """

    def __init__(self, *, norm, ahead=0.0) -> None:
        super().__init__()
        self.mix = nn.Linear(V, V)
        nn.init.eye_(self.mix.weight)
        self.norm = nn.BatchNorm1d(V) if norm else nn.Identity()
        self.drop = nn.Dropout(0.4)
        self.ahead, self.generator = ahead, Generator().manual_seed(3)
        self.cache, self.names, self.kept = [], {"a": 1}, torch.zeros(2)
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("last", None, persistent=False)

    def forward(self, x):
        past = causal(x).to(self.mix.bias)
        h = self.drop(self.mix(past)) + self.ahead * x.sum(1)[:, None, None]
        h = self.norm(h.mT).mT
        self.calls = self.calls + 1  # another tensor each time
        self.last = self.later = h
        self.register_buffer("table", torch.ones(2), persistent=False)
        self.cache.append(x)
        self.names["b"] = len(self.cache)
        self.kept[0] += 1
        own = torch.rand((), generator=self.generator)
        drawn = own + random.random() + np.random.random()
        return h + self.calls + drawn + len(self.cache) + self.kept[0]


def state(model):
    parts, weights = [*model.modules()], [*model.named_parameters()]
    return {
        "modes": [part.training for part in parts],
        "hooks": [len(part._forward_hooks) for part in parts],
        "attributes": [sorted(name for name in vars(part) if name[0] != "_") for part in parts],
        "parameters": {n: (id(p), p.dtype, p.tolist()) for n, p in weights},
        "slopes": {n: p.grad.tolist() for n, p in weights if p.grad is not None},
        "buffers": {n: (id(b), b.dtype, b.tolist()) for n, b in model.named_buffers()},
        "made": (model.last, [*model.cache], {*model.names}, model.kept.tolist()),
        "own": model.generator.get_state().tolist(),
        "torch": torch.get_rng_state().tolist(),
        "numpy": repr(np.random.get_state()),
        "python": random.getstate(),
        "default": torch.get_default_dtype(),
    }
