"""What the chapter says of what it has seen: claims with their verdicts.

The claims that a rank test of seeds decides are of three families, and Holm corrects each within
itself: `THINKING`, what looking again brings, `ONE`, what a single look brings, and `PARTS`, which
parts of the recipe matter.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attn_notes.analysis.statistics import Verdict
from book.kit import claims, verdicts
from book.kit.claims import Claim, Mine
from book.kit.verdicts import Finding, unless_nan
from book.kit.words import listed, median, percent, percents, span
from book.lessons.trm.evidence import Recorded
from book.lessons.trm.recipe import (
    CHANNELS,
    DEEP,
    EQUAL,
    LIVE,
    NO_HALTING,
    ONE_STEP,
    REREADING,
    SHARING,
    STABLEMAX,
    THINK,
    TRAINED,
    TRM_LIVE,
    TWO_CYCLES,
    WITHOUT_EMA,
)

NAMES = {
    TRM_LIVE: "the live recipe",
    WITHOUT_EMA: "without the average (EMA)",
    ONE_STEP: "one supervision step in training",
    NO_HALTING: "no early halting",
    STABLEMAX: "stablemax loss",
    CHANNELS: "norm over channels, as in the source",
    TWO_CYCLES: "T = 2 cycles",
    SHARING: SHARING,
    REREADING: REREADING,
    DEEP: DEEP,
    EQUAL: EQUAL,
}
"""What a figure or a table calls a kind, in its order."""

OPPONENTS = {
    EQUAL: "straight",
    DEEP: "straight, deeper",
    REREADING: "straight, deeper, rereading",
    SHARING: "straight, rereading, one set of weights",
    ONE_STEP: "recursive, trained for one look",
}
"""What those are called that look once."""

THINKING, ONE = "what looking again brings", "what a single look brings"
PARTS = "which parts of the recipe matter"
LEGIBLE = 0.1  # above guessing, of the blanks, from where on what is in mind counts as legible
ALIKE = 0.02  # shares of the minimal puzzles solved, up to which two splits count as alike
Group = tuple[str, int]
"""A kind, and after how many steps its answers are judged."""

STRAIGHT = (EQUAL, DEEP, REREADING, SHARING)
HERE: Group = (TRM_LIVE, TRAINED)
ONE_LOOK: Group = (ONE_STEP, 1)
AGAIN = (
    "Eight looks beat one look of every network trained for one: straight, with up to four times "
    "the weights, or recursive"
)
REREADS = "In one look, reading the puzzle at every layer beats reading it once, both straight"
SHARES = "In one look, one set of weights used four times beats four sets, both reading again"
APART = "In one look, keeping y and z apart helps on top of that"
SEEN_SO = (
    "Whole classes up to all symmetries held out are solved as often as those that training saw "
    f"(within {percent(ALIKE, 0)} in a hundred)"
)
KNOWS = "It knows: of the minimal boards that it holds to be right after eight steps 99 % are"


class Question(NamedTuple):
    """Whether the seeds of one group leave fewer unsolved than those of others."""

    text: str
    whose: str
    ours: Group
    theirs: tuple[Group, ...]
    family: str


ASKED: dict[str, list[tuple[str, str, Group, tuple[Group, ...]]]] = {
    THINKING: [
        (AGAIN, "paper", HERE, (ONE_LOOK, *((kind, 1) for kind in STRAIGHT))),
        ("They beat that of the recursive one alone", "paper", HERE, (ONE_LOOK,)),
        ("They beat that of the straight one of equal weights alone", "paper", HERE, ((EQUAL, 1),)),
        (
            "They beat that of the straight one of four times the weights alone",
            "paper",
            HERE,
            ((DEEP, 1),),
        ),
        ("They beat that of the one that reads again alone", "ours", HERE, ((REREADING, 1),)),
        ("They beat that of the same with one set of weights alone", "ours", HERE, ((SHARING, 1),)),
    ],
    ONE: [
        (REREADS, "ours", (REREADING, 1), ((DEEP, 1),)),
        (SHARES, "ours", (SHARING, 1), ((REREADING, 1),)),
        (APART, "ours", ONE_LOOK, ((SHARING, 1),)),
    ],
    PARTS: [
        (
            "Deep supervision matters: fewer unsolved after eight steps than with one step in "
            "training",
            "paper",
            HERE,
            ((ONE_STEP, TRAINED),),
        ),
        (
            "Averaged weights (EMA) are better than the last ones",
            "paper",
            HERE,
            ((WITHOUT_EMA, TRAINED),),
        ),
        (
            "A cycle without gradient (T = 2) pays for itself at equal operations",
            "ours",
            (TWO_CYCLES, TRAINED),
            (HERE,),
        ),
        (
            "The norm over tokens is better than the source’s over channels",
            "ours",
            HERE,
            ((CHANNELS, TRAINED),),
        ),
        (
            "Stablemax is better than the softmax",
            "official code",
            (STABLEMAX, TRAINED),
            (HERE,),
        ),
        ("Halting early in training helps", "ours", HERE, ((NO_HALTING, TRAINED),)),
    ],
}
QUESTIONS = [Question(*asked, family) for family, each in ASKED.items() for asked in each]

# --- What a test decides


def fewer(recorded: Recorded, ours: Group, theirs: Sequence[Group]) -> Finding:
    """Whether our seeds leave fewer minimal puzzles unsolved than theirs; not corrected."""
    left = {group: recorded.unsolved(group[0], "minimal", group[1]) for group in (ours, *theirs)}
    finding = verdicts.ends_lower(left[ours], torch.cat([left[group] for group in theirs]))
    said = {group: percent(median(x)) for group, x in left.items()}
    others = listed([f"{named(*group)} {said[group]} %" for group in theirs])
    return finding._replace(
        found=f"unsolved: {named(*ours)} {said[ours]} % against {others}; {finding.found}"
    )


def named(kind: str, step: int) -> str:
    """What a group is called."""
    return OPPONENTS[kind] if step == 1 and kind in OPPONENTS else NAMES[kind]


def compared(recorded: Recorded) -> dict[str, Claim]:
    """What a test decides, by the question's text, each corrected within its family.

    Last is whether thinking longer helps.
    """
    found = [
        Claim(asked.text, {recorded.name: fewer(recorded, asked.ours, asked.theirs)}, asked.whose,
              asked.family)
        for asked in QUESTIONS
    ]  # fmt: skip
    corrected = claims.corrected([*found, longer(recorded)])
    told = {claim.text: claim for claim in corrected}
    for asked in QUESTIONS:
        finding = told[asked.text].findings[recorded.name]
        if finding.verdict is None and apart(recorded, asked):
            few = finding._replace(found=f"too few seeds for the test; {finding.found}")
            told[asked.text] = replace(told[asked.text], findings={recorded.name: few})
    return told


def apart(recorded: Recorded, question: Question) -> bool:
    """Whether every seed of one group is on the same side of every seed of the others."""
    kind, step = question.ours
    ours = recorded.unsolved(kind, "minimal", step)
    theirs = torch.cat([recorded.unsolved(k, "minimal", step) for k, step in question.theirs])
    return bool(ours.max() < theirs.min() or theirs.max() < ours.min())


def longer(recorded: Recorded) -> Claim:
    """Whether sixteen steps solve more than eight: the sign test of the seeds."""
    early, late = (recorded.solved(TRM_LIVE, "minimal", step) for step in (TRAINED, THINK))
    gains = 1000 * (late - early)
    finding = verdicts.sign_test(
        early - late, f"the seeds gain {gains.min():.0f} to {gains.max():.0f} of 1,000"
    )
    return Claim(
        "Thinking longer than it ever did in training (16 steps against 8) solves more minimal "
        "puzzles",
        {recorded.name: finding},
        family=THINKING,
    )


# --- What a level decides


def reached(mixed: Float[Tensor, " m"], minimal: Float[Tensor, " m"]) -> Verdict:
    """Whether every seed solves 97 % of the mixed puzzles and 90 % of the minimal ones."""
    return unless_nan(bool((mixed >= 0.97).all() and (minimal >= 0.9).all()), mixed, minimal)


def legible(shares: Float[Tensor, " m"], guessing: float) -> Verdict:
    """Whether every seed's reading is right clearly more often than a guess.

    False where every one's is not, and none where seeds differ.
    """
    clear = shares >= guessing + LEGIBLE
    return (
        unless_nan(bool(clear.all()), shares, guessing) if clear.all() or not clear.any() else None
    )


def solves(recorded: Recorded) -> Claim:
    """How much is solved of either kind."""
    shares = [recorded.solved(TRM_LIVE, on, THINK) for on in ("mixed", "minimal")]
    return Claim(
        "It solves 97 % of held-out mixed and 90 % of held-out minimal puzzles in 16 steps",
        {
            recorded.name: Finding(
                reached(*shares), f"{percents(shares[0])} and {percents(shares[1])}"
            )
        },
    )


def split(recorded: Recorded) -> Claim:
    """Whether classes that training never saw, up to all symmetries, are harder."""
    unseen, seen = recorded.split("fresh"), recorded.split("seen")
    alike = bool(((unseen - seen).abs() <= ALIKE).all())
    return Claim(
        SEEN_SO,
        {
            recorded.name: Finding(
                unless_nan(alike, unseen, seen),
                f"{len(recorded.stricter)} seeds, {percents(unseen)} against {percents(seen)} of "
                "minimal ones",
            )
        },
    )


def names_split(recorded: Recorded) -> Claim:
    """Whether classes that training never saw, up to names, are harder."""
    unseen, seen = recorded.solved(TRM_LIVE, "mixed"), recorded.seen()
    alike = bool(((unseen - seen).abs() <= 0.01).all())
    return Claim(
        "Classes held out by names are solved as often as those that training draws from (mixed "
        "puzzles, within one in a hundred)",
        {
            recorded.name: Finding(
                unless_nan(alike, unseen, seen), f"{percents(unseen)} against {percents(seen)}"
            )
        },
    )


def never_lost(recorded: Recorded) -> Claim:
    """Whether a solved board stays solved."""
    lost = recorded.lost()
    boards = recorded.boards * len(lost)
    return Claim(
        "No board that is solved at one step is wrong at the next",
        {
            recorded.name: Finding(
                unless_nan(bool((lost == 0).all()), lost),
                f"lost: {lost.sum():.0f} of {boards:,} boards in {THINK} steps",
            )
        },
    )


def in_mind(recorded: Recorded, guessing: float) -> Claim:
    """What the paper says of z, by our criterion."""
    thoughts = LIVE.config.latent_steps
    draft = recorded.legible("mind")[thoughts - 1]
    readable = legible(draft, guessing)
    return Claim(
        "What is kept in mind decodes to no sensible solution (our criterion: to no more of the "
        "blanks than ten in a hundred above guessing; in a network of a 47th of the size)",
        {
            recorded.name: Finding(
                None if readable is None else not readable,
                f"{percents(draft, 0)} of blanks right after the first {thoughts} thoughts, "
                f"guessing {percent(guessing, 0)} %",
            )
        },
        "paper",
    )


def knows(recorded: Recorded) -> Claim:
    """Whether the boards that it holds to be right are."""
    sure = recorded.sure_right()
    found = Finding(unless_nan(bool(sure.min() >= 0.99), sure), percents(sure))
    return Claim(KNOWS, {recorded.name: found})


def stopping(recorded: Recorded) -> Claim:
    """Whether stopping at one half costs anything."""
    late = recorded.solved(TRM_LIVE, "minimal", THINK)
    steps, early = recorded.stopped()
    return Claim(
        "Stopping where it says “more likely right than not” loses nothing",
        {
            recorded.name: Finding(
                unless_nan(bool((early >= late).all()), early, late),
                f"{percents(early)} of minimal against {percents(late)}, after "
                f"{steps.min():.2f} to {steps.max():.2f} steps",
            )
        },
    )


# --- The pages


LOOKS = "Eight looks solve more than one look of the networks that are trained for one"
AGAIN_USED = "In one look, the same weights used four times solve more than four sets of weights"
KNOWN = "Of the boards that it says are right, at least 99 in a hundred are"


def lesson(recorded: Recorded) -> list[Claim]:
    """The lesson's verdict, a sentence and a stamp each; verdicts as they are after correction."""
    told = compared(recorded)
    _, _, _, opponents = next(each for each in ASKED[THINKING] if each[0] == AGAIN)
    once = [x for kind, looks in opponents for x in recorded.solved(kind, "minimal", looks)]
    values = [100 * float(x) for x in once]
    mine = Mine("above", ("recursive",), ("looks", float(TRAINED)), values)
    eight, shared, own = (
        span(100 * recorded.solved(kind, "minimal", looks), 0)
        for kind, looks in ((TRM_LIVE, TRAINED), (SHARING, 1), (REREADING, 1))
    )
    sure = recorded.certainty().sum(0)
    rows = {
        LOOKS: (told[AGAIN], f"{eight} of a hundred, and at most {max(values):.0f} in one look"),
        AGAIN_USED: (told[SHARES], f"{shared} of a hundred, and {own} with new ones"),
        KNOWN: (
            knows(recorded),
            f"{sure[3]:,.0f} of {sure[2:].sum():,.0f} such boards are right after eight looks",
        ),
    }
    return [
        Claim(
            text,
            {"we found": Finding(claim.findings[recorded.name].verdict, said)},
            "paper" if text == LOOKS else "ours",
            mine=mine if text == LOOKS else None,
        )
        for text, (claim, said) in rows.items()
    ]


def every(recorded: Recorded, guessing: float) -> list[Claim]:
    """All claims and questions, in the order of the evidence page.

    `guessing` is the share of blanks that a guess among what the clues allow gets right.
    """
    tested = compared(recorded)

    def family(name: str) -> list[Claim]:
        return [claim for claim in tested.values() if claim.family == name]

    return [
        solves(recorded),
        *family(THINKING),
        *family(ONE),
        *family(PARTS),
        never_lost(recorded),
        split(recorded),
        names_split(recorded),
        in_mind(recorded, guessing),
        knows(recorded),
        stopping(recorded),
    ]
