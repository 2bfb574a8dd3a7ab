"""What chapter 4 says of its evidence: claims with their verdicts, sentences and tables."""

import math
from collections.abc import Mapping, Sequence

import torch
from IPython.display import HTML, Markdown
from torch import Tensor

from attn_notes import notebook
from attn_notes.analysis import claims, statistics
from attn_notes.analysis.claims import Claim
from attn_notes.analysis.statistics import Finding, Verdict, unless_nan
from attn_notes.analysis.words import median, signed, span
from attn_notes.chapters.equilibrium import estimators, evidence, recipe
from attn_notes.chapters.equilibrium.evidence import NOT_AEP, QUICKEST, SLOWEST
from attn_notes.models.equilibrium import Config
from attn_notes.tasks.text import Text

RECORDED, LIVE = "recorded", "live"
"""The two columns of verdicts."""

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
KINDS = "between kinds, by their recorded ends"
"""The one family of this chapter: what a test of ranks decides."""


def comparisons(training: evidence.Training) -> dict[str, Claim]:
    """What is asked of two kinds by their ends: `clip` and `naive`, corrected together."""

    def lower(ours: str, theirs: str) -> Mapping[str, Finding]:
        ends = training.ends[ours], training.ends[theirs]
        found = statistics.ends_lower(*ends)
        medians = " against ".join(f"{median(each):.3f}" for each in ends)
        return {RECORDED: found._replace(found=f"{medians}; {found.found}")}

    asked = {
        "clip": Claim(
            "The clip costs: AEP ends lower without", lower("AEP", "AEP, clipped"), family=KINDS
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


def seen(verdict: Verdict, found: str) -> dict[str, Finding]:
    """What this page's run has found."""
    return {LIVE: Finding(verdict, found)}


def of_gradients(gradients: evidence.Gradients) -> list[Claim]:
    """What is claimed of the recorded gradients at the published sizes."""
    seeds, few, many = of_seeds(gradients.seeds), recipe.FEW, recipe.MANY
    clipped, later = gradients.at("clipped", few), gradients.at("clipped", many)
    naive, full = gradients.at("none", few), gradients.at("full", many)
    off = signed(f"{max(1 - full.min().item(), 1e-10):.0e}")
    along = unless_nan(statistics.every_seed(clipped, 0.95), clipped)
    exact = unless_nan(bool(full.min() > 0.999999), full)
    return [
        Claim(
            "As published, AEP's gradient points along the true one (cosine above 0.95)",
            recorded(along, f"{span(clipped, 3)}, {seeds}"),
            whose="source",
        ),
        Claim(
            "Naive equilibrium propagation's does not",
            recorded(unless_nan(bool(naive.max() < 0.95), naive), f"{span(naive, 3)}, {seeds}"),
        ),
        Claim(
            f"More nudged steps bring the published gradient closer ({many} against {few})",
            recorded(
                statistics.all_rise(clipped.tolist(), later.tolist()), f"{span(later, 3)}, {seeds}"
            ),
        ),
        Claim(
            f"Without the clip they do: cosine above 0.999999 at {many} steps",
            recorded(exact, f"1 − cosine at most {off}, {seeds}"),
        ),
    ]


def of_rates(rates: evidence.Rates) -> list[Claim]:
    """What the theorem says of the live model's errors."""
    slopes = [rates.orders["one side"], rates.orders["both sides"]]
    factor, radius = rates.factor, rates.radius
    evenly = statistics.near([math.log(factor)], [math.log(radius)])
    return [
        Claim(
            "Its error is of first order in β with one side, of second with both (within 10 %)",
            seen(
                statistics.near(slopes, [1.0, 2.0]), f"slopes {slopes[0]:.3f} and {slopes[1]:.3f}"
            ),
            whose="source",
        ),
        Claim(
            "After the first ones, each nudged step shrinks its error by ρ(1 + εJ) (within 10 %)",
            seen(unless_nan(evenly, [factor, radius]), f"{factor:.3f} against {radius:.3f}"),
        ),
    ]


def of_rest(rests: Sequence[evidence.Rest]) -> list[Claim]:
    """Whether the published block comes to rest, and whether its test tells."""
    loudest, left = rests[-1], [rest.left for rest in rests]
    wrong = [
        f"spread {rest.spread:g}: it says “{state(rest.seems)}”, "
        f"{rest.left:.1e} of the state is left"
        for rest in rests
        if rest.seems != rest.rests
    ]
    return [
        Claim(
            "Damping, c > 0, makes the state come to rest",
            seen(
                unless_nan(all(rest.rests for rest in rests), left),
                f"with embeddings of spread {loudest.spread:g} a force of {loudest.left:.1e} of "
                f"the state is left, {loudest.fine:.1e} with short steps",
            ),
            whose="source",
        ),
        Claim(
            "The published test tells whether it has",
            seen(unless_nan(not wrong, left), ", ".join(wrong)),
            whose="source",
        ),
    ]


def of_training(
    training: evidence.Training, ungoverned: evidence.Ungoverned, live: evidence.Live
) -> list[Claim]:
    """Whether training by AEP is training by BPTT, and what it comes to."""
    seeds, free = of_seeds(training.seeds), of_seeds(ungoverned.seeds)
    ours, theirs = ({c: ungoverned.ends(k, c) for c in recipe.DAMPINGS} for k in ("AEP", "BPTT"))
    away = {kind: ungoverned.ran_away(kind, 1) for kind in ("AEP", "BPTT")}
    ends = training.ends["AEP"]
    first = torch.tensor([live.end]) - training.curves["BPTT"][-1, :1]

    def close(one: Tensor, other: Tensor) -> bool:
        return statistics.within(one, other, CLOSE)

    return [
        Claim(
            f"Trained by AEP a model ends within {CLOSE} nats of BPTT, seed by seed",
            recorded(close(ends, training.ends["BPTT"]), f"{thousandths(training.apart)}, {seeds}"),
        ),
        Claim(
            "The same, live, against the recorded first seed",
            seen(None, "another text")
            if live.excerpt
            else seen(
                close(first, torch.zeros(1)),
                f"{signed(f'{1000 * first.item():+.1f}')} thousandths",
            ),
        ),
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
            recorded(None, "another text")
            if live.excerpt
            else recorded(
                bool(ends.max() < live.pairs),
                f"{span(ends, 3)} against {live.pairs:.3f} on the same pieces, {seeds}",
            ),
        ),
    ]


def of_costs(memory: evidence.Memory, costs: evidence.Costs) -> list[Claim]:
    """What a gradient costs in memory and in time."""
    aep, bptt = memory.peaks["AEP"], memory.peaks["BPTT"]
    flat = statistics.near([aep[-1]], [aep[0]]) and bptt[-1] > 4 * bptt[0]
    faster = {way: costs.faster(way) for way in costs.seconds}
    quick = faster[QUICKEST] >= 4 and costs.cosines[QUICKEST] >= costs.cosines[SLOWEST]
    beside = " and ".join(f"{faster[way]:.1f} ({way})" for way in NOT_AEP)
    return [
        Claim(
            "AEP's memory does not grow with the steps; BPTT's does",
            seen(
                unless_nan(flat, aep, bptt),
                f"{aep[0]:.1f} and {aep[-1]:.1f} MiB, {bptt[0]:.1f} and {bptt[-1]:.1f}",
            ),
        ),
        Claim(
            "A gradient at least 4 times faster than step by step, at no lower cosine",
            seen(
                unless_nan(quick, faster.values(), costs.cosines.values()),
                f"{faster[QUICKEST]:.1f} times with longer steps and one side, "
                f"{faster['AEP, longer steps']:.1f} with both, "
                f"{faster['the same, linearised once']:.1f} with the published steps; without AEP: "
                f"{beside}",
            ),
        ),
    ]


def found(
    training: evidence.Training,
    ungoverned: evidence.Ungoverned,
    gradients: evidence.Gradients,
    live: evidence.Live,
    rates: evidence.Rates,
    rests: Sequence[evidence.Rest],
    memory: evidence.Memory,
    costs: evidence.Costs,
) -> list[Claim]:
    """All claims of the chapter, in its order, corrected within their family."""
    return [
        *of_gradients(gradients),
        *of_rates(rates),
        *of_rest(rests),
        *of_training(training, ungoverned, live),
        *of_costs(memory, costs),
    ]


# --- Sentences


def reading(text: Text, excerpt: bool, parameters: int) -> Markdown:
    """What this run reads, and a line of it."""
    whence = " They are the part that comes with the package: the whole could not be had."
    line = text.decode(text.validation[:300].tolist()).split("\n\n")[1].replace("\n", " ")
    return Markdown(
        f"This run read {len(text.content):,} characters of {len(text.characters)} kinds."
        f"{whence if excerpt else ''} Its model has {parameters:,} trained parameters. "
        f"From the validation part: *{line}*"
    )


def trained(training: evidence.Training, live: evidence.Live) -> Markdown:
    """What came out of training by each kind."""
    between = {k: claim.findings[RECORDED] for k, claim in comparisons(training).items()}

    def lower(name: str, theirs: str) -> str:
        told = {True: "ends lower than", False: "ends higher than", None: "cannot be told from"}
        verdict, words, p = between[name]
        pairs = words.partition("; ")[2]
        chance = "" if p is None else f", {statistics.said(p)}"
        return f"{told[verdict]} {theirs} (it is lower in {pairs} of seeds{chance})"

    here = (
        "(This run read the excerpt, the recorded ones the whole text: "
        "the dashed curve cannot be compared with the bands.)"
        if live.excerpt
        else f"The live model, its seed the first of the recorded ones, is at {live.end:.3f} "
        f"where that one was at {training.curves['AEP'][-1, 0]:.3f}."
    )
    return Markdown(
        f"Trained by AEP a model ends within {training.apart.abs().max():.4f} nats of the same "
        "seed trained by BPTT, in every recorded seed. "
        f"AEP without the clip {lower('clip', 'AEP with it')}. "
        f"Naive equilibrium propagation {lower('naive', 'the frozen block')}. {here}"
    )


def price(training: evidence.Training, ungoverned: evidence.Ungoverned) -> Markdown:
    """What keeping a state at rest costs."""
    without = ungoverned.ends("AEP", 3)
    governed = training.curves["AEP"][-1, : len(without)]
    return Markdown(
        "Rest has its price. On the 128 pieces of the curves the same seeds by AEP, damping 3, "
        f"end at {span(governed, 3)} under the governor, which does not wait for the state to be "
        f"lost, and at {span(without, 3)} where nothing holds them; by BPTT with the published "
        f"damping and nothing held at {span(ungoverned.ends('BPTT', 1), 3)}. BPTT differentiates "
        "sixteen steps wherever they lead, at rest or not. A gradient at rest has to stay where "
        "there is one."
    )


def answer(
    training: evidence.Training, ungoverned: evidence.Ungoverned, live: evidence.Live
) -> Markdown:
    """Whether a language model can be trained this way, and how well it does."""
    as_well = statistics.within(training.ends["AEP"], training.ends["BPTT"], CLOSE)
    verdict = (
        "Yes, as well as by the exact gradient at rest, and only as long as there is rest."
        if as_well
        else "Not as well as by the exact gradient at rest."
    )
    counting = (
        ""
        if live.excerpt
        else f", where counting pairs comes to {live.pairs:.2f} and counting the four characters "
        f"before to {live.fives:.2f}"
    )
    return Markdown(
        f"So can a language model be trained this way? {verdict} The recorded models that come to "
        f"rest end near {median(training.ends['AEP']):.2f} nats on the whole text{counting}; "
        "sixteen steps that are differentiated as they are, with less damping and nothing held, "
        f"end at {span(ungoverned.ends('BPTT', 1), 3)}."
    )


# --- Tables


def state(rests: bool) -> str:
    """What a test says of a state."""
    return "at rest" if rests else "moving"


def yardsticks_table(yardsticks: Mapping[str, float]) -> HTML:
    """What counting comes to."""
    return notebook.table(
        ["what a predictor knows", "nats a character"],
        [[name, f"{nats:.3f}"] for name, nats in yardsticks.items()],
    )


def parts_table(published: Config, corrected: Config) -> HTML:
    """What differs between the two blocks and their estimators."""
    source, ours = estimators.PUBLISHED, estimators.AEP

    def steps(of: Config | estimators.Nudged) -> str:
        return f"{of.relaxation.steps} steps of {of.relaxation.step}"

    shares = (
        f"{source.beta:g}, {source.beta / (recipe.PUBLISHED_BATCH * recipe.PUBLISHED_LENGTH):.5f}",
        f"{ours.beta:g}, {ours.beta / (recipe.BATCH * recipe.LENGTH):.2f}",
    )
    return notebook.table(
        ["part", "as published", "corrected"],
        [
            ["input", "raw embeddings, of spread 0.02", "normalised (LayerNorm)"],
            ["damping c", f"{published.damping:g}", f"{corrected.damping:g}"],
            ["relaxation", steps(published), steps(corrected)],
            ["at rest if", "the last step is short", "the force is small"],
            ["correction", "clipped", "whole"],
            ["nudge β, and its share for one prediction", *shares],
            ["nudged relaxation", steps(source), steps(ours)],
            ["while training", "(it does not train)", "a governor keeps it settling"],
        ],
    )


WHERE = {
    "BPTT": "from nowhere: the whole relaxation is remembered and differentiated",
    "exact": "Jᵀa + g = 0, solved by a relaxation of its own",
    "AEP": "nudged states, corrected",
    "AEP, clipped": "the same, the correction never longer than the force",
    "naive EP": "nudged states, not corrected",
    "frozen": "a = 0: only the read-out learns",
}


def training_table(training: evidence.Training) -> HTML:
    """What each kind came to."""

    def row(kind: str, where: str) -> list[str]:
        ends = training.ends[kind]
        cosine = signed(f"{training.cosines[kind].min():.4f}")
        return [
            kind,
            where,
            f"{median(ends):.4f}",
            f"{ends.max():.4f}",
            "–" if kind == "frozen" else cosine,
        ]

    return notebook.table(
        [
            "kind",
            "where it takes the credit from",
            "nats, median",
            "worst seed",
            "cosine at the end",
        ],
        [row(kind, where) for kind, where in WHERE.items()],
    )


def credit_table(credit: evidence.Credit) -> HTML:
    """Where each method sends its credit."""
    return notebook.table(
        ["method", "to earlier characters", "to the predicting one", "to later characters"],
        [
            [name, *(f"{100 * part:.1f} %" for part in parts)]
            for name, parts in credit.shares.items()
        ],
    )


def rest_table(rests: Sequence[evidence.Rest]) -> HTML:
    """What is left of the force, and what two tests say."""
    return notebook.table(
        [
            "spread of the embeddings",
            "force left",
            "after 800 steps of 0.02",
            "published test",
            "test of the force",
        ],
        [
            [
                f"{rest.spread:g}",
                f"{rest.left:.1e}",
                f"{rest.fine:.1e}",
                state(rest.seems),
                state(rest.rests),
            ]
            for rest in rests
        ],
    )


def runaway_table(ungoverned: evidence.Ungoverned) -> HTML:
    """How many seeds run away where nothing holds them."""
    return notebook.table(
        [f"seeds that run away, of {ungoverned.seeds}", *recipe.UNGOVERNED],
        [
            [f"damping {c}", *(ungoverned.ran_away(kind, c) for kind in recipe.UNGOVERNED)]
            for c in recipe.DAMPINGS
        ],
    )


def costs_table(costs: evidence.Costs) -> HTML:
    """What each way to one gradient takes."""
    return notebook.table(
        ["one gradient", "milliseconds", "times faster", "cosine to the exact one"],
        [
            [
                way,
                f"{1000 * seconds:.0f}",
                f"{costs.faster(way):.1f}",
                f"{costs.cosines[way]:.5f}",
            ]
            for way, seconds in costs.seconds.items()
        ],
    )


table = claims.table
