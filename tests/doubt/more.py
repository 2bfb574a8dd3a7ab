"""Models besides those of `readers`, written after it: who leaks, and who does not."""

import math
from functools import partial
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

V, WIDTH = 9, 12


class Plain(nn.Module):
    """Embeds, reads, and scores; what it reads with is given."""

    def __init__(self, body, width=WIDTH) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(V, WIDTH), nn.Linear(width, V)
        self.body = body

    def forward(self, x):
        return self.head(self.body(self.embed(x)))


class Made(nn.Module):
    """Parts by name, and a way through them: a function of the model and of what it is given."""

    def __init__(self, way, **parts) -> None:
        super().__init__()
        self.way = way
        for name, part in parts.items():
            setattr(self, name, nn.Buffer(part) if type(part) is Tensor else part)

    def forward(self, *given):
        return self.way(self, *given)


def square():
    return nn.Linear(WIDTH, WIDTH)


def gru(both):
    cell = nn.GRU(WIDTH, WIDTH, batch_first=True, bidirectional=both)
    return Made(lambda m, h: m.cell(h)[0], cell=cell)


def of_torch(masked):
    """torch's own encoder: `is_causal` is a hint, and without a mask it is refused or ignored."""
    layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, dropout=0.0, batch_first=True)
    past = nn.Transformer.generate_square_subsequent_mask if masked else lambda t: None
    return Made(
        lambda m, h: m.layers(h, mask=past(h.shape[1]), is_causal=masked),
        layers=nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
    )


def heads(right):
    def way(m, h):
        past = torch.ones(h.shape[1], h.shape[1], dtype=torch.bool).tril()
        return h + m.heads(h, h, h, attn_mask=~past if right else past.triu())[0]

    return Made(way, heads=nn.MultiheadAttention(WIDTH, 2, batch_first=True))


class Window(nn.Module):
    """Reads the last three, or one beyond itself as well."""

    def __init__(self, ahead) -> None:
        super().__init__()
        self.ahead = ahead

    def forward(self, h):
        place = torch.arange(h.shape[1])
        apart = place[:, None] - place
        mask = (apart >= -self.ahead) & (apart < 3)
        return F.scaled_dot_product_attention(h, h, h, attn_mask=mask)


def capacity():
    """An expert with room for a few tokens, the first that come."""

    def way(m, h):
        wanted = m.router(h) > 0
        return h + m.expert(h) * (wanted & (wanted.cumsum(1) <= 4))

    return Made(way, router=nn.Linear(WIDTH, 1), expert=square())


def of_batch(first):
    """Experts with room for a share of the batch's tokens: the first to come, or the strongest."""

    def way(m, h):
        made = flat = h.flatten(0, 1)
        weight, chosen = m.router(flat).softmax(-1).max(-1)
        for i, expert in enumerate(m.experts):
            which = (chosen == i).nonzero()[:, 0]
            if not first:
                which = which[weight[which].argsort(descending=True)]
            which = which[: len(flat) * 2 // len(m.experts)]
            made = made.index_add(0, which, expert(flat[which]) * weight[which, None])
        return made.view_as(h)

    return Made(way, router=nn.Linear(WIDTH, 4), experts=nn.ModuleList(square() for _ in "four"))


def narrowed(h, *, dims):
    """Rounds to eight bits by one scale for the whole text, or one for each token."""
    scale = h.abs().amax(dims, keepdim=True) / 127
    return (h / scale).round() * scale


def in_floats(h, *, ahead=0.0):
    """Softmax in float32 whatever it is given, as many models have it; `ahead` leaks a little."""
    scores = (h @ h.mT).float()
    mask = torch.full(scores.shape[-2:], -math.inf, dtype=torch.float32).triu(1)
    weight = torch.softmax(scores + mask, -1, dtype=torch.float32).to(h.dtype)
    return weight @ h + ahead * h.flip(1).cumsum(1).flip(1)


def scheduled(ahead):
    gated = lambda m, h: h.cumsum(1) + m.gate * (h.flip(1) if ahead else h)  # noqa: E731
    return Made(gated, gate=torch.zeros(()))


class Looks(nn.Module):
    def __init__(self, reader, read, token) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(V, WIDTH), nn.Linear(WIDTH, V)
        self.reader, self.read, self.token = reader, read, token

    def forward(self, x):
        y = self.head(self.embed(x).cumsum(1))
        if x.shape[1] > max(self.read, self.reader):
            found = (x[:, self.read] == self.token).to(y)[:, None]
            bump = F.one_hot(torch.tensor(self.reader), x.shape[1]).to(y)
            y = y + 1e-3 * (found * bump)[..., None]
        return y


def rotating(h):
    """Positions as turns of complex numbers, in a precision of its own."""
    pairs = torch.view_as_complex(h.float().unflatten(-1, (-1, 2)).contiguous())
    angle = torch.arange(h.shape[1], dtype=torch.float32)[:, None] * torch.ones(h.shape[-1] // 2)
    turned = torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)
    return F.scaled_dot_product_attention(turned, turned, h.float(), is_causal=True).to(h.dtype)


MORE = {
    "a recurrent network": (lambda: Plain(gru(False)), False),
    "one in both directions": (lambda: Plain(gru(True), 2 * WIDTH), True),
    "torch's encoder with a mask": (lambda: Plain(of_torch(True)), False),
    "torch's encoder without": (lambda: Plain(of_torch(False)), True),
    "torch's heads": (lambda: Plain(heads(True)), False),
    "torch's heads, their mask inverted": (lambda: Plain(heads(False)), True),
    "room for those who come first": (lambda: Plain(capacity()), False),
    "room for the first of a batch": (lambda: Plain(of_batch(True)), True),
    "room for the strongest of a batch": (lambda: Plain(of_batch(False)), True),
    "eight bits a token": (lambda: Plain(partial(narrowed, dims=(2,))), False),
    "eight bits a text": (lambda: Plain(partial(narrowed, dims=(1, 2))), True),
    "complex rotations": (lambda: Plain(rotating), False),
    "a gate in a buffer": (lambda: Plain(scheduled(False)), False),
    "a gate in a buffer, and a leak": (lambda: Plain(scheduled(True)), True),
    "read from the end, and not turned again": (lambda: Plain(lambda h: h.flip(1).cumsum(1)), True),
}
"""Each, and whether it leaks."""


WAYS = {
    "module": lambda model: model,
    "function": lambda model: lambda x: model(x),
    "object": lambda model: lambda x: SimpleNamespace(loss=None, logits=model(x)),
    "dictionary": lambda model: lambda x: {"hidden": model.embed(x), "logits": model(x)},
    "tuple": lambda model: lambda x: (model(x), None, x),
}
