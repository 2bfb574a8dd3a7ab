"""What is found of models that only the records' program asks, of two seeds that have not begun."""

import pytest
import torch
from torch import Generator
from torch.testing import assert_close

from attn_notes.models.triple_product import AttentionOnly
from attn_notes.training.ensemble import Run
from book.lessons.triple_product import explorer, learnt, measure, recipe
from book.lessons.triple_product.learnt import Runs

NOISE = torch.randint(16, (256, 23), generator=Generator().manual_seed(7))


@pytest.fixture(scope="module")
def untrained() -> Runs:
    settings = recipe.ONE | {"seeds": 2, "steps": 0}
    return measure.train_comparison(recipe.ONE_OF_EACH, recipe.FIXED, **settings)


def test_of_two_heads_the_one_that_looks_most_to_the_source_is_drawn(untrained: Runs) -> None:
    for kind, profile in learnt.offsets(untrained).items():
        for s, model in enumerate(learnt.members(untrained[kind])):
            _, attention = model.observe(NOISE)
            each = measure.by_offset(attention[:, 0].mean(0), slice(12, None))
            assert_close(profile[:, s], each[each[:, 11].argmax()])


def test_the_lowest_score_is_of_all_seeds_and_sharpness_their_mean(untrained: Runs) -> None:
    members = learnt.members(untrained["volume"])
    one, other = (measure.score_spread(model, NOISE) for model in members)
    lowest, sharpest = learnt.trained_scores(untrained)
    assert lowest == min(one["lowest"], other["lowest"])
    assert sharpest == pytest.approx((one["sharpest"] + other["sharpest"]) / 2)


def test_a_circuit_is_one_place_back_and_then_the_source() -> None:
    model = AttentionOnly(recipe.TWO_LAYERS["dot"], Generator().manual_seed(3))
    heads = measure.induction(model.observe, recipe.RANDOM, Generator().manual_seed(9))
    parameters = {name: p.detach()[None] for name, p in model.named_parameters()}
    run = Run(parameters, {}, torch.tensor([0]), {"loss": torch.zeros(1, 1)}, 0.0, model)
    found = learnt.circuits(dict.fromkeys(recipe.KINDS, run))
    assert found.previous["dot"].item() == pytest.approx(heads[0, :, 0].max().item())
    assert found.source["dot"].item() == pytest.approx(heads[1, :, 1].max().item())


@pytest.mark.slow
def test_the_widget_is_given_the_first_seed_of_what_was_trained(untrained: Runs) -> None:
    widget = explorer.copier()
    before = dict(widget.runs)
    explorer.load(widget, "one layer", untrained)
    assert [*widget.runs] == [*before] and {run["seeds"] for run in widget.runs.values()} == {1}
    for name, run in widget.runs.items():
        assert (run != before[name]) == name.startswith("one layer")
