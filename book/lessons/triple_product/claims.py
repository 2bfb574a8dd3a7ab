"""What the chapter claims of its evidence: every verdict."""

from collections.abc import Mapping
from itertools import pairwise

from torch import Tensor

from attn_notes.analysis import statistics
from attn_notes.analysis.statistics import Effect
from book.kit import verdicts
from book.kit.claims import Claim, Mine, corrected
from book.kit.verdicts import Finding, unless_nan
from book.kit.words import median, rounded, span
from book.lessons.triple_product import recipe
from book.lessons.triple_product.evidence import (
    COPIED,
    Bodies,
    Body,
    home_and_elsewhere,
    strictly_tests_induction,
)
from book.lessons.triple_product.geometry import Resilience, Rounding
from book.lessons.triple_product.learnt import Transfer
from book.lessons.triple_product.rules import Reach

LOWER = "which kind ends lower"  # the family of all comparisons of two kinds
SOLVED = COPIED
FAR = 18  # places back, where no period of the varied task puts the source

STRICT = "The fixed copy “strictly tests induction heads”"
VARIED = (
    "Two layers with the dot product that have seen periods from 6 to 12 copy at 11: nine in ten, "
    "every seed"
)
DEEP = "Two layers that have seen period 12 alone copy at others too"
EITHER = (
    "Two layers with the dot product copy more than a rule that only counts places, or only "
    "matches a letter"
)
BOTH = "… more than one that does both"
FOLLOWS = (
    f"Two layers with the dot product go by content alone: they follow a match {FAR} places back"
)
WHISPER = (
    "“You must be in the plane to play”: a token at a tenth of its size does not disturb the other "
    "copies"
)
STRANGER = "With the volume the other copies survive a token 100 times as loud"
FRIEND = "With the volume the right token keeps its copy when it is 3 times as loud"
ANGLE_FRIEND = "… with the angle"


EASY = ("placed", "last", "first", "vote", "near")
"""The rules that only count places, or only match one letter with every distance alike."""


def score_name(kind: str) -> str:
    """A kind of score as a sentence has it."""
    return {"dot": "dot product", recipe.WIDER: "wider dot product"}.get(kind, kind)


# --- Verdicts


def induction(moved: Transfer) -> Finding:
    """What the models that were trained at one period say of the task.

    Every seed has to copy there; elsewhere the median one is asked.
    """
    home, elsewhere = home_and_elsewhere(moved)
    return Finding(
        strictly_tests_induction(home, elsewhere),
        f"at {recipe.HALF} at least {home:.3f} right, elsewhere the median seed at most "
        f"{elsewhere:.2f}",
    )


def varied(moved: Transfer) -> Finding:
    """Whether models with the dot product that have seen many periods copy at the one asked for."""
    right = moved.at("dot", recipe.HALF - 1)
    return Finding(unless_nan(verdicts.every_seed(right, SOLVED), right), f"{span(right, 2)} right")


def beyond(body: Body, reach: Reach, *rules: str) -> Finding:
    """Whether the median seed copies more than the best of some rules."""
    copies = body.copies("two layers", "dot")
    best = max(getattr(reach, rule) for rule in rules)
    return Finding(
        unless_nan(median(copies) > best, copies, best),
        f"{median(copies):.3f} ({span(copies, 3)}) against {best:.3f}",
    )


def content(follows: Tensor) -> Finding:
    """Whether every seed that follows a match within its periods does so far from them too."""
    near, far = follows[0, recipe.HALF - 1], follows[0, FAR - 1]
    return Finding(
        unless_nan(verdicts.every_seed(far, 0.5), near, far),
        f"{recipe.HALF} back in {span(near, 2)} of the cases, {FAR} back in {span(far, 2)}",
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
    return Finding(unless_nan(verdicts.every_seed(accuracies, SOLVED), low), found)


def _never_below(body: Body, best: Mapping[str, float]) -> Finding:
    held, gap = verdicts.never_below(
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
                findings[column] = verdicts.ends_lower(*ends)
        claims.append(Claim(text, findings, family=LOWER))
    return claims


ONE_OFF = ("transfer", float(recipe.HALF - 1))
"""What a run in the page keeps of how it copies where the copy begins one letter earlier."""


def of_models(bodies: Bodies, best: Mapping[str, float], reach: Reach) -> list[Claim]:
    """What trained models tell, comparisons corrected by Holm within a body of evidence.

    `best` is the best predictor's loss on the sequences of each of `recipe.TASKS`, `reach` what
    rules get where the period varies.
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
            right = body.copies(layers, kind)
            findings[column] = _solves(right.max()[None] if any_seed else right)
        return findings

    random = "one layer, random period"
    tried = {c: body for c, body in bodies.items() if "two layers" in body.moved}
    heads = {c: body.follows["two layers"]["dot"] for c, body in bodies.items() if body.follows}
    return corrected(
        [
            Claim(
                STRICT,
                {c: induction(m) for c, m in where("one layer").items()},
                "source",
                mine=Mine("every", ("dot, one layer",), ONE_OFF, low=100 * SOLVED),
            ),
            Claim(
                VARIED,
                {c: varied(m) for c, m in where("two layers").items()},
                mine=Mine("every", ("dot, two layers",), ONE_OFF, low=100 * SOLVED),
            ),
            Claim(
                DEEP,
                {c: induction(m) for c, m in where("two layers, period 12").items()},
            ),
            Claim(EITHER, {c: beyond(body, reach, *EASY) for c, body in tried.items()}),
            Claim(BOTH, {c: beyond(body, reach, "matched") for c, body in tried.items()}),
            Claim(FOLLOWS, {c: content(found) for c, found in heads.items()}),
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


def lesson(body: Body) -> list[Claim]:
    """Those that the lesson ends on, a sentence and a stamp each."""
    trained, two = body.moved["one layer"], body.moved["two layers"]
    off = trained.at("dot", recipe.HALF - 1)
    near, far = (body.follows["two layers"]["dot"][0, back - 1] for back in (recipe.HALF, FAR))
    single = Transfer(trained.periods, trained.home, {"dot": trained.accuracy["dot"]})
    words = {
        "The author’s task “strictly tests” whether a model finds a letter again": (
            induction(single).verdict,
            f"one layer copies all at twelve, and {_of_a_hundred(off)} at eleven",
            "source",
            Mine("every", ("dot, one layer",), ONE_OFF, low=100 * SOLVED),
        ),
        "Two layers that have seen six to twelve copy at eleven": (
            varied(two).verdict,
            f"{_of_a_hundred(two.at('dot', recipe.HALF - 1))} are right",
            "ours",
            Mine("every", ("dot, two layers",), ONE_OFF, low=100 * SOLVED),
        ),
        "They match a letter wherever it stood before": (
            content(body.follows["two layers"]["dot"]).verdict,
            f"they follow {_of_a_hundred(near)} matches twelve back, and {_of_a_hundred(far)} "
            "eighteen back",
            "ours",
            None,
        ),
    }
    return [
        Claim(text, {"we found": Finding(verdict, said)}, whose, mine=mine)
        for text, (verdict, said, whose, mine) in words.items()
    ]


def volume(bodies: Bodies) -> list[Claim]:
    """Those that the second page ends on, likewise: of models trained as there, and for longer."""
    body, _ = bodies.values()
    found = {claim.text: claim.findings for claim in corrected(_pairs(bodies))}
    loud = body.loud
    assert loud is not None
    stranger = _copies(loud.of("others", "volume", 100.0), "")
    whisper = _copies(loud.of("others", "volume", 0.1), "")
    ends = {
        (layers, column): [
            each.learnings[layers][kind].loss[-1] for kind in ("volume", recipe.WIDER)
        ]
        for layers in ("one layer", "two layers")
        for column, each in bodies.items()
    }
    least = min(int((theirs < ours[:, None]).sum()) for ours, theirs in ends.values())
    pairs = {len(ours) * len(theirs) for ours, theirs in ends.values()}
    verdicts = {found[PAIRS[layers, "volume", recipe.WIDER]][at].verdict for layers, at in ends}
    return [
        Claim(text, {"we found": Finding(verdict, said)}, whose)
        for text, verdict, said, whose in (
            (
                "A stranger cannot shout the volume down",
                stranger.verdict,
                "beside a letter a hundred times as loud "
                f"{_of_a_hundred(loud.of('others', 'volume', 100.0))} other copies are right",
                "source",
            ),
            (
                "“You must be in the plane to play”",
                whisper.verdict,
                "beside a letter at a tenth of its size "
                f"{_of_a_hundred(loud.of('others', 'volume', 0.1))} are right",
                "source",
            ),
            (
                "The volume copies better than a dot product of as many weights",
                False if verdicts == {False} else None,
                f"the dot product ends lower in at least {least} of {max(pairs)} pairs of seeds",
                "ours",
            ),
        )
    ]


def _of_a_hundred(shares: Tensor) -> str:
    """From the worst seed to the best."""
    low, high = (round(100 * float(end)) for end in (shares.min(), shares.max()))
    return f"{low} of 100" if low == high else f"{low} to {high} of 100"


# --- Effects


EFFECTS = {
    "angle": ("angle", recipe.WIDER),
    "line": ("line", "dot"),
}
"""Whose loss is held against whose: a dot product of the same number of parameters."""


def effects(bodies: Bodies, layers: str) -> dict[str, dict[str, Effect]]:
    """Steps of training → score → its loss at the end less that of the dot product, in nats."""
    return {
        f"{body.steps(layers):,} steps": {
            name: statistics.difference(*(body.learnings[layers][kind].loss[-1] for kind in pair))
            for name, pair in EFFECTS.items()
        }
        for body in bodies.values()
    }
