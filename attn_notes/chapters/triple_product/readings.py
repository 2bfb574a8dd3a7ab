"""What the chapter's evidence page says in sentences of its numbers, beside the table of claims."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from IPython.display import Markdown

from attn_notes.analysis import statistics
from attn_notes.analysis.claims import Claim
from attn_notes.analysis.statistics import Finding
from attn_notes.analysis.words import listed, median, number, rounded, span
from attn_notes.chapters.triple_product import recipe
from attn_notes.chapters.triple_product.claims import (
    NAMES,
    PAIRS,
    SOLVED,
    induction,
    loses_loud_friends,
    score_name,
    silences_strangers,
)
from attn_notes.chapters.triple_product.evidence import Bodies, Body, Costs, Sweep
from attn_notes.chapters.triple_product.learnt import ByToken, Circuits, Loudness
from attn_notes.chapters.triple_product.rules import Reach


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
        f"expansion: {speeds}. Fastest is *{NAMES[quickest]}*. The models of this chapter use "
        f"*{NAMES['projected']}*, whose sign is right."
    )


def where(tokens: ByToken) -> Markdown:
    """On which tokens the surplus over the best possible loss falls."""
    early = [kind for kind in tokens.losses if tokens.early(kind) > 0.5]
    late = [kind for kind in tokens.losses if kind not in early]
    uncertain = all(tokens.surplus(kind)[tokens.known :].sum() > 0 for kind in tokens.losses)

    def named(kinds: Sequence[str]) -> str:
        return listed([f"the {score_name(kind)}" for kind in kinds])

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


def circuit(found: Circuits, two: Body) -> Markdown:
    """Whether the two parts of an induction circuit stand out."""
    right = {kind: median(two.right("two layers", kind)) for kind in found.source}
    clear = [
        kind
        for kind in found.source
        if right[kind] > SOLVED
        and min(median(part[kind]) for part in (found.previous, found.source)) > 5 * found.even
    ]
    return Markdown(
        "The last two columns are the mean attention that the best head of each layer gives to "
        "the places where an induction circuit looks: in layer 1 one place back, in layer 2 at "
        "the right source, one period less one back. Attending evenly a head would give either "
        f"about {found.even:.2f}. "
        + (
            f"Both parts stand out, five times that and more, with {listed(clear)}."
            if clear
            else "Both parts do not stand out clearly with any score."
        )
    )


def beyond_one_letter(random: Reach, two: Body, longer: Body) -> Markdown:
    """Whether the models do better than every rule of one letter, and what follows from that."""
    ends = {
        (kind, steps): median(body.right("two layers", kind))
        for kind in recipe.KINDS
        for steps, body in ((two.steps("two layers"), two), (longer.steps("two layers"), longer))
    }
    above = [(k, n) for (k, n), right in ends.items() if right > random.easiest]
    beyond = [(k, n) for (k, n), right in ends.items() if random.exceeded(right)]
    said, more = (
        listed([f"{score_name(k)} {ends[k, n]:.2f} ({n:,} steps)" for k, n in some])
        for some in (above, beyond)
    )
    return Markdown(
        "The period that varies has taken one distance away, and left other easy ways: weighing "
        f"letters by distance alone, those for and those against, is right {random.fitted:.2f} of "
        f"the time, and matching one letter at a distance that a period allows {random.near:.2f}. "
        + (
            f"Two layers copy more than either with the {said}. But one letter matched, with a "
            f"weight for each distance at which it stood, gets {random.matched:.2f}: "
            + (
                f"more than that have the {more}."
                if more
                else "no pair of layers clearly more. So what they copy does not show that they "
                "do anything beyond this."
            )
            if above
            else "No trained pair of layers copies more than that, so one of these may be all that "
            "they do."
        )
    )


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
        "For such vectors the spread of det G itself is about √6 *d*²·⁵ in a wide head, so "
        "to hold it one would divide by *d* to the power of 2.5 instead of 1.5. The angle's falls, "
        "so wide heads would want a larger β to start from. After training, scores reach "
        f"{rounded(lowest)}, and the largest weight of a row is {sharpest:.3f} on average: this "
        "softmax hardly mixes, it chooses."
    )


def rates(found: Sweep) -> Markdown:
    """Which rate served each score best, and where that lies at the end of those tried."""
    edge = [
        f"{score_name(score)} with {layers}"
        for layers, scores in found.ends.items()
        for score in scores
        if found.best(layers, score) in (min(found.rates), max(found.rates))
    ]
    if not edge:
        return Markdown("Every best rate lies inside the sweep.")
    return Markdown(
        f"For {listed(edge)} the best lies at an end of the sweep, and a further one might do "
        "better still."
    )


def depth_or_task(body: Body) -> Markdown:
    """What two layers do that were trained at one period: whether depth alone helps."""
    moved, name = body.moved["two layers, period 12"], "two layers, period 12"
    home, away = ([getattr(moved, at)(kind) for kind in recipe.KINDS] for at in
                  ("at_home", "elsewhere"))  # fmt: skip
    copies = min(float(x.min()) for x in home) > SOLVED
    far = max(float(x.max()) for x in away)
    low = [f"{score_name(k)} {span(moved.at(k, recipe.HALF - 1), 2)}" for k in recipe.KINDS]
    return Markdown(
        f"Two layers trained at period {recipe.HALF} alone, {body.steps(name)} steps, get at least "
        f"{number(min(float(x.min()) for x in home), 2)} right there, and at {recipe.HALF - 1} "
        f"{listed(low)}. "
        + (
            "So a second layer is no cure by itself: what decides is that the period varies in "
            "training."
            if copies and far < 0.5
            else "So a second layer can help even where the period does not vary."
        )
    )


def recorded(found: Sequence[Claim], layers: str, ours: str, theirs: str) -> dict[str, Finding]:
    """What each body of evidence says of a pair, after correction."""
    (claim,) = (c for c in found if c.text == PAIRS[layers, ours, theirs])
    return dict(claim.findings)


def answer(found: Sequence[Claim], bodies: Bodies) -> Markdown:
    """So what does the plane buy? `found` is what `of_models` returns."""
    longest, last = [*bodies.items()][-1]
    (loud, *_) = (body.loud for body in bodies.values() if body.loud is not None)

    def ends(layers: str, ours: str, theirs: str) -> str:
        return statistics.ending(recorded(found, layers, ours, theirs)[longest].verdict)

    silenced = (
        "A loud stranger is silenced, as the author hoped; what does it is"
        if silences_strangers(loud)
        else "A loud stranger is not silenced here, as the author had hoped; the volume sees"
    )
    steps = {name: last.steps(name) for name in ("one layer", "two layers")}
    plane = {n: recorded(found, n, "angle", "line")[longest] for n in steps}
    sure = {n: f" ({statistics.said(f.p or 0.0)})" for n, f in plane.items()}
    return Markdown(
        f"{silenced} the key's height, which a friend's length raises as well, and which a whisper "
        "does not have. The corrected score drops the lengths. At equal parameters, with one "
        f"layer, the volume {ends('one layer', 'volume', recipe.WIDER)} the dot product and the "
        f"angle {ends('one layer', 'angle', recipe.WIDER)} it; with two, the volume "
        f"{ends('two layers', 'volume', recipe.WIDER)} the dot product and the angle "
        f"{ends('two layers', 'angle', recipe.WIDER)} it ({longest}, {steps['one layer']:,} and "
        f"{steps['two layers']:,} steps).\n\n"
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
        + f"\n\n{_task(bodies)}"
    )


def _task(bodies: Bodies) -> str:
    """Whether the task tested what it was meant to test."""
    moved = [body.moved["one layer"] for body in bodies.values() if "one layer" in body.moved]
    told = induction(moved[0]).verdict
    if told is None:
        return "Whether the task tests what it was meant to test could not be told here."
    if told:
        return (
            "And the task tested what it was meant to test: who copies at one period copies at "
            "others."
        )
    copiers = [
        kind
        for kind in recipe.KINDS
        if any(body.right("one layer, random period", kind).max() > SOLVED
               for body in bodies.values())
    ]  # fmt: skip
    varies = f"one does with {listed([f'the {score_name(k)}' for k in copiers])}"
    return (
        "And the task did not test what it was meant to test. One layer of any score solves it by "
        f"counting places; when the period varies, {varies if copiers else 'no single layer does'}."
    )
