"""Every verdict and every sentence of the chapter, turned round by turning its evidence."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch

from attn_notes.analysis.claims import Claim
from attn_notes.analysis.statistics import Finding, Verdict
from attn_notes.chapters.triple_product import claims, readings, recipe, rules
from attn_notes.chapters.triple_product.claims import LOWER, PAIRS
from attn_notes.chapters.triple_product.evidence import Bodies, Body

from . import made_up
from .made_up import BEST, BODIES, LIVE, LONGER, RECORDED, bodies, learning

NAN = math.nan
NO_BREAK = "\u00a0"


def every(seen: Bodies) -> list[Claim]:
    return claims.of_models(seen, BEST)


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
        (STRICT, {}, False, "0.990 right; where twelve back is wrong, at most 0.20"),
        (STRICT, one(elsewhere=0.95), True, "at most 0.95"),
        (STRICT, one(angle_away=0.6), True, "at most 0.60"),
        (STRICT, one(home=0.5), None, "at least 0.500 right"),
        (STRICT, one(volume_home=0.85), None, "at least 0.850 right"),
        (STRICT, one(elsewhere=NAN), None, "nan"),
        (STRICT, one(dot_away=NAN), None, "nan"),
        (STRICT, one(angle_home=NAN), None, "nan"),
        (
            VARIED,
            {},
            True,
            "dot product 0.95, volume 0.95, angle 0.95 right",
        ),
        (VARIED, many(home=0.8), False, "dot product 0.80"),
        (VARIED, many(dot_near=0.85), False, "dot product 0.85 to 0.95"),
        (VARIED, many(dot_home=0.2), True, "dot product 0.95"),
        (VARIED, many(angle_near=0.2), True, "angle 0.20 to 0.95"),
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
        text = readings.depth_or_task(seen[RECORDED]).data
        assert ("So a second layer is no cure" in text) == (told is False)
    assert "get at least 0.99 right there, and at 11 dot product 0.10 to 0.20" in (
        readings.depth_or_task(bodies()[RECORDED]).data
    )


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
    """Any seed is enough for one layer; with two every seed has to."""
    low, high = (NAN, NAN) if math.isnan(rest) else sorted((first, rest))

    def make(seeds: int) -> Any:
        return learning(right=[first, *[rest] * (seeds - 1)])

    for layers, text, told, found in (
        ("one layer, random period", f"One layer with the {name} copies", one, f"{high:.2f}"),
        ("two layers", f"Two layers with the {name} copy", two, f"{low:.2f} to {high:.2f}"),
    ):
        here = claim(with_learning(bodies(), layers, {kind: make}), text)
        assert list(here.findings) == [*BODIES]
        for each in here.findings.values():
            assert each.verdict is told and each.found == f"{found} right"


@pytest.mark.parametrize("column", BODIES)
def test_bodies_of_evidence_are_told_apart(column: str) -> None:
    seen = bodies()
    worse = with_learning(
        {column: seen[column]}, "two layers",
        {kind: lambda seeds: learning(right=0.5) for kind in recipe.KINDS},
    )  # fmt: skip
    for kind in ("dot product", "volume", "angle"):
        here = claim({**seen, **worse}, f"Two layers with the {kind} copy at a random").findings
        assert [name for name, each in here.items() if each.verdict is False] == [column]


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
    better = claims.of_models(seen, {**BEST, layers: 1.6})
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


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
@pytest.mark.parametrize(
    ("ours", "theirs", "told", "share"),
    [
        *[(1.2, 1.5, True, 1), (1.5, 1.2, False, 0), (1.5, 1.5, None, 0.5)],
        *[(NAN, NAN, None, 0.5), (NAN, 1.5, False, 0), (1.2, NAN, True, 1)],
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


def test_the_lessons_five_are_told_as_the_evidence_tells_them() -> None:
    seen = bodies()
    found, told = claims.lesson(seen, BEST), {c.text: c for c in every(seen)}
    assert len(found) == 5
    for here in (found[0], found[1], found[2], found[4]):
        assert told[here.text] == here
    assert found[3].text == "With the angle the right token keeps its copy when it is 3 times as " \
        "loud"  # fmt: skip
    assert found[3].findings == told[ANGLE].findings
    assert list(found[4].findings) == [RECORDED, LONGER]


def ends(short: float, long: float, line: float = 1.5) -> dict[str, Body]:
    """Two layers: the angle's losses at the end, where the dot product's are 1.5."""
    seen = bodies()
    return {
        **seen,
        **with_ends({RECORDED: seen[RECORDED]}, "two layers", {"angle": short}, 1.5),
        **with_ends({LONGER: seen[LONGER]}, "two layers", {"angle": long, "line": line}, 1.5),
    }


@pytest.mark.parametrize(
    ("short", "long", "title", "told"),
    [
        (1.7, 1.2, "The angle is behind the dot product after 800 steps and ahead after 3,000",
         "the angle ends higher after 800 steps and ends lower after 3,000 steps."),
        (1.2, 1.7, "The angle ends lower after 800 steps, higher after 3,000 steps",
         "the angle ends lower after 800 steps and ends higher after 3,000 steps."),
        (1.2, 1.2, "The angle ends lower after 800 steps and after 3,000 steps",
         "ends lower after 800 steps and ends lower after 3,000 steps."),
        (1.5, 1.5, "The angle ends level after 800 steps and after 3,000 steps",
         "cannot be told after 800 steps and cannot be told after 3,000 steps."),
    ],
)  # fmt: skip
def test_when_the_angle_wins(short: float, long: float, title: str, told: str) -> None:
    seen = ends(short, long)
    effects = claims.effects(seen, "two layers")
    assert list(effects) == ["800 steps", "3,000 steps"]
    assert claims.effects_title(effects).startswith(title)
    assert claims.retold(claims.lesson(seen, BEST), seen).data.endswith(told)
    gap = short - 1.5
    for steps, effect in zip(effects, (gap, long - 1.5), strict=True):
        assert effects[steps]["angle"].mean == pytest.approx(effect, abs=1e-5)
        assert effects[steps]["line"].mean == pytest.approx(0, abs=1e-5)
    assert f"is {gap:.3f} nats".replace("-", "−") in claims.when(seen).data


@pytest.mark.parametrize(
    ("line", "said"),
    [(1.7, "ends below it"), (1.2, "the two cannot be told"), (0.9, "ends above it")],
)
def test_what_the_control_says_of_the_plane(line: float, said: str) -> None:
    assert said in claims.when(ends(1.7, 1.2, line)).data


def test_what_is_said_of_the_distance() -> None:
    text = claims.distance(bodies(), made_up.reach()).data
    assert "copy dot product 0.10 to 0.20, volume 0.10 to 0.20 and angle" in text
    assert "guessing is right 0.06 of the time" in text
    assert "copy more by 0.80 (" in text and "8 recorded seeds" in text
    assert "two layers that saw period 12 only get 0.10 to 0.20 right at 11." in text
    assert "copy less and less: 0.40 at 14." in text
    assert "their distance alone, for and against, can get 0.82 right at the varied" in text
    assert "possible distance 0.85, and one that matches it and weighs the distances 0.90." in text
    assert "The dot product gets 0.95, so it does more than any of them." in text
    for reach in (made_up.reach(near=0.96), made_up.reach(fitted=0.96)):
        assert "so one of the first two may be all" in claims.distance(bodies(), reach).data
    for matched in (0.98, 0.95 - rules.NOISE / 2):  # the evidence draws the same line
        text = claims.distance(bodies(), made_up.reach(matched=matched)).data
        assert "gets 0.95. So it need not do more than match one letter, and weigh where" in text


def test_what_is_said_of_loudness_in_the_lesson() -> None:
    text = claims.loud_meaning(bodies()).data
    assert "keeps its promise: a stranger 100 times as loud leaves 0.97" in text
    assert "0.08 of its copies are right, with the angle 0.95, a difference of 0.87" in text
    assert "is heard by everyone: with one token at a tenth, 0.12" in text
    for change, said in (
        (loud(others_volume_100=0.2), "does not keep its promise"),
        (loud(others_volume_01=0.95), "disturbs nobody"),
    ):
        assert said in claims.loud_meaning(bodies(**change)).data


def test_the_lesson_is_retold_as_it_went() -> None:
    def told(seen: Bodies) -> str:
        return claims.retold(claims.lesson(seen, BEST), seen).data

    assert told(bodies()).startswith("A test for induction was passed by models that had learnt a")
    assert "two layers find where to copy from" in told(bodies())
    assert told(bodies(**one(home=0.5))).startswith("Whether these models had learnt a distance")
    assert told(bodies(**one(elsewhere=0.9))).startswith("Whether these models")
    assert "not every seed of two layers copies" in told(bodies(**many(home=0.5)))


# --- Sentences


def test_when_features_pay() -> None:
    times = {"expanded": 2.0, "projected": 1.0, "residual": 8.0, "features": 4.0}
    text = readings.costs(made_up.costs(), times).data
    assert text.startswith("The features pay for long sequences and small heads: with *d* = 8 they")
    assert "exact forms from 128 positions on, with *d* = 16 from 2048 positions on." in text
    assert "At 2048 positions and *d* = 8 they need 3 % of the published memory" in text
    assert "No form is as cheap as the dot product" in text
    assert "*stopped at 0* 2.00, *k − projection* 0.25, *quadratic features, fused* 0.50." in text
    assert "Fastest is *stopped at 0*." in text
    text = readings.costs(made_up.costs(features=(8.0, 8.0, 8.0), fused=3.0), times).data
    assert text.startswith("With *d* = 8 they are the fastest of the exact forms at none of these")
    assert "No form is as cheap" not in text
    grown = made_up.costs()
    for form, seconds in (("features", 0.2), ("expanded", 4.0)):
        grown.runs["16 2048"][form]["seconds"] = seconds
    assert not readings.features_pay(grown)  # more in wide heads than in small ones


def test_where_the_surplus_is() -> None:
    text = readings.where(made_up.by_token()).data
    assert text.startswith("Not only there: a surplus is left on the copies too")
    assert "Most of the rest falls on the first few tokens. These" in text
    text = readings.where(made_up.by_token(early=("dot", "volume"))).data
    assert "first four predictions with the dot product and the volume; with the angle" in text
    text = readings.where(made_up.by_token(early=(), copies=0.0)).data
    assert text.startswith("The rest is spread over many tokens.")


def test_which_parts_of_a_circuit_stand_out() -> None:
    def two(**right: float) -> Body:
        kinds = {kind: learning(right=right.get(kind, 0.95)) for kind in recipe.KINDS}
        return Body({"two layers": kinds})

    text = readings.circuit(made_up.circuits(), two()).data
    assert "five times that and more, with dot, volume and angle." in text and "about 0.08" in text
    text = readings.circuit(made_up.circuits(0.39), two()).data  # less than five times 0.08
    assert "with dot." in text
    assert "with volume and angle." in readings.circuit(made_up.circuits(), two(dot=0.8)).data
    none = readings.circuit(made_up.circuits(), two(dot=0.5, volume=0.5, angle=0.5)).data
    assert "Both parts do not stand out clearly with any score." in none


def test_who_does_more_than_the_rules() -> None:
    seen = bodies()
    text = readings.beyond_one_letter(made_up.reach(), seen[RECORDED], seen[LONGER]).data
    assert "is right 0.82 of the time, and matching one letter at a distance that a" in text
    assert "a period allows 0.85" in text and "gets 0.90: more than that have the dot" in text
    assert "Two layers copy more than either with the dot product 0.95 (800 steps)," in text
    assert "angle 0.95 (800 steps) and angle 0.95 (3,000 steps)." in text
    for reach in (made_up.reach(near=0.96), made_up.reach(fitted=0.96)):
        text = readings.beyond_one_letter(reach, seen[RECORDED], seen[LONGER]).data
        assert text.endswith("so one of these may be all that they do.")
    text = readings.beyond_one_letter(made_up.reach(matched=0.98), seen[RECORDED], seen[LONGER])
    assert "no pair of layers clearly more. So what they copy does not show" in text.data


def test_which_best_rates_lie_at_an_end() -> None:
    assert readings.rates(made_up.sweep(1)).data == "Every best rate lies inside the sweep."
    text = readings.rates(made_up.sweep(2)).data
    assert text.startswith("For volume with one layer and volume with two layers the best lies at")


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        ({"others_volume_100": 0.2}, "keeps its promise", "does not keep its promise"),
        ({"own_volume_3": 0.95}, "But the same loudness", "does not cost it"),
        ({"others_volume_01": 0.95}, "is heard by everyone: ", "disturbs nobody: "),
        ({"others_angle_3": 0.5}, "and neither its others (0.96) nor", "though not both of"),
        ({"own_angle_3": 0.5}, "nor its own (0.95) mind a", "and its own (0.50) survive a"),
        ({"others_angle_100": 0.95}, "drowns the others (0.52 at 100)", "does not (0.95 at 100)"),
        ({"own_angle_01": 0.95}, "not understood (0.15 of", "understood all the same (0.95 of"),
    ],
)
def test_what_loudness_does(change: dict[str, float], before: str, after: str) -> None:
    usual, turned = (
        readings.loudness(made_up.loudness(**changes)).data for changes in ({}, change)
    )
    assert before in usual and after not in usual
    assert after in turned and before not in turned
    for said in (
        "still gets 0.97 of the other copies right, the dot product 0.11.",
        "0.08 are right at a factor of 3",
        "with one token at a tenth, 0.12 of the other copies",
    ):
        assert said in usual


def test_the_power_that_holds_the_spread() -> None:
    text = readings.spreads(-34143.2, 0.9961).data
    assert "scores reach −34,143, and the largest weight of a row is 0.996 on" in text
    assert "divide by *d* to the power of 2.5" in text
    assert "by 5 × 10⁻¹⁶ of the largest score" in readings.features(5e-16).data


def answer(seen: Bodies) -> str:
    return readings.answer(every(seen), seen).data.replace(NO_BREAK, " ")


@pytest.mark.parametrize("layers", ["one layer", "two layers"])
@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [(1.2, 1.5, "ends lower than"), (1.5, 1.2, "ends higher than"), (1.5, 1.5, "cannot be told")],
)
def test_the_answer_says_what_each_pair_says(
    layers: str, ours: float, theirs: float, words: str
) -> None:
    levels = {recipe.WIDER: theirs, "line": theirs, "volume": ours, "angle": ours}
    text = answer(with_ends(bodies(), layers, levels, others=1.0))
    first, second = (
        ("with one layer, the volume ", "with two, the volume "),
        ("With one layer the angle ", "with two it "),
    )
    i = 0 if layers == "one layer" else 1
    start = text.index(first[i])
    part = text[start : text.index(";" if i == 0 else "(", start)]
    assert part.count(words) == 2
    start = text.index(second[i])
    assert text[start + len(second[i]) :].startswith(words)
    assert text.count(words) == (6 if ours == theirs else 3)  # the other layers are level


def test_the_answer_says_how_sure_the_plane_is() -> None:
    seen = bodies()
    for layers in ("one layer", "two layers"):
        seen = with_ends(seen, layers, {"angle": 1.2}, others=1.5)
    assert "So here the reference buys something" in answer(seen)
    p = f"(p = {12 * 2 / 12870:.2g})"
    assert answer(seen).count(p) == 2
    seen = with_ends(seen, "one layer", {"angle": 1.5}, others=1.5)
    assert "we cannot say that the reference buys anything in both" in answer(seen)
    assert f"no plane (p = 1); with two it ends lower than it {p}." in answer(seen)


def test_the_answer_says_after_how_many_steps() -> None:
    assert "(longer, 8 seeds, 3,000 and 3,000 steps)" in answer(bodies())


def test_the_answer_says_what_the_task_tested() -> None:
    assert answer(bodies()).endswith(
        "And the task did not test what it was meant to test. One layer of any score solves it by "
        "counting places; when the period varies, no single layer does."
    )
    for name in BODIES:
        seen = bodies()
        changed = with_learning({name: seen[name]}, "one layer, random period",
                                {"angle": lambda _: learning(right=[0.3, 0.95])})  # fmt: skip
        assert answer({**seen, **changed}).endswith("when the period varies, one does with the "
                                                    "angle.")  # fmt: skip
    assert "tested what it was meant" in answer(bodies(**one(elsewhere=0.95)))
    assert answer(bodies(**one(home=0.5))).endswith("could not be told here.")


def test_the_answer_says_whether_strangers_are_silenced() -> None:
    assert answer(bodies()).startswith("A loud stranger is silenced, as the author hoped; what")
    turned = answer(bodies(**loud(others_volume_100=0.3)))
    assert turned.startswith("A loud stranger is not silenced here")


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


def test_the_best_kind_is_named_and_an_interval_begins_with_its_lower_end() -> None:
    """Of copies in the task with a varied period; and how much more two layers copy at 11."""
    run = bodies()
    for body in run.values():
        for kind, share in (("dot", 0.8), ("angle", 0.95), ("volume", 0.7)):
            if "two layers" in body.learnings:
                body.learnings["two layers"][kind].accuracy[-1] = share
    text = claims.distance(run, made_up.reach()).data
    assert "The angle gets 0.95" in text
    two = made_up.transfer(0.95, 0.7, (10, 11, 12), dot_near=0.5)
    text = claims.distance(bodies(**moves(two_layers=two)), made_up.reach()).data
    (found,) = re.findall(r"copy more by (\S+) \((\S+) to (\S+);", text)
    mean, low, high = (float(number.replace("−", "-")) for number in found)
    assert low < mean < high
