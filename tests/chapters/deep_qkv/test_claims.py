"""The chapter's claims and sentences, each turned round by turning its evidence round."""

import math
from dataclasses import replace

import pytest
import torch

from attn_notes.analysis.claims import Claim
from attn_notes.chapters.deep_qkv import claims, evidence, recipe
from attn_notes.chapters.deep_qkv.evidence import Crowd
from attn_notes.tasks import sorting

from .made_up import EARLY, LATE, NAN, NEVER, SEEDS, Fixed, crowd, crowds

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
    assert c.found == "1.00 (1.00 to 1.00)"
    assert claims.before(crowd(LATE), crowd(EARLY)).found == "0.00 (0.00 to 0.00)"
    few = EARLY.clone()
    few[:3] = math.inf
    assert claims.capacity(crowd(few)).found == f"{SEEDS - 3} of {SEEDS}"
    assert (
        claims.more_arrive(crowd(few), crowd(EARLY)).found
        == f"9 of {SEEDS} against {SEEDS} of {SEEDS}"
    )


def test_the_lesson_has_five_lines_in_order() -> None:
    bodies = {"live": {kind: crowds()[kind] for kind in claims.LESSON}, "recorded": crowds()}
    found = claims.lesson(bodies)
    assert [claim.text for claim in found] == [
        next(iter(CAPACITY)),
        *list(PAIRS)[:3],
        list(PAIRS)[6],
    ]
    assert all(list(claim.findings) == ["live", "recorded"] for claim in found)
    every = {claim.text: claim for claim in claims.every({"recorded": bodies["recorded"]})}
    for claim in found:  # the same verdict and the same p on both pages
        assert claim.findings["recorded"] == every[claim.text].findings["recorded"]


def bodies(**changed: object) -> evidence.Bodies:
    """A small live body that says nothing and a recorded one that is changed."""
    small = {kind: crowd(EARLY[:5]) for kind in claims.LESSON}
    return {"live, 5 seeds": small, "recorded, 12 seeds": crowds(**changed)}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"gated": LATE}, "hurts"),
        ({"gated": LATE, "plain": LATE}, "Dividing by three helps; that the gate helps cannot"),
        ({"plain": LATE}, "The gate helps, and so does its control"),
        ({"plain": LATE, "fixed_gate": LATE}, "The gate helps, its control does not"),
        ({"plain": LATE, "gated": LATE + 300}, "Dividing by three helps; the gate that does"),
        ({}, "Neither the gate nor its control"),
        ({"fixed_gate": NAN, "gated": NAN, "plain": NAN}, "Neither the gate nor its control"),
    ],
)
def test_the_title_of_the_weights(changed: dict, words: str) -> None:
    assert words in claims.weights_title(bodies(**changed))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"plain": LATE}, "half converge by step 150, not 650"),
        ({"plain": NEVER}, "more converge, and sooner"),
        ({}, "no difference that can be told"),
        ({"plain__knowable": LATE}, "no difference that can be told"),
        ({"plain": NAN, "plain__knowable": NAN}, "no difference"),
    ],
)
def test_the_title_of_the_loss(changed: dict, words: str) -> None:
    assert words in claims.loss_title(bodies(**changed))


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"gated": LATE, "plain": LATE},
            "The gate does worse than dividing by three (recorded, 12 seeds). Gated weights "
            "converge after weights that are only divided by three; they cannot be told from plain "
            "ones, and the divided converge before these.",
        ),
        (
            {"plain": LATE},
            "Nothing shows that the gate does more than divide by three (recorded, 12 seeds). "
            "Gated weights cannot be told from weights that are only divided by three; both "
            "converge before plain ones.",
        ),
        (
            {"plain": LATE, "fixed_gate": LATE},
            "The gate does more than divide by three (recorded, 12 seeds). Gated weights converge "
            "before weights that are only divided by three; they converge before plain ones, and "
            "the divided cannot be told from these.",
        ),
        (
            {"gated": LATE, "fixed_gate": LATE + 400},
            "The gate does more than divide by three (recorded, 12 seeds). Gated weights converge "
            "before weights that are only divided by three; both converge after plain ones.",
        ),
    ],
)
def test_the_meaning_of_the_gate(changed: dict, text: str) -> None:
    assert claims.gate_meaning(bodies(**changed)).data == text


FEW = torch.where(torch.arange(SEEDS) < 5, LATE, math.inf)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"plain": FEW, "gated": LATE, "fixed_gate": LATE},
            "What is asked decides more than how the weights are made: with two letters out of its "
            "loss the plain sorter converges before all three others (recorded, 12 seeds). 12 of "
            "its 12 seeds converge; asked for all six, 5.",
        ),
        (
            {"plain": LATE, "gated": LATE},
            "With two letters out of its loss the plain sorter converges before gated and plain "
            "(recorded, 12 seeds). 12 of its 12 seeds converge; asked for all six, 12.",
        ),
        (
            {"plain__knowable": FEW},
            "Nothing shows that leaving two letters out of the loss helps (recorded, 12 seeds). 5 "
            "of its 12 seeds converge; asked for all six, 12.",
        ),
    ],
)
def test_the_meaning_of_the_loss(changed: dict, text: str) -> None:
    assert claims.loss_meaning(bodies(**changed)).data == text


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"plain": LATE, "gated": LATE - 200, "fixed_gate": LATE - 200},
            [
                "A new kind of weights learned to sort sooner than the old ones. So did the old "
                "ones divided by three. And leaving two letters that nobody can know out of the "
                "loss helped more than either."
            ],
        ),
        (
            {"plain": LATE, "gated": LATE},
            ["no sooner", "The old ones divided by three did.", "not"],
        ),
        ({"gated": LATE}, ["later than the old ones", "could not be told from", "did not beat"]),
        ({"fixed_gate": LATE, "gated": LATE}, ["divided by three were later"]),
        ({}, ["no sooner", "Nor did the old ones", "did not beat both"]),
        ({"plain": NAN, "gated": NAN, "fixed_gate": NAN}, ["no sooner", "Nor did", "And leaving"]),
    ],
)
def test_the_chapter_retold(changed: dict, words: list[str]) -> None:
    text = claims.retold(bodies(**changed)).data
    assert all(part in text for part in words), text


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {},
            [
                "There none of the others can be told from plain, by when",
                "(12 seeds)",
                "matter either",
            ],
        ),
        ({"gated__knowable": EARLY - 60, "gated": LATE}, ["There gated can be told", "decides"]),
        ({"plain": LATE}, ["gated, divided by three, plain started at a third and strict can"]),
    ],
)
def test_the_published_settings(changed: dict, words: list[str]) -> None:
    text = claims.published_words(crowds(**changed)).data
    assert "0.001 for all and 1,000 steps?" in text
    assert all(part in text for part in words), text


def test_the_order_that_was_to_be_predicted() -> None:
    made = {"plain": LATE, "gated": EARLY, "fixed_gate": NEVER, "plain, knowable": EARLY - 60}
    text = claims.order({kind: crowd(arrivals) for kind, arrivals in made.items()}).data
    named = ["two letters left out (", "gated (", "plain (", "divided by three (never)"]
    places = [text.index(name) for name in named]
    assert places == sorted(places), text


def sweep(**arrivals: dict[float, torch.Tensor]) -> dict:
    return {kind: {rate: crowd(a) for rate, a in each.items()} for kind, each in arrivals.items()}


def test_where_gated_is_ahead() -> None:
    made = sweep(
        gated={0.005: EARLY, 0.02: LATE, 0.08: EARLY},
        plain={0.005: LATE, 0.02: EARLY, 0.08: NEVER},
    )
    text = claims.at_one_rate(made).data
    assert "ahead of plain at 0.005 and 0.08 and behind at 0.02, by the mean step: who" in text
    turned = claims.at_one_rate({"gated": made["plain"], "plain": made["gated"]}).data
    assert "ahead of plain at 0.02 and behind at 0.005 and 0.08" in turned
    for gated, plain, word in (
        (EARLY, LATE, "ahead of"),
        (LATE, EARLY, "behind"),
        (LATE, LATE, "level with"),
    ):
        text = claims.at_one_rate(sweep(gated={0.02: gated}, plain={0.02: plain})).data
        assert text == f"At every rate of the sweep gated is {word} plain, by the mean step."


def test_each_at_its_best_rate() -> None:
    one_late = EARLY.clone()
    one_late[-1] = math.inf
    made = sweep(
        gated={0.005: LATE, 0.08: one_late},
        plain={0.005: EARLY + 20, 0.02: LATE},
    )
    text = claims.at_best_rates(made).data
    # A seed that never converges counts as the last step, 1,000, in a mean.
    mean = (EARLY[:-1].sum() + 1000) / SEEDS
    assert f"gated {mean:.0f} (at 0.08) and plain {EARLY.mean() + 20:.0f} (at 0.005)" in text
    assert "the median seeds' 150 and 170" in text


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


# Sentences of the evidence page


def test_a_letter_is_not_a_place() -> None:
    assert "So it goes by the letter, a, and not" in claims.letter_or_place(Fixed("letter"), 0).data
    assert "cannot be told apart" in claims.letter_or_place(Fixed("place"), 0).data


def test_the_widgets_words() -> None:
    found = evidence.Finder("gated", 7, 1, "a", 0.934, 19)
    assert claims.finder_words(found) == (
        "Gated, seed 7: when it writes the first letter, head 2 spends 93 % of its attention on "
        "the a's of the word (mean over the 19 words that have one)."
    )


def test_failure() -> None:
    blind = {"sort fewer than 24 inputs": (3, 5), "sort 24 to 26": (1, 2), "sort all 27": (0, 0)}
    failed = evidence.Failure("plain", 4, 18)
    text = claims.failure_words(failed, blind).data
    assert "plain, seed 4: it sorts 18 of 27" in text
    assert text.endswith(
        "3 of the 5 that sort fewer than 24 inputs and 1 of the 2 that sort 24 to 26."
    )
    assert "none failed" in claims.failure_words(evidence.Failure("plain", 4, 27), blind).data


def test_positions() -> None:
    made = {"plain": crowd(NEVER), "gated": crowd(EARLY)}
    text = claims.positions_words(made).data
    assert text.startswith("12 of 24 seeds sort")
    # The mean of 1 … 6, and two more at the last of three moments, above .4315.
    assert "ends 5.0685 nats above the least possible, 0.4315" in text


def test_the_trace() -> None:
    assert "on 25.3 of 27 inputs on average before training, on 0.0 after" in (
        claims.trace_words(25.3, 0.0).data
    )


def test_a_claim_needs_evidence() -> None:
    assert claims.every({"made up": {"plain": crowd()}}) == [
        Claim(FLOOR, {"made up": claims.above_floor({"plain": crowd()})})
    ]
