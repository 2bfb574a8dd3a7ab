"""What no record reaches: verdicts and titles turned round, ties, and numbers that are none."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from matplotlib.colors import to_rgba
from torch import Tensor

from attn_notes.analysis import statistics
from attn_notes.analysis.statistics import Finding, Verdict
from attn_notes.chapters.triple_product import (
    claims,
    evidence,
    explorer,
    figures,
    geometry,
    recipe,
    shapes,
)
from attn_notes.chapters.triple_product.evidence import Body
from attn_notes.figures import Picture

NAN, BEST, REACH = math.nan, evidence.best_losses(), evidence.reach("random")
ALONE, VARIED, PAIR, DEEP = "one layer", "one layer, random period", "two layers", [*BEST][-1]
AT = {period: i for i, period in enumerate(recipe.TESTED)}
TIMES = {factor: i for i, factor in enumerate(recipe.FACTORS)}
HOME = [AT[period] for period in recipe.RANDOM.periods]


def told(text: str, body: Body, **reach: float) -> Finding:
    (found,) = (
        c for c in claims.of_models({"": body}, BEST, REACH._replace(**reach)) if c.text == text
    )
    return found.findings[""]


def moved(name: str, kind: str) -> Callable[[Body], Tensor]:
    return lambda body: body.moved[name].accuracy[kind]


def loud(what: str, kind: str) -> Callable[[Body], Tensor]:
    return lambda body: getattr(body.loud, what)[kind]


def follows(body: Body) -> Tensor:
    return body.follows[PAIR]["dot"]


@pytest.mark.parametrize(
    ("text", "of", "at", "value", "verdict", "found"),
    [
        (claims.STRICT, moved(ALONE, "angle"), AT[10], 0.96, True, "at most 0.96"),
        (claims.STRICT, moved(ALONE, "dot"), AT[10], 0.5, False, "at most 0.50"),
        (claims.STRICT, moved(ALONE, "dot"), (AT[10], 0), 0.96, False, "at most 0.26"),
        (claims.STRICT, moved(ALONE, "volume"), (AT[12], 3), 0.85, None, "least 0.850 right"),
        (claims.STRICT, moved(ALONE, "volume"), (AT[12], 3), NAN, None, "least nan right"),
        (claims.DEEP, moved(DEEP, "volume"), AT[9], 0.95, True, "at most 0.95"),
        (claims.VARIED, moved(PAIR, "dot"), (AT[11], 3), 0.9, False, "0.90 to 0.99 right"),
        (claims.VARIED, moved(PAIR, "dot"), AT[12], 0.2, True, "0.98 to 0.99 right"),
        (claims.FOLLOWS, follows, (0, 17), 0.9, True, "0.89 to 0.94 of the cases, 18 back in 0.90"),
        (claims.FOLLOWS, follows, (0, 17, 3), 0.9, False, " to 0.90"),
        (claims.FOLLOWS, follows, (0, 17), 0.5, False, "18 back in 0.50"),
        (claims.FOLLOWS, follows, 1, 0.9, False, "18 back in 0.07 to 0.26"),
        (claims.WHISPER, loud("others", "volume"), TIMES[0.1], 0.93, True, "0.93 (0.93) of the"),
        (claims.STRANGER, loud("others", "volume"), TIMES[100.0], 0.9, False, "0.90 (0.90) of"),
        (claims.STRANGER, loud("others", "volume"), (TIMES[100.0], 3), 0.5, True, "(0.50 to 1.00)"),
        (claims.FRIEND, loud("own", "volume"), TIMES[3.0], 0.91, True, "0.91 (0.91) right"),
        (claims.ANGLE_FRIEND, loud("own", "angle"), TIMES[3.0], 0.89, False, "0.89 (0.89) right"),
    ],
)
def test_a_claim_turns_with_what_it_rests_on(
    text: str, of: Callable[[Body], Tensor], at: Any, value: float, verdict: Verdict, found: str
) -> None:
    body = evidence.recorded()
    of(body)[at] = value
    here = told(text, body)
    assert here.verdict is verdict and found in here.found
    of(body)[..., -1] = NAN
    assert told(text, body).verdict is None  # nor is a seed left out that came to no number


@pytest.mark.parametrize(
    ("text", "reach", "verdict"),
    [
        *((claims.EITHER, {rule: 0.97}, False) for rule in claims.EASY),
        (claims.EITHER, {"matched": 1.0}, True),
        (claims.BOTH, {"matched": 0.96}, True),
    ],
)
def test_the_best_rule_is_the_one_to_beat(
    text: str, reach: dict[str, float], verdict: bool
) -> None:
    assert told(text, evidence.recorded(), **reach).verdict is verdict


@pytest.mark.parametrize("kind", recipe.KINDS)
@pytest.mark.parametrize("record", [evidence.recorded, evidence.longer])
def test_one_layer_is_asked_for_any_seed_and_two_for_every(
    record: Callable[[], Body], kind: str
) -> None:
    name = claims.score_name(kind)
    for layers, asked, value, verdict, found in (
        (VARIED, f"One layer with the {name} copies at a random period: nine in ten, any seed",
         0.95, True, "0.95 right"),
        (PAIR, f"Two layers with the {name} copy at a random period: nine in ten, every seed",
         0.85, False, "0.85 to "),
    ):  # fmt: skip
        body = record()
        tried = body.moved[layers].accuracy[kind][HOME[0] : HOME[-1] + 1] if body.moved else None
        right = body.learnings[layers][kind].accuracy[-1:] if tried is None else tried
        right[:] = 0.97 if layers == PAIR else 0.3
        right[:, 3] = value
        here = told(asked, body)
        assert here.verdict is verdict and here.found.startswith(found)
        right[0, 0] = NAN
        assert told(asked, body).verdict is None


@pytest.mark.parametrize("name", recipe.TASKS)
@pytest.mark.parametrize(
    ("gap", "held", "found"),
    [(-0.01, False, "-0.010"), (-9e-4, True, "-0.001"), (NAN, False, "nan")],
)
def test_any_probe_of_any_model_may_show_a_leak(
    name: str, gap: float, held: bool, found: str
) -> None:
    body = evidence.recorded()
    body.learnings[name]["volume"].loss[1, 2] = BEST[name] + gap
    here = told("No loss lies below the best predictor's on the same sequences", body)
    assert here.verdict is held and here.found == f"lowest {found} nats above it"


# --- Pairs, and their correction

SHORT = {"dot product": "dot", "its control, the line": "line"}


def ends(layers: str, others: float, **at: float) -> Body:
    """Every seed of these layers ends at one loss, but those of some kinds."""
    body = evidence.recorded()
    for kind, run in body.learnings[layers].items():
        run.loss[-1] = at.get(kind, others)
    return body


@pytest.mark.parametrize("text", claims.PAIRS.values())
def test_each_pair_is_told_by_the_two_kinds_that_it_names(text: str) -> None:
    layers, asked = text.split(": ")
    asked = asked.replace("…", "the volume ends below the dot product,")
    ours, theirs = asked.removeprefix("the ").removesuffix(", equal steps").split(" ends below ")
    theirs, _, equal = theirs.removeprefix("the ").partition(", equal ")
    theirs = recipe.WIDER if equal else SHORT.get(theirs, theirs)
    for mine, other, rest, share in ((2.0, 1.0, 3.0, 0), (2.0, 3.0, 4.0, 64), (2.0, 2.0, 1.0, 32)):
        here = told(text, ends(layers.lower(), rest, **{ours: mine, theirs: other}))
        assert here.found == f"{share} of 64 pairs"
        assert here.verdict is {0: False, 64: True}.get(share)


def test_what_is_told_alone_is_not_told_among_twelve() -> None:
    """Of 64 pairs 51.5 would do alone (p = 0.04) and do not here: six of the twelve are clearer."""
    body = ends(PAIR, 3.0)
    runs = body.learnings[PAIR]
    runs["angle"].loss[-1] = torch.tensor([1.0, 2, 3, 4, 5, 6, 12, 13])
    runs["line"].loss[-1] = torch.tensor([6.0, 7, 8, 9, 10, 11, 14, 15])
    here = told(claims.PAIRS[PAIR, "angle", "line"], body)
    alone = statistics.ends_lower(runs["angle"].loss[-1], runs["line"].loss[-1])
    assert here.verdict is None and here.found == "51.5 of 64 pairs"
    assert alone.verdict is True and alone.p and here.p == pytest.approx(6 * alone.p)


# --- What geometry tells


@pytest.mark.parametrize(
    ("text", "change", "verdict"),
    [
        ("Dot product: “As", {"dot": [0.1, 0.9, 0.1, 0.1, 0.3]}, True),
        ("Dot product: “As", {"dot": [0.3, 0.9, 0.1, 0.1, 0.1]}, False),
        ("Dot product: “As", {"dot": [0.1, 0.9, 0.1, 0.1, 0.1]}, False),
        ("Dot product: “As", {"dot": [NAN, 0.9, 0.1, 0.1, 0.1]}, None),
        ("The same, if", {"shared": [0.1, 0.4, 1.0, 5.0, 10.0]}, False),
        ("The same, if", {"shared": [0.1, 0.5, 1.0, 5.0, NAN]}, None),
        ("Volume: “as", {"volume": [-1.0, -30.0, -25.0, -40.0, -50.0]}, False),
        ("Volume: “as", {"volume": [-1.0] * 5}, False),
        ("Volume: “as", {"volume": [-1.0, NAN, -25.0, -40.0, -50.0]}, None),
        ("The published", {"negative": 0.0}, True),
        ("The published", {"negative": NAN}, None),
    ],
)
def test_what_a_formula_tells_turns_with_its_numbers(
    text: str, change: dict[str, Any], verdict: Verdict
) -> None:
    scene, rounding = geometry.resilience(), {"expanded": {1.0: geometry.Rounding(0.4, -1.0, 1.0)}}
    for name, values in change.items():
        if name == "negative":
            rounding["expanded"][1.0] = geometry.Rounding(values, -1.0, 1.0)
        elif name == "shared":
            scene = replace(scene, shared=dict(zip(scene.shared, values, strict=True)))
        else:
            keys = [k._replace(**{name: x}) for k, x in zip(scene.strangers, values, strict=True)]
            scene = replace(scene, keys=[scene.keys[0], *keys])
    (found,) = (c for c in claims.of_formula(rounding, scene) if c.text.startswith(text))
    assert found.findings["computed"].verdict is verdict


# --- Titles


def learnt(**gaps: float) -> Picture:
    """One kind of each task, so far above its floor at the end."""
    runs = {}
    for name, gap in zip((ALONE, VARIED, PAIR), gaps.values(), strict=True):
        run = evidence.recorded().learnings[name]["dot"]
        run.loss[-1] = run.floor + gap
        runs[name] = {"dot": run}
    return figures.learning(runs)


def at_other_periods(home: float, elsewhere: float) -> Picture:
    each = evidence.recorded().moved[ALONE]
    for right in each.accuracy.values():
        right[:] = elsewhere
        right[AT[12]] = home
    return figures.transfer({ALONE: each})


def louder(what: str, factor: float, right: float) -> Picture:
    body = evidence.recorded()
    assert body.loud is not None
    loud(what, "volume")(body)[TIMES[factor]] = right
    return figures.loudness(body.loud)


def leaning(volume: Callable[[Tensor], Tensor]) -> Picture:
    shares = geometry.off_the_plane(4)
    turned = {**shares.of, "volume": volume(shares.of["volume"])}
    return shapes.off_the_plane(replace(shares, of=turned))


def risen(volume: Tensor) -> Tensor:
    volume[-1, -1] = volume[-1, -2] + 0.1
    return volume


LENGTH, SHARE = (geometry.against_stranger(scales, 4) for scales in (False, True))


@pytest.mark.parametrize(
    ("picture", "title"),
    [
        (learnt(one=0.1, varied=0.1, two=0.1), "All come near their floor"),
        (learnt(one=0.1, varied=1.1, two=0.1), "Where the period varies, one layer stays far"),
        (learnt(one=0.1, varied=1.1, two=1.1), "The loss beside the floor"),
        (learnt(one=0.1, varied=0.1, two=1.1), "The loss beside the floor"),
        (learnt(one=0.1, varied=1.1, two=NAN), "The loss beside the floor"),
        (at_other_periods(0.99, 0.2), "Trained at one period, one layer has learnt a distance"),
        (at_other_periods(0.99, 0.95), "How well they copy at periods on which they were not"),
        (at_other_periods(0.5, 0.1), "How well they copy at periods"),
        (at_other_periods(0.99, NAN), "How well they copy at periods"),
        (louder("others", 100.0, 0.3), "One token made louder or quieter"),
        (louder("own", 3.0, 0.95), "One token made louder or quieter"),
        (shapes.strangers(SHARE, SHARE), "Attention on the friend, against one stranger"),
        (shapes.strangers(LENGTH, LENGTH), "Attention on the friend, against one stranger"),
        (leaning(lambda volume: volume.flip(1)), "Attention on a friend off the plane"),
        (leaning(risen), "Attention on a friend off the plane"),
    ],
)
def test_a_title_says_what_is_drawn(picture: Picture, title: str) -> None:
    assert picture.title.startswith(title)


def test_a_rate_that_ends_in_no_number_is_not_the_best() -> None:
    sweep = evidence.sweep()
    sweep.ends[PAIR]["dot"][3, 0] = NAN  # of the best one
    assert sweep.best(PAIR, "dot") == 0.01
    sweep.ends[PAIR]["dot"][:] = NAN
    with pytest.raises(ValueError, match="no rate of dot with two layers ends in a number"):
        sweep.best(PAIR, "dot")


def test_the_emblem_asks_and_does_not_answer() -> None:
    """Twelve letters back there is one tall bar, and the row ends in a question."""
    (ax,) = figures.emblem().fig.axes
    heights = [bar.get_height() for bar in ax.patches]
    assert len(heights) == 13 and max(heights) == heights[1] > 0.9 and sum(heights) < 1.01
    assert {bar.get_facecolor() for bar in ax.patches} == {to_rgba(figures.COLOUR["dot"])}
    row = "".join(text.get_text() for text in ax.texts)
    after = (explorer.AT_HOME * 2).partition(row[:-1])[2]
    assert row.endswith("?") and after[0] == row[1]  # what it looks at comes next
