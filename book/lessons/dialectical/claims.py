"""The chapter's claims, and what was found of each."""

from collections.abc import Iterable

from IPython.display import HTML
from torch import Tensor

from attn_notes.analysis import statistics
from book.kit import claims as tables
from book.kit import verdicts
from book.kit.claims import Claim, Mine
from book.kit.verdicts import Finding
from book.kit.words import number, span
from book.lessons.dialectical import recipe
from book.lessons.dialectical.evidence import Recorded, lowest

WHOLE_STEPS = recipe.WHOLE.steps


# --- Findings: numbers → verdict


def never_below(excess: Tensor) -> Finding:
    """Whether no seed's loss lies below the best predictor's on the same strings."""
    verdict, gap = lowest(excess)
    where = "below" if gap < 0 else "above"
    return Finding(verdict, f"the lowest ends {number(abs(gap))} nats {where} the floor")


def near(excess: Tensor) -> Finding:
    """Whether every seed ends within `recipe.NEAR` of the best predictor, and none below it."""
    inside = bool((excess < recipe.NEAR).all()) and lowest(excess)[0]
    return Finding(inside, f"{span(excess, 3)} nats above the floor")


def reads_no_future(leaks: Tensor) -> Finding:
    """Whether no logit of any seed moves when later characters are others."""
    most = float(leaks.max()) if not leaks.isnan().any() else float("nan")
    return Finding(
        most == 0, "no prediction moves" if most == 0 else f"a logit moves by {most:.2g}"
    )


def streams_differ(apart: Tensor) -> Finding:
    """Whether the two readings attend differently, in every seed."""
    return Finding(bool((apart > 1e-3).all()), f"attention differs by {span(apart, 2)} at most")


def halts(steps: Tensor) -> Finding:
    """Whether in every seed some token stops before the last step."""
    some = int((steps < WHOLE_STEPS).sum())
    found = f"in {some} of {len(steps)} seeds, {span(steps, 2)} of {WHOLE_STEPS} steps"
    return Finding(some == len(steps), found)


def follows_doubt(correlations: Tensor) -> Finding:
    """Whether tension is higher where the next character is less certain."""
    return verdicts.sign_test(-correlations, f"correlation {span(correlations, 2)}")


def falls(tension: Tensor) -> Finding:
    """Whether tension [m, s] is lower at the last step than at the first."""
    change = tension[:, -1] - tension[:, 0]
    return verdicts.sign_test(change, f"last less first {span(change, 2)}")


def loses_less(differences: Tensor) -> Finding:
    """Whether halting loses less than moving all tokens equally often."""
    return verdicts.sign_test(differences, f"{span(1000 * differences, 1)} thousandths")


def none_wrong(count: int, texts: int) -> Finding:
    """Whether no text has a fault."""
    return Finding(count == 0, f"{count or 'none'} of {texts} texts")


# --- The claims

NEITHER = "Two readings without gate or halting"
PARTS = {
    ("corrected", "no tension gate"): "With the gate ends lower than without, both halting",
    ("no halting", "neither"): "With the gate ends lower than without, neither halting",
    ("corrected", "no halting"): "With halting ends lower than without",
    ("corrected", "one stream"): "The whole ends lower than with one reading",
    ("corrected", "plain recursion"): "The whole ends lower than plain recursion",
    ("corrected", "neither"): "The whole ends lower than two readings without gate or halting",
    ("neither", "plain recursion"): f"{NEITHER} end lower than plain recursion",
    ("neither", "one stream"): f"{NEITHER} end lower than one reading",
    ("corrected", "one step"): "The whole, six steps, ends lower than one step",
    ("plain recursion", "one step"): "Plain recursion, six steps, ends lower than one step",
    ("corrected", "published, masked"): "All five parts mended end lower than the mask alone",
}
"""Two kinds, and the claim that the first ends lower: one family."""


def about_parts(recorded: Recorded) -> dict[tuple[str, str], Claim]:
    """What a part contributes, each pair of kinds with p corrected for all of them."""

    def lower(ours: str, theirs: str) -> Finding:
        told = verdicts.ends_lower(recorded.ends[ours], recorded.ends[theirs])
        return told._replace(found=f"lower in {told.found} of seeds")

    asked = [
        Claim(text, {"recorded": lower(*pair)}, family="parts") for pair, text in PARTS.items()
    ]
    return dict(zip(PARTS, tables.corrected(asked), strict=True))


HALTING = "Halting below a tension of"


def about_tension(recorded: Recorded) -> list[Claim]:
    """What the design suggests of tension, and what halting by it saves."""
    found = [
        ("Tension is higher where the next character is less certain", "tension",
         follows_doubt(recorded.doubt())),
        ("Tension falls along the recursion (without halting, all tokens)", "tension",
         falls(recorded.tension("no halting"))),
        *(
            (f"{HALTING} {tau} loses less than moving all tokens equally often",
             "halting", loses_less(recorded.against_depth(tau)))
            for tau in recipe.TOLD
        ),
    ]  # fmt: skip
    asked = [Claim(text, {"recorded": f}, family=family) for text, family, f in found]
    return tables.corrected(asked)


def about_models(recorded: Recorded) -> list[Claim]:
    """What the published model does, and the mended ones."""
    watched = {"As published": "published", "Mask mended": "published, masked",
               "Corrected": "corrected"}  # fmt: skip
    found = [
        *((f"{name}: no loss lies below the best predictor's", never_below(recorded.ends[kind]))
          for name, kind in watched.items()),
        *((f"{name}: every seed ends within {recipe.NEAR} nats above it", near(recorded.ends[kind]))
          for name, kind in list(watched.items())[1:]),
        *((f"{name}: a prediction depends on no later character",
           reads_no_future(recorded.saw(kind, "leak"))) for name, kind in watched.items()),
        *((f"{name}: “Opposed streams”, that is, the two attend differently",
           streams_differ(recorded.saw(kind, "streams apart"))) for name, kind in watched.items()),
        *((f"{name}: “per-token halting”: in every seed some tokens halt",
           halts(recorded.steps(kind))) for name, kind in watched.items()),
    ]  # fmt: skip
    source = ("As published: “",)
    return [
        Claim(text, {"recorded": f}, whose="source" if text.startswith(source) else "ours")
        for text, f in found
    ]


def faults(recorded: Recorded, decoder: str, fault: str, kinds: Iterable[str], logits: str) -> int:
    """How many texts have a fault, over kinds and budgets."""
    return sum(
        recorded.faults(kind, logits, decoder, budget)[fault]
        for kind in kinds
        for budget in recipe.BUDGETS
    )


def about_writing(recorded: Recorded) -> list[Claim]:
    """What the source promises of its decoder, and what the grammar does."""
    both = ("published", "corrected")
    lower, texts = "logits lower by 30", len(recipe.BUDGETS) * recorded.texts

    def count(decoder: str, fault: str, logits: str, kinds: Iterable[str] = both) -> Finding:
        kinds = list(kinds)
        found = faults(recorded, decoder, fault, kinds, logits)
        return none_wrong(found, texts * len(kinds))

    trained = "as trained"
    every = {"unbalanced": "balanced", "contain PAD": "no PAD",
             "exceed the budget": "within the budget"}  # fmt: skip
    found = [
        ("“a constrained decoder to avoid unbalanced parentheses”: none from a legal prompt",
         count("published", "unbalanced", trained)),
        ("“… and trailing PAD/space runs”: no ten fillers in a row",
         count("published", "ten fillers in a row", trained)),
        ("The published decoder keeps to its budget",
         count("published", "exceed the budget", trained)),
        ("Its ban of PAD holds with 30 taken off every logit, which changes no probability",
         count("published", "contain PAD", lower)),
        *((f"By the grammar: {word}, with either kind of logits",
           none_wrong(sum(faults(recorded, "grammar", fault, both, logits)
                          for logits in (trained, lower)), 2 * 2 * texts))
          for fault, word in every.items()),
    ]  # fmt: skip
    return [
        Claim(text, {"recorded": f}, whose="source" if text.startswith("“") else "ours")
        for text, f in found
    ]


def evidence(recorded: Recorded) -> list[Claim]:
    """Every claim of the chapter, as recorded."""
    return [
        *about_models(recorded),
        *about_tension(recorded),
        *about_parts(recorded).values(),
        *about_writing(recorded),
    ]


def lesson(recorded: Recorded) -> list[Claim]:
    """The three lines of the lesson, a sentence and a stamp each."""
    published, mended = recipe.LESSON
    ends = {kind: recorded.ends[kind] for kind in ("published", "published, masked")}
    found = {
        "As published, its loss is an honest one": (
            never_below(ends["published"]),
            Mine("every", (published,), ("above", None), low=-statistics.ROUNDING),
        ),
        f"With one line mended it is, and within {recipe.NEAR} nats of the floor": (
            near(ends["published, masked"]),
            Mine("every", (mended,), ("above", None), low=-statistics.ROUNDING, high=recipe.NEAR),
        ),
        f"With one line mended, no prediction on {recipe.LEAK_TEXT} depends on a later character": (
            reads_no_future(recorded.saw("published, masked", "leak")),
            Mine("every", (mended,), ("ahead", None), high=0.0),
        ),
    }
    seeds = f"{len(ends['published'])} seeds"
    return [Claim(text, {seeds: finding}, mine=mine) for text, (finding, mine) in found.items()]


def table(claims: list[Claim], *, lesson: str = "") -> HTML:
    """The table of a page."""
    return tables.table(claims, lesson=lesson)
