"""What the lesson, its evidence and the teacher's page say of recordings, and of the recipe."""

import math
import re
from functools import cache

import pytest
import torch
from experiments import dialectical as recordings
from torch import Generator, Tensor

from attn_notes.analysis import results, statistics
from attn_notes.analysis.claims import Claim
from attn_notes.analysis.statistics import Finding
from attn_notes.analysis.words import number, percent, span
from attn_notes.chapters.dialectical import checks, claims, evidence, figures, measure, recipe
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import VOCABULARY, Brackets

from ... import exercises
from ...says import COUNT, Page, Told, titled

LESSON = Page("dialectical")
EVIDENCE = Page("evidence/dialectical")
TEACHING = Page("teaching/dialectical")
LIVE, RECORDED, FULL = recipe.LIVE, recipe.RECORDED, recipe.FULL
HONEST = ("published, masked", "corrected")

# What the passages rest on


@cache
def found() -> evidence.Recorded:
    return evidence.recorded()


def every() -> list[Claim]:
    return claims.evidence(found())


told = Told(every, "recorded")
"""What the record has of the claim that begins so."""


def part(ours: str, theirs: str) -> Finding:
    """Whether the first kind ends lower than the second."""
    return claims.about_parts(found())[ours, theirs].findings["recorded"]


def both_signs(values: Tensor) -> bool:
    return bool((values > 0).any() and (values < 0).any())


def faults(decoder: str, fault: str, logits: str = "as trained") -> int:
    return claims.faults(found(), decoder, fault, ("published", "corrected"), logits)


def texts() -> int:
    """How many texts each decoder wrote with one kind of logits."""
    return 2 * len(recipe.BUDGETS) * found().texts


def large(kind: str) -> Tensor:
    """Where the published size ends."""
    return torch.tensor(found().published["runs"][kind]["excess"][-1])


def prefixes(kind: str) -> Tensor:
    return found().saw(kind, "loss on prefixes")


BELOW = "As published: no loss lies below"
ABOVE = "Mask mended: no loss lies below"
LOWER = "logits lower by 30"
BY_GRAMMAR = ("By the grammar: balanced", "By the grammar: no PAD", "By the grammar: within")
KNOWING_NOTHING = torch.tensor(float(len(VOCABULARY))).log().item()


# The lesson


def test_the_lesson_says_what_the_loss_is() -> None:
    ends, loss = found().ends["published, masked"], found().saw("published", "loss")
    LESSON.says(f"can be worked out exactly: {recipe.TASK.floor:.3f} [nats]")
    LESSON.says(
        "Built as published and trained, the model gets below 1.1.",
        failed=[told(BELOW)],
        where=bool(1.0 < loss.max() < 1.1),
    )
    LESSON.says(
        "As published the model pays less than anybody can",
        "a model that paid less had to be reading the answers",
        held=[told(ABOVE), told("Mask mended: every seed ends")],
        failed=[told(BELOW)],
    )
    LESSON.says(
        "With one factor in one mask mended, and nothing else, it is honest, and one or two "
        "hundredths of a nat above the best there is.",
        held=[told(ABOVE), told("Mask mended: a prediction depends")],
        where=bool(0.01 < ends.min() < ends.max() < 0.02),
    )
    LESSON.says(
        "At the full size [the loss falls below the floor as well]",
        where=bool(large("published").max() < 0 < large("corrected").min()),
    )


def test_the_lesson_says_what_is_read_ahead() -> None:
    LESSON.says(
        "Then each character costs it more than twelve nats, where knowing nothing costs "
        rf"$\ln {len(VOCABULARY)} = {number(KNOWING_NOTHING, 2)}$.",
        "It never learnt to predict; it learnt to read what comes.",
        where=bool(12 < prefixes("published").min() < 13),
    )
    LESSON.says(
        "The mended one pays what it always paid.",
        held=[told("Mask mended: a prediction depends")],
        where=no_dearer("published, masked"),
    )


def no_dearer(kind: str) -> bool:
    """Whether its loss is the same where nothing comes after."""
    return statistics.within(prefixes(kind), found().saw(kind, "loss"), 1e-3)


def test_the_lesson_says_what_the_parts_do() -> None:
    LESSON.says(
        "the author's other parts do what they are called: there are two attentions, tension says",
        held=[told("Corrected: “Opposed streams”"), told("Corrected: “per-token halting”")],
    )
    LESSON.says(
        "At equal cost they buy no lower loss that shows against [plain recursion]",
        untold=[part("corrected", "plain recursion")],
    )
    LESSON.says(
        "Tension may mark doubt elsewhere; here some seeds have it so and others the reverse.",
        untold=[told("Tension is higher")],
        where=both_signs(found().doubt()),
    )


def test_the_lesson_says_what_was_written() -> None:
    share = faults("published", "exceed the budget") / texts()
    LESSON.says(
        "every text from a legal prompt balanced, though almost a third ran past the length "
        "asked for.",
        held=[told("“a constrained decoder to avoid unbalanced")],
        failed=[told("The published decoder keeps to its budget")],
        where=0.28 < share < 1 / 3,
    )
    LESSON.says(
        "Take 30 off every logit, which changes no probability, and every text contains padding.",
        failed=[told("Its ban of PAD")],
        where=faults("published", "contain PAD", LOWER) == texts(),
    )
    LESSON.says("By the grammar none fails, with either.", held=[*map(told, BY_GRAMMAR)])


def parameters(record: str, kind: str) -> int:
    made: int = results.load(f"dialectical_{record}")["runs"][kind]["parameters"]
    return made


def test_the_lesson_says_what_the_recipe_says() -> None:
    ours, theirs = parameters("parts", "published"), parameters("published", "published")
    LESSON.says(
        f"from the same {COUNT[LIVE.seeds]} [seeds](reference/glossary.md#term-seed) and on the "
        "same strings",
        f"begins again, {COUNT[recipe.PUBLISHED.steps]} times",
        f"one to {COUNT[recipe.TASK.pairs]} pairs of brackets",
        f"With probability {recipe.TASK.filler:g} filler follows",
        f"“Here” are the {COUNT[LIVE.seeds]} seeds above",
    )
    LESSON.says(
        f"{ours:,} parameters, a fifteenth of the author's {theirs:,}",
        where=round(theirs / ours) == 15,
    )
    LESSON.says(
        f"are {COUNT[RECORDED.seeds]}, trained half as long again.",
        where=LIVE.steps * 1.5 == RECORDED.steps,
    )


# The evidence


def test_the_evidence_in_short() -> None:
    published = found().ends["published"]
    EVIDENCE.says(
        "As published the model reads the whole string, through two readings that are one, and no "
        "token ever halts. Its loss is a quarter of a nat below the floor.",
        failed=[
            told(BELOW),
            told("As published: a prediction depends"),
            told("As published: “Opposed streams”"),
            told("As published: “per-token halting”"),
        ],
        where=bool(-0.3 < published.min() < -0.25 < published.max() < -0.2)
        and bool((found().steps("published") == claims.WHOLE_STEPS).all()),
    )
    EVIDENCE.says(
        "it is honest and within two hundredths of a nat of the best predictor",
        held=[told(ABOVE), told("Mask mended: a prediction depends")],
        where=bool(0.01 < found().ends["published, masked"].max() < 0.02),
    )
    EVIDENCE.says(
        "With all five parts mended they do what they are called. At equal cost the whole buys no "
        "lower loss than plain recursion that shows.",
        held=[told("Corrected: “Opposed streams”"), told("Corrected: “per-token halting”")],
        untold=[part("corrected", "plain recursion")],
    )
    EVIDENCE.says(
        "The source's decoder balances every text from a legal prompt, some of them beyond their "
        "budget, and it bans padding only as long as logits happen to be high.",
        held=[told("“a constrained decoder to avoid unbalanced")],
        failed=[told("The published decoder keeps to its budget"), told("Its ban of PAD")],
        where=faults("published", "contain PAD") == 0,
    )
    EVIDENCE.says(
        "A grammar before the choice keeps all of that whatever the logits.",
        held=[*map(told, BY_GRAMMAR)],
    )


def test_the_evidence_says_what_is_random() -> None:
    task, source = recipe.TASK, Brackets()
    words = sum(math.comb(2 * n, n) // (n + 1) for n in range(task.fewest, task.pairs + 1))
    drawn = source.sample(200_000, Generator().manual_seed(0))[0]
    cut = ((drawn != brackets.PAD).sum(1) > task.length).double().mean().item()
    moved = abs(source.floor - task.floor)
    EVIDENCE.says(
        f"What is random is which of the {words} strings of brackets it is",
        f"Strings are cut at {task.length} characters here, where the source cuts at "
        f"{source.length}; one in two thousand is that long, and the floor moves by a "
        "hundred-thousandth.",
        where=round(1 / (1000 * cut)) == 2 and round(1e5 * moved) == 1,
    )


def test_the_evidence_says_what_is_read_and_what_is_not() -> None:
    EVIDENCE.says(
        rf"What knowing nothing costs is $\ln {len(VOCABULARY)} = {number(KNOWING_NOTHING, 2)}$",
        "the published model pays more than six times as much in every seed",
        where=bool(6 < prefixes("published").min() / KNOWING_NOTHING < 7),
    )
    EVIDENCE.says(
        "The mended ones pay what they pay on whole strings.",
        where=all(map(no_dearer, HONEST)),
    )
    runs = found().inside["runs"]
    EVIDENCE.says(
        "Keys that are never read get no gradient.",
        where=runs["published"]["untrained"]["gradient of the keys"] == 0,
    )
    tension = found().at_work("published")[1]
    EVIDENCE.says(
        "the tension is 1 whatever the input. Training moves it, but nowhere near 0.15.",
        where=round(runs["published"]["untrained"]["tension"], 2) == 1
        and bool(tension[..., 1:].min() > 0.4),
    )
    titled(
        figures.masks(evidence.model("published")),
        "The published mask makes attention even; the mended one keeps it to the past",
        where=even_and_held(),
    )


@torch.no_grad()
def even_and_held() -> bool:
    """Whether either mask does so, at the first step."""
    ids = brackets.encode(recipe.LEAK_TEXT)[None]
    even, held = (
        model.observe(ids)[1].attention[0, 0, 0]
        for model in (evidence.model("published"), evidence.model("corrected"))
    )
    return bool((even - 1 / len(ids[0])).abs().max() < 1e-6) and not held.triu(1).any()


def test_the_evidence_says_what_the_readings_do() -> None:
    model, strings = evidence.model("corrected"), recordings.held_out_strings()[0][:8]
    _, seen = model.observe(brackets.encode("(a()(b))")[None])
    titled(
        figures.streams(model),
        "Once mended, the two readings differ",
        held=[told("Corrected: “Opposed streams”")],
        where=bool(seen.tension[0, 0].max() > 0.1),
    )
    change = found().tension("no halting")[:, -1] - found().tension("no halting")[:, 0]
    EVIDENCE.says(
        "Neither shows: in some seeds tension is higher where there is doubt and in others lower, "
        "and along the recursion it falls in some and rises in others.",
        untold=[told("Tension is higher"), told("Tension falls")],
        where=both_signs(found().doubt()) and both_signs(change),
    )
    titled(
        figures.tension(found(), model, strings),
        "Tension goes with doubt in some seeds and against it in others",
        untold=[told("Tension is higher")],
        where=both_signs(found().doubt()),
    )
    titled(
        figures.training(found()),
        "As published hardly a token halts; corrected, some do",
        held=[told("Corrected: “per-token halting”")],
        where=bool(found().at_work("published")[1][..., 0].min() > claims.WHOLE_STEPS - 0.01),
    )


def test_the_evidence_says_what_the_parts_buy() -> None:
    EVIDENCE.says(
        "The whole can be told neither from a single wide step, nor from one reading, nor from "
        "plain recursion, and all five parts mended cannot be told from the mask alone.",
        untold=[
            part("corrected", other)
            for other in ("one step", "one stream", "plain recursion", "published, masked")
        ],
    )
    EVIDENCE.says(
        "Two readings without gate or halting end lower than the whole, and cannot be told from "
        "one reading.",
        failed=[part("corrected", "neither")],
        untold=[part("neither", "one stream")],
    )
    without, whole = (found().tension(k)[:, 0] for k in ("no tension gate", "corrected"))
    EVIDENCE.says(
        "The outlier is the kind without a gate that still halts by tension.",
        f"({span(without, 2)} at the first step, where the gate keeps it at {span(whole, 2)})",
        held=[part("corrected", "no tension gate")],
    )
    EVIDENCE.says(
        "a token takes three and a half of the six steps on average",
        where=bool(3.4 < found().steps("no tension gate").mean() < 3.6),
    )
    EVIDENCE.says(
        "Where nothing halts the harm is gone: see “neither”.",
        where=bool(found().ends["neither"].max() < found().ends["no tension gate"].min()),
    )
    medians = found_medians()
    worst = medians.pop("no tension gate")
    titled(
        figures.ablations(found()),
        "By their medians all kinds but one end within "
        f"{number(1000 * (max(medians.values()) - min(medians.values())), 0)} thousandths of a "
        "nat of each other",
        where=worst > 2 * max(medians.values()),
    )
    verdicts = [
        claim.findings["recorded"].verdict for claim in claims.about_parts(found()).values()
    ]
    effects = [
        statistics.difference(found().ends[ours], found().ends[theirs])
        for ours, theirs in claims.PARTS
    ]
    EVIDENCE.says(
        "Every one of these intervals leaves out zero, and yet "
        f"{COUNT[verdicts.count(None)]} of the {COUNT[len(verdicts)]} verdicts are that it could "
        "not be told.",
        where=all(low * high > 0 for _, low, high in effects),
    )


def found_medians() -> dict[str, float]:
    return {kind: float(found().ends[kind].quantile(0.5)) for kind in figures.ORDER}


def test_the_evidence_says_what_halting_saves() -> None:
    tau = recipe.WHOLE.tension_tau
    saved = found().against_depth(tau)
    steps = claims.WHOLE_STEPS - found().at_work("corrected")[1][-1, :, 0]
    first = found().saw("corrected", "first token saves")
    above = [found().against_depth(other) for other in recipe.TOLD if other > tau]
    EVIDENCE.says(
        f"At the source's threshold, {tau:g}, {COUNT[int((saved < 0).sum())]} seeds of "
        f"{COUNT[len(saved)]} lose less than with equally many moves for all tokens and "
        f"{COUNT[int((saved > 0).sum())]} loses more, which may be chance when "
        f"{COUNT[len(recipe.TOLD)]} thresholds are asked of; above it the seeds part.",
        untold=[told(f"{claims.HALTING} {other} ") for other in recipe.TOLD],
        where=all(map(both_signs, above)),
    )
    EVIDENCE.says(
        f"The models save {span(steps, 2)} of {claims.WHOLE_STEPS} steps there.",
        "whose two readings have one token to read and so agree, accounts for "
        f"{percent(first.min(), 0)} to {percent(first.max(), 0)} %.",
    )
    for equal in ("moves", "steps"):
        titled(
            figures.stopping(found(), equal),
            f"At equal {equal}, halting by tension helps some seeds and harms others",
            where=all(both_signs(found().against_depth(each, equal)) for each in recipe.TOLD),
        )


def test_the_evidence_says_where_the_errors_are() -> None:
    members = found().members("corrected", "depth")
    drawn = figures.depths(found())
    middle = [torch.tensor([m[d][0] for m in members]).quantile(0.5) for d in drawn]
    titled(
        figures.by_depth(found()),
        "A prediction loses most where no bracket is open: there a string may end",
        where=middle.index(max(middle)) == 0,
    )
    titled(
        figures.rates(found()),
        "At the published size, too, the loss ends below the floor",
        where=bool(large("published").max() < 0 < large("corrected").min()),
    )


def test_the_evidence_says_what_was_written() -> None:
    EVIDENCE.says(
        f"The source's decoder balanced all of its {texts()} texts, but "
        f"{faults('published', 'exceed the budget')} were longer than asked",
        held=[told("“a constrained decoder to avoid unbalanced")],
    )
    EVIDENCE.says(
        "Take 30 off every logit, which changes no probability, and all "
        f"{faults('published', 'contain PAD', LOWER)} contain padding.",
        where=faults("published", "contain PAD", LOWER) == texts(),
    )
    EVIDENCE.says(
        f"none of {2 * texts()} texts has one of these faults",
        held=[*map(told, BY_GRAMMAR)],
    )
    EVIDENCE.says(
        "a model that wants nothing but filler may write nothing but filler until it has to close",
        where=faults("grammar", "ten fillers in a row") > 0,
    )


def correlations() -> list[float]:
    """Of the losses of the same seeds, in each comparison."""
    pairs = [(found().ends[ours], found().ends[theirs]) for ours, theirs in claims.PARTS]
    return [measure.correlation(ours, theirs) for ours, theirs in pairs]


def p_of(lower: int) -> float:
    """The rank test's p where ours is lower in so many pairs of seeds."""
    seeds = RECORDED.seeds
    below = [min(seeds, max(0, lower - seeds * i)) for i in range(seeds)]  # of theirs, each of ours
    ours = torch.tensor([seeds - k + 0.5 for k in below])
    return statistics.rank_p(ours + 1e-3 * torch.arange(seeds), 1 + torch.arange(float(seeds)))


def test_the_methods_say_what_was_done() -> None:
    parts = claims.about_parts(found()).values()
    asked, other_rate = len(claims.PARTS), recipe.RATES["no tension gate"]
    least = 2 / 2**RECORDED.seeds
    EVIDENCE.says(
        f"Of every kind {COUNT[RECORDED.seeds]} seeds were trained for {RECORDED.steps} steps of "
        f"{RECORDED.batch} strings, and are judged on {recipe.HELD_OUT:,} strings",
        f"rises in {RECORDED.warmup} steps and then falls along a cosine to a tenth",
        f"best of {COUNT[len(recipe.TRIED)]} for each kind",
        f"{other_rate:g} with no tension gate, {LIVE.lr:g} for all others",
        f"{COUNT[RECORDED.seeds].capitalize()} seeds each, on {recipe.PROBED} strings",
        f"of all {RECORDED.seeds**2} pairs",
        f"the median of all {RECORDED.seeds**2} differences",
        f"The {COUNT[asked]} comparisons of losses",
        f"so are the {COUNT[len(recipe.TOLD)]} of halting",
        f"A sign test of {COUNT[RECORDED.seeds]} seeds has a least p of {least:.4f}",
        f"Up to {statistics.ROUNDING:g} is put down to rounding",
        f"is swept on {recipe.SWEPT:,} strings",
        rf"$\tau_0 = {recipe.WHOLE.tension_tau:g}$",
        f"by less than {recipe.WHOLE.halt_eps:.4f} of its length",
        f"strings cut at {recipe.FULL_SIZE.length} characters, {COUNT[FULL.seeds]} seeds",
        f"Strings are cut at {recipe.TASK.length} characters here, where the source cuts at "
        f"{Brackets().length}",
        f"up to {COUNT[recipe.LONGEST_PROMPT]} characters",
        f"by {COUNT[recipe.WRITERS]} seeds of each model",
        f"one string of {recipe.TASK.length} characters",
    )
    EVIDENCE.says(
        f"in the {COUNT[asked]} comparisons the losses of such pairs correlate by anything from "
        f"{number(min(correlations()), 2)} to {number(max(correlations()), 2)}",
        f"a sign test of {COUNT[RECORDED.seeds]} pairs, {COUNT[asked]} times corrected, cannot "
        f"come below {asked * least:.3f}",
        where=asked * least > statistics.LEVEL,
    )
    told_by = max(k for k in range(32) if asked * p_of(k) < statistics.LEVEL)
    EVIDENCE.says(
        f"one that comes out in {RECORDED.seeds**2 - told_by} of the {RECORDED.seeds**2} pairs or "
        f"more, or in {told_by} or fewer, is told whatever the others do",
    )
    decided = sum(claim.findings["recorded"].verdict is not None for claim in parts)
    EVIDENCE.says(f"the rank test of two crowds decides {COUNT[decided]}.")


# The teacher's page


def test_the_teachers_page_says_what_the_record_says() -> None:
    ends = found().ends["published, masked"]
    TEACHING.says(
        "Between one and two hundredths of a nat.",
        held=[told(ABOVE)],
        where=bool(0.01 < ends.min() < ends.max() < 0.02),
    )
    medians = found_medians()
    TEACHING.says(
        "At equal cost the whole is not lower than a plain recursion",
        "two readings without tension end lowest of all that were tried",
        untold=[part("corrected", "plain recursion")],
        where=min(medians, key=medians.__getitem__) == "neither",
    )
    TEACHING.says(
        'why "no tension gate" alone is so much worse than "neither"',
        held=[part("corrected", "no tension gate")],
        failed=[part("corrected", "neither")],
    )
    TEACHING.says(
        "show that the loss on *prefixes* is terrible",
        where=bool((prefixes("published") > KNOWING_NOTHING).all()),
    )
    TEACHING.says(f"398 of {checks.beginnings()} beginnings")


# And what a module says


@pytest.mark.parametrize("room", ["claims", "figures", "tables"])
def test_no_sentence_in_a_module_has_a_setting_in_words(room: str) -> None:
    """A number of seeds or strings is computed there."""
    source = (exercises.ROOT / f"attn_notes/chapters/dialectical/{room}.py").read_text("utf-8")
    words = "|".join(COUNT[3:])
    assert not re.findall(rf"\b(?:{words}|\d[\d,]*) (?:recorded )?(?:seeds|strings)\b", source)
    assert f"{recipe.NEAR} nats" not in source
