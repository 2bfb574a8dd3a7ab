"""The chapter's claims, and the sentences of its pages that depend on what was found."""

from collections.abc import Mapping, Sequence

import torch
from IPython.display import Markdown
from torch import Tensor

from attn_notes.analysis import statistics
from attn_notes.analysis.claims import Claim, corrected
from attn_notes.analysis.statistics import Comparison, Finding, Verdict
from attn_notes.analysis.words import listed
from attn_notes.chapters.deep_qkv import evidence, measure, recipe
from attn_notes.chapters.deep_qkv.evidence import NEVER, Bodies, Crowd, Crowds
from attn_notes.models.deep_qkv import Sorter
from attn_notes.tasks import sorting

NAMES = {
    "gated": "gated",
    "strict": "strict",
    "plain": "plain",
    "plain_third": "plain started at a third",
    "fixed_gate": "divided by three",
    "plain, knowable": "plain, two letters out of the loss",
    "plain, answer": "plain, loss on the answer only",
    "gated, knowable": "gated, two letters out of the loss",
    "gated, answer": "gated, loss on the answer only",
}
"""The kinds of `recipe.KINDS`, as a reader knows them."""

NTH = ("1st", "2nd", "3rd")


def step_or_never(step: float) -> str:
    """A step as it is printed."""
    return f"{step:,.0f}" if step < NEVER else "never"


def interval(c: Comparison) -> str:
    """A comparison as it is printed."""
    return f"{c.first:.2f} ({c.low:.2f} to {c.high:.2f})"


def finding(c: Comparison) -> Finding:
    """Whether the first kind converges before the second: by p, which can be corrected."""
    return Finding(None if not c.p < statistics.LEVEL else c.first > 0.5, interval(c), c.p)


def before(ours: Crowd, theirs: Crowd) -> Finding:
    """Whether our seeds converge before theirs: a rank test, and the share of pairs."""
    return finding(evidence.compare(ours, theirs))


def capacity(here: Crowd) -> Finding:
    """Whether any seed sorts all 27 inputs at the end."""
    return Finding(here.arrived > 0, f"{here.arrived} of {len(here.arrivals)}")


def more_arrive(ours: Crowd, theirs: Crowd) -> Finding:
    """Whether more of our seeds than of theirs converge by the end, however late."""

    def by_the_end(arrivals: Tensor) -> Tensor:
        return torch.where(arrivals.isfinite(), 0.0, NEVER)

    p = statistics.rank_p(by_the_end(ours.arrivals), by_the_end(theirs.arrivals))
    a, b = ours.arrived / len(ours.arrivals), theirs.arrived / len(theirs.arrivals)
    words = (
        f"{ours.arrived} of {len(ours.arrivals)} against {theirs.arrived} of {len(theirs.arrivals)}"
    )
    return Finding(a > b if p < statistics.LEVEL else None, words, p)


def above_floor(crowds: Crowds) -> Finding:
    """Whether no mean loss of any seed, at any probe, lies below the floor, but for rounding."""
    lowest = min(here.lowest for here in crowds.values())
    held = all(here.lowest >= sorting.FLOOR - 1e-5 for here in crowds.values())
    return Finding(held, f"lowest {lowest:.4f} nats")


CAPACITY = "“Retains capacity”: some gated seed sorts all 27"
GATE = "Gated converges before plain"
THIRD = "Divided by three converges before plain"
CHOICE = "Gated converges before divided by three"
LOSS = "Two letters out of the loss, plain, converges before gated with all six"
LOSS_OF_GATED = "Two letters out of the loss converges before all six, gated"

PAIRS = {
    "weights": {
        GATE: ("gated", "plain"),
        THIRD: ("fixed_gate", "plain"),
        CHOICE: ("gated", "fixed_gate"),
        "A smaller start alone converges before plain": ("plain_third", "plain"),
        "Strict converges before plain": ("strict", "plain"),
        "Gated converges before strict": ("gated", "strict"),
    },
    "loss": {
        LOSS: ("plain, knowable", "gated"),
        LOSS.replace("gated", "divided by three"): ("plain, knowable", "fixed_gate"),
        LOSS_OF_GATED.replace("gated", "plain"): ("plain, knowable", "plain"),
        "Loss on the answer only converges before all six, plain": ("plain, answer", "plain"),
        LOSS_OF_GATED: ("gated, knowable", "gated"),
        "Loss on the answer only converges before all six, gated": ("gated, answer", "gated"),
    },
}
"""Family → question → the kind that is first if it holds, and the other. A family is corrected
together."""

LESSON = ("gated", "plain", "fixed_gate", "plain, knowable")
"""The kinds that the lesson trains."""


def _pairs(bodies: Bodies) -> list[Claim]:
    found = []
    for family, questions in PAIRS.items():
        for text, (ours, theirs) in questions.items():
            findings = {
                name: before(crowds[ours], crowds[theirs])
                for name, crowds in bodies.items()
                if ours in crowds and theirs in crowds
            }
            if findings:
                found.append(Claim(text, findings, family=family))
    return found


def every(bodies: Bodies) -> list[Claim]:
    """All claims that these bodies of evidence can decide, corrected within each family."""
    all_of = {
        CAPACITY: "gated",
        "Strict, without a base, has it too": "strict",
    }
    claims = [
        Claim(
            text,
            {name: capacity(crowds[kind]) for name, crowds in bodies.items() if kind in crowds},
            "source" if kind == "gated" else "ours",
        )
        for text, kind in all_of.items()
    ]
    safer = {
        name: more_arrive(crowds["gated"], crowds["strict"])
        for name, crowds in bodies.items()
        if {"gated", "strict"} <= crowds.keys()
    }
    claims.append(
        Claim("“Safer”: more gated seeds than strict converge", safer, "source", "weights")
    )
    claims += _pairs(bodies)
    floor = {name: above_floor(crowds) for name, crowds in bodies.items()}
    claims.append(Claim("No loss lies below the floor", floor))
    return corrected(claim for claim in claims if claim.findings)


def lesson(bodies: Bodies) -> list[Claim]:
    """The lesson's five lines, corrected with all that their evidence is asked."""
    wanted = (CAPACITY, GATE, THIRD, CHOICE, LOSS)
    return [claim for claim in every(bodies) if claim.text in wanted]


QUESTIONS = {
    "gated before plain": ("gated", "plain"),
    "divided by three\nbefore plain": ("fixed_gate", "plain"),
    "gated before\ndivided by three": ("gated", "fixed_gate"),
}
LOSS_QUESTIONS = {
    "two letters out\nbefore plain": ("plain, knowable", "plain"),
    "two letters out\nbefore gated": ("plain, knowable", "gated"),
    "two letters out\nbefore divided by three": ("plain, knowable", "fixed_gate"),
}


def comparisons(
    bodies: Bodies, questions: Mapping[str, tuple[str, str]] = QUESTIONS
) -> dict[str, dict[str, Comparison]]:
    """Question → evidence → comparison, for `figures.effects`."""
    return {
        question: {
            name: evidence.compare(crowds[ours], crowds[theirs]) for name, crowds in bodies.items()
        }
        for question, (ours, theirs) in questions.items()
    }


def _verdict(claims: Sequence[Claim], text: str, body: str) -> Verdict:
    (claim,) = (claim for claim in claims if claim.text == text)
    return claim.findings[body].verdict


def weights_title(bodies: Bodies) -> str:
    """What the gate and its control do, by the evidence with most seeds."""
    body = most(bodies)
    claims = lesson(bodies)
    gate, third = (_verdict(claims, text, body) for text in (GATE, THIRD))
    if third:
        return {
            True: "The gate helps, and so does its control: a division by three",
            False: "Dividing by three helps; the gate that does it first, and then learns, hurts",
            None: "Dividing by three helps; that the gate helps cannot be told",
        }[gate]
    return {
        True: "The gate helps, its control does not",
        False: "The gate hurts",
        None: "Neither the gate nor its control can be told from plain",
    }[gate]


def loss_title(bodies: Bodies) -> str:
    """What leaving two letters out of the loss does, by the evidence with most seeds."""
    crowds = bodies[most(bodies)]
    wins = before(crowds["plain, knowable"], crowds["plain"]).verdict
    plain, part = crowds["plain"].median, crowds["plain, knowable"].median
    if wins and part < plain < NEVER:
        return f"With two letters out of the loss half converge by step {part:.0f}, not {plain:.0f}"
    if wins:
        return "With two letters out of the loss more converge, and sooner"
    return "Leaving two letters out of the loss makes no difference that can be told"


def most(bodies: Bodies) -> str:
    """The body of evidence with most seeds."""
    return max(bodies, key=lambda name: len(next(iter(bodies[name].values())).arrivals))


def gate_meaning(bodies: Bodies) -> Markdown:
    """What the gate and its control do, the conclusion first."""
    body = most(bodies)
    claims = lesson(bodies)
    gate, third, choice = (_verdict(claims, text, body) for text in (GATE, THIRD, CHOICE))
    phrase = {True: "converge before", False: "converge after", None: "cannot be told from"}
    lead = {
        True: "The gate does more than divide by three",
        False: "The gate does worse than dividing by three",
        None: "Nothing shows that the gate does more than divide by three",
    }[choice]
    if gate == third:
        beside = f"both {phrase[gate]} plain ones"
    else:
        beside = f"they {phrase[gate]} plain ones, and the divided {phrase[third]} these"
    return Markdown(
        f"{lead} ({body}). Gated weights {phrase[choice]} weights that are only divided by three; "
        f"{beside}."
    )


def order(crowds: Crowds) -> Markdown:
    """Which kind sorted soonest, which last, as the lesson asks to predict: the median seeds."""
    names = evidence.ASKED
    ranked = sorted(names, key=lambda kind: (crowds[kind].median, crowds[kind].delay))
    steps = [f"{names[kind]} ({step_or_never(crowds[kind].median)})" for kind in ranked]
    return Markdown(
        f"The order to predict, by the step at which half of the seeds have converged: "
        f"{', '.join(steps)}."
    )


def loss_meaning(bodies: Bodies) -> Markdown:
    """What the loss did beside the weights, the conclusion first."""
    body = most(bodies)
    crowds = bodies[body]
    plain, part = crowds["plain"], crowds["plain, knowable"]
    rivals = [kind for kind in LESSON[:3] if before(part, crowds[kind]).verdict]
    if len(rivals) == len(LESSON[:3]):
        lead = (
            "What is asked decides more than how the weights are made: with two letters out of its "
            "loss the plain sorter converges before all three others"
        )
    elif rivals:
        lead = "With two letters out of its loss the plain sorter converges before " + listed(
            [NAMES[kind] for kind in rivals]
        )
    else:
        lead = "Nothing shows that leaving two letters out of the loss helps"
    return Markdown(
        f"{lead} ({body}). {part.arrived} of its {len(part.arrivals)} seeds converge; asked for "
        f"all six, {plain.arrived}."
    )


def retold(bodies: Bodies) -> Markdown:
    """The chapter in three sentences, as the evidence with most seeds has it."""
    body = most(bodies)
    claims = lesson(bodies)
    gate, third = (_verdict(claims, text, body) for text in (GATE, THIRD))
    loss = all(before(bodies[body]["plain, knowable"], bodies[body][k]).verdict for k in LESSON[:3])
    first = {
        True: "A new kind of weights learned to sort sooner than the old ones.",
        False: "A new kind of weights learned to sort later than the old ones.",
        None: "A new kind of weights, each with its own learning rate, learned to sort no sooner "
        "than the old ones, as far as can be told.",
    }[gate]
    second = {
        True: "So did the old ones divided by three."
        if gate
        else "The old ones divided by three did.",
        False: "The old ones divided by three were later.",
        None: "Nor did the old ones divided by three."
        if gate is None
        else "The old ones divided by three could not be told from the old ones.",
    }[third]
    last = (
        "And leaving two letters that nobody can know out of the loss helped more than either."
        if loss
        else "Leaving two letters out of the loss did not beat both."
    )
    return Markdown(f"{first} {second} {last}")


def at_one_rate(sweep: Mapping[str, Mapping[float, Crowd]]) -> Markdown:
    """Whether who is ahead, gated or plain, depends on the rate that both are trained at."""
    gated, plain = sweep["gated"], sweep["plain"]
    ahead = [f"{rate:g}" for rate in gated if gated[rate].delay < plain[rate].delay]
    behind = [f"{rate:g}" for rate in gated if gated[rate].delay > plain[rate].delay]
    if ahead and behind:
        return Markdown(
            f"At one rate for both, gated is ahead of plain at {listed(ahead)} and behind at "
            f"{listed(behind)}, by the mean step: who compares at one rate compares rates."
        )
    where = "ahead of" if ahead else "behind" if behind else "level with"
    return Markdown(f"At every rate of the sweep gated is {where} plain, by the mean step.")


def at_best_rates(sweep: Mapping[str, Mapping[float, Crowd]]) -> Markdown:
    """Gated and plain, each at its best rate: the mean step beside the median."""
    best = {kind: evidence.best_rate(sweep[kind]) for kind in ("gated", "plain")}
    crowds = {kind: sweep[kind][rate] for kind, rate in best.items()}
    means = [f"{NAMES[k]} {crowds[k].delay:.0f} (at {rate:g})" for k, rate in best.items()]
    medians = [step_or_never(here.median) for here in crowds.values()]
    return Markdown(
        "Each at its own best, on the seeds that rates were chosen on, the mean steps are "
        f"{listed(means)}, and the median seeds' {listed(medians)}. A mean counts the seeds that "
        "are slow or never converge; a median does not."
    )


def published_words(crowds: Crowds) -> Markdown:
    """Whether the weights make a difference at the published settings, in a sentence or two."""
    found = {claim.text: claim for claim in every({"published": crowds})}
    told = [
        NAMES[ours]
        for text, (ours, theirs) in PAIRS["weights"].items()
        if theirs == "plain" and found[text].findings["published"].verdict is not None
    ]
    seeds, steps = len(crowds["gated"].arrivals), float(crowds["gated"].steps[-1])
    loss = found[LOSS_OF_GATED].findings["published"].verdict
    return Markdown(
        f"And at the published settings, {recipe.PUBLISHED.lr:g} for all and {steps:,.0f} steps? "
        f"There {listed(told) if told else 'none of the others'} can be told from plain, by when "
        f"the seeds converge ({seeds} seeds); the loss "
        + ("still decides, for gated." if loss else "cannot be shown to matter either.")
    )


# Sentences of the evidence page


def rank_claims(crowds: Crowds) -> list[Claim]:
    """Whether rank and temperature matter: seed against the same seed, never pooled.

    The 48 runs of a rank are 16 seeds at three temperatures, so a seed's three are averaged first.
    """
    claims = []
    for variant in ("gated", "strict"):

        def seeds(cells: list[tuple[int, float]], variant: str = variant) -> Tensor:
            return evidence.by_seed(crowds[f"{variant} {r} {t}"] for r, t in cells)

        for text, ours, theirs in (
            (
                "rank 1 converges before rank 3",
                [(1, t) for t in recipe.TEMPERATURES],
                [(3, t) for t in recipe.TEMPERATURES],
            ),
            (
                "τ = 10 converges before τ = 0.1",
                [(r, 10.0) for r in recipe.RANKS],
                [(r, 0.1) for r in recipe.RANKS],
            ),
        ):
            gap = seeds(ours) - seeds(theirs)
            words = f"{int((gap < 0).sum())} of {len(gap)} seeds, {int((gap == 0).sum())} level"
            found = {f"recorded, {len(gap)} seeds": statistics.sign_test(gap, words)}
            claims.append(Claim(f"{variant.capitalize()}: {text}", found, family="rank"))
    return corrected(claims)


def finder_words(found: evidence.Finder) -> str:
    """What the head that the widget opens on does."""
    return (
        f"{NAMES[found.variant].capitalize()}, seed {found.seed}: when it writes the first letter, "
        f"head {found.head + 1} spends {100 * found.share:.0f} % of its attention on the "
        f"{found.letter}'s of the word (mean over the {found.words} words that have one)."
    )


def letter_or_place(model: Sorter, head: int) -> Markdown:
    """Whether a head that writes the first letter goes by the letter or by the place."""
    letter = float(measure.attention_by_letter(model)[head, 0].max())
    which = sorting.LETTERS[int(measure.attention_by_letter(model)[head, 0].argmax())]
    places = measure.attention_by_place(model)[head, 0]
    place = float(places.max())
    end = (
        f"So it goes by the letter, {which}, and not by the place."
        if letter > 2 * place
        else "So the two cannot be told apart by this."
    )
    return Markdown(
        f"When the first letter is written, head {head + 1} gives the {which}'s of a word "
        f"{letter:.2f} of its attention, and no place of the word more than {place:.2f}. {end}"
    )


def failure_words(failure: evidence.Failure, blind: Mapping[str, tuple[int, int]]) -> Markdown:
    """Which seed failed, and how many like it depend too little on some letter."""
    if failure.score == recipe.SOLVED:
        return Markdown("Of the recorded sorters none failed.")
    return Markdown(
        f"The worst recorded sorter is {NAMES[failure.variant]}, seed {failure.seed}: it sorts "
        f"{failure.score} of 27. Call a sorter blind if some written letter moves by less than "
        f"{evidence.BLIND:g} when some letter of the word is replaced. Blind are "
        + listed([f"{n} of the {of} that {name}" for name, (n, of) in blind.items() if of])
        + "."
    )


def where_it_looks(model: Sorter) -> Markdown:
    """The attention of a failed sorter at the step that depends least on some letter."""
    moved = measure.sensitivity(model)
    i, j = divmod(int(moved.argmin()), 3)
    share = measure.attention_on_letters(model)[:, :, i].mean(0)  # [heads, places]
    top = int(share.sum(0).argmax())
    both = [f"the {NTH[p]} letter {share[0, p]:.2f} and {share[1, p]:.2f}" for p in (j, top)]
    said = listed(both) if j != top else both[0]
    return Markdown(
        f"When it writes its {NTH[i]} letter, its two heads give {said} "
        "of their attention, averaged over the 27 words."
    )


def trace_words(untrained: float, trained: float) -> Markdown:
    """On how many inputs the published trace contradicts the published generation."""
    return Markdown(
        "The published program forbids the separator when it generates, but not in the trace that "
        "it prints of the same generation, so the two can disagree: on "
        f"{untrained:.1f} of 27 inputs on average before training, on {trained:.1f} after. Here "
        "both forbid it."
    )


def positions_words(crowds: Crowds) -> Markdown:
    """Whether sorters without positions sort, and how near they come to what they could."""
    exact = float(sorting.entropies(sorting.all_sequences(), sorting.proportions).mean())
    arrived, seeds = (
        sum(c.arrived for c in crowds.values()),
        sum(len(c.arrivals) for c in crowds.values()),
    )
    gap = min(float(c.last_losses.mean(-1).min()) for c in crowds.values()) - exact
    return Markdown(
        f"{arrived} of {seeds} seeds sort all 27 inputs without positions, "
        f"and the best ends {gap:.4f} nats above the least possible, {exact:.4f}."
    )
