"""Layers of torch itself, each in a small language model."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

V, T, WIDTH = 7, 5, 6
TEXT = torch.randint(V, (3, T), generator=Generator().manual_seed(1))


class InALanguageModel(nn.Module):
    """Embeds, goes through the layer, and scores."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.embed, self.layer, self.head = nn.Embedding(V, WIDTH), layer, nn.Linear(WIDTH, V)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(self.embed(x)))


def next_token(model: Any, batch: dict[str, Tensor]) -> Tensor:
    logits = model(batch["x"])[:, :-1]
    return F.cross_entropy(logits.flatten(0, 1), batch["x"][:, 1:].flatten())


class Does(nn.Module):
    def __init__(self, does: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.does = does

    def forward(self, h: Tensor) -> Tensor:
        return self.does(h)


class Heads(nn.Module):
    def __init__(self, weights: bool) -> None:
        super().__init__()
        self.heads, self.weights = nn.MultiheadAttention(WIDTH, 2, batch_first=True), weights

    def forward(self, h: Tensor) -> Tensor:
        hidden = torch.ones(h.shape[1], h.shape[1], dtype=torch.bool).triu(1)
        return self.heads(h, h, h, attn_mask=hidden, need_weights=self.weights)[0]


class Encoder(nn.Module):
    def __init__(self, **settings: Any) -> None:
        super().__init__()
        sizes = dict(d_model=WIDTH, nhead=2, dim_feedforward=8, dropout=0.0, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(**sizes, **settings)

    def forward(self, h: Tensor) -> Tensor:
        t = h.shape[1]
        return self.layer(h, src_mask=h.new_full((t, t), -math.inf).triu(1))


class Along(nn.Module):
    """A layer that wants channels first, and `left` zeros before the text."""

    def __init__(self, layer: nn.Module, left: int = 0) -> None:
        super().__init__()
        self.layer, self.left = layer, left

    def forward(self, h: Tensor) -> Tensor:
        return self.layer(F.pad(h.mT, (self.left, 0))).mT


class First(nn.Module):
    """A layer whose states are the first that it returns."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, h: Tensor) -> Tensor:
        return self.layer(h)[0]


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "scaled_dot_product_attention": lambda: Does(
        lambda h: F.scaled_dot_product_attention(h, h.tanh(), h, is_causal=True)
    ),
    "MultiheadAttention": lambda: Heads(False),
    "MultiheadAttention with weights": lambda: Heads(True),
    "TransformerEncoderLayer": Encoder,
    "TransformerEncoderLayer, norm first": lambda: Encoder(norm_first=True, activation="gelu"),
    "GELU": nn.GELU,
    "GELU by tanh": lambda: nn.GELU("tanh"),
    "Conv1d": lambda: Along(nn.Conv1d(WIDTH, WIDTH, 3), 2),
    "Conv1d of groups, wide": lambda: Along(nn.Conv1d(WIDTH, WIDTH, 2, dilation=2, groups=3), 2),
    "Conv1d padded, without bias": lambda: Along(
        nn.Conv1d(WIDTH, WIDTH, 5, stride=1, padding=2, bias=False)
    ),
    "cumsum": lambda: Does(lambda h: h.cumsum(1)),
    "GroupNorm": lambda: Along(nn.GroupNorm(3, WIDTH)),
    "BatchNorm1d": lambda: Along(nn.BatchNorm1d(WIDTH, track_running_stats=False)),
    "GRU": lambda: First(nn.GRU(WIDTH, WIDTH, batch_first=True)),
    "LSTM": lambda: First(nn.LSTM(WIDTH, WIDTH, batch_first=True)),
    "RNN": lambda: First(nn.RNN(WIDTH, WIDTH, batch_first=True)),
}
