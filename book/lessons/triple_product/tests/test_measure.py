"""What the lesson measures, of models whose every answer is known, and of vectors by hand."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Generator, Tensor
from torch.nn.functional import one_hot
from torch.testing import assert_close

from attn_notes.models.triple_product import AttentionOnly, Config, expanded_volume
from attn_notes.tasks.copying import Copying
from book.lessons.triple_product import geometry, measure


def seed(number: int = 0) -> Generator:
    return Generator().manual_seed(number)


def test_wrong_signs_are_counted():
    """Stopping at zero mends the sign and not the digits; taking off the projection mends both."""

    def signs(form: str, d: int, loudness: float) -> tuple[float, float, float]:
        return measure.wrong_signs(form, d, loudness, 2000, seed(3))

    share, low, high = signs("expanded", 16, 1000.0)
    assert 0.2 < share < 0.6 and low < -100 and high > 100
    for form, digits in (("projected", False), ("residual", True), ("stable", True)):
        share, low, high = signs(form, 16, 1000.0)
        assert share == 0 and high <= 0 and (low > -0.1) == digits
    once, louder = (signs("expanded", 16, loudness) for loudness in (1.0, 8.0))
    assert louder == pytest.approx((once[0], 64 * once[1], 64 * once[2]))  # a power of two
    assert signs("expanded", 64, 1.0)[2] < 4 ** (3 - 1.5) * 20 * once[2]
    # Rounding of the vectors themselves lifts a key by about 1e-7 of its length off the plane.
    assert signs("stable", 16, 1.0)[1] > -1e-9


def test_heads_are_widened_to_equal_parameters():
    dot, volume = (Config(score, width=24, heads=3, head_dim=16) for score in ("dot", "volume"))
    assert measure.with_parameters_of(dot, volume).d == 20  # 4 matrices of 20 for 5 of 16
    with pytest.raises(ValueError, match="no even dimension"):
        measure.with_parameters_of(volume, dot)


def test_a_stranger_takes_what_the_formula_says():
    """Dot product: friend 1/√2 against the leak. Volume: 0 against −length². Angle: β cos²."""
    fixed, shared = geometry.against_stranger(False, 3), geometry.against_stranger(True, 3)
    for shares, leak in ((fixed, 0.5), (shared, 50.0)):  # the last leak, a stranger of 100
        right = 1 / (1 + math.exp(leak - 0.5**0.5))
        assert shares.of["dot"][-1, -1] == pytest.approx(right, abs=1e-4)
        assert shares.of["volume"][0, 0] == pytest.approx(1 / (1 + math.exp(-1)), abs=1e-4)


def test_the_spread_of_the_volume_is_the_one_in_closed_form():
    """det G of three normal vectors is a product of χ² with d, d − 1 and d − 2 degrees."""
    for s in geometry.spreads():
        product = math.prod(d * (d + 2) for d in (s.d, s.d - 1, s.d - 2))  # E of the square
        mean = math.prod((s.d, s.d - 1, s.d - 2))
        exact = math.sqrt(product - mean**2) / s.d**1.5
        assert exact == pytest.approx(s.exact)
        assert (s.volume, s.dot) == pytest.approx((exact, 1), rel=0.1)


def test_training_is_asked_for_as_one_asks(monkeypatch):
    seen: dict[str, Any] = {}
    monkeypatch.setattr(measure, "train_kinds", lambda *_, **more: seen.update(more) or {})
    settings = {"seeds": 2, "steps": 7, "lr": 0.125, "warmup": 2, "probe_every": 3}
    measure.train_comparison({}, Copying(9, 11, (5,)), batch=13, **settings)
    assert settings.items() <= seen.items()
    with pytest.raises(ValueError, match="a has 16 tokens, the task 9"):
        measure.train_comparison({"a": Config()}, Copying(9, 11, (5,)), batch=13, **settings)


def looks_back(places: int, vocabulary: int, late: int = 0) -> Callable[..., Tensor]:
    """Predicts the letter so many places back from the one to come, or nothing before `late`."""

    def model(x: Tensor, loudness: Tensor | None = None) -> Tensor:
        sure = 50.0 * one_hot(x.roll(places - 1, -1), vocabulary)
        return torch.where(torch.arange(x.shape[1])[:, None] >= late - 1, sure, 0.0)

    return model


def test_transfer_knows_a_copier_by_position():
    model = looks_back(5, 17)
    found = measure.transfer([model, model], 17, [4, 5, 7], seed())
    assert found.shape == (3, 2) and (found[1] == 1).all() and (found[[0, 2]] < 0.15).all()
    lengths = []
    watched = [lambda x: lengths.append(x.shape[1]) or model(x)]
    measure.transfer(watched, 17, [4, 5, 7], seed())
    assert lengths == [7, 9, 13]  # two periods; the last token is only predicted


@pytest.mark.parametrize(("late", "share"), [(0, 1.0), (6, 1.0), (7, 0.75), (9, 0.25)])
def test_every_letter_of_the_copy_counts_but_its_first(late, share):
    """Who begins to copy late loses just those letters; what it says before the copy is nothing."""
    (found,) = measure.transfer([looks_back(5, 17, late)], 17, [5], seed(1))
    assert found.item() == pytest.approx(share + (1 - share) / 17, abs=0.03)  # guessed: the rest


def test_a_copier_by_place_follows_without_a_match():
    """It predicts the letter five back, whatever was read; one by content only after a match."""
    task = Copying(16, 24, (12,))
    place = measure.follows(looks_back(5, 16), task, seed(), 512)
    assert place.shape == (2, 18) and (place[:, 4] == 1).all()
    assert place[:, torch.arange(18) != 4].max() < 0.3

    def reads(x: Tensor) -> Tensor:
        """What followed the present letter when it was read last."""
        same = (x[:, :, None] == x[:, None]).tril(-1)
        source = torch.where(same, torch.arange(x.shape[1]), -1).amax(-1)
        follower = x.gather(1, (source + 1).clamp(min=0))
        return 50 * one_hot(torch.where(source < 0, 0, follower), 16).float()

    content = measure.follows(reads, task, seed(), 512)
    assert (content[0] == 1).all() and content[1].max() < 0.3


def test_offsets_are_counted_back():
    attention = torch.zeros(2, 7, 7)
    attention[0].diagonal(-2)[:] = 1
    attention[1] = torch.tril(torch.ones(7, 7)) / torch.arange(1, 8)[:, None]
    found = measure.by_offset(attention, slice(3, None))
    assert_close(found[0], torch.eye(7)[2])
    assert_close(found[1][0], (1 / torch.tensor([4.0, 5, 6, 7])).mean())
    assert_close(found.sum(1), torch.ones(2))
    assert_close(found[1][6], torch.tensor(1 / 7 / 4))


def test_induction_names_the_two_parts():
    def observe(x: Tensor) -> tuple[Tensor, Tensor]:
        attention = torch.zeros(len(x), 2, 1, x.shape[1], x.shape[1])
        for layer, back in enumerate((1, 3)):
            attention[:, layer].diagonal(-back, -2, -1)[:] = 1
        return torch.zeros(0), attention

    for periods, share in (((4,), 1.0), ((4, 6), 0.5)):
        found = measure.induction(observe, Copying(7, 13, periods), seed(), 5)
        assert_close(found[:, 0], torch.tensor([[1.0, 0], [0, share]]))


def test_loudness_is_told_of_bystanders_and_of_the_loud_one():
    places = set()

    def blind(x: Tensor, loudness: Tensor) -> Tensor:
        assert ((loudness == 3) | (loudness == 1)).all() and (loudness == 3).sum(1).eq(1).all()
        places.update((loudness == 3).nonzero()[:, 1].tolist())
        return looks_back(6, 31)(torch.where(loudness == 1, x, 0))

    def captive(x: Tensor, loudness: Tensor) -> Tensor:
        return 50.0 * one_hot((x * (loudness != 1)).sum(-1, keepdim=True).expand_as(x), 31)

    task = Copying(31, 12, (6,))
    others, own = measure.accuracy_at_loudness(blind, task, 3.0, seed())
    assert others == 1 and own < 0.1 and places == {1, 2, 3, 4, 5}
    others, own = measure.accuracy_at_loudness(captive, task, 3.0, seed())
    assert others < 0.1 and own == 1


def test_score_spread_reads_causal_scores_only(generator):
    model = AttentionOnly(Config("volume"), generator)
    x = torch.randint(16, (3, 7), generator=generator)
    q, k, r, _ = model.layers[0].project(model.embedding(x))
    volumes = expanded_volume(q, k, r) / 64
    read = [volumes[..., i, j].max().item() for i in range(7) for j in range(i + 1)]
    sharpest = [row.max().item() for row in model.observe(x)[1].flatten(0, -2)]
    found = measure.score_spread(model, x)
    assert found["lowest"] == pytest.approx(-max(read), rel=1e-3)
    assert found["sharpest"] == pytest.approx(sum(sharpest) / len(sharpest))


@pytest.mark.parametrize("form", measure.FORMS)
def test_every_form_does_the_same_work(form, generator):
    q, k, r, v = torch.randn(4, 2, 3, 11, 6, generator=generator, dtype=torch.float64)
    expected = measure.mixer("dot" if "dot" in form else "expanded")(q, k, r, v)
    assert_close(measure.mixer(form)(q, k, r, v), expected)


def test_costs_are_measured_for_every_form_that_fits():
    fits = measure.forward_backward(1, 1, measure.LONGEST_RESIDUAL, 2, seed())
    assert [*fits] == [*measure.FORMS]
    found = measure.cost_of_forms(1, 2, 521, 4, seed(), repeats=1)
    assert [*found] == [form for form in measure.FORMS if form != "residual"]
    # The fused kernels never hold a score for every pair, all others do.
    matrix = 2 * 521 * 521 * 4
    for form, (seconds, peak) in found.items():
        assert seconds > 0 and (peak > matrix) == (form not in ("features", "fused dot")), form
