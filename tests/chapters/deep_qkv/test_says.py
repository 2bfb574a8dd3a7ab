"""What the chapter's pages say of recordings, with what it rests on; see tests/says.py."""

import copy
import math
import re
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from attn_notes.analysis.claims import Claim
from attn_notes.analysis.statistics import Finding
from attn_notes.analysis.words import listed
from attn_notes.chapters.deep_qkv import claims, evidence, figures, measure, pull, recipe
from attn_notes.chapters.deep_qkv.claims import CHOICE, GATE, LOSS, LOSS_OF_GATED, NTH, THIRD
from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.tasks import sorting

from ... import exercises
from ...says import COUNT, Page, Told, titled

LESSON, EVIDENCE = Page("deep_qkv"), Page("evidence/deep_qkv")
TEACHING = Page("teaching/deep_qkv")
OWN, PUBLISHED = evidence.on_record()
PLAIN = recipe.RATE["plain"]


def every() -> list[Claim]:
    found = claims.every(evidence.on_record())
    found += claims.rank_claims(evidence.recorded("rank_temperature"))
    return found + claims.pull_claims(evidence.ways())


told = Told(every, OWN)
"""What a body of evidence finds of a claim, corrected."""


def pulled(ours: str, theirs: str) -> list[Finding]:
    """What both rates find of two ways of counting the two letters."""
    (text,) = (text for text, pair in claims.PULL.items() if pair == (ours, theirs))
    return [*told.claim(text).findings.values()]


OF_WEIGHTS = [text for text, (_, theirs) in claims.PAIRS["weights"].items() if theirs == "plain"]
ANSWER = "Loss on the answer only converges before all six, "
FOUND = evidence.finder()
BEST = evidence.trained(FOUND.variant)[FOUND.seed]


# Play


def test_without_places_it_is_right_by_luck() -> None:
    blind = copy.deepcopy(BEST)
    with torch.no_grad():
        blind.position.weight.zero_()
    answers = {word: blind.sort(word) for word in words()}
    right = [word for word, answer in answers.items() if answer == "".join(sorted(word))]
    (always,) = set(answers.values())
    LESSON.says(
        f"Press “zero all” at the position embedding of {FOUND.variant}, seed {FOUND.seed}: "
        f"the score falls from {int(sorting.probe(BEST)['solved'])} to {len(right)}. "
        f"Why can it still sort {COUNT[len(right)]} words?",
        f"With no places it writes `{always}`, whatever it reads: right for "
        f"{listed([f'`{word}`' for word in right])}",
    )


def words() -> list[str]:
    return [sorting.decode(row) for row in sorting.all_sequences()[:, :3].tolist()]


def test_what_arcs_show() -> None:
    reads = evidence.reads()
    LESSON.says(
        f"Of {reads.all} recorded ones that sort everything, {reads.letter} have a head that "
        "looks for the letter to be written first. The others read places, or nothing that an arc "
        "shows.",
        where=min(reads) > 0,
    )
    EVIDENCE.says(
        f"Of the {reads.all} recorded sorters that sort everything, {reads.letter} write the first "
        "letter with a head that has more than half of its attention on that letter, "
        f"{reads.place} with one that has as much on a place, and {reads.neither} with neither."
    )


# The idea


def test_the_untrained_gate_divides_by_three() -> None:
    weight = Sorter(Config("gated"), torch.Generator().manual_seed(0)).block.attention.q
    titled(
        figures.weight_parts(weight),
        "Untrained, the gate does not choose: it divides by three",
        where=bool((weight.gate() - 1 / 3).abs().max() < 1 / 6),
    )


def test_the_blackboards_share() -> None:
    """e to 3/√2 beside e to −1/√2 and e to −2/√2."""
    powers = [math.exp(x / math.sqrt(2)) for x in (-1, 3, -2)]
    share = powers[1] / sum(powers)
    LESSON.says(f"The scores are −1, 3 and −2: the `a` gets a share of {share:.2f}, so the mixture")


@pytest.mark.parametrize(("letter", "query"), [("a", ""), ("b", "-2.0, -2.0"), ("c", "-1.0, 3.0")])
def test_the_blackboards_query_finds_what_it_asks_for(letter: str, query: str) -> None:
    """The mixture is near its value, and far from every other and from their mean."""
    cell = exercises.cells(LESSON.path)["blackboard"]
    code, asked = cell, re.findall(r"\[([-0-9., ]+)\]", cell.partition("query")[2])
    assert letter != "b" or query == asked[1]  # the page names this one
    scope: dict[str, Any] = {"torch": torch}
    exec(code.replace(asked[0], query) if query else code, scope)
    values = torch.tensor(scope["values"])
    near = (values - scope["mixture"]).norm(dim=1)
    even = (values.mean(0) - scope["mixture"]).norm()
    at = "cab".index(letter)
    assert near.argmin() == at and scope["scores"].argmax() == at
    assert near[at] < min(0.2 * even, *(0.2 * near[i] for i in range(3) if i != at))


def test_the_heart_in_numbers() -> None:
    """One step of AdamW at plain's rate, whatever the gradient: of base, and so of W."""
    moved = []
    for gradient in (1e-3, 10.0):
        base = torch.nn.Parameter(torch.tensor([0.30]))
        base.grad = torch.tensor([-gradient])
        torch.optim.AdamW([base], lr=recipe.RATE["plain"], weight_decay=0).step()
        moved.append(float(base.detach()))
    assert abs(moved[0] - moved[1]) < 1e-4
    LESSON.says(
        f"at a rate of {recipe.RATE['plain']:g} a base of 0.30 becomes {moved[0]:.2f}, and with it "
        f"a plain $W$; divided by three, $W$ goes from 0.100 to {moved[0] / 3:.3f}."
    )


def test_the_floor() -> None:
    entropies = sorting.entropies(sorting.all_sequences())
    costly = int((entropies > 1e-6).sum())
    LESSON.says(f"a mean loss below $2 \\ln 3 / 6 = {sorting.FLOOR:.4f}$")
    titled(
        figures.floor_bars(),
        f"{COUNT[costly].capitalize()} of the six predictions cost something, whoever makes them",
    )


# What came out


def test_what_the_gate_does() -> None:
    helps, not_told = [told(GATE), told(THIRD)], [told(CHOICE)]
    published = [told(text, PUBLISHED) for text in (GATE, THIRD)]
    titled(
        figures.gate_effects(evidence.on_record()),
        "At its own rate the gate helps, and so does its control; as published, neither can be "
        "told",
        held=helps,
        untold=published,
    )
    LESSON.says(
        "## The control does as well",
        "At its own rate the gate helps. But weights that are only divided by three, which cannot "
        "choose anything, do as well.",
        "So nothing shows that the gate does more than divide.",
        held=helps,
        untold=not_told,
    )
    LESSON.says("Nothing shows that it was the new part.", untold=[*not_told, *published])
    LESSON.says(
        "at the published settings nothing shows that the gate helps at all",
        "neither gated weights nor divided ones can be told from plain.",
        untold=published,
    )


def ahead() -> tuple[str, str]:
    """The rates at which gated is ahead of plain by the mean step, and where it is behind."""
    gated, plain = (evidence.sweep()[kind] for kind in ("gated", "plain"))
    signs = {rate: gated[rate].delay < plain[rate].delay for rate in recipe.RATES}
    first, last = (listed([f"{r:g}" for r, s in signs.items() if s == told]) for told in (1, 0))
    return first, last


def test_who_compares_at_one_rate_compares_rates() -> None:
    first, last = ahead()
    best = {kind: evidence.sweep()[kind][recipe.RATE[kind]] for kind in ("gated", "plain")}
    gated, plain = best["gated"], best["plain"]
    EVIDENCE.says(f"gated is ahead of plain at {first} and behind at {last}, by the mean step")
    LESSON.says(
        f"by the mean step gated gains nothing ({gated.delay:.1f} against {plain.delay:.1f}, "
        "of the sixteen seeds that chose the rates).",
        where=gated.delay >= plain.delay and len(gated.arrivals) == len(plain.arrivals) == 16,
    )
    EVIDENCE.says(
        f"the mean steps are {gated.delay:.1f} for gated (at {recipe.RATE['gated']:g}) and "
        f"{plain.delay:.1f} for plain (at {recipe.RATE['plain']:g}), and the median seeds' "
        f"{gated.median:.0f} and {plain.median:.0f}.",
        where=gated.delay >= plain.delay and gated.median < plain.median,
    )


def test_what_the_loss_does() -> None:
    own = evidence.recorded("chosen")
    before = [claims.before(own["plain, knowable"], own[kind]) for kind in claims.LESSON[:3]]
    held = [told(text) for text in claims.PAIRS["loss"]]
    titled(
        figures.loss_effects(evidence.on_record()),
        "With two letters out of the loss the plain sorter is before all three others",
        held=before + held,
    )
    LESSON.says("What is asked decides more than how the weights are made", held=held)


# Why: the pull of the two letters


def test_taking_the_pull_out_does_not_help() -> None:
    no_help = pulled(pull.YIELDING, pull.ALL_SIX)
    harm = pulled(pull.OUT, pull.YIELDING)
    harmless = pulled(pull.REPEAT, pull.ALL_SIX)
    titled(
        figures.pulled(evidence.ways()[PLAIN]),
        "Taking the pull of the two letters out shows no help; asking to repeat a letter does",
        untold=no_help,
        held=[*harm, *harmless],
    )
    LESSON.says(
        "Without the pull the sorters cannot be told from those that have it, and they are later "
        "than those without the two letters.",
        untold=no_help,
        held=harm,
    )
    LESSON.says("to repeat the letter just read does no such harm.", held=harmless)
    EVIDENCE.says("Taking the pull out does not show any help, at either rate", untold=no_help)
    EVIDENCE.says("sorters without the two letters are sooner than those without", held=harm)
    EVIDENCE.says(
        "a tenth of their weight cannot be told from all of it.",
        untold=pulled(pull.TENTH, pull.ALL_SIX),
    )
    EVIDENCE.says(
        "Nor does it do harm to ask for two predictions that repeat a letter", held=harmless
    )
    EVIDENCE.says(
        "counted in the first 50 steps only, while the sorters learn that the two are even, they "
        "do less.",
        held=pulled(pull.EARLY, pull.ALL_SIX),
    )
    assert pull.WAYS[pull.EARLY].until == 50 and pull.WAYS[pull.TENTH].share == 0.1


def test_how_the_gradients_stand() -> None:
    along, (two, *others) = evidence.along(), pull.PAIRS
    rest = [along.middle(pair, 30, 100) for pair in others]
    here = (along.steps >= 30) & (along.steps <= 100)
    below = 100 * float((along.cosines()[here] < 0).float().mean())
    titled(
        figures.pulling(along),
        "The two letters pull against the other four, and so do any two of the six",
        where=max(rest) < -0.1 and along.middle(two, 30, 100) < -0.1,
    )
    LESSON.says(
        "From step 30 on or so the gradient of the two letters points against that of the other",
        where=along.middle(two, 0, 20) > 0 > along.middle(two, 30, 100),
    )
    (stride,) = set(along.steps.diff().tolist())
    EVIDENCE.says(
        "Along the training of the lesson's sixteen plain sorters the gradients of all six were "
        "taken at every tenth step, over all 27 inputs",
        where=stride == 10 and along.cosines().shape[1] == 16 and recipe.SOLVED == 27,
    )
    EVIDENCE.says(
        f"In the first 20 steps the two parts agree, with a median cosine of "
        f"{along.middle(two, 0, 20):.2f}",
        f"from step 30 to 100 it is {minus(along.middle(two, 30, 100))}, and in {below:.0f} % of "
        "seeds and probes below zero",
        "For the other 14 ways to split six predictions into two and four the median cosine of "
        f"steps 30 to 100 is {minus(min(rest))} to {minus(max(rest))}",
    )
    during = (along.steps[1:] > 100) & (along.steps[1:] <= 200)
    most, *less = (100 * along.opposed[during].mean(0)).tolist()
    EVIDENCE.says(
        f"{most:.0f} % of the steps help one part and hurt the other, of the other splits "
        f"{min(less):.0f} to {max(less):.0f} %",
        where=most > max(less),
    )


def minus(value: float) -> str:
    """A cosine below zero as the page prints it."""
    return f"−{-value:.2f}"


def test_the_noise_of_what_nobody_can_know() -> None:
    two, four = evidence.along().noise[-1].median(0).values.tolist()
    EVIDENCE.says(
        f"at the end of training one input's gradient is off the mean by {two:.2f} in the two "
        f"letters and by {four:.2f} in the other four",
        where=two > 5 * four,
    )


# To retell


def test_what_is_retold() -> None:
    LESSON.says(
        "A new kind of weights learned to sort sooner than plain ones, each at its own learning "
        "rate; plain ones divided by three did as well",
        held=[told(GATE), told(THIRD)],
        untold=[told(CHOICE)],
    )
    LESSON.says(
        "at the published settings neither could be told from plain.",
        untold=[told(GATE, PUBLISHED), told(THIRD, PUBLISHED)],
    )
    LESSON.says(
        "To leave two letters that nobody can know out of the loss helped more than either.",
        held=[told(LOSS), told(LOSS.replace("gated", "divided by three"))],
    )


# The evidence


def test_titles_of_the_races() -> None:
    own, published = evidence.recorded("chosen"), evidence.recorded("published")
    five = {kind: own[kind] for kind in figures.kinds_of("all")}
    lost = {kind: len(here.arrivals) - here.arrived for kind, here in five.items()}
    never = sorted((kind for kind in five if lost[kind]), key=lambda kind: -lost[kind])
    titled(
        figures.race(five, figures.OWN_RATE),
        f"Of {len(recipe.CHOSEN.seeds)} seeds each, "
        + listed([f"{lost[kind]} {claims.NAMES[kind]}" for kind in never])
        + " never converge; of the other kinds all do",
    )
    titled(
        figures.race(own, figures.PARTS),
        "With two letters out of the loss both kinds of weights converge sooner",
        held=[told(LOSS_OF_GATED), told(LOSS_OF_GATED.replace("gated", "plain"))],
    )
    titled(
        figures.race(published, figures.AS_PUBLISHED),
        "As published, no way to make the weights can be told from plain; what the loss counts can",
        untold=[told(text, PUBLISHED) for text in OF_WEIGHTS],
        held=[told(text, PUBLISHED) for text in (LOSS_OF_GATED, f"{ANSWER}gated")],
    )


def test_titles_of_sweep_and_losses() -> None:
    sweep, own = evidence.sweep(), evidence.recorded("chosen")
    inside = {*recipe.RATES[1:-1]}
    title = "Every kind has its best rate inside the sweep"
    for kinds in (figures.kinds_of("all"), figures.kinds_of("knowable", "answer")):
        here = all(evidence.best_rate(sweep[kind]) in inside for kind in kinds)
        titled(figures.rates(sweep, kinds), title, where=here)
    five = {kind: own[kind] for kind in figures.kinds_of("all")}
    most = max(float(here.curves[-1, 1]) - sorting.FLOOR for here in five.values())
    titled(
        figures.loss_curves(five),
        f"The median seed of every kind ends within {most:.3f} nats of the floor",
    )
    left = own["gated"].last_losses.median(0).values - sorting.entropies(sorting.all_sequences())
    titled(
        figures.prediction_losses(own["gated"]),
        f"At the end no prediction is more than {float(left.max()):.3f} nats above its floor",
    )


def test_titles_of_gates_and_ranks() -> None:
    trained = {variant: evidence.trained(variant) for variant in ("gated", "strict")}
    largest = [figures.gate_rows(each).amax(-1).median() for each in trained.values()]
    titled(figures.simplex(trained), "Trained gates choose", where=min(largest) > 0.5)
    EVIDENCE.says(
        "So gates learn to choose. Whether that helps is another question, and the control "
        "answers it: divided by three cannot choose.",
        untold=[told(CHOICE)],
        where=min(largest) > 0.5,
    )
    cells = evidence.recorded("rank_temperature")
    seeds, temperatures = {len(c.arrivals) for c in cells.values()}, len(recipe.TEMPERATURES)
    assert len(cells) == 2 * len(recipe.RANKS) * temperatures
    EVIDENCE.says(
        f"The {temperatures * max(seeds)} runs of a rank are sixteen seeds at "
        f"{COUNT[temperatures]} temperatures, no more than sixteen independent things",
        where=seeds == {16},
    )
    of_rank = {
        rank: torch.cat([c.solved == recipe.SOLVED for n, c in cells.items() if f" {rank} " in n])
        for rank in (1, 3)
    }
    share = {rank: 100 * float(solved.float().mean()) for rank, solved in of_rank.items()}
    titled(
        figures.rank_temperature(cells),
        f"Of all runs of rank 1 {share[1]:.0f} % sort everything, of rank 3 {share[3]:.0f} %",
    )
    both = {f"{v}, seed 0": trained[v][0] for v in ("gated", "strict")}
    sums = {name: measure.projection_sums(model) for name, model in both.items()}
    off = [float((each[0, 0] - each[1, 1]).abs().max()) for each in sums.values()]
    titled(
        figures.strict_sums(both),
        "Strict loses one direction of each head, gated loses none",
        where=off[1] < 1e-3 < 1 < off[0],
    )
    EVIDENCE.says("It sorts all the same.", held=[told("Strict, without a base, has it too")])


def test_what_a_head_goes_by() -> None:
    letters, places = measure.attention_by_letter(BEST), measure.attention_by_place(BEST)
    letter, place = letters[FOUND.head, 0], places[FOUND.head, 0]
    which = sorting.LETTERS[int(letter.argmax())]
    EVIDENCE.says(
        f"When the first letter is written, head {FOUND.head + 1} gives the {which}'s of a word "
        f"{float(letter.max()):.2f} of its attention, and no place of the word more than "
        f"{float(place.max()):.2f}. So it goes by the letter, {which}, and not by the place.",
        where=bool(letter.max() > 2 * place.max()),
    )
    EVIDENCE.says(
        "of this sorter the map explains it least",
        where=int(measure.attention_on_written_letter(BEST).amax(0).argmin()) == 1,
    )


def blind(sorted_: Sequence[int]) -> tuple[int, int]:
    """Of the recorded sorters that sort so many inputs: how many are blind, of how many."""
    found = [
        bool((measure.sensitivity(model) < evidence.BLIND).any())
        for variant in VARIANTS
        for model, score in zip(evidence.trained(variant), evidence.scores(variant), strict=True)
        if int(score) in sorted_
    ]
    return sum(found), len(found)


def test_the_failed_seed() -> None:
    failed = evidence.worst()
    model = evidence.trained(failed.variant)[failed.seed]
    (few, of_few), (some, of_some), (all_, of_all) = map(blind, (range(24), range(24, 27), [27]))
    EVIDENCE.says(
        f"The worst recorded sorter is {claims.NAMES[failed.variant]}, seed {failed.seed}: it "
        f"sorts {failed.score} of 27. Call a sorter blind if some written letter moves by less "
        f"than {evidence.BLIND:g} when some letter of the word is replaced. Blind are {few} of the "
        f"{of_few} that sort fewer than 24 inputs, {some} of the {of_some} that sorts 24 to 26 and "
        f"{all_} of the {of_all} that sort all 27.",
        where=of_few + of_some + of_all == len(VARIANTS) * recipe.KEPT,
    )
    moved = measure.sensitivity(model)
    i, j = divmod(int(moved.argmin()), 3)
    share = measure.attention_on_letters(model)[:, :, i].mean(0)  # [heads, places]
    top = int(share.sum(0).argmax())
    at = [f"the {NTH[p]} letter {share[0, p]:.2f} and {share[1, p]:.2f}" for p in (j, top)]
    EVIDENCE.says(
        f"When it writes its {NTH[i]} letter, its two heads give {at[0]} and {at[1]} of their "
        "attention, averaged over the 27 words."
    )
    titled(
        figures.sensitivities({"failed": model}),
        f"It writes its {NTH[i]} letter as if it had not read the {NTH[j]}",
        where=bool(moved.min() < evidence.BLIND),
    )


def test_without_positions() -> None:
    exact = float(sorting.entropies(sorting.all_sequences(), sorting.proportions).mean())
    crowds = evidence.recorded("positions").values()
    gap = min(float(c.last_losses.mean(-1).min()) for c in crowds) - exact
    EVIDENCE.says(
        f"Of {sum(len(c.arrivals) for c in crowds)} seeds {sum(c.arrived for c in crowds)} sort "
        f"all 27 inputs without positions, and the best ends {gap:.4f} nats above the least "
        f"possible, {exact:.4f}."
    )


def test_what_was_trained() -> None:
    gated, strict, plain = (
        sum(p.numel() for p in Sorter(Config(variant), torch.Generator()).parameters())
        for variant in ("gated", "strict", "plain")
    )
    sweep, chosen = recipe.SWEEP.seeds, recipe.CHOSEN.seeds
    EVIDENCE.says(
        f"A gated sorter has {gated} weights, a strict one {strict}, a plain one {plain}",
        f"chosen on seeds {sweep[0]} to {sweep[-1]}, compared on {chosen[0]} to {chosen[-1]}. The "
        "lesson's live seeds are the first sixteen of those",
        where=recipe.LIVE.seeds == chosen[:16],
    )
    LESSON.says(f"It has {gated} weights, {plain} without its new part")


def test_a_batch_repeats_its_inputs() -> None:
    inputs = len(sorting.all_sequences())
    EVIDENCE.says(
        f"A batch of {recipe.PUBLISHED.batch} from {inputs} inputs repeats most of them",
        "which gives the same gradient for about a fifth of the work",
        where=round(recipe.PUBLISHED.batch / inputs) == 5,
    )


def trace_differs(model: Sorter) -> Tensor:
    """On how many inputs the published trace, which allows the separator, writes another letter."""
    honest, published = (measure.greedy_choices(model, forbid_sep=f) for f in (True, False))
    return (honest != published).any(1).sum()


def test_the_published_trace() -> None:
    before, after = (
        torch.stack([trace_differs(model) for model in models]).float().mean()
        for models in (figures.untrained("gated"), evidence.trained("gated"))
    )
    EVIDENCE.says(f"on {before:.1f} of 27 inputs on average before training, on {after:.1f} after.")


# The teaching page


def test_what_a_teacher_is_told() -> None:
    TEACHING.says(
        "At its own rate for each the second picture appears.",
        held=[told(GATE), told(THIRD)],
        untold=[told(CHOICE)],
    )
    TEACHING.says(
        "At the published rate none can be told from plain.",
        untold=[told(text, PUBLISHED) for text in OF_WEIGHTS],
    )
    TEACHING.says(
        "Why does the loss change so much more than the weights?",
        held=[told(LOSS), told(LOSS.replace("gated", "divided by three"))],
    )
    TEACHING.says(
        "The race shows a gate that cannot learn, and cannot be told apart.", untold=[told(CHOICE)]
    )
