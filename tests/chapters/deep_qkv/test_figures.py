"""The figures, against made-up results: what is drawn, written beside it, and said of it."""

import math

import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.cell.lesson import WRITTEN
from attn_notes.chapters.deep_qkv import claims, evidence, figures, measure, pull, recipe
from attn_notes.figures import COLOURS, SHARES, WEIGHTS, Picture
from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting

from ...drawn import band
from .made_up import EARLY, LATE, NEVER, SEEDS, crowd, crowds


def line(ax: Axes, i: int) -> Tensor:
    """The points of a line, [n, 2]."""
    return torch.tensor(ax.lines[i].get_xydata())


def colour(name: str) -> str:
    return COLOURS[("blue", "vermilion", "green", "mauve", "violet").index(name)]


def cells(ax: Axes) -> Tensor:
    """What a heat map holds, row by row."""
    return torch.as_tensor(ax.collections[0].get_array().data).flatten()


def sorter(variant: str = "gated", seed: int = 0) -> Sorter:
    return Sorter(Config(variant), Generator().manual_seed(seed))


def test_the_floor_has_two_bars() -> None:
    picture = figures.floor_bars()
    (ax,) = picture.fig.axes
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([math.log(3)] * 2 + [0] * 4)
    assert line(ax, 0)[:, 1].tolist() == pytest.approx([sorting.FLOOR] * 2)
    assert [t.get_text() for t in ax.texts] == ["mean 0.3662"]
    assert "letter 2 1.0986, letter 3 1.0986, | 0.0000" in picture.alt
    assert "0.3662 nats" in picture.alt


def test_the_parts_of_a_weight() -> None:
    weight = sorter().block.attention.q
    picture = figures.weight_parts(weight)
    a, b, product, gate, base, made = map(cells, picture.fig.axes)
    assert [ax.get_title("left") for ax in picture.fig.axes] == [
        "A", "B", "AB", "softmax(AB)", "base", "W"
    ]  # fmt: skip
    a, b, product = a.view(6, 3), b.view(3, 3), product.view(6, 3)
    assert_close(product, a @ b)
    assert_close(gate.view(6, 3), product.softmax(-1))
    assert_close(made, base * gate)
    scales = {
        ax.get_title("left"): (ax.collections[0].cmap.name, *ax.collections[0].get_clim())
        for ax in picture.fig.axes
    }
    # A gate's entries are shares, from none to all; all else has a sign, with zero in the middle.
    assert scales.pop("softmax(AB)") == (SHARES.name, 0, 1)
    for name, (colours, low, high) in scales.items():
        assert colours == WEIGHTS.name and low == -high, name
    assert f"between {gate.min():.2f} and {gate.max():.2f}" in picture.caption


@pytest.mark.parametrize(
    ("last", "title"),
    [
        (0.4, "One plain sorter ends 0.034 nats above the floor"),
        (0.3, "A loss below the floor: something leaks"),
    ],
)
def test_the_curve_of_one_seed(last: float, title: str) -> None:
    losses = [2.0, 1.0, last]
    picture = figures.one_seed(losses)
    (ax,) = picture.fig.axes
    assert line(ax, 0)[:, 1].tolist() == pytest.approx([sorting.FLOOR] * 2)
    assert line(ax, 1).tolist() == [[0, 2.0], [1, 1.0], [2, last]]
    assert picture.title == title
    assert f"from 2.00 to {last:.4f} nats in 3 steps" in picture.alt


def test_the_race() -> None:
    half = EARLY.clone()
    half[6:] = math.inf
    crowds = {
        "gated": crowd(EARLY),
        "plain": crowd(half),
        "fixed_gate": crowd(NEVER),
        "plain, knowable": crowd(LATE),
    }
    picture = figures.race(crowds, "title")
    (ax,) = picture.fig.axes
    drawn = {
        (line_.get_color(), line_.get_linestyle()): torch.tensor(line_.get_xydata())
        for line_ in ax.lines
    }
    assert set(drawn) == {
        (colour("vermilion"), "-"), (colour("blue"), "-"), (colour("green"), "-"),
        (colour("blue"), "--"),
    }  # fmt: skip
    ends = {key: (float(points[0, 1]), float(points[-1, 1])) for key, points in drawn.items()}
    assert ends == {
        (colour("vermilion"), "-"): (100, 0),
        (colour("blue"), "-"): (100, 50),
        (colour("green"), "-"): (100, 100),
        (colour("blue"), "--"): (100, 0),
    }
    points = drawn[colour("vermilion"), "-"]  # the first of twelve is there at step 100
    assert points[9].tolist() == [90, 100] and points[10, 1] == pytest.approx(100 * 11 / 12)
    labels = {
        t.get_text().replace("\n", " "): (to_hex(t.get_color()), t.xyann[1]) for t in ax.texts
    }
    assert {text: c for text, (c, _) in labels.items()} == {
        "gated: 150": colour("vermilion"),
        "plain: 150": colour("blue"),
        "divided by three: never": colour("green"),
        "plain, two letters out of the loss: 650": colour("blue"),
    }
    heights = [labels[text][1] for text in (
        "divided by three: never", "plain: 150", "plain, two letters out of the loss: 650",
        "gated: 150",
    )]  # fmt: skip
    assert heights == sorted(heights, reverse=True) and len(set(heights)) == 4
    assert "gated 12 of 12, median 150; plain 6 of 12, median 150" in picture.alt
    assert "divided by three 0 of 12, median never" in picture.alt
    assert f"share of {SEEDS} seeds" in picture.caption and not picture.wide


def test_a_race_without_medians() -> None:
    picture = figures.race({"gated": crowd(), "plain": crowd(NEVER)}, "title", medians=False)
    assert [t.get_text() for t in picture.fig.axes[0].texts] == ["plain", "gated"]
    assert "by which half" not in picture.caption
    assert (
        "Beside each name: the step by which half" in figures.race({"gated": crowd()}, "").caption
    )


def left_over(n: int) -> Tensor:
    """Arrivals of which the last n never come."""
    return torch.where(torch.arange(SEEDS) < SEEDS - n, EARLY, math.inf)


@pytest.mark.parametrize(
    ("gated", "plain", "fixed", "title"),
    [
        (EARLY, LATE, LATE, "Every seed converges; gated is first"),
        (LATE, LATE, EARLY, "Every seed converges; divided by three is first"),
        (
            left_over(2), left_over(5), EARLY,
            "Of 12 seeds each, 5 plain and 2 gated never converge; of the other kinds all do",
        ),
        (
            left_over(2), left_over(1), NEVER,
            "Of 12 seeds each, 12 divided by three, 2 gated and 1 plain never converge",
        ),
    ],
)  # fmt: skip
def test_the_title_of_the_race(gated: Tensor, plain: Tensor, fixed: Tensor, title: str) -> None:
    crowds = {"gated": crowd(gated), "plain": crowd(plain), "fixed_gate": crowd(fixed)}
    assert figures.race_title(crowds) == title


def test_the_race_of_the_lesson_listens_to_its_readers_runs() -> None:
    picture = figures.live_race(crowds := {"gated": crowd(NEVER), "plain": crowd(EARLY)})
    assert picture.title == figures.race_title(crowds) and picture.lesson == "deep_qkv"
    (yours,) = picture.yours
    assert yours.ax is picture.fig.axes[0] and yours.form == "arrivals"
    assert yours.runs == {"gated": "gated", "plain": "plain", **WRITTEN}
    seeds, median = len(EARLY), crowds["plain"].median
    assert yours.recorded["gated"].endswith("0 do, the median never.")
    assert f"{seeds} seeds" in yours.recorded["plain"]
    assert f"{seeds} do, the median from step {median:,.0f} on." in yours.recorded["plain"]


def test_effects() -> None:
    """A dot a comparison, and around one half the grey of what chance makes."""
    few = {kind: crowd(EARLY) for kind in claims.LESSON} | {"plain": crowd(LATE)}
    made = {"live": few, "recorded": crowds(gated=LATE)}
    asked = claims.comparisons(made)
    picture = figures.gate_effects(made)
    (ax,) = picture.fig.axes
    assert line(ax, 0)[:, 0].tolist() == [0.5, 0.5]
    dots = [line(ax, i)[0] for i in range(1, 7)]
    flat = [c for bodies in asked.values() for c in bodies.values()]
    assert [float(dot[0]) for dot in dots] == [c.first for c in flat] == [1, 0, 1, 0.5, 0.5, 0]
    assert [round(float(dot[1])) for dot in dots] == [0, 0, 1, 1, 2, 2]
    assert dots[0][1] < dots[1][1]
    for bar, dot, c in zip(ax.patches, dots, flat, strict=True):
        assert (bar.get_x(), bar.get_x() + bar.get_width()) == pytest.approx((c.low, c.high))
        assert bar.get_y() < dot[1] < bar.get_y() + bar.get_height()
    assert [t.get_text() for t in ax.get_yticklabels()] == [*asked]
    (legend,) = picture.fig.legends
    assert [t.get_text() for t in legend.get_texts()] == ["live", "recorded"]
    low, high = flat[0].low, flat[0].high
    assert picture.alt.startswith(
        f"gated before plain, live: 1.00; chance alone {low:.2f} to {high:.2f}. gated before"
    )
    loss = figures.loss_effects({"live": few})
    assert [t.get_text() for t in loss.fig.axes[0].get_yticklabels()] == [*claims.LOSS_QUESTIONS]


def test_what_becomes_of_the_pull() -> None:
    made = dict.fromkeys(pull.WAYS, crowd(EARLY)) | {pull.ALL_SIX: crowd(NEVER)}
    picture = figures.pulled(made)
    (ax,) = picture.fig.axes
    texts = {t.get_text().replace("\n", " ") for t in ax.texts}
    assert texts == {
        f"{way}: {'never' if way == pull.ALL_SIX else 150}"
        for way in (pull.ALL_SIX, pull.YIELDING, pull.REPEAT, pull.OUT)
    }
    assert f"{pull.ALL_SIX} 0 of 12, median never" in picture.alt


def test_the_pull_beside_that_of_other_pairs() -> None:
    """Two letters straight against the rest, and six gradients that have nothing in common."""
    apart = torch.eye(6)
    against = torch.tensor([1.0, 1, -0.5, -0.5, -0.5, -0.5])
    products = torch.stack([apart, against[:, None] * against]).repeat_interleave(3, 0)
    steps = torch.tensor([0, 50, 100, 150, 200, 250])
    along = evidence.Along(
        steps, products[:, None].repeat(1, 4, 1, 1), torch.ones(6, 4, 2), torch.ones(5, 15) / 4
    )
    left, right = figures.pulling(along).fig.axes
    blue = next(drawn for drawn in left.lines if drawn.get_color() == colour("blue"))
    assert blue.get_ydata().tolist() == pytest.approx([0, 0, 0, -1, -1, -1], abs=1e-6)
    assert len([drawn for drawn in left.lines if drawn.get_color() != colour("blue")]) == 15
    assert all(set(drawn.get_ydata()) == {25} for drawn in right.lines)
    assert len(right.lines) == 15 and right.lines[-1].get_color() == colour("blue")


def test_a_band_is_the_middle_half_of_the_seeds() -> None:
    """Five seeds whose two letters pull against the rest by more and more."""
    against = torch.tensor([1.0, 1, -0.5, -0.5, -0.5, -0.5])
    shares = torch.linspace(0, 1, 5)[:, None, None]
    seeds = (1 - shares) * torch.eye(6) + shares * against[:, None] * against
    along = evidence.Along(
        torch.tensor([0, 50, 100]), seeds.expand(3, 5, 6, 6), torch.ones(3, 5, 2),
        torch.ones(2, 15) / 4,
    )  # fmt: skip
    left, _ = figures.pulling(along).fig.axes
    ordered = along.cosines()[0].sort().values.tolist()
    assert band(left) == tuple(pytest.approx([ordered[i]] * 3) for i in (1, 3))
    for pair, drawn in zip(pull.PAIRS[1:], left.lines, strict=False):
        assert drawn.get_ydata().tolist() == along.cosines(pair).median(1).values.tolist()
    made = crowd()
    _, ax = figures.loss_curves({"gated": made, "plain": made}).fig.axes
    low, _, high = (made.curves - sorting.FLOOR).T.tolist()
    assert band(ax) == (pytest.approx(low), pytest.approx(high))


def test_the_emblem_has_few_marks_and_hides_the_answer() -> None:
    picture = figures.emblem()
    assert picture.title == picture.caption == ""
    (ax,) = picture.fig.axes
    assert {drawn.get_color() for drawn in ax.lines} == {colour("blue"), colour("vermilion")}
    assert [t.get_text() for t in ax.texts] == ["old", "new"]
    assert picture.fig.get_size_inches().tolist() == [2.6, 1.7]
    assert "three" not in picture.alt


def test_rates() -> None:
    made = {
        "gated": {r: crowd(EARLY if r == 0.04 else LATE) for r in recipe.RATES},
        "plain, answer": {r: crowd(LATE if r == 0.16 else EARLY) for r in recipe.RATES},
    }
    picture = figures.rates(made, list(made))
    (ax,) = picture.fig.axes
    early, late = float(EARLY.mean()), float(LATE.mean())
    assert line(ax, 0).tolist() == [[r, early if r == 0.04 else late] for r in recipe.RATES]
    assert line(ax, 1).tolist() == [[0.04, early]]
    assert line(ax, 2).tolist() == [[r, late if r == 0.16 else early] for r in recipe.RATES]
    assert line(ax, 3).tolist() == [[0.005, early]]
    assert [t.get_text() for t in ax.texts] == ["gated", "plain, loss on the\nanswer only"]
    inside = figures.rates({"gated": made["gated"]}, ["gated"])
    assert f"{late:.0f} at 0.02, {early:.0f} at 0.04" in inside.alt
    assert inside.alt.endswith("chosen 0.04.")


def test_loss_curves() -> None:
    picture = figures.loss_curves({"gated": crowd(last=0.40), "plain": crowd(last=0.50)})
    gated, plain = picture.fig.axes
    assert line(gated, 0)[-1].tolist() == pytest.approx([1000, 0.41 - sorting.FLOOR], abs=1e-6)
    assert line(plain, 0)[-1].tolist() == pytest.approx([1000, 0.51 - sorting.FLOOR], abs=1e-6)
    assert "gated 0.0438, plain 0.1438 nats" in picture.alt


def test_the_loss_of_each_prediction() -> None:
    made = crowd(torch.arange(5.0))
    assert made.losses is not None
    made.losses[:] += torch.arange(-2.0, 3)[:, None]
    picture = figures.prediction_losses(made)
    assert [ax.get_title("left") for ax in picture.fig.axes] == ["step 0", "step 50", "step 1000"]
    for moment, ax in enumerate(picture.fig.axes):
        heights = [bar.get_height() for bar in ax.patches]
        assert heights == [x + moment for x in range(1, 7)]
        middle_half = [segment[:, 1].tolist() for segment in ax.collections[0].get_segments()]
        assert middle_half == [[x - 1, x + 1] for x in heights]
        floors = [segment[0, 1] for segment in ax.collections[1].get_segments()]
        assert floors == pytest.approx([math.log(3)] * 2 + [0] * 4)
    assert picture.alt.endswith("3.000, 4.000, 5.000, 6.000, 7.000, 8.000 nats.")


def test_the_triangles() -> None:
    even, sharp = sorter("gated"), sorter("strict")
    with torch.no_grad():
        for weight in measure.projections(even).values():
            weight.A.zero_()
        for weight in measure.projections(sharp).values():
            weight.A.copy_(torch.ones(2, 6, 3))
            weight.B.copy_(torch.tensor([50.0, 0, 0]).expand(2, 3, 3))
    picture = figures.simplex({"even": [even], "sharp": [sharp]})
    left, right = picture.fig.axes
    assert_close(line(left, 1), torch.tensor([[0.5, 3**0.5 / 6]]).expand(36, 2).double())
    assert_close(line(right, 1), torch.zeros(36, 2).double(), atol=1e-6, rtol=0)
    assert [ax.lines[1].get_color() for ax in (left, right)] == [
        colour("vermilion"),
        colour("violet"),
    ]
    assert "even 0.33, sharp 1.00" in picture.caption and "even 0.33, sharp 1.00" in picture.alt


def test_spectra() -> None:
    picture = figures.spectra(n=40)
    for ax, temperature in zip(picture.fig.axes, (1.0, 0.1, 0.01), strict=True):
        product, softmax = (
            x.flatten(0, 1)
            for x in measure.untrained_spectra(1, temperature, 40, Generator().manual_seed(0))
        )
        assert_close(line(ax, 0)[:, 1], product.median(0).values.clamp(min=1e-8).double())
        middle = softmax.quantile(0.5, dim=0)
        assert_close(line(ax, 1)[:, 1], middle.double())
        drawn = ax.collections[1].get_segments()
        for i, rank in enumerate((0.1, 0.9)):
            found = torch.tensor([segment[i, 1] for segment in drawn])
            assert_close(found, softmax.quantile(rank, dim=0).clamp(min=1e-8).double())
        assert f"{softmax[:, 1].median():.3f} at temperature {temperature:g}" in picture.alt
    assert "40 untrained layers" in picture.caption


def test_rank_and_temperature() -> None:
    made = {
        f"{v} {r} {t}": crowd(NEVER if (v, r, t) == ("gated", 2, 10.0) else EARLY)
        for v in ("gated", "strict") for r in recipe.RANKS for t in recipe.TEMPERATURES
    }  # fmt: skip
    picture = figures.rank_temperature(made)
    gated, strict = picture.fig.axes
    assert cells(gated).tolist() == [1, 1, 1, 1, 1, 0, 1, 1, 1]
    assert cells(strict).tolist() == [1] * 9
    assert [t.get_text() for t in gated.get_yticklabels()] == ["1", "2", "3"]
    assert [t.get_text() for t in gated.get_xticklabels()] == ["0.1", "1", "10"]
    assert "gated from 0.00 to 1.00; strict from 1.00 to 1.00" in picture.alt


def test_strict_sums_lie_on_the_diagonal() -> None:
    models = {"gated, seed 0": sorter(), "strict, seed 0": sorter("strict")}
    picture = figures.strict_sums(models)
    for ax, model in zip(picture.fig.axes, models.values(), strict=True):
        sums = measure.projection_sums(model)
        assert_close(
            line(ax, 1).float(), torch.stack([sums[0, 0].flatten(), sums[1, 1].flatten()], 1)
        )
    strict = line(picture.fig.axes[1], 1)
    assert_close(strict[:, 0], strict[:, 1], atol=1e-5, rtol=0)


def test_attention_maps() -> None:
    model = sorter(seed=5)
    picture = figures.attention_maps(model, "gated, seed 5", words=("cab", "bcb"))
    axes = picture.fig.axes  # two heads by two words
    for head in range(2):
        for column, word in enumerate(("cab", "bcb")):
            drawn = cells(axes[2 * head + column]).view(3, 6)
            for i, step in enumerate(model.trace(word)):
                assert_close(drawn[i, : 4 + i], step.attention[head])
                assert not drawn[i, 4 + i :].any()
            answer = model.sort(word)
            framed = {(int(p.get_y()), int(p.get_x())) for p in axes[2 * head + column].patches}
            assert framed == {(i, j) for i in range(3) for j in range(3) if answer[i] == word[j]}
            first = sum(float(drawn[0, j]) for j in range(3) if word[j] == answer[0])
            assert f"{word}, head {head + 1}: {first:.2f}" in picture.alt
    assert picture.caption.startswith("gated, seed 5.")


def test_sensitivities() -> None:
    def blind(x: Tensor) -> Tensor:
        """The best predictor, that writes its second letter without having read the third."""
        logits = sorting.ideal(x).clone()
        logits[:, 4] = sorting.ideal(torch.cat([x[:, :2], 0 * x[:, :1] + 2, x[:, 3:]], 1))[:, 4]
        return logits

    picture = figures.sensitivities({"failed": blind})
    failed, perfect = picture.fig.axes
    assert_close(cells(failed), measure.sensitivity(blind).flatten())
    assert_close(cells(perfect), measure.sensitivity(sorting.ideal).flatten())
    assert "Least: 0.000, where a perfect sorter has 0.52" in picture.caption
    assert "failed: from 0.000" in picture.alt


@pytest.mark.parametrize(
    ("part", "kinds"),
    [
        ("all", ["gated", "strict", "plain", "plain_third", "fixed_gate"]),
        ("knowable", ["plain, knowable", "gated, knowable"]),
        ("answer", ["plain, answer", "gated, answer"]),
    ],
)
def test_kinds_of_a_part(part: str, kinds: list[str]) -> None:
    assert figures.kinds_of(part) == kinds
    assert figures.kinds_of("all", part)[5:] == kinds


def test_every_picture_can_be_shown() -> None:
    for picture in (figures.floor_bars(), figures.one_seed([1.0, 0.5])):
        assert isinstance(picture, Picture)
        shown = picture.html()
        assert picture.title in shown and picture.caption in shown
