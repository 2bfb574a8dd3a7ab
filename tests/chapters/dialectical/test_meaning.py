"""What chapter 3's drawings and tables mean: colours, and the names of axes, curves and columns."""

import re
from html import unescape

import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from torch import Generator, Tensor

from attn_notes.chapters.dialectical import claims, figures, recipe, tables
from attn_notes.figures import COLOURS, GREY
from attn_notes.models.dialectical import LanguageModel
from attn_notes.tasks import brackets

from . import made_up

BLUE, VERMILION, GREEN, _, VIOLET = COLOURS


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
    assert {to_hex(bar.get_facecolor()) for bar in ax.patches} == {to_hex(BLUE)}
    assert to_hex(ax.lines[0].get_color()) == to_hex(VERMILION)
    (ax,) = figures.stopping(made_up.recorded()).fig.axes
    assert colour(ax, "all tokens alike") == to_hex(VERMILION)
    assert colour(ax, "halting by tension") == to_hex(BLUE)
    (ax,) = figures.lattice(model).fig.axes
    assert colour(ax, "with the grammar") == to_hex(BLUE)
    assert colour(ax, "what it forbids") == to_hex(VERMILION)


def test_the_future_lies_right_of_the_line() -> None:
    picture = figures.influences({"held": torch.ones(3, 3).tril()}, "( )")
    (ax,) = picture.fig.axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("character that is changed", "prediction after")
    assert ax.lines[0].get_xydata().tolist() == [[0, 0], [3, 3]]
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
    assert found == {k: to_hex(BLUE if k == "corrected" else GREY) for k in figures.ORDER}
    (near,) = (drawn for drawn in ax.lines if drawn.get_linestyle() == ":")
    assert near.get_xdata()[0] == 0.03


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
    made = made_up.recorded()
    made_up.of_inside(made, "corrected", "first token saves", [0.25] * 8)
    assert "accounts for 25 %" in claims.saved_say(made).data


def test_whose_claim_it_is() -> None:
    made = made_up.recorded()
    source = [c.text for c in claims.evidence(made) if c.whose == "source"]
    assert source and all("“" in text for text in source)
    assert {t[:13] for t in source if "streams" in t or "halting" in t} == {"As published:"}


def test_the_sentence_on_the_parts_names_each_rival_by_its_own_comparison() -> None:
    made = made_up.recorded()
    made_up.ends(made, "one stream", [e + 1 for e in made_up.LEVEL])
    text = claims.parts_say(made).data
    assert "ends lower than one reading" in text
    assert "cannot be told from a single wide step" in text
    assert "cannot be told from plain recursion" in text
