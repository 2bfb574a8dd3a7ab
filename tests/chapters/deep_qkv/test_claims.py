"""The chapter's claims, each turned round by turning its evidence round; the live sentence."""

import math
from dataclasses import replace

import pytest
import torch

from attn_notes.analysis.claims import Claim
from attn_notes.chapters.deep_qkv import claims, evidence, pull, recipe
from attn_notes.chapters.deep_qkv.evidence import Crowd
from attn_notes.tasks import sorting

from .made_up import EARLY, LATE, NAN, NEVER, SEEDS, crowd, crowds

# The claim's words, who has to be first for it to hold, and whom it has to beat.
PAIRS = {
    "Gated converges before plain": ("gated", "plain"),
    "Divided by three converges before plain": ("fixed_gate", "plain"),
    "Gated converges before divided by three": ("gated", "fixed_gate"),
    "A smaller start alone converges before plain": ("plain_third", "plain"),
    "Strict converges before plain": ("strict", "plain"),
    "Gated converges before strict": ("gated", "strict"),
    "Two letters out of the loss, plain, converges before gated with all six": (
        "plain, knowable",
        "gated",
    ),
    "Two letters out of the loss, plain, converges before divided by three with all six": (
        "plain, knowable",
        "fixed_gate",
    ),
    "Two letters out of the loss converges before all six, plain": ("plain, knowable", "plain"),
    "Loss on the answer only converges before all six, plain": ("plain, answer", "plain"),
    "Two letters out of the loss converges before all six, gated": ("gated, knowable", "gated"),
    "Loss on the answer only converges before all six, gated": ("gated, answer", "gated"),
}
SAFER = "“Safer”: more gated seeds than strict converge"
FLOOR = "No loss lies below the floor"
CAPACITY = {
    "“Retains capacity”: some gated seed sorts all 27": "gated",
    "Strict, without a base, has it too": "strict",
}


def verdict(text: str, some: dict[str, Crowd]) -> bool | None:
    """What is found of one claim."""
    (claim,) = (claim for claim in claims.every({"made up": some}) if claim.text == text)
    return claim.findings["made up"].verdict


def test_these_are_all_the_claims() -> None:
    every = [claim.text for claim in claims.every({"made up": crowds()})]
    assert every == [*CAPACITY, SAFER, *PAIRS, FLOOR]


@pytest.mark.parametrize("text", PAIRS)
@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (EARLY, LATE, True),
        (LATE, EARLY, False),
        (EARLY, EARLY, None),
        (EARLY, NEVER, True),
        (NEVER, EARLY, False),
        (NAN, NAN, None),
        (NAN, EARLY, False),
        (EARLY, NAN, True),
    ],
    ids=[
        "early",
        "late",
        "level",
        "they never",
        "we never",
        "no number",
        "ours none",
        "theirs none",
    ],
)
def test_who_is_first(text: str, ours: object, theirs: object, expected: bool | None) -> None:
    first, second = PAIRS[text]
    assert verdict(text, {first: crowd(ours), second: crowd(theirs)}) is expected


@pytest.mark.parametrize("text", CAPACITY)
def test_one_seed_shows_capacity(text: str) -> None:
    kind = CAPACITY[text]
    one = NEVER.clone()
    one[3] = 900.0
    assert verdict(text, {kind: crowd(one), "plain": crowd()}) is True
    assert verdict(text, {kind: crowd(NEVER), "plain": crowd()}) is False
    assert verdict(text, {kind: crowd(NAN), "plain": crowd()}) is False


@pytest.mark.parametrize(
    ("gated", "strict", "expected"),
    [(LATE, NEVER, True), (NEVER, EARLY, False), (LATE, EARLY, None), (NAN, NAN, None)],
)
def test_safer_counts_seeds_and_not_steps(
    gated: object, strict: object, expected: bool | None
) -> None:
    assert verdict(SAFER, {"gated": crowd(gated), "strict": crowd(strict)}) is expected


@pytest.mark.parametrize(
    ("lowest", "expected"),
    [(sorting.FLOOR, True), (sorting.FLOOR - 1e-4, False), (math.nan, False)],
)
def test_a_loss_below_the_floor(lowest: float, expected: bool) -> None:
    some = crowds()
    some["strict"] = replace(some["strict"], lowest=lowest)
    assert verdict(FLOOR, some) is expected
    assert f"{min(0.367, lowest):.4f}" in str(claims.above_floor(some)) or math.isnan(lowest)


def test_families_are_corrected_each_for_itself() -> None:
    """Seven questions of weights, six of the loss: the smallest p counts so many times."""
    found = claims.every({"made up": crowds(gated=LATE)})
    alone = evidence.compare(crowd(EARLY), crowd(LATE)).p
    sizes = {name: [c for c in found if c.family == name] for name in ("weights", "loss", "")}
    assert {name: len(members) for name, members in sizes.items()} == {
        "weights": 7,
        "loss": 6,
        "": 3,
    }
    for name in ("weights", "loss"):
        least = min(claim.findings["made up"].p for claim in sizes[name])
        assert least == pytest.approx(len(sizes[name]) * alone)


def test_what_a_correction_takes_back() -> None:
    """One question alone is decided at p = .03; among seven it is not."""
    shifted = EARLY + 35
    alone = claims.before(crowd(EARLY), crowd(shifted))
    assert alone.verdict is True and 0.05 / 7 < alone.p < 0.05
    assert verdict("Gated converges before plain", crowds(plain=shifted)) is None


def test_a_finding_says_its_numbers() -> None:
    c = claims.before(crowd(EARLY), crowd(LATE))
    assert c.found == "1.00"
    assert claims.before(crowd(LATE), crowd(EARLY)).found == "0.00"
    few = EARLY.clone()
    few[:3] = math.inf
    assert claims.capacity(crowd(few)).found == f"{SEEDS - 3} of {SEEDS}"
    assert (
        claims.more_arrive(crowd(few), crowd(EARLY)).found
        == f"9 of {SEEDS} against {SEEDS} of {SEEDS}"
    )


def test_the_lessons_lines_are_those_of_the_evidence() -> None:
    bodies = {"recorded": crowds(gated=LATE)}
    found = claims.lesson(bodies)
    of_the_loss = [list(PAIRS)[i] for i in (6, 10)]
    assert [claim.text for claim in found] == [next(iter(CAPACITY)), *list(PAIRS)[:3], *of_the_loss]
    every = claims.every(bodies)
    assert [claim for claim in every if claim in found] == found  # the same p on both pages


def test_a_question_is_asked_of_who_can_answer() -> None:
    few = {kind: crowd() for kind in ("gated", "plain")}
    found = claims.comparisons({"few": few, "all": crowds(gated=LATE)})
    assert [[*bodies] for bodies in found.values()] == [["few", "all"], ["all"], ["all"]]
    assert found["gated before plain"]["few"].first == 0.5
    assert found["gated before plain"]["all"].first == 0


@pytest.mark.parametrize("text", claims.PULL)
def test_whose_pull_it_is(text: str) -> None:
    first, second = claims.PULL[text]
    level = dict.fromkeys(pull.WAYS, crowd(EARLY))
    ways = {0.02: level | {second: crowd(LATE)}, 0.04: level}
    (found,) = (claim for claim in claims.pull_claims(ways) if claim.text == text)
    assert [finding.verdict for finding in found.findings.values()] == [True, None]
    seeds = len(recipe.LIVE.seeds)
    assert [*found.findings] == [f"rate 0.02, {seeds} seeds", f"rate 0.04, {seeds} seeds"]
    turned = claims.pull_claims({0.02: level | {first: crowd(LATE)}})
    (finding,) = next(claim for claim in turned if claim.text == text).findings.values()
    assert finding.verdict is False
    alone = claims.before(crowd(LATE), crowd(EARLY)).p
    assert finding.p == pytest.approx(len(claims.PULL) * alone)  # one family


class TestRank:
    def made(self, **changed: torch.Tensor) -> dict[str, Crowd]:
        cells = [(r, t) for r in recipe.RANKS for t in recipe.TEMPERATURES]
        default = torch.where(torch.arange(SEEDS) % 2 == 0, EARLY, EARLY + 40)
        return {
            f"{v} {r} {t}": crowd(
                changed.get(f"rank{r}", changed.get(f"heat{t:g}".replace(".", "_"), default))
            )
            for v in ("gated", "strict")
            for r, t in cells
        }

    @pytest.mark.parametrize(
        ("changed", "rank", "heat"),
        [
            ({}, None, None),
            ({"rank1": EARLY - 50}, True, None),
            ({"rank1": LATE}, False, None),
            ({"heat10": EARLY - 50}, None, True),
            ({"heat10": LATE}, None, False),
            ({"rank1": NAN}, None, None),
        ],
    )
    def test_verdicts(self, changed: dict, rank: bool | None, heat: bool | None) -> None:
        found = claims.rank_claims(self.made(**changed))
        assert [next(iter(c.findings.values())).verdict for c in found] == [rank, heat] * 2
        assert [c.text for c in found] == [
            f"{v}: {text} converges before {other}"
            for v in ("Gated", "Strict")
            for text, other in (("rank 1", "rank 3"), ("τ = 10", "τ = 0.1"))
        ]

    def test_a_seed_counts_once(self) -> None:
        (claim, *_) = claims.rank_claims(self.made(rank1=EARLY - 50))
        (name, finding) = next(iter(claim.findings.items()))
        assert name == f"recorded, {SEEDS} seeds"
        assert finding.found == f"{SEEDS} of {SEEDS} seeds, 0 level"
        assert finding.p == pytest.approx(4 * 2 / 2**SEEDS)


def test_the_widgets_words() -> None:
    found = evidence.Finder("gated", 7, 1, "a", 0.934, 19)
    assert claims.finder_words(found) == (
        "Gated, seed 7: when it writes the first letter, head 2 spends 93 % of its attention on "
        "the a's of the word (mean over the 19 words that have one)."
    )


def test_a_claim_needs_evidence() -> None:
    assert claims.every({"made up": {"plain": crowd()}}) == [
        Claim(FLOOR, {"made up": claims.above_floor({"plain": crowd()})})
    ]
