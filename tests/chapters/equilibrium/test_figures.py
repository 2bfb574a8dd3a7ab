"""What the figures of the chapter draw and say, against evidence that is made up."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import pytest
import torch
from matplotlib import colors
from matplotlib.axes import Axes
from matplotlib.quiver import Quiver

from attn_notes.chapters.equilibrium import figures
from attn_notes.chapters.equilibrium.figures import KINDS
from attn_notes.figures import CORRECTED, GREY, INK, MAUVE, PUBLISHED, VIOLET, Picture

from . import made_up


def made(name: str, *names: str, **change: Any) -> Picture:
    """The figure of this name, from evidence of these names, of which the first is changed."""
    first, *others = names
    given = [getattr(made_up, first)(**change), *(getattr(made_up, each)() for each in others)]
    return getattr(figures, name)(*given)


FIGURES = {
    "idea": ("scenes",),
    "yardsticks": ("yardsticks",),
    "live": ("live",),
    "ends": ("training",),
    "training": ("training",),
    "rates": ("rates",),
    "nudges": ("gradients",),
    "clip": ("gradients",),
    "spectrum": ("spectrum",),
    "credit": ("credit",),
    "rest": ("scaled", "ungoverned"),
    "memory": ("memory",),
    "settling": ("settling",),
}


def lines(ax: Axes) -> dict[str, tuple[list[float], list[float], str, str]]:
    """Of each labelled line: x, y, colour and line style."""
    return {
        str(line.get_label()): (
            [float(x) for x in line.get_xdata()],
            [float(y) for y in line.get_ydata()],
            str(line.get_color()),
            str(line.get_linestyle()),
        )
        for line in ax.lines
        if not str(line.get_label()).startswith("_")
    }


def near(values: Any) -> Any:
    return pytest.approx([float(value) for value in values], rel=1e-5)


def horizontal(ax: Axes) -> list[float]:
    """At which heights a line goes all the way across."""
    found = (line for line in ax.lines if list(line.get_xdata()) == [0, 1])
    return [float(line.get_ydata()[0]) for line in found]


def written(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    mpl.pyplot.close("all")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_all_that_belongs_to_it(name: str) -> None:
    picture = made(name, *FIGURES[name])
    assert picture.title and not picture.title.endswith(".") and len(picture.title) < 90
    assert picture.caption.endswith(".") and picture.alt.endswith(".")
    for text in (picture.title, picture.caption, picture.alt):
        assert not re.search(r"nan|inf\b|  |\{|\.\.", text)
    assert "attn-figure-title" in picture.html()


def test_every_figure_is_looked_at() -> None:
    own = {name for name, thing in vars(figures).items() if callable(thing)}
    assert {name for name in own if getattr(figures, name).__module__ == figures.__name__} == {
        *FIGURES
    }


def test_two_numbers() -> None:
    picture = made("idea", "scenes", off=37.0)
    mutual, one_way = picture.fig.axes
    assert [ax.get_title(loc="left") for ax in (mutual, one_way)] == ["mutual", "one way"]
    for ax, scene in zip(picture.fig.axes, made_up.scenes(off=37.0).values(), strict=True):
        arrows = [each for each in ax.collections if isinstance(each, Quiver)]
        assert [each.get_label() for each in arrows] == ["true", "AEP", "naive"]
        for arrow, (name, (dx, dy)) in zip(arrows, scene.arrows.items(), strict=True):
            assert (arrow.U.item(), arrow.V.item()) == pytest.approx((dx.item(), dy.item()))
            colour = {"true": INK, "AEP": KINDS["AEP"], "naive": KINDS["naive EP"]}[name]
            assert colors.to_hex(arrow.get_facecolor()[0]) == colour
        rest, target = ax.lines
        assert [rest.get_xdata()[0], rest.get_ydata()[0]] == near(scene.rest)
        assert [target.get_xdata()[0], target.get_ydata()[0]] == near(scene.target)
        assert (rest.get_marker(), target.get_marker()) == ("o", "x")
    assert picture.title == "Where forces go one way, the naive arrow is off by 37°"
    assert "the naive arrow is off by 37°." in picture.caption
    assert "naive equilibrium propagation is 37 degrees off" in picture.alt


def test_the_force_flows_as_it_points() -> None:
    """The made-up force is minus the first number and half of minus the second."""
    ax = made("idea", "scenes").fig.axes[0]
    stream = next(each for each in ax.collections if not isinstance(each, Quiver))
    bends = [path for path in stream.get_segments() if len(path) > 1]
    assert bends
    for (x0, y0), (x1, y1) in (bend[[0, -1]] for bend in bends):
        assert abs(x1) < abs(x0) + 1e-6 and abs(y1) < abs(y0) + 1e-6


def test_the_training() -> None:
    picture, found = made("training", "training", seeds=4), made_up.training(4)
    left, right = picture.fig.axes
    drawn = lines(left)
    assert list(drawn) == [*KINDS]
    for kind, colour in KINDS.items():
        x, y, ink, _ = drawn[kind]
        assert x == list(found.steps) and ink == colour
        assert y == near(found.curves[kind].quantile(0.5, 1))
    apart = [line.get_ydata() for line in right.lines if len(line.get_xdata()) == 3]
    assert [each[-1] for each in apart] == near([3.0, 4.0, 5.0, 6.0])  # thousandths, AEP's higher
    assert horizontal(right) == [0.0]
    assert picture.title == "Seed by seed AEP ends within 6.0 thousandths of a nat of BPTT"
    assert picture.caption.startswith("Left: 4 recorded seeds of each way to the gradient")
    assert picture.alt == (
        "Left: validation loss against steps. Medians at the end: BPTT 2.433, AEP 2.438, "
        "AEP, clipped 2.503, naive EP 2.543, frozen 2.593. Right: the "
        "difference between AEP and BPTT for each seed, at the end at most 6.0 thousandths of a "
        "nat."
    )


def test_the_yardsticks() -> None:
    picture = made("yardsticks", "yardsticks")
    (ax,) = picture.fig.axes
    assert [bar.get_width() for bar in ax.patches] == [4.174, 3.3, 2.471, 2.03, 1.7]
    assert written(ax) == ["4.17", "3.30", "2.47", "2.03", "1.70"]
    assert picture.title.endswith("pairs comes to 2.47, four characters of context to 1.70")
    assert "the whole text" in picture.caption and "excerpt" not in picture.caption
    assert "nothing 4.174; how frequent each character is 3.300; and the one before" in picture.alt
    excerpt = made("yardsticks", "yardsticks", excerpt=True).caption
    assert "the excerpt" in excerpt and "whole text" not in excerpt


def test_the_live_run() -> None:
    picture = made("live", "live")
    (ax,) = picture.fig.axes
    assert horizontal(ax) == [3.3, 2.471, 2.03, 1.7]
    assert written(ax) == ["frequencies 3.30", "pairs 2.47", "threes 2.03", "fives 1.70"]
    (curve,) = (line for line in ax.lines if len(line.get_xdata()) == 3)
    assert [*curve.get_ydata()] == near([4.2, 2.6, 2.437]) and curve.get_color() == KINDS["AEP"]
    assert picture.title == "Trained by AEP, it gets below counting pairs"
    assert "from 4.20 to 2.437 nats a character in 400 steps" in picture.alt
    above = made("live", "live", losses=torch.tensor([4.2, 2.6, 2.5]))
    assert above.title == "Trained by AEP, it does not get below counting pairs"
    broken = made("live", "live", losses=torch.tensor([4.2, 2.6, float("nan")]))
    assert broken.title == "This run broke: its loss is no number"


def test_on_the_excerpt_everything_live_is_the_excerpts() -> None:
    """Nothing recorded stands in the figure, and its caption says what was read."""
    picture = made("live", "live", excerpt=True)
    assert "on the excerpt;" in picture.caption and "whole text" not in picture.caption
    (ax,) = picture.fig.axes
    assert len(ax.lines) == 1 + 4 and not ax.collections  # its own curve, its own yardsticks


def test_where_each_kind_ends() -> None:
    picture, found = made("ends", "training"), made_up.training()
    (ax,) = picture.fig.axes
    across = [float(line.get_xdata()[0]) for line in ax.lines if [*line.get_ydata()] == [0, 1]]
    assert across == [*made_up.COUNTED.values()]
    dots = [line for line in ax.lines if len(line.get_xdata()) == 8]
    for row, (line, (kind, colour)) in enumerate(zip(dots, KINDS.items(), strict=True)):
        assert line.get_color() == colour and {*line.get_ydata()} == {row}
        assert [*line.get_xdata()] == near(found.ends[kind])
    assert picture.title == "AEP ends where BPTT does: at the level of counting pairs"
    assert "AEP 2.443 to 2.464" in picture.alt and "pairs 2.482" in picture.alt
    apart = {"AEP": found.ends["AEP"] + 0.03}
    assert made("ends", "training", **apart).title == "Where each kind ends, beside counting"
    far = made("ends", "training", counted={"pairs": 2.7})
    assert far.title == "Where each kind ends, beside counting"


def test_rates() -> None:
    picture, found = made("rates", "rates"), made_up.rates()
    left, right = picture.fig.axes
    drawn = lines(left)
    for name, slope, colour in (("one side", "1.00", MAUVE), ("both sides", "2.00", CORRECTED)):
        x, y, ink, style = drawn[f"{name}: slope {slope}"]
        assert (x, y, ink, style) == ([*found.betas], found.by_beta[name], colour, "None")
        (line,) = (
            each
            for each in left.lines
            if each.get_color() == colour and each.get_linestyle() == "-"
        )
        assert [*line.get_ydata()] == near(found.by_beta[name])  # made to be on it
    drawn = lines(right)
    assert drawn["AEP"][1] == near(found.by_steps["AEP"]) and drawn["AEP"][2] == KINDS["AEP"]
    assert drawn["naive EP"][1] == near(found.by_steps["naive EP"])
    assert drawn["naive EP"][2] == KINDS["naive EP"]
    x, y, *_ = drawn["ρ to the power of T₂"]
    assert x == [*found.steps]
    assert [b / a for a, b in pairwise(y)] == near([0.61**2] * 9)
    last, error = found.falling[-1]
    assert y[x.index(last)] == pytest.approx(error)
    for ax in (left, right):
        assert ax.get_yscale() == "log"
    assert picture.title == "AEP's error falls as the theorem says: with β, and with β²"
    assert "falls by 0.600 in each, and the spectral radius is 0.610" in picture.caption
    assert drawn["AEP, clipped"][1] == near(found.by_steps["AEP, clipped"])
    assert "Clipped, it does not fall below 0.04 here; the naive gradient's stays at 0.52." in (
        picture.caption
    )
    assert "slope 1.00 with one side, 2.00 with both" in picture.alt
    assert "falls by 0.600 a step" in picture.alt and "radius is 0.610" in picture.alt


def test_rates_that_no_theorem_says() -> None:
    picture = made("rates", "rates", one=1.5, both=1.5)
    assert picture.title == "AEP's error falls with β to the 1.50 and to the 1.50"
    still = made("rates", "rates", factor=1.0)  # nothing falls, and no line is drawn for it
    assert list(lines(still.fig.axes[1])) == ["AEP", "AEP, clipped", "naive EP"]


def test_nudges() -> None:
    picture, found = made("nudges", "gradients"), made_up.gradients()
    (ax,) = picture.fig.axes
    for name, values, colour in (
        ("double precision", found.double, CORRECTED),
        ("single precision", found.single, MAUVE),
    ):
        x, y, ink, _ = lines(ax)[name]
        assert x == near(found.betas) and y == near(values[0]) and ink == colour
    (published,) = (line for line in ax.lines if list(line.get_ydata()) == [0, 1])
    assert published.get_xdata()[0] == 0.02 and written(ax) == ["as published"]
    assert picture.title.endswith("best nudge is 20; the published one errs 50 times as much")
    assert "untrained, 3 × 7 characters, 5 seeds" in picture.caption
    assert "the best of these is β = 20; at the published one the error is 50 times" in (
        picture.caption
    )
    assert "it is least, 1e-06, at β = 20, and" in picture.alt


def test_the_clip() -> None:
    picture, found = made("clip", "gradients"), made_up.gradients()
    for ax, values in zip(picture.fig.axes, (found.cosines, found.lengths), strict=True):
        drawn = lines(ax)
        for name, correction in (
            ("naive EP", "none"),
            ("AEP, clipped", "clipped"),
            ("AEP", "full"),
        ):
            x, y, ink, _ = drawn[name]
            assert x == [5, 20, 320] and ink == KINDS[name]
            assert y == near(values[correction].quantile(0.5, 0))
        assert [line.get_xdata()[0] for line in ax.lines if [*line.get_ydata()] == [0, 1]] == [20]
    titles = [ax.get_title(loc="left") for ax in picture.fig.axes]
    assert titles == ["cosine to the exact gradient", "length of the credit, exact = 1"]
    assert picture.title == "Each correction with more and more steps"  # here it gets better
    assert "gets worse" not in picture.caption
    assert (
        "naive EP: 0.696 at 20, 0.646 at 320; AEP, clipped: 0.956 at 20, 0.966 at 320; AEP: "
        in (picture.alt)
    )
    worse = made("clip", "gradients", clipped_320=torch.full((5,), 0.4).double())
    assert worse.title == "With more steps the published method gets worse"
    assert worse.caption.endswith("with more steps the published method gets worse.")
    one = torch.tensor([0.4, 0.4, 0.4, 0.4, 0.99]).double()  # not in every seed
    assert made("clip", "gradients", clipped_320=one).title == picture.title


def test_the_spectrum() -> None:
    picture, found = made("spectrum", "spectrum"), made_up.spectrum()
    (ax,) = picture.fig.axes
    drawn = lines(ax)
    x, y, ink, _ = drawn["of J"]
    assert x == near(found.free.real) and y == near(found.free.imag) and ink == CORRECTED
    x, y, ink, _ = drawn["of its symmetric part"]
    assert x == near(found.symmetric) and y == [0, 0, 0] and ink == MAUVE
    x, y, ink, _ = drawn["of its antisymmetric part"]
    assert x == [0, 0, 0] and y == near(found.antisymmetric) and ink == VIOLET
    (half,) = ax.patches
    assert (half.get_x(), half.get_width()) == (0, 1) and written(ax) == ["moves away"]
    assert picture.title == "J is stable, and its symmetric part is not"
    assert "lies right of −1.50: free and AEP's nudged states settle" in picture.caption
    assert "reaches +0.40, so a half-clipped state flees" in picture.caption
    assert "it turns as fast as 2.2." in picture.caption
    assert "left of -1.50" in picture.alt and "reach +0.40" in picture.alt
    assert "up to 2.20" in picture.alt


@pytest.mark.parametrize("change", [{"right": 0.2}, {"reach": -0.3}])
def test_a_spectrum_that_shows_nothing(change: dict[str, float]) -> None:
    picture = made("spectrum", "spectrum", **change)
    assert picture.title == "The eigenvalues of J and of its parts"
    assert ("states settle" in picture.caption) == ("right" not in change)
    assert ("state flees" in picture.caption) == ("reach" not in change)


def test_the_credit() -> None:
    picture, found = made("credit", "credit"), made_up.credit()
    assert [ax.get_title(loc="left") for ax in picture.fig.axes] == ["AEP", "naive EP"]
    for ax in picture.fig.axes:
        name = ax.get_title(loc="left")
        shown = torch.as_tensor(ax.collections[0].get_array()).flatten()
        assert shown.tolist() == near((found.maps[name] / 3).sqrt().flatten())
        for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
            assert [label.get_text() for label in labels] == ["a", "␣", "b"]
        assert ax.get_xlabel() == "state that is told"
    assert picture.title == "The naive method sends credit to the future"
    assert picture.caption.endswith("The naive method sends credit to the future.")
    assert picture.alt.endswith(
        "AEP: on the diagonal and left of it, in the past. "
        "Naive: on the diagonal and right of it, in the future."
    )
    turned = made("credit", "credit", swapped=True)
    assert "future" not in turned.title + turned.caption
    assert "AEP: on the diagonal and right of it, in the future." in turned.alt


def test_where_nothing_rests() -> None:
    picture, found, free = (
        made("rest", "scaled", "ungoverned"),
        made_up.scaled(),
        made_up.ungoverned(),
    )
    left, right = picture.fig.axes
    drawn = lines(left)
    assert list(drawn) == ["c = 0", "c = 1", "c = 3", "c = 7"]
    assert drawn["c = 0"][1] == near([1e-7, 0.1, 1e3])  # within the frame, and above it
    for c, colour in zip((1.0, 3.0, 7.0), (PUBLISHED, CORRECTED, MAUVE), strict=True):
        x, y, ink, _ = drawn[f"c = {c:g}"]
        assert x == [*found.scales] and y == near(found.left[c]) and ink == colour
    assert horizontal(left) == [1e-3]
    curves = [(line.get_color(), line.get_linestyle(), [*line.get_ydata()]) for line in right.lines]
    wanted = [
        (KINDS[kind], "-" if damping == 3 else "--", each.tolist())
        for (kind, damping), seeds in free.curves.items()
        for each in seeds.T
    ]
    assert curves == wanted
    away = figures.rest(
        found, made_up.ungoverned(AEP_1=torch.tensor([2.3, 4.5, float("nan")]).double())
    )
    assert "or is no number: BPTT, c = 3 0 of 3, AEP, c = 3 0 of 3" in away.alt
    assert "AEP, c = 1 2 of 3" in away.alt and "exceeds 4.4 nats" in away.alt


def test_memory() -> None:
    picture, found = made("memory", "memory"), made_up.memory()
    (ax,) = picture.fig.axes
    for kind, (x, y, ink, _) in lines(ax).items():
        assert x == [*found.counts] and y == found.peaks[kind]
        assert ink == {"BPTT": GREY, "AEP": CORRECTED, "adjoint": MAUVE}[kind]
    assert picture.title == "BPTT's memory grows with the steps, AEP's does not"
    assert "BPTT goes from 10.0 to 80.0 MiB, AEP from 9.0 to 9.5" in picture.alt
    assert picture.alt.endswith("relaxation from 7.0 to 7.2.")


@pytest.mark.parametrize("peaks", [{"AEP": [9.0, 9.5, 18.0]}, {"BPTT": [10.0, 10.0, 11.0]}])
def test_memory_that_shows_nothing(peaks: dict[str, list[float]]) -> None:
    assert made("memory", "memory", **peaks).title == "Memory against steps"


def test_how_soon_it_rests() -> None:
    picture = made("settling", "settling")
    (ax,) = picture.fig.axes
    drawn = lines(ax)
    assert list(drawn) == ["ε = 0.1", "ε = 0.5", "ε = 0.5, mixed"]
    assert drawn["ε = 0.1"][1] == near([1.0, 0.1, 0.02, 0.01, 9e-4])
    assert drawn["ε = 0.5, mixed"][1] == near([1.0, 7e-4, 1e-7])
    assert [drawn[name][2] for name in drawn] == [GREY, MAUVE, CORRECTED]
    assert horizontal(ax) == [1e-3]
    assert picture.title == "A longer step rests after 2 evaluations instead of 4"
    assert "mixing the last three states takes 1 evaluations" in picture.caption
    assert "after 4 with ε = 0.1, 2 with ε = 0.5, 1 with ε = 0.5, mixed." in picture.alt


def test_a_difference_counts_whichever_way_it_goes() -> None:
    ends = made_up.training(4).ends
    below = made("training", "training", seeds=4, AEP=ends["BPTT"] - 0.006)
    assert below.title == "Seed by seed AEP ends within 6.0 thousandths of a nat of BPTT"


def test_credit_that_both_send_to_the_future_has_no_title_of_its_own() -> None:
    found = made_up.credit()
    both = replace(found, maps=found.maps | {"AEP": found.maps["naive EP"]})
    assert figures.credit(both).title != "The naive method sends credit to the future"
