"""Where the lesson's records do not lead: verdicts turned, seeds of two minds, ties, no number."""

import math
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pooch
import pytest
import torch
from torch import Tensor

from attn_notes.tasks.text import FALLBACK, Text
from book.lessons.equilibrium import claims, evidence, figures, probes, recipe, tables
from book.lessons.equilibrium.claims import RECORDED
from book.lessons.equilibrium.evidence import Live
from book.lessons.equilibrium.probes import NOT_AEP, QUICKEST, SLOWEST
from tests.tables import rows

RECORDS: dict[str, Any] = {
    name: getattr(evidence, name)()
    for name in ("training", "ungoverned", "gradients", "rates", "rests", "memory", "costs")
}
TRAINING, FREE, GRADIENTS = (RECORDS[name] for name in ("training", "ungoverned", "gradients"))
ENDS = TRAINING.ends
FROZEN, BPTT = ENDS["frozen"], ENDS["BPTT"]

Made = dict[str, Any]


def made(name: str, part: str, changed: dict[Any, Any]) -> Made:
    return {name: replace(RECORDS[name], **{part: getattr(RECORDS[name], part) | changed})}


def ends(**changed: Tensor) -> Made:
    return made("training", "ends", changed)


def but_last(values: Tensor, last: float) -> Tensor:
    return torch.cat([values[:-1], values.new_tensor([last])])


def cosine(correction: str, steps: int, value: float, seeds: int = 1) -> Made:
    cosines = GRADIENTS.cosines[correction].clone()
    cosines[-seeds:, list(GRADIENTS.steps).index(steps)] = value
    return made("gradients", "cosines", {correction: cosines})


def falls(one: float = 1.0, both: float = 2.0, factor: float = 0.5) -> Made:
    """Errors that fall with these powers of β, and by this factor in each step; ρ is a half."""
    powers = {"one side": one, "both sides": both}
    by_beta = {name: [b**power for b in recipe.BETAS] for name, power in powers.items()}
    steps = RECORDS["rates"].by_steps | {"AEP": [1e-3 * factor**s for s in recipe.RATE_STEPS]}
    return {"rates": replace(RECORDS["rates"], by_beta=by_beta, by_steps=steps, radius=0.5)}


def left(*forces: float) -> Made:
    pairs = zip(RECORDS["rests"], forces, strict=True)
    return {"rests": [replace(rest, left=force) for rest, force in pairs]}


def free(damping: int, off: float) -> Made:
    curves = FREE.curves["AEP", damping].clone()
    curves[-1] = FREE.ends("BPTT", damping) + off
    return made("ungoverned", "curves", {("AEP", damping): curves})


def takes(aep: float = 0.7, bptt: float = 0.5, adjoint: float = 0.4, cosine: float = 1.0) -> Made:
    """Seconds of each way, where the published one takes 5; AEP's cosine, where it has 0.99."""
    costs = made("costs", "cosines", {SLOWEST: 0.99, QUICKEST: cosine})["costs"]
    seconds = dict(zip((SLOWEST, QUICKEST, *NOT_AEP), (5.0, aep, bptt, adjoint), strict=True))
    return {"costs": replace(costs, seconds=costs.seconds | seconds)}


# How a claim begins, the record that is changed, and what the claim then comes to.
TURNED = [
    ("As published", cosine("clipped", 20, 0.949), False),
    ("Naive equilibrium propagation's", cosine("none", 20, 0.951), False),
    ("More nudged", cosine("clipped", 320, 1.0, seeds=5), True),
    ("More nudged", cosine("clipped", 320, 1.0), None),
    ("Without the limit", cosine("full", 320, 0.99999), False),
    ("Its error", falls(one=1.2), False),
    ("Its error", falls(both=1.7), False),
    ("After the first", falls(factor=0.6), False),
    ("Damping, c > 0", left(1e-6, 1e-5, 1e-4, 9e-4), True),
    ("The published test", left(1e-6, 1e-5, 0.2, 0.2), True),  # it says so
    ("Trained by AEP", ends(AEP=BPTT + 0.019), True),
    ("Trained by AEP", ends(AEP=but_last(BPTT, BPTT[-1].item() + 0.021)), False),
    ("Trained by AEP", ends(AEP=but_last(BPTT, BPTT[-1].item() - 0.021)), False),
    ("The same where", free(3, 0.03), False),
    ("The same with", free(1, 0.01), True),
    ("AEP teaches", ends(AEP=but_last(FROZEN - 0.01, 3.0)), None),  # 7 of 8: p is 18 of 256
    ("AEP ends below", ends(AEP=ENDS["AEP"] - 0.1), True),
    ("AEP's memory", made("memory", "peaks", {"AEP": [1.6, 1.6, 1.7, 1.8]}), False),
    ("AEP's memory", made("memory", "peaks", {"BPTT": [4.0, 5.0, 6.0, 15.0]}), False),
    ("A gradient", takes(aep=1.24, cosine=0.99), True),
    ("A gradient", takes(aep=1.26), False),
    ("A gradient", takes(cosine=0.98), False),
    ("AEP is the quickest", takes(aep=0.39), True),
    ("AEP is the quickest", takes(bptt=0.8), False),
]


@pytest.mark.parametrize(("begins", "change", "verdict"), TURNED)
def test_a_verdict_turns_with_its_record(begins, change, verdict):
    (claim,) = (c for c in claims.found(**RECORDS | change) if c.text.startswith(begins))
    assert claim.findings[RECORDED].verdict is verdict


def test_what_is_told_of_the_live_run():
    for end, gets in ((2.47, "below"), (2.472, "and not below")):
        first, _, *lines = claims.told(Live(end, 2.471, "of the " * 20)).data.splitlines()
        assert first.startswith(f"It ends at 2.47 nats a letter, {gets} 2.47. That is what")
        assert max(map(len, lines)) <= 39 and " ".join(lines).count("of the") == 20  # a phone's


@pytest.mark.parametrize(("first", "came"), [(2.1, 1), (2.0, 0), (1.9, -1)])
def test_a_guess_is_told_what_became_of_the_credit(first, came, monkeypatch):
    credits = {"full": torch.tensor([2.0, 1.0]), "clipped": torch.tensor([first, 9.0])}
    monkeypatch.setattr(evidence.probes, "two_neurons", credits.get)
    (limited,) = evidence.predicted()
    assert limited.came == came


def test_a_seed_has_run_away_once_it_was_lost():
    """One was caught again, one came to no number, one came as far as is allowed."""
    curves = torch.tensor([[4.2] * 4, [2.6, 9.0, 2.7, math.nan], [2.5, 2.4, 4.39, 2.4]]).double()
    assert replace(FREE, curves={("AEP", 3): curves}).ran_away("AEP", 3) == 2


def test_an_error_that_does_not_fall_has_no_factor():
    still, found = (falls(factor=factor)["rates"] for factor in (1.0, 0.6))
    assert math.isnan(still.factor) and found.factor == pytest.approx(0.6)
    assert all(5e-10 < error < 1e-6 for _, error in found.falling) and len(found.falling) > 4
    drawn = [figures.rates(each).fig.axes[1].lines for each in (found, still)]
    assert [len(lines) for lines in drawn] == [4, 3]  # no ρ beside what does not fall


def test_what_rests_what_seems_to_and_when():
    for force, *told in ((9e-4, 1, 1), (2e-3, 1, 0), (0.05, 1, 0), (0.5, 0, 0)):
        rest = probes.Rest(4.0, force, force, 0.1)
        assert [rest.seems, rest.rests] == told
    forces = {"quick": torch.tensor([1.0, 0.1, 9e-4, 2e-3, 1e-5]), "long": torch.tensor([1, 0.1])}
    assert probes.Settling(forces).needed("quick") == 2
    with pytest.raises(ValueError, match=r"with long the force never falls to 0\.001"):
        probes.Settling(forces).needed("long")


def test_a_bound_is_rounded_up():
    said = {3.0917e-06: "3.1e−06", 3.11e-06: "3.2e−06", 0.0: "1.0e−10"}
    said |= {0.01558: "0.016", 0.0201: "0.021", 0.02: "0.02", 9.96: "10"}
    assert {bound: evidence.at_most(bound) for bound in said} == said


def test_where_the_whole_text_cannot_be_had_the_excerpt_is_read(monkeypatch):
    for came, excerpt in ([OSError("no network")], True), ([str(FALLBACK)], False):
        monkeypatch.setattr(pooch, "retrieve", Mock(side_effect=came))
        assert evidence.read_text() == (Text.read(FALLBACK), excerpt)


def test_a_seed_that_is_far_off_moves_no_middle():
    """Where a record is even, its mean is its median to what a page tells."""
    seven = but_last(torch.full((8,), 2.25).double(), 2.39)
    page = evidence.in_page()._replace(ends=dict.fromkeys(recipe.IN_PAGE_WAYS, seven))
    (yours,) = figures.in_page(page).yours
    assert all("end at 2.250 nats, by their median" in told for told in yours.recorded.values())
    trained = replace(TRAINING, ends=dict.fromkeys(ENDS, seven))
    assert all(row[2:4] == ["2.2500", "2.3900"] for row in rows(tables.training(trained))[1:])
    alt = figures.training(replace(trained, curves=dict.fromkeys(ENDS, seven.repeat(9, 1)))).alt
    assert all(f"{figures.LABELS[kind]} 2.250" in alt for kind in figures.KINDS)
