"""Models whose fault hides, and honest doubles: behind zeros, chance, second outputs and caches.

As `readers` has them, whose transformer they are; but none is built from a report of its own.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from zoo import readers
from zoo.readers import END, PAD, WIDTH, Along, Attention, Planted, Reader, V


class Zero(nn.Module):
    """A state's mean so far, or of all of it, through a layer that starts at zero."""

    def __init__(self, ahead: bool, gate: bool = False, low: bool = False) -> None:
        super().__init__()
        self.ahead = ahead
        self.outer = nn.Sequential(*[nn.Linear(WIDTH, 4), nn.Linear(4, WIDTH)][not low :])
        if not low:
            self.outer = nn.Sequential(nn.Linear(WIDTH, WIDTH))
        self.gate = nn.Parameter(torch.zeros(()) if gate else torch.ones(()), requires_grad=gate)
        if not gate:
            for parameter in self.outer[-1].parameters():
                nn.init.zeros_(parameter)

    def forward(self, h: Tensor) -> Tensor:
        n = torch.arange(1, 1 + h.shape[1])[:, None]
        mean = h.mean(1, keepdim=True) if self.ahead else h.cumsum(1) / n
        return h + self.gate * self.outer(mean)


class Filter(nn.Module):
    """Three taps of which the last alone is there at first; `held` keeps training from the rest."""

    def __init__(self, held: bool) -> None:
        super().__init__()
        self.taps = nn.Parameter(torch.tensor([0.0, 1.0, 0.0]))
        if held:
            self.taps.register_hook(lambda slope: slope * torch.tensor([1.0, 1.0, 0.0]))

    def forward(self, h: Tensor) -> Tensor:
        padded = F.pad(h, (0, 0, 1, 1))
        return sum(tap * padded[:, i : i + h.shape[1]] for i, tap in enumerate(self.taps))


class Skipped(nn.Module):
    """A layer that one training step in eight goes through."""

    def __init__(self, ahead: bool) -> None:
        super().__init__()
        self.ahead = ahead

    def forward(self, h: Tensor) -> Tensor:
        if self.training and bool(torch.rand(()) < 1 / 8):
            h = h + (h.flip(1) if self.ahead else h).cumsum(1)
        return h


class Together(Reader):
    """Returns two tensors: its state, with or without what comes, and its logits."""

    def __init__(self, leaks: str) -> None:
        super().__init__()
        self.leaks = leaks

    def forward(self, x: Tensor) -> Any:
        logits = super().forward(x)
        state = self.tokens(x)
        ahead = [
            each.flip(1).cumsum(1) if self.leaks == name else 0
            for name, each in (("state", state), ("logits", logits))
        ]
        return state + ahead[0], logits + ahead[1]


class Embedded(nn.Module):
    """Sums up what it embeds; padding is a row of zeros, and stays one."""

    def __init__(self, padded: bool) -> None:
        super().__init__()
        self.embed = nn.Embedding(V, WIDTH, padding_idx=PAD if padded else None)
        self.head = nn.Linear(WIDTH, V)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.embed(x).cumsum(1))


class Kept(nn.Module):
    """Sums up with a cache, in which one thing may be wrong.

    Args:
        wrong: "stale" (not made anew), "pieces" (a piece reads itself whole), "pads" (a cache
            counts padding), or nothing.
    """

    def __init__(self, wrong: str = "") -> None:
        super().__init__()
        self.embed, self.places = nn.Embedding(V, WIDTH, padding_idx=PAD), nn.Embedding(512, WIDTH)
        self.head, self.wrong = nn.Linear(WIDTH, V), wrong
        self.sum, self.count = torch.zeros(1, 1, WIDTH), 0

    def embedded(self, x: Tensor, counted: Tensor) -> Tensor:
        return (self.embed(x) + self.places(counted)) * (x != PAD)[..., None]

    def forward(self, x: Tensor) -> Tensor:
        counted = ((x != PAD).cumsum(1) - 1).clamp(min=0)
        return self.head(self.embedded(x, counted).cumsum(1))

    def read(self, tokens: Tensor, sizes: Sequence[int]) -> Tensor:
        """Logits of a text that is read in pieces."""
        if self.wrong != "stale":
            self.sum, self.count = torch.zeros(1, 1, WIDTH), 0
        made = []
        for x in tokens.split(list(sizes), 1):
            real = torch.ones_like(x) if self.wrong == "pads" else (x != PAD).long()
            h = self.embedded(x, (self.count + real.cumsum(1) - 1).clamp(min=0))
            sums = h.sum(1, keepdim=True).expand_as(h) if self.wrong == "pieces" else h.cumsum(1)
            made.append(self.head(self.sum + sums))
            self.sum, self.count = self.sum + h.sum(1, keepdim=True), self.count + int(real.sum())
        return torch.cat(made, 1)


class Pairs(nn.Module):
    """A table of pairs of tokens, `apart` where a document begins."""

    def __init__(self, apart: bool) -> None:
        super().__init__()
        self.table, self.apart = nn.Embedding(V * V, V), apart

    def forward(self, x: Tensor) -> Tensor:
        before = F.pad(x[:, :-1], (1, 0))
        return self.table(x + V * (before.where(x != END, 0) if self.apart else before))


def window(size: int) -> Callable[..., Tensor]:
    """Attention that reads so many, itself included."""

    def mix(q: Tensor, k: Tensor, v: Tensor, module: Attention, x: Tensor) -> Tensor:
        mask = readers.past(x.shape[1]).triu(1 - size)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    return mix


def in_vmap(h: Tensor, ahead: bool = False) -> Tensor:
    """Each text by itself."""
    return torch.vmap(lambda y: y + (y.flip(0) if ahead else y).cumsum(0))(h)


class Again(nn.Module):
    """Computed again on the way back, in the way that asks for inputs with a gradient."""

    def __init__(self, ahead: bool) -> None:
        super().__init__()
        self.ahead = ahead

    def forward(self, h: Tensor) -> Tensor:
        def computed(y: Tensor) -> Tensor:
            return y + (y.flip(1) if self.ahead else y).cumsum(1)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that nothing before it is trained
            return checkpoint(computed, h, use_reentrant=True)


def flips(h: Tensor) -> Tensor:
    """Now and then larger by a tenth, by draws of nobody's."""
    return h * (1 + 0.1 * bool(torch.rand((), generator=_FLIPS) < 0.2))


def blurred(h: Tensor) -> Tensor:
    """Noise of nobody's in every number."""
    return h + 0.1 * torch.randn(h.shape, generator=_FLIPS, dtype=torch.float32).to(h)


_FLIPS = Generator().manual_seed(12)
BOTH = {"pad": PAD, "cached": lambda model, x, sizes: model.read(x, sizes)}
WINDOWED = {"reach": 5}
ONE = {"begins": END}


def _windows(size: int) -> Reader:
    return Reader(window(size), first=window(3))  # two layers reach 3 + size − 1


def _between(module: nn.Module) -> Callable[[], Reader]:
    return lambda: Reader(between=module)


PLANTED = (
    Planted("a layer that starts at zero", lambda: Reader(between=Zero(True)), "#", "suffix"),
    Planted(
        "a gate that starts at zero", lambda: Reader(between=Zero(True, gate=True)), "#", "suffix"
    ),
    Planted(
        "a pair of thin layers, one zero",
        lambda: Reader(between=Zero(True, low=True)),
        "#",
        "suffix",
    ),
    Planted(
        "a filter that starts as nothing", lambda: Reader(between=Filter(False)), "#", "suffix"
    ),
    Planted(
        "a layer that is skipped at random", lambda: Reader(between=Skipped(True)), "#", "suffix"
    ),
    Planted("logits beside a state", lambda: Together("logits"), "#", "suffix"),
    Planted(
        "behind a vmap", lambda: Reader(between=Along(lambda h: in_vmap(h, True))), "#", "suffix"
    ),
    Planted(
        "behind what cannot be gone back through",
        lambda: Reader(between=Again(True)),
        "#",
        "suffix",
    ),
    Planted(
        "a cache that is not made anew",
        lambda: Kept("stale"),
        "#",
        "cache",
        "wrong",
        arguments=BOTH,
    ),
    Planted(
        "pieces that read themselves whole",
        lambda: Kept("pieces"),
        "#",
        "cache",
        "wrong",
        arguments=BOTH,
    ),
    Planted("padding and a cache", lambda: Kept("pads"), "#", "padding", arguments=BOTH),
    Planted(
        "padding that is a token", lambda: Embedded(False), "#", "padding", arguments={"pad": PAD}
    ),
    Planted(
        "a document that begins with a pair", lambda: Pairs(False), "#", "documents", arguments=ONE
    ),
    Planted(
        "a window that is not there", lambda: Reader(), "#", "reach", "wrong", arguments=WINDOWED
    ),
    Planted(
        "a window one too wide", lambda: _windows(4), "#", "reach", "wrong", arguments=WINDOWED
    ),
    Planted(
        "a window one too small", lambda: _windows(2), "#", "reach", "wrong", arguments=WINDOWED
    ),
)

HONEST = (
    Planted("a layer that starts at zero", lambda: Reader(between=Zero(False))),
    Planted("a gate that starts at zero", lambda: Reader(between=Zero(False, gate=True))),
    Planted("a pair of thin layers, one zero", lambda: Reader(between=Zero(False, low=True))),
    Planted("a filter whose tap ahead never trains", lambda: Reader(between=Filter(True))),
    Planted("a layer that is skipped at random", lambda: Reader(between=Skipped(False))),
    Planted("a state that reads ahead, beside logits", lambda: Together("state")),
    Planted("a vmap", lambda: Reader(between=Along(in_vmap))),
    Planted("noise that flips", lambda: Reader(between=Along(flips))),
    Planted("noise that blurs", lambda: Reader(between=Along(blurred))),
    Planted("a cache, padding and pieces", Kept, arguments=BOTH),
    Planted("padding that stays zero", lambda: Embedded(True), arguments={"pad": PAD}),
    Planted("documents of pairs", lambda: Pairs(True), arguments=ONE),
    Planted("a window", lambda: _windows(3), arguments=WINDOWED),
)
