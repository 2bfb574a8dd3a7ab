"""What the lesson, its evidence and the teacher's page say of the records, and of the recipe."""

import math
from functools import cache

import torch
from torch import Generator, Tensor

from attn_notes.analysis import leaks, statistics
from attn_notes.models.dialectical import LanguageModel
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import PAD, SPACE, VOCABULARY, Brackets
from book.kit import verdicts
from book.kit.verdicts import Finding
from book.kit.words import number, percent, span
from book.lessons.dialectical import checks, claims, decoding, evidence, figures, measure, recipe
from book.lessons.dialectical.widget import BracketGenerator
from tests.pages.said import COUNT, Reading, Says, Told

found = cache(evidence.recorded)
parts = cache(lambda: claims.about_parts(found()))
told = Told(lambda: claims.evidence(found()), "recorded")
LIVE, RECORDED, TASK, STEPS = recipe.LIVE, recipe.RECORDED, recipe.TASK, claims.WHOLE_STEPS
BELOW, ABOVE = "As published: no loss lies below", "Mask mended: no loss lies below"
HONEST = "Mask mended: a prediction depends"
BALANCED, BUDGET = "“a constrained decoder to avoid unbalanced", "The published decoder keeps to"
BAN = "Its ban of PAD"
NOTHING = math.log(len(VOCABULARY))  # what knowing nothing costs


def said(page: Reading) -> None:
    pages = page("dialectical"), page("dialectical_evidence"), page("teaching")
    of_bans(page("dialectical_writing"))
    for of in (of_settings, of_readings, of_parts, of_halting, of_writing, of_methods):
        of(*pages)


def part(ours: str, *theirs: str) -> list[Finding]:
    return [parts()[ours, other].findings["recorded"] for other in theirs]


def both_signs(*values: Tensor) -> bool:
    return all(bool((each > 0).any() and (each < 0).any()) for each in values)


def between(low: float, values: Tensor, high: float) -> bool:
    return bool(low < values.min() and values.max() < high)


def middle(kind: str) -> float:
    return float(found().ends[kind].quantile(0.5))


# Each row: the words, and what they rest on.
# fmt: off


def of_settings(lesson: Says, proof: Says, teacher: Says) -> None:
    ours, theirs = (record["runs"]["published"]["parameters"]
                    for record in (found().parts, found().published))
    words = sum(math.comb(2 * n, n) // (n + 1) for n in range(TASK.fewest, TASK.pairs + 1))
    first = TASK.entropies(brackets.encode("(")[None])
    opens, closes = TASK.ideal(brackets.encode("(")[None])[0, 0, :2].exp().tolist()
    lesson("a fifteenth of the weights of the author’s",
           f"The mean is {TASK.floor:.3f} nats, the [floor]",
           f"it makes {float(first):.2f} nats", f"pays {float(first):.2f} [nats]",
           f"{round(100 * opens)} go on with another `(`, and {round(100 * closes)} with `)`",
           f"The other {round(100 * TASK.filler)} go on with *filler*",
           f"| `(` | {opens:.3f} | {-math.log(opens):.2f} |",
           f"| `)` | {closes:.3f} | {-math.log(closes):.2f} |",
           f"each | {TASK.filler / 3:.4f} | {-math.log(TASK.filler / 3):.2f} |",
           f"a fair coin costs {math.log(2):.2f}",
           f"from the same {COUNT[LIVE.seeds]} [seeds]",
           f"can write {COUNT[len(VOCABULARY)]} signs: two brackets, `a`, `b`, a `c` that never",
           f"pays {number(NOTHING, 2)}, the logarithm of {COUNT[len(VOCABULARY)]}",
           where=round(theirs / ours) == 15)
    proof(f"which of the {words} strings of brackets it is",
          f"cut at {TASK.length} characters here, where the source cuts at {Brackets().length}",
          rf"What knowing nothing costs is $\ln {len(VOCABULARY)} = {number(NOTHING, 2)}$")
    teacher(f"398 of {checks.beginnings()} beginnings")


@torch.no_grad()
def of_readings(lesson: Says, proof: Says, teacher: Says) -> None:
    paid, alone = (found().saw("published", what) for what in ("loss", "loss on prefixes"))
    lesson("On average over all strings it pays less than 1.1",
           "pays less than 1.1 nats a character",
           failed=[told(BELOW)], where=between(1.0, paid, 1.1))
    shown = brackets.encode(BracketGenerator().text)[None]
    last = BracketGenerator().text.rindex("a")
    moved = leaks.influence(evidence.model("published"), shown, len(VOCABULARY))
    lesson("Earlier bars move", where=(moved[:last, last] > 0.01).all())
    proof("Its loss is a quarter of a nat below the floor", failed=[told(BELOW)],
          where=round(4 * middle("published"), 1) == -1)
    lesson("As published the model pays less than anybody can",
           held=[told(ABOVE), told("Mask mended: every seed ends")], failed=[told(BELOW)])
    for page, words in ((lesson, "it ends within three hundredths of a nat of the best there is"),
                        (proof, "finds a leak, and it ends within two hundredths of a nat"),
                        (teacher, "Within three hundredths of a nat with the mask mended")):
        page(words, held=[told(ABOVE), told(HONEST)],
             where=between(0.01, found().ends["published, masked"], 0.02))
    asked, due = TASK.sample(64, Generator().manual_seed(0))
    lone = measure.on_prefixes(evidence.model("published"), asked, PAD)
    spaces, at_end = lone.argmax(-1) == SPACE, due.roll(-1, -1) == PAD
    at_end[:, -1] = True
    for page in (lesson, teacher):
        page("it takes most beginnings for the end, and is sure of it",
             where=float(spaces[due != PAD].float().mean()) > 0.75)
    lesson("at one place only, the last, and there the string was over", where=float(
        brackets.token_losses(lone, due)[(due != PAD) & at_end].mean()) < 0.1)
    lesson(f"As published each pays {alone.min():.1f} nats or more",
           "one in 160,000", "That is worse than to know nothing",
           "the published model does worse than knowing nothing",
           "it did worse than knowing nothing",
           where=(alone > 6 * NOTHING).all() and round(math.exp(12), -4) == 160_000)
    proof("pays more than six times as much in every seed", where=6 < alone.min() / NOTHING < 7)
    teacher("show that the loss on *prefixes* is terrible", where=(alone > NOTHING).all())
    no_dearer = [verdicts.within(found().saw(kind, "loss on prefixes"), found().saw(kind, "loss"),
                                   1e-3) for kind in ("published, masked", "corrected")]
    lesson(f"{COUNT[RECORDED.seeds]} models of either kind, trained for one and a half times as "
           "long", where=LIVE.steps * 1.5 == RECORDED.steps)
    lesson("With a mended mask they pay on beginnings what they pay on whole strings",
           held=[told(HONEST)], where=no_dearer[0])
    proof("The mended ones pay what they pay on whole strings", where=all(no_dearer))
    proof("reads the whole string, through two readings that are one, and no token halts",
          failed=[told(f"As published: {claim}") for claim in (
              "a prediction depends", "“Opposed streams”", "“per-token halting”")],
          where=set(found().steps("published").tolist()) == {STEPS})
    ids = brackets.encode(recipe.LEAK_TEXT)[None]
    even, held = (evidence.model(kind).observe(ids)[1].attention[0, 0, 0]
                  for kind in ("published", "corrected"))
    proof("The published mask makes attention even; the mended one keeps it to the past",
          where=bool((even - 1 / len(even)).abs().max() < 1e-6) and not held.triu(1).any())
    large = {kind: run["excess"][-1] for kind, run in found().published["runs"].items()}
    below = max(large["published"]) < 0 < min(large["corrected"])
    lesson("At full size [the loss falls below the floor as well]", where=below)
    proof("At the published size, too, the loss ends below the floor", where=below)


@torch.no_grad()
def of_parts(_: Says, proof: Says, teacher: Says) -> None:
    streams, halt = told("Corrected: “Opposed streams”"), told("Corrected: “per-token halting”")
    proof("all five parts mended they do what they are called", held=[streams, halt])
    plain = part("corrected", "plain recursion")
    proof("the whole buys no lower loss than plain recursion that shows", untold=plain)
    teacher("the whole is not lower than a plain recursion", untold=plain)
    before = found().inside["runs"]["published"]["untrained"]
    steps, tension = found().at_work("published")[1].split([1, 2], -1)
    proof("Keys that are never read get no gradient", where=before["gradient of the keys"] == 0)
    proof("the tension is 1 whatever the input", "moves it, but nowhere near 0.15",
          where=round(before["tension"], 2) == 1 and bool(tension.min() > 0.4))
    proof("As published hardly a token halts; corrected, some do", held=[halt],
          where=steps.min() > STEPS - 0.01)
    seen = evidence.model("corrected").observe(brackets.encode("(a()(b))")[None])[1]
    proof("Once mended, the two readings differ", held=[streams],
          where=seen.tension[0, 0].max() > 0.1)
    change = found().tension("no halting")[:, -1] - found().tension("no halting")[:, 0]
    proof("in some seeds tension is higher where there is doubt and in others lower",
          "along the recursion it falls in some and rises in others",
          "Tension goes with doubt in some seeds and against it in others",
          untold=[told("Tension is higher"), told("Tension falls")],
          where=both_signs(found().doubt(), change))
    proof("neither from a single wide step, nor from one reading, nor from plain recursion",
          untold=part("corrected", "one step", "one stream", "plain recursion"))
    proof("all five parts mended cannot be told from the mask alone",
          untold=part("corrected", "published, masked"))
    proof("Two readings without gate or halting end lower than the whole, and cannot be told",
          failed=part("corrected", "neither"), untold=part("neither", "one stream"))
    *rest, worst = sorted(map(middle, figures.ORDER))
    teacher("end lowest of all that were tried", where=rest[0] == middle("neither"))
    teacher('alone is so much worse than "neither"', held=part("corrected", "no tension gate"),
            failed=part("corrected", "neither"))
    without, whole = (found().tension(k)[:, 0] for k in ("no tension gate", "corrected"))
    proof("The outlier is the kind without a gate", held=part("corrected", "no tension gate"))
    proof(f"({span(without, 2)} at the first step, where the gate keeps it at {span(whole, 2)})",
          "a token takes three and a half of the six steps on average",
          where=3.4 < found().steps("no tension gate").mean() < 3.6)
    proof("Where nothing halts the harm is gone",
          where=found().ends["neither"].max() < found().ends["no tension gate"].min())
    proof("By their medians all kinds but one end within "
          f"{number(1000 * (rest[-1] - rest[0]), 0)} thousandths of a nat of each other",
          where=worst == middle("no tension gate") > 2 * rest[-1])


def of_halting(_: Says, proof: Says, __: Says) -> None:
    tau, signs = recipe.WHOLE.tension_tau, COUNT[len(recipe.TOLD)]
    moves = {each: found().against_depth(each) for each in recipe.TOLD}
    saved = STEPS - found().at_work("corrected")[1][-1, :, 0]
    first = found().saw("corrected", "first token saves")
    less, more = (COUNT[int((sign * moves[tau] > 0).sum())] for sign in (-1, 1))
    proof(f"At the source's threshold, {tau:g}, {less} seeds of {COUNT[RECORDED.seeds]} lose less",
          f"may be chance when {signs} thresholds are asked", f"for all tokens and {more} loses",
          "At equal moves, halting by tension helps some seeds and harms others",
          untold=[told(f"{claims.HALTING} {each} ") for each in recipe.TOLD],
          where=both_signs(*moves.values()))
    proof(f"The models save {span(saved, 2)} of {STEPS} steps there",
          f"accounts for {percent(first.min(), 0)} to {percent(first.max(), 0)} %")


def of_writing(_: Says, proof: Says, __: Says) -> None:
    def faults(decoder: str, fault: str, logits: str = "as trained") -> int:
        return claims.faults(found(), decoder, fault, ("published", "corrected"), logits)

    texts = 2 * len(recipe.BUDGETS) * found().texts  # of each decoder, with one kind of logits
    exceed = faults("published", "exceed the budget")
    padded = faults("published", "contain PAD", "logits lower by 30")
    kept = [told(f"By the grammar: {what}") for what in ("balanced", "no PAD", "within")]
    proof(f"balanced all of its {texts} texts, but {exceed} were longer", held=[told(BALANCED)])
    proof(f"changes no probability, and all {padded} contain padding", where=padded == texts)
    proof("balances every text from a legal prompt, some of them beyond their budget",
          "it bans padding only as long as logits", held=[told(BALANCED)],
          failed=[told(BUDGET), told(BAN)], where=faults("published", "contain PAD") == 0)
    proof(f"none of {2 * texts} texts has one of these faults",
          "keeps all of that whatever the logits", held=kept)
    proof("may write nothing but filler until it has to close",
          where=faults("grammar", "ten fillers in a row") > 0)


def of_bans(writing: Says) -> None:
    both, texts = ("published", "corrected"), 2 * len(recipe.BUDGETS) * found().texts
    writing(f"In {2 * texts} texts by {COUNT[len(both)]} kinds of trained models",
            "half of them with 30 taken off every score", "none leaves a bracket open",
            held=[told(f"By the grammar: {what}") for what in ("balanced", "no PAD", "within")])
    fillers = claims.faults(found(), "grammar", "ten fillers in a row", both, "as trained")
    writing("may write nothing but filler until it has to close", where=fillers > 0)
    removed = evidence.removals(evidence.model("published, masked"), "((a)((")
    mean = {name: sum(shares) / len(shares) for name, shares in removed.items()}
    writing("they take next to nothing here",
            "Its text is over after four characters, far from the limit",
            where=mean["trained"] < 0.001 and len(removed["trained"]) == 4)
    writing("it loses a tenth on the same four, about a third on average",
            where=round(sum(removed["untrained"][:4]) / 4, 1) == 0.1
            and 0.28 < mean["untrained"] < 0.38)
    fresh = LanguageModel(recipe.MENDED, Generator().manual_seed(0))
    steps = decoding.generate(fresh, "((a)((", 14).steps
    published = decoding.generate(evidence.model("published"), "((a)((", 20, stop_on_closed=False)
    wants = [VOCABULARY[int(step.wanted.argmax())] for step in published.steps]
    writing("wants one bracket and then only blanks, to the very end",
            where=wants == [")", *" " * 19])
    writing("the bans close its last two brackets just in time",
            where=published.text.endswith(" ))") and len(published.text) == 26)
    writing("gives every sign some chance", where=all(step.wanted.min() > 0.05 for step in steps))


def told_from(seeds: int, asked: int) -> int:
    """In how many of all pairs of seeds ours may be lower at most, and is told to be higher."""
    def p(lower: int) -> float:
        below = [min(seeds, max(0, lower - seeds * i)) for i in range(seeds)]  # of theirs
        ours = torch.tensor([seeds - k + 0.5 for k in below]) + 1e-3 * torch.arange(seeds)
        return statistics.rank_p(ours, 1 + torch.arange(float(seeds)))

    return max(k for k in range(seeds**2 // 2) if asked * p(k) < statistics.LEVEL)


def of_methods(_: Says, proof: Says, __: Says) -> None:
    asked, seeds, pairs = len(claims.PARTS), COUNT[RECORDED.seeds], RECORDED.seeds**2
    many, least, few = COUNT[asked], 2 / 2**RECORDED.seeds, told_from(RECORDED.seeds, asked)
    ends = [[found().ends[kind] for kind in pair] for pair in claims.PARTS]
    alike = [measure.correlation(*each) for each in ends]
    decided = [part(*pair)[0].verdict is not None for pair in claims.PARTS]
    effects = [statistics.difference(*each) for each in ends]
    proof(f"leaves out zero, and yet {COUNT[decided.count(False)]} of the {many} verdicts",
          where=all(low * high > 0 for _, low, high in effects))
    proof(f"the rank test of two crowds decides {COUNT[sum(decided)]}",
          f"Of every kind {seeds} seeds were trained for {RECORDED.steps} steps of "
          f"{RECORDED.batch} strings, and are judged on {recipe.HELD_OUT:,} strings",
          f"rises in {RECORDED.warmup} steps and then falls along a cosine to a tenth",
          f"{seeds.capitalize()} seeds each, on {recipe.PROBED} strings", f"of all {pairs} pairs",
          f"the median of all {pairs} differences", f"The {many} comparisons of losses",
          f"so are the {COUNT[len(recipe.TOLD)]} of halting",
          rf"$\tau_0 = {recipe.WHOLE.tension_tau:g}$",
          f"A sign test of {seeds} seeds has a least p of {least:.4f}",
          f"{pairs - few} of the {pairs} pairs or more, or in {few} or fewer, is told",
          f"by anything from {number(min(alike), 2)} to {number(max(alike), 2)}",
          f"Up to {statistics.ROUNDING:g} is put down to rounding",
          f"is swept on {recipe.SWEPT:,} strings", f"one string of {TASK.length} characters",
          f"by less than {recipe.WHOLE.halt_eps:.4f} of its length",
          f"cut at {recipe.FULL_SIZE.length} characters, {COUNT[recipe.FULL.seeds]} seeds",
          f"up to {COUNT[recipe.LONGEST_PROMPT]} characters",
          f"by {COUNT[recipe.WRITERS]} seeds of")
    swept, slow = found().rates["runs"], recipe.RATES["no tension gate"]
    best = {kind: min(recipe.TRIED, key=lambda rate: sum(swept[f"{kind} {rate}"]["excess"][-1]))
            for kind in recipe.KINDS}
    proof(f"best of {COUNT[len(recipe.TRIED)]} for each kind",
          f"{slow:g} with no tension gate, {LIVE.lr:g} for all others",
          where=best == recipe.RATES == dict.fromkeys(best, LIVE.lr) | {"no tension gate": slow})
    proof(f"a sign test of {seeds} pairs, {many} times corrected, cannot come below "
          f"{asked * least:.3f}", where=asked * least > statistics.LEVEL)
