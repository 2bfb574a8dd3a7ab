"""What no record reaches: verdicts and titles turned round, ties, and numbers that are none."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from book.kit import verdicts
from book.kit.verdicts import Finding
from book.lessons.triple_product import claims, evidence, figures, geometry, recipe, shapes
from book.lessons.triple_product.evidence import Body
from book.lessons.triple_product.geometry import Resilience, Rounding

NAN, BEST, REACH = math.nan, evidence.best_losses(), evidence.reach("random")
ALONE, VARIED, PAIR = "one layer", "one layer, random period", "two layers"
ONE_SEED = "One layer with the dot product copies at a random period: nine in ten, any seed"
ALL_SEEDS = "Two layers with the dot product copy at a random period: nine in ten, every seed"
FLOOR = "No loss lies below the best predictor's on the same sequences"
P10, P11, P12 = (recipe.TESTED.index(period) for period in (10, 11, 12))
HOME = slice(0, P12 + 1)
X3, X100 = map(recipe.FACTORS.index, (3.0, 100.0))


def told(text: str, body: Body, **reach: float) -> Finding:
    found = claims.of_models({"": body}, BEST, REACH._replace(**reach))
    return next(claim for claim in found if claim.text == text).findings[""]


def moved(name: str, kind: str) -> Callable[[Body], Tensor]:
    return lambda body: body.moved[name].accuracy[kind]


def loud(what: str) -> Callable[[Body], Tensor]:
    return lambda body: getattr(body.loud, what)["volume"]


follows = lambda body: body.follows[PAIR]["dot"]  # noqa: E731
TURNS = [
    (claims.STRICT, moved(ALONE, "angle"), P10, 0.96, True, "at most 0.96"),
    (claims.STRICT, moved(ALONE, "dot"), P10, 0.5, False, "at most 0.50"),
    (claims.STRICT, moved(ALONE, "dot"), (P10, 0), 0.96, False, "at most 0.26"),
    (claims.STRICT, moved(ALONE, "volume"), (P12, 3), 0.85, None, "least 0.850 right"),
    (claims.VARIED, moved(PAIR, "dot"), (P11, 3), 0.9, False, "0.90 to 0.99 right"),
    (ONE_SEED, moved(VARIED, "dot"), (HOME, 3), 0.95, True, "0.95 right"),
    (ALL_SEEDS, moved(PAIR, "dot"), (HOME, 3), 0.85, False, "0.85 to 0.97 right"),
    (claims.FOLLOWS, follows, (0, 17), 0.9, True, "18 back in 0.90"),
    (claims.FOLLOWS, follows, (0, 17, 3), 0.9, False, " to 0.90"),
    (claims.FOLLOWS, follows, (0, 17), 0.5, False, "18 back in 0.50"),
    (claims.STRANGER, loud("others"), X100, 0.9, False, "0.90 (0.90) of"),
    (claims.STRANGER, loud("others"), (X100, 3), 0.5, True, "(0.50 to 1.00)"),
    (claims.FRIEND, loud("own"), X3, 0.91, True, "0.91 (0.91) right"),
]


@pytest.mark.parametrize(("text", "of", "at", "value", "verdict", "found"), TURNS)
def test_a_claim_turns_with_what_it_rests_on(text, of, at, value, verdict, found):
    body = evidence.recorded()
    of(body)[at] = value
    here = told(text, body)
    assert here.verdict is verdict and found in here.found
    of(body)[..., -1] = NAN
    assert told(text, body).verdict is None  # nor is a seed left out that came to no number


def test_the_best_rule_is_the_one_to_beat():
    body = evidence.recorded()
    assert not any(told(claims.EITHER, body, **{rule: 0.97}).verdict for rule in claims.EASY)
    both = told(claims.EITHER, body, matched=1.0), told(claims.BOTH, body, matched=0.96)
    assert all(found.verdict for found in both)


@pytest.mark.parametrize("name", recipe.TASKS)
def test_any_probe_of_any_model_may_show_a_leak(name):
    body = evidence.recorded()
    for gap, ok, found in ((-0.01, False, "-0.010"), (-9e-4, True, "-0.001"), (NAN, False, "nan")):
        body.learnings[name]["volume"].loss[1, 2] = BEST[name] + gap
        here = told(FLOOR, body)
        assert here.verdict is ok and here.found == f"lowest {found} nats above it"


def test_what_is_told_alone_is_not_told_among_twelve():
    """Of 64 pairs 51.5 would do alone (p = 0.04) and do not here: six of the twelve are clearer."""
    body = evidence.recorded()
    angle = torch.tensor([1.0, 2, 3, 4, 5, 6, 12, 13])
    line = torch.tensor([6.0, 7, 8, 9, 10, 11, 14, 15])
    for kind, run in body.learnings[PAIR].items():
        run.loss[-1] = {"angle": angle, "line": line}.get(kind, torch.tensor(3.0))
    here = told(claims.PAIRS[PAIR, "angle", "line"], body)
    alone = verdicts.ends_lower(angle, line)
    assert here.verdict is None and here.found == "51.5 of 64 pairs"
    assert alone.verdict is True and alone.p and here.p == pytest.approx(6 * alone.p)


SCENE = geometry.resilience()


def strangers(**scores: list[float]) -> Resilience:
    ((name, values),) = scores.items()
    keys = zip(SCENE.strangers, values, strict=True)
    return replace(SCENE, keys=[SCENE.keys[0], *(key._replace(**{name: x}) for key, x in keys)])


SCENES = [
    ("Dot product: “As", strangers(dot=[0.1, 0.9, 0.1, 0.1, 0.3]), True),
    ("Dot product: “As", strangers(dot=[0.1, 0.9, 0.1, 0.1, 0.1]), False),
    ("Dot product: “As", strangers(dot=[NAN, 0.9, 0.1, 0.1, 0.1]), None),
    ("The same, if", replace(SCENE, shared=SCENE.shared | {5.0: 0.4}), False),
    ("Volume: “as", strangers(volume=[-1.0, -30.0, -25.0, -40.0, -50.0]), False),
    ("Volume: “as", strangers(volume=[-1.0, -2.0, -2.0, -3.0, -4.0]), False),
    ("The published", SCENE, True),
]


@pytest.mark.parametrize(("text", "scene", "verdict"), SCENES)
def test_what_a_formula_tells_turns_with_its_numbers(text, scene, verdict):
    rounding = {"expanded": {1.0: Rounding(0.0, -1.0, 1.0)}}
    (found,) = (c for c in claims.of_formula(rounding, scene) if c.text.startswith(text))
    assert found.findings["computed"].verdict is verdict


def test_a_title_says_no_more_than_is_drawn():
    body = evidence.recorded()
    for elsewhere in (0.95, NAN):
        moved(ALONE, "angle")(body)[P10] = elsewhere
        title = figures.transfer(body.moved[ALONE]).title
        assert title == "How well they copy where a text begins again elsewhere"
    loud("own")(body)[X3] = 0.95
    assert body.loud and figures.loudness(body.loud).title == "One token made louder or quieter"
    for shares in (geometry.against_stranger(scales, 4) for scales in (False, True)):
        title = shapes.strangers(shares, shares).title
        assert title == "Attention on the friend, against one stranger"


def test_a_rate_that_ends_in_no_number_is_not_the_best():
    sweep = evidence.sweep()
    sweep.ends[PAIR]["dot"][3, 0] = NAN  # of the best one
    assert sweep.best(PAIR, "dot") == 0.01
    sweep.ends[PAIR]["dot"][:] = NAN
    with pytest.raises(ValueError, match="no rate of dot with two layers ends in a number"):
        sweep.best(PAIR, "dot")
