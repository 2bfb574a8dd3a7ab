"""What chapter 2 says of its evidence: every verdict, and every sentence that rests on numbers."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from IPython.display import Markdown
from torch import Tensor

from attn_notes.analysis import statistics
from attn_notes.analysis.claims import Claim, corrected
from attn_notes.analysis.statistics import Finding, Verdict, unless_nan
from attn_notes.analysis.words import listed, rounded
from attn_notes.chapters.triple_product import recipe
from attn_notes.chapters.triple_product.evidence import (
    ByToken,
    Circuits,
    Costs,
    Evidence,
    Learnings,
    Loudness,
    Transfer,
)

HERE = "here, live or by geometry"
LOWER = "which kind ends lower"  # the family of all comparisons of two kinds
SOLVED = 0.9  # a share of copies right that counts as copying

NAMES = {
    "expanded": "expanded, as published",
    "projected": "stopped at 0",
    "residual": "k − projection",
    "stable": "double precision",
    "features": "quadratic features, fused",
    "dot": "dot product",
    "fused dot": "dot product, fused",
}
"""The forms of the volume, and the dot product beside them."""


def _score(kind: str) -> str:
    return "dot product" if kind == "dot" else kind


# --- Verdicts


def strictly_tests_induction(at_home: float, elsewhere: float) -> Verdict:
    """Whether copying well (at home) shows that a model goes by content.

    It does if whoever copies at one period copies at others too. Where nobody copies at home, or an
    accuracy is no number, nothing can be told.
    """
    return elsewhere > 0.5 if at_home > SOLVED and not math.isnan(elsewhere) else None


def induction(moved: Transfer) -> Finding:
    """What the models that were trained at one period say of the task."""
    home = torch.cat([moved.at_home(kind) for kind in moved.accuracy]).min().item()
    elsewhere = torch.cat([moved.elsewhere(kind).flatten() for kind in moved.accuracy]).max().item()
    return Finding(
        strictly_tests_induction(home, elsewhere),
        f"one layer gets at least {home:.3f} right, at other periods at most {elsewhere:.2f}",
    )


def _copies(share: float, found: str) -> Finding:
    return Finding(unless_nan(share > SOLVED, share), f"{share:.2f} {found}")


def _solves(accuracies: Tensor) -> Finding:
    """Whether every one of them copies."""
    low, high = accuracies.min().item(), accuracies.max().item()
    found = f"{low:.2f} to {high:.2f} right" if len(accuracies) > 1 else f"{high:.2f} right"
    return Finding(unless_nan(statistics.every_seed(accuracies, SOLVED), low), found)


def _never_below(learnings: Mapping[str, Learnings], best: Mapping[str, float]) -> Finding:
    held, gap = statistics.never_below(
        (learning.loss.min().item(), best[name])
        for name, kinds in learnings.items()
        for learning in kinds.values()
    )
    return Finding(held, f"lowest {gap:.3f} nats above it")


ASKED = {
    ("volume", "dot"): "the volume ends below the dot product, equal steps",
    ("volume", recipe.WIDER): "… equal parameters",
    ("angle", "volume"): "the angle ends below the volume",
    ("angle", recipe.WIDER): "the angle ends below the dot product, equal parameters",
    ("angle", "line"): "the angle ends below its control, the line",
}
PAIRS = {
    (layers, *pair): f"{layers.capitalize()}: {text}"
    for layers in ("one layer", "two layers")
    for pair, text in ASKED.items()
}
"""Layers, ours and theirs → the question whether ours ends lower."""


def recorded_column(recorded: Mapping[str, Learnings]) -> str:
    """The name of the recorded evidence, with its seeds."""
    seeds = {run.loss.shape[1] for kinds in recorded.values() for run in kinds.values()}
    return f"recorded, {listed([str(n) for n in sorted(seeds)])} seeds"


def _pairs(seen: Evidence) -> list[Claim]:
    """Of every pair, in each body of evidence that has both kinds."""
    claims = []
    for (layers, ours, theirs), text in PAIRS.items():
        findings = {
            column: statistics.ends_lower(kinds[ours].loss[-1], kinds[theirs].loss[-1])
            for column, kinds in (
                (HERE, seen.live[layers]),
                (recorded_column(seen.recorded), seen.recorded[layers]),
            )
            if {ours, theirs} <= kinds.keys()
        }
        claims.append(Claim(text, findings, family=LOWER))
    return claims


def every(seen: Evidence) -> list[Claim]:
    """The chapter's claims and questions with their verdicts, comparisons corrected by Holm."""
    there = recorded_column(seen.recorded)
    strangers = seen.resilience.strangers
    first, last = strangers[0], strangers[-1]
    volumes = [key.volume for key in strangers]
    falls = all(after < before for before, after in pairwise(volumes))
    shared = seen.resilience.shared
    (least, start), *_, (most, end) = sorted(shared.items())
    linear = all(abs(dot / (0.1 * length) - 1) < 1e-5 for length, dot in shared.items())
    negative = seen.rounding["expanded"][1.0].negative

    def geometry(text: str, finding: Finding, whose: str = "ours") -> Claim:
        return Claim(text, {HERE: finding}, whose)

    def both(text: str, layers: str, kind: str, any_seed: bool) -> Claim:
        findings = {}
        for column, learnings in ((HERE, seen.live), (there, seen.recorded)):
            right = learnings[layers][kind].accuracy[-1]
            findings[column] = _solves(right.max()[None] if any_seed else right)
        return Claim(text, findings)

    return corrected(
        [
            geometry(
                "The fixed copy “strictly tests induction heads”",
                induction(seen.moved),
                "source",
            ),
            geometry(
                "Dot product: “As Magnitude increases, score INCREASES linearly”",
                Finding(
                    unless_nan(last.dot > first.dot, last.dot, first.dot),
                    f"{first.dot:.4f} at length {first.length:.0f}, "
                    f"{last.dot:.4f} at {last.length:.0f}",
                ),
                "source",
            ),
            geometry(
                "The same, if the leak is a share of the stranger's length",
                Finding(
                    unless_nan(linear, *shared.values()),
                    f"{start:.1f} at {least:.0f}, {end:.1f} at {most:.0f}",
                ),
            ),
            geometry(
                "Volume: “as Magnitude increases for misaligned vectors, score DECREASES”",
                Finding(
                    unless_nan(falls, *volumes),
                    f"{rounded(first.volume)} to {rounded(last.volume)}",
                ),
                "source",
            ),
            geometry(
                "“You must be in the plane to play”: a token at a tenth of its size does not "
                "disturb the other copies",
                _copies(seen.loud.at("others", "volume", 0.1), "of the other copies right"),
                "source",
            ),
            geometry(
                "The right token keeps its copy when it is 3 times as loud, with the volume",
                _copies(seen.loud.at("own", "volume", 3.0), "right"),
            ),
            geometry("… with the angle", _copies(seen.loud.at("own", "angle", 3.0), "right")),
            geometry(
                "The published expansion is never negative",
                Finding(
                    unless_nan(negative == 0, negative),
                    f"{100 * negative:.0f} % of keys in the plane",
                ),
            ),
            *_pairs(seen),
            *(
                both(
                    f"One layer with the {_score(kind)} copies at a random period: "
                    "nine in ten, any seed",
                    "one layer, random period",
                    kind,
                    True,
                )
                for kind in recipe.KINDS
            ),
            *(
                both(
                    f"Two layers with the {_score(kind)} copy at a random period: "
                    "nine in ten, every seed",
                    "two layers",
                    kind,
                    False,
                )
                for kind in recipe.KINDS
            ),
            Claim(
                "No loss lies below the best predictor's on the same sequences",
                {
                    HERE: _never_below(seen.live, seen.best),
                    there: _never_below(seen.recorded, seen.best),
                },
            ),
        ]
    )


def recorded(found: Sequence[Claim], layers: str, ours: str, theirs: str) -> Finding:
    """What the records say of a pair, after correction."""
    (claim,) = (c for c in found if c.text == PAIRS[layers, ours, theirs])
    (finding,) = (f for column, f in claim.findings.items() if column != HERE)
    return finding


# --- Sentences


def features(error: float) -> Markdown:
    """How far the quadratic features are from the determinant."""
    return Markdown(
        "On 64 random queries and keys in double precision the two differ by "
        f"{rounded(error)} of the largest score. Ordinary attention has fast kernels that never "
        "hold all scores at once, and so now has this one. When does that pay?"
    )


def features_pay(costs: Costs) -> bool:
    """Whether, at the longest, features beat the expansion, and more so in smaller heads."""
    gains = [costs.gain(d, "features") for d in sorted(costs.dimensions)]
    return all(gain > 1 for gain in gains) and all(
        small > large for small, large in pairwise(gains)
    )


def fused_dot_is_cheapest(costs: Costs) -> bool:
    """Whether the fused dot product took least time, at every length."""
    return all(
        run["fused dot"]["seconds"] < min(run[form]["seconds"] for form in run if "dot" not in form)
        for run in costs.runs.values()
    )


def costs(recorded: Costs, times: Mapping[str, float]) -> Markdown:
    """When the features pay, and what is fastest at this chapter's size."""

    def paying(d: int) -> str:
        n = recorded.features_pay_from(d)
        return f"from {n} positions on" if n else "at none of these lengths"

    quickest = min(times, key=lambda form: times[form])
    opening = "The features pay for long sequences and small heads: with"
    speeds = ", ".join(
        f"*{NAMES[form]}* {times['expanded'] / seconds:.2f}"
        for form, seconds in times.items()
        if form != "expanded"
    )
    return Markdown(
        f"{opening if features_pay(recorded) else 'With'} *d* = 8 they are the fastest of the "
        f"exact forms {paying(8)}, with *d* = 16 {paying(16)}. "
        f"At {recorded.lengths[-1]} positions and *d* = 8 they need "
        f"{100 * recorded.memory(8, 'features'):.0f} % of the published memory, because no matrix "
        "of all scores is ever held."
        + (
            " No form is as cheap as the dot product through the same fused kernel."
            if fused_dot_is_cheapest(recorded)
            else ""
        )
        + "\n\nAt the size of this chapter, timed just now, speed against the published "
        f"expansion: {speeds}. Fastest is *{NAMES[quickest]}*. The models below use "
        f"*{NAMES['projected']}*, whose sign is right."
    )


def where(tokens: ByToken) -> Markdown:
    """On which tokens the surplus over the best possible loss falls."""
    early = [kind for kind in tokens.losses if tokens.early(kind) > 0.5]
    late = [kind for kind in tokens.losses if kind not in early]
    uncertain = all(tokens.surplus(kind)[tokens.known :].sum() > 0 for kind in tokens.losses)

    def named(kinds: Sequence[str]) -> str:
        return listed([f"the {_score(kind)}" for kind in kinds])

    if not late:
        first = "Most of the rest falls on the first few tokens."
    elif early:
        first = (
            f"Most of the rest falls on the first four predictions with {named(early)}; with "
            f"{named(late)} it is spread over more of them."
        )
    else:
        first = "The rest is spread over many tokens."
    return Markdown(
        (
            "Not only there: a surplus is left on the copies too, which are right but not certain. "
            if uncertain
            else ""
        )
        + f"{first} These models do not know that they are still in the first half. They look back "
        "for a source where there is none yet, have only a few keys to choose from, and bet on "
        "one. That is a hint at how they copy."
    )


def circuit(found: Circuits, two: Learnings) -> Markdown:
    """Whether the two parts of an induction circuit stand out, and what is not explained."""
    right = {kind: two[kind].accuracy[-1].median().item() for kind in found.source}
    clear = [
        kind
        for kind in found.source
        if right[kind] > SOLVED
        and min(part[kind].median().item() for part in (found.previous, found.source))
        > 5 * found.even
    ]
    rule, longer_rule = found.rules
    return Markdown(
        "The last two columns are the mean attention that the best head of each layer gives to "
        "the places where an induction circuit looks: in layer 1 one place back, in layer 2 at "
        "the right source, one period less one back. Attending evenly a head would give either "
        f"about {found.even:.2f}. "
        + (
            f"Both parts stand out, five times that and more, with {', '.join(clear)}."
            if clear
            else "Both parts do not stand out clearly with any score."
        )
        + "\n\n"
        + (
            "It cannot be the textbook rule alone."
            if max(right.values()) > rule
            else "The textbook rule alone would do as well."
        )
        + " With 16 letters a letter often returns within a period, and to predict what followed "
        f"its last occurrence is right for only {rule:.2f} of these copies; after the last "
        f"occurrence of the last *two* letters it is {longer_rule:.2f}. Models that do better than "
        "the first use more of the past: several earlier occurrences of the letter, or more "
        "letters than one. Which, we have not taken apart."
    )


def silences_strangers(loud: Loudness) -> bool:
    """Whether with the volume the other copies survive a token that is a hundred times as loud."""
    return loud.at("others", "volume", 100.0) > SOLVED


def loses_loud_friends(loud: Loudness) -> bool:
    """Whether with the volume a token that is three times as loud loses its own copy."""
    return loud.at("own", "volume", 3.0) < SOLVED


def loudness(loud: Loudness) -> Markdown:
    """What each score makes of a loud token and of one that whispers."""

    def at(of: str, kind: str, factor: float) -> str:
        return f"{loud.at(of, kind, factor):.2f}"

    def right(of: str, kind: str, factor: float) -> bool:
        return loud.at(of, kind, factor) > SOLVED

    steady = right("others", "angle", 3.0) and right("own", "angle", 3.0)
    drowned = not right("others", "angle", 100.0)
    unheard = not right("own", "angle", 0.1)
    return Markdown(
        f"The volume {'keeps' if silences_strangers(loud) else 'does not keep'} its promise about "
        f"loud strangers: at a factor of 100 it still gets {at('others', 'volume', 100.0)} of the "
        f"other copies right, the dot product {at('others', 'dot', 100.0)}. "
        + (
            "But the same loudness on the *right* token costs it that token's copy: "
            if loses_loud_friends(loud)
            else "Loudness on the *right* token does not cost it that token's copy: "
        )
        + f"{at('own', 'volume', 3.0)} are right at a factor of 3. And a whisper, near the plane "
        "because it is near zero, "
        + ("disturbs nobody" if right("others", "volume", 0.1) else "is heard by everyone")
        + f": with one token at a tenth, {at('others', 'volume', 0.1)} of the other copies are "
        "right. What it gates is the height, which is length times angle.\n\n"
        "The angle's score does not change with loudness at all, "
        + ("and neither" if steady else "though not both of")
        + f" its others ({at('others', 'angle', 3.0)}) {'nor' if steady else 'and'} its own "
        f"({at('own', 'angle', 3.0)}) {'mind' if steady else 'survive'} a factor of 3. But the "
        "*values* are as loud as their token: a very loud one "
        + ("drowns the others" if drowned else "could drown the others, and does not")
        + f" ({at('others', 'angle', 100.0)} at 100), and one that whispers is found and "
        + ("not understood" if unheard else "understood all the same")
        + f" ({at('own', 'angle', 0.1)} of its own copies at a tenth)."
    )


def spreads(lowest: float, sharpest: float) -> Markdown:
    """What power of d holds the volume's spread, and how far training takes the scores."""
    return Markdown(
        "For such vectors the volume's is exactly √(6 (*d* − 1)(*d* − 2)), which grows as *d* in a "
        "wide head: to hold it, divide by *d* to the power of 2.5 instead of 1.5. The angle's "
        "falls, so wide heads would want a larger β to start from. After training, scores reach "
        f"{rounded(lowest)}, and the largest weight of a row is {sharpest:.3f} on average: "
        "this softmax hardly mixes, it chooses."
    )


def answer(found: Sequence[Claim], seen: Evidence) -> Markdown:
    """So what does the plane buy?"""

    def ends(layers: str, ours: str, theirs: str) -> str:
        return statistics.ending(recorded(found, layers, ours, theirs).verdict)

    silenced = (
        "A loud stranger is silenced, as the author hoped; what does it is"
        if silences_strangers(seen.loud)
        else "A loud stranger is not silenced here, as the author had hoped; the volume sees"
    )
    steps = {
        name: int(max(run.steps[-1] for run in kinds.values()))
        for name, kinds in seen.recorded.items()
    }
    live = seen.live["two layers"]
    plane = {n: recorded(found, n, "angle", "line") for n in ("one layer", "two layers")}
    sure = {n: f" ({statistics.said(f.p or 0.0)})" for n, f in plane.items()}
    right = {kind: live[kind].accuracy[-1].median().item() for kind in ("dot", "angle")}
    return Markdown(
        f"{silenced} the key's height, which a friend's length raises as well, and which a whisper "
        "does not have. The corrected score drops the lengths. At equal parameters, with one "
        f"layer, the volume {ends('one layer', 'volume', recipe.WIDER)} the dot product and the "
        f"angle {ends('one layer', 'angle', recipe.WIDER)} it; with two, the volume "
        f"{ends('two layers', 'volume', recipe.WIDER)} the dot product and the angle "
        f"{ends('two layers', 'angle', recipe.WIDER)} it "
        f"({recorded_column(seen.recorded).removeprefix('recorded, ')} each, recorded, "
        f"{steps['one layer']:,} and {steps['two layers']:,} steps). After the "
        f"{int(live['dot'].steps[-1]):,} steps run here two layers copy {right['dot']:.2f} with "
        f"the dot product and {right['angle']:.2f} with the angle.\n\n"
        "Is it the plane that helps the angle? With one layer the angle "
        f"{ends('one layer', 'angle', 'line')} its control, which has a query and no "
        f"plane{sure['one layer']}; with two it {ends('two layers', 'angle', 'line')} "
        f"it{sure['two layers']}. "
        + (
            "So here the reference buys something, or the parameters that come with it do: the "
            "angle has a fifth matrix, its control has four, and we did not run a wider control."
            if all(finding.verdict for finding in plane.values())
            else "So we cannot say that the reference buys anything in both: a squared cosine, "
            "without lengths, has most of what helps."
        )
        + f"\n\n{_task(seen)}"
    )


def _task(seen: Evidence) -> str:
    """Whether the task tested what it was meant to test."""
    told = induction(seen.moved).verdict
    if told is None:
        return "Whether the task tests what it was meant to test could not be told here."
    if told:
        return (
            "And the task tested what it was meant to test: who copies at one period copies at "
            "others."
        )
    random = "one layer, random period"
    copiers = [
        kind
        for kind in recipe.KINDS
        if any(
            learnings[random][kind].accuracy[-1].max() > SOLVED
            for learnings in (seen.live, seen.recorded)
        )
    ]
    varies = f"one does with {listed([f'the {_score(k)}' for k in copiers])}"
    return (
        "And the task did not test what it was meant to test. One layer of any score solves it by "
        f"counting places; when the period varies, {varies if copiers else 'no single layer does'}."
    )
