"""What drawings and tables mean: colours, and the names of axes, curves and columns."""

import itertools
import re
from html import unescape

import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.text import Text
from torch import Generator, Tensor

from attn_notes.chapters.dialectical import claims, evidence, figures, recipe, tables
from attn_notes.figures import COLOURS, FLOOR, GREY, INK, ON_CELL, PAPER, Picture
from attn_notes.models.dialectical import LanguageModel
from attn_notes.tasks import brackets
from attn_notes.training import comparison

from . import made_up

BLUE, VERMILION, GREEN, MAUVE, VIOLET = COLOURS


def colour(ax: Axes, label: str) -> str:
    (found,) = (drawn for drawn in ax.lines if str(drawn.get_label()).startswith(label))
    return to_hex(found.get_color())


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return LanguageModel(recipe.WHOLE, Generator().manual_seed(0))


def test_published_is_vermilion_mended_blue_and_corrected_green() -> None:
    (ax,) = figures.falling(made_up.live()).fig.axes
    assert colour(ax, "as published") == to_hex(VERMILION)
    assert colour(ax, "mask mended") == to_hex(BLUE)
    named = {
        t.get_text(): to_hex(t.get_color()) for t in ax.texts if t.get_text() in figures.COLOUR
    }
    assert named == {"as published": to_hex(VERMILION), "mask mended": to_hex(BLUE)}
    made = made_up.recorded()
    left, _ = figures.training(made).fig.axes
    assert colour(left, "as published") == to_hex(VERMILION)
    assert colour(left, "corrected") == to_hex(GREEN)
    left, right = figures.rates(made).fig.axes
    assert colour(left, "corrected") == to_hex(GREEN)
    assert colour(left, "published, masked") == to_hex(BLUE)
    assert [to_hex(d.get_color()) for d in right.lines[:2]] == [to_hex(VERMILION), to_hex(GREEN)]


def test_bars_floor_rivals_and_texts_have_their_colours(model: LanguageModel) -> None:
    (ax,) = figures.unknown("()").fig.axes
    assert {to_hex(bar.get_facecolor()) for bar in ax.patches} == {to_hex(GREY)}
    assert to_hex(ax.lines[0].get_color()) == to_hex(FLOOR)
    (ax,) = figures.stopping(made_up.recorded()).fig.axes
    assert colour(ax, "all tokens alike") == to_hex(GREY)
    assert colour(ax, "halting by tension") == to_hex(GREEN)
    (ax,) = figures.lattice(model).fig.axes
    assert colour(ax, "with the grammar") == to_hex(GREEN)
    assert colour(ax, "what it forbids") == to_hex(INK)


@pytest.fixture(scope="module")
def every() -> list[Picture]:
    """All figures of both pages, of what was recorded."""
    found, published = evidence.recorded(), evidence.model("published")
    corrected = evidence.model("corrected")
    strings, _ = brackets.trim(recipe.TASK.sample(64, comparison.held_out()))
    live = made_up.live()
    return [
        figures.unknown(recipe.LEAK_TEXT),
        figures.falling(live),
        figures.influences(live.influence, recipe.LEAK_TEXT),
        figures.stopping(found),
        figures.stopping(found, "steps"),
        figures.removals({"trained": [0.1, 0.2], "untrained": [0.5, 0.6]}, "(("),
        figures.readings(),
        figures.masks(published),
        figures.streams(corrected),
        figures.tension(found, corrected, strings),
        figures.training(found),
        figures.ablations(found),
        figures.rates(found),
        figures.by_depth(found),
        figures.lattice(corrected),
    ]


# What a line or bar in a colour may be; a label begins with it, or the text beside it is it.
MEANING = {
    VERMILION: {"as published"},
    BLUE: {"mask mended", "published, masked", "trained"},
    GREEN: {"corrected", "halting by tension", "that still move", "with the grammar"},
    MAUVE: {"no tension gate"},
    VIOLET: {"plain recursion"},
}


def test_a_colour_is_one_kind_of_model_in_every_drawing(every: list[Picture]) -> None:
    """Whatever is drawn in a colour and has a name has one of that colour's; all are in use."""
    used = dict[str, set[str]]()
    for picture in every:
        for ax in picture.fig.axes:
            named = [(d.get_color(), d.get_label()) for d in ax.lines]
            named += [(b[0].get_facecolor(), b.get_label()) for b in ax.containers if len(b)]
            for shade, label in named:
                if not str(label).startswith("_"):
                    name = str(label).split(":")[0]
                    used.setdefault(to_hex(shade), set()).add(name)
    for shade, names in MEANING.items():
        assert used.get(to_hex(shade)) == names
    assert set(used) - {to_hex(shade) for shade in MEANING} <= {to_hex(GREY), to_hex(INK)}


def test_what_has_no_name_has_no_colour_but_one_of_a_model(every: list[Picture]) -> None:
    """Bars of the best predictor and lines at the floor are no model's."""
    for picture in every:
        for ax in picture.fig.axes:
            level = [d for d in ax.lines if len(set(map(float, d.get_ydata()))) == 1]
            flat = [d for d in level if d.get_transform() == ax.get_yaxis_transform()]
            assert {to_hex(d.get_color()) for d in flat} <= {to_hex(FLOOR)}, picture.title
            assert {to_hex(t.get_color()) for t in ax.texts} <= {
                to_hex(c) for c in (INK, VERMILION, BLUE, *ON_CELL.values())
            }, picture.title


def test_no_label_lies_on_a_line(every: list[Picture]) -> None:
    for picture in every:
        picture.fig.draw_without_rendering()
        for ax in picture.fig.axes:
            if ax.collections and not ax.lines:
                continue  # numbers in the cells of a heat map
            for text in ax.texts:
                box = Text.get_window_extent(text)  # without the line that leads to its dot
                for bar in itertools.chain(*ax.containers):
                    assert not box.overlaps(bar.get_window_extent()), picture.title
                for drawn in ax.lines:
                    path = drawn.get_transform().transform_path(drawn.get_path())
                    crossed = path.intersects_bbox(box, filled=False)
                    assert not crossed, (picture.title, text.get_text(), drawn.get_label())


def test_the_future_lies_right_of_the_line() -> None:
    picture = figures.influences({"held": torch.ones(3, 3).tril()}, "( )")
    (ax,) = picture.fig.axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("character that is changed", "prediction after")
    for drawn, right in zip(ax.lines, (PAPER, INK), strict=True):
        assert drawn.get_xydata().tolist() == [[0, 0], [3, 3]]
        assert to_hex(drawn.get_color()) == to_hex(right)
    assert "Right of the line lies the future" in picture.caption


def test_readings_are_told_apart(model: LanguageModel) -> None:
    (ax,) = figures.readings([0.0, 0.0], [1.0, -1.0]).fig.axes
    plus, minus = ax.containers[:2]
    assert (plus.get_label(), minus.get_label()) == ("a⁺", "a⁻")
    assert plus[0].get_height() > minus[0].get_height()
    # What is hatched stands on the reading that has more: the left, then the right.
    assert [bar.get_x() for bar in ax.containers[2]] == [plus[0].get_x(), minus[1].get_x()]
    axes = figures.streams(model, "(a)").fig.axes
    assert [ax.get_title("left") for ax in axes[:2]] == ["a⁺", "a⁻"]
    assert axes[0].get_xlabel() == "character attended to"
    assert axes[0].get_ylabel() == "character that attends"
    published = LanguageModel(recipe.PUBLISHED, Generator().manual_seed(0))
    axes = figures.masks(published, "(a)").fig.axes
    assert [ax.get_title("left") for ax in axes[:2]] == ["as published", "mended"]


def test_the_whole_stands_out_among_its_ablations() -> None:
    (ax,) = figures.ablations(made_up.recorded()).fig.axes
    dots = [drawn for drawn in ax.lines if drawn.get_linestyle() == "None"]
    found = dict(zip(figures.ORDER, (to_hex(d.get_color()) for d in dots), strict=True))
    assert found == {k: to_hex(GREEN if k == "corrected" else GREY) for k in figures.ORDER}
    (near,) = (drawn for drawn in ax.lines if drawn.get_linestyle() == ":")
    assert near.get_xdata()[0] == recipe.NEAR
    assert to_hex(near.get_color()) == to_hex(INK)


def test_depths_are_labelled() -> None:
    left, right = figures.by_depth(made_up.recorded()).fig.axes
    assert (left.get_ylabel(), right.get_ylabel()) == (
        "nats above the floor",
        "share of predictions",
    )


def header(table: object) -> list[str]:
    return re.findall(r"<th(?: [^>]*)?>(.*?)</th>", unescape(table.data), re.S)  # type: ignore[attr-defined]


def test_columns_are_named_for_what_they_hold() -> None:
    made = made_up.recorded()
    assert header(tables.parts())[:3] == ["part", "as published", "corrected"]
    assert header(tables.kinds())[:7] == [
        "kind", "readings", "gate τ", "gate σ(g·q)", "halts by τ", "steps", "head's width d"
    ]  # fmt: skip
    assert header(tables.reading(made))[:4] == [
        "model", "largest leak, in logits", "loss on whole strings", "seeing the past only"
    ]  # fmt: skip
    assert header(tables.costs(made))[:7] == [
        "kind", "seeds", "nats above the floor, median", "worst seed", "steps taken",
        "million operations", "parameters",
    ]  # fmt: skip
    assert header(tables.compared(made))[:5] == [
        "kind", "against", "ends higher by, thousandths of a nat", "95 % interval", "corrected"
    ]  # fmt: skip
    assert header(tables.decoders(made))[:8] == [
        "model", "logits", "budget", "decoder", "unbalanced", "contain PAD", "exceed the budget",
        "ten fillers in a row",
    ]  # fmt: skip
    assert header(tables.halting(made))[:3] == ["threshold τ₀", "moves kept", "steps computed"]


def test_an_option_is_the_one_named(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def spelled(*_: object, stop_on_closed: bool, close_tail: bool) -> str:
        return f"{stop_on_closed} {close_tail}"

    monkeypatch.setattr(tables.decoding, "as_published", spelled)
    data = tables.options(model).data
    for stop in (True, False):
        for close in (True, False):
            row = data.split(f"stop_on_closed={stop}, close_tail={close}")[1].split("</tr>")[0]
            assert "".join(figures.shown(f"{stop} {close}")) in row


def test_the_error_of_the_floor_is_two_standard_errors() -> None:
    x, y = recipe.TASK.sample(50, Generator().manual_seed(2))
    losses: Tensor = brackets.token_losses(recipe.TASK.ideal(x), y).sum(1)
    tokens = (y != brackets.PAD).sum(1)
    mean = losses.sum() / tokens.sum()
    error = (losses - mean * tokens).std() / tokens.float().mean() / 50**0.5
    assert f"{mean:.4f} ± {2 * error:.4f}" in tables.floor(strings=50).data


def test_what_is_found_is_said_in_its_unit() -> None:
    assert "10.0 thousandths" in claims.loses_less(torch.full((8,), 0.01)).found
    assert "last less first −0.20" in claims.falls(torch.tensor([[0.3, 0.1]] * 8)).found


def test_whose_claim_it_is() -> None:
    made = made_up.recorded()
    source = [c.text for c in claims.evidence(made) if c.whose == "source"]
    assert source and all("“" in text for text in source)
    assert {t[:13] for t in source if "streams" in t or "halting" in t} == {"As published:"}
