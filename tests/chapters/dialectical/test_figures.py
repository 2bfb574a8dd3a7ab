"""What the chapter's figures draw, and what they say of it, on made-up results."""

import pytest
import torch
from matplotlib.axes import Axes
from torch import Generator

from attn_notes.chapters.dialectical import evidence, figures, recipe
from attn_notes.figures import Picture
from attn_notes.models.dialectical import LanguageModel
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import Brackets

from . import made_up
from .made_up import SEEDS


def line(ax: Axes, label: str) -> tuple[list[float], list[float]]:
    (found,) = (drawn for drawn in ax.lines if drawn.get_label() == label)
    return [float(v) for v in found.get_xdata()], [float(v) for v in found.get_ydata()]


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return LanguageModel(recipe.WHOLE, Generator().manual_seed(0))


def test_the_emblem_is_a_loss_that_crosses_the_floor() -> None:
    """Small, of few marks, and what it shows is said only to who cannot see it."""
    picture = figures.emblem()
    (ax,) = picture.fig.axes
    floor, curve, end = ax.lines
    assert (picture.title, picture.caption) == ("", "") and picture.alt
    assert set(floor.get_ydata()) == {0}
    falls = [float(y) for y in curve.get_ydata()]
    assert falls[0] > 0 > falls[-1] == float(end.get_ydata()[0])
    assert tuple(picture.fig.get_size_inches()) == (2.6, 1.7)
    assert texts(ax) == ["the best possible"]


def test_what_is_unknown_is_drawn_bar_by_bar() -> None:
    """One pair and no filler: after "(" all is known, and the floor is 0."""
    task = Brackets(pairs=2, fewest=1, filler=0.0)
    picture = figures.unknown("()", task)
    (ax,) = picture.fig.axes
    expected = task.entropies(brackets.encode("()")[None])[0].tolist()
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(expected)
    assert list(ax.lines[0].get_ydata()) == [task.floor] * 2
    assert any(text.startswith(f"the floor, {task.floor:.2f}") for text in texts(ax))
    assert f"“(” {expected[0]:.2f}, “)” {expected[1]:.2f}" in picture.alt
    assert f"character {expected.index(max(expected)) + 1}." in picture.caption


@pytest.mark.parametrize(
    ("published", "mended", "title"),
    [
        ((-0.2, -0.3, -0.1), (0.02, 0.01, 0.03),
         "As published the loss falls through the floor; mask mended it does not"),
        ((-0.2, -0.3, -0.1), (-0.2, -0.1, -0.3), "Every loss falls through the floor"),
        ((0.2, 0.3, 0.1), (0.02, 0.01, 0.03), "No loss ends below the floor"),
    ],
)  # fmt: skip
def test_the_curve_is_said_to_fall_only_where_it_does(
    published: tuple[float, ...], mended: tuple[float, ...], title: str
) -> None:
    picture = figures.falling(made_up.live(published, mended))
    (ax,) = picture.fig.axes
    assert picture.title == title
    for name, ends in (("as published", published), ("mask mended", mended)):
        x, y = line(ax, name)
        assert x == [0, 50, 100]
        assert y == pytest.approx([0.7, 0.1, sorted(ends)[1]])
        assert name in texts(ax)
    assert "median and middle half of 3 seeds" in picture.caption
    assert f"begins at 0.70 and ends at {sorted(published)[1]:.3f}".replace("-", "−") in picture.alt
    floor = next(drawn for drawn in ax.lines if list(drawn.get_ydata()) == [0, 0])
    assert ax.lines.index(floor) == 0  # before the curves


@pytest.mark.parametrize(
    ("maps", "title", "cells"),
    [
        ({"free": torch.ones(3, 3), "held": torch.ones(3, 3).tril()},
         "Free, predictions read the future; held, none does", ("3 of 3", "0 of 3")),
        ({"free": torch.ones(3, 3)}, "Predictions read the future", ("3 of 3",)),
        ({"held": torch.ones(3, 3).tril()}, "No prediction reads the future", ("0 of 3",)),
    ],
)  # fmt: skip
def test_what_is_read_is_drawn_and_said(
    maps: dict[str, torch.Tensor], title: str, cells: tuple[str, ...]
) -> None:
    picture = figures.influences(maps, "( )")
    assert picture.title == title
    for ax, (name, moved), count in zip(picture.fig.axes, maps.items(), cells, strict=True):
        assert ax.get_title(loc="left") == name
        assert ax.collections[0].get_array().flatten().tolist() == moved.flatten().tolist()
        assert [t.get_text() for t in ax.get_xticklabels()] == ["(", "␣", ")"]
        assert f"{name}: right of the diagonal {count}" in picture.alt


@pytest.mark.parametrize(("equal", "count", "rival"), [("moves", 3.0, 0.375), ("steps", 4.0, 0.25)])
@pytest.mark.parametrize("side", [-0.05, 0.05, 0.0])
def test_halting_is_drawn_against_what_is_equal(
    equal: str, count: float, rival: float, side: float
) -> None:
    made = made_up.recorded()
    apart = torch.linspace(-0.02, 0.02, SEEDS).tolist()  # their median is what is drawn thick
    made.inside["runs"]["corrected"]["halting"] = [
        made_up.sweep(dict.fromkeys(recipe.TOLD, (4.0, 3.0, rival + side + more))) for more in apart
    ]
    picture = figures.stopping(made, equal)
    (ax,) = picture.fig.axes
    x, y = line(ax, "halting by tension")
    assert x == [count] * 4 and y == pytest.approx([rival + side] * 4)
    x, y = line(ax, "all tokens alike")
    assert x == list(range(7)) and y == pytest.approx([0.75 - n / 8 for n in range(7)])
    assert picture.title.startswith(f"At equal {equal}, ")
    assert {"τ₀ = 0.15", "τ₀ = 0.25"} <= set(texts(ax))
    assert f"{rival + side:.3f} at {count:.1f} (τ₀ = 0.15)" in picture.alt


def test_what_the_grammar_takes_is_drawn_and_compared() -> None:
    picture = figures.removals({"trained": [0.0, 0.1], "untrained": [0.5, 0.9]}, "((")
    (ax,) = picture.fig.axes
    assert line(ax, "trained") == ([1, 2], pytest.approx([0.0, 0.1]))
    assert line(ax, "untrained") == ([1, 2], pytest.approx([0.5, 0.9]))
    assert picture.title == (
        "The grammar takes little from the trained model, more from the untrained one"
    )
    assert "trained: mean 0.05, most 0.10; untrained: mean 0.70, most 0.90" in picture.alt
    assert "“((”" in picture.caption
    turned = figures.removals({"trained": [0.5, 0.9], "untrained": [0.0, 0.1]}, "((")
    assert "little from the untrained model" in turned.title
    level = figures.removals({"trained": [0.5, 0.4], "untrained": [0.5, 0.6]}, "((")
    assert level.title == "The grammar takes about as much from either model"


def test_two_readings_differ_by_what_is_hatched() -> None:
    """Of two keys with scores level and biases ± ln 3 / 2, one reading has 3/4, the other 1/4."""
    half = torch.tensor(3.0).log().item() / 2
    picture = figures.readings([0.0, 0.0], [half, -half])
    heights = [bar.get_height() for bar in picture.fig.axes[0].patches]
    assert heights == pytest.approx([0.75, 0.25, 0.25, 0.75, 0.5, 0.5])
    assert "half of all hatching, 0.50," in picture.caption
    assert "a⁺: 0.75, 0.25; a⁻: 0.25, 0.75" in picture.alt


def test_masks_and_readings_are_shown_of_the_model_given(model: LanguageModel) -> None:
    published = LanguageModel(recipe.PUBLISHED, Generator().manual_seed(0))
    picture = figures.masks(published, "(a)")
    even, held = (ax.collections[0].get_array() for ax in picture.fig.axes)
    assert even.flatten().tolist() == pytest.approx([1 / 3] * 9)
    assert torch.as_tensor(held).triu(1).abs().max() == 0
    assert "0.33; with the mended mask" in picture.alt
    picture = figures.streams(model, "(a)")
    _, seen = model.observe(brackets.encode("(a)")[None])
    for ax, attention in zip(picture.fig.axes, seen.attention[0, 0], strict=True):
        drawn = torch.as_tensor(ax.collections[0].get_array())
        assert drawn.flatten().tolist() == pytest.approx(attention.flatten().tolist())
    named = ", ".join(
        f"“{c}” {t:.2f}" for c, t in zip("(a)", seen.tension[0, 0].tolist(), strict=True)
    )
    assert named in picture.caption and named in picture.alt


def test_tension_is_drawn_along_the_recursion(model: LanguageModel) -> None:
    made = made_up.recorded()
    made_up.of_parts(made, "corrected", "tension and entropy", [-0.2] * SEEDS)
    row = [0.3, 0.3, 0.3, 0.3, 0.3, 0.5]
    made_up.of_parts(made, "no halting", "tension", [row] * SEEDS)
    strings = brackets.encode("(a())")[None]
    picture = figures.tension(made, model, strings)
    left, right = picture.fig.axes
    assert line(left, "all, none halts") == ([1, 2, 3, 4, 5, 6], pytest.approx(row))
    assert line(left, "that still move")[1] == pytest.approx([0.3] * 6)
    places = right.collections[0].get_offsets()
    assert places[:, 0].tolist() == pytest.approx(recipe.TASK.entropies(strings)[0].tolist())
    assert "seeds: −0.20." in picture.caption
    assert "from 0.30 to 0.50 without halting" in picture.alt


def test_steps_and_tension_while_learning() -> None:
    made = made_up.recorded()
    made.inside["runs"]["published"]["at work"] = [[[6.0, 0.9, 0.7]] * SEEDS] * 2
    picture = figures.training(made)
    left, right = picture.fig.axes
    assert line(left, "as published") == ([0, 20], [6, 6])
    assert line(left, "corrected") == ([0, 20], [6, 5])
    solid = [list(drawn.get_ydata()) for drawn in right.lines if drawn.get_linestyle() == "-"]
    dashed = [list(drawn.get_ydata()) for drawn in right.lines if drawn.get_linestyle() == "--"]
    assert solid == [pytest.approx([0.9, 0.9]), pytest.approx([0.9, 0.5])]
    assert dashed == [pytest.approx([0.7, 0.7]), pytest.approx([0.8, 0.4])]
    assert "corrected: at the end 5.00 steps, tension at the first 0.50, at the last 0.40" in (
        picture.alt
    )


def test_each_kind_has_its_own_row_of_seeds() -> None:
    made = made_up.recorded()
    for i, kind in enumerate(figures.ORDER):
        made_up.ends(made, kind, [0.01 + 0.001 * i] * SEEDS)
    made_up.ends(made, "no halting", [0.09] * SEEDS)
    picture = figures.ablations(made)
    (ax,) = picture.fig.axes
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == list(figures.ORDER)
    dots = [drawn for drawn in ax.lines if drawn.get_linestyle() == "None"]
    for row, (kind, drawn) in enumerate(zip(figures.ORDER, dots, strict=True)):
        assert list(drawn.get_ydata()) == [row] * SEEDS
        assert drawn.get_xdata().tolist() == pytest.approx(made.ends[kind].tolist())
    assert "no halting 0.0900" in picture.alt and "one step 0.0170" in picture.alt


def test_rates_and_the_published_size_are_drawn_as_recorded() -> None:
    made = made_up.recorded()
    picture = figures.rates(made)
    left, right = picture.fig.axes
    rates = pytest.approx([3e-3, 1e-2, 3e-2])
    assert line(left, "corrected") == (rates, rates)
    assert [list(drawn.get_ydata()) for drawn in right.lines] == [
        pytest.approx([0.5, -0.1]), pytest.approx([0.5, 0.2]), [0, 0]
    ]  # fmt: skip
    assert "published model is at −0.10 nats, the corrected one at 0.20" in picture.alt
    assert "12,345 parameters" in picture.caption


def test_the_loss_by_depth_leaves_out_what_is_rare() -> None:
    made = made_up.recorded()
    picture = figures.by_depth(made)
    left, right = picture.fig.axes
    assert line(left, "corrected") == ([0, 1], pytest.approx([0.03, 0.01]))
    assert [bar.get_height() for bar in right.patches] == [0.5, 0.496]
    assert "0.030 at 0, 0.010 at 1" in picture.alt


def test_the_lattice_shows_a_text_that_stays_and_one_that_leaves(model: LanguageModel) -> None:
    picture = figures.lattice(model)
    (ax,) = picture.fig.axes
    stays, leaves = (drawn for drawn in ax.lines if drawn.get_linestyle() in ("-", "--"))
    inside = zip(stays.get_xdata(), stays.get_ydata(), strict=True)
    assert all(opened <= left for left, opened in inside)
    crossed = [r for r, d in zip(leaves.get_xdata(), leaves.get_ydata(), strict=True) if d > r]
    assert crossed and f"crosses it with {crossed[0]} characters left" in picture.alt


def test_every_picture_has_all_its_parts(model: LanguageModel) -> None:
    made = made_up.recorded()
    strings = brackets.encode("(a())")[None]
    shown: list[Picture] = [
        figures.unknown("()"),
        figures.falling(made_up.live()),
        figures.influences(made_up.live().influence, recipe.LEAK_TEXT),
        figures.stopping(made),
        figures.removals({"trained": [0.1], "untrained": [0.2]}, "("),
        figures.readings(),
        figures.masks(LanguageModel(recipe.PUBLISHED, Generator().manual_seed(0))),
        figures.streams(model),
        figures.tension(made, model, strings),
        figures.training(made),
        figures.ablations(made),
        figures.rates(made),
        figures.by_depth(made),
        figures.lattice(model),
    ]
    for picture in shown:
        assert picture.title and picture.caption.endswith((".", ".)")) and picture.alt.endswith(".")
        assert "( 0" not in picture.caption + picture.alt  # a character is in quotation marks


def test_where_a_readers_guess_and_run_are_held_to_is_on_the_right_side_of_the_floor() -> None:
    made = made_up.live(mended=(0.02, 0.012, 0.01))
    assert {part.name: part.came for part in evidence.predicted(made)} == {
        "mask mended": pytest.approx(0.014)
    }
    (yours,) = figures.falling(made).yours
    ends = {kind: said.rpartition("median, ")[2] for kind, said in yours.recorded.items()}
    assert ends == {
        "as published": "0.250 nats below it.",
        "mask mended": "0.012 nats above it.",
    }
