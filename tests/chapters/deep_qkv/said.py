"""What the lesson's pages say of recordings, with what it rests on; see tests/pages/said.py."""

import copy

import torch

from attn_notes.analysis.claims import Claim
from attn_notes.analysis.statistics import Finding
from attn_notes.analysis.words import listed, number
from attn_notes.chapters.deep_qkv import claims, evidence, figures, measure, pull, recipe
from attn_notes.chapters.deep_qkv.claims import CHOICE, GATE, NAMES, NTH, THIRD
from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.tasks import sorting

from ... import exercises
from ...pages.said import COUNT, Reading, Says, Told

MACHINE = {"loop-cell": r"\d+\.\d+"}  # it trains, in a loop of its own

LIVE, CHOSEN, SWEEP, SOURCE = recipe.LIVE, recipe.CHOSEN, recipe.SWEEP, recipe.PUBLISHED
COUNTED = {16: "sixteen", 20: "twentieth", 30: "thirtieth", 32: "thirty-two"}
SEEDS = COUNTED[len(LIVE.seeds)]
ROWS = sorting.all_sequences()
OWN, PUBLISHED = evidence.on_record()
FOUND = evidence.finder()
BEST = evidence.trained(FOUND.variant)[FOUND.seed]


def every() -> list[Claim]:
    ranks = claims.rank_claims(evidence.recorded("rank_temperature"))
    return claims.every(evidence.on_record()) + ranks + claims.pull_claims(evidence.ways())


told = Told(every, OWN)
HELPS, CHOOSES = [told(GATE), told(THIRD)], [told(CHOICE)]
AS_PUBLISHED = [told(GATE, PUBLISHED), told(THIRD, PUBLISHED)]
BESIDE_PLAIN = [
    told(text, PUBLISHED) for text, (_, than) in claims.PAIRS["weights"].items() if than == "plain"
]
OF_LOSS = [*map(told, claims.PAIRS["loss"])]


def pulled(ours: str, theirs: str = pull.ALL_SIX) -> list[Finding]:
    """What both rates find of two ways of counting the two letters."""
    (text,) = (text for text, pair in claims.PULL.items() if pair == (ours, theirs))
    return [*told.claim(text).findings.values()]


def said(page: Reading) -> None:
    lesson, proof, teaching = map(page, ("deep_qkv", "evidence/deep_qkv", "teaching/deep_qkv"))
    for part in (settings, the_gate, the_loss, gradients, one_sorter, the_failed_one, all_sorters):
        part(lesson, proof)
    teaching("At its own rate for each the second picture appears", held=HELPS, untold=CHOOSES)
    teaching("At the published rate none can be told from plain", untold=BESIDE_PLAIN)
    teaching("Why does the loss change so much more than the weights?", held=OF_LOSS[:2])
    teaching("The race shows a gate that cannot learn, and cannot be told apart", untold=CHOOSES)
    code = exercises.cells(exercises.ROOT / "book" / "deep_qkv.ipynb")["model-cell"]
    teaching(f"Read the model's {len([*filter(None, code.splitlines())])} lines aloud")


def settings(lesson: Says, proof: Says) -> None:
    chosen, sweep, inputs = CHOSEN.seeds, SWEEP.seeds, recipe.SOLVED
    lesson(f"There are {LIVE.steps:,} steps; the rate rises over the first {LIVE.warmup}")
    lesson(f"Every step uses all {inputs} inputs", where=LIVE.batch is None)
    lesson(f"runs the same loop on {SEEDS} at once", f"Make all {SEEDS} plain sorters sort")
    lesson(f"by the {SEEDS} [live]", f"made; by {COUNTED[len(chosen)]} [recorded]")
    proof(f"{SWEEP.steps:,} steps at {COUNT[len(recipe.RATES)]} rates, from {COUNTED[len(sweep)]}")
    proof("seeds that no comparison uses", where=not {*sweep} & {*chosen})
    proof(f"{COUNTED[len(chosen)].capitalize()} other seeds of each kind")
    proof(f"on seeds {sweep[0]} to {sweep[-1]}, compared on {chosen[0]} to {chosen[-1]}")
    proof(f"live seeds are the first {SEEDS}", where=LIVE.seeds == chosen[: len(LIVE.seeds)])
    lower = SOURCE.lr < min(recipe.RATE.values())
    proof(f"batches of {SOURCE.batch}, at a lower rate, for {SOURCE.steps:,} steps", where=lower)
    proof(f"Here are {len(SOURCE.seeds)} seeds", f"A batch of {SOURCE.batch} from {inputs} inputs")
    proof("for about a fifth of the work", where=round(SOURCE.batch / inputs) == 5)
    rise, published = (COUNTED[each.steps // each.warmup] for each in (LIVE, SOURCE))
    proof(f"the rate rises over the first {rise} of the steps (published: {published})")
    size = {k: sum(p.numel() for p in evidence.trained(k)[0].parameters()) for k in VARIANTS}
    gated, strict, plain = (size[kind] for kind in ("gated", "strict", "plain"))
    proof(f"A gated sorter has {gated} weights, a strict one {strict}, a plain one {plain}")
    lesson(f"It has {gated} weights, {plain} without its new part")
    lesson(f"this {FOUND.variant} sorter's {size[FOUND.variant]} weights; a gated one has {gated}")


def the_gate(lesson: Says, proof: Says) -> None:
    gate = Sorter(Config("gated"), torch.Generator().manual_seed(0)).block.attention.q.gate()
    even = bool((gate - 1 / 3).abs().max() < 1 / 6)
    lesson("Untrained, the gate does not choose: it divides by three", where=even)
    lesson("At its own rate the gate helps, and so does its control", held=HELPS)
    lesson("as published, neither can be told", untold=AS_PUBLISHED)
    old, new = (line.get_ydata().mean() for line in figures.emblem().fig.axes[0].lines)
    assert old > new  # as its alternative text says, on the first page
    lesson("## The control does as well", "At its own rate the gate helps.", held=HELPS)
    lesson("nothing shows that the gate does more than divide", untold=CHOOSES)
    lesson("Nothing shows that it was the new part", untold=[*CHOOSES, *AS_PUBLISHED])
    lesson("nothing shows that the gate helps at all", untold=AS_PUBLISHED)
    lesson("neither gated weights nor divided ones can be told from plain", untold=AS_PUBLISHED)
    lesson("plain ones divided by three did as well", held=HELPS, untold=CHOOSES)
    lesson("neither could be told from plain", untold=AS_PUBLISHED)
    sweep, own = evidence.sweep(), evidence.recorded("chosen")
    best = {kind: evidence.best_rate(sweep[kind]) for kind in recipe.KINDS}
    proof("Its own rate is the one with the smallest mean step", where=best == recipe.RATE)
    inside = {*best.values()} <= {*recipe.RATES[1:-1]}
    proof("Every kind has its best rate inside the sweep", where=inside)
    sooner = {r: sweep["gated"][r].delay < sweep["plain"][r].delay for r in recipe.RATES}
    ahead, behind = (listed([f"{r:g}" for r in sooner if sooner[r] == b]) for b in (True, False))
    proof(f"gated is ahead of plain at {ahead} and behind at {behind}, by the mean step")
    gated, plain = (sweep[kind][recipe.RATE[kind]] for kind in ("gated", "plain"))
    means = [f"{each.delay:.1f}" for each in (gated, plain)]
    lesson(f"gated gains nothing ({' against '.join(means)}", where=gated.delay >= plain.delay)
    proof(f"{means[0]} for gated (at {best['gated']:g}) and {means[1]} for plain")
    medians = f"plain (at {best['plain']:g}), and the median seeds' {gated.median:.0f} and"
    proof(f"{medians} {plain.median:.0f}", where=gated.median < plain.median)
    lost = {NAMES[k]: len(own[k].arrivals) - own[k].arrived for k in VARIANTS}
    never = [f"{lost[k]} {k}" for k in sorted(lost, key=lambda k: -lost[k]) if lost[k]]
    proof(f"Of {len(CHOSEN.seeds)} seeds each, {listed(never)} never converge")


def the_loss(lesson: Says, proof: Says) -> None:
    own = evidence.recorded("chosen")
    lesson(f"a mean loss below $2 \\ln 3 / 6 = {sorting.FLOOR:.4f}$")
    costly = COUNT[int((sorting.entropies(ROWS) > 1e-6).sum())].capitalize()
    lesson(f"{costly} of the six predictions cost something, whoever makes them")
    first = [claims.before(own["plain, knowable"], own[kind]) for kind in claims.LESSON[:3]]
    lesson("out of the loss the plain sorter is before all three others", held=first)
    lesson("What is asked decides more than how the weights are made", held=OF_LOSS)
    lesson("out of the loss helped more than either", held=OF_LOSS)
    proof("out of the loss both kinds of weights converge sooner", held=OF_LOSS)
    counts = [told(text, PUBLISHED) for text in [*claims.PAIRS["loss"]][-2:]]
    proof("can be told from plain; what the loss counts can", untold=BESIDE_PLAIN, held=counts)
    none, harm, repeat = pulled(pull.YIELDING), pulled(pull.OUT, pull.YIELDING), pulled(pull.REPEAT)
    lesson("Taking the pull of the two letters out shows no help", untold=none)
    lesson("asking to repeat a letter does", "does no such harm", held=repeat)
    lesson("the sorters cannot be told from those that have it", untold=none)
    lesson("they are later than those without the two letters", held=harm)
    proof("Taking the pull out does not show any help, at either rate", untold=none)
    proof("sorters without the two letters are sooner than those without", held=harm)
    proof("Nor does it do harm to ask for two predictions that repeat a letter", held=repeat)
    tenth, share = pulled(pull.TENTH), pull.WAYS[pull.TENTH].share
    proof("a tenth of their weight cannot be told from all of it", untold=tenth, where=share == 0.1)
    proof("to ask for an a lies between, and cannot be told", untold=pulled(pull.CONSTANT))
    until = pull.WAYS[pull.EARLY].until
    proof(f"in the first {until} steps only, while the sorters learn", held=pulled(pull.EARLY))


def gradients(lesson: Says, proof: Says) -> None:
    along, (two, *others) = evidence.along(), pull.PAIRS
    early, late = along.middle(two, 0, 20), along.middle(two, 30, 100)
    rest = [along.middle(pair, 30, 100) for pair in others]
    lesson("From step 30 on or so the gradient of the two letters points", where=early > 0 > late)
    proof("and so do any two of the six", where=max(*rest, late) < -0.1)
    tenth = bool(along.steps.diff().eq(10).all())
    proof("the gradients of all six were taken at every tenth step", where=tenth)
    proof(f"the lesson's {COUNTED[along.cosines().shape[1]]} plain sorters")
    proof(f"In the first 20 steps the two parts agree, with a median cosine of {early:.2f}")
    here = (along.steps >= 30) & (along.steps <= 100)
    below = 100 * float((along.cosines()[here] < 0).float().mean())
    proof(f"from step 30 to 100 it is {number(late, 2)}, and in {below:.0f} % of seeds and probes")
    ends = f"{number(min(rest), 2)} to {number(max(rest), 2)}"
    proof(f"For the other {len(others)} ways", f"the median cosine of steps 30 to 100 is {ends}")
    during = (along.steps[1:] > 100) & (along.steps[1:] <= 200)
    most, *less = (100 * along.opposed[during].mean(0)).tolist()
    proof(f"{most:.0f} % of the steps help one part and hurt the other", where=most > max(less))
    proof(f"of the other splits {min(less):.0f} to {max(less):.0f} %")
    noise = along.noise[-1].median(0).values.tolist()
    off = f"{noise[0]:.2f} in the two letters and by {noise[1]:.2f} in the other"
    proof(off, where=noise[0] > 5 * noise[1])


def one_sorter(lesson: Says, proof: Says) -> None:
    words, blind = [sorting.decode(row) for row in ROWS[:, :3].tolist()], copy.deepcopy(BEST)
    with torch.no_grad():
        blind.position.weight.zero_()
    answers = {word: blind.sort(word) for word in words}
    right = [word for word, answer in answers.items() if answer == "".join(sorted(word))]
    falls = f"falls from {int(sorting.probe(BEST)['solved'])} to {len(right)}"
    lesson(f"position embedding of {FOUND.variant}, seed {FOUND.seed}: the score {falls}")
    lesson(f"Why can it still sort {COUNT[len(right)]} words?")
    always = f"With no places it writes `{answers['abc']}`, whatever it reads"
    lesson(always, where=len({*answers.values()}) == 1)
    lesson(f"right for {listed([f'`{word}`' for word in right])}")
    letter = measure.attention_by_letter(BEST)[FOUND.head, 0]
    place = measure.attention_by_place(BEST)[FOUND.head, 0].max()
    which = sorting.LETTERS[int(letter.argmax())]
    proof(f"head {FOUND.head + 1} gives the {which}'s of a word {letter.max():.2f} of its")
    proof(f"and no place of the word more than {place:.2f}")
    goes = f"So it goes by the letter, {which}, and not by the place"
    proof(goes, where=bool(letter.max() > 2 * place))
    least = int(measure.attention_on_written_letter(BEST).amax(0).argmin())
    proof("of this sorter the map explains it least", where=NTH[least] == "2nd")


def the_failed_one(_: Says, proof: Says) -> None:
    variant, seed, score = evidence.worst()
    model = evidence.trained(variant)[seed]
    proof(f"The worst recorded sorter is {NAMES[variant]}, seed {seed}: it sorts {score} of 27")
    proof(f"some written letter moves by less than {evidence.BLIND:g} when some letter")
    blind = [
        (int(sorts), bool((measure.sensitivity(each) < evidence.BLIND).any()))
        for kind in VARIANTS
        for each, sorts in zip(evidence.trained(kind), evidence.scores(kind), strict=True)
    ]
    few, some, most = ([b for n, b in blind if n in r] for r in (range(24), range(24, 27), [27]))
    rest = f"{sum(some)} of the {len(some)} that sorts 24 to 26 and {sum(most)} of the {len(most)}"
    proof(f"Blind are {sum(few)} of the {len(few)} that sort fewer than 24 inputs, {rest}")
    proof(f"The first eight of its {COUNT[len(measure.mistakes(model))]} mistakes")
    moved = measure.sensitivity(model)
    i = int(moved.amin(1).argmin())
    unread = " nor the ".join(NTH[j] for j in range(3) if moved[i, j] < evidence.BLIND)
    proof(f"It writes its {NTH[i]} letter as if it had read neither the {unread}")
    share = measure.attention_on_letters(model)[:, :, i].mean(0)  # [heads, places]
    at = [f"the {NTH[j]} letter {share[0, j]:.2f} and {share[1, j]:.2f}" for j in (0, 2)]
    proof(f"When it writes its {NTH[i]} letter, its two heads give {listed(at)}")


def all_sorters(lesson: Says, proof: Says) -> None:
    reads, own = evidence.reads(), evidence.recorded("chosen")
    lesson(f"Of {reads.all} recorded ones that sort everything, {reads.letter} have a head")
    lesson("The others read places, or nothing that an arc shows", where=min(reads) > 0)
    proof(f"Of the {reads.all} recorded sorters that sort everything, {reads.letter} write")
    proof(f"{reads.place} with one that has as much on a place, and {reads.neither} with neither")
    score = {kind: evidence.scores(kind).tolist() for kind in VARIANTS}
    same = all(score[kind] == own[kind].solved[: recipe.KEPT].tolist() for kind in score)
    proof("at which it sorts all 27 inputs and never again fewer", where=same)
    most = max(float(own[kind].curves[-1, 1]) for kind in VARIANTS) - sorting.FLOOR
    proof(f"The median seed of every kind ends within {most:.3f} nats of the floor")
    above = own["gated"].last_losses.median(0).values - sorting.entropies(ROWS)
    proof(f"At the end no prediction is more than {above.max():.3f} nats above its floor")
    trained = {variant: evidence.trained(variant) for variant in ("gated", "strict")}
    largest = min(figures.gate_rows(each).amax(-1).median() for each in trained.values())
    proof("Trained gates choose", "So gates learn to choose", where=bool(largest > 0.5))
    proof("the control answers it: divided by three cannot choose", untold=CHOOSES)
    sums = [measure.projection_sums(models[0]) for models in trained.values()]
    gated, strict = (float((each[0, 0] - each[1, 1]).abs().max()) for each in sums)
    loses = "Strict loses one direction of each head, gated loses none"
    proof(loses, where=strict < 1e-3 < 1 < gated)
    proof("It sorts all the same", held=[told("Strict, without a base, has it too")])
    cells, heats = evidence.recorded("rank_temperature"), len(recipe.TEMPERATURES)
    proof(f"The {heats * len(LIVE.seeds)} runs of a rank are {SEEDS} seeds at {COUNT[heats]}")
    one, three = (
        torch.cat([c.solved == recipe.SOLVED for name, c in cells.items() if f" {rank} " in name])
        for rank in (1, 3)
    )
    shares = [100 * float(solved.float().mean()) for solved in (one, three)]
    proof(f"Of all runs of rank 1 {shares[0]:.0f} % sort everything, of rank 3 {shares[1]:.0f} %")
    exact = float(sorting.entropies(ROWS, sorting.proportions).mean())
    crowds = evidence.recorded("positions").values()
    seeds, arrived = sum(len(c.arrivals) for c in crowds), sum(c.arrived for c in crowds)
    proof(f"Of {seeds} seeds {arrived} sort all 27 inputs without positions")
    gap = min(float(c.last_losses.mean(-1).min()) for c in crowds) - exact
    proof(f"the best ends {gap:.4f} nats above the least possible, {exact:.4f}")
    both = (figures.untrained("gated"), evidence.trained("gated"))
    before, after = (sum(map(trace_differs, models)) / len(models) for models in both)
    proof(f"on {before:.1f} of 27 inputs on average before training, on {after:.1f} after")


def trace_differs(model: Sorter) -> int:
    """On how many inputs the published trace, which allows the separator, writes another letter."""
    honest, published = (measure.greedy_choices(model, forbid_sep=f) for f in (True, False))
    return int((honest != published).any(1).sum())
