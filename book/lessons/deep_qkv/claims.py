"""The chapter's claims."""

from collections.abc import Mapping

import torch
from torch import Tensor

from attn_notes.analysis import statistics
from attn_notes.analysis.statistics import Comparison
from attn_notes.tasks import sorting
from book.kit import verdicts
from book.kit.claims import Claim, Mine, corrected
from book.kit.verdicts import Finding
from book.lessons.deep_qkv import evidence, pull, recipe
from book.lessons.deep_qkv.evidence import NEVER, Bodies, Crowd, Crowds


def finding(c: Comparison) -> Finding:
    """Whether the first kind converges before the second: by p, which can be corrected."""
    return Finding(c.verdict, f"{c.first:.2f}", c.p)


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
SAFER = "“Safer”: more gated seeds than strict converge"
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
                found.append(
                    Claim(text, findings, family=family, mine=Mine("before", (ours, theirs)))
                )
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
            mine=Mine("any", (kind,)),
        )
        for text, kind in all_of.items()
    ]
    safer = {
        name: more_arrive(crowds["gated"], crowds["strict"])
        for name, crowds in bodies.items()
        if {"gated", "strict"} <= crowds.keys()
    }
    claims.append(Claim(SAFER, safer, "source", "weights"))
    claims += _pairs(bodies)
    floor = {name: above_floor(crowds) for name, crowds in bodies.items()}
    claims.append(Claim("No loss lies below the floor", floor))
    return corrected(claim for claim in claims if claim.findings)


ABLE = "Gated sorters can still learn (“retains capacity”)"
SAFE = "They are “safer” than strict ones, whose weights are the shares alone"
DEEP = "Such weights are worth having (the title, “Deep Attention”)"


def lesson(own: Crowds) -> list[Claim]:
    """What the program says, a sentence and a stamp each; verdicts as they are after correction."""
    found = {claim.text: claim.findings["own"] for claim in every({"own": own})}
    gated, strict = own["gated"], own["strict"]
    seeds = len(gated.arrivals)
    words = {
        ABLE: (
            found[CAPACITY].verdict,
            f"{gated.arrived} of {seeds} gated sorters learn to sort every word",
            Mine("any", ("gated",)),
        ),
        SAFE: (
            found[SAFER].verdict,
            f"{gated.arrived} of {seeds} gated sorters learn to, and {strict.arrived} of "
            f"{len(strict.arrivals)} strict ones, which may be chance",
            None,
        ),
        DEEP: (
            found[CHOICE].verdict,
            "no lead over a division by three shows, though at their own rates both are mostly "
            "sooner than plain weights",
            Mine("before", PAIRS["weights"][CHOICE]),
        ),
    }
    return [
        Claim(text, {"we found": Finding(verdict, said)}, mine=mine)
        for text, (verdict, said, mine) in words.items()
    ]


PULL = {
    "All six without the pull of the two before all six": (pull.YIELDING, pull.ALL_SIX),
    "Two letters out before all six without the pull": (pull.OUT, pull.YIELDING),
    "The two at a tenth of their weight before all six": (pull.TENTH, pull.ALL_SIX),
    "The two in the first 50 steps only before all six": (pull.EARLY, pull.ALL_SIX),
    "The two asked to repeat a letter before all six": (pull.REPEAT, pull.ALL_SIX),
    "The two asked for an a before all six": (pull.CONSTANT, pull.ALL_SIX),
}
"""Question → the way of counting the two letters that is first if it holds, and the other."""


def pull_claims(ways: Mapping[float, Crowds]) -> list[Claim]:
    """Whether it is their pull by which the two letters hold the others back."""
    bodies = {
        f"rate {rate:g}, {len(recipe.LIVE.seeds)} seeds": crowds for rate, crowds in ways.items()
    }
    return corrected(
        Claim(
            text,
            {name: before(crowds[ours], crowds[theirs]) for name, crowds in bodies.items()},
            family="pull",
        )
        for text, (ours, theirs) in PULL.items()
    )


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
            found = {f"recorded, {len(gap)} seeds": verdicts.sign_test(gap, words)}
            claims.append(Claim(f"{variant.capitalize()}: {text}", found, family="rank"))
    return corrected(claims)
