"""The tables of the chapter's evidence page."""

from collections.abc import Sequence

from IPython.display import HTML

from attn_notes.analysis import statistics
from attn_notes.models.equilibrium import Config
from book.kit import notebook
from book.kit.words import median, signed, span
from book.lessons.equilibrium import estimators, evidence, probes, recipe
from book.lessons.equilibrium.claims import state


def yardsticks(training: evidence.Training) -> HTML:
    """What counting comes to on the whole text, on the pieces that models are judged by."""
    return notebook.table(
        ["what a predictor knows", "nats a character"],
        [[words, f"{training.counted[name]:.3f}"] for name, words in recipe.KNOWS.items()],
    )


def parts(published: Config, corrected: Config) -> HTML:
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
            ["correction", "limited", "whole"],
            ["nudge β, and its share for one prediction", *shares],
            ["nudged relaxation", steps(source), steps(ours)],
            ["while training", "(it does not train)", "a governor keeps it settling"],
        ],
    )


CORRECTIONS = {"none": "naive", "clipped": "AEP, limited, as published", "full": "AEP"}

WHERE = {
    "BPTT": "from nowhere: the whole relaxation is remembered and differentiated",
    "exact": "Jᵀa + g = 0, solved by a relaxation of its own",
    "AEP": "nudged states, corrected",
    "AEP, clipped": "the same, the correction never longer than the force",
    "naive EP": "nudged states, not corrected",
    "frozen": "a = 0: only the read-out learns",
}


def training(found: evidence.Training) -> HTML:
    """What each kind came to."""

    def row(kind: str, where: str) -> list[str]:
        ends, frozen = found.ends[kind], kind == "frozen"
        apart = statistics.typical(ends - found.ends["frozen"])
        middle, low, high = (signed(f"{nats:+.3f}") for nats in apart)
        return [
            kind.replace("clipped", "limited"),
            where,
            f"{median(ends):.4f}",
            f"{ends.max():.4f}",
            "–" if frozen else f"{middle} ({low} to {high})",
            "–" if frozen else signed(f"{found.cosines[kind].min():.4f}"),
        ]

    return notebook.table(
        [
            "kind",
            "where it takes the credit from",
            "nats, median",
            "worst seed",
            "less frozen, same seeds",
            "cosine at the end, worst seed",
        ],
        [row(kind, where) for kind, where in WHERE.items()],
    )


def cosines(found: evidence.Gradients) -> HTML:
    """How near each correction comes to the exact gradient, counted in two ways."""
    return notebook.table(
        ["correction", "nudged steps", "mean of four", "as one vector"],
        [
            [
                name,
                steps,
                span(found.at(correction, steps), 3),
                span(found.whole(correction, steps), 3),
            ]
            for correction, name in CORRECTIONS.items()
            for steps in (recipe.FEW, recipe.AFTER, recipe.MANY)
        ],
    )


def credit(found: probes.Credit) -> HTML:
    """Where each method sends its credit."""
    return notebook.table(
        ["method", "to earlier characters", "to the predicting one", "to later characters"],
        [
            [name, *(f"{100 * part:.1f} %" for part in parts)]
            for name, parts in found.shares.items()
        ],
    )


def rests(found: Sequence[probes.Rest]) -> HTML:
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
            for rest in found
        ],
    )


def runaways(ungoverned: evidence.Ungoverned) -> HTML:
    """How many seeds run away where nothing holds them."""
    return notebook.table(
        [f"seeds that run away, of {ungoverned.seeds}", *recipe.UNGOVERNED],
        [
            [f"damping {c}", *(ungoverned.ran_away(kind, c) for kind in recipe.UNGOVERNED)]
            for c in recipe.DAMPINGS
        ],
    )


def costs(found: probes.Costs) -> HTML:
    """What each way to one gradient takes."""
    return notebook.table(
        ["one gradient", "milliseconds", "times faster", "cosine to the exact one"],
        [
            [
                way,
                f"{1000 * seconds:.0f}",
                f"{found.faster(way):.1f}",
                f"{found.cosines[way]:.5f}",
            ]
            for way, seconds in found.seconds.items()
        ],
    )
