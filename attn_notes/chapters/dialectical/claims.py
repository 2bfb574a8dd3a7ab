"""The chapter's claims, what was found of each, and the sentences that follow from it."""

import math
from collections.abc import Iterable

from IPython.display import HTML, Markdown
from torch import Tensor

from attn_notes.analysis import claims as tables
from attn_notes.analysis import statistics
from attn_notes.analysis.claims import Claim
from attn_notes.analysis.statistics import Effect, Finding
from attn_notes.chapters.dialectical import recipe
from attn_notes.chapters.dialectical.evidence import Live, Recorded
from attn_notes.tasks.brackets import VOCABULARY

WHOLE_STEPS = recipe.WHOLE.steps


def number(value: float, digits: int = 3) -> str:
    """A number with a minus sign that is one."""
    return f"{value:.{digits}f}".replace("-", "−")


def spread(values: Iterable[float] | Tensor, digits: int = 3) -> str:
    """The least and the largest of some numbers, or the one that all of them are."""
    values = list(map(float, values))
    low, high = number(min(values), digits), number(max(values), digits)
    return low if low == high else f"{low} to {high}"


# --- Findings: numbers → verdict


def lowest(excess: Tensor) -> tuple[bool, float]:
    """Whether no seed's loss lies below the best predictor's on the same strings, and the least."""
    return statistics.never_below((e, 0.0) for e in excess.tolist())


def falls_below(excess: Tensor) -> bool:
    """Whether some seed's loss does; one that is no number lies nowhere."""
    above, gap = lowest(excess)
    return not above and not math.isnan(gap)


def never_below(excess: Tensor) -> Finding:
    """Whether no seed's loss lies below the best predictor's on the same strings."""
    verdict, gap = lowest(excess)
    where = "below" if gap < 0 else "above"
    return Finding(verdict, f"the lowest ends {number(abs(gap))} nats {where} the floor")


def near(excess: Tensor) -> Finding:
    """Whether every seed ends within `recipe.NEAR` of the best predictor, and none below it."""
    inside = bool((excess < recipe.NEAR).all()) and lowest(excess)[0]
    return Finding(inside, f"{spread(excess)} nats above the floor")


def reads_no_future(leaks: Tensor) -> Finding:
    """Whether no logit of any seed moves when later characters are others."""
    most = float(leaks.max()) if not leaks.isnan().any() else float("nan")
    return Finding(most == 0, "no logit moves" if most == 0 else f"a logit moves by {most:.2g}")


def streams_differ(apart: Tensor) -> Finding:
    """Whether the two readings attend differently, in every seed."""
    return Finding(bool((apart > 1e-3).all()), f"attention differs by {spread(apart, 2)} at most")


def halts(steps: Tensor) -> Finding:
    """Whether in every seed some token stops before the last step."""
    some = int((steps < WHOLE_STEPS).sum())
    found = f"in {some} of {len(steps)} seeds, {spread(steps, 2)} of {WHOLE_STEPS} steps"
    return Finding(some == len(steps), found)


def follows_doubt(correlations: Tensor) -> Finding:
    """Whether tension is higher where the next character is less certain."""
    return statistics.sign_test(-correlations, f"correlation {spread(correlations, 2)}")


def falls(tension: Tensor) -> Finding:
    """Whether tension [m, s] is lower at the last step than at the first."""
    change = tension[:, -1] - tension[:, 0]
    return statistics.sign_test(change, f"last less first {spread(change, 2)}")


def loses_less(differences: Tensor) -> Finding:
    """Whether halting loses less than moving all tokens equally often."""
    return statistics.sign_test(differences, f"{spread(1000 * differences, 1)} thousandths")


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
        told = statistics.ends_lower(recorded.ends[ours], recorded.ends[theirs])
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


def lesson(live: Live, recorded: Recorded) -> list[Claim]:
    """The five lines of the lesson."""
    published, mended = recipe.LESSON
    here, there = "here", "recorded"
    ends = {kind: recorded.ends[kind] for kind in ("published", "published, masked")}
    leaks = recorded.saw("published, masked", "leak")
    parts = about_parts(recorded)["corrected", "plain recursion"]
    found: dict[str, dict[str, Finding]] = {
        "As published, the loss is one that a causal model can have": {
            here: never_below(live.ends[published]),
            there: never_below(ends["published"]),
        },
        f"With the mask mended it is, and within {recipe.NEAR} nats of the floor": {
            here: near(live.ends[mended]),
            there: near(ends["published, masked"]),
        },
        "With the mask mended no prediction depends on a later character": {
            here: reads_no_future(live.leaks[mended]),
            there: reads_no_future(leaks),
        },
        "All parts mended, tension and halting end lower than plain recursion": {
            there: parts.findings["recorded"]
        },
        "From a legal prompt the source's decoder writes no unbalanced text": {
            there: about_writing(recorded)[0].findings["recorded"]
        },
    }
    return [Claim(text, findings) for text, findings in found.items()]


def table(claims: list[Claim]) -> HTML:
    """The table of a page."""
    return tables.table(claims)


# --- Sentences


def effect(recorded: Recorded, ours: str, theirs: str) -> Effect:
    """By how many nats the first kind ends above the second, with its interval."""
    return statistics.difference(recorded.ends[ours], recorded.ends[theirs])


def thousandths(effect: Effect) -> str:
    """An effect in thousandths of a nat, with its 95 % interval."""
    mean, low, high = (number(1000 * value, 1) for value in effect)
    return f"{mean} thousandths of a nat (95 % interval {low} to {high})"


def interval(values: Tensor) -> Effect:
    """The median of the seeds, with its interval."""
    return statistics.typical(values)


def fell(live: Live, recorded: Recorded) -> Markdown:
    """Finding 1: where both models end, and the answer to the reader's prediction."""
    published, mended = recipe.LESSON
    below, above = (interval(recorded.ends[k]) for k in ("published", "published, masked"))
    ends = (
        f"Your models end at {spread(live.ends[published], 2)} nats as published and at "
        f"{spread(live.ends[mended])} with the mask mended, counted from the floor on "
        f"{recipe.STRINGS:,} strings. (The progress line and the curves are of {recipe.PROBED} "
        f"others, so they end a little beside.) Recorded, {recipe.RECORDED.seeds} seeds and "
        f"{recipe.RECORDED.steps} steps: {number(below.middle, 2)} (95 % interval "
        f"{number(below.low, 2)} to {number(below.high, 2)}) and {number(above.middle)} "
        f"({number(above.low)} to {number(above.high)})."
    )
    honest = near(recorded.ends["published, masked"]).verdict
    if not (falls_below(live.ends[published]) and honest):
        return Markdown(ends)
    return Markdown(
        f"{ends} That answers the prediction: with one part mended and nothing else, the model is "
        "honest, and nearly as good as a model can be."
    )


def even() -> float:
    """The loss of a predictor that knows nothing."""
    return math.log(len(VOCABULARY))


def blind(recorded: Recorded) -> Markdown:
    """Finding 2: what the published model knows when nothing comes after."""
    alone = recorded.saw("published", "loss on prefixes")
    mended = recorded.saw("published, masked", "loss on prefixes")
    mean, low, high = (number(v, 1) for v in interval(alone))
    told = (
        "A model that writes is given the beginning of a text and nothing after it. So asked, the "
        f"published model pays {mean} nats a character ({len(alone)} recorded seeds, 95 % interval "
        f"{low} to {high}), where knowing nothing costs ln {len(VOCABULARY)} = "
        f"{number(even(), 2)}; the mended one still pays {spread(mended, 2)}."
    )
    if (alone > even()).all():
        told += " The published model never learnt to predict; it learnt to read what comes."
    return Markdown(told)


def size(found: Effect) -> Effect:
    """An effect turned round where it is negative."""
    return found if found.middle >= 0 else Effect(-found.middle, -found.high, -found.low)


def bought(recorded: Recorded) -> Markdown:
    """Finding 3: what halting, and the whole idea, bring at equal cost."""
    tau = recipe.WHOLE.tension_tau
    saved = interval(recorded.against_depth(tau))
    whole = effect(recorded, "corrected", "plain recursion")
    told = about_parts(recorded)["corrected", "plain recursion"].findings["recorded"]
    better = {
        True: "So they pay, a little.",
        False: "So they buy no lower loss; they cost a little.",
        None: "So they buy no lower loss that shows.",
    }
    # The first of those four, corrected with the others.
    halting = next(c for c in about_tension(recorded) if c.text.startswith(f"{HALTING} {tau} "))
    found = halting.findings["recorded"]
    unsure = (
        f"; but {len(recipe.TOLD)} thresholds were asked of, and one of so many comes out like "
        f"this by chance often enough ({statistics.said(found.p or 1.0)}, corrected)"
    )
    chance = (
        f"; as one of {len(PARTS)} such questions that may be chance too "
        f"({statistics.said(told.p or 1.0)})"
        if told.verdict is None
        else ""
    )
    return Markdown(
        f"At the source's threshold, τ₀ = {tau}, a model that halts has a loss "
        f"{'higher' if saved.middle > 0 else 'lower'} by {thousandths(size(saved))} than the same "
        f"model with equally many moves for every token{unsure if found.verdict is None else ''}. "
        "The fairer rival is a *plain recursion* of equal cost, one attention without tension or "
        "halting, gone round six times. Against it the whole ends "
        f"{'higher' if whole.middle > 0 else 'lower'}, by {thousandths(size(whole))}, "
        f"{len(recorded.ends['corrected'])} seeds each{chance}. {better[told.verdict]}"
    )


def wrote(recorded: Recorded) -> Markdown:
    """What came of the published decoder, and of the grammar, on the same prompts."""
    texts = 2 * len(recipe.BUDGETS) * recorded.texts
    both, lower = ("published", "corrected"), "logits lower by 30"
    unbalanced, long, padded = (
        faults(recorded, "published", fault, both, logits)
        for fault, logits in (
            ("unbalanced", "as trained"), ("exceed the budget", "as trained"),
            ("contain PAD", lower),
        )
    )  # fmt: skip
    grammar = sum(
        faults(recorded, "grammar", fault, both, logits)
        for fault in ("unbalanced", "contain PAD", "exceed the budget")
        for logits in ("as trained", lower)
    )
    return Markdown(
        f"Of {texts} recorded texts by the source's decoder, from legal prompts, "
        f"{f'{unbalanced} did not balance' if unbalanced else 'all balanced'}, and "
        f"{long or 'none'} were longer than asked, "
        "since it closes what is open beyond the budget. Take 30 off every logit, which changes "
        "no probability, and "
        f"{padded or 'none'} contain padding. By the grammar, with either logits, "
        f"{grammar or 'none'} of {2 * texts} fails."
    )


def parts_say(recorded: Recorded) -> Markdown:
    """What the parts buy, from the corrected comparisons."""
    found = {pair: claim.findings["recorded"] for pair, claim in about_parts(recorded).items()}

    def say(ours: str, theirs: str) -> str:
        if (ours, theirs) in found:
            return statistics.ending(found[ours, theirs].verdict)
        turned = found[theirs, ours].verdict
        return statistics.ending(None if turned is None else not turned)

    def many(ours: str, theirs: str) -> str:
        return say(ours, theirs).replace("ends", "end")

    neither = effect(recorded, "neither", "corrected")
    starved = recorded.steps("no tension gate").mean().item()
    without, whole = (recorded.tension(k)[:, 0] for k in ("no tension gate", "corrected"))
    outlier = (
        "The outlier is the kind without a gate that still halts by tension: its loss no longer "
        f"depends on the tension, nothing keeps that up ({spread(without, 2)} at the first step, "
        f"where the gate keeps it at {spread(whole, 2)}), and tokens take {number(starved, 1)} "
        "steps on average."
    )
    if recorded.ends["neither"].max() < recorded.ends["no tension gate"].min():
        outlier += " Where nothing halts that harm is gone: see “neither”."
    return Markdown(
        f"The whole {say('corrected', 'one step')} a single wide step, "
        f"{say('corrected', 'one stream')} one reading and {say('corrected', 'plain recursion')} "
        f"plain recursion. All five parts mended {many('corrected', 'published, masked')} the mask "
        "alone: our other corrections make the parts do what they are called, and buy no lower "
        f"loss. Two readings without tension {many('neither', 'corrected')} the whole (by "
        f"{thousandths(size(neither))}) and {many('neither', 'one stream')} one reading; whether "
        f"an ordinary second head would give as much we have not tried.\n\n{outlier}"
    )


def saved_say(recorded: Recorded) -> Markdown:
    """What halting saves at the source's threshold, and how much of that is the first token's."""
    steps = WHOLE_STEPS - recorded.at_work("corrected")[1][-1, :, 0]
    first = 100 * recorded.saw("corrected", "first token saves")
    return Markdown(
        f"At the source's threshold the recorded models save {spread(steps, 2)} of {WHOLE_STEPS} "
        "steps. Of that the first token of each string, whose two readings have one token to read "
        f"and so agree, accounts for {spread(first, 0)} %."
    )
