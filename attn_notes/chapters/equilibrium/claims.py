"""What the chapter says of its evidence: claims with their verdicts, and sentences."""

import math
import textwrap
from collections.abc import Mapping, Sequence

import torch
from IPython.display import Markdown
from torch import Tensor

from attn_notes.analysis import claims, statistics
from attn_notes.analysis.claims import Claim
from attn_notes.analysis.statistics import Effect, Finding, Verdict, unless_nan
from attn_notes.analysis.words import listed, median, number, signed, span
from attn_notes.chapters.equilibrium import evidence, probes, recipe
from attn_notes.chapters.equilibrium.probes import NOT_AEP, QUICKEST, SLOWEST
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
    """What is asked of two kinds by their ends, each under a name, corrected together."""

    def lower(ours: str, theirs: str) -> Mapping[str, Finding]:
        ends = training.ends[ours], training.ends[theirs]
        found = statistics.ends_lower(*ends)
        medians = " against ".join(f"{median(each):.3f}" for each in ends)
        return {RECORDED: found._replace(found=f"{medians}; {found.found}")}

    asked = {
        "taught": Claim(
            "AEP teaches attention something: it ends lower than frozen",
            lower("AEP", "frozen"),
            family=KINDS,
        ),
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


def of_rates(rates: probes.Rates) -> list[Claim]:
    """What the theorem says of the trained model's errors."""
    slopes = [rates.orders["one side"], rates.orders["both sides"]]
    factor, radius = rates.factor, rates.radius
    evenly = statistics.near([math.log(factor)], [math.log(radius)])
    return [
        Claim(
            "Its error is of first order in β with one side, of second with both (within 10 %)",
            recorded(
                statistics.near(slopes, [1.0, 2.0]), f"slopes {slopes[0]:.3f} and {slopes[1]:.3f}"
            ),
            whose="source",
        ),
        Claim(
            "After the first ones, each nudged step shrinks its error by ρ(1 + εJ) (within 10 %)",
            recorded(unless_nan(evenly, [factor, radius]), f"{factor:.3f} against {radius:.3f}"),
        ),
    ]


def of_rest(rests: Sequence[probes.Rest]) -> list[Claim]:
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
            recorded(
                unless_nan(all(rest.rests for rest in rests), left),
                f"with embeddings of spread {loudest.spread:g} a force of {loudest.left:.1e} of "
                f"the state is left, {loudest.fine:.1e} with short steps",
            ),
            whose="source",
        ),
        Claim(
            "The published test tells whether it has",
            recorded(unless_nan(not wrong, left), ", ".join(wrong)),
            whose="source",
        ),
    ]


def close(one: Tensor, other: Tensor) -> bool:
    """Whether no seed ends farther than `CLOSE` from the same seed trained in another way."""
    return statistics.within(one, other, CLOSE)


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


AFTER = 60  # nudged steps: forty more than published
NAMED = dict(zip(NOT_AEP, ("BPTT through twelve steps", "the adjoint relaxation"), strict=True))


def of_memory(memory: probes.Memory) -> Claim:
    """What a gradient holds."""
    aep, bptt = memory.peaks["AEP"], memory.peaks["BPTT"]
    flat = statistics.near([aep[-1]], [aep[0]]) and bptt[-1] > 4 * bptt[0]
    return Claim(
        "AEP's memory does not grow with the steps; BPTT's does",
        recorded(
            unless_nan(flat, aep, bptt),
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
                unless_nan(quick, faster.values(), costs.cosines.values()),
                f"{faster[QUICKEST]:.1f} times with longer steps and one side, "
                f"{faster['AEP, longer steps']:.1f} with both, "
                f"{faster['the same, linearised once']:.1f} with the published steps; without AEP: "
                f"{beside}",
            ),
        ),
        Claim(
            "AEP is the quickest way to this gradient",
            recorded(
                unless_nan(first, costs.seconds.values()),
                f"{ms[QUICKEST]} by AEP with one side, {ms['AEP, longer steps']} with both; "
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


def lesson(
    training: evidence.Training,
    gradients: evidence.Gradients,
    rates: probes.Rates,
    costs: probes.Costs,
    live: evidence.Live,
) -> list[Claim]:
    """The five that the lesson ends on; of the training, what this page's run says as well."""
    published, _, more, _ = of_gradients(gradients)
    trained = as_well(training)
    apart = torch.tensor([live.end]) - training.curves["BPTT"][-1, :1]
    here = (
        Finding(None, "another text")
        if live.excerpt
        else Finding(
            close(apart, torch.zeros(1)),
            f"{signed(f'{1000 * apart.item():+.1f}')} thousandths from the first recorded seed",
        )
    )
    both = Claim(trained.text, {**trained.findings, LIVE: here})
    return [published, more, of_rates(rates)[0], both, of_time(costs)[-1]]


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


WIDTH = 72  # letters, which a page shows without scrolling


def goes_on(text: str) -> str:
    """A prompt and what a model has written after it, its long lines broken."""
    lines = f"{recipe.PROMPT.strip()}\n{text.rstrip()}".splitlines()
    broken = [part for line in lines for part in textwrap.wrap(line, WIDTH) or [""]]
    return "\n".join(["```text", *broken, "```"])


def wrote(live: evidence.Live) -> Markdown:
    """Where the live model ends beside counting, and what it writes."""
    counted = live.yardsticks.counted
    which = "the excerpt" if live.excerpt else "the whole text"
    if math.isnan(live.end):
        return Markdown(
            f"On {which} this run broke: after {recipe.STEPS} steps its loss is no number."
        )
    where = "below" if live.end < counted["pairs"] else "not below"
    return Markdown(
        f"After {recipe.STEPS} steps on {which} it is at {live.end:.3f} nats, {where} the "
        f"{counted['pairs']:.3f} of counting pairs; counting with four characters of context comes "
        f"to {counted['fives']:.3f}. Asked to go on, it writes:\n\n{goes_on(live.text)}"
    )


def forty_more(gradients: evidence.Gradients) -> Markdown:
    """What becomes of the prediction: the published gradient with forty more nudged steps."""
    few = recipe.FEW
    before, after = (gradients.at("clipped", steps) for steps in (few, AFTER))
    drifts = {True: "comes closer", False: "drifts away", None: "does neither in every seed"}[
        statistics.all_rise(before.tolist(), after.tolist())
    ]
    full = gradients.at("full", AFTER)
    off = signed(f"{max(1 - full.min().item(), 1e-10):.0e}")
    return Markdown(
        f"And forty more steps? The published gradient {drifts}: its cosine to the exact one is "
        f"{span(before, 3)} at {few} steps, and {span(after, 3)} at {AFTER}, in "
        f"{gradients.seeds} seeds. Without the clip 1 − cosine is then at most {off}."
    )


def less(ours: Tensor, theirs: Tensor) -> Effect:
    """How much higher ours end than the same seeds of theirs: the median, with its interval."""
    return statistics.typical(ours - theirs)


def by(effect: Effect) -> str:
    """An effect with its interval, in nats."""
    if effect.low <= 0 <= effect.high:
        interval = f"({number(effect.low, 3)} to {number(effect.high, 3)})"
        return f"{number(effect.middle, 3)} nats {interval}"
    low, high = sorted((abs(effect.low), abs(effect.high)))
    way = "below" if effect.middle < 0 else "above"
    return f"{number(abs(effect.middle), 3)} nats {way} ({number(low, 3)} to {number(high, 3)})"


def taught(training: evidence.Training) -> Markdown:
    """What each way to the gradient has taught, beside no gradient at all and beside counting."""
    ends, counted = training.ends, training.counted
    frozen = {k: by(less(ends[k], ends["frozen"])) for k in ("AEP", "AEP, clipped", "naive EP")}
    verdicts = {k: claim.findings[RECORDED].verdict for k, claim in comparisons(training).items()}
    naive = {
        True: "The naive gradient still teaches something.",
        False: "The naive gradient is worse than none.",
        None: "Whether the naive gradient is better than none cannot be told.",
    }[verdicts["naive"]]
    return Markdown(
        f"{training.seeds} seeds of each kind, recorded on the whole text. *Frozen* is the "
        "control: its attention stays as it was drawn, and only the read-out learns. Mean "
        "differences from it, same seeds, with 95 % intervals: AEP "
        f"{frozen['AEP']}; clipped {frozen['AEP, clipped']}; naive {frozen['naive EP']}. {naive} "
        f"AEP and BPTT end within {training.apart.abs().max():.3f} nats of each other in every "
        f"seed. And the level? AEP's median is {median(ends['AEP']):.3f} where counting pairs "
        f"comes to {counted['pairs']:.3f} and counting with four characters of context to "
        f"{counted['fives']:.3f}."
    )


def quickest(costs: probes.Costs) -> Markdown:
    """What AEP costs in time, beside what needs no nudge."""
    ms = {way: f"{1000 * seconds:,.0f} ms" for way, seconds in costs.seconds.items()}
    others = listed([f"{ms[way]} by {NAMED[way]}" for way in NOT_AEP])
    faster = [way for way in NOT_AEP if costs.seconds[way] < of_aep(costs)]
    so = (
        "On a computer AEP is not the quickest way to this gradient."
        if faster
        else "Here AEP is the quickest of these."
    )
    return Markdown(
        f"One gradient at the published sizes, recorded in one run: {ms[SLOWEST]} computed step by "
        f"step, as the source does; {ms['AEP, longer steps']} by AEP with longer steps, "
        f"{ms[QUICKEST]} with one side only; {others}. {so}"
    )


def trained(training: evidence.Training) -> Markdown:
    """What came out of training by each kind."""
    between = {k: claim.findings[RECORDED] for k, claim in comparisons(training).items()}

    def lower(name: str, theirs: str) -> str:
        verdict, words, p = between[name]
        pairs = words.partition("; ")[2]
        chance = "" if p is None else f", {statistics.said(p)}"
        return f"{statistics.ending(verdict)} {theirs} (it is lower in {pairs}{chance})"

    mean = less(training.ends["AEP"], training.ends["BPTT"])
    return Markdown(
        f"Trained by AEP a model ends within {training.apart.abs().max():.4f} nats of the same "
        f"seed trained by BPTT, in every one of {training.seeds}; the mean difference is "
        f"{number(1000 * mean.middle, 1)} thousandths ({number(1000 * mean.low, 1)} to "
        f"{number(1000 * mean.high, 1)}). "
        f"AEP {lower('taught', 'the frozen block')}; without the clip it "
        f"{lower('clip', 'with it')}. "
        f"Naive equilibrium propagation {lower('naive', 'the frozen block')}."
    )


def price(training: evidence.Training, ungoverned: evidence.Ungoverned) -> Markdown:
    """What keeping a state at rest costs."""
    without = ungoverned.ends("AEP", 3)
    governed = training.curves["AEP"][-1, : len(without)]
    return Markdown(
        "Rest has its price. On the pieces of the curves the same seeds by AEP, damping 3, "
        f"end at {span(governed, 3)} under the governor, which does not wait for the state to be "
        f"lost, and at {span(without, 3)} where nothing holds them; by BPTT with the published "
        f"damping and nothing held at {span(ungoverned.ends('BPTT', 1), 3)}. BPTT differentiates "
        "sixteen steps wherever they lead, at rest or not. A gradient at rest has to stay where "
        "there is one."
    )


def answer(training: evidence.Training, ungoverned: evidence.Ungoverned) -> Markdown:
    """Whether a language model can be trained this way, and how well it does."""
    verdict = (
        "Yes, as well as by the exact gradient at rest, and only as long as there is rest."
        if close(training.ends["AEP"], training.ends["BPTT"])
        else "Not as well as by the exact gradient at rest."
    )
    counted = training.counted
    return Markdown(
        f"So can a language model be trained this way? {verdict} The recorded models that come to "
        f"rest end near {median(training.ends['AEP']):.2f} nats on the whole text, where counting "
        f"pairs comes to {counted['pairs']:.2f} and counting with four characters of context to "
        f"{counted['fives']:.2f}; "
        "sixteen steps that are differentiated as they are, with less damping and nothing held, "
        f"end at {span(ungoverned.ends('BPTT', 1), 3)}."
    )


def state(rests: bool) -> str:
    """What a test says of a state."""
    return "at rest" if rests else "moving"


table = claims.table
