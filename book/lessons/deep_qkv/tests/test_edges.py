"""What the records do not reach: nobody converges, no number, a tie, a loss below the floor."""

import itertools
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from attn_notes.tasks import sorting
from book.lessons.deep_qkv import claims, evidence, figures, pull, recipe, tables
from book.lessons.deep_qkv.evidence import Crowd
from tests.tables import rows

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


def test_of_whom_more_arrive():
    for ours, theirs, more in (
        *((LATE, NEVER, True), (EARLY, HALF, True), (EARLY, NAN, True)),
        *((NEVER, EARLY, False), (NEVER, NEVER, None), (NAN, NAN, None)),
    ):
        assert claims.more_arrive(crowd(ours), crowd(theirs)).verdict is more
        assert claims.capacity(crowd(ours)).verdict is bool(ours.isfinite().any())


@pytest.mark.parametrize(("above", "held"), [(-5e-6, True), (-1e-4, False), (math.nan, False)])
def test_a_loss_below_the_floor_but_for_rounding(above, held):
    last = sorting.FLOOR + above
    assert claims.above_floor({"plain": crowd(EARLY, last), "gated": crowd(EARLY)}).verdict is held


def test_what_a_correction_takes_back():
    """One question alone is decided; among those of its family it is not."""
    made = crowds(plain=EARLY + 35)
    assert claims.before(made["gated"], made["plain"]).verdict is True
    found = {claim.text: claim.findings for claim in claims.every({"made up": made})}
    assert all(found.values())  # of strict nothing is asked
    assert found[claims.GATE]["made up"].verdict is None


@pytest.mark.parametrize("late", [-50, 500, math.nan])
def test_rank_and_temperature_seed_by_seed(late):
    """Those of rank 1 are later, or sooner; who is level at both temperatures is no sign."""
    cells = {
        f"{variant} {r} {t}": crowd(EARLY + late if r == 1 else EARLY)
        for variant in ("gated", "strict")
        for r, t in itertools.product(recipe.RANKS, recipe.TEMPERATURES)
    }
    found = [next(iter(claim.findings.values())) for claim in claims.rank_claims(cells)]
    verdict = {-50: True, 500: False}.get(late)
    assert [each.verdict for each in found] == [verdict, None] * 2
    if verdict:  # a seed counts once; four questions are asked
        assert found[0].found == "12 of 12 seeds, 0 level"
        assert found[0].p == pytest.approx(4 * 2 / 2**12)


def test_of_a_crowd_of_whom_some_never_arrive():
    one, none = crowd(torch.tensor([10.0, math.inf, math.inf])), crowd(NEVER[:3])
    assert (one.arrived, one.median, one.delay) == (1, math.inf, pytest.approx(670))
    assert (none.arrived, none.median, none.delay) == (0, math.inf, 1000)
    assert evidence.by_seed([one, none]).tolist() == [505, 1000, 1000]
    assert evidence.best_rate({0.1: none, 0.2: one, 0.3: one}) == 0.2


def test_who_is_sooner_is_what_a_guess_is_held_to():
    """Two at the same steps share their ranks; where most never do, more that do are sooner."""
    some = torch.where(torch.arange(40) < 19, 900.0, math.inf)
    made = crowds(**{"plain, knowable": some, "plain": NEVER.repeat(4)})
    for live, came in ((made, [4, 1.5, 1.5, 3]), (crowds(plain=EARLY + 35), [4, 2, 2, 2])):
        parts = {part.name: part.came for part in evidence.predicted(live)}
        assert [parts[name] for name in evidence.ASKED.values()] == came


def test_where_fewer_than_half_converge_it_says_never():
    some = evidence.Live({"gated": crowd(HALF), "plain": crowd(FEW)})
    picture = figures.when_sorted(some, "", rate := dict.fromkeys(some, 0.02))
    (ax,) = picture.fig.axes
    assert [text.get_text() for text in ax.texts] == ["half by step 150", "fewer than half"]
    assert "half by step 150; plain" in picture.alt and picture.alt.endswith("by step never.")
    # Quartiles are seeds' own steps; 24 s for 12 seeds and 1,000 steps is 2 ms a seed and step.
    assert [row[2:] for row in rows(tables.arrivals(some, rate))[1:]] == [
        ["6 of 12", "150 (120 to never)", "0.30 s"],
        ["3 of 12", "never (120 to never)", "never"],
    ]
    ways = {0.02: dict.fromkeys(pull.WAYS, crowd(NEVER))}
    assert rows(tables.pulled(ways))[1] == [pull.ALL_SIX, "0 of 12", "never"]


def test_those_that_never_do_have_one_place_in_figure_and_page():
    text = Path(evidence.__file__).with_name("_deep_qkv_series.js").read_text("utf-8")
    assert f"NEVER = {evidence.NEVER_AT * recipe.LIVE.steps:g};" in text
