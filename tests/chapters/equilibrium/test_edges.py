"""Where the lesson's records do not lead: verdicts turned, seeds of two minds, ties, no number."""

import math
from dataclasses import replace
from typing import Any

import pooch
import pytest
import torch
from torch import Tensor

from attn_notes.analysis.claims import Claim
from attn_notes.chapters.equilibrium import claims, evidence, figures, probes, recipe, tables
from attn_notes.chapters.equilibrium.claims import LIVE, RECORDED
from attn_notes.chapters.equilibrium.evidence import Live, Yardsticks
from attn_notes.chapters.equilibrium.probes import NOT_AEP, QUICKEST, SLOWEST
from attn_notes.tasks.text import FALLBACK, Text

from ...tables import rows

ENDS, FREE = evidence.training().ends, evidence.ungoverned()
FROZEN, BPTT, CLIPPED = (ENDS[kind] for kind in ("frozen", "BPTT", "AEP, clipped"))
RECORDS = ("training", "ungoverned", "gradients", "rates", "rests", "memory", "costs")

Made = dict[str, Any]


def made(name: str, part: str, **changed: Any) -> Made:
    """The record of this name, some values of one of its parts changed."""
    found = getattr(evidence, name)()
    return {name: replace(found, **{part: {**getattr(found, part), **changed}})}


def ends(**changed: Tensor) -> Made:
    return made("training", "ends", **changed)


def but_last(values: Tensor, last: float) -> Tensor:
    return torch.cat([values[:-1], values.new_tensor([last])])


def seeds(n: int) -> Made:
    """The first of those that trained."""
    found = evidence.training()
    each = {part: getattr(found, part) for part in ("curves", "ends", "cosines")}
    fewer = {part: {k: v[..., :n] for k, v in values.items()} for part, values in each.items()}
    return {"training": replace(found, **fewer)}


def cosine(correction: str, steps: int, value: float, seeds: int = 1) -> Made:
    """The last seeds' cosine after so many steps."""
    found = evidence.gradients()
    cosines = found.cosines[correction].clone()
    cosines[-seeds:, list(found.steps).index(steps)] = value
    return made("gradients", "cosines", **{correction: cosines})


def falls(one: float = 1.0, both: float = 2.0, factor: float = 0.5, radius: float = 0.5) -> Made:
    """Errors that fall with these powers of β, and by this factor in each step."""
    errors = {
        "one side": [b**one for b in recipe.BETAS],
        "both sides": [b**both for b in recipe.BETAS],
    }
    steps = evidence.rates().by_steps | {"AEP": [1e-3 * factor**s for s in recipe.RATE_STEPS]}
    return {"rates": replace(evidence.rates(), by_beta=errors, by_steps=steps, radius=radius)}


def left(*forces: float) -> Made:
    """What is left of the force, from the quietest embeddings on."""
    pairs = zip(evidence.rests(), forces, strict=True)
    return {"rests": [replace(rest, left=force) for rest, force in pairs]}


def free(damping: int, off: float) -> Made:
    """AEP without a governor, so far from BPTT at its end."""
    curves = FREE.curves["AEP", damping].clone()
    curves[-1] = FREE.ends("BPTT", damping) + off
    changed = replace(FREE, curves={**FREE.curves, ("AEP", damping): curves})
    return {"ungoverned": changed}


def takes(aep: float = 0.7, bptt: float = 0.5, adjoint: float = 0.4, cosine: float = 1.0) -> Made:
    """Seconds of each way, where the published one takes 5; AEP's cosine, where it has 0.99."""
    found = evidence.costs()
    ways = {SLOWEST: 5.0, QUICKEST: aep, NOT_AEP[0]: bptt, NOT_AEP[1]: adjoint}
    cosines = {**found.cosines, SLOWEST: 0.99, QUICKEST: cosine}
    return {"costs": replace(found, seconds={**found.seconds, **ways}, cosines=cosines)}


NAIVE, TEACHES = "Naive equilibrium propagation", "Naive equilibrium propagation teaches"
# How a claim begins, the record that is changed, and what the claim then comes to.
TURNED = [
    ("As published", cosine("clipped", 20, 0.949), False),
    (f"{NAIVE}'s", cosine("none", 20, 0.951), False),
    ("More nudged", cosine("clipped", 320, 1.0, seeds=5), True),
    ("More nudged", cosine("clipped", 320, 1.0), None),
    ("Without the clip", cosine("full", 320, 0.99999), False),
    ("Its error", falls(one=1.2), False),
    ("Its error", falls(both=1.7), False),
    ("Its error", falls(), True),
    ("After the first", falls(factor=0.6), False),
    ("After the first", falls(factor=0.52), True),
    ("Damping, c > 0", left(1e-6, 1e-5, 1e-4, 9e-4), True),
    ("Damping, c > 0", left(1e-6, 1e-5, 1e-4, 2e-3), False),
    ("The published test", left(1e-6, 1e-5, 1e-4, 9e-4), True),
    ("The published test", left(1e-6, 1e-5, 0.2, 0.2), True),  # it says so
    ("The published test", left(1e-6, 1e-5, 0.2, 2e-3), False),
    ("Trained by AEP", ends(AEP=BPTT + 0.019), True),
    ("Trained by AEP", ends(AEP=but_last(BPTT, BPTT[-1].item() + 0.021)), False),
    ("Trained by AEP", ends(AEP=but_last(BPTT, BPTT[-1].item() - 0.021)), False),
    ("The same where", free(3, 0.03), False),
    ("The same with", free(1, 0.01), True),
    ("AEP teaches", ends(AEP=FROZEN + 0.01), False),
    ("AEP teaches", ends(AEP=but_last(FROZEN - 0.01, 3.0)), None),  # 7 of 8: p is 18 of 256
    ("AEP teaches", ends(AEP=FROZEN), None),  # a tie
    ("AEP teaches", seeds(1), None),
    ("AEP teaches", seeds(6), None),  # p is 2 of 64, and three times that is too much
    ("The clip costs", ends(AEP=CLIPPED + 0.01), False),
    ("The clip costs", ends(AEP=but_last(CLIPPED - 0.01, 3.0)), None),
    (TEACHES, ends(**{"naive EP": FROZEN - 0.01}), True),
    (TEACHES, ends(**{"naive EP": but_last(FROZEN - 0.01, 3.0)}), None),
    ("AEP ends below", ends(AEP=ENDS["AEP"] - 0.1), True),
    ("AEP's memory", made("memory", "peaks", AEP=[1.6, 1.6, 1.7, 1.8]), False),
    ("AEP's memory", made("memory", "peaks", BPTT=[4.0, 5.0, 6.0, 15.0]), False),
    ("A gradient", takes(aep=1.24, cosine=0.99), True),
    ("A gradient", takes(aep=1.26), False),
    ("A gradient", takes(cosine=0.98), False),
    ("AEP is the quickest", takes(aep=0.39), True),
    ("AEP is the quickest", takes(bptt=0.8, adjoint=0.8), True),
    ("AEP is the quickest", takes(bptt=0.8), False),
]


def found(**change: Any) -> list[Claim]:
    return claims.found(**{name: getattr(evidence, name)() for name in RECORDS} | change)


@pytest.mark.parametrize(("begins", "change", "verdict"), TURNED)
def test_a_verdict_turns_with_its_record(begins: str, change: Made, verdict: bool | None) -> None:
    (claim,) = (claim for claim in found(**change) if claim.text.startswith(begins))
    assert claim.findings[RECORDED].verdict is verdict


def test_every_verdict_is_turned() -> None:
    for claim in found():
        assert any(claim.text.startswith(begins) for begins, *_ in TURNED), claim.text


def live(end: float = 2.4, excerpt: bool = False) -> Live:
    counted = {"one": 3.3, "pairs": 2.471, "threes": 2.03, "fives": 1.7}
    losses = torch.tensor([4.2, 2.6, end])
    return Live((0, 200, 400), losses, Yardsticks(4.174, counted, excerpt), "of the " * 20)


@pytest.mark.parametrize(
    ("apart", "excerpt", "verdict", "said"),
    [
        (0.007, False, True, "+7.0 thousandths from the first recorded seed"),
        (0.033, False, False, "+33.0 thousandths"),
        (-0.037, False, False, "−37.0 thousandths"),
        (0.007, True, None, "another text"),
    ],
)
def test_what_the_live_run_comes_to(
    apart: float, excerpt: bool, verdict: bool | None, said: str
) -> None:
    ran = live(evidence.training().curves["BPTT"][-1, 0].item() + apart, excerpt)
    records = {
        name: getattr(evidence, name)() for name in ("training", "gradients", "rates", "costs")
    }
    (claim,) = (claim for claim in claims.lesson(**records, live=ran) if LIVE in claim.findings)
    assert claim.text.startswith("Trained by AEP")
    assert claim.findings[LIVE].verdict is verdict and claim.findings[LIVE].found.startswith(said)


@pytest.mark.parametrize(("end", "gets"), [(2.47, "gets"), (2.472, "does not get")])
def test_the_figure_of_the_live_run_says_whether_it_gets_below_pairs(end: float, gets: str) -> None:
    assert figures.live(live(end)).title == f"Trained by AEP, the model {gets} below counting pairs"


@pytest.mark.parametrize(("excerpt", "which"), [(True, "the excerpt"), (False, "the whole text")])
def test_what_is_live_says_what_was_read(excerpt: bool, which: str) -> None:
    ran = live(excerpt=excerpt)
    assert figures.yardsticks(ran.yardsticks).title.startswith(f"On {which}, ")
    assert f", on {which};" in figures.live(ran).caption
    lines = claims.wrote(ran).data.splitlines()  # those of a phone
    assert max(map(len, lines[2:])) <= 39 and " ".join(lines).count("of the") == 20


@pytest.mark.parametrize(("after", "last", "turn"), [(0.9, 0.95, 1), (0.8, 0.7, -1), (0.7, 0.9, 0)])
def test_a_guess_is_told_what_became_of_the_gradient(after: float, last: float, turn: int) -> None:
    """Whether every seed's cosine comes closer, of which the last is another; and their means."""
    record = evidence.gradients()
    curves = record.cosines["clipped"].clone()
    steps = list(record.steps)
    curves[:, steps.index(20)], curves[:, steps.index(60)] = 0.85, after
    curves[-1, steps.index(60)] = last
    change = replace(record, cosines={**record.cosines, "clipped": curves})
    came, few, many = evidence.predicted(change)
    assert (came.came, came.low, came.high) == (turn, -1, 1)
    assert few.came == pytest.approx(0.85) and many.came == pytest.approx(0.8 * after + 0.2 * last)
    assert (few.name, many.name, few.best, many.best) == ("20 steps", "60 steps", 1, 1)


def test_a_seed_has_run_away_once_it_was_lost() -> None:
    """One was caught again, one came to no number, one came as far as is allowed."""
    curves = torch.tensor([[4.2] * 4, [2.6, 9.0, 2.7, math.nan], [2.5, 2.4, 4.39, 2.4]]).double()
    lost = replace(FREE, curves={("AEP", 3): curves})
    assert lost.ran_away("AEP", 3) == 2 and lost.seeds == 4
    assert lost.ends("AEP", 3).equal(curves[-1])


def test_an_error_that_does_not_fall_has_no_factor() -> None:
    assert math.isnan(falls(factor=1.0)["rates"].factor)
    found = falls(factor=0.6)["rates"]
    assert all(5e-10 < error < 1e-6 for _, error in found.falling) and len(found.falling) > 4
    assert found.factor == pytest.approx(0.6)
    drawn = [figures.rates(falls(factor=f)["rates"]).fig.axes[1].lines for f in (0.6, 1.0)]
    assert [len(lines) for lines in drawn] == [4, 3]  # no ρ beside what does not fall


@pytest.mark.parametrize(
    ("force", "seems", "rests"), [(9e-4, 1, 1), (2e-3, 1, 0), (0.05, 1, 0), (0.5, 0, 0)]
)
def test_what_rests_and_what_seems_to(force: float, seems: bool, rests: bool) -> None:
    rest = probes.Rest(4.0, force, force, 0.1)
    assert (rest.seems, rest.rests) == (seems, rests)


def test_evaluations_until_it_rests() -> None:
    forces = probes.Settling({"quick": torch.tensor([1.0, 0.1, 9e-4, 2e-3, 1e-5])})
    assert forces.needed("quick") == 2
    with pytest.raises(ValueError, match=r"with long the force never falls to 0\.001"):
        probes.Settling({"long": torch.tensor([1.0, 0.1])}).needed("long")


@pytest.mark.parametrize(
    ("bound", "digits", "said"),
    [
        (3.0917e-06, 2, "3.1e−06"), (3.11e-06, 2, "3.2e−06"), (0.0, 2, "1.0e−10"),
        (0.01558, 2, "0.016"), (0.0201, 2, "0.021"), (0.02, 2, "0.02"), (9.96, 2, "10"),
    ],
)  # fmt: skip
def test_a_bound_is_rounded_up(bound: float, digits: int, said: str) -> None:
    assert claims.at_most(bound, digits) == said


def test_where_the_whole_text_cannot_be_had_the_excerpt_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nothing(*_: object, **__: object) -> str:
        raise OSError("no network")

    monkeypatch.setattr(pooch, "retrieve", nothing)
    assert evidence.read_text() == (Text.read(FALLBACK), True)
    monkeypatch.setattr(pooch, "retrieve", lambda *_, **__: str(FALLBACK))
    assert evidence.read_text() == (Text.read(FALLBACK), False)


def test_a_seed_that_is_far_off_moves_no_middle() -> None:
    """Where a record is even, its mean is its median to what a page tells."""
    seven = but_last(torch.full((8,), 2.25).double(), 2.39)
    page = evidence.in_page()._replace(ends=dict.fromkeys(recipe.IN_PAGE_WAYS, seven))
    (yours,) = figures.ends(evidence.training(), page).yours
    assert all("end at 2.250 nats, by their median" in told for told in yours.recorded.values())
    trained = ends(**dict.fromkeys(ENDS, seven))["training"]
    assert {(row[2], row[3]) for row in rows(tables.training(trained))[1:]} == {
        ("2.2500", "2.3900")
    }
    curves = {kind: seven.repeat(9, 1) for kind in ENDS}
    alt = figures.training(replace(trained, curves=curves)).alt
    assert all(f"{kind} 2.250" in alt for kind in figures.KINDS)


def test_the_emblem_is_the_first_figure_without_its_words() -> None:
    small, large = (
        p.fig.axes[0] for p in (figures.emblem(), figures.one_prediction(evidence.credit()))
    )
    heights = [[bar.get_height() for bar in ax.patches] for ax in (small, large)]
    assert heights[0] == heights[1] and len(small.texts) == len(large.texts) - 2 == 16
