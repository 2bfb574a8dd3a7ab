"""The chapter's claims with their verdicts, and what it says of a live run."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace

from IPython.display import HTML, Markdown
from torch import Tensor

from attn_notes.analysis import statistics
from attn_notes.analysis.statistics import Verdict
from book.kit import claims, verdicts
from book.kit.claims import Claim, Mine
from book.kit.verdicts import Finding
from book.kit.words import listed, signed, span
from book.lessons.equilibrium import evidence, probes, recipe
from book.lessons.equilibrium.probes import NOT_AEP, QUICKEST, SLOWEST

RECORDED, VERDICT = "recorded", "verdict"
"""The column of verdicts on the evidence, and in the lesson."""

# --- Words for numbers


def thousandths(values: Tensor) -> str:
    """Differences in nats, from the lowest to the highest."""
    return span(1000 * values, 1, " thousandths")


def of_seeds(seeds: int) -> str:
    """How many."""
    return f"{seeds} seeds"


# --- Claims


CLOSE = 0.02
"""Nats: how near two runs of one seed end that were trained alike."""
KINDS = "between kinds, by the recorded ends of the same seeds"
"""The one family of this chapter: what a sign test decides."""


def comparisons(training: evidence.Training) -> dict[str, Claim]:
    """What is asked of two kinds by their ends, each under a name, corrected together.

    All kinds share seeds and batches, so the ends of one seed are a pair.
    """

    def lower(ours: str, theirs: str) -> Mapping[str, Finding]:
        apart = training.ends[ours] - training.ends[theirs]
        middle, low, high = (signed(f"{x:+.3f}") for x in statistics.typical(apart))
        below = int((apart < 0).sum())
        found = f"{middle} ({low} to {high}); lower in {below} of {of_seeds(len(apart))}"
        return {RECORDED: verdicts.sign_test(apart, found)}

    asked = {
        "taught": Claim(
            "AEP teaches attention something: it ends lower than frozen",
            lower("AEP", "frozen"),
            family=KINDS,
        ),
        "limit": Claim(
            "The limit costs: AEP ends lower without", lower("AEP", "AEP, clipped"), family=KINDS
        ),
        "naive": Claim(
            "Naive equilibrium propagation teaches attention something: it ends lower than frozen",
            lower("naive EP", "frozen"),
            family=KINDS,
        ),
    }
    return dict(zip(asked, claims.corrected(asked.values()), strict=True))


def recorded(verdict: Verdict, found: str) -> dict[str, Finding]:
    """What the records have found."""
    return {RECORDED: Finding(verdict, found)}


def of_gradients(gradients: evidence.Gradients) -> list[Claim]:
    """What is claimed of the recorded gradients at the published sizes."""
    seeds, few, many = of_seeds(gradients.seeds), recipe.FEW, recipe.MANY
    clipped, later = gradients.at("clipped", few), gradients.at("clipped", many)
    naive, full = gradients.at("none", few), gradients.at("full", many)
    off = evidence.at_most(1 - full.min().item())

    def four(correction: str, steps: int) -> str:
        return f"mean of four {span(gradients.at(correction, steps), 3)}, {seeds}"

    return [
        Claim(
            "As published, AEP's gradient points along the true one (cosine above 0.95)",
            recorded(verdicts.every_seed(clipped, 0.95), four("clipped", few)),
            whose="source",
        ),
        Claim(
            "Naive equilibrium propagation's does not",
            recorded(bool(naive.max() < 0.95), four("none", few)),
        ),
        Claim(
            f"More nudged steps bring the published gradient closer ({many} against {few})",
            recorded(verdicts.all_rise(clipped.tolist(), later.tolist()), four("clipped", many)),
        ),
        Claim(
            f"Without the limit they do: cosine above 0.999999 at {many} steps",
            recorded(bool(full.min() > 0.999999), f"1 − cosine at most {off}, {seeds}"),
        ),
    ]


def of_rates(rates: probes.Rates) -> list[Claim]:
    """What the theorem says of the trained model's errors."""
    slopes = [rates.orders["one side"], rates.orders["both sides"]]
    factor, radius = rates.factor, rates.radius
    evenly = verdicts.near([math.log(factor)], [math.log(radius)])
    return [
        Claim(
            "Its error is of first order in β with one side, of second with both (within 10 %)",
            recorded(
                verdicts.near(slopes, [1.0, 2.0]), f"slopes {slopes[0]:.3f} and {slopes[1]:.3f}"
            ),
            whose="source",
        ),
        Claim(
            "After the first ones, each nudged step shrinks its error by ρ(1 + εJ) (within 10 %)",
            recorded(evenly, f"{factor:.3f} against {radius:.3f}"),
        ),
    ]


def of_rest(rests: Sequence[probes.Rest]) -> list[Claim]:
    """Whether the published block comes to rest, and whether its test tells."""
    loudest = rests[-1]
    wrong = [
        f"spread {rest.spread:g}: it says “{state(rest.seems)}”, "
        f"{rest.left:.1e} of the state is left"
        for rest in rests
        if rest.seems != rest.rests
    ]
    return [
        Claim(
            "Damping, c > 0, makes the state come to rest",
            recorded(
                all(rest.rests for rest in rests),
                f"with embeddings of spread {loudest.spread:g} a force of {loudest.left:.1e} of "
                f"the state is left, {loudest.fine:.1e} with short steps",
            ),
            whose="source",
        ),
        Claim(
            "The published test tells whether it has",
            recorded(not wrong, ", ".join(wrong)),
            whose="source",
        ),
    ]


def close(one: Tensor, other: Tensor) -> bool:
    """Whether no seed ends farther than `CLOSE` from the same seed trained in another way."""
    return verdicts.within(one, other, CLOSE)


def as_well(training: evidence.Training) -> Claim:
    """Whether training by AEP is training by BPTT."""
    return Claim(
        f"Trained by AEP a model ends within {CLOSE} nats of BPTT, seed by seed",
        recorded(
            close(training.ends["AEP"], training.ends["BPTT"]),
            f"{thousandths(training.apart)}, {of_seeds(training.seeds)}",
        ),
    )


def of_training(training: evidence.Training, ungoverned: evidence.Ungoverned) -> list[Claim]:
    """Whether training by AEP is training by BPTT, and what it comes to."""
    seeds, free = of_seeds(training.seeds), of_seeds(ungoverned.seeds)
    ours, theirs = ({c: ungoverned.ends(k, c) for c in recipe.DAMPINGS} for k in ("AEP", "BPTT"))
    away = {kind: ungoverned.ran_away(kind, 1) for kind in ("AEP", "BPTT")}
    ends, pairs = training.ends["AEP"], training.counted["pairs"]
    return [
        as_well(training),
        Claim(
            "The same where nothing holds either of them, damping 3",
            recorded(close(ours[3], theirs[3]), f"{thousandths(ours[3] - theirs[3])}, {free}"),
        ),
        Claim(
            "The same with the published damping of 1",
            recorded(
                close(ours[1], theirs[1]),
                f"AEP runs away in {away['AEP']} of {free}, BPTT in {away['BPTT']}",
            ),
        ),
        *comparisons(training).values(),
        Claim(
            "AEP ends below the loss of counting pairs, every seed",
            recorded(
                bool(ends.max() < pairs),
                f"{span(ends, 3)} against {pairs:.3f} on the same pieces, {seeds}; counting the "
                f"four characters before comes to {training.counted['fives']:.3f}",
            ),
        ),
    ]


NAMED = dict(zip(NOT_AEP, ("BPTT through twelve steps", "the adjoint relaxation"), strict=True))


def of_memory(memory: probes.Memory) -> Claim:
    """What a gradient holds."""
    aep, bptt = memory.peaks["AEP"], memory.peaks["BPTT"]
    flat = verdicts.near([aep[-1]], [aep[0]]) and bptt[-1] > 4 * bptt[0]
    return Claim(
        "AEP's memory does not grow with the steps; BPTT's does",
        recorded(
            flat,
            f"{aep[0]:.1f} and {aep[-1]:.1f} MiB, {bptt[0]:.1f} and {bptt[-1]:.1f}",
        ),
    )


def of_time(costs: probes.Costs) -> list[Claim]:
    """What a gradient takes."""
    faster = {way: costs.faster(way) for way in costs.seconds}
    quick = faster[QUICKEST] >= 4 and costs.cosines[QUICKEST] >= costs.cosines[SLOWEST]
    beside = listed([f"{faster[way]:.1f} ({way})" for way in NOT_AEP])
    ms = {way: f"{1000 * seconds:,.0f} ms" for way, seconds in costs.seconds.items()}
    first = all(of_aep(costs) < costs.seconds[way] for way in NOT_AEP)
    return [
        Claim(
            "A gradient at least 4 times faster than step by step, at no lower cosine",
            recorded(
                quick,
                f"{faster[QUICKEST]:.1f} times with longer steps and one side, "
                f"{faster['AEP, longer steps']:.1f} with both, "
                f"{faster['the same, linearised once']:.1f} with the published steps; without AEP: "
                f"{beside}",
            ),
        ),
        Claim(
            "AEP is the quickest way to this gradient",
            recorded(
                first,
                f"{ms[QUICKEST]} by AEP; "
                + listed([f"{ms[way]} by {NAMED[way]}" for way in NOT_AEP]),
            ),
        ),
    ]


def of_aep(costs: probes.Costs) -> float:
    """Seconds that the quickest way of AEP takes."""
    return min(seconds for way, seconds in costs.seconds.items() if way.startswith("AEP"))


def found(
    training: evidence.Training,
    ungoverned: evidence.Ungoverned,
    gradients: evidence.Gradients,
    rates: probes.Rates,
    rests: Sequence[probes.Rest],
    memory: probes.Memory,
    costs: probes.Costs,
) -> list[Claim]:
    """All claims of the chapter, in its order, corrected within their family."""
    return [
        *of_gradients(gradients),
        *of_rates(rates),
        *of_rest(rests),
        *of_training(training, ungoverned),
        of_memory(memory),
        *of_time(costs),
    ]


def lesson(training: evidence.Training, gradients: evidence.Gradients) -> list[Claim]:
    """The three that the lesson ends on, in its words."""
    published, _, more, _ = of_gradients(gradients)
    trained = replace(
        as_well(training), mine=Mine("pairs", ("AEP", "BPTT"), ("end", None), high=CLOSE)
    )
    blocks, models = f"{gradients.seeds} untrained models", f"{training.seeds} trainings"
    return [
        replace(
            claim,
            text=text,
            findings={VERDICT: Finding(claim.findings[RECORDED].verdict, f"in each of {where}")},
        )
        for claim, text, where in (
            (published, "After its own 20 steps the gradient points along the true one", blocks),
            (more, "In an untrained model, more settling brings it nearer", blocks),
            (trained, "Without the limit, AEP trains a model as well as BPTT", models),
        )
    ]


def verdict() -> HTML:
    """The lesson's three as its table, to which the page adds what its reader's runs say."""
    return claims.table(lesson(evidence.training(), evidence.gradients()), lesson="equilibrium")


def state(rests: bool) -> str:
    """What a test says of a state."""
    return "at rest" if rests else "moving"


table = claims.table


# --- Of the live run


WIDTH = 39  # letters, which a phone shows without scrolling


def goes_on(text: str) -> str:
    """A prompt and what a model has written after it, its long lines broken."""
    lines = f"{recipe.PROMPT.strip()}\n{text.rstrip()}".splitlines()
    broken = [part for line in lines for part in textwrap.wrap(line, WIDTH) or [""]]
    return "\n".join(["```text", *broken, "```"])


def told(live: evidence.Live) -> Markdown:
    """What the live model came to, and how it goes on from a prompt."""
    gets = "below" if live.end < live.pairs else "and not below"
    return Markdown(
        f"It ends at {live.end:.2f} nats a letter, {gets} {live.pairs:.2f}. That is what it costs "
        "on the same letters only to count which letter follows which. Asked to go on, it "
        "writes:\n\n"
        f"{goes_on(live.text)}"
    )
