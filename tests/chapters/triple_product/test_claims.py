"""Every verdict and every sentence of chapter 2, turned round by turning its evidence."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch

from attn_notes.analysis.claims import Claim
from attn_notes.analysis.statistics import Finding, Verdict
from attn_notes.chapters.triple_product import claims, recipe
from attn_notes.chapters.triple_product.claims import HERE, LOWER, PAIRS, every
from attn_notes.chapters.triple_product.evidence import Evidence, Learnings

from . import made_up
from .made_up import evidence, learning

NAN = math.nan
THERE = "recorded, 8 seeds"


def finding(seen: Evidence, text: str, column: str) -> Finding:
    (claim,) = (c for c in every(seen) if c.text.startswith(text))
    return claim.findings[column]


# --- Claims that no test decides

STRICT = "The fixed copy “strictly"
LINEAR = "Dot product: “As Magnitude"
SHARED = "The same, if the leak is a share"
FALLS = "Volume: “as magnitude"
WHISPER = "“You must be in the plane"
FRIEND = "The right token keeps its copy"
ANGLE = "… with the angle"
SQUARE = "The published expansion is never"


def rescored(**change: Any) -> dict[str, Any]:
    return {"resilience": made_up.resilience(**change)}


@pytest.mark.parametrize(
    ("text", "change", "told", "found"),
    [
        (STRICT, {}, False, "one layer gets at least 0.990 right, at other periods at most 0.20"),
        (STRICT, {"moved": made_up.transfer(elsewhere=0.95)}, True, "at most 0.95"),
        (STRICT, {"moved": made_up.transfer(angle_away=0.6)}, True, "at most 0.60"),
        (STRICT, {"moved": made_up.transfer(home=0.5)}, None, "at least 0.500 right"),
        (STRICT, {"moved": made_up.transfer(volume_home=0.85)}, None, "at least 0.850 right"),
        (STRICT, {"moved": made_up.transfer(elsewhere=NAN)}, None, "nan"),
        (STRICT, {"moved": made_up.transfer(dot_away=NAN)}, None, "nan"),
        (STRICT, {"moved": made_up.transfer(angle_home=NAN)}, None, "nan"),
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
        (WHISPER, {}, False, "0.12 of the other copies right"),
        (WHISPER, {"loud": made_up.loudness(others_volume_01=0.93)}, True, "0.93 of the other"),
        (WHISPER, {"loud": made_up.loudness(others_volume_01=NAN)}, None, "nan"),
        (FRIEND, {}, False, "0.08 right"),
        (FRIEND, {"loud": made_up.loudness(own_volume_3=0.91)}, True, "0.91 right"),
        (FRIEND, {"loud": made_up.loudness(own_volume_3=NAN)}, None, "nan"),
        (ANGLE, {}, True, "0.95 right"),
        (ANGLE, {"loud": made_up.loudness(own_angle_3=0.89)}, False, "0.89 right"),
        (ANGLE, {"loud": made_up.loudness(own_angle_3=NAN)}, None, "nan"),
        (SQUARE, {}, False, "44 % of keys in the plane"),
        (SQUARE, {"rounding": made_up.rounding(0.0)}, True, "0 % of keys in the plane"),
        (SQUARE, {"rounding": made_up.rounding(NAN)}, None, "nan"),
    ],
)
def test_what_geometry_and_the_live_models_tell(
    text: str, change: dict[str, Any], told: Verdict, found: str
) -> None:
    (claim,) = (c for c in every(evidence(**change)) if c.text.lower().startswith(text.lower()))
    assert list(claim.findings) == [HERE]
    assert claim.findings[HERE].verdict is told
    assert found in claim.findings[HERE].found and claim.findings[HERE].p is None


def test_what_is_quoted_is_the_sources() -> None:
    for claim in every(evidence()):
        assert (claim.whose == "source") == ("“" in claim.text)


# --- Copying at a random period


def with_accuracy(layers: str, kind: str, first: float, rest: float) -> Evidence:
    """Both bodies of evidence with other accuracies of one kind."""

    def changed(old: Mapping[str, Learnings], seeds: int) -> dict[str, Learnings]:
        right = [first, *[rest] * (seeds - 1)]
        return {**old, layers: {**old[layers], kind: learning(right=right)}}

    seen = evidence()
    return replace(
        seen,
        live=changed(seen.live, made_up.LIVE),
        recorded=changed(seen.recorded, made_up.RECORDED),
    )


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
    for layers, text, told, found in (
        ("one layer, random period", f"One layer with the {name} copies", one, f"{high:.2f}"),
        ("two layers", f"Two layers with the {name} copy", two, f"{low:.2f} to {high:.2f}"),
    ):
        seen = with_accuracy(layers, kind, first, rest)
        for column in (HERE, THERE):
            assert finding(seen, text, column).verdict is told
            assert finding(seen, text, column).found == f"{found} right"


@pytest.mark.parametrize("column", [HERE, THERE])
def test_live_and_recorded_copies_are_told_apart(column: str) -> None:
    seen = evidence()
    changed = {"two layers": dict.fromkeys(recipe.TWO_LAYERS, learning(right=0.5))}
    old = seen.live if column == HERE else seen.recorded
    seen = replace(seen, **{"live" if column == HERE else "recorded": {**old, **changed}})
    for kind in ("dot product", "volume", "angle"):
        text = f"Two layers with the {kind} copy"
        assert finding(seen, text, column).verdict is False
        assert finding(seen, text, THERE if column == HERE else HERE).verdict is True


# --- The floor


@pytest.mark.parametrize("layers", recipe.TASKS)
@pytest.mark.parametrize(
    ("loss", "told", "found"),
    [(1.2, True, "0.200"), (0.9, False, "-0.100"), (0.9995, True, "-0.001"), (NAN, False, "nan")],
)
def test_no_loss_lies_below_the_best(layers: str, loss: float, told: bool, found: str) -> None:
    """Wherever it is, live or recorded; any probe counts, not the last alone."""
    text, seen = "No loss lies below", evidence()
    assert finding(seen, text, HERE).found == "lowest 0.500 nats above it"
    low = learning()
    low.loss[1, 2] = loss
    for column, name in ((HERE, "live"), (THERE, "recorded")):
        old = getattr(seen, name)
        changed = replace(seen, **{name: {**old, layers: {**old[layers], "volume": low}}})
        assert finding(changed, text, column).verdict is told
        assert finding(changed, text, column).found == f"lowest {found} nats above it"
        assert finding(changed, text, THERE if column == HERE else HERE).verdict is True
    better = replace(seen, best=seen.best | {layers: 1.6})
    assert finding(better, text, HERE).verdict is False


# --- Pairs, and their correction

NAMES = {"dot": "dot product", "volume": "volume", "angle": "angle", "line": "line"}


def with_ends(seen: Evidence, layers: str, ends: dict[str, float], others: float = 1.0) -> Evidence:
    """Kinds that end at these losses, and all others of these layers elsewhere."""

    def changed(old: Any) -> Any:
        return {
            **old,
            layers: {
                kind: learning(ends.get(kind, others), seeds=run.loss.shape[1])
                for kind, run in old[layers].items()
            },
        }

    return replace(seen, live=changed(seen.live), recorded=changed(seen.recorded))


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
    claim = question(pair)(every(with_ends(evidence(), layers, {first: ours, second: theirs})))
    live = layers == "one layer" or {first, second} <= set(recipe.KINDS)
    assert list(claim.findings) == ([HERE, THERE] if live else [THERE])
    for column, seeds in ((HERE, made_up.LIVE), (THERE, made_up.RECORDED)):
        if column in claim.findings:
            found = claim.findings[column]
            assert found.verdict is told
            assert found.found == f"{share * seeds**2:g} of {seeds**2} pairs"


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
    found = every(evidence())
    family = [c.text for c in found if c.family]
    assert {c.family for c in found if c.family} == {LOWER}
    assert family == list(PAIRS.values())
    assert [c.text for c in found if any(f.p is not None for f in c.findings.values())] == family


def test_p_is_corrected_for_their_number() -> None:
    """Ten recorded, seven live; alone each would have 2 of 12,870, or 2 of 924, deals."""
    seen = with_ends(evidence(), "one layer", {"angle": 1.2, "volume": 1.5}, others=1.5)
    found = question(("one layer", "angle", "volume"))(every(seen)).findings
    assert found[THERE].p == pytest.approx(10 * 2 / 12870)
    assert found[HERE].p == pytest.approx(7 * 2 / 924)


def test_what_is_told_alone_is_not_told_among_ten() -> None:
    """Of 64 pairs 54.5 would do alone (p = 0.02) and do not here."""
    seen = evidence()
    ours, theirs = learning(), learning()
    ours.loss[-1] = torch.tensor([1.0, 2, 3, 4, 5, 6, 12, 13])
    theirs.loss[-1] = torch.tensor([6.0, 7, 8, 9, 10, 11, 14, 15])
    layers = {**seen.recorded["two layers"], "angle": ours, "line": theirs}
    seen = replace(seen, recorded={**seen.recorded, "two layers": layers})
    claim = question(("two layers", "angle", "line"))(every(seen))
    assert claim.findings[THERE].verdict is None
    assert 0.05 < 10 * 0.01 < claim.findings[THERE].p < 10 * 0.05


# --- Sentences


def test_when_features_pay() -> None:
    times = {"expanded": 2.0, "projected": 1.0, "residual": 8.0, "features": 4.0}
    text = claims.costs(made_up.costs(), times).data
    assert text.startswith("The features pay for long sequences and small heads: with *d* = 8 they")
    assert "exact forms from 128 positions on, with *d* = 16 from 2048 positions on." in text
    assert "At 2048 positions and *d* = 8 they need 3 % of the published memory" in text
    assert "No form is as cheap as the dot product" in text
    assert "*stopped at 0* 2.00, *k − projection* 0.25, *quadratic features, fused* 0.50." in text
    assert "Fastest is *stopped at 0*." in text
    text = claims.costs(made_up.costs(features=(8.0, 8.0, 8.0), fused=3.0), times).data
    assert text.startswith("With *d* = 8 they are the fastest of the exact forms at none of these")
    assert "No form is as cheap" not in text
    grown = made_up.costs()
    for form, seconds in (("features", 0.2), ("expanded", 4.0)):
        grown.runs["16 2048"][form]["seconds"] = seconds
    assert not claims.features_pay(grown)  # more in wide heads than in small ones


def test_where_the_surplus_is() -> None:
    text = claims.where(made_up.by_token()).data
    assert text.startswith("Not only there: a surplus is left on the copies too")
    assert "Most of the rest falls on the first few tokens. These" in text
    text = claims.where(made_up.by_token(early=("dot", "volume"))).data
    assert "first four predictions with the dot product and the volume; with the angle" in text
    text = claims.where(made_up.by_token(early=(), copies=0.0)).data
    assert text.startswith("The rest is spread over many tokens.")


def test_which_parts_of_a_circuit_stand_out() -> None:
    two = made_up.kinds(recipe.KINDS)
    text = claims.circuit(made_up.circuits(), two).data
    assert "five times that and more, with dot, volume, angle." in text
    assert "about 0.08" in text and "only 0.62 of these" in text and "letters it is 0.94" in text
    assert "It cannot be the textbook rule alone." in text
    text = claims.circuit(made_up.circuits(0.39), two).data  # less than five times 0.08
    assert "with dot." in text
    slow = two | {"dot": learning(right=0.8)}
    assert "with volume, angle." in claims.circuit(made_up.circuits(), slow).data
    none = claims.circuit(made_up.circuits(), made_up.kinds(recipe.KINDS, right=0.5)).data
    assert "Both parts do not stand out clearly with any score." in none
    assert "The textbook rule alone would do as well." in none


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
    usual, turned = (claims.loudness(made_up.loudness(**changes)).data for changes in ({}, change))
    assert before in usual and after not in usual
    assert after in turned and before not in turned
    for said in (
        "still gets 0.97 of the other copies right, the dot product 0.11.",
        "0.08 are right at a factor of 3",
        "with one token at a tenth, 0.12 of the other copies",
    ):
        assert said in usual


def test_the_power_that_holds_the_spread() -> None:
    text = claims.spreads(-34143.2, 0.9961).data
    assert "scores reach −34,143, and the largest weight of a row is 0.996 on" in text
    assert "divide by *d* to the power of 2.5" in text
    assert "by 5 × 10⁻¹⁶ of the largest score" in claims.features(5e-16).data


def answer(seen: Evidence) -> str:
    return claims.answer(every(seen), seen).data.replace("\u00a0", " ")


PAIRED = (("volume", recipe.WIDER), ("angle", recipe.WIDER), ("angle", "line"))


@pytest.mark.parametrize("layers", ["one layer", "two layers"])
@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [(1.2, 1.5, "ends lower than"), (1.5, 1.2, "ends higher than"), (1.5, 1.5, "cannot be told")],
)
def test_the_answer_says_what_each_pair_says(
    layers: str, ours: float, theirs: float, words: str
) -> None:
    levels = {recipe.WIDER: theirs, "line": theirs, "volume": ours, "angle": ours}
    text = answer(with_ends(evidence(), layers, levels, others=1.0))
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
    seen = evidence()
    for layers in ("one layer", "two layers"):
        seen = with_ends(seen, layers, {"angle": 1.2}, others=1.5)
    assert "So here the reference buys something" in answer(seen)
    assert answer(seen).count("(p = 0.0016)") == 2
    seen = with_ends(seen, "one layer", {"angle": 1.5}, others=1.5)
    assert "we cannot say that the reference buys anything in both" in answer(seen)
    assert "no plane (p = 1); with two it ends lower than it (p = 0.0016)." in answer(seen)


def test_the_answer_says_after_how_many_steps() -> None:
    seen = evidence()
    live = made_up.kinds(recipe.KINDS, right=0.8) | {"dot": learning(right=0.97)}
    text = answer(replace(seen, live={**seen.live, "two layers": live}))
    assert "(8 seeds each, recorded, 1,200 and 1,200 steps)" in text
    assert (
        "After the 1,200 steps run here two layers copy 0.97 with the dot product and 0.80" in text
    )


def test_the_answer_says_what_the_task_tested() -> None:
    assert answer(evidence()).endswith(
        "And the task did not test what it was meant to test. One layer of any score solves it by "
        "counting places; when the period varies, no single layer does."
    )
    for name in ("live", "recorded"):
        old = getattr(evidence(), name)
        layers = {**old["one layer, random period"], "angle": learning(right=[0.3, 0.95])}
        seen = evidence(**{name: {**old, "one layer, random period": layers}})
        assert answer(seen).endswith("when the period varies, one does with the angle.")
    assert "tested what it was meant" in answer(evidence(moved=made_up.transfer(elsewhere=0.95)))
    assert answer(evidence(moved=made_up.transfer(home=0.5))).endswith("could not be told here.")


def test_the_answer_says_whether_strangers_are_silenced() -> None:
    assert answer(evidence()).startswith("A loud stranger is silenced, as the author hoped; what")
    loud = made_up.loudness(others_volume_100=0.3)
    assert answer(evidence(loud=loud)).startswith("A loud stranger is not silenced here")


def test_the_recorded_column_names_its_seeds() -> None:
    assert claims.recorded_column(evidence().recorded) == THERE
    assert claims.recorded_column({"a": {"b": learning(seeds=4)}}) == "recorded, 4 seeds"


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
