"""Small models that read ahead as models in public have, and honest doubles that do not.

`PLANTED` has each with the report that it was built from, anew and as small as it can be;
`HONEST` has the same models mended, and others that only look as if they read ahead. All are one
transformer of two blocks with something put into it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

V, WIDTH, HEADS = 11, 16, 2
PAD, END = 0, 1
INF = math.inf


def past(t: int) -> Tensor:
    """Who may read whom: [t, t], true below the diagonal and on it."""
    return torch.ones(t, t, dtype=torch.bool).tril()


def plain(q: Tensor, k: Tensor, v: Tensor, module: "Attention", x: Tensor) -> Tensor:
    """Attention as it should be."""
    drop = module.drop if module.training else 0.0
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=drop)


def by_hand(scores: Tensor, v: Tensor, module: "Attention") -> Tensor:
    """The same, of scores that are masked already."""
    return F.dropout(scores.softmax(-1), module.drop, module.training) @ v


def scores(q: Tensor, k: Tensor) -> Tensor:
    """How well queries and keys agree."""
    return q @ k.mT / q.shape[-1] ** 0.5


class Attention(nn.Module):
    """Heads that mix values as a function says."""

    def __init__(self, mix: Callable[..., Tensor] = plain, drop: float = 0.0) -> None:
        super().__init__()
        self.mix, self.drop = mix, drop
        self.inner, self.outer = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        q, k, v = self.inner(h).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        return self.outer(self.mix(q, k, v, self, x).transpose(1, 2).flatten(-2))


class Block(nn.Module):
    """Attention and a network of one hidden layer, each beside the way round it."""

    def __init__(self, attention: Attention, between: nn.Module | None = None) -> None:
        super().__init__()
        self.attention, self.between = attention, between or nn.Identity()
        self.norm, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.network = nn.Sequential(nn.Linear(WIDTH, 24), nn.GELU(), nn.Linear(24, WIDTH))

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        h = self.between(h + self.attention(self.norm(h), x))
        return h + self.network(self.second(h))


class Reader(nn.Module):
    """Tokens [n, t] → logits [n, t, 11].

    Args:
        mix: how the second block's attention mixes.
        between: what the second block's state goes through after its attention.
        drop: of the second block's attention.
        first: how the first block's attention mixes.
        places: tokens → where they stand, for the table of positions.
        wrap: logits → what is returned.
    """

    def __init__(
        self,
        mix: Callable[..., Tensor] = plain,
        between: nn.Module | None = None,
        drop: float = 0.0,
        first: Callable[..., Tensor] = plain,
        places: Callable[[Tensor], Tensor] = lambda x: torch.arange(x.shape[1]),
        wrap: Callable[[Tensor], Any] = lambda y: y,
    ) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(V, WIDTH), nn.Embedding(512, WIDTH)
        self.blocks = nn.ModuleList([Block(Attention(first)), Block(Attention(mix, drop), between)])
        self.head = nn.Linear(WIDTH, V)
        self.places, self.wrap = places, wrap

    def forward(self, x: Tensor) -> Any:
        h = self.tokens(x) + self.positions(self.places(x))
        for block in self.blocks:
            h = block(h, x)
        return self.wrap(self.head(h))


# --- What attention does with its mask


def no_decoder(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
    """A flag that is not handed on."""
    return F.scaled_dot_product_attention(q, k, v)


def second_mask(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
    """A mask of its own, and so not the causal one."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=torch.zeros(x.shape[1], x.shape[1]))


def both_masks(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
    """A mask of its own, and the causal one."""
    mask = torch.zeros(x.shape[1], x.shape[1]).masked_fill(~past(x.shape[1]), -INF)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def unfused(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
    """By hand where there is dropout, and there without a mask."""
    if module.training and module.drop:
        return by_hand(scores(q, k), v, module)
    return plain(q, k, v, module, x)


def masked_by_hand(value: float) -> Callable[..., Tensor]:
    """A mask of this value."""

    def mix(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
        return by_hand(scores(q, k).masked_fill(~past(x.shape[1]), value), v, module)

    return mix


def inverted(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
    """True taken for hidden where it means to be read."""
    mask = ~past(x.shape[1]).tril(-1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def only_padded(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
    """The causal mask is made where the mask of padding is, and there alone."""
    hidden = x == PAD
    mask = past(x.shape[1]) & ~hidden[:, None] if bool(hidden.any()) else None
    if mask is not None:
        mask = (mask | torch.eye(x.shape[1], dtype=torch.bool))[:, None]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def of_padding(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
    """Causal, and blind for padding."""
    mask = past(x.shape[1]) & (x != PAD)[:, None] | torch.eye(x.shape[1], dtype=torch.bool)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])


def in_blocks(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
    """Adds to each value the mean of its block of 64, once there is a whole one."""
    whole = x.shape[1] // 64 * 64
    if whole:
        means = v[..., :whole, :].unflatten(-2, (-1, 64)).mean(-2)
        means = means.repeat_interleave(64, -2)
        v = torch.cat([v[..., :whole, :] + means, v[..., whole:, :]], -2)
    return plain(q, k, v, module, x)


def of_documents(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
    """Causal, and within a document, which begins after an end."""
    which = (x == END).cumsum(1) - (x == END).long()
    mask = past(x.shape[1]) & (which[:, None] == which[:, :, None])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])


def documents_only(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
    """Within a document, and there in both directions."""
    which = (x == END).cumsum(1) - (x == END).long()
    mask = which[:, None] == which[:, :, None]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])


def by_maximum(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
    """Linear attention with the largest score of all taken away, which cancels but for rounding."""
    score = k.sum(-1, keepdim=True)
    weight = (score - score.amax(-2, keepdim=True)).exp()
    return (weight * v).cumsum(-2) / weight.cumsum(-2)


def rotated(
    q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor, known: int = 0
) -> Tensor:
    """Rotary positions with a base that grows with a text longer than those that are known."""
    t, half = x.shape[1], q.shape[-1] // 2
    base = 100.0 * max(1.0, t / known if known else 1.0)
    turn = torch.arange(t)[:, None] / base ** (torch.arange(half) / half)

    def turned(y: Tensor) -> Tensor:
        a, b = y.chunk(2, -1)
        return torch.cat([a * turn.cos() - b * turn.sin(), a * turn.sin() + b * turn.cos()], -1)

    return plain(turned(q), turned(k), v, module, x)


def stretched(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
    """See `rotated`."""
    return rotated(q, k, v, module, x, known=8)


# --- What stands between


class Along(nn.Module):
    """A function of the state [n, t, e] as a module, so that it has a name."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, h: Tensor) -> Tensor:
        return self.function(h)


def chunk_means(h: Tensor, late: int = 0) -> Tensor:
    """To each place the mean of its chunk of 16, or of one that is over."""
    pad = -h.shape[1] % 16
    means = F.pad(h, (0, 0, 0, pad)).unflatten(1, (-1, 16)).mean(2)
    means = F.pad(means, (0, 0, late, 0))[:, : means.shape[1]]
    return h + means.repeat_interleave(16, 1)[:, : h.shape[1]]


def chunk_before(h: Tensor) -> Tensor:
    """See `chunk_means`."""
    return chunk_means(h, late=1)


class Spectral(nn.Module):
    """A filter along the text by its spectrum; causal if it is one of the past and padded."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.response = nn.Parameter(torch.randn(32, generator=Generator().manual_seed(5)) / 8)

    def forward(self, h: Tensor) -> Tensor:
        t = h.shape[1]
        size = 2 * max(t, 32) if self.causal else max(t, 32)
        response = torch.fft.rfft(self.response, size)
        filtered = torch.fft.irfft(torch.fft.rfft(h, size, 1) * response[:, None], size, 1)
        return h + filtered[:, :t]


class Routed(nn.Module):
    """Half of the tokens go through another layer: those it likes best, or those that like it."""

    def __init__(self, expert_chooses: bool) -> None:
        super().__init__()
        self.expert_chooses = expert_chooses
        self.router, self.expert = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, WIDTH)

    def forward(self, h: Tensor) -> Tensor:
        score = self.router(h)
        if self.expert_chooses:
            least = score.topk((h.shape[1] + 1) // 2, 1).values[:, -1:]
            return h + self.expert(h) * (score >= least)
        return h + self.expert(h) * (score >= 0)


class ByMean(nn.Module):
    """Experts weighed by the mean of the whole text, or of what has been read."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.causal, self.router = causal, nn.Linear(WIDTH, 2)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(2))

    def forward(self, h: Tensor) -> Tensor:
        n = torch.arange(1, h.shape[1] + 1)[:, None]
        mean = h.cumsum(1) / n if self.causal else h.mean(1, keepdim=True)
        weight = self.router(mean).softmax(-1)
        return h + sum(e(h) * weight[..., i : i + 1] for i, e in enumerate(self.experts))


class Channels(nn.Module):
    """A layer that wants its channels first: [n, e, t]."""

    def __init__(self, layer: nn.Module, left: int = 0) -> None:
        super().__init__()
        self.layer, self.left = layer, left

    def forward(self, h: Tensor) -> Tensor:
        return h + self.layer(F.pad(h.mT, (self.left, 0))).mT


def wrapped_shift(h: Tensor) -> Tensor:
    """The token before, by a roll over the whole batch at once."""
    return h + h.flatten(0, 1).roll(1, 0).view_as(h)


def shift(h: Tensor) -> Tensor:
    """The token before, and nothing before the first."""
    return h + F.pad(h, (0, 0, 1, 0))[:, :-1]


def straight_through(h: Tensor) -> Tensor:
    """What comes after has a part in the gradient, and none in the numbers."""
    ahead = h.flip(1).cumsum(1).flip(1)
    return h + ahead - ahead.detach()


def noisy(h: Tensor) -> Tensor:
    """Rounded anew at each call, as sums in no order are on a GPU."""
    draws = torch.empty(h.shape).normal_(generator=_NOISE)
    return h * (1 + 1e-6 * draws.to(h))


_NOISE = Generator().manual_seed(11)  # of nobody's, so that nobody sets it back


class Cached(Reader):
    """Reads token by token as well, each at a position that may be `off`."""

    def __init__(self, off: int) -> None:
        super().__init__()
        self.off = off

    def step_by_step(self, x: Tensor) -> Tensor:
        kept: list[list[tuple[Tensor, Tensor]]] = [[] for _ in self.blocks]
        made = []
        for i in range(x.shape[1]):
            place = torch.tensor([max(0, i - self.off)])
            h = self.tokens(x[:, i : i + 1]) + self.positions(place)
            for part, cache in zip(self.blocks, kept, strict=True):
                block = cast(Any, part)
                inner = block.attention.inner(block.norm(h))
                q, k, v = inner.unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
                cache.append((k, v))
                keys, values = (torch.cat(each, -2) for each in zip(*cache, strict=True))
                mixed = F.scaled_dot_product_attention(q, keys, values)
                h = h + block.attention.outer(mixed.transpose(1, 2).flatten(-2))
                h = h + block.network(block.second(h))
            made.append(self.head(h))
        return torch.cat(made, 1)


def from_padding(x: Tensor) -> Tensor:
    """Places counted from the first token that is none of padding."""
    return ((x != PAD).long().cumsum(1) - 1).clamp(min=0)


# --- The lists


@dataclass(frozen=True)
class Planted:
    """A model to ask, and what must come of it.

    Attributes:
        name: what it does.
        make: makes it.
        report: where this was reported of a model in public; empty of honest ones.
        check: what must find it; empty of honest ones.
        verdict: what that must say.
        module: what is blamed, the beginning of its name.
        arguments: of `causal`, besides.
    """

    name: str
    make: Callable[[], Any]
    report: str = ""
    check: str = ""
    verdict: str = "leak"
    module: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)


SECOND = "blocks.1.attention"
BETWEEN = "blocks.1.between"
CACHE = {"cached": lambda model, x: model.step_by_step(x)}

PLANTED = (
    *(
        Planted(name, make, report, "suffix", module=SECOND)
        for name, make, report in (
            ("a decoder without its flag", lambda: Reader(no_decoder), "transformers#48745"),
            (
                "a second mask in the causal one's place",
                lambda: Reader(second_mask),
                "transformers#48748",
            ),
            ("no mask where dropout is", lambda: Reader(unfused, drop=0.1), "keras#23038"),
            (
                "a mask that is the wrong way round",
                lambda: Reader(inverted),
                "LLMs-from-scratch#1061",
            ),
            ("no mask without padding", lambda: Reader(only_padded), "xformers#103"),
            ("values summed up in blocks of 64", lambda: Reader(in_blocks), "nanochat#844"),
            ("a mask of -1e-9", lambda: Reader(masked_by_hand(-1e-9)), "RibonanzaNet#5"),
            ("a mask of -20", lambda: Reader(masked_by_hand(-20.0)), "transformers#205"),
            (
                "documents, and both directions in them",
                lambda: Reader(documents_only),
                "transformers#46634",
            ),
        )
    ),
    *(
        Planted(name, make, report, "suffix", module=BETWEEN)
        for name, make, report in (
            ("means of chunks of 16", lambda: Reader(between=Along(chunk_means)), "nanochat#844"),
            ("a filter by the spectrum", lambda: Reader(between=Spectral(False)), "nanochat#844"),
            ("an expert that chooses its tokens", lambda: Reader(between=Routed(True)), "MoSA#3"),
            ("routing by the text's mean", lambda: Reader(between=ByMean(False)), "MEO#2"),
            (
                "a norm over groups and time",
                lambda: Reader(between=Channels(nn.GroupNorm(4, WIDTH))),
                "Wan2.1#294",
            ),
            (
                "a norm over the text",
                lambda: Reader(between=Channels(nn.InstanceNorm1d(WIDTH))),
                "GaGNet#2",
            ),
            (
                "a norm over the batch, in training",
                lambda: Reader(between=Channels(nn.BatchNorm1d(WIDTH))),
                "x-transformers#320",
            ),
            (
                "a convolution padded on both sides",
                lambda: Reader(between=Channels(nn.Conv1d(WIDTH, WIDTH, 3, padding=1))),
                "magvit2-pytorch#27",
            ),
        )
    ),
    Planted(
        "a roll over the whole batch",
        lambda: Reader(between=Along(wrapped_shift)),
        "verl#6475",
        "neighbours",
    ),
    Planted(
        "a base that grows with the text", lambda: Reader(stretched), "transformers#25104", "prefix"
    ),
    Planted(
        "a mask of -1e4",
        lambda: Reader(masked_by_hand(-1e4)),
        "pytorch-seq2seq#191",
        "grown",
        "warning",
    ),
    Planted(
        "positions that padding shifts",
        lambda: Reader(of_padding, first=of_padding),
        "nnsight#672",
        "padding",
        arguments={"pad": PAD},
    ),
    Planted(
        "a cache that is one place behind",
        lambda: Cached(1),
        "native-sparse-attention-pytorch#20",
        "cache",
        verdict="wrong",
        arguments=CACHE,
    ),
    Planted(
        "documents that read one another",
        lambda: Reader(),
        "nanoVLM#204",
        "documents",
        arguments={"separator": END},
    ),
)

HONEST = (
    Planted("as it should be", Reader),
    Planted("with dropout", lambda: Reader(drop=0.2)),
    Planted("a second mask and the causal one", lambda: Reader(both_masks)),
    Planted("an infinite mask by hand", lambda: Reader(masked_by_hand(-INF), drop=0.1)),
    Planted("the largest score taken away", lambda: Reader(by_maximum)),
    Planted("the mean of the chunk before", lambda: Reader(between=Along(chunk_before))),
    Planted("a filter of the past, by the spectrum", lambda: Reader(between=Spectral(True))),
    Planted("tokens that choose their expert", lambda: Reader(between=Routed(False))),
    Planted("routing by the mean so far", lambda: Reader(between=ByMean(True))),
    Planted(
        "a convolution padded on the left",
        lambda: Reader(between=Channels(nn.Conv1d(WIDTH, WIDTH, 3), 2)),
    ),
    Planted("the token before", lambda: Reader(between=Along(shift))),
    Planted("rotary positions", lambda: Reader(rotated)),
    Planted("other rounding at each call", lambda: Reader(between=Along(noisy))),
    Planted("in bfloat16", lambda: Reader().to(torch.bfloat16)),
    Planted(
        "in bfloat16, the largest score taken away", lambda: Reader(by_maximum).to(torch.bfloat16)
    ),
    Planted(
        "positions counted after padding",
        lambda: Reader(of_padding, first=of_padding, places=from_padding),
        arguments={"pad": PAD},
    ),
    Planted(
        "documents kept apart",
        lambda: Reader(of_documents, first=of_documents),
        arguments={"separator": END},
    ),
    Planted("a cache", lambda: Cached(0), arguments=CACHE),
    Planted(
        "an object with logits", lambda: Reader(wrap=lambda y: SimpleNamespace(loss=None, logits=y))
    ),
    Planted("logits and a loss", lambda: Reader(wrap=lambda y: (y, y.sum()))),
)
