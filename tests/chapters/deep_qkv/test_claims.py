"""Chapter 1's claims and sentences, each turned round by turning its evidence round."""

import math
import re
from dataclasses import replace

import pytest
import torch

from attn_notes.analysis.claims import Claim
from attn_notes.chapters.deep_qkv import claims, evidence, recipe
from attn_notes.chapters.deep_qkv.evidence import Crowd
from attn_notes.models.deep_qkv import Config, Sorter
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


def bodies(**changed: object) -> claims.Bodies:
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
    ("changed", "words"),
    [
        ({"gated": LATE, "plain": LATE}, "gated cannot be told from plain; weights that are only"),
        ({"gated": LATE, "plain": LATE}, "divided by three converge before plain"),
        ({"gated": LATE, "plain": LATE}, "gated converges after them"),
        ({"gated": LATE, "plain": LATE}, "costs more than it brings"),
        ({"plain": LATE}, "gated cannot be told from them, so nothing shows that its choosing"),
        ({"plain": LATE, "fixed_gate": LATE}, "so what it learns to choose helps"),
        ({"plain": NEVER}, "by step 150 (gated), never (plain) and by step 150 (divided"),
    ],
)
def test_the_meaning_of_the_gate(changed: dict, words: str) -> None:
    text = claims.gate_meaning(bodies(**changed)).data
    assert words in text
    assert text.startswith("Recorded, 12 seeds: ")


@pytest.mark.parametrize(
    ("changed", "words", "absent"),
    [
        (
            {"plain": LATE, "gated": LATE, "fixed_gate": LATE},
            "before all three ways of making the weights",
            "That is before gated",
        ),
        ({"plain": LATE, "gated": LATE}, "That is before gated and plain.", "every way"),
        ({}, "12 of 12 plain seeds converge", "That is before"),
    ],
)
def test_the_meaning_of_the_loss(changed: dict, words: str, absent: str) -> None:
    text = claims.loss_meaning(bodies(**changed)).data
    assert words in text and absent not in text


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
        ({}, ["There no way of making weights can be told from plain (12 seeds)", "matter either"]),
        ({"gated__knowable": EARLY - 60, "gated": LATE}, ["There gated can be told", "decides"]),
        ({"plain": LATE}, ["gated, divided by three, plain, started at a third and strict can"]),
    ],
)
def test_the_published_settings(changed: dict, words: list[str]) -> None:
    text = claims.published_words(crowds(**changed)).data
    assert "0.001 for all and 1,000 steps?" in text
    assert all(part in text for part in words), text


def sweep(**arrivals: dict[float, torch.Tensor]) -> dict:
    return {kind: {rate: crowd(a) for rate, a in each.items()} for kind, each in arrivals.items()}


def test_where_gated_is_ahead() -> None:
    made = sweep(
        gated={0.005: EARLY, 0.02: LATE, 0.08: EARLY},
        plain={0.005: LATE, 0.02: EARLY, 0.08: NEVER},
    )
    text = claims.rates_meaning(made).data
    assert "ahead of plain at 0.005 and 0.08 and behind at 0.02" in text
    assert f"gated {EARLY.mean():.0f} (at 0.005) and plain {EARLY.mean():.0f} (at 0.02)" in text
    assert "the median seeds' 150 and 150" in text
    turned = claims.rates_meaning({"gated": made["plain"], "plain": made["gated"]}).data
    assert "ahead of plain at 0.02 and behind at 0.005 and 0.08" in turned
    same = claims.rates_meaning({"gated": made["gated"], "plain": made["gated"]}).data
    assert "ahead of" not in same and "behind" not in same


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


# Tables and sentences of the evidence page


def cells(table: object) -> list[list[str]]:
    """The cells of each row of a table."""
    rows = re.findall(r"<tr>(.*?)</tr>", table.data, re.S)
    return [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row) for row in rows]


def test_arrivals() -> None:
    half = EARLY.clone()
    half[6:] = math.inf
    table = claims.arrivals_table(
        {"gated": crowd(EARLY), "plain": crowd(half)}, {"gated": 0.08, "plain": 0.02}
    )
    _, gated, plain = cells(table)
    # Quartiles are seeds' own steps; 24 s for 12 seeds and 1,000 steps is 2 ms a seed and step.
    assert gated == ["gated", "0.08", "12 of 12", "150 (120 to 180)", "0.30 s"]
    assert plain == ["plain", "0.02", "6 of 12", "150 (120 to never)", "0.30 s"]
    never = cells(claims.arrivals_table({"plain": crowd(NEVER)}, {"plain": 0.02}))[1]
    assert never[2:] == ["0 of 12", "never (never to never)", "never"]


def test_the_blackboard() -> None:
    """Worked by hand: scores −1/√2, 3/√2 and 0; e to them .493, 8.343 and 1, in all 9.836."""
    header, keys, values, scores, attention = cells(claims.board_table(evidence.blackboard()))
    assert header == ["q = (3, −1), mixture = (3.60, 0.40)", "c", "a", "b"]
    assert keys[1:] == ["(0, 1)", "(1, 0)", "(0, 0)"]
    assert values[1:] == ["(0, 4)", "(4, 0)", "(2, 2)"]
    assert scores[1:] == ["−0.71", "2.12", "0.00"]
    assert attention[1:] == ["0.05", "0.85", "0.10"]
    weights = [math.exp(-1 / math.sqrt(2)), math.exp(3 / math.sqrt(2)), 1.0]
    by_hand = [4 * weights[1] + 2 * weights[2], 4 * weights[0] + 2 * weights[2]]
    assert evidence.blackboard().mixture.tolist() == pytest.approx(
        [x / sum(weights) for x in by_hand], rel=1e-6
    )


class Fixed(Sorter):
    """A sorter whose attention is set: head 0 reads the a's, or the first place, head 1 evenly."""

    def __init__(self, by: str) -> None:
        super().__init__(Config("plain"), torch.Generator().manual_seed(0))
        self.by = by

    def observe(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits, attention = super().observe(x)
        even = torch.ones_like(attention).tril()
        wanted = even.clone()
        if self.by == "letter":
            wanted[:, 0] *= 1e-6 + (x == 1)[:, None].float()
        else:
            wanted[:, 0, :, 1:] *= 1e-6
        return logits, wanted / wanted.sum(-1, keepdim=True)


def test_a_letter_is_not_a_place() -> None:
    assert "So it goes by the letter, a, and not" in claims.letter_or_place(Fixed("letter"), 0).data
    assert "cannot be told apart" in claims.letter_or_place(Fixed("place"), 0).data
    rows = cells(claims.head_table(Fixed("place")))
    assert rows[1] == ["head 1, 1st", "0.47", "0.47", "0.47", "1.00", "0.00", "0.00"]
    assert rows[4][0] == "head 2, 1st" and rows[4][4:] == ["0.25"] * 3
    letter = cells(claims.head_table(Fixed("letter")))[1]
    assert letter[1] == "1.00" and letter[4:] == ["0.31"] * 3  # (19 / 3 + 8 / 4) / 27


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


def test_spare_table() -> None:
    scores = {"token.weight": torch.tensor([[27, 27, 20]]), "norm.bias": torch.tensor([26, 27])}
    assert cells(claims.spare_table(scores))[1:] == [
        ["token embedding", "3", "2", "20"],
        ["last LayerNorm", "2", "1", "26"],
        ["the whole model", "5", "3", "20"],
    ]


def test_mistakes_are_shown_in_order() -> None:
    model = Sorter(Config("plain"), torch.Generator().manual_seed(0))
    rows = cells(claims.mistakes_table(model, most=3))
    assert len(rows) == 4
    for word, written, right, first, *chances in rows[1:]:
        assert right == "".join(sorted(word)) and written == model.sort(word) != right
        place = claims.NTH.index(first)
        assert written[:place] == right[:place] and written[place] != right[place]
        p = model.trace(word)[place].probabilities
        assert chances == [f"{p['|abc'.index(x[place])]:.2f}" for x in (written, right)]


def test_positions() -> None:
    made = {"plain": crowd(NEVER), "gated": crowd(EARLY)}
    text = claims.positions_words(made).data
    assert text.startswith("12 of 24 seeds sort")
    # The mean of 1 … 6, and two more at the last of three moments, above .4315.
    assert "ends 5.0685 nats above the least possible, 0.4315" in text
    rows = cells(claims.positions_table(made))
    assert rows[1][:3] == ["plain, without positions", "0 of 12", "5.5000"]
    assert rows[2][3:] == [f"{x:.3f}" for x in range(3, 9)]
    assert rows[3][2:] == ["0.4315", "1.179", "1.125", "0.285", "0.000", "0.000", "0.000"]
    assert rows[4][2:] == ["0.3662", "1.099", "1.099", "0.000", "0.000", "0.000", "0.000"]


def test_the_trace() -> None:
    assert "on 25.3 of 27 inputs on average before training, on 0.0 after" in (
        claims.trace_words(25.3, 0.0).data
    )


def test_a_claim_needs_evidence() -> None:
    assert claims.every({"made up": {"plain": crowd()}}) == [
        Claim(FLOOR, {"made up": claims.above_floor({"plain": crowd()})})
    ]
