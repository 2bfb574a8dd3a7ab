"""torch's own layers train in company as they do alone; what cannot is refused in words."""

import re
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import spectral_norm as of_old
from torch.nn.utils.parametrizations import spectral_norm
from torch.testing import assert_close

from attn_notes.models.dialectical import PUBLISHED, Config, DialecticalHead
from attn_notes.training.ensemble import train
from attn_notes.training.plain import of_matrices

X = torch.randn(3, 5, 8, generator=Generator().manual_seed(1))
HALTS = Config(width=8, head_dim=4, steps=3, tension_tau=0.4, halt_eps=0.1)
STARTS = replace(PUBLISHED, width=8, head_dim=4, steps=3, tension_tau=0.4, halt_eps=0.1)


class Four(nn.Module):
    """Attention of torch [n, h, t, d]."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.norm = nn.Linear(8, 24), nn.LayerNorm(8)

    def forward(self, x):
        q, k, v = self.inner(self.norm(x)).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2)


class First(nn.Module):
    """The first of what a layer of torch's returns, which reads its input in so many places."""

    def __init__(self, kind, *sizes, read=1, **settings) -> None:
        super().__init__()
        self.layer, self.read = kind(*sizes, batch_first=True, **settings), read

    def forward(self, x):
        return self.layer(*[x] * self.read)[0]


LAYERS = {
    "attention of four axes": Four,
    "an encoder layer": lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True),
    "heads": partial(First, nn.MultiheadAttention, 8, 2, read=3),
    "GRU": partial(First, nn.GRU, 8, 8),
    "LSTM of two layers": partial(First, nn.LSTM, 8, 8, num_layers=2),
    "RNN": partial(First, nn.RNN, 8, 8, nonlinearity="relu"),
    "dropout that draws nothing": lambda: nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1)).eval(),
    "a head whose tokens halt": lambda: DialecticalHead(HALTS, drawn()),
    "a head whose tokens start again": lambda: DialecticalHead(STARTS, drawn()),
}


def drawn():
    return Generator().manual_seed(torch.initial_seed())


def loss(model, x):
    return (model(x) - x.sum(-1, keepdim=True)).square().mean()


def made(layer, seed):
    torch.manual_seed(seed)
    return layer().double()


def assert_same(one, other) -> None:
    assert_close([*one.parameters()], [*other.parameters()], rtol=0, atol=1e-9)


@pytest.mark.in_short(3)
@pytest.mark.parametrize("name", LAYERS)
def test_in_company_as_alone(name):
    models = [made(LAYERS[name], seed) for seed in (1, 2)]
    run = train(models, loss, X.double(), steps=3, optimizer=partial(torch.optim.AdamW, lr=1e-2))
    for i, model in enumerate(models):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for _ in range(3):
            optimizer.zero_grad()
            loss(model, X.double()).backward()
            optimizer.step()
        assert_same(run.member(i), model)


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this torch has no Muon")
@pytest.mark.parametrize("of", [of_matrices, partial])
def test_matrices_by_one_optimiser_and_the_rest_by_another(of):
    """As by two alone; a schedule sets the rates of both."""
    model, how = made(Four, 1), {"steps": 2, "optimizer": of(torch.optim.Muon, lr=0.02)}
    run = train([model], loss, X.double(), schedule=lambda step: 1 / (step + 1), **how)
    matrices = [p for p in model.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if p.ndim != 2]
    parts = [torch.optim.Muon(matrices, lr=0.02), torch.optim.AdamW(others, lr=0.02)]
    for step in range(2):
        model.zero_grad()
        loss(model, X.double()).backward()
        for part in parts:
            part.param_groups[0]["lr"] = 0.02 / (step + 1)
            part.step()
    assert_same(run.member(0), model)


def refused(layer, asked, why):
    models, optimizer = [made(layer, 1)] * 2, partial(torch.optim.SGD, lr=0.1)
    with pytest.raises(ValueError, match=why) as error:
        train(models, asked, X.double(), steps=1, optimizer=optimizer)
    return str(error.value)


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (lambda: nn.BatchNorm1d(5), "`1` updates numbers of its own while it trains"),
        (lambda: nn.Dropout(0.1), "draws random numbers .without dropout"),
        (lambda: nn.InstanceNorm1d(5, track_running_stats=True), "`1` updates numbers of its own"),
        (lambda: spectral_norm(nn.Linear(8, 8)), "`1.parametrizations.weight.0` updates numbers"),
        (lambda: of_old(nn.Linear(8, 8)), "does what torch can do for one alone"),
        (lambda: First(nn.GRU, 8, 8, num_layers=2, dropout=0.1), "draws random numbers"),
    ],
)
def test_a_layer_that_cannot_be_trained_in_company_is_said_with_its_line(part, why):
    layer = partial(nn.Sequential, nn.Linear(8, 8), part())
    refused(layer, loss, f"{why}.* asked for in {re.escape(__file__)}, line")


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, slope):
        return 2 * slope


REFUSED = {
    "reads a number": lambda x: x / x.max().item(),
    "and `if` do": lambda x: -x if x.sum() > 0 else x,
    "a shape that hangs": lambda x: x[x > 0],
    "without `setup_context`": Own.apply,
    "does what torch can do for one alone": lambda x: x * torch.equal(x, x),
    "else than one number": lambda x: float(5),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_traced_in_company_is_said_with_its_line(why):
    def asked(model, x):
        found = REFUSED[why](model(x))
        return found.mean() if isinstance(found, Tensor) else found

    said = refused(partial(nn.Linear, 8, 8), asked, f"what is trained .*{why}")
    assert f"{__file__}, line" in said or why == "else than one number"
