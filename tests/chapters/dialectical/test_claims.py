"""Every verdict of the chapter turns with its evidence, and no other one with it."""

import re
from collections.abc import Callable
from math import nan

import pytest
import torch

from attn_notes.analysis import statistics
from attn_notes.analysis.statistics import Finding
from attn_notes.chapters.dialectical import claims, recipe
from attn_notes.chapters.dialectical.evidence import Recorded

from . import made_up
from .made_up import SEEDS

EIGHT = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
MINUS = [-x for x in EIGHT]
MIXED = [0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.4, -0.4]


@pytest.mark.parametrize(
    ("finding", "values", "verdict", "found"),
    [
        (claims.never_below, [0.2, 0.1], True, "the lowest ends 0.100 nats above the floor"),
        (claims.never_below, [0.2, -0.1], False, "the lowest ends 0.100 nats below the floor"),
        (claims.never_below, [0.2, -0.0005], True, None),  # rounding
        (claims.never_below, [0.2, nan], False, None),
        (claims.near, [0.029, 0.01], True, "0.010 to 0.029 nats above the floor"),
        (claims.near, [0.031, 0.01], False, None),
        (claims.near, [0.01, -0.2], False, None),
        (claims.near, [0.01, nan], False, None),
        (claims.reads_no_future, [0.0, 0.0], True, "no logit moves"),
        (claims.reads_no_future, [0.0, 0.5], False, "a logit moves by 0.5"),
        (claims.reads_no_future, [0.0, nan], False, None),
        (claims.streams_differ, [0.2, 0.4], True, "attention differs by 0.20 to 0.40 at most"),
        (claims.streams_differ, [0.2, 0.0], False, None),
        (claims.streams_differ, [0.2, nan], False, None),
        (claims.halts, [5.5, 4.0], True, "in 2 of 2 seeds, 4.00 to 5.50 of 6 steps"),
        (claims.halts, [5.5, 6.0], False, None),
        (claims.halts, [nan, 4.0], False, None),
        (claims.follows_doubt, EIGHT, True, "correlation 0.10 to 0.80"),
        (claims.follows_doubt, MINUS, False, "correlation −0.80 to −0.10"),
        (claims.follows_doubt, MIXED, None, None),
        (claims.follows_doubt, [*EIGHT[:-1], nan], None, None),
        (claims.loses_less, MINUS, True, "−800.0 to −100.0 thousandths"),
        (claims.loses_less, EIGHT, False, None),
        (claims.loses_less, MIXED, None, None),
        (claims.loses_less, [nan, *MINUS[1:]], None, None),
    ],
)
def test_a_finding_follows_its_numbers(
    finding: Callable[[torch.Tensor], Finding],
    values: list[float],
    verdict: bool | None,
    found: str | None,
) -> None:
    told = finding(torch.tensor(values))
    assert told.verdict is verdict
    assert found is None or told.found == found


def test_tension_falls_from_the_first_step_to_the_last() -> None:
    falling = torch.tensor([[0.5, 0.9, 0.4]] * SEEDS)
    assert claims.falls(falling).verdict is True
    assert claims.falls(falling.flip(1)).verdict is False
    assert claims.falls(falling[:5]).verdict is None  # five seeds tell nothing
    assert claims.falls(falling).found == "last less first −0.10"


def test_no_text_may_be_wrong() -> None:
    assert claims.none_wrong(0, 26) == Finding(True, "none of 26 texts")
    assert claims.none_wrong(2, 26) == Finding(False, "2 of 26 texts")


def verdicts(made: Recorded) -> dict[str, bool | None]:
    return {c.text: c.findings["recorded"].verdict for c in claims.evidence(made)}


def no_future(made: Recorded, kind: str) -> None:
    made_up.of_inside(made, kind, "leak", [0.0] * 7 + [1.0])


def one_stream(made: Recorded, kind: str) -> None:
    made_up.of_inside(made, kind, "streams apart", [0.5] * 7 + [0.0])


def six_steps(made: Recorded, kind: str) -> None:
    made_up.of_parts(made, kind, "mean steps", [5.0] * 7 + [6.0])


def far(made: Recorded, kind: str) -> None:
    made_up.ends(made, kind, [*made_up.LEVEL[:-1], 0.04])


def below(made: Recorded, kind: str) -> None:
    made_up.ends(made, kind, [*made_up.LEVEL[:-1], -0.1])


def no_number(made: Recorded, kind: str) -> None:
    made_up.ends(made, kind, [*made_up.LEVEL[:-1], nan])


@pytest.mark.parametrize(
    ("kind", "name"),
    [("published", "As published"), ("published, masked", "Mask mended"),
     ("corrected", "Corrected")],
)  # fmt: skip
@pytest.mark.parametrize(
    ("change", "turned"),
    [
        (no_future, {"a prediction depends on no later character"}),
        (one_stream, {"“Opposed streams”, that is, the two attend differently"}),
        (six_steps, {"“per-token halting”: in every seed some tokens halt"}),
        (far, {"every seed ends within 0.03 nats above it"}),
        (below, {"no loss lies below the best predictor's",
                 "every seed ends within 0.03 nats above it"}),
        (no_number, {"no loss lies below the best predictor's",
                     "every seed ends within 0.03 nats above it"}),
    ],
)  # fmt: skip
def test_what_is_said_of_a_model_is_read_off_that_model(
    kind: str, name: str, change: Callable[[Recorded, str], None], turned: set[str]
) -> None:
    made = made_up.recorded()
    before = verdicts(made)
    made = made_up.recorded()
    change(made, kind)
    after = verdicts(made)
    expected = {f"{name}: {text}" for text in turned} & before.keys()
    assert {text for text in before if before[text] is not after[text]} == expected
    assert all(before[text] is True and after[text] is False for text in expected)


FIRST_LOWER = {
    "With the gate ends lower than without, both halting": ("corrected", "no tension gate"),
    "With the gate ends lower than without, neither halting": ("no halting", "neither"),
    "With halting ends lower than without": ("corrected", "no halting"),
    "The whole ends lower than with one reading": ("corrected", "one stream"),
    "The whole ends lower than plain recursion": ("corrected", "plain recursion"),
    "The whole ends lower than two readings without gate or halting": ("corrected", "neither"),
    "Two readings without gate or halting end lower than plain recursion": (
        "neither", "plain recursion"),
    "Two readings without gate or halting end lower than one reading": ("neither", "one stream"),
    "The whole, six steps, ends lower than one step": ("corrected", "one step"),
    "Plain recursion, six steps, ends lower than one step": ("plain recursion", "one step"),
    "All five parts mended end lower than the mask alone": ("corrected", "published, masked"),
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(set(recipe.KINDS) - {"published"}))
@pytest.mark.parametrize("by", [-0.01, 0.01])
def test_a_comparison_is_of_the_two_kinds_that_it_names(kind: str, by: float) -> None:
    made = made_up.recorded()
    made_up.ends(made, kind, [excess + by for excess in made_up.LEVEL])
    found = {c.text: c.findings["recorded"].verdict for c in claims.about_parts(made).values()}
    assert found.keys() == FIRST_LOWER.keys()
    for text, pair in FIRST_LOWER.items():
        expected = (by < 0) == (pair[0] == kind) if kind in pair else None
        assert found[text] is expected, text


def test_comparisons_are_corrected_for_being_eleven() -> None:
    """Seven of eight seeds of the one below all of the other's: p = .0104 alone, not of eleven."""
    made = made_up.recorded()
    apart = [excess - 0.001 for excess in made_up.LEVEL]
    apart[-2:] = [0.0299, 0.0298]
    made_up.ends(made, "one step", apart)
    pair = claims.about_parts(made)["corrected", "one step"].findings["recorded"]
    alone = claims.statistics.ends_lower(made.ends["corrected"], made.ends["one step"])
    assert alone.p is not None and pair.p is not None
    assert pair.p == pytest.approx(min(1, len(FIRST_LOWER) * alone.p))


@pytest.mark.parametrize("tau", recipe.TOLD)
@pytest.mark.parametrize(
    ("loss", "verdict"),
    # Three moves for everybody lose 0.375, and four steps, 0.25.
    [(0.35, True), (0.4, False), (0.375, None)],
)
def test_halting_is_held_against_equal_moves(tau: float, loss: float, verdict: bool | None) -> None:
    made = made_up.recorded()
    made_up.halting(made, tau, [loss] * SEEDS)
    text = f"Halting below a tension of {tau} loses less than moving all tokens equally often"
    found = verdicts(made)
    assert found[text] is verdict
    assert [found[t] for t in found if t.startswith("Halting below") and t != text] == [None] * 3


@pytest.mark.parametrize(("sign", "verdict"), [(1, True), (-1, False), (0, None)])
def test_tension_is_held_against_doubt_and_along_the_recursion(
    sign: int, verdict: bool | None
) -> None:
    made = made_up.recorded()
    made_up.of_parts(made, "corrected", "tension and entropy", [sign * 0.2] * SEEDS)
    rows = [[0.5, 0.5, 0.5, 0.5, 0.5, 0.5 - sign * 0.1]] * SEEDS
    made_up.of_parts(made, "no halting", "tension", rows)
    found = verdicts(made)
    assert found["Tension is higher where the next character is less certain"] is verdict
    assert found["Tension falls along the recursion (without halting, all tokens)"] is verdict


TRAINED, LOWER = "as trained", "logits lower by 30"


@pytest.mark.parametrize("kind", ["published", "corrected"])
@pytest.mark.parametrize(
    ("logits", "decoder", "name", "begins"),
    [
        (TRAINED, "published", "unbalanced", "“a constrained decoder to avoid unbalanced"),
        (TRAINED, "published", "ten fillers in a row", "“… and trailing PAD/space runs”"),
        (TRAINED, "published", "exceed the budget", "The published decoder keeps"),
        (LOWER, "published", "contain PAD", "Its ban of PAD"),
        (TRAINED, "grammar", "unbalanced", "By the grammar: balanced"),
        (LOWER, "grammar", "unbalanced", "By the grammar: balanced"),
        (TRAINED, "grammar", "contain PAD", "By the grammar: no PAD"),
        (LOWER, "grammar", "exceed the budget", "By the grammar: within the budget"),
        (LOWER, "published", "unbalanced", None),
        (TRAINED, "grammar", "ten fillers in a row", None),
    ],
)
def test_one_wrong_text_turns_one_promise(
    kind: str, logits: str, decoder: str, name: str, begins: str | None
) -> None:
    before = verdicts(made_up.recorded())
    made = made_up.recorded()
    made_up.fault(made, kind, logits, decoder, name)
    after = verdicts(made)
    turned = [text for text in before if before[text] is not after[text]]
    assert len(turned) == (begins is not None)
    assert all(text.startswith(begins or "") and after[text] is False for text in turned)
    found = {c.text: c.findings["recorded"].found for c in claims.about_writing(made)}
    texts = 2 * 2 * 3 * 26  # kinds, budgets, seeds, prompts
    for text in turned:
        total = texts * (2 if text.startswith("By the grammar") else 1)
        assert found[text] == f"1 of {total} texts"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (dict(published=(0.1, 0.1, 0.1)), 0),
        (dict(mended=(0.02, 0.04, 0.01)), 1),
        (dict(mended=(0.02, -0.04, 0.01)), 1),
        (dict(leaks=(0.0, 0.1, 0.0)), 2),
    ],
)
def test_the_lessons_lines_turn_with_the_readers_own_runs(changes: dict, line: int) -> None:
    made = made_up.recorded()
    before, after = (
        [c.findings.get("here") for c in claims.lesson(made_up.live(**given), made)]
        for given in ({}, changes)
    )
    turned = [
        i
        for i, (b, a) in enumerate(zip(before, after, strict=True))
        if b and a and b.verdict is not a.verdict
    ]
    assert turned == [line]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda made: below(made, "published"), 0),
        (lambda made: far(made, "published, masked"), 1),
        (lambda made: no_future(made, "published, masked"), 2),
        (lambda made: made_up.ends(made, "plain recursion", [0.5] * SEEDS), 3),
        (lambda made: made_up.fault(made, "corrected", TRAINED, "published", "unbalanced"), 4),
    ],
)
def test_the_lessons_lines_turn_with_the_records(
    change: Callable[[Recorded], None], line: int
) -> None:
    made = made_up.recorded()
    change(made)
    before, after = (
        [c.findings["recorded"].verdict for c in claims.lesson(made_up.live(), evidence)]
        for evidence in (made_up.recorded(), made)
    )
    assert len(before) == 5
    assert [b is not a for b, a in zip(before, after, strict=True)] == [i == line for i in range(5)]


@pytest.mark.parametrize(
    ("values", "falls"),
    [
        ([0.1, -0.1], True),
        ([0.1, -0.5 * statistics.ROUNDING], False),
        ([0.1, -2 * statistics.ROUNDING], True),
        ([nan, -0.1], False),
    ],
)
def test_a_loss_falls_below_the_floor_by_more_than_rounding(
    values: list[float], falls: bool
) -> None:
    assert claims.falls_below(torch.tensor(values)) is falls


def test_pairs_are_said_to_be_of_seeds() -> None:
    made = made_up.recorded()
    made_up.ends(made, "corrected", [0.01] * SEEDS)
    for claim in claims.about_parts(made).values():
        assert re.search(
            r"^lower in [\d.]+ of 64 pairs of seeds$", claim.findings["recorded"].found
        )
    whole = claims.about_parts(made)["corrected", "plain recursion"].findings["recorded"]
    assert whole.found == "lower in 64 of 64 pairs of seeds"


def test_signs_are_corrected_within_their_question() -> None:
    """Eight seeds on one side have p = 2 / 256; four thresholds are asked of, and two signs."""
    made = made_up.recorded()
    made_up.halting(made, 0.2, [0.3] * SEEDS)
    made_up.of_parts(made, "corrected", "tension and entropy", [0.2] * SEEDS)
    found = {c.text: c.findings["recorded"].p for c in claims.about_tension(made)}
    (halting,) = (
        p for text, p in found.items() if text.startswith("Halting below a tension of 0.2 ")
    )
    assert halting == pytest.approx(4 * 2 / 256)
    assert found["Tension is higher where the next character is less certain"] == pytest.approx(
        2 * 2 / 256
    )
