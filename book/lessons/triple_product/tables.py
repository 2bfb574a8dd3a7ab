"""The tables of the chapter's evidence page."""

from collections.abc import Mapping, Sequence

from IPython.display import HTML

from book.kit import notebook
from book.kit.words import median, of_seeds, rounded
from book.lessons.triple_product import claims, evidence, recipe
from book.lessons.triple_product.evidence import Body, Floor, Learning, Learnings
from book.lessons.triple_product.geometry import Resilience, Rounding, Spread
from book.lessons.triple_product.learnt import Circuits, Loudness
from book.lessons.triple_product.rules import Reach


def floors(found: Sequence[Floor]) -> HTML:
    """The formula beside the best predictor."""
    return notebook.table(
        ["task", "floor", "best predictor, 4000 sequences", "knowing nothing"],
        [
            [f.task, f"{f.floor:.4f}", f"{f.mean:.4f} ± {f.margin:.4f}", f"{f.ignorance:.4f}"]
            for f in found
        ],
    )


FORM = {
    "expanded": "expanded, as published",
    "projected": "A²‖k‖² less A²‖projection‖², not below 0",
    "residual": "A²‖k − projection‖²",
    "stable": "the second in double precision",
}


def rounding(found: Mapping[str, Mapping[float, Rounding]]) -> HTML:
    """What rounding makes of keys in the plane, whose volume is zero."""
    return notebook.table(
        ["form", "negative volumes", "scores", "scores, keys 1000 times as long"],
        [
            [
                FORM[form],
                f"{100 * by_loudness[1.0].negative:.0f} %",
                *(
                    f"{rounded(by_loudness[c].lowest)} to {rounded(by_loudness[c].highest)}"
                    for c in (1.0, 1000.0)
                ),
            ]
            for form, by_loudness in found.items()
        ],
    )


STANDING = ["score", "parameters", "above floor", "copies right", "a step"]


def _standing(kind: str, run: Learning) -> list[str]:
    return [
        kind,
        f"{run.parameters:,}",
        of_seeds(run.above_floor[-1], 3),
        of_seeds(run.accuracy[-1], 3),
        f"{1000 * run.seconds_a_step:.1f} ms",
    ]


def standing(one: Learnings) -> HTML:
    """Who stands where at the end, and a dot product with as many parameters as the volume."""
    return notebook.table(
        STANDING, [_standing(kind, one[kind]) for kind in (*recipe.KINDS, "line", recipe.WIDER)]
    )


def circuits(found: Circuits, two: Learnings) -> HTML:
    """How far two layers are an induction circuit, beside how well they copy."""
    return notebook.table(
        ["two layers with", "copies right", "layer 1, one back", "layer 2, at the source"],
        [
            [
                kind,
                *(
                    of_seeds(values, 2)
                    for values in (two[kind].accuracy[-1], found.previous[kind], found.source[kind])
                ),
            ]
            for kind in found.source
        ],
    )


def resilience(found: Resilience) -> HTML:
    """The source's table, and one column more."""
    return notebook.table(
        ["key", "q · k", "−det G", "cos² to the plane"],
        [
            [
                f"{key.name}, length {key.length:.0f}",
                *(f"{x:.4f}".replace("-", "−") for x in (key.dot, key.volume, key.angle)),
            ]
            for key in found.keys
        ],
    )


def loudness_table(loud: Loudness) -> HTML:
    """The same at three factors."""
    return notebook.table(
        ["share right", "others, × 0.1", "× 3", "× 100", "its own, × 0.1", "× 3", "× 100"],
        [
            [
                kind,
                *(
                    f"{loud.at(of, kind, c):.2f}"
                    for of in ("others", "own")
                    for c in (0.1, 3.0, 100.0)
                ),
            ]
            for kind in loud.own
        ],
    )


def spreads(found: Sequence[Spread]) -> HTML:
    """How far each score spreads at three dimensions."""
    return notebook.table(
        ["d", "dot product, over √d", "volume, over d√d", "√(6(d−1)(d−2))", "angle, times 8"],
        [
            [s.d, f"{s.dot:.2f}", f"{s.volume:.1f}", f"{s.exact:.1f}", f"{s.angle:.2f}"]
            for s in found
        ],
    )


RULE = {
    "place": "the best single distance, whatever stands there",
    "places": "a vote over all distances that a period allows",
    "fitted": "a weighted vote by distance, for and against",
    "placed": "the same, with weights of its own at every place",
    "last": "what followed the present letter last",
    "first": "what followed it first",
    "vote": "a vote over all that followed it",
    "near": "the same, at distances that a period allows",
    "matched": "a vote over all that followed it, a weight for each distance",
    "two": "what followed the present two letters last",
}


def rules(fixed: Reach, random: Reach, trained: Body) -> HTML:
    """What simple rules get right, and trained models beside them."""
    rows = [
        [text, *(f"{getattr(reach, rule):.2f}" for reach in (fixed, random))]
        for rule, text in RULE.items()
    ]
    for layers, names in (
        ("one layer", ("one layer", "one layer, random period")),
        ("two layers", ("two layers, period 12", "two layers")),
    ):
        rows += [
            [f"{layers}, {claims.score_name(kind)}",
             *(f"{median(trained.copies(name, kind)):.2f}" for name in names)]
            for kind in recipe.KINDS
        ]  # fmt: skip
    return notebook.table(["rule, or model", "period 12", "periods 6 to 12"], rows)


def settings() -> HTML:
    """How each record was made."""
    rows = []
    for name, how in evidence.settings().items():
        seeds, steps, rates, took = how
        rows.append([f"triple_product_{name}", seeds, steps, rates, took])
    return notebook.table(["record", "seeds", "steps", "learning rate", "took"], rows)
