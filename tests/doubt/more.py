"""Models besides those of `readers`, written after it: who leaks, and who does not."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

V, WIDTH = 9, 12


class Plain(nn.Module):
    """Embeds, reads, and scores; what it reads with is given."""

    def __init__(self, body: nn.Module | Callable[[Tensor], Tensor], width: int = WIDTH) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(V, WIDTH), nn.Linear(width, V)
        self.body = body

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(self.embed(x)))


class Recurrent(nn.Module):
    def __init__(self, both: bool) -> None:
        super().__init__()
        self.cell = nn.GRU(WIDTH, WIDTH, batch_first=True, bidirectional=both)

    def forward(self, h: Tensor) -> Tensor:
        return self.cell(h)[0]


class OfTorch(nn.Module):
    """torch's own encoder: `is_causal` is a hint, and without a mask it is refused or ignored."""

    def __init__(self, masked: bool) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.masked = masked

    def forward(self, h: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(h.shape[1]) if self.masked else None
        return self.layers(h, mask=mask, is_causal=self.masked)


class Heads(nn.Module):
    """torch's own heads, whose mask says who may not be read."""

    def __init__(self, right: bool) -> None:
        super().__init__()
        self.heads, self.right = nn.MultiheadAttention(WIDTH, 2, batch_first=True), right

    def forward(self, h: Tensor) -> Tensor:
        past = torch.ones(h.shape[1], h.shape[1], dtype=torch.bool).tril()
        return h + self.heads(h, h, h, attn_mask=~past if self.right else past.triu())[0]


class Window(nn.Module):
    """Reads the last three, or one beyond itself as well."""

    def __init__(self, ahead: int) -> None:
        super().__init__()
        self.ahead = ahead

    def forward(self, h: Tensor) -> Tensor:
        t = h.shape[1]
        apart = torch.arange(t)[:, None] - torch.arange(t)
        mask = (apart >= -self.ahead) & (apart < 3)
        return F.scaled_dot_product_attention(h, h, h, attn_mask=mask)


class Capacity(nn.Module):
    """An expert with room for a few tokens: the first that come, or the strongest."""

    def __init__(self, first: bool) -> None:
        super().__init__()
        self.router, self.expert, self.first = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, WIDTH), first

    def forward(self, h: Tensor) -> Tensor:
        wanted = self.router(h)[..., 0]
        if self.first:
            taken = (wanted > 0) & ((wanted > 0).cumsum(1) <= 4)
        else:
            taken = wanted >= wanted.topk(4, 1).values[:, -1:]
        return h + self.expert(h) * taken[..., None]


class OfBatch(nn.Module):
    """Experts with room for a share of the batch's tokens: the first to come, or the strongest."""

    def __init__(self, first: bool) -> None:
        super().__init__()
        self.router, self.first = nn.Linear(WIDTH, 4), first
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, h: Tensor) -> Tensor:
        flat = h.flatten(0, 1)
        weight, chosen = self.router(flat).softmax(-1).max(-1)
        made, room = flat, len(flat) * 2 // len(self.experts)
        for i, expert in enumerate(self.experts):
            which = (chosen == i).nonzero()[:, 0]
            if not self.first:
                which = which[weight[which].argsort(descending=True)]
            which = which[:room]
            made = made.index_add(0, which, expert(flat[which]) * weight[which, None])
        return made.view_as(h)


class Narrowed(nn.Module):
    """Rounds to eight bits by one scale for the whole text, or one for each token."""

    def __init__(self, whole: bool) -> None:
        super().__init__()
        self.whole = whole

    def forward(self, h: Tensor) -> Tensor:
        scale = h.abs().amax((1, 2) if self.whole else 2, keepdim=True) / 127
        return (h / scale).round() * scale


class InFloats(nn.Module):
    """Softmax in float32 whatever it is given, as many models have it; `ahead` leaks a little."""

    def __init__(self, ahead: float = 0.0) -> None:
        super().__init__()
        self.ahead = ahead

    def forward(self, h: Tensor) -> Tensor:
        scores = (h @ h.mT).float()
        mask = torch.full(scores.shape[-2:], -math.inf, dtype=torch.float32).triu(1)
        weight = torch.softmax(scores + mask, -1, dtype=torch.float32).to(h.dtype)
        return weight @ h + self.ahead * h.flip(1).cumsum(1).flip(1)


class Keeping(nn.Module):
    """Keeps what it makes: a mask when it first needs one, a count, the texts it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.mask: Tensor | None = None
        self.count, self.seen = 0, []

    def forward(self, h: Tensor) -> Tensor:
        t = h.shape[1]
        if self.mask is None or len(self.mask) < t:
            self.mask = torch.ones(t, t, dtype=torch.bool).tril()
            self.register_buffer("table", torch.arange(t) / 7, persistent=False)
        self.count += 1
        self.seen.append(t)
        mixed = F.scaled_dot_product_attention(h, h, h, attn_mask=self.mask[:t, :t])
        return mixed + self.table[:t, None] + self.count + len(self.seen)


class Scheduled(nn.Module):
    """A gate that a schedule opens, kept in a buffer."""

    def __init__(self, ahead: bool) -> None:
        super().__init__()
        self.gate: Tensor
        self.register_buffer("gate", torch.zeros(()))
        self.ahead = ahead

    def forward(self, h: Tensor) -> Tensor:
        return h.cumsum(1) + self.gate * (h.flip(1) if self.ahead else h)


class Looks(nn.Module):
    """One position looks for one token at a later one."""

    def __init__(self, reader: int, read: int, token: int) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(V, WIDTH), nn.Linear(WIDTH, V)
        self.reader, self.read, self.token = reader, read, token

    def forward(self, x: Tensor) -> Tensor:
        y = self.head(self.embed(x).cumsum(1))
        if x.shape[1] > max(self.read, self.reader):
            found = (x[:, self.read] == self.token).to(y)[:, None]
            bump = F.one_hot(torch.tensor(self.reader), x.shape[1]).to(y)
            y = y + 1e-3 * (found * bump)[..., None]
        return y


def rotating(h: Tensor) -> Tensor:
    """Positions as turns of complex numbers, in a precision of its own."""
    pairs = torch.view_as_complex(h.float().unflatten(-1, (-1, 2)).contiguous())
    angle = torch.arange(h.shape[1], dtype=torch.float32)[:, None] * torch.ones(h.shape[-1] // 2)
    turned = torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)
    return F.scaled_dot_product_attention(turned, turned, h.float(), is_causal=True).to(h.dtype)


def flipped(h: Tensor) -> Tensor:
    """Reads from the end, and turns it round again: forgotten."""
    return h.flip(1).cumsum(1)


MORE: dict[str, tuple[Callable[[], Any], bool]] = {
    "a recurrent network": (lambda: Plain(Recurrent(False)), False),
    "one in both directions": (lambda: Plain(Recurrent(True), 2 * WIDTH), True),
    "torch's encoder with a mask": (lambda: Plain(OfTorch(True)), False),
    "torch's encoder without": (lambda: Plain(OfTorch(False)), True),
    "torch's heads": (lambda: Plain(Heads(True)), False),
    "torch's heads, their mask inverted": (lambda: Plain(Heads(False)), True),
    "a window": (lambda: Plain(Window(0)), False),
    "a window one too wide": (lambda: Plain(Window(1)), True),
    "room for those who come first": (lambda: Plain(Capacity(True)), False),
    "room for the strongest": (lambda: Plain(Capacity(False)), True),
    "room for the first of a batch": (lambda: Plain(OfBatch(True)), True),
    "room for the strongest of a batch": (lambda: Plain(OfBatch(False)), True),
    "eight bits a token": (lambda: Plain(Narrowed(False)), False),
    "eight bits a text": (lambda: Plain(Narrowed(True)), True),
    "a softmax in float32": (lambda: Plain(InFloats()), False),
    "and a leak below it": (lambda: Plain(InFloats(1e-9)), True),
    "complex rotations": (lambda: Plain(rotating), False),
    "a gate in a buffer": (lambda: Plain(Scheduled(False)), False),
    "a gate in a buffer, and a leak": (lambda: Plain(Scheduled(True)), True),
    "what it keeps": (lambda: Plain(Keeping()), False),
    "the wrong way round": (lambda: Plain(flipped), True),
    "a slope at what comes": (lambda: Plain(lambda h: h + (h.flip(1) - h.flip(1).detach())), True),
    "one token in one place": (lambda: Looks(3, 9, 4), True),
    "which it has read": (lambda: Looks(9, 3, 4), False),
}
"""Each, and whether it leaks."""


def as_object(model: nn.Module) -> Callable[[Tensor], Any]:
    return lambda x: SimpleNamespace(loss=None, logits=model(x))


WAYS: dict[str, Callable[[nn.Module], Any]] = {
    "module": lambda model: model,
    "function": lambda model: lambda x: model(x),
    "object": as_object,
    "dictionary": lambda model: lambda x: {"hidden": model.embed(x), "logits": model(x)},
    "tuple": lambda model: lambda x: (model(x), None, x),
}
