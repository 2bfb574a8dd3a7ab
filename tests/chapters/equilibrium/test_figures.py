"""What the figures of the chapter draw and say, against the records and a live run made up.

What their titles say is held by test_says.py.
"""

import re
from collections.abc import Callable, Iterator

import matplotlib as mpl
import pytest
import torch
from matplotlib.axes import Axes

from attn_notes.chapters.equilibrium import evidence, figures, recipe
from attn_notes.chapters.equilibrium.figures import KINDS
from attn_notes.figures import CORRECTED, GREY, MAUVE, PUBLISHED, VIOLET, Picture

from . import made_up

FIGURES: dict[str, Callable[[], Picture]] = {
    "one_prediction": lambda: figures.one_prediction(evidence.credit()),
    "emblem": figures.emblem,
    "idea": lambda: figures.idea(evidence.blackboard()),
    "yardsticks": lambda: figures.yardsticks(made_up.yardsticks()),
    "live": lambda: figures.live(made_up.live()),
    "ends": lambda: figures.ends(evidence.training(), evidence.in_page()),
    "training": lambda: figures.training(evidence.training()),
    "rates": lambda: figures.rates(evidence.rates()),
    "nudges": lambda: figures.nudges(evidence.gradients()),
    "clip": lambda: figures.clip(evidence.gradients()),
    "spectrum": lambda: figures.spectrum(evidence.spectrum()),
    "credit": lambda: figures.credit(evidence.credit()),
    "rest": lambda: figures.rest(evidence.scaled(), evidence.ungoverned()),
    "memory": lambda: figures.memory(evidence.memory()),
    "settling": lambda: figures.settling(evidence.settling()),
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


def near(values: object) -> object:
    return pytest.approx([float(value) for value in values], rel=1e-5)  # type: ignore[attr-defined]


def across(ax: Axes) -> list[float]:
    """At which heights a line goes all the way across."""
    found = (line for line in ax.lines if list(line.get_xdata()) == [0, 1])
    return [float(line.get_ydata()[0]) for line in found]


def upright(ax: Axes) -> list[float]:
    """At which places one goes all the way up."""
    return [float(line.get_xdata()[0]) for line in ax.lines if [*line.get_ydata()] == [0, 1]]


def written(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    mpl.pyplot.close("all")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_all_that_belongs_to_it(name: str) -> None:
    picture = FIGURES[name]()
    small = name == "emblem"
    assert small or (picture.title and not picture.title.endswith(".") and len(picture.title) < 90)
    assert small or picture.caption.endswith(".")
    assert picture.alt.endswith(".")
    for text in (picture.title, picture.caption, picture.alt):
        assert not re.search(r"nan|inf\b|  |\{|\.\.", text)


def test_every_figure_is_looked_at() -> None:
    own = {name for name, thing in vars(figures).items() if callable(thing)}
    own = {name for name in own if getattr(figures, name).__module__ == figures.__name__}
    assert own == {*FIGURES, "butterfly", "heard", "nudged", "teach"}


def test_the_credit_of_one_prediction() -> None:
    """Bars above for the true credit, below for the naive one; each side is all of it."""
    picture, found = FIGURES["one_prediction"](), evidence.credit()
    assert 0 < recipe.ASKED < len(found.letters) - 1  # there are letters before, and later
    (ax,) = picture.fig.axes
    heights = torch.tensor([bar.get_height() for bar in ax.patches]).double()
    true, naive = heights[:16], -heights[16:]
    for share, way in ((true, "exact"), (naive, "naive EP")):
        row = found.maps[way][recipe.ASKED]
        assert share.tolist() == near(row / row.sum())
    assert written(ax)[:16] == [*found.letters]
    bold = [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
    assert bold == [found.letters[recipe.ASKED]]
    read = "".join(found.letters[: recipe.ASKED + 1]).replace("␣", " ")
    assert f"“{read}”" in picture.caption
    for share in (true[: recipe.ASKED].sum(), naive[recipe.ASKED + 1 :].sum()):
        assert f"{100 * share:.0f} %" in picture.caption and f"{100 * share:.0f} %" in picture.alt


def test_the_emblem_is_small_and_says_little() -> None:
    picture = figures.emblem()
    assert (picture.title, picture.caption) == ("", "")
    assert [*picture.fig.get_size_inches()] == [2.6, 1.7]
    (ax,) = picture.fig.axes
    assert "true" not in " ".join(written(ax))
    lesson = FIGURES["one_prediction"]().fig.axes[0]  # the same, of the same prediction
    assert [bar.get_height() for bar in ax.patches] == [bar.get_height() for bar in lesson.patches]


def test_two_numbers() -> None:
    """By hand: at rest (1, 2), to be (1, 1); the credit is (2, 1), and naively (0, 1)."""
    picture = FIGURES["idea"]()
    left, right = picture.fig.axes
    said = written(left)
    assert "× 2" in said
    rows = (("should be", "1", "1"), ("true credit", "2", "1"), ("naive credit", "0", "1"))
    for words, first, second in rows:
        assert said[said.index(words) + 1 :][:2] == [first, second]
    rest, target = right.lines
    assert [rest.get_xdata()[0], rest.get_ydata()[0]] == near([1, 2])
    assert [target.get_xdata()[0], target.get_ydata()[0]] == near([1, 1])
    assert target.get_color() == MAUVE != rest.get_color()
    ends = {tuple(round(x) for x in t.xy) for t in right.texts if not t.get_text()}
    assert ends == {(-1, 1), (1, 1)}  # the state moves against the credit


def test_the_training() -> None:
    picture, found = FIGURES["training"](), evidence.training()
    left, right = picture.fig.axes
    drawn = lines(left)
    assert list(drawn) == [*KINDS]
    for kind, colour in KINDS.items():
        x, y, ink, _ = drawn[kind]
        assert x == list(found.steps) and ink == colour
        assert y == near(found.curves[kind].quantile(0.5, 1))
    apart = [line.get_ydata()[-1] for line in right.lines if len(line.get_xdata()) == 9]
    thousandths = 1000 * (found.curves["AEP"][-1] - found.curves["BPTT"][-1])
    assert apart == near(thousandths) and across(right) == [0.0]
    assert max(map(abs, apart)) < right.get_ylim()[1]
    most = float(re.findall(r"at most ([\d.]+) thousandths", picture.alt)[0])
    assert most - 0.1 < thousandths.abs().max() <= most


def test_the_yardsticks() -> None:
    picture = FIGURES["yardsticks"]()
    (ax,) = picture.fig.axes
    assert [bar.get_width() for bar in ax.patches] == [4.174, 3.3, 2.471, 2.03, 1.7]
    assert written(ax) == ["4.17", "3.30", "2.47", "2.03", "1.70"]
    words = "On {}, counting pairs comes to 2.47, four characters of context to 1.70"
    assert picture.title == words.format("the whole text")
    assert "nothing 4.174; how frequent each character is 3.300; and the one before" in picture.alt
    excerpt = figures.yardsticks(made_up.yardsticks(excerpt=True))
    assert excerpt.title == words.format("the excerpt")


def test_the_live_run() -> None:
    found = made_up.live()
    picture = figures.live(found)
    (ax,) = picture.fig.axes
    assert across(ax) == [3.3, 2.471, 2.03, 1.7]
    assert written(ax) == ["frequencies 3.30", "pairs 2.47", "threes 2.03", "fives 1.70"]
    (curve,) = (line for line in ax.lines if len(line.get_xdata()) == 3)
    assert [*curve.get_ydata()] == near(found.losses) and curve.get_color() == KINDS["AEP"]
    assert picture.title == "Trained by AEP, the model gets below counting pairs"
    assert f"from 4.20 to {found.end:.3f} nats a character in 400 steps" in picture.alt
    above = figures.live(made_up.live(losses=torch.tensor([4.2, 2.6, 2.5])))
    assert above.title == "Trained by AEP, the model does not get below counting pairs"


def test_on_the_excerpt_everything_live_is_the_excerpts() -> None:
    """Nothing recorded stands in the figure, and its caption says what was read."""
    picture = figures.live(made_up.live(excerpt=True))
    assert "on the excerpt;" in picture.caption and "whole text" not in picture.caption
    (ax,) = picture.fig.axes
    assert len(ax.lines) == 1 + 4 and not ax.collections  # its own curve, its own yardsticks


def test_where_each_kind_ends() -> None:
    picture, found, page = FIGURES["ends"](), evidence.training(), evidence.in_page()
    here, there = picture.fig.axes
    ways, pairs = {way: page.ends[way] for way in recipe.IN_PAGE_WAYS}, found.counted["pairs"]
    for whose, ax, ends, kinds, least in (
        ("the whole text", here, found.ends, dict(zip(KINDS, KINDS, strict=True)), pairs),
        ("the page's text", there, ways, recipe.IN_PAGE_WAYS, page.yardsticks["counting pairs"]),
    ):
        assert upright(ax) == [least]
        (counted,) = (text for text in written(ax) if "counting pairs" in text)
        text, nats = counted.split(":\ncounting pairs ")  # other texts, other numbers
        assert text == whose and abs(float(nats) - least) < 0.005
        dots = [line for line in ax.lines if len(line.get_xdata()) == 8]
        low, high = ax.get_xlim()
        for row, (line, (name, kind)) in enumerate(zip(dots, kinds.items(), strict=True)):
            assert line.get_color() == KINDS[kind] and {*line.get_ydata()} == {row}
            assert [*line.get_xdata()] == near(ends[name])
            assert low < min(line.get_xdata()) and max(line.get_xdata()) < high  # none is cut off
    (yours,) = picture.yours
    assert yours.ax is there and [*yours.runs] == [*ways]  # a reader's dot lies in its way's row


def test_rates() -> None:
    picture, found = FIGURES["rates"](), evidence.rates()
    left, right = picture.fig.axes
    drawn = lines(left)
    for name, power, colour in (("one side", 1, MAUVE), ("both sides", 2, CORRECTED)):
        x, y, ink, style = drawn[f"{name}: slope {found.orders[name]:.2f}"]
        assert (x, ink, style) == ([*found.betas], colour, "None") and y == near(
            found.by_beta[name]
        )
        solid = (line for line in left.lines if line.get_linestyle() == "-")
        (line,) = (each for each in solid if each.get_color() == colour)
        first, *_, last = line.get_ydata()
        assert last / first == pytest.approx((found.betas[-1] / found.betas[0]) ** power)
    drawn = lines(right)
    for kind, errors in found.by_steps.items():
        assert drawn[kind][1] == near(errors) and drawn[kind][2] == KINDS[kind]
    x, y, *_ = drawn["ρ to the power of T₂"]
    assert [later / y[0] for later in y] == near(found.radius ** (t - x[0]) for t in x)
    last, error = found.falling[-1]
    assert y[x.index(last)] == pytest.approx(error)
    assert left.get_yscale() == right.get_yscale() == "log"
    for text in (f"{found.factor:.3f}", f"{found.radius:.3f}"):
        assert text in picture.caption and text in picture.alt


def test_nudges() -> None:
    picture, found = FIGURES["nudges"](), evidence.gradients()
    (ax,) = picture.fig.axes
    for name, values, colour in (
        ("double precision", found.double, CORRECTED),
        ("single precision", found.single, MAUVE),
    ):
        x, y, ink, _ = lines(ax)[name]
        assert x == near(found.betas) and y == near(values.quantile(0.5, 0)) and ink == colour
    assert upright(ax) == [0.02] and written(ax) == ["as published"]
    middle = dict(zip(found.betas, found.single.quantile(0.5, 0).tolist(), strict=True))
    best = min(middle, key=middle.__getitem__)
    assert f"the best of these is β = {best:g}; at the published one the error is " in (
        picture.caption
    )
    assert f"{middle[0.02] / middle[best]:.0f} times as large" in picture.caption
    assert f"it is least, {middle[best]:.0e}, at β = {best:g}" in picture.alt


def test_the_clip() -> None:
    picture, found = FIGURES["clip"](), evidence.gradients()
    for ax, values in zip(picture.fig.axes, (found.cosines, found.lengths), strict=True):
        for name, correction in (
            ("naive EP", "none"),
            ("AEP, clipped", "clipped"),
            ("AEP", "full"),
        ):
            x, y, ink, _ = lines(ax)[name]
            assert x == [*found.steps] and ink == KINDS[name]
            assert y == near(values[correction].quantile(0.5, 0))
        assert upright(ax) == [20]
    titles = [ax.get_title(loc="left") for ax in picture.fig.axes]
    assert titles == ["cosine to the exact gradient", "length of the credit, exact = 1"]
    for steps in (recipe.FEW, recipe.AFTER):
        for of in (found.at, found.whole):
            low, high = (f"{end:.3f}" for end in of("clipped", steps).aminmax())
            assert f"{low} to {high}" in picture.caption


def test_the_spectrum() -> None:
    picture, found = FIGURES["spectrum"](), evidence.spectrum()
    (ax,) = picture.fig.axes
    drawn = lines(ax)
    x, y, ink, _ = drawn["of J"]
    assert x == near(found.free.real) and y == near(found.free.imag) and ink == CORRECTED
    x, y, ink, _ = drawn["of its symmetric part"]
    assert x == near(found.symmetric) and set(y) == {0} and ink == MAUVE
    x, y, ink, _ = drawn["of its antisymmetric part"]
    assert set(x) == {0} and y == near(found.antisymmetric) and ink == VIOLET
    (half,) = ax.patches
    assert (half.get_x(), half.get_width()) == (0, 1) and written(ax) == ["moves away"]


def test_the_credit() -> None:
    picture, found = FIGURES["credit"](), evidence.credit()
    assert [ax.get_title(loc="left") for ax in picture.fig.axes] == ["AEP", "naive EP"]
    for ax in picture.fig.axes:
        values = found.maps[ax.get_title(loc="left")]
        shown = torch.as_tensor(ax.collections[0].get_array()).flatten()
        assert shown.tolist() == near((values / values.max()).sqrt().flatten())
        for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
            assert [label.get_text() for label in labels] == [*found.letters]
        assert ax.get_xlabel() == "state that is told"


def test_where_nothing_rests() -> None:
    picture, found, free = FIGURES["rest"](), evidence.scaled(), evidence.ungoverned()
    left, right = picture.fig.axes
    drawn = lines(left)
    assert list(drawn) == ["c = 0", "c = 1", "c = 3", "c = 7"]
    colours = (GREY, PUBLISHED, CORRECTED, MAUVE)
    for (c, values), colour in zip(found.left.items(), colours, strict=True):
        x, y, ink, _ = drawn[f"c = {c:g}"]
        assert x == [*found.scales] and ink == colour
        within = [(shown, value) for shown, value in zip(y, values, strict=True) if value > 1e-7]
        assert [shown for shown, _ in within] == near(value for _, value in within)
    assert across(left) == [1e-3]
    curves = [(line.get_color(), line.get_linestyle()) for line in right.lines]
    assert curves == [
        (KINDS[kind], "-" if damping == 3 else "--")
        for kind, damping in free.curves
        for _ in range(free.seeds)
    ]
    assert f"AEP, c = 1 {free.ran_away('AEP', 1)} of {free.seeds}" in picture.alt


def test_memory() -> None:
    picture, found = FIGURES["memory"](), evidence.memory()
    (ax,) = picture.fig.axes
    for kind, (x, y, ink, _) in lines(ax).items():
        assert x == [*found.counts] and y == found.peaks[kind]
        assert ink == {"BPTT": GREY, "AEP": CORRECTED, "adjoint": MAUVE}[kind]


def test_how_soon_it_rests() -> None:
    picture, found = FIGURES["settling"](), evidence.settling()
    (ax,) = picture.fig.axes
    drawn = lines(ax)
    assert list(drawn) == [*found.left]
    for way, values in found.left.items():
        assert drawn[way][1] == near(values.clamp(min=1e-7))
        assert f"{found.needed(way)} with {way}" in picture.caption
    assert [drawn[name][2] for name in drawn] == [GREY, MAUVE, CORRECTED]
    assert across(ax) == [1e-3]
