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
# fmt: off
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
BESIDE_PLAIN = [told(text, PUBLISHED)
                for text, (_, than) in claims.PAIRS["weights"].items() if than == "plain"]
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
    lesson("reads all 27 words a thousand times", "within a thousand steps",
           f"We trained {SEEDS} of each kind", f"trained {SEEDS} more of each kind",
           f"Make all {SEEDS} plain sorters sort", f"with one rate of {SOURCE.lr:g} for all",
           f"each kind gets the best of [{COUNT[len(recipe.RATES)]} rates]",
           where=(LIVE.batch, LIVE.steps) == (None, 1000)
           and {*LIVE.seeds} < {*chosen} and len(chosen) == 2 * len(LIVE.seeds))
    kept = not {*sweep} & {*chosen}
    lesson(f"on {COUNTED[len(sweep)]} seeds that are kept out of the race", where=kept)
    rise, published = (COUNTED[each.steps // each.warmup] for each in (LIVE, SOURCE))
    gated, strict, plain = (sum(p.numel() for p in evidence.trained(kind)[0].parameters())
                            for kind in ("gated", "strict", "plain"))
    proof(f"{SWEEP.steps:,} steps at {COUNT[len(recipe.RATES)]} rates, from {COUNTED[len(sweep)]}",
          f"{COUNTED[len(chosen)].capitalize()} other seeds of each kind",
          f"on seeds {sweep[0]} to {sweep[-1]}, compared on {chosen[0]} to {chosen[-1]}",
          "seeds that no comparison uses", f"live seeds are the first {SEEDS}",
          f"batches of {SOURCE.batch}, at a lower rate, for {SOURCE.steps:,} steps",
          f"Here are {len(SOURCE.seeds)} seeds", f"A batch of {SOURCE.batch} from {inputs} inputs",
          "for about a fifth of the work",
          f"the rate rises over the first {rise} of the steps (published: {published})",
          f"A gated sorter has {gated} weights, a strict one {strict}, a plain one {plain}",
          where=kept and LIVE.seeds == chosen[: len(LIVE.seeds)]
          and SOURCE.lr < min(recipe.RATE.values()) and round(SOURCE.batch / inputs) == 5)
    lesson(f"with {plain} weights, as in", f"and with a new part of {gated - plain} more")


def the_gate(lesson: Says, proof: Says) -> None:
    before, after = (models("gated")[0].block.attention.q.gate()[0]
                     for models in (figures.untrained, evidence.trained))
    lesson("At first shares are near a third", "the new part does not choose",
           where=(before - 1 / 3).abs().max() < 0.02)
    lesson("and training makes this gate choose", "Training can teach it to choose",
           where=after.amax(-1).min() > 0.5)
    old, new = (line.get_ydata().mean() for line in figures.emblem().fig.axes[0].lines)
    assert old > new  # as its alternative text says, on the first page
    own, sweep = OWN_CROWDS, evidence.sweep()
    lesson("With the new part the loss falls sooner",
           where=(own["gated"].curves[:, 1] <= own["plain"].curves[:, 1] + 0.005).all())
    best = {kind: evidence.best_rate(sweep[kind]) for kind in recipe.KINDS}
    proof("Its own rate is the one with the smallest mean step",
          "Every kind has its best rate inside the sweep",
          where=best == recipe.RATE and {*best.values()} <= {*recipe.RATES[1:-1]})
    apart = {rate: sweep["gated"][rate].delay - sweep["plain"][rate].delay for rate in recipe.RATES}
    lesson("At 0.02 the plain sorters look a little ahead of the gated ones, and at 0.08 they look "
           "well behind. So whoever picks one rate for both may pick",
           where=0 < apart[0.02] < 60 and apart[0.08] < -150)
    (training,) = (cell.training for cell in cells() if cell.training)
    lesson("at 0.04, which suits the division", "`return base`, the plain sorter, choose 0.02",
           where=training.rate == recipe.RATE["fixed_gate"] == 0.04
           and recipe.RATE["plain"] == 0.02)
    ahead, behind = (listed([f"{rate:g}" for rate in apart if (apart[rate] < 0) == sooner])
                     for sooner in (True, False))
    gated, plain = (sweep[kind][recipe.RATE[kind]] for kind in ("gated", "plain"))
    lost = {NAMES[k]: len(own[k].arrivals) - own[k].arrived for k in VARIANTS}
    never = [f"{lost[k]} {k}" for k in sorted(lost, key=lambda k: -lost[k]) if lost[k]]
    proof(f"gated is ahead of plain at {ahead} and behind at {behind}, by the mean step",
          f"{gated.delay:.1f} for gated (at {best['gated']:g}) and {plain.delay:.1f} for plain (at "
          f"{best['plain']:g}), and the median seeds' {gated.median:.0f} and {plain.median:.0f}",
          "Whether that is why the division helps was not tested",
          f"Of {len(CHOSEN.seeds)} seeds each, {listed(never)} never converge",
          where=gated.median < plain.median)


def the_race(lesson: Says, _: Says) -> None:
    own = OWN_CROWDS
    by = {kind: f"{own[kind].median:.0f}" for kind in claims.LESSON}
    lost = {kind: COUNT[len(own[kind].arrivals) - own[kind].arrived] for kind in claims.LESSON}
    first = {kind: own[kind].arrivals[: len(LIVE.seeds)] for kind in evidence.ASKED}
    gated, divided, out = (first[kind] for kind in ("gated", "fixed_gate", "plain, knowable"))
    lesson("Between gated and divided by three the winner changes with the seed",
           where=min((gated < divided).sum(), (divided < gated).sum()) > 2)
    lesson("Two letters left out mostly wins", "some never come home",
           where=(out <= torch.stack([*first.values()]).amin(0)).sum() > len(out) / 2
           and gated.isinf().any())
    lesson("Dividing by three helps as well", "learnt sooner at our rates",
           f"Half of the gated sorters sort every word by step {by['gated']}, and half of the "
           f"plain ones by step {by['plain']}, so the new part seems to work", held=HELPS)
    lesson(f"half of the divided ones do by step {by['fixed_gate']}, and they cannot choose",
           f"{lost['plain'].capitalize()} plain sorters and {lost['gated']} gated ones never get "
           "there. All the divided ones do", where=lost["fixed_gate"] == "no")
    chance = claims.more_arrive(own["fixed_gate"], own["gated"])
    lesson(
        f"{lost['gated']} failures against none could still be chance, with a p just above 0.05",
        untold=[chance], where=0.05 < chance.p < 0.06)
    pairs = 100 * evidence.compare(own["gated"], own["fixed_gate"]).first
    lesson(f"is first in {pairs:.0f} of 100 such pairs, a tie counted as half",
           "So nothing tells the gate from the division",
           "Nothing told plain weights divided by three from them",
           "Of gate and division we saw neither come before the other", untold=CHOOSES)
    lesson("for all, neither shows a lead over plain", untold=AS_PUBLISHED)
    lesson("Nothing shows that it was", untold=[*CHOOSES, *AS_PUBLISHED])
    lesson("A division by three does as well, as far as thirty-two seeds can tell",
           held=HELPS, untold=CHOOSES)


def the_loss(lesson: Says, proof: Says) -> None:
    own = OWN_CROWDS
    lesson(f"cannot stay below 2 × 1.099 / 6 = {sorting.FLOOR:.3f}",
           "nobody can do better than give each letter a third",
           where=f"{3 * sorting.FLOOR:.3f}" == "1.099")
    first = [claims.before(own["plain, knowable"], own[kind]) for kind in claims.LESSON[:3]]
    lesson("to leave two letters out helps more", held=[*first, *OF_LOSS])
    out = own["plain, knowable"]
    lesson(f"By step {out.median:.0f} half of the sorters with two letters left out",
           where=out.arrived == len(out.arrivals))
    lesson("What we asked mattered more here than how the weights were built",
           "It helped more to leave two letters that nobody could know", held=OF_LOSS)
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
    here = (along.steps >= 30) & (along.steps <= 100)
    below = 100 * (along.cosines()[here] < 0).float().mean()
    noise = along.noise[-1].median(0).values.tolist()
    proof("the gradients of all six were taken at every tenth step",
          f"the lesson's {COUNTED[along.cosines().shape[1]]} plain sorters",
          f"In the first 20 steps the two parts agree, with a median cosine of {early:.2f}",
          f"from step 30 to 100 it is {number(late, 2)}, and in {below:.0f} % of seeds and probes",
          f"For the other {len(others)} ways", "the median cosine of steps 30 to 100 is "
          f"{number(min(rest), 2)} to {number(max(rest), 2)}",
          f"{noise[0]:.2f} in the two letters and by {noise[1]:.2f} in the other",
          where=along.steps.diff().eq(10).all() and noise[0] > 5 * noise[1])


def one_sorter(lesson: Says, proof: Says) -> None:
    words, blind = [sorting.decode(row) for row in ROWS[:, :3].tolist()], copy.deepcopy(BEST)
    with torch.no_grad():
        blind.position.weight.zero_()
    answers = {word: blind.sort(word) for word in words}
    right = [word for word, answer in answers.items() if answer == "".join(sorted(word))]
    letter = measure.attention_by_letter(BEST)[FOUND.head, 0]
    place = measure.attention_by_place(BEST)[FOUND.head, 0].max()
    which = sorting.LETTERS[int(letter.argmax())]
    proof(f"Without its positions {FOUND.variant}, seed {FOUND.seed}, falls from "
          f"{int(sorting.probe(BEST)['solved'])} words to {len(right)}: it writes "
          f"`{answers['abc']}`, whatever it reads",
          f"which is right for {listed([f'`{word}`' for word in right])}",
          f"head {FOUND.head + 1} gives the {which}'s of a word {letter.max():.2f} of its",
          f"and no place of the word more than {place:.2f}",
          f"So it goes by the letter, {which}, and not by the place",
          where=len({*answers.values()}) == 1 and letter.max() > 2 * place)


def the_failed_one(proof: Says) -> None:
    variant, seed, score = evidence.worst()
    model = evidence.trained(variant)[seed]
    blind = [(int(sorts), bool((measure.sensitivity(each) < evidence.BLIND).any()))
             for kind in VARIANTS
             for each, sorts in zip(evidence.trained(kind), evidence.scores(kind), strict=True)]
    few, some, most = ([b for n, b in blind if n in r] for r in (range(24), range(24, 27), [27]))
    moved = measure.sensitivity(model)
    i = int(moved.amin(1).argmin())
    unread = " nor the ".join(NTH[j] for j in range(3) if moved[i, j] < evidence.BLIND)
    share = measure.attention_on_letters(model)[:, :, i].mean(0)  # [heads, places]
    at = [f"the {NTH[j]} letter {share[0, j]:.2f} and {share[1, j]:.2f}" for j in (0, 2)]
    proof(f"The worst recorded sorter is {NAMES[variant]}, seed {seed}: it sorts {score} of 27",
          f"some written letter moves by less than {evidence.BLIND:g} when some letter",
          f"Blind are {sum(few)} of the {len(few)} that sort fewer than 24 inputs, {sum(some)} of "
          f"the {len(some)} that sorts 24 to 26 and {sum(most)} of the {len(most)}",
          f"It writes its {NTH[i]} letter as if it had read neither the {unread}",
          f"When it writes its {NTH[i]} letter, its two heads give {listed(at)}")


def all_sorters(_: Says, proof: Says) -> None:
    reads, own = evidence.reads(), evidence.recorded("chosen")
    proof("at which it sorts all 27 inputs and never again fewer", where=all(
        evidence.scores(kind).tolist() == own[kind].solved[: recipe.KEPT].tolist()
        for kind in VARIANTS))
    above = own["gated"].last_losses.median(0).values - sorting.entropies(ROWS)
    trained = gated, _ = [evidence.trained(variant) for variant in ("gated", "strict")]
    proof("Trained gates choose", "So gates learn to choose",
          where=min(figures.gate_rows(each).amax(-1).median() for each in trained) > 0.5)
    proof("the control asks it: divided by three has no gate", untold=CHOOSES)
    sums = [measure.projection_sums(models[0]) for models in trained]
    all_three, two = ((each[0, 0] - each[1, 1]).abs().max() for each in sums)
    proof("Strict loses one direction of each head, gated loses none",
          where=two < 1e-3 < 1 < all_three)
    proof("It sorts all the same", held=[told("Strict, without a base, has it too")])
    cells, heats = evidence.recorded("rank_temperature"), len(recipe.TEMPERATURES)
    one, three = (
        torch.cat([c.solved == recipe.SOLVED for name, c in cells.items() if f" {rank} " in name])
        for rank in (1, 3))
    shares = [100 * solved.float().mean() for solved in (one, three)]
    exact = sorting.entropies(ROWS, sorting.proportions).mean()
    crowds = evidence.recorded("positions").values()
    seeds, arrived = sum(len(c.arrivals) for c in crowds), sum(c.arrived for c in crowds)
    gap = min(c.last_losses.mean(-1).min() for c in crowds) - exact
    before, after = (sum(map(trace_differs, models)) / len(models)
                     for models in (figures.untrained("gated"), gated))
    proof(f"Of the {reads.all} recorded sorters that sort everything, {reads.letter} write",
          f"{reads.place} with one that has as much on a place, and {reads.neither} with neither",
          f"At the end no prediction is more than {above.max():.3f} nats above its floor",
          f"The {heats * len(LIVE.seeds)} runs of a rank are {SEEDS} seeds at {COUNT[heats]}",
          f"Of all runs of rank 1 {shares[0]:.0f} % sort everything, of rank 3 {shares[1]:.0f} %",
          f"Of {seeds} seeds {arrived} sort all 27 inputs without positions",
          f"the best ends {gap:.4f} nats above the least possible, {exact:.4f}",
          f"on {before:.1f} of 27 inputs on average before training, on {after:.1f} after")


def trace_differs(model: Sorter) -> int:
    """On how many inputs the published trace, which allows the separator, writes another letter."""
    honest, published = (measure.greedy_choices(model, forbid_sep=f) for f in (True, False))
    return int((honest != published).any(1).sum())
