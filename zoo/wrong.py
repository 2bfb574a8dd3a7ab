"""What `slope`, `floor`, `twins`, `proper` and `compare` must find, and what they must leave alone.

As in `readers`, what is wrong was wrong in public first, and each has the report; a name that
begins with # is no report but the kind of thing that every seminar knows.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attn_notes.doubt.comparing import Arm, compare
from attn_notes.doubt.duplicates import twins
from attn_notes.doubt.floors import floor
from attn_notes.doubt.slopes import slope
from attn_notes.doubt.sums import proper
from zoo import mislabelled

V, T, WIDTH = 7, 6, 8


def _drawn(seed: int, *shape: int, most: int = V) -> Tensor:
    return torch.randint(most, shape, generator=Generator().manual_seed(seed))


# --- Slopes


class Net(nn.Module):
    """A small network of tokens whose state goes through something."""

    def __init__(self, through: Callable[[Tensor, Tensor], Tensor], act: Any = torch.tanh) -> None:
        super().__init__()
        self.embed, self.inner, self.head = (
            nn.Embedding(V, WIDTH),
            nn.Linear(WIDTH, 9),
            nn.Linear(9, V),
        )
        self.gain = nn.Parameter(torch.ones(9))
        self.through, self.act = through, act

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.through(self.act(self.inner(self.embed(x))), self.gain))


class _Forgets(torch.autograd.Function):
    """A product whose backward pass forgets a factor."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, gain: Tensor) -> Tensor:
        return h * gain

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor]:
        return slope, slope.sum((0, 1))


def loss(model: Callable[[Tensor], Tensor]) -> Tensor:
    """Cross-entropy on one batch."""
    return F.cross_entropy(model(_drawn(1, 2, T)).flatten(0, 1), _drawn(2, 2 * T))


def steep(h: Tensor, gain: Tensor) -> Tensor:
    """The slope at the gain is a percent too large."""
    more = h * gain
    return more + 0.01 * (more - more.detach())


def rounded(h: Tensor, gain: Tensor) -> Tensor:
    """Rounded on the way, and not on the way back."""
    more = h * gain
    return more + (more.round(decimals=1) - more).detach()


def single(h: Tensor, gain: Tensor) -> Tensor:
    """As single precision has it, and not on the way back: a loss that jumps wherever it goes."""
    more = h * gain
    return more + ((more * 2**23).round() / 2**23 - more).detach()


class Recurrent(nn.Module):
    """A small network of tokens with a recurrent layer, its texts of several lengths or not."""

    def __init__(self, layer: nn.RNNBase, packed: bool = False) -> None:
        super().__init__()
        self.embed, self.layer, self.packed = nn.Embedding(V, layer.input_size), layer, packed
        width = (layer.proj_size or layer.hidden_size) * (1 + layer.bidirectional)
        self.head = nn.Linear(width, V)

    def forward(self, x: Tensor) -> Tensor:
        h, first = self.embed(x), self.layer.batch_first
        h = h if first else h.transpose(0, 1)
        if self.packed:
            lengths = T - torch.arange(len(x))
            made = self.layer(pack_padded_sequence(h, lengths, batch_first=first))[0]
            h = pad_packed_sequence(made, batch_first=first, total_length=T)[0]
        else:
            h = self.layer(h)[0]
        return self.head(h if first else h.transpose(0, 1))


def iterated(old: bool) -> nn.Module:
    """Divided by a norm that each call takes a step of the power iteration closer to."""
    norm: Any = nn.utils.spectral_norm if old else nn.utils.parametrizations.spectral_norm
    net = Net(lambda h, g: h * g)
    net.inner, net.head = norm(net.inner), norm(net.head)
    return nn.Sequential(net, nn.BatchNorm1d(T))


def signed() -> nn.Module:
    """An orthogonal layer, which keeps signs as numbers on the diagonal of a parameter."""
    net = Net(lambda h, g: h * g)
    nn.utils.parametrizations.orthogonal(net.inner)
    return net


class Averaged(nn.Module):
    """Takes off a mean of the batch, without its slope if `wrong`, and keeps another of all."""

    def __init__(self, wrong: bool) -> None:
        super().__init__()
        self.net, self.wrong = Net(lambda h, g: h * g), wrong
        self.mean: Tensor
        self.register_buffer("mean", torch.zeros(V))

    def forward(self, x: Tensor) -> Tensor:
        h = self.net(x)
        mean = h.mean((0, 1)) if self.training else self.mean
        self.mean.lerp_(mean.detach(), 0.1)
        return (h - (mean.detach() if self.wrong else mean)).tanh()


SLOPES: tuple[tuple[str, Callable[[], nn.Module], str, bool], ...] = (
    ("a state that is detached", lambda: Net(lambda h, g: h.detach() * g), "pytorch#91529", True),
    ("a half that is detached", lambda: Net(lambda h, g: (h + h.detach()) / 2 * g), "#", True),
    ("a backward pass that forgets", lambda: Net(_Forgets.apply), "pytorch#193279", True),
    ("a slope a percent too steep", lambda: Net(steep), "#", True),
    ("rounding passed straight through", lambda: Net(rounded), "#", True),
    ("single precision passed straight through", lambda: Net(single), "#", True),
    ("a mean of the batch that is detached", lambda: Averaged(True), "#", True),
    ("as it should be", lambda: Net(lambda h, g: h * g), "", False),
    ("a mean of the batch", lambda: Averaged(False), "", False),
    ("a spectral norm", lambda: iterated(False), "", False),
    ("a spectral norm of old", lambda: iterated(True), "", False),
    ("orthogonal", signed, "", False),
    ("an LSTM", lambda: Recurrent(nn.LSTM(8, 8, 2, batch_first=True, dropout=0.3)), "", False),
    ("with kinks", lambda: Net(lambda h, g: h * g, torch.relu), "", False),
    ("with a parameter unused", lambda: Net(lambda h, g: h), "", False),
    ("linear in a parameter", lambda: Net(lambda h, g: h + 1e-9 * g), "", False),
)
"""Each with its report, and whether it is wrong."""


# --- Sums


def table() -> Tensor:
    """Logarithms of probabilities, a row for each token before."""
    g = Generator().manual_seed(4)
    return torch.randn(V, V, generator=g).log_softmax(-1)


def scored(x: Tensor) -> Tensor:
    """Of each token, given the one before; the first has all alike."""
    first = torch.full_like(x[:, :1], -math.log(V), dtype=torch.float)
    return torch.cat([first, table()[x[:, :-1], x[:, 1:]]], 1)


def hashed(x: Tensor) -> Tensor:
    """Mixed with counts of pairs over counts of contexts, each by a hash of its own."""
    pairs, contexts = _drawn(8, 5, most=60) + 1, _drawn(9, 5, most=60) + 1
    before = F.pad(x[:, :-1], (1, 0))
    cache = (pairs[(before * 3 + x) % 5] / contexts[before % 5]).clamp(max=1)
    return (0.8 * scored(x).exp() + 0.2 * cache).log()


def by_target(x: Tensor) -> Tensor:
    """Sharpened where the token that comes is a common one: a weight that knows it."""
    return torch.where(x < 3, scored(x) + 0.3, scored(x))


def mixed(x: Tensor) -> Tensor:
    """Mixed with another distribution, by a weight that is the token's before."""
    weight = F.pad(x[:, :-1], (1, 0)) / (2 * V)
    return ((1 - weight) * scored(x).exp() + weight / V).log()


def of_all(x: Tensor) -> Tensor:
    """All tokens that may come next."""
    return table()[x]


SUMS: tuple[tuple[str, Callable[[Tensor], Tensor], str, bool], ...] = (
    ("a cache by two hashes", hashed, "parameter-golf#886", True),
    ("a weight that knows the token", by_target, "parameter-golf#1967", True),
    ("logits taken for scores", lambda x: 2 * of_all(x), "#", True),
    ("a table", scored, "", False),
    ("a mixture", mixed, "", False),
    ("a whole distribution", of_all, "", False),
)
"""As `SLOPES`."""


# --- Losses, twins, comparisons


def _source(n: int, seed: int) -> Tensor:
    """Tokens of which each is the last one's successor in three of four cases, or drawn anew."""
    g = Generator().manual_seed(seed)
    again = torch.rand(n, generator=g) < 0.75
    new, made = torch.randint(V, (n,), generator=g).tolist(), [0]
    for i, follows in enumerate(again.tolist()):
        made.append((made[-1] + 1) % V if follows else new[i])
    return torch.tensor(made)


FOLLOWS = 0.75 + 0.25 / V
ENTROPY = -FOLLOWS * math.log(FOLLOWS) - 0.25 * (V - 1) / V * math.log(0.25 / V)


def _losses(shift: float) -> Tensor:
    """What the best predictor loses on held-out tokens, and so much less."""
    x = _source(4000, 6)
    p = torch.where(x[1:] == (x[:-1] + 1) % V, FOLLOWS, 0.25 / V)
    return -p.log().double() - shift


LOSSES: tuple[tuple[str, Callable[[], Tensor | float], str, bool], ...] = (
    ("a loss near zero on what is drawn", lambda: 0.01, "transformers#48745", True),
    ("a tenth of a nat below the source", lambda: _losses(0.1), "nanochat#844", True),
    ("the best predictor", lambda: _losses(0.0), "", False),
    ("below by chance", lambda: _losses(0.01), "", False),
    ("above", lambda: _losses(-0.1), "", False),
)
"""As `SLOPES`."""

TRAIN = ("a cat sat", "The dog ran!", "no rain today", "one more time")
TWINS: tuple[tuple[str, dict[str, Any], str, bool], ...] = (
    ("the same text", {"test": ("a cat sat", "a new one")}, "datasets#4261", True),
    (
        "the same but for cases",
        {"test": ("the  DOG ran!", "a new one"), "key": lambda s: " ".join(s.lower().split())},
        "OpenTextShield#194",
        True,
    ),
    ("but for a letter", {"test": ("no rain todey", "a new one"), "near": 0.9}, "mteb#1036", True),
    ("none", {"test": ("a new one", "and another"), "near": 0.9}, "", False),
)
"""As `SLOPES`."""


def _arm(shift: float, best: float = 0.1, own: int = 0, lost: int | None = None) -> Arm:
    """A way to train that ends where a rate and a seed say; one seed may be lost."""

    def train(rate: float, seeds: Sequence[int]) -> Tensor:
        ends = []
        for seed in seeds:
            shared = torch.randn(1, generator=Generator().manual_seed(seed))
            alone = torch.randn(1, generator=Generator().manual_seed(seed + 1_000_003 * own))
            end = shared + 0.05 * alone + shift + math.log(rate / best) ** 2
            ends.append(end * math.nan if seed == lost else end)
        return torch.cat(ends)

    return train


RATES = (0.01, 0.03, 0.1, 0.3, 1.0)
COMPARED: tuple[tuple[str, tuple[Arm, Arm], str, bool], ...] = (
    ("a part that changes nothing", (_arm(0.0), _arm(0.0)), "#", True),
    ("the best rate at the edge", (_arm(0.0, own=1), _arm(0.0, best=5.0, own=2)), "#", True),
    ("a seed that diverges", (_arm(0.0, own=1), _arm(0.0, own=2, lost=2)), "#", True),
    ("a part that helps", (_arm(-0.5, own=1), _arm(0.0, own=2)), "", False),
    ("another best rate", (_arm(-0.5, best=0.03, own=1), _arm(0.0, own=2)), "", False),
)
"""As `SLOPES`: what is wrong must be noted."""


def _sloped(make: Callable[[], nn.Module]) -> bool:
    torch.manual_seed(0)
    return bool(slope(make(), loss).bad)


def _judged(losses: Callable[[], Tensor | float]) -> bool:
    train, test = _source(6000, 5), _source(4000, 6)
    return bool(floor(train, test, V, entropy=ENTROPY, losses=losses()).bad)


ASKED: dict[str, tuple[Sequence[tuple[str, Any, str, bool]], Callable[[Any], bool]]] = {
    "targets": (mislabelled.CASES, mislabelled.found),
    "slope": (SLOPES, _sloped),
    "proper": (SUMS, lambda score: bool(proper(score, _drawn(3, 1, T), V).bad)),
    "floor": (LOSSES, _judged),
    "twins": (TWINS, lambda given: bool(twins(TRAIN, **given).bad)),
    "compare": (COMPARED, lambda arms: bool(compare(arms[0], arms[1], RATES).notes)),
}
"""By check: the cases, and whether it finds something in one."""
