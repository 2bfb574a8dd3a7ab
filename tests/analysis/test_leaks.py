import math
from dataclasses import dataclass
from functools import partial

import pytest
import torch
from torch import Generator, nn
from torch.nn import functional as F

from attn_notes.analysis.leaks import future_leak, influence
from attn_notes.analysis.snapshot import roots
from attn_notes.models.triple_product import AttentionOnly, Config

from .keeping import Model, V, causal, state

T = 7


@pytest.fixture
def tokens():
    return torch.randint(V, (3, T), generator=Generator().manual_seed(1))


def test_a_model_that_reads_the_past_does_not_leak(tokens):
    assert future_leak(causal, tokens, V) == 0
    model = AttentionOnly(Config(vocabulary=V), Generator().manual_seed(2))
    assert future_leak(model, tokens, V) == 0
    seen = influence(model, tokens, V)
    assert (seen.tril() > 0).equal(torch.ones(T, T).tril().bool()) and not seen.requires_grad


@pytest.mark.in_short(3)
@pytest.mark.parametrize("read", range(T))
def test_a_peek_at_one_place_is_found_where_it_is(tokens, read):
    """One logit depends on whether one later token is one letter, which no sequence has there."""
    tokens[:, read] = 0
    for reader in range(T):

        def peeks(x, reader=reader):
            logits = causal(x)
            logits[:, reader, 2] += 0.125 * (x[:, read] == 4)
            return logits

        leak = future_leak(peeks, tokens, V)
        assert leak == (0.125 if read > reader else 0)
        extra = (influence(peeks, tokens, V) - influence(causal, tokens, V)).triu(1).nonzero()
        assert extra.tolist() == ([[reader, read]] if read > reader else [])


def test_infinite_logits_may_stay_and_what_is_no_number_counts(tokens):
    banned = torch.tensor([False] * 4 + [True])
    assert future_leak(lambda x: causal(x).masked_fill(banned, -math.inf), tokens, V) == 0
    assert future_leak(lambda x: causal(x) * math.nan, tokens, V) == math.inf


def test_the_size_of_a_leak_is_that_of_the_change(tokens):
    """The mean of all tokens moves by the letters' distance over the length, summed if many do.

    Its output may be used again.
    """
    logits = torch.zeros(*tokens.shape, V, dtype=torch.float64)

    def mean(x):
        means = x.double().mean(1)[:, None, None].expand(*x.shape, V)
        return logits.copy_(means) if means.shape == logits.shape else means

    farthest = torch.maximum(tokens, V - 1 - tokens)[:, 1:].max().item()
    assert influence(mean, tokens, V).triu(1).max().item() == pytest.approx(farthest / T)
    later = tokens[:, 1:].sum(1)
    together = torch.maximum(later, (V - 1) * (T - 1) - later).max().item()
    assert future_leak(mean, tokens, V) == pytest.approx(together / T)


def test_the_largest_of_all_replacements_counts(tokens):
    """One letter moves a logit, and it is not the last one tried; or two do together."""
    tokens[:, 4] = 0
    for letter in range(1, V):
        peeks = lambda x, a=letter: causal(x) + 0.25 * (x[:, 4] == a)[:, None, None]  # noqa: E731
        assert future_leak(peeks, tokens, V) == 0.25 and influence(peeks, tokens, V)[1, 4] == 0.25

    def both(x):
        return causal(x) + 0.25 * ((x[:, 5] == 2) & (x[:, 6] == 2))[:, None, None]

    tokens[:] = 0
    assert influence(both, tokens, V).triu(1).max() == 0 and future_leak(both, tokens, V) == 0.25


@dataclass
class Around:
    """A model that is no module and holds one."""

    model: Model

    def read(self, x):
        return self.model(x)

    __call__ = read


@dataclass(slots=True)
class Slotted:
    """The same, without a dictionary, and one of several."""

    models: list[dict[str, Model]]

    def __call__(self, x):
        return self.models[0]["one"](x)


def within(model):
    inner = lambda x: model(x)  # noqa: E731
    return lambda x: inner(x)


WAYS = {
    "module": lambda model: model,
    "method": lambda model: model.forward,
    "function": lambda model: lambda x: model(x),
    "function in a notebook": lambda model: eval("lambda x: model(x)", {"model": model}),
    "partial": lambda m: partial(torch.func.functional_call, m, dict(m.named_parameters())),
    "function in a function": within,
    "function's default": lambda model: lambda x, asked=model: asked(x),
    "object in a partial": lambda model: partial(Around(model).read),
    "items of slots": lambda model: Slotted([{"one": model}]),
    "object": Around,
    "object's method": lambda model: Around(model).read,
}


@pytest.mark.in_short(6)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_a_model_is_left_as_it_was(tokens, way, training):
    """And it begins every time as it was: what it counts and draws is no leak, its norm is one."""
    model = Model(norm=True).train(training)
    model.drop.train(not training)  # a mode of its own
    asked, before = WAYS[way](model), state(model)
    leak = future_leak(asked, tokens, V)
    assert state(model) == before
    assert leak > 0.01 if training else leak == 0
    influence(asked, tokens, V)
    assert state(model) == before

    def fails(x):
        asked(x)
        model.train(not training)
        raise MemoryError

    with pytest.raises(MemoryError):
        future_leak(fails, tokens, V)
    assert state(model) == before


def test_dropout_is_no_leak_and_hides_none(tokens):
    """In training mode, with every random number that it draws."""
    assert future_leak(Model(norm=False), tokens, V) == 0
    assert future_leak(nn.Sequential(Model(norm=False), nn.Dropout(0.9)), tokens, V) == 0
    assert future_leak(lambda x: F.dropout(causal(x)), tokens, V) == 0
    leak = 0.25 * (V - 1) * (T - 1)  # at most: all later tokens from one end to the other
    assert 0.25 <= future_leak(Model(norm=False, ahead=0.25), tokens, V) <= leak


def test_the_modules_around_a_model_are_those_that_are_part_of_no_other():
    inner = nn.Sequential(nn.Linear(2, 2))
    outer, other = nn.Sequential(inner), nn.Linear(3, 3)
    assert roots(outer) == [outer]
    assert set(roots(lambda x: other(outer(inner(x))))) == {outer, other} and roots(len) == []
