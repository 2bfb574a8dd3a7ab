"""What the lesson, its evidence and the teacher's page say of the records, and of the recipe."""

import math
from functools import cache

import torch
from torch import Tensor

from attn_notes.analysis import statistics
from attn_notes.analysis.statistics import Finding
from attn_notes.analysis.words import number, percent, span
from attn_notes.chapters.dialectical import checks, claims, evidence, figures, measure, recipe
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import VOCABULARY, Brackets

from ...pages.said import COUNT, Reading, Says, Told

found = cache(evidence.recorded)
parts = cache(lambda: claims.about_parts(found()))
told = Told(lambda: claims.evidence(found()), "recorded")
LIVE, RECORDED, TASK, STEPS = recipe.LIVE, recipe.RECORDED, recipe.TASK, claims.WHOLE_STEPS
BELOW, ABOVE = "As published: no loss lies below", "Mask mended: no loss lies below"
HONEST = "Mask mended: a prediction depends"
STREAMS, HALT = "Corrected: “Opposed streams”", "Corrected: “per-token halting”"
BALANCED, BUDGET = "“a constrained decoder to avoid unbalanced", "The published decoder keeps to"
BAN, LOWER = "Its ban of PAD", "logits lower by 30"
BY_GRAMMAR = ("By the grammar: balanced", "By the grammar: no PAD", "By the grammar: within")
NOTHING = math.log(len(VOCABULARY))  # what knowing nothing costs


def said(page: Reading) -> None:
    in_the_lesson(page("dialectical"))
    for section in (in_short, of_readings, of_parts, of_halting, of_writing, of_methods):
        section(page("evidence/dialectical"))
    to_the_teacher(page("teaching/dialectical"))


def part(ours: str, *theirs: str) -> list[Finding]:
    """Whether the first kind ends lower than each of the others."""
    return [parts()[ours, other].findings["recorded"] for other in theirs]


def both_signs(*values: Tensor) -> bool:
    return all(bool((each > 0).any() and (each < 0).any()) for each in values)


def between(low: float, values: Tensor, high: float) -> bool:
    return bool(low < values.min() and values.max() < high)


def faults(decoder: str, fault: str, logits: str = "as trained") -> int:
    return claims.faults(found(), decoder, fault, ("published", "corrected"), logits)


def texts() -> int:
    """How many texts each decoder wrote with one kind of logits."""
    return 2 * len(recipe.BUDGETS) * found().texts


def prefixes(kind: str) -> Tensor:
    return found().saw(kind, "loss on prefixes")


def no_dearer(kind: str) -> bool:
    """Whether its loss is the same where nothing comes after."""
    return statistics.within(prefixes(kind), found().saw(kind, "loss"), 1e-3)


def large_falls() -> bool:
    """Whether at the published size the published model ends below the floor, and it alone."""
    ends = {kind: run["excess"][-1] for kind, run in found().published["runs"].items()}
    return max(ends["published"]) < 0 < min(ends["corrected"])


def middle(kind: str) -> float:
    return float(found().ends[kind].quantile(0.5))


# Each row: the words, and what they rest on.
# fmt: off


def in_the_lesson(page: Says) -> None:
    ours, theirs = (record["runs"]["published"]["parameters"]
                    for record in (found().parts, found().published))
    share = faults("published", "exceed the budget") / texts()
    page(f"can be worked out exactly: {TASK.floor:.3f} [nats]",
         f"one to {COUNT[TASK.pairs]} pairs of brackets, put together",
         f"With probability {TASK.filler:g} filler follows",
         f"begins again, {COUNT[recipe.PUBLISHED.steps]} times",
         f"from the same {COUNT[LIVE.seeds]} [seeds]", f"are the {COUNT[LIVE.seeds]} seeds above")
    page(f"are {COUNT[RECORDED.seeds]}, trained half as long again",
         where=LIVE.steps * 1.5 == RECORDED.steps)
    page(f"{ours:,} parameters, a fifteenth of the author's {theirs:,}",
         where=round(theirs / ours) == 15)
    page("as published and trained, the model gets below 1.1", failed=[told(BELOW)],
         where=between(1.0, found().saw("published", "loss"), 1.1))
    page("At the full size [the loss falls below the floor as well]", where=large_falls())
    page("As published the model pays less than anybody can", "had to be reading the answers",
         held=[told(ABOVE), told("Mask mended: every seed ends")], failed=[told(BELOW)])
    page("it is honest, and one or two hundredths of a nat above", held=[told(ABOVE), told(HONEST)],
         where=between(0.01, found().ends["published, masked"], 0.02))
    page("costs it more than twelve nats, where knowing nothing costs "
         rf"$\ln {len(VOCABULARY)} = {number(NOTHING, 2)}$", "It never learnt to predict",
         where=12 < prefixes("published").min() < 13)
    page("The mended one pays what it always paid", held=[told(HONEST)],
         where=no_dearer("published, masked"))
    page("do what they are called: there are two attentions", held=[told(STREAMS), told(HALT)])
    page("they buy no lower loss that shows", untold=part("corrected", "plain recursion"))
    page("here some seeds have it so and others the reverse", untold=[told("Tension is higher")],
         where=both_signs(found().doubt()))
    page("balanced, though almost a third ran past the length asked for", held=[told(BALANCED)],
         failed=[told(BUDGET)], where=0.28 < share < 1 / 3)
    page("Take 30 off every logit", "every text contains padding", failed=[told(BAN)],
         where=faults("published", "contain PAD", LOWER) == texts())
    page("By the grammar none fails, with either", held=map(told, BY_GRAMMAR))


def in_short(page: Says) -> None:
    page("As published the model reads the whole string, through two readings that are one, and no "
         "token halts", failed=[told(f"As published: {claim}") for claim in (
             "a prediction depends", "“Opposed streams”", "“per-token halting”")],
         where=set(found().steps("published").tolist()) == {STEPS})
    page("Its loss is a quarter of a nat below the floor", failed=[told(BELOW)],
         where=round(4 * middle("published"), 1) == -1)
    page("it is honest and within two hundredths of a nat", held=[told(ABOVE), told(HONEST)],
         where=between(0.01, found().ends["published, masked"], 0.02))
    page("all five parts mended they do what they are called", held=[told(STREAMS), told(HALT)])
    page("the whole buys no lower loss than plain recursion that shows",
         untold=part("corrected", "plain recursion"))
    page("balances every text from a legal prompt, some of them beyond their budget, and it bans "
         "padding only as long as logits", held=[told(BALANCED)], failed=[told(BUDGET), told(BAN)],
         where=faults("published", "contain PAD") == 0)
    page("keeps all of that whatever the logits", held=map(told, BY_GRAMMAR))


@torch.no_grad()
def of_readings(page: Says) -> None:
    words = sum(math.comb(2 * n, n) // (n + 1) for n in range(TASK.fewest, TASK.pairs + 1))
    page(f"which of the {words} strings of brackets it is",
         f"cut at {TASK.length} characters here, where the source cuts at {Brackets().length}")
    page(rf"What knowing nothing costs is $\ln {len(VOCABULARY)} = {number(NOTHING, 2)}$",
         "pays more than six times as much in every seed",
         where=6 < prefixes("published").min() / NOTHING < 7)
    page("The mended ones pay what they pay on whole strings",
         where=no_dearer("published, masked") and no_dearer("corrected"))
    ids = brackets.encode(recipe.LEAK_TEXT)[None]
    even, held = (evidence.model(kind).observe(ids)[1].attention[0, 0, 0]
                  for kind in ("published", "corrected"))
    page("The published mask makes attention even; the mended one keeps it to the past",
         where=bool((even - 1 / len(even)).abs().max() < 1e-6) and not held.triu(1).any())
    before = found().inside["runs"]["published"]["untrained"]
    steps, tension = found().at_work("published")[1].split([1, 2], -1)
    page("Keys that are never read get no gradient", where=before["gradient of the keys"] == 0)
    page("the tension is 1 whatever the input", "moves it, but nowhere near 0.15",
         where=round(before["tension"], 2) == 1 and bool(tension.min() > 0.4))
    page("As published hardly a token halts; corrected, some do", held=[told(HALT)],
         where=bool(steps.min() > STEPS - 0.01))
    seen = evidence.model("corrected").observe(brackets.encode("(a()(b))")[None])[1]
    page("Once mended, the two readings differ", held=[told(STREAMS)],
         where=bool(seen.tension[0, 0].max() > 0.1))
    change = found().tension("no halting")[:, -1] - found().tension("no halting")[:, 0]
    page("in some seeds tension is higher where there is doubt and in others lower, and along the "
         "recursion it falls in some and rises in others",
         "Tension goes with doubt in some seeds and against it in others",
         untold=[told("Tension is higher"), told("Tension falls")],
         where=both_signs(found().doubt(), change))


def of_parts(page: Says) -> None:
    page("neither from a single wide step, nor from one reading, nor from plain recursion, and all "
         "five parts mended cannot be told from the mask alone", untold=part(
             "corrected", "one step", "one stream", "plain recursion", "published, masked"))
    page("Two readings without gate or halting end lower than the whole, and cannot be told from "
         "one reading", failed=part("corrected", "neither"), untold=part("neither", "one stream"))
    without, whole = (found().tension(k)[:, 0] for k in ("no tension gate", "corrected"))
    page("The outlier is the kind without a gate", held=part("corrected", "no tension gate"))
    page(f"({span(without, 2)} at the first step, where the gate keeps it at {span(whole, 2)})")
    page("a token takes three and a half of the six steps on average",
         where=3.4 < found().steps("no tension gate").mean() < 3.6)
    page("Where nothing halts the harm is gone",
         where=bool(found().ends["neither"].max() < found().ends["no tension gate"].min()))
    *rest, worst = sorted(map(middle, figures.ORDER))
    page("By their medians all kinds but one end within "
         f"{number(1000 * (rest[-1] - rest[0]), 0)} thousandths of a nat of each other",
         where=worst == middle("no tension gate") > 2 * rest[-1])
    decided = [part(*pair)[0].verdict is not None for pair in claims.PARTS]
    effects = [statistics.difference(*(found().ends[k] for k in pair)) for pair in claims.PARTS]
    page(f"leaves out zero, and yet {COUNT[decided.count(False)]} of the {COUNT[len(decided)]} "
         "verdicts are that", where=all(low * high > 0 for _, low, high in effects))
    page(f"the rank test of two crowds decides {COUNT[sum(decided)]}")
    page("At the published size, too, the loss ends below the floor", where=large_falls())


def of_halting(page: Says) -> None:
    tau, signs = recipe.WHOLE.tension_tau, COUNT[len(recipe.TOLD)]
    moves, steps = ({each: found().against_depth(each, equal) for each in recipe.TOLD}
                    for equal in ("moves", "steps"))
    saved = STEPS - found().at_work("corrected")[1][-1, :, 0]
    first = found().saw("corrected", "first token saves")
    page(f"At the source's threshold, {tau:g}, {COUNT[int((moves[tau] < 0).sum())]} seeds of "
         f"{COUNT[RECORDED.seeds]} lose less", f"may be chance when {signs} thresholds are asked",
         f"for all tokens and {COUNT[int((moves[tau] > 0).sum())]} loses more",
         "At equal moves, halting by tension helps some seeds and harms others",
         untold=[told(f"{claims.HALTING} {each} ") for each in recipe.TOLD],
         where=both_signs(*moves.values()))
    page("At equal steps, halting by tension helps some seeds and harms others",
         where=both_signs(*steps.values()))
    page(f"The models save {span(saved, 2)} of {STEPS} steps there",
         f"accounts for {percent(first.min(), 0)} to {percent(first.max(), 0)} %")
    lost = [torch.tensor([seed[d][0] for seed in found().members("corrected", "depth")]).median()
            for d in figures.depths(found())]
    page("A prediction loses most where no bracket is open", where=lost.index(max(lost)) == 0)


def of_writing(page: Says) -> None:
    exceed, padded = (faults("published", *fault) for fault in (
        ("exceed the budget",), ("contain PAD", LOWER)))
    page(f"balanced all of its {texts()} texts, but {exceed} were longer", held=[told(BALANCED)])
    page("Take 30 off every logit, which changes no probability, and all "
         f"{padded} contain padding", where=padded == texts())
    page(f"none of {2 * texts()} texts has one of these faults", held=map(told, BY_GRAMMAR))
    page("may write nothing but filler until it has to close",
         where=faults("grammar", "ten fillers in a row") > 0)


def p_of(lower: int) -> float:
    """The rank test's p where ours is lower in so many pairs of seeds."""
    seeds = RECORDED.seeds
    below = [min(seeds, max(0, lower - seeds * i)) for i in range(seeds)]  # of theirs, each of ours
    ours = torch.tensor([seeds - k + 0.5 for k in below])
    return statistics.rank_p(ours + 1e-3 * torch.arange(seeds), 1 + torch.arange(float(seeds)))


def of_methods(page: Says) -> None:
    asked, seeds, pairs = len(claims.PARTS), COUNT[RECORDED.seeds], RECORDED.seeds**2
    many, least, tau = COUNT[asked], 2 / 2**RECORDED.seeds, recipe.WHOLE.tension_tau
    alike = [measure.correlation(*(found().ends[k] for k in pair)) for pair in claims.PARTS]
    few = max(k for k in range(pairs // 2) if asked * p_of(k) < statistics.LEVEL)
    swept = found().rates["runs"]
    best = {kind: min(recipe.TRIED, key=lambda rate: sum(swept[f"{kind} {rate}"]["excess"][-1]))
            for kind in recipe.KINDS}
    page(f"Of every kind {seeds} seeds were trained for {RECORDED.steps} steps of "
         f"{RECORDED.batch} strings, and are judged on {recipe.HELD_OUT:,} strings",
         f"rises in {RECORDED.warmup} steps and then falls along a cosine to a tenth",
         f"{seeds.capitalize()} seeds each, on {recipe.PROBED} strings", f"of all {pairs} pairs",
         f"the median of all {pairs} differences", f"The {many} comparisons of losses",
         f"so are the {COUNT[len(recipe.TOLD)]} of halting", rf"$\tau_0 = {tau:g}$",
         f"A sign test of {seeds} seeds has a least p of {least:.4f}",
         f"{pairs - few} of the {pairs} pairs or more, or in {few} or fewer, is told",
         f"by anything from {number(min(alike), 2)} to {number(max(alike), 2)}",
         f"Up to {statistics.ROUNDING:g} is put down to rounding",
         f"is swept on {recipe.SWEPT:,} strings", f"one string of {TASK.length} characters",
         f"by less than {recipe.WHOLE.halt_eps:.4f} of its length",
         f"strings cut at {recipe.FULL_SIZE.length} characters, {COUNT[recipe.FULL.seeds]} seeds",
         f"up to {COUNT[recipe.LONGEST_PROMPT]} characters", f"by {COUNT[recipe.WRITERS]} seeds of")
    page(f"best of {COUNT[len(recipe.TRIED)]} for each kind",
         f"{recipe.RATES['no tension gate']:g} with no tension gate, {LIVE.lr:g} for all others",
         where=best == recipe.RATES == dict.fromkeys(best, LIVE.lr) | {
             "no tension gate": recipe.RATES["no tension gate"]})
    page(f"a sign test of {seeds} pairs, {many} times corrected, cannot come below "
         f"{asked * least:.3f}", where=asked * least > statistics.LEVEL)


def to_the_teacher(page: Says) -> None:
    page("Between one and two hundredths of a nat", held=[told(ABOVE)],
         where=between(0.01, found().ends["published, masked"], 0.02))
    page("the whole is not lower than a plain recursion", "end lowest of all that were tried",
         untold=part("corrected", "plain recursion"),
         where=min(figures.ORDER, key=middle) == "neither")
    page('alone is so much worse than "neither"', held=part("corrected", "no tension gate"),
         failed=part("corrected", "neither"))
    page("show that the loss on *prefixes* is terrible",
         where=bool((prefixes("published") > NOTHING).all()))
    page(f"398 of {checks.beginnings()} beginnings")
