"""What the lesson's pages say of recordings, with what it rests on; see tests/pages/said.py."""

import copy

import torch

from attn_notes.models.deep_qkv import VARIANTS, Sorter
from attn_notes.tasks import sorting
from book.kit.claims import Claim
from book.kit.verdicts import Finding
from book.kit.words import listed, number
from book.lessons.deep_qkv import claims, evidence, figures, measure, pull, recipe
from book.lessons.deep_qkv.claims import CHOICE, GATE, THIRD
from book.lessons.deep_qkv.editable import cells
from book.lessons.deep_qkv.evidence import NAMES, NTH
from tests.pages.said import COUNT, Reading, Says, Told

LIVE, CHOSEN, SWEEP, SOURCE = recipe.LIVE, recipe.CHOSEN, recipe.SWEEP, recipe.PUBLISHED
COUNTED = {16: "sixteen", 20: "twentieth", 30: "thirtieth", 32: "thirty-two"}
SEEDS = COUNTED[len(LIVE.seeds)]
ROWS = sorting.all_sequences()
OWN, PUBLISHED = evidence.on_record()
OWN_CROWDS = evidence.recorded("chosen")
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
    lesson, proof, teaching = map(page, ("deep_qkv", "deep_qkv_evidence", "teaching"))
    for part in (settings, the_gate, the_race, the_loss, gradients, one_sorter, all_sorters):
        part(lesson, proof)
    the_failed_one(proof)
    teaching("At its own rate for each the second picture appears", held=HELPS, untold=CHOOSES)
    teaching("At the published rate none can be told from plain", untold=BESIDE_PLAIN)
    teaching("Why does the loss change so much more than the weights?", held=OF_LOSS[:2])
    teaching("The race shows a gate that cannot learn, and cannot be told apart", untold=CHOOSES)


def settings(lesson: Says, proof: Says) -> None:
    chosen, sweep, inputs = CHOSEN.seeds, SWEEP.seeds, recipe.SOLVED
    lesson("reads all 27 words a thousand times", where=(LIVE.batch, LIVE.steps) == (None, 1000))
    lesson(f"We trained {SEEDS} of each kind", "within a thousand steps", where=LIVE.steps == 1000)
    twice = {*LIVE.seeds} < {*chosen} and len(chosen) == 2 * len(LIVE.seeds)
    lesson(f"trained {SEEDS} more of each kind", where=twice)
    lesson(f"Make all {SEEDS} plain sorters sort", f"with one rate of {SOURCE.lr:g} for all")
    lesson(f"each kind gets the best of [{COUNT[len(recipe.RATES)]} rates]")
    kept = not {*sweep} & {*chosen}
    lesson(f"on {COUNTED[len(sweep)]} seeds that are kept out of the race", where=kept)
    proof(f"{SWEEP.steps:,} steps at {COUNT[len(recipe.RATES)]} rates, from {COUNTED[len(sweep)]}")
    proof("seeds that no comparison uses", where=kept)
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
    lesson(f"with {plain} weights, as in", f"and with a new part of {gated - plain} more")


def the_gate(lesson: Says, proof: Says) -> None:
    gates = [
        model.block.attention.q.gate()[0]
        for model in (figures.untrained("gated")[0], evidence.trained("gated")[0])
    ]
    even = bool((gates[0] - 1 / 3).abs().max() < 0.02)
    lesson("At first shares are near a third", "the new part does not choose", where=even)
    chooses = bool(gates[1].amax(-1).min() > 0.5)
    lesson("and training makes this gate choose", "Training can teach it to choose", where=chooses)
    old, new = (line.get_ydata().mean() for line in figures.emblem().fig.axes[0].lines)
    assert old > new  # as its alternative text says, on the first page
    own, sweep = OWN_CROWDS, evidence.sweep()
    curves = [own[kind].curves[:, 1] for kind in ("gated", "plain")]
    lower = bool((curves[0] <= curves[1] + 0.005).all())
    lesson("With the new part the loss falls sooner", where=lower)
    best = {kind: evidence.best_rate(sweep[kind]) for kind in recipe.KINDS}
    proof("Its own rate is the one with the smallest mean step", where=best == recipe.RATE)
    inside = {*best.values()} <= {*recipe.RATES[1:-1]}
    proof("Every kind has its best rate inside the sweep", where=inside)
    apart = {r: sweep["gated"][r].delay - sweep["plain"][r].delay for r in (0.02, 0.08)}
    behind = "At 0.02 the plain sorters look a little ahead of the gated ones, and at 0.08 they"
    where = 0 < apart[0.02] < 60 and apart[0.08] < -150
    lesson(f"{behind} look well behind. So whoever picks one rate for both may pick", where=where)
    (training,) = (cell.training for cell in cells() if cell.training)
    suits = training.rate == recipe.RATE["fixed_gate"] == 0.04
    lesson("at 0.04, which suits the division", where=suits)
    lesson("`return base`, the plain sorter, choose 0.02", where=recipe.RATE["plain"] == 0.02)
    sooner = {r: sweep["gated"][r].delay < sweep["plain"][r].delay for r in recipe.RATES}
    ahead, behind = (listed([f"{r:g}" for r in sooner if sooner[r] == b]) for b in (True, False))
    proof(f"gated is ahead of plain at {ahead} and behind at {behind}, by the mean step")
    gated, plain = (sweep[kind][recipe.RATE[kind]] for kind in ("gated", "plain"))
    means = [f"{each.delay:.1f}" for each in (gated, plain)]
    proof(f"{means[0]} for gated (at {best['gated']:g}) and {means[1]} for plain")
    medians = f"plain (at {best['plain']:g}), and the median seeds' {gated.median:.0f} and"
    proof(f"{medians} {plain.median:.0f}", where=gated.median < plain.median)
    proof("Whether that is why the division helps was not tested")
    lost = {NAMES[k]: len(own[k].arrivals) - own[k].arrived for k in VARIANTS}
    never = [f"{lost[k]} {k}" for k in sorted(lost, key=lambda k: -lost[k]) if lost[k]]
    proof(f"Of {len(CHOSEN.seeds)} seeds each, {listed(never)} never converge")


def the_race(lesson: Says, _: Says) -> None:
    own = OWN_CROWDS
    by = {kind: f"{own[kind].median:.0f}" for kind in claims.LESSON}
    lost = {kind: COUNT[len(own[kind].arrivals) - own[kind].arrived] for kind in claims.LESSON}
    lesson("Dividing by three helps as well", "learnt sooner at our rates", held=HELPS)
    first = {kind: own[kind].arrivals[: len(LIVE.seeds)] for kind in evidence.ASKED}
    gated, divided, out = (first[kind] for kind in ("gated", "fixed_gate", "plain, knowable"))
    changes = min(int((gated < divided).sum()), int((divided < gated).sum())) > 2
    lesson("Between gated and divided by three the winner changes with the seed", where=changes)
    wins = int((out <= torch.stack([*first.values()]).amin(0)).sum())
    lesson("Two letters left out mostly wins", where=wins > len(out) / 2)
    lesson("some never come home", where=bool(gated.isinf().any()))
    gated = f"Half of the gated sorters sort every word by step {by['gated']}"
    works = f"half of the plain ones by step {by['plain']}, so the new part seems to work"
    lesson(f"{gated}, and {works}", held=HELPS)
    lesson(f"half of the divided ones do by step {by['fixed_gate']}, and they cannot choose")
    there = f"{lost['plain'].capitalize()} plain sorters and {lost['gated']} gated ones never get"
    lesson(f"{there} there. All the divided ones do", where=lost["fixed_gate"] == "no")
    chance = claims.more_arrive(own["fixed_gate"], own["gated"])
    lesson(
        f"{lost['gated']} failures against none could still be chance, with a p just above 0.05",
        untold=[chance],
        where=chance.p is not None and 0.05 < chance.p < 0.06,
    )
    first = 100 * evidence.compare(own["gated"], own["fixed_gate"]).first
    lesson(f"is first in {first:.0f} of 100 such pairs, a tie counted as half", untold=CHOOSES)
    lesson("So nothing tells the gate from the division", untold=CHOOSES)
    lesson("for all, neither shows a lead over plain", untold=AS_PUBLISHED)
    lesson("Nothing shows that it was", untold=[*CHOOSES, *AS_PUBLISHED])
    tell = "A division by three does as well, as far as thirty-two seeds can tell"
    lesson(tell, held=HELPS, untold=CHOOSES)
    lesson("Nothing told plain weights divided by three from them", untold=CHOOSES)
    lesson("Of gate and division we saw neither come before the other", untold=CHOOSES)


def the_loss(lesson: Says, proof: Says) -> None:
    own = OWN_CROWDS
    lesson(f"cannot stay below 2 × 1.099 / 6 = {sorting.FLOOR:.3f}")
    costs = f"{3 * sorting.FLOOR:.3f}"
    lesson("nobody can do better than give each letter a third", where=costs == "1.099")
    first = [claims.before(own["plain, knowable"], own[kind]) for kind in claims.LESSON[:3]]
    lesson("to leave two letters out helps more", held=[*first, *OF_LOSS])
    out = own["plain, knowable"]
    all_do = out.arrived == len(out.arrivals)
    lesson(f"By step {out.median:.0f} half of the sorters with two letters left out", where=all_do)
    lesson("What we asked mattered more here than how the weights were built", held=OF_LOSS)
    lesson("It helped more to leave two letters that nobody could know", held=OF_LOSS)
    proof("out of the loss both kinds of weights converge sooner", held=OF_LOSS)
    counts = [told(text, PUBLISHED) for text in [*claims.PAIRS["loss"]][-2:]]
    proof("can be told from plain; what the loss counts can", untold=BESIDE_PLAIN, held=counts)
    none, harm, repeat = pulled(pull.YIELDING), pulled(pull.OUT, pull.YIELDING), pulled(pull.REPEAT)
    proof("Taking the pull out does not show any help, at either rate", untold=none)
    proof("sorters without the two letters are sooner than those without", held=harm)
    proof("Nor does it do harm to ask for two predictions that repeat a letter", held=repeat)
    tenth, share = pulled(pull.TENTH), pull.WAYS[pull.TENTH].share
    proof("a tenth of their weight cannot be told from all of it", untold=tenth, where=share == 0.1)
    proof("to ask for an a lies between, and cannot be told", untold=pulled(pull.CONSTANT))
    until = pull.WAYS[pull.EARLY].until
    proof(f"in the first {until} steps only, while the sorters learn", held=pulled(pull.EARLY))


def gradients(_: Says, proof: Says) -> None:
    along, (two, *others) = evidence.along(), pull.PAIRS
    early, late = along.middle(two, 0, 20), along.middle(two, 30, 100)
    rest = [along.middle(pair, 30, 100) for pair in others]
    tenth = bool(along.steps.diff().eq(10).all())
    proof("the gradients of all six were taken at every tenth step", where=tenth)
    proof(f"the lesson's {COUNTED[along.cosines().shape[1]]} plain sorters")
    proof(f"In the first 20 steps the two parts agree, with a median cosine of {early:.2f}")
    here = (along.steps >= 30) & (along.steps <= 100)
    below = 100 * float((along.cosines()[here] < 0).float().mean())
    proof(f"from step 30 to 100 it is {number(late, 2)}, and in {below:.0f} % of seeds and probes")
    ends = f"{number(min(rest), 2)} to {number(max(rest), 2)}"
    proof(f"For the other {len(others)} ways", f"the median cosine of steps 30 to 100 is {ends}")
    noise = along.noise[-1].median(0).values.tolist()
    off = f"{noise[0]:.2f} in the two letters and by {noise[1]:.2f} in the other"
    proof(off, where=noise[0] > 5 * noise[1])


def one_sorter(lesson: Says, proof: Says) -> None:
    words, blind = [sorting.decode(row) for row in ROWS[:, :3].tolist()], copy.deepcopy(BEST)
    with torch.no_grad():
        blind.position.weight.zero_()
    answers = {word: blind.sort(word) for word in words}
    right = [word for word, answer in answers.items() if answer == "".join(sorted(word))]
    before = int(sorting.probe(BEST)["solved"])
    proof(f"Without its positions {FOUND.variant}, seed {FOUND.seed}, falls from {before}")
    always = f"words to {len(right)}: it writes `{answers['abc']}`, whatever it reads"
    proof(always, where=len({*answers.values()}) == 1)
    proof(f"which is right for {listed([f'`{word}`' for word in right])}")
    letter = measure.attention_by_letter(BEST)[FOUND.head, 0]
    place = measure.attention_by_place(BEST)[FOUND.head, 0].max()
    which = sorting.LETTERS[int(letter.argmax())]
    proof(f"head {FOUND.head + 1} gives the {which}'s of a word {letter.max():.2f} of its")
    proof(f"and no place of the word more than {place:.2f}")
    goes = f"So it goes by the letter, {which}, and not by the place"
    proof(goes, where=bool(letter.max() > 2 * place))


def the_failed_one(proof: Says) -> None:
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
    moved = measure.sensitivity(model)
    i = int(moved.amin(1).argmin())
    unread = " nor the ".join(NTH[j] for j in range(3) if moved[i, j] < evidence.BLIND)
    proof(f"It writes its {NTH[i]} letter as if it had read neither the {unread}")
    share = measure.attention_on_letters(model)[:, :, i].mean(0)  # [heads, places]
    at = [f"the {NTH[j]} letter {share[0, j]:.2f} and {share[1, j]:.2f}" for j in (0, 2)]
    proof(f"When it writes its {NTH[i]} letter, its two heads give {listed(at)}")


def all_sorters(_: Says, proof: Says) -> None:
    reads, own = evidence.reads(), evidence.recorded("chosen")
    proof(f"Of the {reads.all} recorded sorters that sort everything, {reads.letter} write")
    proof(f"{reads.place} with one that has as much on a place, and {reads.neither} with neither")
    score = {kind: evidence.scores(kind).tolist() for kind in VARIANTS}
    same = all(score[kind] == own[kind].solved[: recipe.KEPT].tolist() for kind in score)
    proof("at which it sorts all 27 inputs and never again fewer", where=same)
    above = own["gated"].last_losses.median(0).values - sorting.entropies(ROWS)
    proof(f"At the end no prediction is more than {above.max():.3f} nats above its floor")
    trained = {variant: evidence.trained(variant) for variant in ("gated", "strict")}
    largest = min(figures.gate_rows(each).amax(-1).median() for each in trained.values())
    proof("Trained gates choose", "So gates learn to choose", where=bool(largest > 0.5))
    proof("the control asks it: divided by three has no gate", untold=CHOOSES)
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
