"""What the records cannot show: they are changed in one place, and the lesson says so."""

import math
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor

from book.lessons.trm import claims, evidence, figures, recipe, tables
from book.lessons.trm.evidence import Live, Recorded
from book.lessons.trm.measure import Solving
from tests.tables import rows

R, NAN, EACH = evidence.recorded(), math.nan, object()
SEED = ("kinds", "TRM", "members", 2)
SEEDS = ("kinds", "TRM", "members", EACH)
STRICT = ("stricter", 2, "fresh", "minimal", "right", 7)
MIND = ("legible", "mind", 2)


def changed(value: Any, *path: Any) -> Recorded:
    found = deepcopy(R)
    places: list[Any] = [vars(found)]
    for step in path[:-1]:
        places = [p for place in places for p in (place if step is EACH else [place[step]])]
    for place in places:
        place[path[-1]] = value
    return found


TURNS = [
    ("It solves 97 %", 0.969, (*SEED, "mixed", "right", 15), False),
    ("It solves 97 %", 0.899, (*SEED, "minimal", "right", 15), False),
    ("It solves 97 %", NAN, (*SEED, "minimal", "right", 15), None),
    ("Thinking longer", 0.0, (*SEEDS, "minimal", "right", 15), None),  # four seeds, all lose
    ("No board that is solved", 0, (*SEEDS, "mixed", "lost"), False),  # of minimal ones, some
    ("No board that is solved", NAN, (*SEED, "mixed", "lost"), None),
    ("Whole classes", 0.93, STRICT, False),
    ("Whole classes", 0.999, STRICT, False),  # better counts as unlike, too
    ("Whole classes", NAN, STRICT, None),
    ("Classes held out by names", 0.9, (*SEED, "seen", "right", 7), False),
    ("Classes held out by names", NAN, (*SEED, "seen", "right", 7), None),
    ("What is kept in mind", 0.48, ("inside", 1, *MIND), None),  # seeds differ
    ("What is kept in mind", 0.48, ("inside", EACH, *MIND), True),
    ("What is kept in mind", NAN, ("inside", 1, *MIND), None),
    ("It knows", [2, 98], (*SEED, "certainty", "minimal", 1), False),
    ("It knows", [1, 99], (*SEED, "certainty", "minimal", 1), True),
    ("It knows", [0, 0], (*SEED, "certainty", "minimal", 1), None),  # nothing held right
    ("Stopping where", [2.0, 0.99], (*SEEDS, "minimal", "stopped"), True),
    ("Stopping where", [2.0, 0.99], (*SEED, "minimal", "stopped"), False),  # the others lose
    ("Stopping where", [2.0, NAN], (*SEED, "minimal", "stopped"), None),
]


@pytest.mark.parametrize(("begins", "value", "path", "verdict"), TURNS)
def test_a_verdict_turns(begins, value, path, verdict):
    found = changed(value, *path)
    (claim,) = (c for c in claims.every(found, 0.39) if c.text.startswith(begins))
    assert claim.findings[found.name].verdict is verdict


def test_with_twice_the_seeds_most_is_told_and_a_correction_takes_one_back():
    """As many seeds again, which came out the same: no question is left to too few of them."""
    found = deepcopy(R)
    for kind in found.kinds.values():
        kind["members"] *= 2
    told = {text: c.findings[found.name].verdict for text, c in claims.compared(found).items()}
    assert [t for t, v in told.items() if v is False] == [
        "A cycle without gradient (T = 2) pays for itself at equal operations",
        "Stablemax is better than the softmax",
    ]
    untold = [claims.REREADS, claims.APART, "Averaged weights (EMA) are better than the last ones"]
    assert [t for t, v in told.items() if v is None] == untold
    again, once = (recipe.REREADING, 1), (recipe.DEEP, 1)
    assert (claims.fewer(found, again, [once]).p or 1) < 0.05  # before it is corrected
    for one in found.members(recipe.NO_HALTING):
        one["minimal"]["right"] = [1.0] * recipe.THINK
    words = [row[2].partition(",")[0] for row in rows(tables.parts_table(found))[1:]]
    assert words == ["", "cannot be told", "more", "fewer", *["more"] * 7]


def live(right: Tensor, halt: Tensor) -> Live:
    return Live(Solving(*(x.expand(recipe.THINK, -1) for x in (right, right.float(), halt))))


@pytest.mark.parametrize(("held", "right"), [(100, 99), (0, 0)])
def test_of_the_live_run_what_is_held_to_be_right_is_told(held, right):
    boards = torch.arange(200)
    piles = figures.piles(live(boards < right, torch.where(boards < held, 1.0, -1.0)))
    assert f"gives {held} more than even chances, and of these {right} are right" in piles.caption
    assert f"more than half sure of {held}, of which {right} are right" in piles.alt


def test_it_is_seen_to_fail_where_it_is_surest():
    boards = torch.eye(5, 36).long() * torch.arange(1, 6)[:, None]
    run = live(torch.arange(5) == 2, torch.tensor([0.5, -1.0, 3.0, 0.7, -0.2]))
    assert [max(text) for text in evidence.failures(run, boards)] == ["4", "1", "5"]
    assert evidence.failures(live(torch.ones(5).bool(), torch.zeros(5)), boards) == []
