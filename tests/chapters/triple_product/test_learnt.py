"""What is found of models that only the records' program asks, of two seeds that have not begun."""

import math

import pytest
import torch
from torch import Generator
from torch.testing import assert_close

from attn_notes.chapters.triple_product import evidence, learnt, measure, recipe
from attn_notes.chapters.triple_product.learnt import Runs
from attn_notes.models.triple_product import AttentionOnly, TripleProductAttention
from attn_notes.training.ensemble import Run


@pytest.fixture(scope="module")
def untrained() -> Runs:
    """Two seeds of each score, one layer, as they start."""
    return measure.train_comparison(
        recipe.ONE_OF_EACH, recipe.FIXED, **(recipe.ONE | {"seeds": 2, "steps": 0})
    )


@pytest.mark.slow
def test_losses_are_read_token_by_token_and_seed_by_seed(untrained: Runs) -> None:
    members, task = learnt.members(untrained["dot"]), recipe.FIXED
    x = task.sample(512, Generator().manual_seed(6))
    tokens = learnt.by_token(untrained)
    assert tokens.known == 11 and tokens.losses["dot"].shape == (23, 2)
    for s, member in enumerate(members):
        mean = task.probe(member, x)["loss"].item()
        assert tokens.losses["dot"][:, s].mean().item() == pytest.approx(mean, abs=1e-4)
    best = evidence.by_token().best  # of the same sequences, beside what was recorded
    assert tokens.best.tolist() == best.tolist()
    assert best.tolist() == pytest.approx([math.log(16)] * 11 + [0.0] * 12, abs=1e-4)


def test_of_two_heads_the_one_that_looks_most_to_the_source_is_drawn(untrained: Runs) -> None:
    noise = torch.randint(16, (256, 23), generator=Generator().manual_seed(7))
    for kind, profile in learnt.offsets(untrained).items():
        assert profile.sum(0).tolist() == pytest.approx([1] * 2, abs=1e-4)
        for s, model in enumerate(learnt.members(untrained[kind])):
            _, attention = model.observe(noise)
            each = measure.by_offset(attention[:, 0].mean(0), slice(12, None))
            assert_close(profile[:, s], each[each[:, 11].argmax()])


def test_other_periods_and_loud_tokens_are_told_of_each_seed(untrained: Runs) -> None:
    moved = learnt.transfer(untrained, recipe.FIXED)
    assert moved.home == (12,) and moved.periods == recipe.TESTED == tuple(range(6, 17))
    assert max(a.max().item() for a in moved.accuracy.values()) < 0.3
    loud = learnt.loudness({kind: untrained[kind] for kind in recipe.KINDS})
    model = learnt.members(untrained["volume"])[1]
    draw = Generator().manual_seed(10)
    others, own = measure.accuracy_at_loudness(model, recipe.FIXED, 3.0, draw)
    assert loud.of("others", "volume", 3.0)[1] == pytest.approx(others)
    assert loud.of("own", "volume", 3.0)[1] == pytest.approx(own)


def test_how_far_scores_go_is_the_lowest_of_all_seeds_and_the_mean_of_what_is_sharp(
    untrained: Runs,
) -> None:
    noise = torch.randint(16, (256, 23), generator=Generator().manual_seed(7))
    each = [measure.score_spread(m, noise) for m in learnt.members(untrained["volume"])]
    lowest, sharpest = learnt.trained_scores(untrained)
    assert lowest == min(one["lowest"] for one in each)
    assert sharpest == pytest.approx(sum(one["sharpest"] for one in each) / 2)


def test_a_circuit_is_one_place_back_and_then_the_source() -> None:
    model = AttentionOnly(recipe.TWO_LAYERS["dot"], Generator().manual_seed(3))
    heads = measure.induction(model.observe, recipe.RANDOM, Generator().manual_seed(9))
    run = Run(
        {name: p.detach()[None] for name, p in model.named_parameters()},
        {name: b[None] for name, b in model.named_buffers()},
        torch.tensor([0]), {"loss": torch.zeros(1, 1)}, 0.0, model,
    )  # fmt: skip
    found = learnt.circuits(dict.fromkeys(recipe.KINDS, run))
    assert found.previous["dot"].item() == pytest.approx(heads[0, :, 0].max().item())
    assert found.source["dot"].item() == pytest.approx(heads[1, :, 1].max().item())


def test_the_right_source_is_apart_from_the_other_keys() -> None:
    """Of the first sequence's first query, the thirteenth token: its source is the second."""
    model = AttentionOnly(recipe.ONE_LAYER["angle"], Generator().manual_seed(3))
    found = learnt.places(model, n=1)
    (row,) = recipe.FIXED.sample(1, Generator().manual_seed(11))
    embedded, layer = model.embedding(row).detach(), model.layers[0]
    assert isinstance(layer, TripleProductAttention)
    fits = []
    for head in range(recipe.ONE_LAYER["angle"].heads):
        keys, _ = measure.plane_coordinates(layer, embedded, head, recipe.HALF)
        place = torch.stack([keys[:, :2].norm(dim=1), keys[:, 2]], 1)
        fits.append(torch.allclose(found.right[0], place[1], atol=1e-6))
    assert any(fits)
    assert float((found.right[:, None] - found.others[None]).abs().sum(-1).min()) > 0


@pytest.mark.slow
def test_a_live_body_is_made_of_its_runs(untrained: Runs) -> None:
    body = evidence.live({"one layer": untrained})
    counts = {kind: run.parameters for kind, run in body.learnings["one layer"].items()}
    assert counts == {"dot": 5120, "volume": 6144, "angle": 6146}
    assert body.seeds == 2 and body.steps("one layer") == 0 and body.loud is not None
    dots = body.only("dot")
    assert {*dots.learnings["one layer"]} == {*dots.moved["one layer"].accuracy} == {"dot"}
    assert list(evidence.beside(body)) == ["live, 2 seeds", "recorded, 8 seeds", "longer, 8 seeds"]
