"""Whose gradient pulls against whose, by hand; and trainings in which two predictions change."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Generator
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting
from book.lessons.deep_qkv import pull, recipe

SHORT = replace(recipe.LIVE.at(0.02), seeds=(0, 1, 2), steps=4, warmup=2, probe_every=1)


def gradients(model: Sorter, tokens: torch.Tensor) -> torch.Tensor:
    """Of each of the six predictions, over some inputs, by torch's own backward."""
    rows = []
    for i in range(6):
        loss = F.cross_entropy(model(tokens[:, :-1])[:, i], tokens[:, i + 1]) / 6
        rows.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, model.parameters())]))
    return torch.stack(rows)


def test_products_and_the_noise_of_one_input_are_those_of_six_backward_passes():
    model = Sorter(Config("plain"), Generator().manual_seed(3))
    found = pull.pulls(model, {name: p.detach() for name, p in model.named_parameters()})
    by_hand = gradients(model, sorting.all_sequences())
    assert_close(found.products, by_hand @ by_hand.T)
    two, four = by_hand[2:4].sum(0), by_hand[[0, 1, 4, 5]].sum(0)
    assert_close(pull.cosine(found.products, (2, 3)), F.cosine_similarity(two, four, dim=0))
    six = torch.stack([gradients(model, row[None]) for row in sorting.all_sequences()])
    for noise, part in zip(found.noise, (six[:, :2].sum(1), six[:, 2:].sum(1)), strict=True):
        assert_close(noise, (part - part.mean(0)).square().sum(1).mean().sqrt())


def test_half_of_the_products_is_all():
    rows = torch.arange(36.0).view(2, 3, 6)
    products = torch.einsum("brx,bry->bxy", rows, rows)
    assert pull.half(products).shape == (2, 21)
    assert_close(pull.whole(pull.half(products)), products)


def test_who_is_helped_and_who_is_hurt():
    losses = torch.zeros(3, 1, 6)
    losses[:, 0, 0] = torch.tensor([2.0, 1.0, 0.5])
    losses[:, 0, 3] = torch.tensor([1.0, 1.5, 1.0])
    assert pull.opposed(losses)[:, 0].tolist() == [1, 0]
    assert pull.opposed(losses, (0, 3))[:, 0].tolist() == [0, 0]


def test_what_yields_no_longer_points_against():
    four = torch.tensor([[0.3, 0.0], [0.3, 0.0], [3.0, 4.0]])
    two = torch.tensor([[-0.2, 0.1], [0.2, 0.1], [0.0, 0.0]])
    every = torch.ones(3, 1, dtype=torch.bool)
    expected = torch.tensor([[0.3, 0.1], [0.5, 0.1], [0.6, 0.8]])  # at most of norm 1
    assert_close(pull.combined(two, four, every), expected)
    as_it_is = torch.tensor([[0.1, 0.1], [0.5, 0.1], [0.6, 0.8]])
    assert_close(pull.combined(two, four, ~every), as_it_is)


@pytest.mark.slow
def test_the_usual_way_is_the_recipes():
    found = pull.train({"all": pull.Way(), "half": pull.Way(share=0.5)}, SHORT)["all"]
    usual = recipe.train_sorters(Config("plain"), SHORT)
    assert found.steps.tolist() == usual.steps.tolist()
    for name, values in usual.history.items():
        assert_close(found.history[name], values, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_letters_that_count_no_more_are_left_out():
    """From the step on from which they do not; clipped as they come, so nearly as the recipe."""
    ways = {"out": pull.Way(until=0), "late": pull.Way(until=2), "all": pull.Way()}
    out, late, usual = (run.history["losses"] for run in pull.train(ways, SHORT).values())
    assert_close(late[:3], usual[:3])
    assert (late[3] - usual[3]).abs().max() > 1e-3
    without = recipe.train_sorters(Config("plain"), SHORT, sorting.KNOWABLE)
    assert_close(out, without.history["losses"], rtol=0, atol=0.02)
    assert (out[-1] - usual[-1]).abs().max() > 0.05


def test_what_is_asked_of_cab():
    (cab,) = (sorting.all_sequences()[:, :4] == sorting.prompt("cab")).all(1).nonzero()[0]
    for asked, first in (("next", "ab|abc"), ("repeat", "ca|abc"), ("a", "aa|abc")):
        assert sorting.decode(pull.Way(asked=asked).targets()[cab].tolist()) == first


@pytest.mark.slow
def test_what_is_easy_is_learnt():
    """Asked to repeat, a sorter learns that: the letter that comes then costs it more than ln 3."""
    setting = replace(SHORT, seeds=(0,), steps=60, warmup=10, probe_every=60)
    ways = {"next": pull.Way(), "repeat": pull.Way(asked="repeat")}
    runs = pull.train(ways, setting).values()
    usual, repeats = (run.history["losses"][-1, 0, :2] for run in runs)
    assert usual.max() < math.log(3) + 0.2 < 2 < repeats.min()
