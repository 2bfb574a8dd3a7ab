"""Every verdict of the chapter, turned round by turning its evidence."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch

from attn_notes.analysis.claims import Claim
from attn_notes.analysis.statistics import Finding, Verdict
from attn_notes.chapters.triple_product import claims, learnt, recipe
from attn_notes.chapters.triple_product.claims import LOWER, PAIRS
from attn_notes.chapters.triple_product.evidence import Bodies, Body

from . import made_up
from .made_up import BEST, BODIES, LIVE, LONGER, RECORDED, bodies, learning

NAN = math.nan


def every(seen: Bodies) -> list[Claim]:
    return claims.of_models(seen, BEST, made_up.reach())


def claim(seen: Bodies, text: str) -> Claim:
    (found,) = (c for c in every(seen) if c.text.startswith(text))
    return found


def finding(seen: Bodies, text: str, column: str) -> Finding:
    return claim(seen, text).findings[column]


# --- Claims that no test decides: what geometry tells

LINEAR = "Dot product: “As Magnitude"
SHARED = "The same, if the leak is a share"
FALLS = "Volume: “as magnitude"
SQUARE = "The published expansion is never"


def rescored(**change: Any) -> dict[str, Any]:
    return {"scene": made_up.resilience(**change)}


@pytest.mark.parametrize(
    ("text", "change", "told", "found"),
    [
        (LINEAR, {}, False, "0.1000 at length 1, 0.1000 at 100"),
        (LINEAR, rescored(dots=(0.1, 0.9, 0.3)), True, "0.1000 at length 1, 0.3000 at 100"),
        (LINEAR, rescored(dots=(0.3, 0.9, 0.1)), False, "0.3000 at length 1, 0.1000 at 100"),
        (LINEAR, rescored(dots=(0.1, 0.1, NAN)), None, "nan"),
        (SHARED, {}, True, "0.1 at 1, 10.0 at 100"),
        (SHARED, rescored(shared=(0.1, 0.4, 10.0)), False, "0.1 at 1, 10.0 at 100"),
        (SHARED, rescored(shared=(0.1, 0.5, 9.0)), False, "0.1 at 1, 9.0 at 100"),
        (SHARED, rescored(shared=(0.1, 0.5, NAN)), None, "nan"),
        (FALLS, {}, True, "−1 to −10,000"),
        (FALLS, rescored(volumes=(-1.0, -30.0, -25.0)), False, "−1 to −25"),
        (FALLS, rescored(volumes=(-1.0, -1.0, -1.0)), False, "−1 to −1"),
        (FALLS, rescored(volumes=(-1.0, NAN, -25.0)), None, "−1 to −25"),
        (SQUARE, {}, False, "44 % of keys in the plane"),
        (SQUARE, {"rounding": made_up.rounding(0.0)}, True, "0 % of keys in the plane"),
        (SQUARE, {"rounding": made_up.rounding(NAN)}, None, "nan"),
    ],
)
def test_what_geometry_tells(text: str, change: dict[str, Any], told: Verdict, found: str) -> None:
    seen = {"rounding": made_up.rounding(), "scene": made_up.resilience()} | change
    (here,) = (c for c in claims.of_formula(**seen) if c.text.lower().startswith(text.lower()))
    (only,) = here.findings.values()
    assert only.verdict is told and found in only.found and only.p is None


# --- What trained models tell

STRICT, VARIED, DEEP = claims.STRICT, claims.VARIED, claims.DEEP
WHISPER, STRANGER, FRIEND = claims.WHISPER, claims.STRANGER, claims.FRIEND
ANGLE = claims.ANGLE_FRIEND


def moves(**one: Any) -> dict[str, Any]:
    return {"moved": made_up.moved(**one)}


def one(**change: Any) -> dict[str, Any]:
    return moves(one_layer=made_up.transfer(**change))


def many(home: float = 0.95, **change: Any) -> dict[str, Any]:
    return moves(two_layers=made_up.transfer(home, 0.7, (10, 11, 12), **change))


def loud(**change: float) -> dict[str, Any]:
    return {"loud": made_up.loudness(**change)}


@pytest.mark.parametrize(
    ("text", "change", "told", "found"),
    [
        (STRICT, {}, False, "0.990 right, elsewhere the median seed at most 0.15"),
        (STRICT, one(elsewhere=0.95), True, "at most 0.52"),
        (STRICT, one(angle_away=0.96), True, "at most 0.53"),
        (STRICT, one(angle_away=0.6), False, "at most 0.35"),
        (STRICT, one(home=0.5), None, "at least 0.500 right"),
        (STRICT, one(volume_home=0.85), None, "at least 0.850 right"),
        (STRICT, one(elsewhere=NAN), None, "nan"),
        (STRICT, one(dot_away=NAN), None, "nan"),
        (STRICT, one(angle_home=NAN), None, "nan"),
        (
            VARIED,
            {},
            True,
            "0.95 right",
        ),
        (VARIED, many(home=0.8), False, "0.80"),
        (VARIED, many(dot_near=0.85), False, "0.85 to 0.95 right"),
        (VARIED, many(dot_home=0.2), True, "0.95 right"),
        (VARIED, many(angle_near=0.2), True, "0.95 right"),
        (VARIED, many(dot_near=NAN), None, "no number"),
        (WHISPER, {}, False, "0.12 (0.11 to 0.13) of the other copies right"),
        (WHISPER, loud(others_volume_01=0.93), True, "0.93 (0.92 to 0.94) of the other"),
        (WHISPER, loud(others_volume_01=NAN), None, "nan"),
        (STRANGER, {}, True, "0.97 (0.96 to 0.98) of the other copies right"),
        (STRANGER, loud(others_volume_100=0.5), False, "0.50"),
        (STRANGER, loud(others_volume_100=NAN), None, "nan"),
        (FRIEND, {}, False, "0.08 (0.07 to 0.09) right"),
        (FRIEND, loud(own_volume_3=0.91), True, "0.91 (0.90 to 0.92) right"),
        (FRIEND, loud(own_volume_3=NAN), None, "nan"),
        (ANGLE, {}, True, "0.95 (0.94 to 0.96) right"),
        (ANGLE, loud(own_angle_3=0.89), False, "0.89"),
        (ANGLE, loud(own_angle_3=NAN), None, "nan"),
    ],
)
def test_what_trained_models_tell(
    text: str, change: dict[str, Any], told: Verdict, found: str
) -> None:
    here = claim(bodies(**change), text)
    assert list(here.findings) == [LIVE, RECORDED]
    for each in here.findings.values():
        assert each.verdict is told and found in each.found and each.p is None


def test_whether_depth_alone_helps() -> None:
    name = "two layers, period 12"
    for moved, told in (
        (made_up.transfer(), False),
        (made_up.transfer(elsewhere=0.95), True),
        (made_up.transfer(home=0.5), None),
    ):
        seen = bodies()
        seen[RECORDED] = replace(seen[RECORDED], moved={**seen[RECORDED].moved, name: moved})
        here = claim(seen, DEEP)
        assert list(here.findings) == [RECORDED] and here.findings[RECORDED].verdict is told


@pytest.mark.parametrize(
    ("change", "either", "both"),
    [
        ({}, True, False),
        ({"matched": 0.94}, True, True),
        ({"placed": 0.96}, False, False),
        ({"near": 0.96}, False, False),
        ({"near": 0.96, "matched": 0.97}, False, False),
    ],
)
def test_who_copies_more_than_the_rules(change: dict[str, float], either: bool, both: bool) -> None:
    """Two layers get 0.95; a rule that does both 0.99."""
    found = claims.of_models(bodies(), BEST, made_up.reach(**change))
    for text, told in ((claims.EITHER, either), (claims.BOTH, both)):
        (here,) = (c for c in found if c.text == text)
        assert list(here.findings) == [LIVE, RECORDED]
        assert all(each.verdict is told for each in here.findings.values())


@pytest.mark.parametrize(("far", "told"), [(0.1, False), (0.9, True), (0.505, False), (NAN, None)])
def test_whether_a_match_is_followed_however_far(far: float, told: Verdict) -> None:
    """Every seed has to, in more than half of the cases."""
    seen = bodies(follows=made_up.follows(far=far))
    here = claim(seen, claims.FOLLOWS)
    assert list(here.findings) == [RECORDED] and here.findings[RECORDED].verdict is told
    assert "12 back in 0.89 to 0.91 of the cases, 18 back in" in here.findings[RECORDED].found


def test_what_is_quoted_is_the_sources() -> None:
    formulas = claims.of_formula(made_up.rounding(), made_up.resilience())
    for each in (*every(bodies()), *formulas):
        assert (each.whose == "source") == ("“" in each.text)


# --- Copying at a random period


def with_learning(seen: Bodies, layers: str, changed: Mapping[str, Any]) -> dict[str, Body]:
    """Every body of evidence with other kinds; each is made from its number of seeds."""
    return {
        name: replace(
            body,
            learnings={
                **body.learnings,
                layers: {
                    **body.learnings[layers],
                    **{
                        kind: make(BODIES[name])
                        for kind, make in changed.items()
                        if kind in body.learnings[layers]
                    },
                },
            },
        )
        for name, body in seen.items()
    }


@pytest.mark.parametrize(
    ("kind", "name"), [("dot", "dot product"), ("volume",) * 2, ("angle",) * 2]
)
@pytest.mark.parametrize(
    ("first", "rest", "one", "two"),
    [
        *[(0.95, 0.97, True, True), (0.89, 0.97, True, False), (0.97, 0.89, True, False)],
        *[(0.3, 0.5, False, False), (0.95, NAN, None, None)],
    ],
)
def test_copying_at_a_random_period(
    kind: str, name: str, first: float, rest: float, one: Verdict, two: Verdict
) -> None:
    """Any seed is enough for one layer; with two every seed has to. At each period, or in all."""
    low, high = (NAN, NAN) if math.isnan(rest) else sorted((first, rest))
    at = {other: torch.tensor([[0.5, 0.5]] * 3) for other in recipe.KINDS}
    moved = learnt.Transfer((10, 11, 12), (10, 11, 12), at)
    at[kind] = torch.tensor([[first, rest]] * 3)
    for layers, text, told, found in (
        ("one layer, random period", f"One layer with the {name} copies at a", one, f"{high:.2f}"),
        ("two layers", f"Two layers with the {name} copy at a", two, f"{low:.2f} to {high:.2f}"),
    ):
        seen = with_learning(bodies(), layers, {kind: lambda _: learning(right=[first, rest])})
        for column in (LIVE, RECORDED):
            seen[column] = replace(seen[column], moved={**seen[column].moved, layers: moved})
        here = claim(seen, text)
        assert list(here.findings) == [*BODIES]
        for each in here.findings.values():
            assert each.verdict is told and each.found == f"{found} right"


# --- The floor


@pytest.mark.parametrize("layers", ["one layer", "one layer, random period", "two layers"])
@pytest.mark.parametrize(
    ("loss", "told", "found"),
    [(1.2, True, "0.200"), (0.9, False, "-0.100"), (0.9995, True, "-0.001"), (NAN, False, "nan")],
)
def test_no_loss_lies_below_the_best(layers: str, loss: float, told: bool, found: str) -> None:
    """Wherever it is; any probe counts, not the last alone."""
    text, seen = "No loss lies below", bodies()
    assert finding(seen, text, LIVE).found == "lowest 0.500 nats above it"
    low = learning()
    low.loss[1, 2] = loss
    for column in BODIES:
        changed = {
            **seen,
            **with_learning({column: seen[column]}, layers, {"volume": lambda _: low}),
        }
        for name, each in claim(changed, text).findings.items():
            assert each.verdict is (told if name == column else True)
            assert each.found == f"lowest {found if name == column else '0.500'} nats above it"
    better = claims.of_models(seen, {**BEST, layers: 1.6}, made_up.reach())
    assert not any(f.verdict for f in better[-1].findings.values())


# --- Pairs, and their correction

NAMES = {"dot": "dot product", "volume": "volume", "angle": "angle", "line": "line"}


def with_ends(seen: Bodies, layers: str, ends: dict[str, float], others: float = 1.0) -> Bodies:
    """Kinds that end at these losses, and all others of these layers elsewhere."""
    return {
        name: replace(
            body,
            learnings={
                **body.learnings,
                layers: {
                    kind: learning(
                        ends.get(kind, others), seeds=BODIES[name], steps=body.steps(layers)
                    )
                    for kind in body.learnings[layers]
                },
            },
        )
        for name, body in seen.items()
    }


def question(pair: tuple[str, str, str]) -> Callable[[list[Claim]], Claim]:
    return lambda found: next(c for c in found if c.text == PAIRS[pair])


SIDES = [(1.2, 1.5, True, 1), (1.5, 1.2, False, 0)]
LEVEL = [(1.5, 1.5, None, 0.5), (NAN, NAN, None, 0.5), (NAN, 1.5, False, 0), (1.2, NAN, True, 1)]


@pytest.mark.parametrize(
    ("pair", "ours", "theirs", "told", "share"),
    [
        *((pair, *case) for pair in PAIRS for case in SIDES),
        *((next(iter(PAIRS)), *case) for case in LEVEL),  # one test tells all pairs
    ],
)
def test_each_pair_is_told_by_its_own_two_kinds(
    pair: tuple[str, str, str], ours: float, theirs: float, told: Verdict, share: float
) -> None:
    layers, first, second = pair
    here = question(pair)(every(with_ends(bodies(), layers, {first: ours, second: theirs})))
    live = {first, second} <= set(recipe.KINDS)
    assert list(here.findings) == [name for name in BODIES if live or name != LIVE]
    for column, each in here.findings.items():
        assert each.verdict is told
        assert each.found == f"{share * BODIES[column] ** 2:g} of {BODIES[column] ** 2} pairs"


def test_each_question_says_which_kinds_it_compares() -> None:
    for (layers, ours, theirs), text in PAIRS.items():
        assert text.startswith("One layer: " if layers == "one layer" else "Two layers: ")
        if text.endswith("… equal parameters"):  # goes on from the line above
            assert (ours, theirs) == ("volume", recipe.WIDER)
            continue
        first, second = text.split(" ends below ")
        assert first.endswith(f"the {ours}")
        against, _, how = second.partition(", equal ")
        assert NAMES[theirs.removesuffix(", wider")] in against
        assert (how == "parameters") == (theirs == recipe.WIDER)


def test_all_comparisons_of_a_body_of_evidence_are_one_family() -> None:
    found = every(bodies())
    family = [c.text for c in found if c.family]
    assert {c.family for c in found if c.family} == {LOWER}
    assert family == list(PAIRS.values())
    assert [c.text for c in found if any(f.p is not None for f in c.findings.values())] == family


def test_p_is_corrected_for_their_number() -> None:
    """Twelve recorded, four live; alone each would have 2 of 12,870, or 2 of 924, deals."""
    seen = with_ends(bodies(), "one layer", {"angle": 1.2, "volume": 1.5}, others=1.5)
    found = question(("one layer", "angle", "volume"))(every(seen)).findings
    assert len(PAIRS) == 12
    assert found[RECORDED].p == found[LONGER].p == pytest.approx(12 * 2 / 12870)
    live = [pair for pair in PAIRS if {*pair[1:]} <= set(recipe.KINDS)]
    assert found[LIVE].p == pytest.approx(len(live) * 2 / 924)


def test_what_is_told_alone_is_not_told_among_twelve() -> None:
    """Of 64 pairs 54.5 would do alone (p = 0.02) and do not here."""
    ours, theirs = learning(), learning()
    ours.loss[-1] = torch.tensor([1.0, 2, 3, 4, 5, 6, 12, 13])
    theirs.loss[-1] = torch.tensor([6.0, 7, 8, 9, 10, 11, 14, 15])
    seen = with_learning(bodies(), "two layers",
                         {"angle": lambda _: ours, "line": lambda _: theirs})  # fmt: skip
    here = question(("two layers", "angle", "line"))(every(seen)).findings[RECORDED]
    assert here.verdict is None
    assert 0.05 < 12 * 0.01 < here.p < 12 * 0.05


# --- The lesson


def test_the_lessons_claims_are_told_as_the_evidence_tells_them() -> None:
    seen = bodies()
    found = claims.lesson(seen, BEST, made_up.reach())
    told = {c.text: c for c in every(seen)}
    evidence = [STRICT, VARIED, claims.BOTH, claims.FOLLOWS, FRIEND, ANGLE]
    assert [c.findings for c in found] == [told[text].findings for text in evidence]
    texts = [c.text for c in found]
    assert texts[2] == "Two layers with the dot product copy more than a rule that does both"
    assert texts[5].startswith("With the angle the right token keeps its copy")


def test_effects_are_of_both_lengths_of_training() -> None:
    seen = {RECORDED: made_up.body(RECORDED), LONGER: made_up.body(LONGER)}
    seen = {
        **seen,
        **with_ends({LONGER: seen[LONGER]}, "two layers", {"angle": 1.2}, 1.5),
    }
    effects = claims.effects(seen, "two layers")
    assert list(effects) == ["800 steps", "3,000 steps"]
    assert effects["800 steps"]["angle"].middle == pytest.approx(0, abs=1e-5)
    assert effects["3,000 steps"]["angle"].middle == pytest.approx(-0.3, abs=1e-5)
    assert effects["3,000 steps"]["line"].middle == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize(
    ("at_home", "elsewhere", "told"),
    [
        *[(0.99, 0.1, False), (0.99, 0.95, True), (0.5, 0.1, None), (0.5, 0.9, None)],
        *[(NAN, 0.9, None), (0.99, NAN, None)],
    ],
)
def test_a_task_tests_induction_if_copiers_transfer(
    at_home: float, elsewhere: float, told: Verdict
) -> None:
    assert claims.strictly_tests_induction(at_home, elsewhere) is told
