"""What the pages say of records: the words, with the records' numbers, and what they rest on."""

import inspect
import json
import math
import re
from pathlib import Path
from string import ascii_lowercase

import torch
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy

from attn_notes.models.triple_product import AttentionOnly, stable_volume
from attn_notes.tasks.copying import Copying
from book.kit import results
from book.kit.claims import Claim
from book.kit.verdicts import Finding
from book.kit.words import median, number, rounded
from book.lessons.triple_product import claims, evidence, explorer, geometry, measure, recipe
from book.lessons.triple_product.checks import MOST
from book.lessons.triple_product.claims import PAIRS, SOLVED
from tests.pages.said import COUNT, Reading, Says, Told

MACHINE = {
    "forms-table": r"−?\d+(?= %| ×| to|$)( × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?",  # it shows the rounding itself
    # Trained to no end, by whichever processor: nearly nothing at other distances, then most.
    "meet-cell": r"(?<=at 12, tested at 8: |t 12, tested at 11: )0\.0[4-9]|"
                 r"(?<=to 12, tested at 8: |o 12, tested at 1[12]: )0\.(?:7[5-9]|[89]\d)",
}  # fmt: skip

RECORDED, LONGER = evidence.on_record()
BODY, REACH = evidence.recorded(), evidence.reach("random")
MOVED, LEARNT, KINDS = BODY.moved, BODY.learnings, recipe.KINDS
ONE, TWO, FIXED, RANDOM = recipe.ONE, recipe.TWO, recipe.FIXED, recipe.RANDOM
ALONE, PAIR = "one layer", "two layers"
VARIED, DEEP = "one layer, random period", "two layers, period 12"
NEAR = recipe.HALF - 1  # the period that a reader is asked about


def every() -> list[Claim]:
    models = claims.of_models(evidence.on_record(), evidence.best_losses(), REACH)
    return [*models, *claims.of_formula(geometry.rounding(), geometry.resilience())]


told = Told(every, RECORDED)


def lower(layers: str, ours: str, theirs: str = recipe.WIDER, column: str = LONGER) -> Finding:
    return told(PAIRS[layers, ours, theirs], column)


def right(name: str, period: int) -> float:
    return median(MOVED[name].at("dot", period))


def guesses(name: str) -> bool:
    """Whether at the period asked about no score and no seed is clearly better than a guess."""
    return max(float(MOVED[name].at(kind, NEAR).max()) for kind in KINDS) < 1 / 16 + 0.05


def followed(name: str, *places: int, match: bool = True) -> list[float]:
    """How often the median seed with the dot product predicts the letter so many places back."""
    return [median(BODY.follows[name]["dot"][1 - match, back - 1]) for back in places]


def on_the_first_letters() -> tuple[float, bool]:
    """What part of the angle's lead lies there; whether the dot product pays more than chance."""
    x = FIXED.sample(500, Generator().manual_seed(0))
    models = (evidence.trained(ALONE, kind) for kind in ("dot", "angle"))
    dot, angle = (
        cross_entropy(model(x[:, :-1]).mT, x[:, 1:], reduction="none").mean(0).detach()
        for model in models
    )
    lead = dot - angle
    sure = dot[:NEAR] > math.log(FIXED.vocabulary)
    return float(lead[:NEAR].sum() / lead.sum()), bool(sure.all())


# fmt: off
def said(page: Reading) -> None:
    lesson, proof = page("triple_product"), page("triple_product_evidence")
    second, teaching = page("triple_product_volume"), page("teaching")
    settings(lesson, proof)
    looks(lesson)
    periods(lesson, proof, teaching)
    rules(lesson, proof, teaching)
    matches(lesson, proof)
    loudness(second, proof)
    late(lesson, second, proof)
    rates(proof)
    forms(proof)


def settings(lesson: Says, proof: Says) -> None:
    live, kept, seen = COUNT[ONE["seeds"]], COUNT[recipe.RECORDED], RANDOM.periods
    long, of = (recipe.LONG_ONE, recipe.LONG_TWO), f"{FIXED.length} of {FIXED.vocabulary}"
    first, last = COUNT[seen[0]], COUNT[seen[-1]]
    lesson(f"We train {live} models on texts that begin again after {COUNT[recipe.HALF]} letters",
           f"Then we try them on all others, from {COUNT[recipe.TESTED[0]]} to sixteen",
           f"whose second round begins after {first} to {last} letters",
           f"more often than {MOST}, in sequences of {of}",
           f"It sees the letters `{explorer.AT_HOME[: recipe.HALF]}`",
           f"Let the text begin again after {COUNT[NEAR]}</a>",
           "no more than a guess would, one letter in sixteen",
           where=ONE["seeds"] == TWO["seeds"]
           and explorer.ELSEWHERE[:NEAR] * 2 == explorer.ELSEWHERE
           and recipe.TESTED[-1] == FIXED.vocabulary == 16)
    judged = (measure.transfer, measure.follows, measure.accuracy_at_loudness)
    tried, follow, heard = (inspect.signature(each).parameters["n"].default for each in judged)
    by_hand = results.load("triple_product_rules")["settings"]["sequences of a period"]
    proof(
        f"There are $V = {FIXED.vocabulary}$ tokens, here the letters a to p, and {FIXED.length}",
        f"In the source this *period* $p$ is {recipe.HALF}",
        f"drawn for every sequence, from {seen[0]} to {seen[-1]}",
        f"for {ONE['steps']} steps with one layer and {TWO['steps']} with two",
        f"models that trained for {long[0]['steps']:,} and {long[1]['steps']:,}",
        f"{COUNT[len(recipe.RATES)]} learning rates, {COUNT[recipe.SWEPT_ONE['seeds']]} seeds each",
        f"starts from the same {kept} and reads",
        f"the lesson's {live} are the first",
        f"the {COUNT[len(PAIRS)]} comparisons of a column",
        f"the rate rises over {ONE['warmup']} steps",
        f"each of the {COUNT[len(seen)]} periods counts as much as another",
        f"the last {COUNT[len(range(23)[RANDOM.settled])]} of the 24 letters that count",
        f"each period on {tried}; what is followed on {follow:,} random ones",
        f"loud tokens on {heard}",
        f"Take {geometry.KEYS:,} keys that lie *in* the plane, with $d = {geometry.WIDTH}$",
        f"tried on {by_hand:,} of every period",
        f"heads of {recipe.ONE_LAYER[recipe.WIDER].d} dimensions instead of",
        f"it is {Copying(2, 8, (2, 4)).floor:.4f} against {3 * math.log(2) / 7:.4f}",
        "exactly as many parameters as the volume has",
        "a wider dot product with as many parameters as the volume",
        where=recipe.SWEPT_ONE["seeds"] == recipe.SWEPT_TWO["seeds"]
        and ONE["warmup"] == TWO["warmup"]
        and {each["seeds"] for each in long} == {recipe.RECORDED}
        and LEARNT[ALONE][recipe.WIDER].parameters == LEARNT[ALONE]["volume"].parameters)


def read(text: str) -> Tensor:
    return torch.tensor([[ascii_lowercase.index(letter) for letter in text]])


def looks(lesson: Says) -> None:
    single, double = (evidence.trained(layers, "dot") for layers in (ALONE, PAIR))

    def written(model: AttentionOnly, text: str) -> str:
        return "".join(map(ascii_lowercase.__getitem__, model(read(text)).argmax(-1)[0].tolist()))

    home, away, at = explorer.AT_HOME, explorer.ELSEWHERE, explorer.ASKED
    back, due = at + 1 - recipe.HALF, away[at + 1]
    lesson("predicts each letter of the second round before it comes, and all twelve",
           where=written(single, home)[NEAR : 2 * NEAR + 1] == home[recipe.HALF :])
    looked = explorer.counting(away)[1].argmax() == back and away[at] == "k"
    lesson("It has read up to the second `n`",
           "twelve letters before the place that it must fill, and writes a `k`",
           where=explorer.counting(home)[1].argmax() == back and home[at] == "n"
           and home[: at + 1].count("n") == 2
           and written(single, home)[at] == home[at + 1] == "k")
    lesson("After the second `k` a `d` should come",
           "the head looks twelve back as before, and the model writes a `k` again",
           where=looked and due == "d" and written(single, away)[at] == away[back] == "k")
    circuit = explorer.circuit()
    lesson("It finds the `d`, and fetches it", "looks at the first `d`, and the model writes a `d`",
           "The first look notes, the second finds and fetches",
           where=min(circuit.notes, circuit.finds) > 0.8 and written(double, away)[at] == due)


def periods(lesson: Says, proof: Says, teaching: Says) -> None:
    strict, deep = told(claims.STRICT), told(claims.DEEP)
    single = [told(f"One layer with the {claims.score_name(kind)}") for kind in KINDS]
    two = told("Two layers with the dot product copy at a random")
    for page, words in (
        (lesson, "At eleven they copy no more than a guess would"),
        (lesson, "A model passed a test for copying by counting twelve letters back"),
        (lesson, "Taught at twelve, it copies at twelve and guesses at eleven"),
        (lesson, "One layer mostly learnt to count. Two layers"),
        (teaching, "Next to none is right: guessing, more or less."),
    ):
        page(words, failed=[strict], where=guesses(ALONE))
    lesson("At twelve they copy all", where=float(MOVED[ALONE].at_home("dot").min()) > 0.995)
    aims = [(each.argmax(0) == NEAR).all() for each in evidence.offsets().values()]
    lesson("at eleven, so they have mostly learnt to count", where=aims[0])
    proof("With nothing to find, they still look 11 places back", where=all(aims))
    lesson("whoever counts is always right, and the loss cannot ask for more",
           "In their texts counting was enough, and nothing asked them to",
           where=evidence.reach("fixed").place == 1)
    lesson("only seen twelve do no better: at eleven", "It takes two layers, and texts that vary",
           failed=[deep], where=guesses(DEEP))
    proof("Two layers that have seen one period count as well", failed=[strict, deep])
    proof("get every copy right there, and at 11 no more than a guess",
          "than a guess would. So a second layer is no cure by itself",
          where=guesses(DEEP) and min(MOVED[DEEP].at_home(kind).min() for kind in KINDS) > 0.995)
    odd = float(MOVED[DEEP].at("dot", RANDOM.periods[0]).max())
    proof(f"single seeds of two layers trained at 12 get up to {odd:.2f} of the copies")
    alone = {period: right(VARIED, period) for period in RANDOM.periods}
    quarter = 0.2 < alone[8] < 0.3
    lesson("about half of the copies at eleven, and a quarter at eight",
           where=quarter and 0.4 < alone[NEAR] < 0.6)
    lesson("Two layers that have seen them get nearly all", held=[told(claims.VARIED), two])
    proof("one layer still counts, and two can copy", held=[two],
          where=quarter and max(alone.values()) < 0.7)
    proof("all seven looks mostly eleven or twelve back",
          where={11, 12} == {*sorted(alone, key=alone.__getitem__)[-2:]})
    share = median(BODY.copies(VARIED, "dot"))
    proof(f"gets {share:.2f} of all copies with the dot product. It takes both", failed=single[:1])
    teaching("and so does one layer that saw all seven", failed=[deep, single[0]])
    proof("And nobody copies far beyond the periods of training", where=max(
        each.at(kind, 16).max() for each in MOVED.values() for kind in KINDS) < 0.6)
    proof("One layer of any score solves it by counting places", failed=[strict])
    proof("when the period varies, no single layer does", failed=single)


def rules(lesson: Says, proof: Says, teaching: Says) -> None:
    either, both, follows = told(claims.EITHER), told(claims.BOTH), told(claims.FOLLOWS)
    copied = {kind: median(BODY.copies(PAIR, kind)) for kind in KINDS}
    lesson(f"these two layers copy {100 * copied['dot']:.0f} letters of 100 right",
           f"by where it stands, whatever it is. | {100 * REACH.placed:.0f} |",
           f"{COUNT[RANDOM.periods[0]]} to {COUNT[RANDOM.periods[-1]]} back. A letter that "
           f"comes twice misleads it. | {math.floor(100 * REACH.near + 0.5)} |",
           f"The model | {100 * copied['dot']:.0f} |",
           f"weighs each match by how far back it is. | {100 * REACH.matched:.0f} |")
    example = "hkfcanmbdgek"  # a match as far back as texts ask for, and nothing else twice
    next_one = evidence.trained(PAIR, "dot")(read(example))[0, -1].softmax(-1)
    lesson(f"such as `{example}`", "finds the earlier `k`, and predicts the `f`",
           where=next_one[ascii_lowercase.index("f")] > 0.9)
    lesson("The rule that does both is right more often than the model",
           held=[either], failed=[both], where=REACH.placed < REACH.near < REACH.matched)
    lesson("A rule by hand that counts and matches is right more often", failed=[both])
    four_in_five = 0.8 < REACH.placed < 0.88
    lesson("one that does is right more than four times in five", where=four_in_five)
    teaching("Weighed by where they stand, letters tell more than four in five", where=four_in_five)
    fifth = abs(REACH.place - 0.2) < 0.02
    teaching("The single distance that does best is right a fifth of the time", where=fifth)
    lesson("One distance alone is right a fifth of the time, but the first rule", where=fifth)
    teaching("Two layers do more; one layer, as trained here", held=[either],
             where=median(BODY.copies(VARIED, "dot")) < 0.7 * REACH.placed)
    teaching(f"It gets {copied['dot']:.2f}, so it is an induction head", failed=[follows])
    teaching("weighs how far back it was gets more", where=REACH.matched > copied["dot"])
    proof(f"is right {REACH.fitted:.2f} of the time, with weights of its own at every place "
          f"{REACH.placed:.2f}; matching one letter at a distance that a period allows gets "
          f"{REACH.near:.2f}. Two layers with the dot product copy more than any of these",
          held=[either])
    proof(f"gets {REACH.matched:.2f}, and no pair of layers more",
          where=max(copied.values()) < REACH.matched)
    proof("does not show that they do anything beyond this", failed=[both])
    proof("what followed its last occurrence is then not what comes next",
          where=evidence.reach("fixed").last < 0.6)


def matches(lesson: Says, proof: Says) -> None:
    far, met = told(claims.FOLLOWS), min(followed(ALONE, 12))
    never = min(followed(ALONE, 12, match=False))
    known = min(followed(PAIR, *range(7, 14))) > 0.5
    blind = max(followed(PAIR, *range(1, 19), match=False)) < 0.25
    lesson("picks no one distance more than a quarter of the time",
           "A match twelve back it follows nine times in ten, so it does read",
           where=blind and known and 0.85 < followed(PAIR, 12)[0] < 0.95)
    proof("two layers by a match at a distance that they know", failed=[far],
          where=min(met, never) > 0.5 and known and blind)
    lesson("It follows a match that is about as far back as in its texts",
           "But if the match is 3 back, or 18, it mostly lets it go",
           "an induction head, but only about as far back as its texts ever asked it to look",
           "Two layers learnt to match, but only at about the distances that their texts",
           "Two layers that saw many distances learnt to match, at about those distances",
           failed=[far], where=known and max(followed(PAIR, 2, 3, 18)) < 0.25)
    proof("follow a match from about 6 to 14 back", failed=[far],
          where=min(followed(PAIR, *range(6, 15))) > 0.5)
    proof("the letter twelve back whether there was a match or not",
          "at 18 in one case of five or six",
          "they hardly follow a distance, at most in one case of four",
          where=met > 0.9 and never > 0.6 and 1 / 6 < followed(PAIR, 18)[0] < 1 / 5 and blind)
    found = evidence.circuits()
    parts = {k: min(median(found.previous[k]), median(found.source[k])) for k in KINDS}
    # What a head that attends evenly gives one place, over the rows that `induction` counts.
    evenly = (1 / torch.arange(RANDOM.periods[0] + 1, RANDOM.length)).mean().item()
    proof(f"Attending evenly a head would give either about {evenly:.2f}",
          "five times that and more, with the dot product and the angle",
          where=min(parts["dot"], parts["angle"]) > 5 * evenly > parts["volume"])


def loudness(second: Says, proof: Says) -> None:
    stranger, friend, whisper = map(told, (claims.STRANGER, claims.FRIEND, claims.WHISPER))
    angle, loud = told(claims.ANGLE_FRIEND), BODY.loud
    assert loud is not None
    dot, drowned = loud.at("others", "dot", 100.0), loud.at("others", "angle", 100.0)
    proof("A loud stranger is silenced, as the author", "the other copies are right as before",
          held=[stranger])
    proof("as before, where the dot product loses nearly all", where=dot < 0.2)
    second("does not hear what is loud, and follows a whisper", held=[stranger],
           failed=[friend, whisper])
    second("A loud stranger harms no copy by the volume, as promised", held=[stranger],
           where=loud.at("others", "volume", 100.0) > 0.995)
    for row, which, factor in (
        ("others, beside one × 100", "others", 100.0), ("the one that is × 3", "own", 3.0),
        ("others, beside one × 0.1", "others", 0.1), ("the one that is × 0.1", "own", 0.1),
    ):  # fmt: skip
        second(" | ".join([row, *(f"{100 * loud.at(which, kind, factor):.0f}" for kind in KINDS)]))
    own, heard = loud.at("own", "volume", 3.0), loud.at("others", "volume", 0.1)
    proof(f"{own:.2f} are right at a factor of 3", failed=[friend])
    proof(f"with one token at a tenth, {heard:.2f} of the other copies", failed=[whisper])
    second("A loud friend is lost, because in a trained model", failed=[friend], where=own < 0.2)
    second("the less to what leans out the louder it is, stranger or friend", held=[stranger],
           failed=[friend])
    second("and much to whoever whispers", failed=[whisper])
    scene = Path(explorer.__file__).with_name("_triple_product_scenes.js").read_text()
    rows = re.findall(r"\[[-\d., ]+\]", scene.partition("START = ")[2])[:5]
    asks, keys = geometry.BY_HAND[:2], geometry.BY_HAND.keys
    assert [tuple(json.loads(row)) for row in rows] == [*asks, *keys]
    q, _, r = torch.randn(3, 1, 8, generator=Generator().manual_seed(0))
    second("a volume cannot tell yes from no", where=bool(stable_volume(q, -q, r).abs() < 1e-5))
    loudest, lost = geometry.by_hand(1, 3.0), geometry.by_hand(0, 3.0)["volume"].argmax() != 0
    of_friend, of_stranger, _ = loudest["dot"]
    words = f"now wins, with {of_stranger:.2f} of the attention to the friend’s {of_friend:.2f}."
    second(words, "By volume it gets nothing", where=bool(loudest["volume"][1] < 0.005))
    second("three times as high as before, and now a stranger wins", where=bool(lost))
    of_friend, of_whisper, _ = geometry.by_hand(1, 0.1)["volume"]
    second(f"It wins, with {of_whisper:.2f} of the attention to the friend’s {of_friend:.2f}")
    second("a small share of that drowns half of the copies", where=abs(drowned - 0.5) < 0.05)
    second(f"Of the others {100 * heard:.0f} copies are right, where blind guessing among all",
           f"sixteen letters gets {100 / recipe.FIXED.vocabulary:.0f}", failed=[whisper])
    beside = loud.at("others", "angle", 0.1) > SOLVED
    second("The angle keeps a loud friend, and does not mind a whisper", held=[angle], where=beside)
    second("And the whisperer’s own copy is lost",
           "keeps a loud friend. One that whispers it mostly loses", held=[angle],
           where=max(loud.at("own", kind, 0.1) for kind in ("dot", "angle")) < 0.3)
    second("The angle looks as before, and is handed a tenth",
           "The dot product no longer looks there",
           where=torch.allclose(share_of("angle", 0.1), share_of("angle", 1), atol=1e-5)
           and share_of("dot", 0.1).max() < 0.01 < share_of("dot", 1).min())
    proof("neither its others nor its own mind a factor of 3", held=[angle],
          where=loud.at("others", "angle", 3.0) > SOLVED)
    unheard = loud.at("own", "angle", 0.1)
    proof(f"drowns the others ({drowned:.2f} at 100)",
          f"not understood ({unheard:.2f} of its own copies at a tenth)",
          where=max(drowned, unheard) < SOLVED)
    linear = told("Dot product: “As Magnitude", "computed")
    shared, square = (told(each, "computed") for each in ("The same, if", "The published exp"))
    proof("Its own table says 0.1000 in every row", failed=[linear])
    proof("It grows if the leak is a fixed *share*", held=[shared])
    proof("the expansion makes it so for a good part of these keys", failed=[square])


def order(kinds: evidence.Learnings) -> str:
    """The three scores and their medians, the lowest first."""
    ends = {kind: float(kinds[kind].loss[-1].median()) for kind in KINDS}
    return ", ".join(f"{kind} {end:.2f}" for kind, end in sorted(ends.items(), key=lambda e: e[1]))


def share_of(kind: str, factor: float, place: int = 5) -> Tensor:
    """How much of each head lies on a letter of that loudness while it is to be copied."""
    x = FIXED.sample(64, Generator().manual_seed(3))[:, :-1]
    loudness = torch.ones(x.shape).index_fill(1, torch.tensor(place), factor)
    _, attention = evidence.trained(ALONE, kind).observe(x, loudness)
    return attention[:, 0, :, place + NEAR, place].mean(0)


def late(lesson: Says, second: Says, proof: Says) -> None:
    early, ahead = lower(PAIR, "angle", column=RECORDED), lower(PAIR, "angle")
    heavier = LEARNT[PAIR]["angle"].parameters > LEARNT[PAIR]["line"].parameters
    plane, control = lower(PAIR, "angle", "line"), lower(ALONE, "angle", "line")
    proof("is behind the dot product after 800 steps and ahead", held=[ahead], failed=[early])
    proof("After 800 steps with two layers, each at the best of its five rates", failed=[early])
    gap = claims.effects(evidence.on_record(), PAIR)["3,000 steps"]["angle"].middle
    proof("it is ahead, by a fiftieth of a nat", held=[ahead], where=-0.025 < gap < -0.015)
    single = [lower(ALONE, "angle", column=column) for column in (RECORDED, LONGER)]
    rows = {"short": single[:1], "longer": [single[1], ahead]}
    for (row, leads), body in zip(rows.items(), evidence.on_record().values(), strict=True):
        orders = [order(body.learnings[each]) for each in (ALONE, PAIR)]
        second(" | ".join([row, *orders]), held=leads)
    lies, sure = on_the_first_letters()
    second("With one layer the angle’s lead lies mostly on the first letters",
           "the dot product, too sure of itself, does worse", where=lies > 0.6 and sure)
    second("With two it comes only after long training", held=[ahead], failed=[early])
    second("we cannot say that the plane is the reason", untold=[control], held=[plane],
           where=heavier)
    least = claims.volume(evidence.on_record())[-1].findings["we found"]
    ways = [body.learnings[each] for body in evidence.on_record().values()
            for each in (ALONE, PAIR)]
    few, *others = sorted(
        int((kinds["volume"].loss[-1][:, None] > kinds[recipe.WIDER].loss[-1]).sum())
        for kinds in ways)
    second("The volume comes last even against a dot product of as many weights",
           failed=[least], where=few > 60 and others == [recipe.RECORDED**2] * 3)
    proof("After 3,000 steps the angle ends below it", "and no plane; with two it ends lower",
          held=[plane])
    proof("With one layer the angle cannot be told from its control", untold=[control])
    proof("ends higher than the dot product with one layer and with two",
          failed=[lower(layers, "volume") for layers in (ALONE, PAIR)])
    proof("and the angle ends lower with both", held=[lower(ALONE, "angle"), ahead])
    found = results.load("triple_product_lesson")["runs"]["found"]
    proof(f"scores reach {rounded(found['lowest'])}, and the largest weight of a row is "
          f"{number(found['sharpest'])} on average", where=found["sharpest"] > 0.98)


def rates(proof: Says) -> None:
    sweep, long = evidence.sweep(), results.load("triple_product_copying")["runs"][PAIR]
    ends, of = sweep.rates[::4], COUNT[len(recipe.RATES)]
    best = {layers: {score: sweep.best(layers, score) for score in scores}
            for layers, scores in sweep.ends.items()}
    proof(f"at the rate that served it best of {of}", where=all(
        rate == best[layers][score.removesuffix(", wider")]
        for layers, settings in ((ALONE, ONE), (PAIR, TWO))
        for score, rate in settings["lr"].items()))
    proof("The volume wants a smaller rate than the others",
          where=all(min(each, key=each.__getitem__) == "volume" for each in best.values()))
    at_an_end = [[s for s, rate in best[layers].items() if rate in ends] for layers in best]
    proof("For the angle and the line with one layer the best lies at an end",
          where=at_an_end == [["angle", "line"], []])
    (ran,) = {long["lr"][s] for long in (recipe.LONG_ONE, recipe.LONG_TWO) for s in at_an_end[0]}
    proof(f"The angle and the line ran at {ran:g} with more steps")

    def lost(layers: str, score: str) -> str:
        """By how many nats the rate of the longer training is worse than the best, in the sweep."""
        means = sweep.ends[layers][score].mean(1)
        return f"{means[sweep.rates.index(ran)] - means.min():.2f}"

    two, one = best[PAIR], best[ALONE]
    proof(f"the rate of {two['line']:g} is better than it by {lost(PAIR, 'angle')} nats for the "
          f"angle and {lost(PAIR, 'line')} for the line, and after {ONE['steps']} with one layer "
          f"{one['line']:g} by {lost(ALONE, 'angle')} and {lost(ALONE, 'line')}",
          where=all(each["angle"] == each["line"] for each in (two, one)))
    worse = {}
    for kind, run in results.load("triple_product_longer_rate")["runs"].items():
        here, there = torch.tensor(run["loss"][-1]), torch.tensor(long[kind]["loss"][-1])
        worse[kind] = float((here - there[: len(here)]).mean())
    angle, wider = worse["angle"], worse[recipe.WIDER]
    proof(f"{COUNT[len(here)]} seeds at {recipe.OTHER_RATE:g} end higher, with the angle by "
          f"{angle:.3f} nats and with the wider dot product by {wider:.3f}",
          where=angle > wider > 0)


def forms(proof: Says) -> None:
    costs = evidence.costs()

    def paying(d: int) -> int:
        ours = torch.tensor(costs.of(d, "features", "seconds"))
        others = [costs.of(d, form, "seconds") for form in ("expanded", "projected", "stable")]
        return costs.lengths[int((ours >= torch.tensor(others)).any(0).nonzero().max()) + 1]

    share = costs.of(8, "features", "bytes")[-1] / costs.of(8, "expanded", "bytes")[-1]
    proof(
        f"with $d = 8$ they are the fastest of the exact forms from {paying(8)} positions on, with "
        f"$d = 16$ from {paying(16)} positions on",
        f"At {costs.lengths[-1]} positions and $d = 8$ they need {100 * share:.0f} % of the",
        "Quadratic features pay for long sequences and small heads",
        where=1 < costs.gain(16, "features") < costs.gain(8, "features"))
    proof("No form is as cheap as the dot product through the same", where=all(
        run["fused dot"]["seconds"] <= each["seconds"]
        for run in costs.runs.values() for form, each in run.items() if form != "dot"))
