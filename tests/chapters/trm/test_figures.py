"""The figures, read back: lines, marks, bars, words, and what is said to who cannot see."""

import re
from collections.abc import Iterable, Sequence
from statistics import mean, median, quantiles
from typing import Any

import pytest
import torch
from torch import Generator

from attn_notes import figures as house
from attn_notes.chapters.trm import claims, figures, puzzles, recipe
from attn_notes.chapters.trm import evidence_figures as drawings
from attn_notes.chapters.trm.evidence import Recorded
from attn_notes.chapters.trm.recipe import DEEP, ONE_STEP, REREADING, SHARING, TRM_LIVE
from attn_notes.figures import GREY, INK, OURS, Picture

from . import made_up
from .made_up import GROUPS, KINDS, counted, leave, live, numbers

KIND_COLOURS, BASELINES = figures.BY_KIND, figures.BASELINES  # test_meaning.py says which
ROUNDS = {
    "mixed": [1, 2, 3, 4, 5, 6, 7, 3] * 5,
    "minimal": [-1, 2, 3, 4, 5, 6, 9, 6] * 5,
}

close = pytest.approx


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return made_up.recorded(5)


def lines(ax: Any, **style: Any) -> list[Any]:
    """The lines of a panel that look so."""
    return [x for x in ax.lines if all(getattr(x, f"get_{k}")() == v for k, v in style.items())]


def drawn(line: Any) -> tuple[list[float], list[float]]:
    return [*map(float, line.get_xdata())], [*map(float, line.get_ydata())]


def flat(rows: Iterable[Iterable[float]]) -> list[float]:
    return [x for row in rows for x in row]


def whole(*shares: float) -> list[float]:
    """As they are printed without decimals."""
    return [float(f"{100 * x:.0f}") for x in shares]


def tenths(*shares: float) -> list[float]:
    return [float(f"{100 * x:.1f}") for x in shares]


def words(ax: Any) -> list[str]:
    return [x.get_text() for x in ax.texts]


def assert_band(ax: Any, colour: str, x: Sequence[float], rows: Sequence[Sequence[float]]) -> None:
    """One line of this colour is the median of each row's seeds; behind it their middle half."""
    middles = [100 * median(row) for row in rows]
    (line,) = [
        one
        for one in lines(ax, color=colour, linestyle="-")
        if len(one.get_xdata()) == len(x) and drawn(one)[1] == close(middles, abs=1e-3)
    ]
    assert drawn(line)[0] == close([*x], abs=1e-5)
    ends = [quantiles([100 * v for v in row], n=4, method="inclusive") for row in rows]
    wanted = [(p, v) for p, (a, _, b) in zip(x, ends, strict=True) for v in (a, b)]
    areas = [path.vertices for area in ax.collections for path in area.get_paths()]
    assert any(all((abs(area - point).max(1) < 2e-3).any() for point in wanted) for area in areas)


def by_kind(found: Recorded, kind: str, on: str, step: int) -> list[float]:
    each = [one[on]["right"] for one in found.members(kind)]
    return [right[min(step, len(right)) - 1] for right in each]


def check(picture: Picture) -> Picture:
    """All that a figure needs, and nothing that is no number in it."""
    assert 0 < len(picture.title) < 80 and not picture.title.endswith(".")
    assert picture.caption.endswith((".", ".)")) and picture.alt.endswith(".")
    assert "nan" not in picture.title + picture.caption + picture.alt
    assert "inf " not in picture.alt + picture.caption
    return picture


# The idea and the task


def test_the_idea() -> None:
    """Three thoughts a step, each fed by the puzzle; in the second by the answer before."""
    picture = check(figures.idea())
    (ax,) = picture.fig.axes
    thoughts = lines(ax, marker="o", color=figures.Z)
    answers = lines(ax, marker="s", color=figures.Y)
    assert [len(x.get_xdata()) for x in thoughts] == [3, 3] and len(answers) == 2
    places = [drawn(x)[0] for x in thoughts]
    for at, (answer,) in zip(places, (drawn(x)[0] for x in answers), strict=True):
        assert at[-1] < answer < at[-1] + 1
    arrows = [
        (x.arrow_patch.get_edgecolor(), x.xy, x.xyann)
        for x in ax.texts
        if hasattr(x, "arrow_patch")
    ]
    into = [start[1] for _, end, start in arrows if end[1] == 1.25]
    assert into == [2.2] * 6  # the puzzle, into each thought
    assert sum(end[1] == 1.15 and start[1] == 0.2 for _, end, start in arrows) == 3
    assert sum(start[1] == 1.2 for _, end, start in arrows if end[1] == 1.2) == 5
    assert sum(end[1] < 1 and start[1] == 1.2 for _, end, start in arrows) == 2
    assert sum(end[1] == start[1] == 0.2 for _, end, start in arrows) == 1
    assert not any(end[1] < 1 and start[1] == 2.2 for _, end, start in arrows)  # not an answer
    assert {"no gradient across", "think", "answer", "read, judged"} <= {*words(ax)}
    (edge,) = lines(ax, linestyle=":", color=INK)
    assert drawn(answers[0])[0][0] < edge.get_xdata()[0] < places[1][0]
    assert "3 dots" in picture.alt and "(T = 1) of 3 thoughts" in picture.caption


def test_the_boards() -> None:
    grid = torch.tensor([int(digit) for digit in made_up.GRID])
    mixed, minimal = grid.clone(), grid.clone()
    mixed[:4], minimal[:30] = 0, 0
    picture = check(drawings.boards({"a grid": grid, "mixed": mixed, "minimal": minimal}))
    titles = [ax.get_title(loc="center") or ax.get_title("left") for ax in picture.fig.axes]
    assert titles == ["a grid: 36 clues", "mixed: 32 clues", "minimal: 6 clues"]
    for ax, board in zip(picture.fig.axes, (grid, mixed, minimal), strict=True):
        assert words(ax) == [str(digit) for digit in board.tolist() if digit]
    assert numbers(picture.alt) == [32, 6]
    rounds = [int(recipe.TASK.rounds(board[None])) for board in (mixed, minimal)]
    assert picture.caption.endswith("takes {} rounds, the minimal one {}.".format(*rounds))


def test_the_difficulty() -> None:
    rounds = ROUNDS
    picture = check(drawings.difficulty(made_up.puzzles(rounds)))
    (ax,) = picture.fig.axes
    for bars, (on, colour) in zip(ax.containers, KIND_COLOURS.items(), strict=True):
        assert bars.get_label() == on
        found = {}
        for bar in bars:
            assert bar.get_facecolor()[:3] == close(house.mpl.colors.to_rgb(colour))
            place = bar.get_x() + bar.get_width() / 2
            found[round(place)] = round(bar.get_height(), 3)
            assert abs(place - round(place)) == close(0.2)
        wanted = {k: 100 * rounds[on].count(k if k < 11 else -1) / 40 for k in range(12)}
        assert found == wanted
    assert [x.get_text() for x in ax.get_xticklabels()][-2:] == ["9", "never"]
    means = [mean([k for k in rounds[on] if k > 0]) for on in KINDS]
    never = rounds["minimal"].count(-1)
    assert numbers(picture.alt) == [*(round(x, 1) for x in means), never, 40]
    assert numbers(picture.caption) == [40]


def test_the_disguises() -> None:
    """The second has other names, the third is of the first's class for the stricter split only."""
    shown = puzzles.disguises()
    picture = check(figures.disguises(shown))
    grids = torch.stack([*shown.values()])
    for ax, (name, grid) in zip(picture.fig.axes, shown.items(), strict=True):
        assert (ax.get_title(loc="center") or ax.get_title("left")) == name
        assert words(ax) == [str(digit) for digit in grid.tolist()]
    names, every = (task.class_key(grids).tolist() for task in (recipe.TASK, recipe.STRICTER))
    assert names[0] == names[1] != names[2] and every[0] == every[1] == every[2]
    assert recipe.TASK.rounds(grids).tolist() == [0, 0, 0]  # whole grids
    differ = [int((grid != grids[0]).sum()) for grid in grids[1:]]
    assert numbers(picture.alt) == differ


# Training, and thinking longer


def test_the_live_curve(recorded: Recorded) -> None:
    start, end = 0.0, 0.9
    run = live(course=torch.tensor([start, 0.25, end]))
    picture = check(figures.training(run, recorded))
    (ax,) = picture.fig.axes
    (curve,) = lines(ax, color=OURS)
    assert drawn(curve) == ([0, 1, 2.5], close([100 * start, 25, 100 * end], abs=1e-3))
    (ceiling,) = lines(ax, color=INK)
    assert [*ceiling.get_ydata()] == [100, 100]
    (below,) = lines(ax, linestyle=":")
    once = 100 * median(by_kind(recorded, DEEP, "minimal", 1))
    assert [*below.get_ydata()] == close([once] * 2, abs=1e-3)
    assert picture.title == "From nothing to 90 % of minimal puzzles"
    assert numbers(picture.caption) == [200]
    shares = [100 * start, 25, 100 * end]
    wanted = [x for pair in zip([0.0, 1.0, 2.5], shares, strict=True) for x in pair]
    assert numbers(picture.alt) == close([*wanted, 100, round(once)])


def test_the_looks(recorded: Recorded) -> None:
    run = live(counted(50, {1: 6, 8: 31, 16: 41}))
    picture = check(figures.looks(run, recorded))
    (ax,) = picture.fig.axes
    every = [*range(1, 17)]
    assert_band(ax, OURS, every, [by_kind(recorded, TRM_LIVE, "minimal", k) for k in every])
    (dashed,) = lines(ax, linestyle="--", color=INK)
    assert drawn(dashed) == (every, close((100 * run.seen.right.float().mean(1)).tolist()))
    (dotted,) = lines(ax, linestyle=":")
    assert [*dotted.get_xdata()] == [8, 8]
    assert numbers(picture.caption) == [50, 5]


def test_the_splits() -> None:
    found = made_up.recorded(5)
    for i, one in enumerate(found.stricter):
        for part, share in (("fresh", 0.9 - 0.01 * i), ("seen", 0.91 - 0.01 * i)):
            one[part]["minimal"]["right"][7] = share
    picture = check(figures.splits(found))
    (ax,) = picture.fig.axes
    values = [
        [1 - x for x in by_kind(found, TRM_LIVE, "minimal", 8)],
        *(
            [1 - one[part]["minimal"]["right"][7] for one in found.stricter]
            for part in ("fresh", "seen")
        ),
    ]
    for place, row in enumerate(values):
        dots, bar = (x for x in ax.lines if place in x.get_ydata())
        assert drawn(dots)[0] == close([100 * x for x in row], abs=1e-3)
        assert drawn(bar)[0] == close([100 * median(row)], abs=1e-3)
        assert max(drawn(dots)[0]) < ax.get_xlim()[1]
    labels = [x.get_text().replace("\n", " ") for x in ax.get_yticklabels()]
    assert labels == [
        "by names: held out",
        "by all symmetries: held out",
        "by all symmetries: seen",
    ]
    assert numbers(picture.alt) == close(tenths(*map(median, values)), abs=0.11)
    assert numbers(picture.caption) == [5, 4]


def test_the_courses(recorded: Recorded) -> None:
    picture = check(drawings.courses(recorded))
    for ax, on in zip(picture.fig.axes, KINDS, strict=True):
        assert on in ax.get_title("left")
        for kind, colour in BASELINES.items():
            rows = [*zip(*(one[f"{on} by step"] for one in recorded.members(kind)), strict=True)]
            assert_band(ax, colour, [0, 25, 50, 100], rows)
        assert ax.get_ylim() == (0, 102)
    ends = [
        median(one[f"{on} by step"][-1] for one in recorded.members(kind))
        for kind in BASELINES
        for on in KINDS
    ]
    assert numbers(picture.alt) == whole(*ends)
    assert numbers(picture.caption) == [5, 200]


def test_the_steps_at_test_time(recorded: Recorded) -> None:
    picture = check(drawings.steps(recorded))
    every = [*range(1, 17)]
    for ax, on in zip(picture.fig.axes, KINDS, strict=True):
        for kind, colour in BASELINES.items():
            assert_band(ax, colour, every, [by_kind(recorded, kind, on, k) for k in every])
        thin = [x for x in lines(ax, color=GREY, linestyle="-") if len(x.get_xdata())]
        found = sorted(drawn(x)[1] for x in thin)
        wanted = sorted([100 * y for y in m[on]["right"]] for m in recorded.members(ONE_STEP))
        assert [y for x in found for y in x] == close([y for x in wanted for y in x], abs=1e-3)
        for again, kind in zip(lines(ax, marker="D"), (REREADING, SHARING), strict=True):
            once = [100 * x for x in by_kind(recorded, kind, on, 1)]
            assert drawn(again) == ([1] * 5, close(once, abs=1e-3))
        (dotted,) = lines(ax, linestyle=":", color=GREY)
        assert [*dotted.get_xdata()] == [8, 8]
    one, eight, late = (
        [round(100 * median(by_kind(recorded, TRM_LIVE, on, k))) for on in KINDS]
        for k in (1, 8, 16)
    )
    wanted_numbers = [x for k in (0, 1) for x in (one[k], eight[k], 8, late[k], 16)]
    assert numbers(picture.alt) == wanted_numbers
    assert numbers(picture.caption) == [1000, 5, 5]


def test_the_rounds_and_the_steps() -> None:
    easy, hard, late = 0.9, 0.2, 0.8
    recorded = made_up.recorded(5)
    for one in recorded.inside:
        one["by rounds"]["1–2"][0] = easy
        one["by rounds"]["6"][0], one["by rounds"]["6"][-1] = hard, late
    rounds = {"mixed": [1] * 10 + [3, 4, 5, 7], "minimal": [6] * 10 + [-1, 3, 4, 5]}
    picture = check(drawings.depth(made_up.puzzles(rounds), recorded))
    (ax,) = picture.fig.axes
    for step, marker in zip((1, 2, 4, 16), "os^D", strict=True):
        (marks,) = lines(ax, marker=marker)
        assert marks.get_label() == f"{step} step{'s' if step > 1 else ''}"
        rows = [[one["by rounds"][name][step - 1] for one in recorded.inside] for name in GROUPS]
        assert_band(ax, OURS, range(7), rows)
        assert drawn(marks) == ([*range(7)], close([100 * median(row) for row in rows], abs=1e-3))
    assert [x.get_text() for x in ax.get_xticklabels()] == [*GROUPS]
    assert numbers(picture.alt) == [1, 2, 4, 16, *whole(easy, hard, late)]
    assert "1–2: 10, 3: 2, 4: 2, 5: 2, 6: 10, 7+: 1, never: 1." in picture.caption
    assert picture.caption.startswith("28 held-out puzzles")


# Inside


def test_the_drafts() -> None:
    """The puzzle that is shown is the first one wrong after two answers and right after four."""
    mind = made_up.mind()
    clues, solutions = mind.puzzles
    mind.answer[15, [4, 6]] = solutions[[4, 6]]
    mind.answer[7, 3] = mind.answer[15, 3] = solutions[3]
    mind.mind[0, 4] = solutions[4]
    mind.mind[0, 4, :2] = solutions[4, :2] % 6 + 1
    picture = check(drawings.drafts(mind))
    moments = {"thought 1": 0, "thought 3": 2, "answer 1": 3, "answer 2": 7, "answer 4": 15}
    axes = picture.fig.axes
    assert [ax.get_title("left") or ax.get_title() for ax in axes[:5]] == [*moments]
    wrong = []
    for row, read in enumerate((mind.mind, mind.answer)):
        for ax, use in zip(axes[5 * row : 5 * row + 5], moments.values(), strict=True):
            filled = [c or d for c, d in zip(clues[4].tolist(), read[use, 4].tolist(), strict=True)]
            assert words(ax) == [str(digit) for digit in filled]
            framed = sum(f != s for f, s in zip(filled, solutions[4].tolist(), strict=True))
            assert len(ax.patches) == framed
            wrong.append(int((read[use, 4] != solutions[4]).sum()))
    assert [axes[0].get_ylabel(), axes[5].get_ylabel()] == ["z", "y"]
    assert numbers(picture.alt) == wrong and wrong[0] == 2 and wrong[-1] == 0
    assert picture.wide


def test_what_is_legible() -> None:
    recorded, guess = made_up.recorded(5), 0.3
    picture = check(drawings.mind(recorded, guess))
    (ax,) = picture.fig.axes
    middles = {}
    for name, colour, marker, uses in (
        ("mind", figures.Z, "o", range(1, 17)),
        ("answer", figures.Y, "s", (4, 8, 12, 16)),
    ):
        rows = [[one["legible"][name][use - 1] for one in recorded.inside] for use in uses]
        assert_band(ax, colour, uses, rows)
        (marks,) = lines(ax, marker=marker, color=colour)
        middles[name] = [median(row) for row in rows]
        assert drawn(marks) == ([*uses], close([100 * x for x in middles[name]], abs=1e-3))
    (dotted,) = lines(ax, linestyle=":", color=GREY)
    assert [*dotted.get_ydata()] == close([100 * guess] * 2)
    told = whole(*middles["mind"][:3]), whole(middles["answer"][0])
    assert numbers(picture.alt) == close([*told[0], 3, *told[1]], abs=1)
    assert numbers(picture.caption) == [200, 5, *whole(guess)]


@pytest.mark.parametrize("watched", [True, False])
def test_the_estimate(watched: bool) -> None:
    recorded = made_up.recorded(5)
    generator = Generator().manual_seed(8)
    run = live(torch.rand(16, 400, generator=generator) < 0.4)
    picture = check(figures.certainty(recorded, run if watched else None))
    (ax,) = picture.fig.axes
    bins: dict[int, list[tuple[float, float]]] = {}
    for k in range(4):
        pairs = zip(run.seen.halt[k].sigmoid().tolist(), run.seen.right[k].tolist(), strict=True)
        for q, was in pairs:
            where = sum(q >= edge for edge in recipe.INSIDE["edges"][1:-1])
            bins.setdefault(where, []).append((q, float(was)))
    enough = [bins[k] for k in sorted(bins) if len(bins[k]) >= 20]
    means = [tuple(mean(x) for x in zip(*each, strict=True)) for each in enough]
    marks = lines(ax, marker="o")
    assert len(marks) == watched
    if watched:
        assert [*zip(*drawn(marks[0]), strict=True)] == [close(x, abs=1e-4) for x in means]
        assert f"live {max(abs(a - b) for a, b in means):.2f}." in picture.alt
    curves = [[*zip(*drawn(x), strict=True)] for x in lines(ax, linestyle="-", color=OURS)]
    wanted = [one["reliability"] for one in recorded.inside]
    assert flat(flat(curves)) == close(flat(flat(wanted)), abs=1e-4)
    (diagonal,) = lines(ax, color=GREY)
    assert drawn(diagonal) == ([0, 1], [0, 1])
    widest = max(abs(a - b) for a, b in flat(wanted))
    assert f"recorded {widest:.2f}" in picture.alt
    assert ("; live" in picture.caption) == watched and "at least 20 of them" in picture.caption


def test_the_stopping() -> None:
    recorded = made_up.recorded(5)
    picture = check(drawings.stopping(recorded))
    for ax, on in zip(picture.fig.axes, KINDS, strict=True):
        dashed = [drawn(x)[1] for x in lines(ax, linestyle="--", color=GREY)]
        alike = (one["right"][on][:4] for one in recorded.inside)
        assert flat(dashed) == close([100 * x for x in flat(alike)], abs=1e-3)
        solid = [[*zip(*drawn(x), strict=True)] for x in lines(ax, linestyle="-", color=OURS)]
        stops = flat(one["stops"][on] for one in recorded.inside)
        assert flat(flat(solid)) == close(flat((a, 100 * b) for a, b in stops), abs=1e-3)
        half = [one["stops"][on][recipe.INSIDE["levels"].index(0.5)] for one in recorded.inside]
        steps, share = (median(x) for x in zip(*half, strict=True))
        (found,) = re.findall(rf"{on}: (\S+) % after (\S+) looks", picture.alt)
        assert [*map(float, found)] == [close(100 * share, abs=0.11), close(steps, abs=0.011)]
    assert picture.caption.startswith("5 recorded seeds.")


def test_the_seats() -> None:
    """As is said of them: who is sure leaves at once, but for one; nobody has more than eight."""
    picture = check(figures.seats())
    (ax,) = picture.fig.axes
    dots = lines(ax, marker="o")
    assert {float(x.get_ydata()[0]) for x in dots} == {0, 1, 2, 3}
    stayed = 0
    for seated in figures.SEATED:
        for looks, sure in seated:
            assert looks <= recipe.TRAINED and sure <= recipe.TRAINED + 1
            stayed += looks > sure
    assert stayed == 1 and len(dots) == sum(n for seat in figures.SEATED for n, _ in seat)
    full = [x for x in dots if x.get_markerfacecolor() == OURS]
    sure = sum(max(0, n - first + 1) for seat in figures.SEATED for n, first in seat)
    assert len(full) == sure


def test_the_emblem_is_a_board_with_what_is_wrong_in_it() -> None:
    picture = figures.emblem()
    assert (picture.title, picture.caption) == ("", "")
    first, _ = picture.fig.axes
    (wrong,) = numbers(picture.alt)
    assert len(first.patches) == wrong > 0 and len(words(first)) == 36


def test_the_parts() -> None:
    found = made_up.recorded(5)
    leave(found, ONE_STEP, [0.0, 0.0002, 0.1, 0.2, 0.3], on="mixed")
    picture = check(drawings.parts(found))
    first, _ = picture.fig.axes
    assert [x.get_text() for x in first.get_yticklabels()] == [*claims.NAMES.values()]
    middles = []
    for ax, on in zip(picture.fig.axes, KINDS, strict=True):
        assert on in ax.get_title("left") and ax.get_xscale() == "log"
        assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first on top
        for place, kind in enumerate(claims.NAMES):
            if kind == recipe.WITHOUT_EMA:
                right = [one[kind][on]["right"][7] for one in found.members()]
            else:
                right = by_kind(found, kind, on, 8)
            values = [100 * max(1 - x, 5e-4) for x in right]
            dots, bar = (x for x in ax.lines if place in x.get_ydata())
            assert dots.get_marker() == "o" and drawn(dots)[0] == close(values, abs=1e-3)
            assert bar.get_marker() == "|" and drawn(bar)[0] == close([median(values)], abs=1e-3)
            assert {dots.get_color(), bar.get_color()} == {BASELINES.get(kind, GREY)}
            if on == "minimal":
                middles.append(1 - median(right))
    said = re.findall(r"(\S+) %", picture.alt)
    assert [float(x) for x in said] == close(tenths(*middles), abs=0.11)
    assert f"{claims.NAMES[TRM_LIVE]} {said[0]} %" in picture.alt
