"""What is measured on sorters, by hand; whose gradient pulls against whose, and such trainings."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Generator, Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting
from book.lessons.deep_qkv import measure, pull, recipe


def test_sensitivity_forbids_the_separator() -> None:
    def likes_sep(x: Tensor) -> Tensor:
        logits = torch.zeros(*x.shape, 4)
        logits[..., sorting.SEP] = 5.0
        logits[:, 3:, 3] = torch.where(x[:, 1:2] == 3, 40.0, 0.0)
        return logits

    # Without SEP: even over a, b, c, or all on c where the second letter is c. Replacing it
    # moves 2/3 of the probability for two thirds of the words and replacements.
    assert_close(measure.sensitivity(likes_sep), torch.tensor([0, 4 / 9, 0]).expand(3, 3))


def test_sensitivity_of_the_best_predictor() -> None:
    # Counted by hand for the smallest letter: replacing one of three changes it for a third of
    # the words and replacements; so for the largest; the middle one for 14 of 27.
    moved = measure.sensitivity(sorting.ideal)
    assert_close(moved, torch.tensor([[1 / 3], [14 / 27], [1 / 3]]).expand(3, 3))


SHORT = replace(recipe.LIVE.at(0.02), seeds=(0, 1, 2), steps=4, warmup=2, probe_every=1)


def gradients(model: Sorter, tokens: torch.Tensor) -> torch.Tensor:
    """Of each of the six predictions, over some inputs, by torch's own backward."""
    rows = []
    for i in range(6):
        loss = F.cross_entropy(model(tokens[:, :-1])[:, i], tokens[:, i + 1]) / 6
        rows.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, model.parameters())]))
    return torch.stack(rows)


def test_products_and_the_noise_of_one_input_are_those_of_six_backward_passes() -> None:
    model = Sorter(Config("plain"), Generator().manual_seed(3))
    found = pull.pulls(model, {name: p.detach() for name, p in model.named_parameters()})
    six = torch.stack([gradients(model, row[None]) for row in sorting.all_sequences()])
    by_hand = six.mean(0)
    assert_close(found.products, by_hand @ by_hand.T)
    assert pull.half(found.products[None]).shape == (1, 21)
    assert_close(pull.whole(pull.half(found.products[None]))[0], found.products)
    two, four = by_hand[2:4].sum(0), by_hand[[0, 1, 4, 5]].sum(0)
    assert_close(pull.cosine(found.products, (2, 3)), F.cosine_similarity(two, four, dim=0))
    for noise, part in zip(found.noise, (six[:, :2].sum(1), six[:, 2:].sum(1)), strict=True):
        assert_close(noise, part.var(0, correction=0).sum().sqrt())


def test_who_is_helped_and_who_is_hurt() -> None:
    losses = torch.zeros(3, 1, 6)
    losses[:, 0, [0, 3]] = torch.tensor([[2.0, 1.0], [1.0, 1.5], [0.5, 1.0]])
    assert pull.opposed(losses)[:, 0].tolist() == [1, 0]
    assert pull.opposed(losses, (0, 3))[:, 0].tolist() == [0, 0]


def test_what_yields_no_longer_points_against() -> None:
    four = torch.tensor([[0.3, 0.0], [0.3, 0.0], [3.0, 4.0]])
    two = torch.tensor([[-0.2, 0.1], [0.2, 0.1], [0.0, 0.0]])
    for yields, first in ((True, 0.3), (False, 0.1)):
        expected = torch.tensor([[first, 0.1], [0.5, 0.1], [0.6, 0.8]])  # at most of norm 1
        assert_close(pull.combined(two, four, torch.full((3, 1), yields)), expected)


@pytest.mark.slow
def test_the_usual_way_is_the_recipes() -> None:
    found = pull.train({"all": pull.Way(), "half": pull.Way(share=0.5)}, SHORT)["all"]
    usual = recipe.train_sorters(Config("plain"), SHORT)
    assert found.steps.tolist() == usual.steps.tolist()
    for name, values in usual.history.items():
        assert_close(found.history[name], values, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_letters_that_count_no_more_are_left_out() -> None:
    """From the step on from which they do not; clipped as they come, so nearly as the recipe."""
    ways = {"out": pull.Way(until=0), "late": pull.Way(until=2), "all": pull.Way()}
    out, late, usual = (run.history["losses"] for run in pull.train(ways, SHORT).values())
    assert_close(late[:3], usual[:3])
    assert (late[3] - usual[3]).abs().max() > 1e-3
    without = recipe.train_sorters(Config("plain"), SHORT, sorting.KNOWABLE)
    assert_close(out, without.history["losses"], rtol=0, atol=0.02)
    assert (out[-1] - usual[-1]).abs().max() > 0.05


def test_what_is_asked_of_cab() -> None:
    (cab,) = (sorting.all_sequences()[:, :4] == sorting.prompt("cab")).all(1).nonzero()[0]
    for asked, first in (("next", "ab|abc"), ("repeat", "ca|abc"), ("a", "aa|abc")):
        assert sorting.decode(pull.Way(asked=asked).targets()[cab].tolist()) == first


@pytest.mark.slow
def test_what_is_easy_is_learnt() -> None:
    """Asked to repeat, a sorter learns that: the letter that comes then costs it more than ln 3."""
    setting = replace(SHORT, seeds=(0,), steps=60, warmup=10, probe_every=60)
    runs = pull.train({"next": pull.Way(), "repeat": pull.Way(asked="repeat")}, setting).values()
    usual, repeats = (run.history["losses"][-1, 0, :2] for run in runs)
    assert usual.max() < math.log(3) + 0.2 < 2 < repeats.min()
