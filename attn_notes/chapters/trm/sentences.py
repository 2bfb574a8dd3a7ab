"""What chapter 5's pages say in sentences that depend on what was found."""

from collections.abc import Iterable

from IPython.display import Markdown
from jaxtyping import Int
from torch import Tensor

from attn_notes.analysis.words import median, percent, percents
from attn_notes.chapters.trm import claims, recipe
from attn_notes.chapters.trm.claims import HERE, NAMES, ONE_LOOK
from attn_notes.chapters.trm.evidence import Live, Recorded, failures
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
    boards = len(live.seen["minimal"].right[0])
    shares = {step: percent(live.solved("minimal", step)) for step in (1, TRAINED, THINK)}
    return Markdown(
        f"Of {boards:,} minimal puzzles drawn afresh, of classes held out, it solves "
        f"**{shares[1]} %** after one look, **{shares[TRAINED]} %** after eight and "
        f"**{shares[THINK]} %** after sixteen, every cell right. (Judged are the weights as the "
        "widget has them, with 16 bits each.)"
    )


def looks(recorded: Recorded) -> Markdown:
    """What eight looks bring against one, and how the published norm does."""
    more = claims.more_solved(recorded, HERE, ONE_LOOK)
    published = percent(median(recorded.solved(CHANNELS)), 0)
    return Markdown(
        "The fair opponent of eight looks is a network trained for one: against it they solve "
        f"{more_or_fewer(more.mean)} minimal puzzles, by {claims.interval(more)}. As published, "
        f"with the norm over channels, eight looks solve {published} %."
    )


def more_or_fewer(mean: float) -> str:
    """A direction in a word."""
    return "more" if mean > 0 else "fewer"


def control(recorded: Recorded) -> Markdown:
    """How much of one look is reading again, and how much is sharing weights."""
    once, again, shared = (
        percent(median(recorded.solved(kind, "minimal", 1)), 0)
        for kind in (DEEP, REREADING, ONE_STEP)
    )
    tested = claims.compared(recorded)
    reads, shares = (
        tested[text].findings[recorded.name].verdict for text in (claims.REREADS, claims.SHARES)
    )
    return Markdown(
        f"One look, eight layers deep. Straight, with weights of its own in each: {once} % "
        f"(medians). Given the puzzle again at every layer: {again} %. Recursive, which shares its "
        f"weights too and so has a quarter of them: {shared} %. {apart(reads, shares)}"
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


def splits(recorded: Recorded) -> Markdown:
    """What a split up to all symmetries changes."""
    names, unseen, seen = (
        recorded.solved(TRM_LIVE),
        recorded.split("fresh"),
        recorded.split("seen"),
    )
    fewer = claims.difference(100 * unseen, 100 * names)
    classes = recorded.by_class()
    worst = classes.min()
    verdict = next(iter(claims.split(recorded).findings.values())).verdict
    meaning = {
        True: "So the twins were there, and did not matter: it had learned the rules, not the "
        "grids. One could not know before measuring.",
        False: "So part of what it solved under the first split it owed to twins.",
        None: "Whether the twins mattered cannot be told.",
    }[verdict]
    return Markdown(
        f"With whole classes of the {recipe.CLASSES} held out it solves {percents(unseen)} of "
        f"minimal puzzles after eight looks, of the classes that it did see {percents(seen)}, and "
        f"split up to names {percents(names)}. The stricter split changes the mean by "
        f"{claims.interval(fewer)}; the worst class of any seed has {percent(worst, 0)} %. "
        f"{meaning}"
    )


def knowing(live: Live, recorded: Recorded) -> Markdown:
    """How good its estimate is, and what stopping by it costs."""
    sure = live.sure()
    half, late = live.stop("minimal", 0.5), live.stop("minimal", 0.95)
    every = live.solved("minimal", THINK)
    cost = claims.difference(
        100 * recorded.stopped()[1], 100 * recorded.solved(TRM_LIVE, "minimal", THINK)
    )
    return Markdown(
        f"After eight looks it holds {sure.held:,} boards to be right, and {sure.held_right:,} "
        f"are. Stopping as soon as it says “more likely right than not” takes "
        f"{half.steps:.1f} looks a puzzle instead of {THINK} and solves {percent(half.right)} % "
        f"instead of {percent(every)} %; in the recorded seeds that rule changes what is solved by "
        f"{claims.interval(cost)}. Asking for 0.95 takes {late.steps:.1f} looks and solves "
        f"{percent(late.right)} %. To know is one thing, to know when to stop another."
    )


def retold(live: Live, recorded: Recorded) -> Markdown:
    """The chapter in three sentences."""
    one, eight = (percent(live.solved("minimal", step), 0) for step in (1, TRAINED))
    once, again = (
        percent(median(recorded.solved(kind, "minimal", 1)), 0) for kind in (DEEP, REREADING)
    )
    (found,) = claims.split(recorded).findings.values()
    classes = {
        True: "does so as often on whole classes that it has never seen",
        False: "does so less evenly on whole classes that it has never seen",
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


def fresh_words(recorded: Recorded) -> Markdown:
    """Whether the puzzles that settings were chosen by have flattered."""
    before, after = (
        {on: percents(shares(on)) for on in ("mixed", "minimal")}
        for shares in (
            lambda on: recorded.solved(TRM_LIVE, on)[-len(recorded.later) :],
            recorded.fresh,
        )
    )
    changed = [int(m["changed"]) for m in recorded.later]
    return Markdown(
        f"After eight steps, the {len(recorded.later)} seeds that were trained afterwards solve "
        f"{before['mixed']} of the mixed puzzles by which settings were chosen, and "
        f"{after['mixed']} of fresh ones; of minimal ones {before['minimal']} and "
        f"{after['minimal']}. (The page carries weights with 16 bits each. Rounding them changed "
        f"for {min(changed)} to {max(changed)} of {recipe.SIZES['probed']} puzzles whether they "
        "are solved at any of eight steps.)"
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


def unsolved(live: Live, puzzles: Int[Tensor, "n c"]) -> Markdown:
    """Some minimal puzzles that it fails on."""
    boards = failures(live, puzzles)
    if not boards:
        return Markdown("It failed on none of these.")
    lines = "\n".join(boards)
    return Markdown(f"Some that it has wrong after {THINK} steps:\n\n```text\n{lines}\n```")


def in_mind(live: Live, recorded: Recorded) -> Markdown:
    """What z holds, with its errors."""
    n = LIVE.config.latent_steps
    mind, answer = live.mind.legible.mind, live.mind.legible.answer
    draft = f"after {n} thoughts"
    if not claims.legible(mind[n - 1 : n], live.mind.guessing):
        return Markdown(
            f"In {live.name} z is not legible: {draft} the head reads {percent(mind[n - 1], 0)} % "
            "of the blanks right in it, where guessing has "
            f"{percent(live.mind.guessing, 0)} %."
        )
    first, last, given = (
        percents(recorded.legible(name)[use], 0)
        for name, use in (("mind", 0), ("mind", n - 1), ("answer", n))
    )
    wrong, whole = (recorded.drafts("mind", what)[n - 1] for what in ("wrong", "whole"))
    late = recorded.drafts("mind", "whole")[-2]
    return Markdown(
        f"z can be read: in {live.name}, after the first thought the head reads "
        f"{percent(mind[0], 0)} % of the blanks right in it, {draft} {percent(mind[n - 1], 0)} %, "
        f"and the answer that follows has {percent(answer[n], 0)} %; over the recorded seeds these "
        f"are {first}, {last} and {given}. It is a draft, and a wrong one: {draft} "
        f"{wrong.min():.1f} to {wrong.max():.1f} blanks of a board are wrong in the mean, and "
        f"{percents(whole)} of the boards read in it are solutions; after the last thought of the "
        f"fourth step {percents(late, 0)} are. The paper describes z as a latent that decodes to "
        "no sensible solution. Whether a board half of whose blanks are right is sensible is a "
        "matter of words; ours is a network of a 47th of the size, on smaller boards."
    )


def halting(live: Live, recorded: Recorded) -> Markdown:
    """How good its estimate is, and what stopping by it costs; of one seed looked at closely."""
    sure, half = live.sure(), live.stop("minimal", 0.5)
    best = live.stop("minimal", 0.95)
    doubt = live.in_doubt()
    are = "is" if sure.others_right == 1 else "are"
    doubtful = (
        f"Of the {doubt.boards} boards to which it gives a chance of 0.5 to 0.7 after the first "
        f"step, {percent(doubt.first, 0)} % are right and {percent(doubt.last, 0)} % are after "
        f"{THINK}: a board in doubt is worth more thought. "
    )
    return Markdown(
        f"In every bin of every recorded seed the share is within {largest_gap(recorded):.2f} of "
        f"the estimate. After {TRAINED} steps {live.name} holds {sure.held:,} of the "
        f"{sure.held + sure.others:,} boards to be right, and {sure.held_right:,} of these are; of "
        f"the {sure.others} others {sure.others_right} {are}. "
        "Knowing is one thing, stopping another. At σ(q) > ½, the rule of training, "
        f"{percent(half.right)} % of the minimal puzzles are solved after {half.steps:.2f} steps "
        f"on average, where thinking on solves {percent(live.solved('minimal'))} %. "
        + (doubtful if doubt.last > doubt.first else "")
        + f"Asking for 0.95 takes {best.steps:.2f} steps on average, and solves "
        f"{percent(best.right)} %."
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
    (asked,) = (q for q in claims.QUESTIONS if (NO_HALTING, TRAINED) in (q.ours, q.theirs))
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
