"""What the chapter claims of its evidence: every verdict, and the sentences of its lesson."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from IPython.display import Markdown
from torch import Tensor

from attn_notes.analysis import statistics
from attn_notes.analysis.claims import Claim, corrected
from attn_notes.analysis.statistics import Effect, Finding, Verdict, unless_nan
from attn_notes.analysis.words import listed, median, number, rounded, span
from attn_notes.chapters.triple_product import recipe
from attn_notes.chapters.triple_product.evidence import Bodies, Body
from attn_notes.chapters.triple_product.geometry import Resilience, Rounding
from attn_notes.chapters.triple_product.learnt import Loudness, Transfer
from attn_notes.chapters.triple_product.rules import Reach

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

STRICT = "The fixed copy “strictly tests induction heads”"
VARIED = (
    "Two layers with the dot product that have seen periods from 6 to 12 copy at 11: nine in ten, "
    "every seed"
)
DEEP = "Two layers that have seen period 12 alone copy at others too"
WHISPER = (
    "“You must be in the plane to play”: a token at a tenth of its size does not disturb the other "
    "copies"
)
STRANGER = "With the volume the other copies survive a token 100 times as loud"
FRIEND = "With the volume the right token keeps its copy when it is 3 times as loud"
ANGLE_FRIEND = "… with the angle"


def score_name(kind: str) -> str:
    """A kind of score as a sentence has it."""
    return {"dot": "dot product", recipe.WIDER: "wider dot product"}.get(kind, kind)


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
        f"at {recipe.HALF} at least {home:.3f} right; where twelve back is wrong, at most "
        f"{elsewhere:.2f}",
    )


def varied(moved: Transfer) -> Finding:
    """Whether models with the dot product that have seen many periods copy at the one asked for."""
    right = {kind: moved.at(kind, recipe.HALF - 1) for kind in moved.accuracy}
    found = ", ".join(f"{score_name(kind)} {span(each, 2)}" for kind, each in right.items())
    return Finding(
        unless_nan(statistics.every_seed(right["dot"], SOLVED), right["dot"]), f"{found} right"
    )


def _copies(shares: Tensor, found: str) -> Finding:
    """Whether the median seed copies."""
    middle = median(shares)
    seeds = "" if len(shares) == 1 else f" ({span(shares, 2)})"
    return Finding(unless_nan(middle > SOLVED, shares), f"{middle:.2f}{seeds} {found}")


def _solves(accuracies: Tensor) -> Finding:
    """Whether every one of them copies."""
    low, high = accuracies.min().item(), accuracies.max().item()
    found = f"{low:.2f} to {high:.2f} right" if len(accuracies) > 1 else f"{high:.2f} right"
    return Finding(unless_nan(statistics.every_seed(accuracies, SOLVED), low), found)


def _never_below(body: Body, best: Mapping[str, float]) -> Finding:
    held, gap = statistics.never_below(
        (learning.loss.min().item(), best[name])
        for name, kinds in body.learnings.items()
        for learning in kinds.values()
    )
    return Finding(held, f"lowest {gap:.3f} nats above it")


ASKED = {
    ("volume", "dot"): "the volume ends below the dot product, equal steps",
    ("volume", recipe.WIDER): "… equal parameters",
    ("angle", "volume"): "the angle ends below the volume",
    ("angle", recipe.WIDER): "the angle ends below the dot product, equal parameters",
    ("angle", "line"): "the angle ends below its control, the line",
    ("line", "dot"): "the line ends below the dot product",
}
PAIRS = {
    (layers, *pair): f"{layers.capitalize()}: {text}"
    for layers in ("one layer", "two layers")
    for pair, text in ASKED.items()
}
"""Layers, ours and theirs → the question whether ours ends lower."""


def _pairs(bodies: Bodies) -> list[Claim]:
    """Of every pair, in each body of evidence that has both kinds."""
    claims = []
    for (layers, ours, theirs), text in PAIRS.items():
        findings = {}
        for column, body in bodies.items():
            kinds = body.learnings[layers]
            if {ours, theirs} <= kinds.keys():
                ends = (kinds[kind].loss[-1] for kind in (ours, theirs))
                findings[column] = statistics.ends_lower(*ends)
        claims.append(Claim(text, findings, family=LOWER))
    return claims


def of_models(bodies: Bodies, best: Mapping[str, float]) -> list[Claim]:
    """What trained models tell, comparisons corrected by Holm within a body of evidence.

    `best` is the best predictor's loss on the sequences of each of `recipe.TASKS`.
    """
    moved = {column: body.moved for column, body in bodies.items()}
    loud = {column: body.loud for column, body in bodies.items() if body.loud is not None}

    def heard(what: str, kind: str, factor: float, found: str) -> dict[str, Finding]:
        return {c: _copies(each.of(what, kind, factor), found) for c, each in loud.items()}

    def where(name: str) -> dict[str, Transfer]:
        return {column: at[name] for column, at in moved.items() if name in at}

    def both(layers: str, kind: str, any_seed: bool) -> dict[str, Finding]:
        findings = {}
        for column, body in bodies.items():
            right = body.right(layers, kind)
            findings[column] = _solves(right.max()[None] if any_seed else right)
        return findings

    random = "one layer, random period"
    return corrected(
        [
            Claim(STRICT, {c: induction(m) for c, m in where("one layer").items()}, "source"),
            Claim(VARIED, {c: varied(m) for c, m in where("two layers").items()}),
            Claim(
                DEEP,
                {c: induction(m) for c, m in where("two layers, period 12").items()},
            ),
            Claim(WHISPER, heard("others", "volume", 0.1, "of the other copies right"), "source"),
            Claim(STRANGER, heard("others", "volume", 100.0, "of the other copies right")),
            Claim(FRIEND, heard("own", "volume", 3.0, "right")),
            Claim(ANGLE_FRIEND, heard("own", "angle", 3.0, "right")),
            *_pairs(bodies),
            *(
                Claim(
                    f"One layer with the {score_name(kind)} copies at a random period: "
                    "nine in ten, any seed",
                    both(random, kind, True),
                )
                for kind in recipe.KINDS
            ),
            *(
                Claim(
                    f"Two layers with the {score_name(kind)} copy at a random period: "
                    "nine in ten, every seed",
                    both("two layers", kind, False),
                )
                for kind in recipe.KINDS
            ),
            Claim(
                "No loss lies below the best predictor's on the same sequences",
                {column: _never_below(body, best) for column, body in bodies.items()},
            ),
        ]
    )


def of_formula(rounding: Mapping[str, Mapping[float, Rounding]], scene: Resilience) -> list[Claim]:
    """What the formulas tell, with nothing trained."""
    strangers = scene.strangers
    first, last = strangers[0], strangers[-1]
    volumes = [key.volume for key in strangers]
    falls = all(after < before for before, after in pairwise(volumes))
    shared = scene.shared
    (least, start), *_, (most, end) = sorted(shared.items())
    linear = all(abs(dot / (0.1 * length) - 1) < 1e-5 for length, dot in shared.items())
    negative = rounding["expanded"][1.0].negative
    found = "computed"
    return [
        Claim(
            "Dot product: “As Magnitude increases, score INCREASES linearly”",
            {
                found: Finding(
                    unless_nan(last.dot > first.dot, last.dot, first.dot),
                    f"{first.dot:.4f} at length {first.length:.0f}, "
                    f"{last.dot:.4f} at {last.length:.0f}",
                )
            },
            "source",
        ),
        Claim(
            "The same, if the leak is a share of the stranger's length",
            {
                found: Finding(
                    unless_nan(linear, *shared.values()),
                    f"{start:.1f} at {least:.0f}, {end:.1f} at {most:.0f}",
                )
            },
        ),
        Claim(
            "Volume: “as Magnitude increases for misaligned vectors, score DECREASES”",
            {
                found: Finding(
                    unless_nan(falls, *volumes),
                    f"{rounded(first.volume)} to {rounded(last.volume)}",
                )
            },
            "source",
        ),
        Claim(
            "The published expansion is never negative",
            {
                found: Finding(
                    unless_nan(negative == 0, negative),
                    f"{100 * negative:.0f} % of keys in the plane",
                )
            },
        ),
    ]


def lesson(bodies: Bodies, best: Mapping[str, float]) -> list[Claim]:
    """The five that the lesson ends on, as `of_models` has told and corrected them."""
    found = {claim.text: claim for claim in of_models(bodies, best)}
    loud = found[ANGLE_FRIEND]
    return [
        found[STRICT],
        found[VARIED],
        found[FRIEND],
        Claim(FRIEND.replace("volume", "angle"), loud.findings, loud.whose),
        found[PAIRS["two layers", "angle", recipe.WIDER]],
    ]


# --- Effects


EFFECTS = {
    "angle": ("angle", recipe.WIDER),
    "line": ("line", "dot"),
}
"""Whose loss is held against whose: a dot product of the same number of parameters."""


def _complete(bodies: Bodies, layers: str) -> list[Body]:
    """The bodies of evidence with every kind that an effect is made of, in their order."""
    needed = {kind for pair in EFFECTS.values() for kind in pair}
    return [body for body in bodies.values() if needed <= body.learnings[layers].keys()]


def _gap(ours: Tensor, theirs: Tensor) -> Effect:
    return statistics.difference(ours, theirs)


def effects(bodies: Bodies, layers: str) -> dict[str, dict[str, Effect]]:
    """Steps of training → score → its loss at the end less that of the dot product, in nats.

    Of every body of evidence that has all four kinds; those with fewer say nothing of it.
    """
    return {
        f"{body.steps(layers):,} steps": {
            name: _gap(*(body.learnings[layers][kind].loss[-1] for kind in pair))
            for name, pair in EFFECTS.items()
        }
        for body in _complete(bodies, layers)
    }


def sign(effect: Effect) -> int:
    """Below zero, above it, or 0 where the interval holds both."""
    return -1 if effect.high < 0 else int(effect.low > 0)


def effects_title(found: Mapping[str, Mapping[str, Effect]]) -> str:
    """What the effects of both lengths of training say of the angle, with two layers."""
    (short, early), *_, (long, late) = found.items()
    words = {-1: "lower", 0: "level", 1: "higher"}
    ends = [words[sign(each["angle"])] for each in (early, late)]
    if ends == ["higher", "lower"]:
        return f"The angle is behind the dot product after {short} and ahead after {long}"
    if ends[0] == ends[1]:
        return f"The angle ends {ends[0]} after {short} and after {long}"
    return f"The angle ends {ends[0]} after {short}, {ends[1]} after {long}"


def _said(effect: Effect) -> str:
    return f"{number(effect.middle)} nats ({number(effect.low)} to {number(effect.high)})"


# --- Sentences of the lesson


def distance(bodies: Bodies, reach: Reach) -> Markdown:
    """Finding 1: what the first models copy at the next period, and what the second do."""
    near = recipe.HALF - 1
    body = next(each for each in bodies.values() if {*recipe.TASKS} <= each.moved.keys())
    one, two, deep = (
        body.moved[name] for name in ("one layer", "two layers", "two layers, period 12")
    )
    gap = _gap(two.at("dot", near), one.at("dot", near))
    ours = next(iter(bodies.values()))
    answer = listed(
        [f"{score_name(k)} {span(ours.moved['one layer'].at(k, near), 2)}" for k in recipe.KINDS]
    )
    alone = span(torch.cat([deep.at(kind, near) for kind in recipe.KINDS]), 2)
    right = {kind: median(body.right("two layers", kind)) for kind in recipe.KINDS}
    top = max(right, key=lambda kind: right[kind])
    furthest = max(two.periods)
    return Markdown(
        f"So, your prediction: at period {near} your one-layer models copy {answer}; guessing is "
        f"right {1 / recipe.FIXED.vocabulary:.2f} of the time. Two layers that have seen many "
        f"periods copy more by {number(gap.middle, 2)} ({number(gap.low, 2)} to "
        f"{number(gap.high, 2)}; dot product, {body.seeds} recorded seeds, 95 % interval). The "
        f"depth alone does not do it: two layers that saw period {recipe.HALF} only get {alone} "
        f"right at {near}. And beyond the periods that they have seen, two layers copy less and "
        f"less: {median(two.at('dot', furthest)):.2f} at {furthest}."
        "\n\nIs it induction now? Not before the easier ways are ruled out. A "
        "rule that weighs letters by their distance alone, for and against, can get "
        f"{reach.fitted:.2f} right at the varied periods, one that matches the present letter at a "
        f"possible distance {reach.near:.2f}, and one that matches it and weighs the distances "
        f"{reach.matched:.2f}. The {score_name(top)} gets {right[top]:.2f}"
        + (
            ", so it does more than any of them."
            if reach.exceeded(right[top])
            else ". So it need not do more than match one letter, and weigh where it stood."
            if right[top] > reach.easiest
            else ", so one of the first two may be all that it does."
        )
    )


def silences_strangers(loud: Loudness) -> bool:
    """Whether with the volume the other copies survive a token that is a hundred times as loud."""
    return loud.at("others", "volume", 100.0) > SOLVED


def loses_loud_friends(loud: Loudness) -> bool:
    """Whether with the volume a token that is three times as loud loses its own copy."""
    return loud.at("own", "volume", 3.0) < SOLVED


def loud_meaning(bodies: Bodies) -> Markdown:
    """Finding 2: what loudness costs each score, with its interval."""
    body = [each for each in bodies.values() if each.loud is not None][-1]
    loud = body.loud
    assert loud is not None
    gap = _gap(loud.of("own", "angle", 3.0), loud.of("own", "volume", 3.0))
    whisper = loud.at("others", "volume", 0.1)
    keeps = "keeps" if silences_strangers(loud) else "does not keep"
    return Markdown(
        f"The volume {keeps} its promise: a stranger 100 times as loud leaves "
        f"{loud.at('others', 'volume', 100.0):.2f} of the other copies right (dot product "
        f"{loud.at('others', 'dot', 100.0):.2f}). But it cannot tell a loud stranger from a loud "
        "friend. Make the *right* token three times as loud, and "
        f"{loud.at('own', 'volume', 3.0):.2f} of its copies are right, with the angle "
        f"{loud.at('own', 'angle', 3.0):.2f}, a difference of {number(gap.middle, 2)} "
        f"({number(gap.low, 2)} to {number(gap.high, 2)}, {body.seeds} "
        "recorded seeds). And a whisper, a key near zero and so near every plane, "
        + ("disturbs nobody" if whisper > SOLVED else "is heard by everyone")
        + f": with one token at a tenth, {whisper:.2f} of the other copies are right."
    )


def when(bodies: Bodies) -> Markdown:
    """Finding 3: where the angle ends at both lengths of training, and its control with it."""
    layers = "two layers"
    (short, early), *_, (long, late) = effects(bodies, layers).items()
    complete = _complete(bodies, layers)
    (angle, dot, line), last = (
        [
            [median(body.right(layers, kind)) for body in complete]
            for kind in ("angle", recipe.WIDER, "line")
        ],
        complete[-1].learnings[layers],
    )
    control = sign(_gap(last["angle"].loss[-1], last["line"].loss[-1]))
    return Markdown(
        f"After {short} the angle's loss less that of a dot product with as many parameters is "
        f"{_said(early['angle'])}, after {long} {_said(late['angle'])}; above zero is worse (each "
        "length at a rate that suits it). "
        f"In copies right, after {short}: angle {angle[0]:.2f}, dot product {dot[0]:.2f}; after "
        f"{long}: {angle[-1]:.2f} and {dot[-1]:.2f}. The control, the *line*, has no plane: β "
        f"times the squared cosine between key and query ({line[0]:.2f} and {line[-1]:.2f} "
        f"right). After {long} "
        + {
            -1: "the angle ends below it, so the reference buys something, or the fifth matrix "
            "that comes with it does.",
            0: "the two cannot be told apart, so it cannot be said that the plane is what helps.",
            1: "the angle ends above it: the plane is not what helps.",
        }[control]
    )


def retold(found: Sequence[Claim], bodies: Bodies) -> Markdown:
    """The lesson in three sentences; `found` is what `lesson` returns."""
    strict, many, *_, pair = found
    cheated = all(f.verdict is False for f in strict.findings.values())
    mended = any(f.verdict for f in many.findings.values())
    ends = [f.verdict for f in pair.findings.values()]
    steps = [body.steps("two layers") for body in _complete(bodies, "two layers")]
    return Markdown(
        (
            "A test for induction was passed by models that had learnt a distance, and changing "
            "the distance showed it. "
            if cheated
            else "Whether these models had learnt a distance cannot be said. "
        )
        + (
            "Where the period varies, two layers find where to copy from. "
            if mended
            else "Where the period varies, not every seed of two layers copies at every period. "
        )
        + "Against the dot product of as many parameters the angle "
        + listed(
            [
                f"{statistics.ending(verdict).removesuffix(' than').removesuffix(' from')} after "
                f"{n:,} steps"
                for n, verdict in zip(steps, ends, strict=True)
            ]
        )
        + "."
    )
