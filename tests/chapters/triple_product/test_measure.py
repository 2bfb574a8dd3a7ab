import math
from functools import partial

import pytest
import torch
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.chapters.triple_product import geometry, measure
from attn_notes.models.triple_product import AttentionOnly, Config, expanded_volume
from attn_notes.tasks import copying
from attn_notes.tasks.copying import Copying
from attn_notes.training import comparison
from attn_notes.training.ensemble import train
from attn_notes.training.schedules import warmup_cosine

# What the source prints, to the digit.
PUBLISHED_TABLE = """\
1.0        | 0.7071       | -0.0000
1.0        | 0.1000       | -1.0000
5.0        | 0.1000       | -25.0000
10.0       | 0.1000       | -100.0000
50.0       | 0.1000       | -2500.0000
100.0      | 0.1000       | -10000.0000"""


def test_the_published_table_is_reproduced() -> None:
    lines = [f"{m:<10.1f} | {dot:<12.4f} | {v:.4f}" for m, dot, v in measure.resilience_table()]
    assert "\n".join(lines) == PUBLISHED_TABLE


def test_the_scene_varies_as_it_says() -> None:
    fixed, scaled = measure.scene(20.0, 0.3), measure.scene(20.0, 0.3, leak_scales=True)
    assert_close(fixed.stranger, torch.tensor([0.3, 0, 20, 0]))
    assert_close(scaled.stranger, torch.tensor([6.0, 0, 20, 0]))
    tilted = measure.scene(1.0, tilt=0.4).friend
    assert_close(tilted.norm(), torch.tensor(1.0))
    s = measure.scene(1.0)
    height = math.sin(0.4)
    assert measure.single_score("volume", s.q, tilted, s.r) == pytest.approx(-(height**2))
    assert measure.single_score("angle", s.q, tilted, s.r) == pytest.approx(1 - height**2)
    assert measure.single_score("volume", s.q, 7 * tilted, s.r) == pytest.approx(-49 * height**2)
    assert measure.single_score("angle", s.q, 7 * tilted, s.r) == pytest.approx(1 - height**2)


def test_wrong_signs_are_counted() -> None:
    """Stopping at zero mends the sign and not the digits; taking off the projection mends both."""

    def signs(form: str, d: int, loudness: float) -> tuple[float, float, float]:
        return measure.wrong_signs(form, d, loudness, 2000, Generator().manual_seed(3))

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


def test_heads_are_widened_to_equal_parameters() -> None:
    volume = Config(score="volume", width=24, heads=3, head_dim=16)
    dot = measure.with_parameters_of(Config(score="dot", width=24, heads=3, head_dim=16), volume)
    count = [
        sum(p.numel() for p in AttentionOnly(c, Generator()).parameters()) for c in (dot, volume)
    ]
    assert count[0] == count[1]
    assert dot.head_dim == 20
    many = measure.with_parameters_of(Config(score="angle", heads=2, width=24), dot)
    assert 5 * many.heads * many.d == 4 * 3 * 20
    with pytest.raises(ValueError, match="no even dimension"):
        measure.with_parameters_of(
            Config(score="dot", heads=4), Config("volume", heads=4, head_dim=4)
        )
    with pytest.raises(ValueError, match="no even dimension"):
        measure.with_parameters_of(volume, Config(score="dot", width=24, heads=3, head_dim=16))


def test_the_friends_share_is_a_softmax_of_two_scores() -> None:
    """By hand: the friend leans 30° out of the plane, the stranger of length 3 stands upright."""
    s = measure.scene(3.0, 0.0, tilt=math.pi / 6)
    for length in (1.0, 2.0):
        scores = {
            "dot": (length * math.cos(math.pi / 6) / math.sqrt(2), 0.0),
            "volume": (-((length / 2) ** 2), -9.0),
            "angle": (8 * 0.75, 0.0),
        }
        for name, (friend, stranger) in scores.items():
            expected = 1 / (1 + math.exp(stranger - friend))
            assert measure.share_of_friend(name, s, length) == pytest.approx(expected, rel=1e-5)


def test_a_stranger_takes_what_the_formula_says() -> None:
    """Dot product: friend 1/√2 against the leak. Volume: 0 against −length²."""
    fixed, shared = geometry.against_stranger(False, 3), geometry.against_stranger(True, 3)
    for shares, leak in ((fixed, 0.5), (shared, 50.0)):  # the last leak, a stranger of 100
        right = 1 / (1 + math.exp(leak - 0.5**0.5))
        assert shares.of["dot"][-1, -1] == pytest.approx(right, abs=1e-4)
        assert shares.of["volume"][0, 0] == pytest.approx(1 / (1 + math.exp(-1)), abs=1e-4)
    tilted = geometry.off_the_plane(3)
    height = (10 * math.sin(0.5)) ** 2
    assert tilted.of["volume"][-1, -1] == pytest.approx(1 / (1 + math.exp(height - 0.25)), abs=1e-4)
    assert tilted.up[-1] == pytest.approx(math.degrees(0.5))


def test_a_stranger_has_its_angle_and_its_share() -> None:
    found = geometry.resilience()
    assert found.keys[0].angle == pytest.approx(1)
    for key in found.strangers:  # 0.1 along q, its length across
        assert key.angle == pytest.approx(0.01 / (0.01 + key.length**2))
        assert found.shared[key.length] == pytest.approx(0.1 * key.length)


def test_the_spread_of_the_volume_is_the_one_in_closed_form() -> None:
    """det G of three normal vectors is a product of χ² with d, d − 1 and d − 2 degrees."""
    for s in geometry.spreads():
        product = math.prod(d * (d + 2) for d in (s.d, s.d - 1, s.d - 2))  # E of the square
        mean = math.prod((s.d, s.d - 1, s.d - 2))
        exact = math.sqrt(product - mean**2) / s.d**1.5
        assert exact == pytest.approx(s.exact)
        assert (s.volume, s.dot) == pytest.approx((exact, 1), rel=0.1)


@pytest.mark.long
@pytest.mark.slow
def test_train_comparison_is_an_ordinary_training_of_every_kind() -> None:
    task = Copying(7, 11, (5,))
    configs = {
        "a": Config(score="dot", vocabulary=7, width=8),
        "b": Config(score="angle", vocabulary=7, width=8),
    }
    seen = []
    runs = measure.train_comparison(
        configs, task, seeds=2, steps=7, batch=13, lr={"a": 1e-2, "b": 3e-3}, warmup=2,
        probe_every=3, show=lambda kind, step, _: seen.append((kind, step)),
    )  # fmt: skip
    assert seen == [(kind, step) for kind in "ab" for step in (0, 3, 6, 7)]
    held_out = task.sample(256, comparison.held_out())
    for kind, rate in (("a", 1e-2), ("b", 3e-3)):
        alone = train(
            [AttentionOnly(configs[kind], Generator().manual_seed(1))],
            copying.loss,
            partial(task.sample, 13),
            generators=[Generator().manual_seed(20_001)],
            steps=7,
            optimizer=partial(torch.optim.AdamW, lr=rate),
            schedule=warmup_cosine(7, 2),
            clip=1.0,
        )
        model = runs[kind].member(1)
        for name, p in alone.member(0).named_parameters():
            assert_close(model.get_parameter(name), p, rtol=1e-4, atol=1e-5)
        assert_close(runs[kind].history["loss"][-1, 1], task.probe(model, held_out)["loss"])


@pytest.mark.slow
def test_train_comparison_passes_on_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    task, seen = Copying(7, 11, (5,)), {}
    monkeypatch.setattr(
        comparison, "train", lambda *a, **more: seen.update(more) or train(*a, **more)
    )
    configs = {"a": Config(score="dot", vocabulary=7, width=8)}
    measure.train_comparison(configs, task, seeds=2, steps=70, batch=13, lr=0.125)
    assert seen["clip"] == 1.0 and seen["steps"] == 70
    assert seen["schedule"](0) == 1 / 50 and seen["schedule"](49) == 1
    assert seen["optimizer"]([torch.zeros(1)]).param_groups[0]["lr"] == 0.125
    with pytest.raises(ValueError, match="a has 7 tokens, the task 9"):
        measure.train_comparison(configs, Copying(9, 11, (5,)), seeds=1, steps=1, batch=1, lr=1.0)


def offset_copier(period: int, vocabulary: int):
    """Predicts the token `period` − 1 back from the present one, sure of itself."""

    def model(x: Tensor, loudness: Tensor | None = None) -> Tensor:
        sources = x.roll(period - 1, -1)
        return 50 * torch.nn.functional.one_hot(sources, vocabulary).float()

    return model


def test_transfer_knows_a_copier_by_position() -> None:
    model = offset_copier(5, 17)
    found = measure.transfer([model, model], 17, [4, 5, 7], Generator().manual_seed(0))
    assert found.shape == (3, 2)
    assert (found[1] == 1).all()
    assert (found[[0, 2]] < 0.15).all()
    lengths = []
    watched = [lambda x: lengths.append(x.shape[1]) or model(x)]
    measure.transfer(watched, 17, [4, 5, 7], Generator())
    assert lengths == [7, 9, 13]  # two periods; the last token is only predicted


def test_every_letter_of_the_copy_counts_but_its_first() -> None:
    """Who begins to copy late loses just those letters; what it says before the copy is nothing."""
    for late, share in ((0, 1.0), (5, 1.0), (6, 1.0), (7, 0.75), (9, 0.25)):

        def model(x: Tensor, late: int = late) -> Tensor:
            copied = offset_copier(5, 17)(x)
            return torch.where(torch.arange(x.shape[1])[:, None] >= late - 1, copied, 0.0)

        found = measure.transfer([model], 17, [5], Generator().manual_seed(1))
        assert found.item() == pytest.approx(
            share + (1 - share) / 17, abs=0.03
        )  # guessed: the rest


def test_a_copier_by_place_follows_without_a_match() -> None:
    """It predicts the letter five back, whatever was read; one by content only after a match."""
    task = Copying(16, 24, (12,))
    place = measure.follows(offset_copier(5, 16), task, Generator().manual_seed(0), 512)
    assert place.shape == (2, 18)
    assert (place[:, 4] == 1).all()
    others = torch.arange(18) != 4
    assert place[:, others].max() < 0.3

    def reads(x: Tensor) -> Tensor:
        """What followed the present letter when it was read last."""
        same = (x[:, :, None] == x[:, None]).tril(-1)
        source = torch.where(same, torch.arange(x.shape[1]), -1).amax(-1)
        follower = x.gather(1, (source + 1).clamp(min=0))
        return 50 * torch.nn.functional.one_hot(torch.where(source < 0, 0, follower), 16).float()

    content = measure.follows(reads, task, Generator().manual_seed(0), 512)
    assert (content[0] == 1).all()
    assert content[1].max() < 0.3


def test_offsets_are_counted_back(generator: Generator) -> None:
    attention = torch.zeros(2, 7, 7)
    attention[0].diagonal(-2)[:] = 1
    attention[1] = torch.tril(torch.ones(7, 7)) / torch.arange(1, 8)[:, None]
    found = measure.by_offset(attention, slice(3, None))
    assert_close(found[0], torch.eye(7)[2])
    assert_close(found[1][0], (1 / torch.tensor([4.0, 5, 6, 7])).mean())
    assert_close(found.sum(1), torch.ones(2))
    assert_close(found[1][6], torch.tensor(1 / 7 / 4))


class FixedAttention:
    """Looks one back in its first layer's head and `period` − 1 back in its second."""

    def __init__(self, period: int) -> None:
        self.period = period

    def observe(self, x: Tensor) -> tuple[Tensor, Tensor]:
        n, t = x.shape
        attention = torch.zeros(n, 2, 1, t, t)
        attention[:, 0].diagonal(-1, -2, -1)[:] = 1
        attention[:, 1].diagonal(1 - self.period, -2, -1)[:] = 1
        return torch.zeros(n, t, 7), attention


def test_induction_names_the_two_parts() -> None:
    found = measure.induction(
        FixedAttention(4).observe, Copying(7, 13, (4,)), Generator().manual_seed(0), 5
    )
    assert_close(found[:, 0], torch.eye(2))
    both = measure.induction(
        FixedAttention(4).observe, Copying(7, 13, (4, 6)), Generator().manual_seed(0), 5
    )
    assert_close(both[:, 0], torch.tensor([[1.0, 0], [0, 0.5]]))


def test_loudness_is_told_of_bystanders_and_of_the_loud_one() -> None:
    """A copier that goes blind for the loud token alone, and one that hears nothing else."""
    task = Copying(31, 12, (6,))

    class Blind:
        def __call__(self, x: Tensor, loudness: Tensor) -> Tensor:
            quiet = torch.where(loudness == 1, x, 0)
            return offset_copier(6, 31)(quiet)

    class Captive:
        def __call__(self, x: Tensor, loudness: Tensor) -> Tensor:
            loud = (x * (loudness != 1)).sum(-1, keepdim=True).expand_as(x)
            return 50 * torch.nn.functional.one_hot(loud, 31).float()

    bystanders, loud = measure.accuracy_at_loudness(Blind(), task, 3.0, Generator().manual_seed(0))
    assert bystanders == 1 and loud < 0.1
    places = set()

    class Watch(Blind):
        def __call__(self, x: Tensor, loudness: Tensor) -> Tensor:
            assert ((loudness == 3) | (loudness == 1)).all() and (loudness == 3).sum(1).eq(1).all()
            places.update((loudness == 3).nonzero()[:, 1].tolist())
            return super().__call__(x, loudness)

    measure.accuracy_at_loudness(Watch(), task, 3.0, Generator().manual_seed(0))
    assert places == {1, 2, 3, 4, 5}
    bystanders, loud = measure.accuracy_at_loudness(
        Captive(), task, 3.0, Generator().manual_seed(0)
    )
    assert bystanders < 0.1 and loud == 1


def test_plane_coordinates_keep_what_the_scores_depend_on(generator: Generator) -> None:
    layer = AttentionOnly(Config("volume", width=12, heads=2), generator).double().layers[0]
    x = torch.randn(9, 12, generator=generator, dtype=torch.float64)
    keys, (q, r) = measure.plane_coordinates(layer, x, head=1, query=5)
    assert keys.shape == (6, 3)
    flat = torch.zeros(2, 3, dtype=torch.float64)
    flat[:, :2] = torch.stack([q, r])
    drawn = expanded_volume(flat[:1], keys, flat[1:])[0]
    scores = layer.scores(*layer.project(x)[:3])[1, 5, :6]
    assert_close(-drawn / 6**1.5, scores)
    assert q[1].abs() < 1e-12 and (keys[:, 2] >= 0).all()


def test_score_spread_reads_causal_scores_only(generator: Generator) -> None:
    model = AttentionOnly(Config("volume"), generator)
    x = torch.randint(16, (3, 7), generator=generator)
    spread = measure.score_spread(model, x)
    q, k, r, _ = model.layers[0].project(model.embedding(x))
    lowest = min(
        -expanded_volume(q, k, r)[b, h, i, j].item() / 64
        for b in range(3) for h in range(2) for i in range(7) for j in range(i + 1)
    )  # fmt: skip
    assert spread["lowest"] == pytest.approx(lowest, rel=1e-3)
    sharpest = [row.max().item() for row in model.observe(x)[1].flatten(0, -2)]
    assert spread["sharpest"] == pytest.approx(sum(sharpest) / len(sharpest))


@pytest.mark.parametrize("form", measure.FORMS)
def test_every_form_does_the_same_work(form: str, generator: Generator) -> None:
    q, k, r, v = torch.randn(4, 2, 3, 11, 6, generator=generator, dtype=torch.float64)
    expected = measure.mixer("dot" if "dot" in form else "expanded")(q, k, r, v)
    assert_close(measure.mixer(form)(q, k, r, v), expected)


def test_the_residual_is_measured_where_it_fits(generator: Generator) -> None:
    assert [*measure.forward_backward(1, 1, measure.LONGEST_RESIDUAL, 2, generator)] == [
        *measure.FORMS
    ]


def test_costs_are_measured_for_every_form(generator: Generator) -> None:
    found = measure.cost_of_forms(1, 2, 521, 4, generator, repeats=1)
    assert [*found] == [form for form in measure.FORMS if form != "residual"]
    assert all(seconds > 0 for seconds, _ in found.values())
    # The fused kernels never hold a score for every pair, all others do.
    matrix = 2 * 521 * 521 * 4
    for form, (_, peak) in found.items():
        assert (peak > matrix) == (form not in ("features", "fused dot")), form
