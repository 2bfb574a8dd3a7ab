"""What the chapter's figures and tables show of made-up results: lines, bars of colour, words."""

import math
from collections.abc import Mapping

import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from torch import Tensor

from attn_notes.analysis.statistics import Effect
from attn_notes.chapters.triple_product import evidence, explorer, figures, recipe, shapes
from attn_notes.chapters.triple_product.geometry import Shares
from attn_notes.chapters.triple_product.learnt import Places
from attn_notes.figures import GREY, Picture

from . import made_up
from .made_up import learning

THREE = ("one layer", "one layer, random period", "two layers")  # tasks of the longer record


def lines(ax: Axes) -> dict[str, tuple[list[float], list[float]]]:
    """Each labelled line: x and y."""
    return {
        line.get_label(): (
            [float(x) for x in line.get_xdata()],
            [float(y) for y in line.get_ydata()],
        )
        for line in ax.lines
        if not line.get_label().startswith("_")
    }


def colours(ax: Axes) -> dict[str, str]:
    return {line.get_label(): line.get_color() for line in ax.lines}


def is_median(drawn: list[float], values: Tensor) -> bool:
    """Whether a line is the median over seeds of values [n, m]."""
    return drawn == pytest.approx(values.quantile(0.5, dim=1).tolist(), abs=1e-5)


def axes(picture: Picture) -> list[Axes]:
    return [ax for ax in picture.fig.axes if ax.get_label() != "<colorbar>"]


def words(ax: Axes) -> tuple[str, str, str]:
    """What stands over, under and beside."""
    return ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()


# --- How the kinds learn


def test_one_layer() -> None:
    one = {kind: learning(end=1.1 + i / 10, seeds=3) for i, kind in enumerate(recipe.CONTENDERS)}
    picture = figures.one_layer(one)
    (ax,) = axes(picture)
    assert list(lines(ax)) == list(one)
    for kind, run in one.items():
        x, y = lines(ax)[kind]
        assert x == [0, 50, 1200] and is_median(y, run.loss - 1.0)
    assert colours(ax) == figures.COLOUR
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
    assert words(ax)[1:] == ("step", "nats above the floor")
    assert "held-out sequences, 3 seeds, median and middle half" in picture.caption
    assert picture.alt.endswith(
        "at the end: dot 0.101, dot, wider 0.201, volume 0.301, angle 0.401, line 0.501 nats."
    )


def test_where_the_loss_is() -> None:
    tokens = made_up.by_token()
    picture = figures.where(tokens)
    (ax,) = axes(picture)
    for kind, losses in tokens.losses.items():
        x, y = lines(ax)[kind]
        assert x == [2, 3, 4, 5, 6, 7, 8, 9] and is_median(y, losses)
        assert colours(ax)[kind] == figures.COLOUR[kind]
    assert lines(ax)["best possible"][1] == pytest.approx([2.77] * 6 + [0] * 2)
    assert "the copies hold 17 % (dot), 17 % (volume), 17 % (angle); the rest" in picture.caption
    assert "first half, where the best possible is ln 16 = 2.77: dot 2.94," in picture.alt
    assert "In the second half: dot 0.10, volume 0.10, angle 0.10." in picture.alt


def test_two_layers() -> None:
    one = {kind: learning(right=[0.3, 0.4, 0.5]) for kind in recipe.KINDS}
    two = {kind: learning(right=[0.6, 0.7, 0.9]) for kind in recipe.KINDS}
    picture = figures.two_layers(one, two)
    for ax, kind in zip(axes(picture), recipe.KINDS, strict=True):
        assert words(ax)[0] == kind
        assert is_median(lines(ax)["one layer"][1], one[kind].accuracy)
        assert is_median(lines(ax)["two layers"][1], two[kind].accuracy)
        assert colours(ax) == {"one layer": GREY, "two layers": figures.COLOUR[kind]}
    assert "last twelve letters right, 3 seeds, median" in picture.caption
    assert "dot 0.40 with one layer, 0.70 with two; volume 0.40" in picture.alt


def test_the_recorded_comparison() -> None:
    found = {
        layers: {"dot": learning(1.1 + i / 10), "angle": learning(1.2 + i / 10)}
        for i, layers in enumerate(THREE)
    }
    picture = figures.recorded(found)
    titles = [
        "one layer, trained at 12",
        "one layer, trained at 6 to 12",
        "two layers, trained at 6 to 12",
    ]
    for ax, title, kinds in zip(axes(picture), titles, found.values(), strict=True):
        assert words(ax)[0].replace("\n", " ") == title
        for kind, run in kinds.items():
            assert is_median(lines(ax)[kind][1], run.loss - 1.0)
        assert ax.get_yscale() == "log" and ax.get_xticks().tolist() == [0, 1200]
    assert "8 seeds" in picture.caption and "8 seeds" in picture.alt
    assert "one layer: dot 0.104, angle 0.204. one layer, random period: dot 0.204" in picture.alt
    assert picture.alt.endswith("two layers: dot 0.303, angle 0.403.")


def test_the_rates() -> None:
    picture = figures.rates(made_up.sweep())
    for ax, layers in zip(axes(picture), ("one layer", "two layers"), strict=True):
        assert words(ax)[:2] == (layers, "learning rate")
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        for score, ends in made_up.sweep().ends[layers].items():
            x, y = lines(ax)[score]
            assert x == pytest.approx([0.01, 0.03, 0.1]) and is_median(y, ends)
    assert (
        "five learning rates, 4 seeds, 400 steps with one layer and 800 with two" in picture.caption
    )
    assert "one layer, best rate: dot 0.03, volume 0.01, angle 0.03, line 0.03." in picture.alt


def test_learning_beside_the_floor() -> None:
    one, two = "one layer, random period", "two layers"
    found = {
        name: {kind: learning(end=1.4 + i / 10, seeds=3) for i, kind in enumerate(recipe.KINDS)}
        for name in ("one layer", one, two)
    }
    picture = figures.learning(found)
    for ax, (name, kinds) in zip(axes(picture), found.items(), strict=True):
        assert words(ax)[:2] == (figures.TRAINED[name], "step")
        assert list(lines(ax)["floor"][1]) == [recipe.TASKS[name].floor] * 2
        for kind, run in kinds.items():
            assert is_median(lines(ax)[kind][1], run.loss)
    assert picture.title == "The loss beside the floor"  # 0.4 to 0.6 above it, every one
    assert "one layer, trained at 12: dot 0.401, volume 0.501, angle 0.601." in picture.alt
    assert "3 seeds" in picture.caption

    def with_ends(**ends: float) -> str:
        each = {name.replace("_", " ").replace("one layer random", "one layer, random"): end
                for name, end in ends.items()}  # fmt: skip
        return figures.learning(
            {name: {"dot": learning(end=each[name])} for name in ("one layer", one, two)}
        ).title

    near = with_ends(one_layer=1.1, one_layer_random_period=1.1, two_layers=1.1)
    far = with_ends(one_layer=1.1, one_layer_random_period=2.1, two_layers=1.1)
    both = with_ends(one_layer=1.1, one_layer_random_period=2.1, two_layers=2.1)
    assert near == "All come near their floor"
    assert far == "Where the period varies, one layer stays far above the floor"
    assert both == "The loss beside the floor"
    two_kinds = {"dot": learning(end=1.1), "volume": learning(end=2.1)}  # one is far
    other = figures.learning({"one layer": two_kinds, "two layers": two_kinds}).title
    assert other == "The loss beside the floor"


def test_what_cannot_be_known() -> None:
    best = evidence.unknown(200)
    picture = figures.unknown(best)
    (ax,) = axes(picture)
    for name, losses in best.items():
        x, y = lines(ax)[f"period {name}"]
        assert x == list(range(2, 25)) and y == pytest.approx(losses.tolist())
    assert "period always 12: 2.77 nats for the first five, 0.00 for the last five" in picture.alt
    assert words(ax)[1:] == ("predicted token", "nats")


def test_effects_stand_where_their_numbers_say() -> None:
    found = {
        "800 steps": {"angle": Effect(0.2, 0.1, 0.3), "line": Effect(0.25, 0.15, 0.35)},
        "3,000 steps": {"angle": Effect(-0.02, -0.03, -0.01), "line": Effect(0.0, -0.01, 0.01)},
    }
    picture = figures.effects(found)
    (ax,) = axes(picture)
    drawn = [(line.get_xdata(), line.get_ydata(), line.get_color()) for line in ax.lines[1:]]
    for row, name in enumerate(("angle", "line")):
        for i, each in enumerate(found.values()):
            interval, point = drawn[4 * row + 2 * i : 4 * row + 2 * i + 2]
            assert list(interval[0]) == [each[name].low, each[name].high]
            assert list(point[0]) == [each[name].middle]
            assert interval[2] == point[2] == figures.COLOUR[name]
            assert abs(point[1][0] - row) < 0.5
    assert [t.get_text() for t in ax.get_yticklabels()] == ["angle", "line"]
    assert words(ax)[1] == "nats above the dot product"
    assert "angle, 3,000 steps: −0.020 (−0.030 to −0.010)." in picture.alt
    assert "Left of zero is better" in picture.caption


# --- Place or token


def test_where_heads_look() -> None:
    profile = torch.full((23, 2), 0.01)
    profile[11] = torch.tensor([0.6, 0.7])
    found = dict.fromkeys(recipe.KINDS, profile)
    picture = figures.offsets(found)
    for ax, kind in zip(axes(picture), recipe.KINDS, strict=True):
        first, second, mark = ax.lines
        assert list(first.get_ydata()) == profile[:, 0].tolist()
        assert list(second.get_ydata()) == profile[:, 1].tolist()
        assert first.get_color() == figures.COLOUR[kind] and set(mark.get_xdata()) == {11}
        assert words(ax)[0] == kind
    assert "There it gives dot 0.60 to 0.70, volume 0.60 to 0.70" in picture.alt


def test_transfer() -> None:
    moved = {
        "one layer": made_up.transfer(home=0.98, elsewhere=0.3, dot_home=0.95),
        "two layers": made_up.transfer(0.9, 0.4, (10, 11, 12)),
    }
    picture = figures.transfer(moved)
    titles = ("one layer,\ntrained at 12", "two layers,\ntrained at 6 to 12")
    for ax, each, title in zip(axes(picture), moved.values(), titles, strict=True):
        for kind, accuracy in each.accuracy.items():
            x, y = lines(ax)[kind]
            assert x == [10, 11, 12, 14] and is_median(y, 100 * accuracy)
            assert colours(ax)[kind] == figures.COLOUR[kind]
        assert list(lines(ax)["chance"][1]) == [100 / 16] * 2
        assert words(ax)[:2] == (title, "period at test")
        (shade,) = ax.patches
        low, high = shade.get_x(), shade.get_x() + shade.get_width()
        assert [p for p in x if low < p < high] == [*each.home]
    assert words(axes(picture)[0])[2] == "copies right, %"
    assert picture.title == "Trained at one period, one layer has learnt a distance"
    assert "one layer, trained at 12: where they were trained at least dot 0.95, volume 0.98, " \
        "angle 0.98; elsewhere at most dot 0.30" in picture.alt  # fmt: skip
    assert "two layers, trained at 6 to 12: where they were trained at least dot 0.90, volume " \
        "0.90, angle 0.90; elsewhere at most dot 0.40" in picture.alt  # fmt: skip
    assert picture.alt.endswith("Chance is 0.06.")
    assert "of 2 seeds" in picture.caption
    others = (made_up.transfer(elsewhere=0.95), made_up.transfer(home=0.5))
    for each in (*others, made_up.transfer(elsewhere=math.nan)):
        assert figures.transfer({"one layer": each}).title.startswith("How well they copy")


def test_depth_and_task_are_drawn_apart() -> None:
    moved = made_up.moved()
    for picture, names in (
        (figures.depth(moved), ("one layer", "two layers, period 12")),
        (figures.task(moved), ("one layer, random period", "two layers")),
    ):
        assert [words(ax)[0] for ax in axes(picture)] == [figures.TRAINED[name] for name in names]
        for ax, name in zip(axes(picture), names, strict=True):
            assert is_median(lines(ax)["dot"][1], 100 * moved[name].accuracy["dot"])


def test_what_rules_reach_beside_the_model() -> None:
    picture = figures.reaches(made_up.reach(), torch.tensor([0.9, 0.96, 0.97]))
    (ax,) = axes(picture)
    bars = [(bar.get_width(), bar.get_facecolor()) for bar in ax.patches]
    assert [width for width, _ in bars] == pytest.approx([0.82, 0.85, 0.99, 0.96])
    assert len({colour for _, colour in bars[:3]}) == 1 and bars[3][1] != bars[0][1]
    (dots,) = ax.lines
    assert [*dots.get_xdata()] == pytest.approx([0.9, 0.96, 0.97])
    assert "do both: 0.99; two layers with the dot product: 0.96." in picture.alt


def test_what_is_followed_on_random_letters() -> None:
    picture = figures.follows(made_up.follows())
    for ax, name in zip(axes(picture), ("one layer", "two layers"), strict=True):
        assert words(ax)[0] == figures.TRAINED[name]
        met, never = lines(ax).values()
        assert met[0] == never[0] == [*range(1, 19)]
        assert met[1] == pytest.approx([0.9] * 14 + [0.1] * 4)
        assert never[1] == pytest.approx([0.06] * 18)
        (shade,) = ax.patches
        low, high = shade.get_x(), shade.get_x() + shade.get_width()
        assert [p for p in met[0] if low < p < high] == [*recipe.TASKS[name].periods]
    assert "18 back 0.10 after a match, 0.06 without." in picture.alt


def test_the_emblem_asks_and_does_not_answer() -> None:
    """Twelve letters back there is one tall bar, and the row ends in a question."""
    picture = figures.emblem()
    (ax,) = axes(picture)
    heights = [bar.get_height() for bar in ax.patches]
    assert max(heights) == heights[1] > 0.9 and sum(heights) < 1.01
    row = "".join(text.get_text() for text in ax.texts)
    text = explorer.AT_HOME * 2
    assert row.endswith("?") and row[:-1] in text
    after = text.index(row[:-1]) + len(row) - 1
    assert text[after] == row[1]  # what it looks at is what comes next
    assert (picture.title, picture.caption) == ("", "") and picture.alt


# --- One determinant, several ways


def test_costs() -> None:
    picture = figures.costs(made_up.costs())
    panels = axes(picture)
    assert [words(ax)[0] for ax in panels] == ["d = 8", "d = 16", "", ""]
    assert [words(ax)[2] for ax in panels] == ["time", "", "peak memory", ""]
    times, wide, memory, _ = map(lines, panels)
    assert times["quadratic features, fused"] == ([24, 128, 2048], pytest.approx([2, 0.5, 0.125]))
    assert wide["quadratic features, fused"][1] == pytest.approx([6, 1.5, 0.375])
    assert times["k − projection"][1][:2] == pytest.approx([2.25] * 2)
    assert math.isnan(times["k − projection"][1][2])
    assert memory["quadratic features, fused"][1] == pytest.approx([0.03] * 3)
    assert times["dot product, fused"][1] == pytest.approx([0.0025] * 3)
    assert len({(ln.get_color(), ln.get_linestyle()) for ln in panels[0].lines}) == 7
    assert all((ax.get_xscale(), ax.get_yscale()) == ("log", "log") for ax in panels)
    assert "from 24 to 2048, for heads of 8 and 16 dimensions. At 2048 and d = 8" in picture.alt
    assert "8 times as fast as the expansion, the form that stops at zero 1.3 times." in picture.alt


# --- Geometry


def levels(ax: Axes) -> list[tuple[float, float, Tensor]]:
    """Of each filled level its limits and its corners."""
    (filled,) = ax.collections
    found = zip(filled.levels, filled.levels[1:], filled.get_paths(), strict=False)
    return [(a, b, torch.tensor(path.vertices)) for a, b, path in found if len(path.vertices)]


def test_the_idea() -> None:
    """The dot product is highest at the right, the volume at the bottom, the angle level there."""
    picture = shapes.idea()
    dot, volume, angle = axes(picture)
    assert [words(ax)[0] for ax in (dot, volume, angle)] == ["dot product", "volume", "angle"]
    assert levels(dot)[-1][2][:, 0].min() == pytest.approx(1.5)  # −2 to 2 in eight steps
    assert levels(volume)[-1][2][:, 1].max() == pytest.approx(0.5**0.5, abs=0.02)  # −h² > −1/2
    high = levels(angle)[-1][2]
    inside = high.norm(dim=1) > 0.2
    assert (high[inside, 1] / high[inside].norm(dim=1)).max() < 0.42  # cos² > 7/8
    assert (
        "volume sees a key's height" in picture.title and "the angle its direction" in picture.title
    )
    for said in ("upright stripes", "level stripes", "from ray to ray"):
        assert said in picture.alt


def grid(right: float = 0.95, left: float = 0.05) -> Tensor:
    """Four columns: two `left`, two `right`, and the lower of the two in all of row 0."""
    return torch.tensor([[min(left, right)] * 4, *[[left, left, right, right]] * 2])


def shares(**of: Tensor) -> Shares:
    maps = {"dot": grid(), "volume": grid(), "angle": grid()} | of
    return Shares(torch.tensor([1.0, 4.0, 25.0, 100.0]), torch.tensor([0.0, 0.2, 0.5]), maps)


def test_attention_on_the_friend_is_drawn_where_it_is() -> None:
    picture = shapes.strangers(shares(), shares(volume=grid(0.05, 0.95)))
    panels = axes(picture)
    assert [words(ax)[0] for ax in panels] == ["dot", "volume", "angle", "", "", ""]
    assert [words(panels[i])[2] for i in (0, 3)] == ["leak, as a length", "leak, as a share"]
    for i, ax in enumerate(panels):
        low, high, corners = levels(ax)[-1]
        assert (low, high) == pytest.approx((0.9, 1.0))
        at_right = i != 4  # the one that is turned round
        edge = corners[:, 0].min() if at_right else corners[:, 0].max()
        assert bool(edge > 10) == at_right
        assert corners[:, 1].min() > 0.1 and corners[:, 1].max() == pytest.approx(0.5)
        assert ax.get_xscale() == "log"
    tilted = shapes.off_the_plane(shares(angle=grid(0.05, 0.95)))
    for ax, kind in zip(axes(tilted), recipe.KINDS, strict=True):
        assert words(ax)[0] == kind
        assert (levels(ax)[-1][2][:, 0].max() > 25) == (kind != "angle")
    assert words(axes(tilted)[0])[2] == "tilt, degrees"
    assert words(axes(tilted)[1])[1] == "length of the friend"


def test_what_is_said_of_strangers() -> None:
    fixed = shares(
        dot=torch.tensor([[0.67] * 4, [0.6] * 4, [0.55] * 4]), angle=grid(0.9996, 0.9996)
    )
    shared = shares(dot=grid(0.02, 0.6), volume=grid(0.97, 0.5), angle=grid(0.998, 0.998))
    picture = shapes.strangers(fixed, shared)
    assert picture.title == "A longer stranger wins the dot product only if its leak grows with it"
    assert "keeps between 0.55 and 0.67 whatever the length; with a leak that" in picture.alt
    assert (
        "falls to 0.02. The volume rises to 0.97 in both. The angle stays above 0.99."
        in picture.alt
    )
    plain = "Attention on the friend, against one stranger"
    assert shapes.strangers(shares(), shared).title == plain  # it changes with the length
    assert shapes.strangers(fixed, shares(dot=grid(0.6, 0.7))).title == plain  # and never wins


def test_what_is_said_of_a_friend_off_the_plane() -> None:
    falling = torch.tensor([[0.5] * 4, [0.5, 0.4, 0.2, 0.1], [0.5, 0.3, 0.1, 0.03]])
    picture = shapes.off_the_plane(shares(volume=falling, dot=grid(0.98)))
    assert picture.title == "The longer a friend off the plane, the less the volume attends to it"
    assert "falls to 0.03 at the largest tilt" in picture.alt
    assert "rises with its length to 0.98" in picture.alt
    plain = "Attention on a friend off the plane"
    assert shapes.off_the_plane(shares(volume=falling.flip(1))).title == plain
    falling[2, 3] = 0.2  # up again at the end
    assert shapes.off_the_plane(shares(volume=falling)).title == plain


def test_loudness() -> None:
    loud = made_up.loudness()
    picture = figures.loudness(loud)
    others, own = axes(picture)
    assert words(others)[0] == "the eleven other copies"
    assert words(own)[0] == "the copy of the loud token"
    for ax, accuracy in ((others, loud.others), (own, loud.own)):
        assert ax.get_xscale() == "log"
        for kind, values in accuracy.items():
            x, y = lines(ax)[kind]
            assert x == pytest.approx([0.1, 3, 100]) and is_median(y, values)
            assert colours(ax)[kind] == figures.COLOUR[kind]
    assert picture.title == "The volume does not hear a loud stranger, nor a loud friend"
    assert "0.1, 3 and 100: dot 1.00, 0.50, 0.11; volume 0.12, 0.98, 0.97; angle" in picture.alt
    assert "own copy: dot 0.05, 0.94, 0.93; volume 0.92, 0.08, 0.03; angle 0.15," in picture.alt
    assert "Median of 3 seeds" in picture.caption
    for change in ({"others_volume_100": 0.3}, {"own_volume_3": 0.95}):
        turned = figures.loudness(made_up.loudness(**change))
        assert turned.title == "One token made louder or quieter"


# --- Inside a head


def places(height: float) -> Places:
    right = torch.tensor([[1.0, height], [2.0, height], [3.0, height]])
    return Places(right, torch.tensor([[4.0, 2.0], [5.0, 2.0]]))


def test_the_plane() -> None:
    drawn: Mapping[str, Places] = {"volume": places(0.8), "angle": places(1.0)}
    picture = figures.plane(drawn)
    for ax, (kind, seen) in zip(axes(picture), drawn.items(), strict=True):
        assert words(ax)[:2] == (kind, "length in the plane")
        others, right = ax.collections
        assert torch.tensor(others.get_offsets().data).tolist() == seen.others.tolist()
        assert right.get_offsets().data.tolist() == [pytest.approx(p) for p in seen.right.tolist()]
        assert (others.get_label(), right.get_label()) == (
            "other keys",
            f"the right source, {kind}",
        )
    assert words(axes(picture)[0])[2] == "height above the plane"
    assert "0.40 of the others' with the volume, 0.50 of the others' with the angle." in picture.alt


def test_the_emblem_is_in_the_colour_of_its_head() -> None:
    """A bar a letter of what a dot product looks at; most of it where the last period began."""
    (ax,) = figures.emblem().fig.axes
    assert {to_hex(bar.get_facecolor()) for bar in ax.patches} == {to_hex(figures.COLOUR["dot"])}
    heights = [bar.get_height() for bar in ax.patches]
    assert len(heights) == recipe.HALF + 1 and heights.index(max(heights)) == 1
