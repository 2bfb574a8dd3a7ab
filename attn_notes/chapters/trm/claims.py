"""What chapter 5 says of what it has seen: claims with their verdicts, sentences and tables.

The claims that a rank test of seeds decides are of two families, and Holm corrects each within
itself: `RECURSION`, what running again brings, and `PARTS`, which parts of the recipe matter.
"""

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import torch
from IPython.display import HTML, Markdown
from jaxtyping import Float
from torch import Tensor

from attn_notes import notebook
from attn_notes.analysis import claims, statistics
from attn_notes.analysis.claims import Claim
from attn_notes.analysis.statistics import LEVEL, Finding, Verdict, unless_nan
from attn_notes.analysis.words import median, percent, percents
from attn_notes.chapters.trm import evidence, recipe
from attn_notes.chapters.trm.evidence import Live, Puzzles, Recorded
from attn_notes.chapters.trm.recipe import (
    CHANNELS,
    DEEP,
    EQUAL,
    KINDS,
    LIVE,
    NO_HALTING,
    ONE_STEP,
    STABLEMAX,
    TASK,
    THINK,
    TRAINED,
    TRM_LIVE,
    TWO_CYCLES,
    WITHOUT_EMA,
    Recipe,
)
from attn_notes.chapters.trm.supervision import Settings
from attn_notes.models.trm import OFFICIAL, Config

NAMES = {
    TRM_LIVE: "the live recipe",
    WITHOUT_EMA: "without the average (EMA)",
    ONE_STEP: "one supervision step in training",
    NO_HALTING: "no early halting",
    STABLEMAX: "stablemax loss",
    CHANNELS: "norm over channels, as in the source",
    TWO_CYCLES: "T = 2 cycles",
    DEEP: DEEP,
    EQUAL: EQUAL,
}
"""What a figure or a table calls a kind, in its order."""

RECURSION, PARTS = "what recursion brings", "which parts of the recipe matter"
LEGIBLE = 0.1  # above guessing, of the blanks, from where on what is in mind counts as legible
Group = tuple[str, int]
"""A kind, and after how many steps its answers are judged."""

HERE: Group = (TRM_LIVE, TRAINED)
ONE_LOOK: Group = (ONE_STEP, 1)


class Question(NamedTuple):
    """Whether the seeds of one group leave fewer unsolved than those of another."""

    text: str
    whose: str
    ours: Group
    theirs: Group
    family: str


QUESTIONS = [
    Question(text, whose, ours, theirs, family)
    for family, asked in {
        RECURSION: [
            ("Recursion beats one look of equal parameters", "paper", HERE, (EQUAL, TRAINED)),
            (
                "It beats one look of equal depth, with four times the parameters",
                "paper",
                HERE,
                (DEEP, TRAINED),
            ),
            (
                "One recursive look beats a straight one of equal depth",
                "ours",
                ONE_LOOK,
                (DEEP, TRAINED),
            ),
            (
                "Eight looks beat the one look of a network trained for one",
                "paper",
                HERE,
                ONE_LOOK,
            ),
        ],
        PARTS: [
            (
                "Deep supervision matters: fewer unsolved after eight steps than with one step in "
                "training",
                "paper",
                HERE,
                (ONE_STEP, TRAINED),
            ),
            (
                "Averaged weights (EMA) are better than the last ones",
                "paper",
                HERE,
                (WITHOUT_EMA, TRAINED),
            ),
            (
                "A cycle without gradient (T = 2) pays for itself at equal operations",
                "ours",
                (TWO_CYCLES, TRAINED),
                HERE,
            ),
            (
                "The norm over tokens is better than the source’s over channels",
                "ours",
                HERE,
                (CHANNELS, TRAINED),
            ),
            (
                "Stablemax is better than the softmax",
                "official code",
                (STABLEMAX, TRAINED),
                HERE,
            ),
            ("Halting early in training helps", "ours", HERE, (NO_HALTING, TRAINED)),
        ],
    }.items()
    for text, whose, ours, theirs in asked
]

# --- The claims


def fewer(recorded: Recorded, ours: Group, theirs: Group) -> Finding:
    """Whether our seeds leave fewer minimal puzzles unsolved than theirs; not corrected."""
    left = [recorded.unsolved(kind, "minimal", step) for kind, step in (ours, theirs)]
    finding = statistics.ends_lower(*left)
    shares = " against ".join(
        f"{named(*group)} {percent(median(x))} %"
        for group, x in zip((ours, theirs), left, strict=True)
    )
    return finding._replace(found=f"{shares}; {finding.found}")


def named(kind: str, step: int) -> str:
    """What a group is called."""
    return NAMES[kind] + (", after one step" if step == 1 else "")


def compared(recorded: Recorded, live: Live | None = None) -> dict[str, Claim]:
    """What a test decides, by the question's text, each corrected within its family.

    Last is whether thinking longer helps: of the recorded seeds and, if there is a live run, of its
    boards.
    """
    found = [
        Claim(asked.text, {recorded.name: fewer(recorded, asked.ours, asked.theirs)}, asked.whose,
              asked.family)
        for asked in QUESTIONS
    ]  # fmt: skip
    corrected = claims.corrected([*found, longer(recorded, live)])
    return {claim.text: claim for claim in corrected}


def longer(recorded: Recorded, live: Live | None = None) -> Claim:
    """Whether sixteen steps solve more than eight: the sign test, live of boards, else of seeds."""
    findings = {}
    if live:
        right = live.seen["minimal"].right
        change = right[TRAINED - 1].float() - right[-1].float()
        findings["live"] = statistics.sign_test(
            change,
            f"{int((change < 0).sum())} boards gained, {int((change > 0).sum())} lost of "
            f"{len(change):,}",
        )
    early, late = (recorded.solved(TRM_LIVE, "minimal", step) for step in (TRAINED, THINK))
    gains = 1000 * (late - early)
    findings[recorded.name] = statistics.sign_test(
        early - late, f"the seeds gain {gains.min():.0f} to {gains.max():.0f} of 1,000"
    )
    return Claim(
        "Thinking longer than it ever did in training (16 steps against 8) solves more minimal "
        "puzzles",
        findings,
        family=RECURSION,
    )


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


def on_page(live: Live, recorded: Recorded) -> list[Claim]:
    """All claims and questions, in the order of the page."""
    tested = compared(recorded, live)
    *asked, thinking = tested.values()
    shares = {on: torch.tensor([live.solved(on)]) for on in KINDS}
    late = {on: recorded.solved(TRM_LIVE, on, THINK) for on in KINDS}
    trained = Claim(
        "Trained live it solves 97 % of held-out mixed and 90 % of held-out minimal puzzles in 16 "
        "steps",
        {
            "live": Finding(
                reached(*shares.values()),
                f"{percent(shares['mixed'])} and {percent(shares['minimal'])} %",
            ),
            recorded.name: Finding(
                reached(*late.values()),
                f"{percents(late['mixed'])} and {percents(late['minimal'])}",
            ),
        },
    )
    lost = recorded.lost()
    kept = Claim(
        "No board that is solved at one step is wrong at the next",
        {
            recorded.name: Finding(
                unless_nan(bool((lost == 0).all()), lost),
                f"lost: {lost.sum():.0f} of {live.boards * len(lost):,} boards in {THINK} steps",
            )
        },
    )
    unseen = live.solved("mixed", TRAINED)
    classes = Claim(
        "Puzzles of classes never seen are solved as often as new puzzles of grids that training "
        "saw (within one in a hundred)",
        {
            "live": Finding(
                unless_nan(abs(unseen - live.familiar) <= 0.01, unseen, live.familiar),
                f"{percent(unseen)} % against {percent(live.familiar)} % of 1,000 mixed",
            )
        },
    )
    thoughts = LIVE.config.latent_steps
    draft = recorded.legible("mind")[thoughts - 1]
    readable = legible(draft, live.mind.guessing)
    mind = Claim(
        "What is kept in mind decodes to no sensible solution (here: to no more of the blanks than "
        "ten in a hundred above guessing, in a network of a 47th of the size)",
        {
            recorded.name: Finding(
                None if readable is None else not readable,
                f"{percents(draft, 0)} of blanks right after the first {thoughts} thoughts, "
                f"guessing {percent(live.mind.guessing, 0)} %",
            )
        },
        "paper",
    )
    sure = recorded.sure_right()
    knows = Claim(
        "It knows: of the minimal boards that it holds to be right after eight steps 99 % are",
        {recorded.name: Finding(unless_nan(bool(sure.min() >= 0.99), sure), percents(sure))},
    )
    steps, early = recorded.stopped()
    stopping = Claim(
        "Stopping where it says “more likely right than not” loses nothing",
        {
            recorded.name: Finding(
                unless_nan(bool((early >= late["minimal"]).all()), early, late["minimal"]),
                f"{percents(early)} of minimal against {percents(late['minimal'])}, after "
                f"{steps.min():.2f} to {steps.max():.2f} steps",
            )
        },
    )
    parts = [claim for claim in asked if claim.family == PARTS]
    recursion = [claim for claim in asked if claim.family == RECURSION]
    return [
        trained,
        *recursion,
        parts[0],
        thinking,
        kept,
        classes,
        *parts[1:],
        mind,
        knows,
        stopping,
    ]


def claims_table(live: Live, recorded: Recorded) -> HTML:
    """The page's table of claims."""
    return claims.table(on_page(live, recorded))


def families(recorded: Recorded) -> Markdown:
    """Which questions are corrected together, and what so many seeds can tell."""
    counted = Counter(claim.family for claim in compared(recorded).values())
    seeds = len(recorded.members())
    least = 2 / math.comb(2 * seeds, seeds)
    text = (
        f"Holm corrects p within two families: {RECURSION} ({counted[RECURSION]} questions) and "
        f"{PARTS} ({counted[PARTS]}). "
    )
    if least * min(counted.values()) >= LEVEL:
        text += (
            f"With {seeds} seeds against {seeds} the least p is {least:.3f}, too much for so many "
            f"questions: even where all {seeds**2} pairs agree, the verdict is that it could not "
            "be told. How far apart the kinds are stands beside it, and in the figures."
        )
    return Markdown(text)


# --- The puzzles


def puzzles_table(puzzles: Puzzles) -> HTML:
    """How many are drawn in a second, and what they are like."""

    def row(name: str, boards: Tensor, speed: float) -> list[object]:
        clues, rounds = (boards > 0).sum(1), TASK.rounds(boards)
        needed = evidence.solved_by_rounds(rounds).float()
        return [
            name,
            f"{speed:,.0f}",
            f"{clues.float().mean():.1f} ({clues.min()} to {clues.max()})",
            f"{needed.mean():.1f} (to {needed.max():.0f})",
            f"{percent((rounds < 0).float().mean())} %",
            f"{(TASK.solve(boards)[0] == 1).sum():,} of {len(clues):,}",
        ]

    header = ["puzzles", "drawn per second", "clues", "rounds", "not by rounds"]
    return notebook.table(
        [*header, "with exactly one solution"],
        [
            row(name, batch[0], speed)
            for (name, batch), speed in zip(puzzles.sets.items(), puzzles.speed, strict=True)
        ],
    )


def classes(puzzles: Puzzles) -> Markdown:
    """How many classes training shows, and why it takes long to draw others."""
    shared, still = evidence.shared_classes(puzzles)
    return Markdown(
        f"Of 2,000 grids drawn at random, {percent(shared, 0)} % belong to a class that the "
        "training puzzles already show in some disguise; of the held-out test grids, "
        f"{still}. Nine in ten grids are thrown away to find the held-out ones, which is why their "
        "puzzles are drawn more slowly, and for a minimal one a solver is asked about every clue. "
        "That solver, which searches every possibility, also counted the solutions above. So for "
        "mixed puzzles, dug by rounds, its count is a second opinion; for minimal ones it is not, "
        "and the package’s tests hold it against plain backtracking."
    )


def refused_table(puzzles: Puzzles) -> HTML:
    """What is said of boards that are no puzzles."""
    one, solution = (part[0] for part in puzzles.tests["minimal"])
    good, solved = (TASK.write(board).replace("\n", "") for board in (one, solution))
    typed = {
        "too short": good[:-1],
        "a letter": "x" + good[1:],
        "a digit twice": solved[1] + solved[1:],
        "nothing on it": "." * TASK.cells,
        "legal so far": "12345......6" + "." * 24,
    }
    return notebook.table(
        ["what was typed", "answer"],
        [[f"{name}: {text[:12]}…", answer_to(text)] for name, text in typed.items()],
    )


def answer_to(text: str) -> str:
    """What somebody is told who types this."""
    try:
        TASK.read(text)
    except ValueError as error:
        return str(error)
    return "a puzzle"


# --- Sizes and settings


def model_table() -> HTML:
    """The published network, the official code's and the one that is trained here."""
    configs = Config(), OFFICIAL, LIVE.config
    published, official, here = (f"{recipe.parameters(config):,}" for config in configs)
    fields = {
        "width": "width",
        "layers": "layers",
        "thoughts n": "latent_steps",
        "cycles T": "cycles",
        "summary tokens": "summary",
        "norm after mixing is over": "norm",
    }
    return notebook.table(
        ["part", "the source", "the official code", "here"],
        [
            [
                "cells, digits",
                "81 and 9, fixed in the code",
                "any",
                f"any: {TASK.cells} and {TASK.side}",
            ],
            *(
                [name, *(str(getattr(config, field)) for config in configs)]
                for name, field in fields.items()
            ),
            ["rotary positions", "defined, never used", "with attention", "with attention"],
            ["where y and z start", "called learnable; fixed", "fixed", "fixed"],
            [
                "losses, training, data",
                "none",
                "from the paper",
                "from the paper, each part a switch",
            ],
            [
                "parameters",
                published,
                f"{official}; its own count, 5,028,866, leaves the summary tokens out and has a "
                "second output beside q",
                here,
            ],
        ],
    )


def settings_table() -> HTML:
    """How the network is trained here, and how in the paper."""
    here, paper = LIVE.settings, Settings()
    return notebook.table(
        ["setting", "here", "in the paper, for 9 × 9"],
        [
            ["seats", here.seats, paper.seats],
            ["supervision steps, at most", here.steps, paper.steps],
            ["loss", here.loss, paper.loss],
            ["EMA, d", here.ema, paper.ema],
            ["learning rate", f"{LIVE.lr:g}, then a cosine", "0.0001, constant"],
            ["warm-up, steps", recipe.WARM_UP, "2,000"],
            ["weight decay", recipe.WEIGHT_DECAY, 1],
            ["steps of the optimiser", LIVE.steps, "65,104"],
        ],
    )


def cost_table() -> HTML:
    """What a supervision step costs at the published sizes."""
    here = recipe.operations(LIVE) / 1e9

    def row(name: str, config: Config) -> list[object]:
        cost = recipe.operations(Recipe(config, Settings(), steps=1, lr=1e-4)) / 1e9
        return [name, f"{recipe.parameters(config):,}", f"{cost:.2f}", f"{cost / here:,.0f}"]

    header = ["network", "parameters", "billion operations, a puzzle and training step"]
    return notebook.table(
        [*header, "times this chapter's"],
        [
            row("this chapter's", LIVE.config),
            row("the source's", Config()),
            row("the official code's", OFFICIAL),
        ],
    )


# --- What came out


def after_training(live: Live) -> Markdown:
    """What rounding changes, and how many puzzles are solved."""
    looked_at = len(KINDS) * recipe.SIZES["probed"]
    return Markdown(
        "The page carries the weights with 16 bits each, so from here on the model is the rounded "
        f"one: the one in the widget above. Rounding changed for {live.changed} of {looked_at} "
        f"puzzles whether they are solved at any of {TRAINED} steps. Now think about all "
        f"{live.boards:,} held-out puzzles for {THINK} steps: "
        f"**{percent(live.solved('mixed'))} %** of the mixed and "
        f"**{percent(live.solved('minimal'))} %** of the minimal ones are solved, every cell right."
    )


def controls(recorded: Recorded) -> Markdown:
    """One look against one recursive look against eight, and what other rates change."""

    def solved(kind: str, step: int) -> str:
        return f"{percent(median(recorded.solved(kind, 'minimal', step)), 0)} %"

    def at_rates(kind: str) -> str:
        kinds = [kind if lr == LIVE.lr else recipe.at_rate(kind, lr) for lr in recipe.RATES]
        return ", ".join(percent(recorded.solved(name, "minimal")[0]) for name in kinds)

    return Markdown(
        f"Three numbers, medians of {len(recorded.members())} seeds on minimal puzzles: one look "
        f"of the deeper straight network solves {solved(DEEP, 1)}, one look of the recursive one "
        f"{solved(*ONE_LOOK)}, eight looks of one that was trained to look again {solved(*HERE)}. "
        "So much of what recursion brings, it brings within one look; the rest is thinking again. "
        "(That look both shares its weights among its layers and reads the puzzle again at each "
        "thought: which of the two it is, these controls do not tell.) All were trained at the "
        "rate that suits the recursion. At rates of "
        + ", ".join(f"{lr:g}" for lr in recipe.RATES)
        + f" (one seed) the straight networks solve {at_rates(DEEP)} % (equal depth) and "
        f"{at_rates(EQUAL)} % (equal parameters): the rate matters to them, and does not close the "
        "gap."
    )


def unsolved(live: Live, puzzles: Puzzles) -> Markdown:
    """Some minimal puzzles that it fails on, to be copied."""
    boards = puzzles.tests["minimal"][0][~live.seen["minimal"].right[-1]][:3]
    if not len(boards):
        return Markdown("It failed on none of these.")
    failures = "\n".join(TASK.write(board).replace("\n", "") for board in boards)
    return Markdown(
        f"To see it fail, copy one of these into the widget above:\n\n```text\n{failures}\n```"
    )


def in_mind(live: Live, recorded: Recorded) -> Markdown:
    """Whether z is legible, in this run and in the recorded ones."""
    n = LIVE.config.latent_steps
    mind, answer = live.mind.legible.mind, live.mind.legible.answer
    draft = f"after {n} thoughts"
    if not legible(mind[n - 1 : n], live.mind.guessing):
        return Markdown(
            f"In this run z is not legible: {draft} the head reads {percent(mind[n - 1], 0)} % of "
            f"the blanks right in it, where guessing has {percent(live.mind.guessing, 0)} %."
        )
    first, last, given = (
        percents(recorded.legible(name)[use], 0)
        for name, use in (("mind", 0), ("mind", n - 1), ("answer", n))
    )
    return Markdown(
        "z is legible: in this run, after the first thought the head reads "
        f"{percent(mind[0], 0)} % of the blanks right in it, {draft} {percent(mind[n - 1], 0)} %, "
        f"and the answer that follows has {percent(answer[n], 0)} %; in the recorded seeds these "
        f"are {first}, {last} and {given}. The paper describes z as a latent that decodes to no "
        "sensible solution. In this network, a 47th of the published one in size, it decodes to a "
        "draft of the next answer, mistakes and all."
    )


def halting(live: Live, recorded: Recorded) -> Markdown:
    """How good its estimate is, and what stopping by it costs."""
    sure, half = live.sure(), live.stop("minimal", 0.5)
    best = live.stop("minimal", 0.95)
    doubtful, first, last = live.in_doubt()
    are = "is" if sure.others_right == 1 else "are"
    doubt = (
        f"Of the {doubtful} boards to which it gives a chance of 0.5 to 0.7 after the first step, "
        f"{percent(first, 0)} % are right and {percent(last, 0)} % are after {THINK}: a board in "
        "doubt is worth more thought. "
    )
    return Markdown(
        f"In every bin of every recorded seed the share is within {largest_gap(recorded):.2f} of "
        f"the estimate. After {TRAINED} steps it holds {sure.held:,} of the "
        f"{sure.held + sure.others:,} boards to be right, and {sure.held_right:,} of these are; of "
        f"the {sure.others} others {sure.others_right} {are}. "
        "Knowing is one thing, stopping another. At σ(q) > ½, the rule of training, "
        f"{percent(half.right)} % of the minimal puzzles are solved after {half.steps:.2f} steps "
        f"on average, where thinking on solves {percent(live.solved('minimal'))} %. "
        + (doubt if last > first else "")
        + f"Asking for 0.95 takes {best.steps:.2f} steps on average, and solves "
        f"{percent(best.right)} %."
    )


def largest_gap(recorded: Recorded) -> float:
    """Between estimate and share right, in any bin of any recorded seed."""
    gaps = [(said - right).abs().max().item() for said, right in recorded.reliability()]
    return max(gaps)


def parts_table(recorded: Recorded) -> HTML:
    """What each change of the recipe leaves unsolved; corrected as in the claims."""
    found = compared(recorded)
    asked = {frozenset({q.ours, q.theirs}): q for q in QUESTIONS}

    def than_live(kind: str) -> str:
        if kind == TRM_LIVE:
            return ""
        question = asked[frozenset({(kind, TRAINED), HERE})]
        verdict, _, p = found[question.text].findings[recorded.name]
        if verdict is not None and question.ours == HERE:
            verdict = not verdict
        word = {True: "fewer", False: "more", None: "cannot be told"}[verdict]
        left = (recorded.unsolved(one) for one in (kind, TRM_LIVE))
        return f"{word}, {statistics.ends_lower(*left).found}, {statistics.said(p or 0.0)}"

    return notebook.table(
        [
            "recipe",
            "minimal puzzles unsolved, median",
            f"than the live recipe, {len(recorded.members()) ** 2} pairs of seeds",
        ],
        [
            [name, f"{percent(median(recorded.unsolved(kind)))} %", than_live(kind)]
            for kind, name in NAMES.items()
        ],
    )


def thinnest(recorded: Recorded, kinds: Iterable[str] = NAMES) -> str | None:
    """The kind whose every seed leaves more unsolved than each of the live recipe, by the least."""
    worst = recorded.unsolved(TRM_LIVE).max()
    gaps = {kind: (recorded.unsolved(kind).min() - worst).item() for kind in kinds}
    apart = {kind: gap for kind, gap in gaps.items() if gap > 0}
    return min(apart, key=apart.__getitem__) if apart else None


def one_step(recorded: Recorded) -> Markdown:
    """What becomes of a network trained for one step; halting, and the thinnest difference."""
    at = {step: recorded.solved(ONE_STEP, "minimal", step) for step in (1, 2, THINK)}
    text = (
        "A network that was trained for one step still gains from a second "
        f"({percents(at[1], 0)} of minimal puzzles, then {percents(at[2], 0)}), and then drifts: "
        f"after {THINK} its seeds solve "
        + ", ".join(percent(share, 0) for share in at[THINK].sort().values)
        + " %. It never learned to leave a right answer alone. "
    )
    (asked,) = (q for q in QUESTIONS if (NO_HALTING, TRAINED) in (q.ours, q.theirs))
    helped = compared(recorded)[asked.text].findings[recorded.name].verdict
    guess = "our guess is that solved puzzles give up their seats to harder ones. "
    if helped:
        text += f"Early halting helps as well; {guess}"
    elif helped is None:
        text += f"Early halting may help as well, which cannot be told; if it does, {guess}"
    kind = thinnest(recorded)
    if kind:
        text += (
            f"Where all seeds agree, “{NAMES[kind]}” hangs by the thinnest thread: its best seed "
            f"leaves {percent(recorded.unsolved(kind).min())} % unsolved, the worst one of the "
            f"live recipe {percent(recorded.unsolved(TRM_LIVE).max())} %."
        )
    return Markdown(text)
