"""Every verdict, turned round by changing its record, and what is said of a live run."""

import re
from typing import Any

import pytest
import torch

from attn_notes.analysis.claims import Claim
from attn_notes.chapters.equilibrium import claims, evidence, probes, recipe, tables
from attn_notes.chapters.equilibrium.claims import LIVE, RECORDED, at_most
from attn_notes.tasks.text import FALLBACK, Text

from ...tables import rows
from . import made_up
from .made_up import but_last, costs, gradients, memory, rates, rests, training, ungoverned

TEXT = Text.read(FALLBACK)
ENDS, FREE = evidence.training().ends, evidence.ungoverned()
LIKE_BPTT = {damping: FREE.ends("BPTT", damping) for damping in recipe.DAMPINGS}
NAMES = ("training", "ungoverned", "gradients", "rates", "rests", "memory", "costs")


def found(**change: Any) -> list[Claim]:
    return claims.found(**{name: getattr(evidence, name)() for name in NAMES} | change)


def mixed(ours: str, theirs: str) -> dict[str, torch.Tensor]:
    """Seven of eight seeds of ours end lower: p is 18 of 256."""
    below = ENDS[theirs] - 0.01
    return {ours: but_last(below, below[-1].item() + 0.02)}


# How a claim begins, the records that are changed, and what it then comes to.
TURNED = [
    ("As published", dict(gradients=gradients("clipped", 20, 0.949)), False),
    ("Naive equilibrium propagation's", dict(gradients=gradients("none", 20, 0.951)), False),
    ("More nudged", dict(gradients=gradients("clipped", 320, 1.0, seeds=5)), True),
    ("More nudged", dict(gradients=gradients("clipped", 320, 1.0)), None),
    ("Without the clip", dict(gradients=gradients("full", 320, 0.99999)), False),
    ("Its error", dict(rates=rates(one=1.2)), False),
    ("Its error", dict(rates=rates(both=1.7)), False),
    ("Its error", dict(rates=rates()), True),
    ("After the first", dict(rates=rates(factor=0.6)), False),
    ("After the first", dict(rates=rates(factor=0.52)), True),
    ("Damping, c > 0", dict(rests=rests(1e-6, 1e-5, 1e-4, 9e-4)), True),
    ("Damping, c > 0", dict(rests=rests(1e-6, 1e-5, 1e-4, 2e-3)), False),
    ("The published test", dict(rests=rests(1e-6, 1e-5, 1e-4, 9e-4)), True),
    ("The published test", dict(rests=rests(1e-6, 1e-5, 0.2, 0.2)), True),  # it says so
    ("The published test", dict(rests=rests(1e-6, 1e-5, 0.2, 2e-3)), False),
    ("Trained by AEP", dict(training=training(AEP=but_last(ENDS["BPTT"], 2.5))), False),
    ("The same where", dict(ungoverned=ungoverned("AEP", 3, LIKE_BPTT[3] + 0.03)), False),
    ("The same with", dict(ungoverned=ungoverned("AEP", 1, LIKE_BPTT[1] + 0.01)), True),
    ("AEP teaches", dict(training=training(AEP=ENDS["frozen"] + 0.01)), False),
    ("AEP teaches", dict(training=training(**mixed("AEP", "frozen"))), None),
    ("The clip costs", dict(training=training(AEP=ENDS["AEP, clipped"] + 0.01)), False),
    ("The clip costs", dict(training=training(**mixed("AEP", "AEP, clipped"))), None),
    ("Naive equilibrium propagation teaches",
     dict(training=training(**{"naive EP": ENDS["frozen"] - 0.01})), True),
    ("Naive equilibrium propagation teaches",
     dict(training=training(**mixed("naive EP", "frozen"))), None),
    ("AEP ends below", dict(training=training(AEP=ENDS["AEP"] - 0.1)), True),
    ("AEP's memory", dict(memory=memory(AEP=[1.6, 1.6, 1.7, 1.8])), False),
    ("AEP's memory", dict(memory=memory(BPTT=[4.0, 5.0, 6.0, 15.0])), False),
    ("A gradient", dict(costs=costs({probes.QUICKEST: 1.4})), False),
    ("A gradient", dict(costs=costs(cosines={probes.QUICKEST: 0.98})), False),
    ("AEP is the quickest", dict(costs=costs({probes.QUICKEST: 0.4})), True),
    ("AEP is the quickest", dict(costs=costs(dict.fromkeys(probes.NOT_AEP, 0.8))), True),
    ("AEP is the quickest", dict(costs=costs({probes.NOT_AEP[0]: 0.8})), False),
]  # fmt: skip


@pytest.mark.parametrize(("beginning", "change", "verdict"), TURNED)
def test_a_verdict_turns_with_its_record(
    beginning: str, change: dict[str, Any], verdict: bool | None
) -> None:
    (claim,) = (claim for claim in found(**change) if claim.text.startswith(beginning))
    assert claim.findings[RECORDED].verdict is verdict


def test_every_verdict_is_turned() -> None:
    for claim in found():
        turned = [verdict for begins, _, verdict in TURNED if claim.text.startswith(begins)]
        assert any(verdict is not claim.findings[RECORDED].verdict for verdict in turned)


def test_the_comparisons_of_kinds_are_of_pairs_and_corrected_together() -> None:
    """All eight seeds on one side: p is 2 of 256, and three times that."""
    family = [claim for claim in found() if claim.family]
    assert [claim.text[:8] for claim in family] == ["AEP teac", "The clip", "Naive eq"]
    for claim, lower in zip(family, (8, 8, 0), strict=True):
        finding = claim.findings[RECORDED]
        assert finding.p == pytest.approx(6 / 256)
        assert finding.found.endswith(f"lower in {lower} of 8 seeds")
    apart = ENDS["AEP"] - ENDS["frozen"]  # the interval of eight pairs is their range
    said = family[0].findings[RECORDED].found.replace("−", "-")
    middle, low, high = map(float, re.findall(r"-\d\.\d{3}", said))
    assert (low, high) == pytest.approx((apart.min().item(), apart.max().item()), abs=5e-4)
    assert middle == pytest.approx(apart.quantile(0.5).item(), abs=5e-4)
    assert not any(c.findings[RECORDED].p for c in found() if not c.family)


def test_a_cosine_says_what_it_is_of() -> None:
    for begins in ("As published", "Naive equilibrium propagation's", "More nudged"):
        (claim,) = (claim for claim in found() if claim.text.startswith(begins))
        said = claim.findings[RECORDED].found
        assert re.match(r"mean of four [\d.]+ to [\d.]+, 5 seeds$", said)


@pytest.mark.parametrize(
    ("bound", "digits", "said"),
    [
        (3.0917e-06, 2, "3.1e−06"), (3.11e-06, 2, "3.2e−06"), (0.0, 2, "1.0e−10"),
        (0.01558, 2, "0.016"), (0.0201, 2, "0.021"), (0.02, 2, "0.02"), (9.96, 2, "10"),
    ],
)  # fmt: skip
def test_a_bound_is_rounded_up(bound: float, digits: int, said: str) -> None:
    assert at_most(bound, digits) == said
    assert float(said.replace("−", "-")) >= bound


# The lesson's table, and its live run


def lesson(**change: Any) -> dict[str, Claim]:
    given = {
        name: getattr(evidence, name)() for name in ("training", "gradients", "rates", "costs")
    }
    return {c.text: c for c in claims.lesson(**given | {"live": made_up.live()} | change)}


def test_the_lesson_ends_on_five_claims_of_the_evidence() -> None:
    every, five = {claim.text: claim for claim in found()}, lesson()
    assert len(five) == 5 and set(five) < set(every)
    for text, claim in five.items():
        assert claim.findings[RECORDED] == every[text].findings[RECORDED]
        assert (LIVE in claim.findings) == text.startswith("Trained by AEP")


@pytest.mark.parametrize(
    ("change", "verdict", "said"),
    [
        ({}, True, "+7.0 thousandths from the first recorded seed"),
        (dict(losses=torch.tensor([4.2, 2.47])), False, "+33.1 thousandths from the first"),
        (dict(losses=torch.tensor([4.2, 2.40])), False, "−36.9 thousandths from the first"),
        (dict(excerpt=True), None, "another text"),
    ],
)
def test_the_live_verdict_turns(change: dict[str, Any], verdict: bool | None, said: str) -> None:
    five = lesson(live=made_up.live(**change))
    (claim,) = (claim for text, claim in five.items() if text.startswith("Trained"))
    assert claim.findings[LIVE].verdict is verdict
    assert claim.findings[LIVE].found.startswith(said)


def test_what_the_live_model_writes_fits_a_phone() -> None:
    said = claims.wrote(made_up.live()).data
    assert said.endswith("writes:\n\n```text\nMENENIUS:\nthe the\nto be\n```")
    long = claims.wrote(made_up.live(text="of the " * 20)).data
    assert max(map(len, long.splitlines()[2:])) <= 39 and long.count("of") == 20


def test_the_page_s_tables_have_a_column_for_each_body_of_evidence() -> None:
    header, *lines = rows(claims.table(found()))
    assert header == ["claim or question", RECORDED]
    for (text, recorded), claim in zip(lines, found(), strict=True):
        assert recorded and text.endswith(" (source)") == (claim.whose == "source")
    assert any(claim.whose == "source" for claim in found())
    header, *lines = rows(claims.table([*lesson().values()]))
    assert header == ["claim or question", RECORDED, LIVE] and len(lines) == 5


# Tables of the evidence


def test_the_tables() -> None:
    """Each has a row for what was recorded, and numbers where there are some."""
    trained = rows(tables.training(evidence.training()))[1:]
    assert [kind for kind, *_ in trained] == list(recipe.ESTIMATORS)
    for kind, _, middle, worst, less, cosine in trained:
        assert float(middle) == pytest.approx(ENDS[kind].quantile(0.5).item(), abs=1e-4)
        assert float(worst) == pytest.approx(ENDS[kind].max().item(), abs=1e-4)
        assert (less == "–") == (cosine == "–") == (kind == "frozen")
        if kind != "frozen":
            middle, *_ = less.replace("−", "-").split(" (")
            apart = (ENDS[kind] - ENDS["frozen"]).quantile(0.5).item()
            assert float(middle) == pytest.approx(apart, abs=1e-3)
    away = rows(tables.runaways(FREE))
    assert away[0] == [f"seeds that run away, of {FREE.seeds}", *recipe.UNGOVERNED]
    assert away[2] == ["damping 1", *(str(FREE.ran_away(k, 1)) for k in recipe.UNGOVERNED)]
    said = [row[-2:] for row in rows(tables.rests(rests(1e-6, 1e-4, 5e-2, 0.5)))[1:]]
    assert said == [["at rest"] * 2, ["at rest"] * 2, ["at rest", "moving"], ["moving"] * 2]
    credit = rows(tables.credit(evidence.credit()))[1:]
    assert [name for name, *_ in credit] == ["exact", "AEP", "naive EP"]
    for _, *shares in credit:
        assert sum(float(share.removesuffix(" %")) for share in shares) == pytest.approx(100, abs=1)
    costs = rows(tables.costs(evidence.costs()))[1:]
    assert [way for way, *_ in costs] == [*evidence.costs().seconds]
    assert costs[0][0] == probes.SLOWEST and costs[0][2] == "1.0"
    counted = rows(tables.yardsticks(evidence.training()))[1:]
    assert [words for words, _ in counted] == [*recipe.KNOWS.values()]
    written = rows(tables.written(evidence.training()))
    assert written[0] == ["kind", "after MENENIUS:"] and len(written) == 7
    cosines = rows(tables.cosines(evidence.gradients()))[1:]
    assert [steps for _, steps, *_ in cosines] == ["20", "60", "320"] * 3
    for name, _, four, whole in cosines[-3:]:
        assert name == "AEP" and four > "0.98" and whole > "0.98"


def test_the_table_of_parts() -> None:
    """The nudge's share: 0.02 of 16 times 64 predictions, 10 of 16 times 32."""
    table = rows(tables.parts(recipe.published(TEXT), recipe.corrected(TEXT)))
    parts = {part: rest for part, *rest in table}
    assert parts["damping c"] == ["1", "3"]
    assert parts["nudge β, and its share for one prediction"] == ["0.02, 0.00002", "10, 0.02"]
    assert parts["nudged relaxation"] == ["20 steps of 0.1", "8 steps of 0.25"]
    assert parts["relaxation"] == ["120 steps of 0.1", "16 steps of 0.25"]
