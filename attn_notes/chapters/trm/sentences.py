"""What the chapter's pages say in sentences that depend on what was found."""

from collections.abc import Iterable

import torch
from IPython.display import Markdown

from attn_notes.analysis import statistics
from attn_notes.analysis.words import median, percent, percents, span
from attn_notes.chapters.trm import claims, recipe
from attn_notes.chapters.trm.claims import HERE, NAMES, ONE_LOOK
from attn_notes.chapters.trm.evidence import Live, Recorded
from attn_notes.chapters.trm.puzzles import Shared
from attn_notes.chapters.trm.recipe import (
    CHANNELS,
    DEEP,
    EQUAL,
    LIVE,
    NO_HALTING,
    ONE_STEP,
    REREADING,
    THINK,
    TRAINED,
    TRM_LIVE,
)

# --- The lesson


def after_training(live: Live) -> Markdown:
    """How many fresh puzzles are solved."""
    boards = len(live.seen.right[0])
    shares = {step: percent(live.solved(step)) for step in (1, TRAINED, THINK)}
    return Markdown(
        f"Of {boards:,} minimal puzzles drawn afresh, of classes held out, it solves "
        f"**{shares[1]} %** after one look, **{shares[TRAINED]} %** after eight and "
        f"**{shares[THINK]} %** after sixteen, every cell right."
    )


def looks(recorded: Recorded) -> Markdown:
    """What eight looks bring against one, and how the published norm does."""
    more = claims.more_solved(recorded, HERE, ONE_LOOK)
    published = percent(median(recorded.solved(CHANNELS)), 0)
    return Markdown(
        "The fair opponent of eight looks is a network trained for one: against it they solve "
        f"{more_or_fewer(more.middle)} minimal puzzles, by {claims.interval(more)}. As published, "
        f"with the norm over channels, eight looks solve {published} %."
    )


def more_or_fewer(mean: float) -> str:
    """A direction in a word."""
    return "more" if mean > 0 else "fewer"


DIFFERS = "(It differs in more: it keeps *y* and *z* apart.)"


def control(recorded: Recorded) -> Markdown:
    """How much of one look is reading again, and how much is sharing weights."""
    once, again, shared = (
        percent(median(recorded.solved(kind, "minimal", 1)), 0)
        for kind in (DEEP, REREADING, ONE_STEP)
    )
    more = claims.more_solved(recorded, ONE_LOOK, (REREADING, 1))
    tested = claims.compared(recorded)
    reads, shares = (
        tested[text].findings[recorded.name].verdict for text in (claims.REREADS, claims.SHARES)
    )
    return Markdown(
        f"One look, eight layers deep. Straight, with weights of its own in each: {once} % "
        f"(medians). Given the puzzle again at every layer: {again} %. Recursive, which shares its "
        f"weights too and so has a quarter of them: {shared} %, more by {claims.interval(more)}. "
        f"{apart(reads, shares)} {DIFFERS}"
    )


def apart(reads: bool | None, shares: bool | None) -> str:
    """What the control tells: whether reading again helps one look, and sharing weights does."""
    said = {
        (True, True): "So both help: reading again, and sharing weights on top of it.",
        (True, False): "So reading again is what helps; sharing weights costs something, and saves "
        "three quarters of them.",
        (True, None): "So reading again helps. Whether sharing weights does cannot be told; it "
        "saves three quarters of them.",
        (False, True): "So reading again alone does harm, and sharing weights is what helps.",
        (None, True): "So sharing weights is what helps; whether reading again alone does cannot "
        "be told.",
        (False, False): "So neither reading again nor sharing weights helps one look.",
        (
            False,
            None,
        ): "So reading again alone does harm; what sharing weights does cannot be told.",
        (
            None,
            False,
        ): "So sharing weights costs something; what reading again does cannot be told.",
        (None, None): "Which of the two does it cannot be told from so few seeds.",
    }
    return said[reads, shares]


TWINS = {
    True: "So the twins were there, and did not matter. One could not know before measuring.",
    False: "So part of what it solved under the first split it owed to twins.",
    None: "Whether the twins mattered cannot be told.",
}
"""Whether classes never seen are solved as often → what that means."""


def splits(recorded: Recorded) -> Markdown:
    """What a split up to all symmetries changes."""
    names, unseen, seen = (
        recorded.solved(TRM_LIVE),
        recorded.split("fresh"),
        recorded.split("seen"),
    )
    fewer = statistics.difference(100 * unseen, 100 * names)
    classes = recorded.by_class()
    worst = classes.min()
    verdict = next(iter(claims.split(recorded).findings.values())).verdict
    meaning = TWINS[verdict]
    return Markdown(
        f"With whole classes of the {recipe.CLASSES} held out it solves {percents(unseen)} of "
        f"minimal puzzles after eight looks, of the classes that it did see {percents(seen)}, and "
        f"split up to names {percents(names)}. The stricter split changes the mean by "
        f"{claims.interval(fewer)}; the worst class of any seed has {percent(worst, 0)} %. "
        f"{meaning}"
    )


def knowing(live: Live, recorded: Recorded) -> Markdown:
    """How good its estimate is, and what stopping by it costs."""
    sure, doubt = live.sure(), live.in_doubt()
    half, late = live.stop(0.5), live.stop(0.95)
    cost = statistics.difference(
        100 * recorded.stopped()[1], 100 * recorded.solved(TRM_LIVE, "minimal", THINK)
    )
    worth = (
        f"Of {doubt.boards} boards that it gives a chance of 0.5 to 0.7 after one look, "
        f"{percent(doubt.first, 0)} % are right then and {percent(doubt.last, 0)} % in the end: a "
        "board in doubt is worth another look."
        if doubt.last > doubt.first
        else ""
    )
    return Markdown(
        f"After eight looks it holds {sure.held:,} boards to be right, and {sure.held_right:,} "
        f"are{wrongly(live)}. Stopping at "
        f"“more likely right than not” takes {half.steps:.1f} looks a puzzle and solves "
        f"{percent(half.right)} %, where sixteen solve {percent(live.solved())} % (recorded: a "
        "change of "
        f"{claims.interval(cost)}). Asking for 0.95 takes {late.steps:.1f} looks and solves "
        f"{percent(late.right)} %. {worth}"
    )


def wrongly(live: Live, sure: float = 0.9) -> str:
    """That it can be sure and wrong, with the share, if it is after all looks."""
    wrong = ~live.seen.right[-1]
    held = int((wrong & (live.seen.halt[-1].sigmoid() > sure)).sum())
    if not held:
        return ""
    return (
        f"; so it can be wrong and sure: of the {int(wrong.sum()):,} that it still has wrong after "
        f'sixteen, it is over {percent(sure, 0)} % sure of {held} (<a href="#open-fails">see one'
        "</a>)"
    )


def retold(live: Live, recorded: Recorded) -> Markdown:
    """The chapter in three sentences."""
    one, eight = (percent(live.solved(step), 0) for step in (1, TRAINED))
    once, again = (
        percent(median(recorded.solved(kind, "minimal", 1)), 0) for kind in (DEEP, REREADING)
    )
    (found,) = claims.split(recorded).findings.values()
    classes = {
        True: "solves as many of whole classes that it has never seen",
        False: "solves fewer of whole classes that it has never seen",
        None: "was tried on whole classes that it has never seen, too",
    }[found.verdict]
    return Markdown(
        f"*To retell tomorrow:* A network of {recipe.parameters(LIVE.config):,} weights, run again "
        f"on its own answer, solves {eight} % of minimal puzzles in eight looks and {one} % in "
        f"one. A straight network with four times the weights solves {once} %, given the puzzle at "
        f"every layer {again} %. It knows fairly well when it is right, and {classes}."
    )


# --- The evidence


def classes(shared: Shared) -> Markdown:
    """What training shows of the test grids, by either split."""
    return Markdown(
        f"Of 2,000 grids drawn at random, {percent(shared.at_random, 0)} % belong to a class that "
        "the training puzzles already show under some names; of the held-out test grids, "
        f"{shared.tested}. Up to all symmetries training and tests have {shared.classes} classes "
        f"between them, and {shared.twins:,} of {shared.of:,} test grids have a twin in training. "
        "Nine in ten grids are thrown away to find those held out by names, which is why their "
        "puzzles are drawn more slowly, and for a minimal one a solver is asked about every clue. "
        "That solver, which searches every possibility, also counted the solutions above. So for "
        "mixed puzzles, dug by rounds, its count is a second opinion; for minimal ones it is not, "
        "and the package’s tests hold it against plain backtracking."
    )


def rounding(recorded: Recorded) -> Markdown:
    """What 16 bits for a weight change."""
    pairs = zip(recorded.inside, recorded.members(), strict=True)
    changes = [
        abs(inside["right"][on][step] - member[on]["right"][step])
        for inside, member in pairs
        for on in recipe.KINDS
        for step in range(TRAINED)
    ]
    return Markdown(
        "The page carries weights with 16 bits each, and what is read in *z*, the estimate and the "
        "rounds below are those of the rounded networks. Rounding changes the share solved, of "
        "either kind and after any of eight steps, by at most "
        f"{1000 * max(changes):.0f} in a thousand."
    )


def rates(recorded: Recorded) -> Markdown:
    """What other learning rates change for the networks without recursion."""

    def at_rates(kind: str) -> str:
        kinds = [kind if lr == LIVE.lr else recipe.at_rate(kind, lr) for lr in recipe.RATES]
        return ", ".join(percent(recorded.solved(name, "minimal")[0]) for name in kinds)

    return Markdown(
        "All were trained at the rate that suits the recursion. At rates of "
        + ", ".join(f"{lr:g}" for lr in recipe.RATES)
        + f" (one seed) the straight networks solve {at_rates(DEEP)} % (equal depth) and "
        f"{at_rates(EQUAL)} % (equal parameters): the rate matters to them, and does not close the "
        "gap. The one that reads again was trained at 0.003 only."
    )


def in_mind(recorded: Recorded, guessing: float, blanks: float) -> Markdown:
    """What z holds, with its errors, in the recorded seeds."""
    n = LIVE.config.latent_steps
    first, last, given = (
        percents(recorded.legible(name)[use], 0)
        for name, use in (("mind", 0), ("mind", n - 1), ("answer", n))
    )
    wrong = recorded.blanks_wrong(blanks)
    return Markdown(
        f"After the first thought the head reads {first} of the blanks right in z, after {n} "
        f"thoughts {last}, and the answer that follows has {given}; guessing has "
        f"{percent(guessing, 0)} %. So of {blanks:.1f} blanks in the mean "
        f"{span(wrong[0], 1)} are wrong after the first thought and {span(wrong[n - 1], 1)} after "
        f"{n}: a draft of the next answer, mistakes and all, and by our criterion legible. The "
        "paper describes z as a latent that decodes to no sensible solution; it has no criterion "
        "for sensible, and its network has 47 times the weights."
    )


def halting(recorded: Recorded) -> Markdown:
    """How good its estimate is, and what stopping by it costs."""
    found = recorded.certainty()
    wrong_doubted, right_doubted, wrong, right = found.sum(0).tolist()
    steps, half = recorded.stopped()
    late = recorded.solved(TRM_LIVE, "minimal", THINK)
    level = recipe.INSIDE["levels"].index(0.95)
    at = torch.stack([seed[:, level] for seed in recorded.stops("minimal")])
    return Markdown(
        f"In every bin of every recorded seed the share is within {largest_gap(recorded):.2f} of "
        f"the estimate. After {TRAINED} steps the {len(recorded.members())} seeds hold "
        f"{wrong + right:,.0f} minimal boards to be right, and {right:,.0f} of these are; of the "
        f"{wrong_doubted + right_doubted:,.0f} others {right_doubted:,.0f} are. Knowing is one "
        "thing, stopping another. At σ(q) > ½, the rule of training, "
        f"{percents(half)} of the minimal puzzles are solved after {span(steps, 2)} steps on "
        f"average, where thinking on solves {percents(late)}. Asking for 0.95 takes "
        f"{span(at[:, 0], 2)} steps, and solves {percents(at[:, 1])}."
    )


def largest_gap(recorded: Recorded) -> float:
    """Between estimate and share right, in any bin of any recorded seed."""
    gaps = [(said - right).abs().max().item() for said, right in recorded.reliability()]
    return max(gaps)


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
    (asked,) = (q for q in claims.QUESTIONS if (NO_HALTING, TRAINED) in (q.ours, *q.theirs))
    helped = claims.compared(recorded)[asked.text].findings[recorded.name].verdict
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
