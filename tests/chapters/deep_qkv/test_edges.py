"""What the records do not reach: nobody converges, no number, a tie, a loss below the floor."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from attn_notes.chapters.deep_qkv import claims, evidence, figures, pull, recipe, tables
from attn_notes.chapters.deep_qkv.evidence import Crowd
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Run

from ...tables import rows

EARLY = torch.arange(100.0, 220, 10)
LATE, NEVER, NAN = EARLY + 500, torch.full((12,), math.inf), torch.full((12,), math.nan)
HALF, FEW = (torch.where(step > EARLY, EARLY, math.inf) for step in (160, 130))


def crowd(arrivals: Tensor, lowest: float = 0.367) -> Crowd:
    solved = torch.where(arrivals.isfinite(), recipe.SOLVED, 20)
    return Crowd(torch.arange(0, 1001, 10), arrivals, solved, lowest, 24.0)


def crowds(**changed: Tensor) -> evidence.Live:
    """What the lesson trains, all converging at the same steps but those that are changed."""
    kinds = dict.fromkeys(claims.LESSON, EARLY) | changed
    return evidence.Live({kind: crowd(arrivals) for kind, arrivals in kinds.items()})


@pytest.mark.parametrize(
    ("ours", "theirs", "first", "more"),
    [
        (EARLY, LATE, True, None), (LATE, EARLY, False, None), (EARLY, EARLY, None, None),
        (LATE, NEVER, True, True), (NEVER, EARLY, False, False), (NEVER, NEVER, None, None),
        (NAN, NAN, None, None), (NAN, EARLY, False, False), (EARLY, NAN, True, True),
        (EARLY, HALF, None, True),
    ],
)  # fmt: skip
def test_who_is_first_and_of_whom_more_arrive(
    ours: Tensor, theirs: Tensor, first: bool | None, more: bool | None
) -> None:
    both = crowd(ours), crowd(theirs)
    assert claims.before(*both).verdict is first
    assert claims.more_arrive(*both).verdict is more
    assert claims.capacity(both[0]).verdict is bool(ours.isfinite().any())


@pytest.mark.parametrize(
    ("above", "held", "title"),
    [
        (0.034, True, "One plain sorter ends 0.034 nats above the floor"),
        (-5e-6, True, "One plain sorter ends 0.000 nats above the floor"),
        (-1e-4, False, "A loss below the floor: something leaks"),
        (math.nan, False, "A loss below the floor: something leaks"),
    ],
)
def test_a_loss_below_the_floor_but_for_rounding(above: float, held: bool, title: str) -> None:
    last = sorting.FLOOR + above
    assert claims.above_floor({"plain": crowd(EARLY, last), "gated": crowd(EARLY)}).verdict is held
    assert figures.one_seed([2.0, last]).title == title


def test_what_a_correction_takes_back() -> None:
    """One question alone is decided; among those of its family it is not."""
    made = crowds(plain=EARLY + 35)
    assert claims.before(made["gated"], made["plain"]).verdict is True
    (found,) = (c for c in claims.every({"made up": made}) if c.text == claims.GATE)
    assert found.findings["made up"].verdict is None


def test_a_question_is_asked_of_who_can_answer() -> None:
    few = {"plain": crowd(EARLY), "fixed_gate": crowd(LATE)}
    found = claims.comparisons({"few": few, "all": crowds(gated=LATE)})
    assert [[*bodies] for bodies in found.values()] == [["all"], ["few", "all"], ["all"]]
    assert [c.text for c in claims.every({"few": few})] == [
        claims.THIRD,
        "No loss lies below the floor",
    ]


@pytest.mark.parametrize(
    ("rank_1", "hot", "expected"),
    [
        (0, 0, (None, None)), (-50, 0, (True, None)), (500, 0, (False, None)),
        (0, -50, (None, True)), (0, 500, (None, False)), (math.nan, 0, (None, None)),
    ],
)  # fmt: skip
def test_rank_and_temperature_seed_by_seed(
    rank_1: float, hot: float, expected: tuple[bool | None, bool | None]
) -> None:
    """Who is level at both, and who at none, is no sign of either."""
    either = EARLY + torch.tensor([0.0, 40]).repeat(6)
    cells = {
        f"{variant} {r} {t}": crowd(either + rank_1 * (r == 1) + hot * (t == 10))
        for variant in ("gated", "strict") for r in recipe.RANKS for t in recipe.TEMPERATURES
    }  # fmt: skip
    if math.isnan(rank_1):
        cells = {
            name: crowd(NAN if " 1 1" in name else each.arrivals) for name, each in cells.items()
        }
    found = [next(iter(c.findings.values())) for c in claims.rank_claims(cells)]
    assert tuple(each.verdict for each in found) == 2 * expected
    if rank_1 == -50:  # a seed counts once; four questions are asked
        assert found[0].found == "12 of 12 seeds, 0 level"
        assert found[0].p == pytest.approx(4 * 2 / 2**12)


@pytest.mark.parametrize(
    ("arrivals", "arrived", "median", "delay"),
    [
        (torch.tensor([10.0, 20, 60]), 3, 20, 30), (NEVER, 0, math.inf, 1000),
        (torch.tensor([10.0, math.inf, math.inf]), 1, math.inf, 670),
    ],
)  # fmt: skip
def test_of_a_crowd(arrivals: Tensor, arrived: int, median: float, delay: float) -> None:
    found = crowd(arrivals)
    assert (found.arrived, found.median) == (arrived, median)
    assert found.delay == pytest.approx(delay)
    assert evidence.by_seed([found, crowd(arrivals + 20)])[0] == min(arrivals[0], 990) + 10
    level = {0.1: found, 0.2: crowd(arrivals), 0.3: crowd(NEVER)}
    assert evidence.best_rate(level) == 0.1


def test_a_run_is_the_same_in_full_in_outline_and_live() -> None:
    """Seed 0 has it from step 20 on, seed 1 touches it and falls back."""
    steps, solved = [0, 10, 20], [[3, 4], [5, 27], [27, 9]]
    mean = [[2.0, 2.0], [0.5, 1.0], [1.0, 1.5]]
    full = {"steps": steps, "solved": solved, "mean_loss": mean, "seconds": 3.0}
    outline = {"steps": steps, "arrivals": [20.0, None], "solved": [27, 9], "lowest": 0.5}
    history = {
        "solved": torch.tensor(solved),
        "losses": torch.tensor(mean)[..., None].expand(3, 2, 6),
    }
    live = Run({}, {}, torch.tensor(steps), history, 3.0, torch.nn.Identity())
    made = [evidence.crowd(full), evidence.live({"plain": live})["plain"]]
    for found in (*made, evidence.crowd(outline | {"seconds": 3.0})):
        assert found.arrivals.tolist() == [20, math.inf] and found.solved.tolist() == [27, 9]
        assert (found.lowest, found.seconds, found.arrived) == (0.5, 3.0, 1)
    assert [each.curves[1].tolist() for each in made] == [[0.625, 0.75, 0.875]] * 2


def test_who_is_sooner_is_what_a_guess_is_held_to() -> None:
    """Two at the same steps share their ranks; where most never do, more that do are sooner."""
    some = torch.where(torch.arange(40) < 19, 900.0, math.inf)
    made = crowds(**{"plain, knowable": some, "plain": NEVER.repeat(4)})
    made = evidence.Live({**made, "plain": replace(made["plain"], lowest=0.369)})
    parts = {part.name: (part.came, part.either) for part in evidence.predicted(made)}
    assert parts == {
        "gated": (1.5, 0.5), "divided by three": (1.5, 0.5), "two letters left out": (3, 0),
        "plain": (4, 0), evidence.LOWEST.name: (0.369, 0),
    }  # fmt: skip
    barely = EARLY + 35
    assert 0.01 < evidence.compare(crowd(EARLY), crowd(barely)).p < 0.05
    parts = {part.name: part.came for part in evidence.predicted(crowds(plain=barely))}
    assert parts["plain"] == 4 and parts["gated"] == 2


@pytest.mark.parametrize(
    ("gated", "plain", "title"),
    [
        (EARLY, LATE, "Every seed converges; gated is first"),
        (LATE, EARLY - 50, "Every seed converges; plain is first"),
        (HALF, NEVER, "Of 12 seeds each, 12 plain and 6 gated never converge; of the other "
         "kinds all do"),
    ],
)  # fmt: skip
def test_the_title_of_the_race(gated: Tensor, plain: Tensor, title: str) -> None:
    assert figures.live_race(crowds(gated=gated, plain=plain)).title == title


def test_where_fewer_than_half_converge_it_says_never() -> None:
    some = {"gated": crowd(HALF), "plain": crowd(FEW)}
    assert figures.race_title(evidence.Live(some)).endswith("9 plain and 6 gated never converge")
    (ax,) = figures.race(some, "").fig.axes
    assert [text.get_text() for text in ax.texts] == ["plain: never", "gated: 150"]
    (yours,) = figures.live_race(evidence.Live(some)).yours
    assert yours.recorded["plain"].endswith("3 do, the median never.")
    _, *found = rows(tables.arrivals(some, dict.fromkeys(some, 0.02)))
    # Quartiles are seeds' own steps; 24 s for 12 seeds and 1,000 steps is 2 ms a seed and step.
    assert [row[2:] for row in found] == [
        ["6 of 12", "150 (120 to never)", "0.30 s"],
        ["3 of 12", "never (120 to never)", "never"],
    ]
    ways = {0.02: dict.fromkeys(pull.WAYS, crowd(NEVER))}
    assert rows(tables.pulled(ways))[1] == [pull.ALL_SIX, "0 of 12", "never"]
    assert "all six 0 of 12, median never" in figures.pulled(ways[0.02]).alt


def test_the_emblem_hides_the_answer() -> None:
    """It stands on the first page, where no title does."""
    picture = figures.emblem()
    (ax,) = picture.fig.axes
    assert picture.title == picture.caption == "" and "three" not in picture.alt
    drawn = [line.get_color() for line in ax.lines]
    assert (
        drawn
        == [text.get_color() for text in ax.texts]
        == [figures.COLOUR[k] for k in ("plain", "gated")]
    )
    assert [text.get_text() for text in ax.texts] == ["old", "new"]
