"""What the lesson's pages say of records and settings, beside what it rests on."""

import math
from itertools import pairwise

import torch

from attn_notes.models.equilibrium import Config
from book.kit import verdicts
from book.kit.words import median, span
from book.lessons.equilibrium import claims, estimators, evidence, measure, recipe
from book.lessons.equilibrium.claims import RECORDED
from book.lessons.equilibrium.evidence import at_most
from book.lessons.equilibrium.figures import degrees
from book.lessons.equilibrium.probes import NOT_AEP, QUICKEST, two_neurons
from tests.pages.said import COUNT, Reading, Says, Told

TRAINING, FREE = evidence.training(), evidence.ungoverned()
GRADIENTS, RATES, CREDIT = evidence.gradients(), evidence.rates(), evidence.credit()
COSTS, MEMORY, SPECTRUM = evidence.costs(), evidence.memory(), evidence.spectrum()
ENDS, PAIRS, FIVES = TRAINING.ends, TRAINING.counted["pairs"], TRAINING.counted["fives"]
FEW, AFTER, MANY = recipe.FEW, recipe.AFTER, recipe.MANY
AEP, SOURCE, HOLDS, MODEL = estimators.AEP, estimators.PUBLISHED, measure.GOVERNOR, Config()
READS, STEPS, EACH = recipe.LENGTH, recipe.STEPS, recipe.BATCH * recipe.LENGTH
PIECES, LENGTH = recipe.PUBLISHED_BATCH, recipe.PUBLISHED_LENGTH

told = Told(
    lambda: claims.found(TRAINING, FREE, GRADIENTS, RATES, evidence.rests(), MEMORY, COSTS),
    RECORDED,
)
PUBLISHED, NAIVE_OFF = told("As published"), told("Naive equilibrium propagation's")
MORE, WHOLE = told("More nudged steps"), told("Without the limit")
ORDERS, EVENLY = told("Its error"), told("After the first")
DAMPED, TESTED = told("Damping, c > 0"), told("The published test")
AS_BPTT, AS_FREE = told("Trained by"), told("The same where")
AS_PUBLISHED, BELOW_PAIRS = told("The same with"), told("AEP ends below")
TAUGHT, LIMIT = told("AEP teaches"), told("The limit costs")
NAIVE, FLAT = told("Naive equilibrium propagation teaches"), told("AEP's memory")
QUICK, QUICKEST_IS_AEP = told("A gradient at least"), told("AEP is the quickest")


# fmt: off
def said(page: Reading) -> None:
    pages = [page(name) for name in ("equilibrium", "equilibrium_evidence", "teaching")]
    for of in (of_neurons, of_credit, of_gradients, of_training, of_rest, of_costs, of_settings):
        of(*pages)


def every(*seeds: torch.Tensor) -> bool:
    return all(bool(each.all()) for each in seeds)


def of_neurons(lesson: Says, proof: Says, teaching: Says) -> None:
    now, then = (two_neurons("clipped", steps) for steps in (600, 601))
    share = ((10 * (then[0] - now[0]) + now[0]) / (2 * now[1])).item()  # A moves by its pull and B
    back, forth = 2 * share, 2 * (1 - share)
    lesson(f"{100 * share:.0f} % of the force is left, so A hears B’s move × {back:.2f}, and B",
           f"still hears A × {forth:.2f}. When B moves, A moves {back:.2f} times as far")
    again = f"{back * forth:.2f}"
    lesson(f"and for that B moves again, {again} times as far as before",
           f"All these moves, 1 + {again} + {again}² + …, add up to some fourteen times the first",
           where=13 < 1 / (1 - back * forth) < 15)
    lesson("Far too large. Both run past their rings, and after these 600 steps they still move",
           where=every(then > now, now > torch.tensor([2.0, 1.0])))
    a, b = torch.stack([two_neurons("full", steps) for steps in range(1, 60)]).T
    longest = (2 * torch.hypot(a, b) / torch.hypot(a, 1 + 2 * a - b)).max().item()
    lesson("there the extra force is exactly as strong as all others together",
           "On the way there the extra force must for a while be a little stronger",
           where=1.1 < longest < 1.15)


def of_credit(lesson: Says, proof: Says, teaching: Says) -> None:
    naive, exact, aep = (CREDIT.maps[way] for way in ("naive EP", "exact", "AEP"))
    later = every(naive.triu(1)[:-1].sum(1) > 0, exact.tril(-1)[1:].sum(1) > 0)
    later &= every(naive.tril(-1) < 1e-6, exact.triu(1) < 1e-6)
    grey = "The grey letters come too late to have had a part in the answer"
    lesson("The naive way gives credit to letters that come later", grey, where=later)
    same = every((aep - exact).abs() < 0.01 * exact.max())
    lesson("A short unsigned script adds one more force to mend this", held=[WHOLE, ORDERS],
           where=same)
    proof("The naive method sends credit to the future", where=later)
    itself = later and CREDIT.shares["naive EP"][1] > 0.5
    teaching("most of its credit goes to the predicting state", failed=[NAIVE], where=itself)
    teaching("The one with credit for later letters", where=later)


def of_gradients(lesson: Says, proof: Says, teaching: Says) -> None:
    proof("AEP's error falls as the theorem says: with β, and with β²", held=[ORDERS, EVENLY])
    naive, clipped = (torch.tensor(RATES.by_steps[kind]) for kind in ("naive EP", "AEP, clipped"))
    floor = bool(naive.min() > 0.9 and naive[-5:].std() < 1e-6)
    proof("has a floor under its error, and no slope", held=[NAIVE_OFF], where=floor)
    proof("The one with the limit errs tenfold on the way", where=10 < clipped.max() < 12)
    closer = bool(clipped[-1] == clipped.min())
    proof(f"at {RATES.steps[-1]} steps, the last recorded, it is still coming closer on the one",
          where=closer)
    proof("on untrained ones it does not arrive", failed=[MORE])

    at, whole = GRADIENTS.at, GRADIENTS.whole
    away = every(
        *(of("clipped", later) < of("clipped", sooner)
          for of in (at, whole) for sooner, later in pairwise((FEW, AFTER, MANY)))
    )  # fmt: skip
    lesson(f"Past {FEW} steps the script's gradient turns away", failed=[MORE], where=away)
    how_many = COUNT[GRADIENTS.seeds]
    few, after, many = (degrees(whole("clipped", steps)) for steps in (FEW, AFTER, MANY))
    lesson(f"The script’s gradient turns away, in each of the {how_many}", where=away)
    near = f"In {how_many} untrained models its arrow then points about 10 degrees aside"
    beside = every((few - 10).abs() < 1.5)
    lesson(f"and without the limit about {median(degrees(whole('full', FEW))):.0f}")
    lesson(f"stops after {FEW} steps under the nudge", near, where=beside)
    turns = f"After {AFTER} steps it is {median(after):.0f} degrees off, and after {MANY} it is"
    lesson(f"{turns} {median(many):.0f}, by the medians")
    nearer = every(whole("none", MANY) > whole("clipped", MANY))
    lesson("farther than the naive way", where=nearer)
    stays = every(*(degrees(whole("full", steps)) < 0.3 for steps in (AFTER, MANY)))
    lesson("Without the limit it goes to 0 and stays", held=[WHOLE], where=stays)
    looks = f"At {FEW} steps, in untrained models, it only looked so"
    lesson(looks, held=[PUBLISHED, LIMIT], failed=[MORE])
    shares, at_15 = evidence.let_through(), list(recipe.GRADIENT_STEPS).index(15)
    never_all = every(shares[:, at_15:] < 0.95, shares[:, at_15 - 1] > 0.99)
    lesson("the limit in the end lets through about four fifths of the force",
           where=every((shares[:, -1] - 0.8).abs() < 0.06))
    proof(f"In the five blocks {span(shares[:, -1], 2)} of the correction", where=never_all)
    runs = every(GRADIENTS.lengths["clipped"].diff() > 0)
    proof("Why does the published gradient run away with more", failed=[MORE], where=runs)
    farther = every(whole("clipped", FEW) < at("clipped", FEW))
    proof(f"a little farther from the exact one at {FEW} steps", where=farther)
    nearer = every(whole("clipped", AFTER) > at("clipped", AFTER))
    proof(f"and a little nearer at {AFTER}, in every seed", where=nearer)
    alike = away and every(whole("clipped", FEW) > 0.95, whole("none", FEW) < 0.95)
    judged = [PUBLISHED, NAIVE_OFF, WHOLE]
    proof("nothing turns on which is meant", held=judged, failed=[MORE], where=alike)
    one, other = (f"{median(of('clipped', FEW)):.2f}" for of in (at, whole))
    does = f"The published one does: {one} at {FEW} nudged steps, and worse"
    teaching(does, failed=[MORE], where=one == other)

    single = GRADIENTS.single.quantile(0.5, 0)
    loss = single[list(GRADIENTS.betas).index(SOURCE.beta)] / single.min()
    proof("the published nudge drowns in rounding", where=bool(loss > 100))
    proof("a tiny nudge drowns in rounding", where=bool(single[0] > single[2] > single.min()))
    stable = bool(SPECTRUM.free.real.max() < 0 < SPECTRUM.symmetric.max())
    proof("J is stable, and its symmetric part is not", where=stable)


def of_training(lesson: Says, proof: Says, teaching: Says) -> None:
    whole, part = (median(ENDS["frozen"]) - median(ENDS[kind]) for kind in ("AEP", "AEP, clipped"))
    most = "The limit costs AEP most of what it gains"
    gains = f"it gains {whole:.2f} nats over attention left as it began"
    limited = f"With the limit it gains {part:.2f}"
    lesson(most, gains, limited, held=[LIMIT, TAUGHT])
    lesson(f"So we trained {COUNT[TRAINING.seeds]} models of each kind")
    lesson("Without its limit AEP learns as BPTT does", held=[AS_BPTT])
    chance = f"which makes the right letter’s chance {math.exp(whole):.1f} times as high"
    lesson(chance, held=[TAUGHT])
    aside = median(degrees(TRAINING.cosines["AEP, clipped"]))
    lesson(f"its arrow points about {aside:.0f} degrees aside, by the median", held=[LIMIT])
    lesson("In training, attention learnt little", held=[LIMIT])
    lesson("The naive way is worse than leaving attention alone", failed=[NAIVE])
    end = median(ENDS["AEP"])
    best = min(ends.min().item() for ends in ENDS.values())
    lesson("All models are small, and none ends far below counting pairs", failed=[BELOW_PAIRS],
           where=PAIRS - best < 0.1)
    proof("As well as by the exact gradient at rest", held=[AS_BPTT])
    proof("and only as long as there is rest", failed=[AS_PUBLISHED])
    counted = f"where counting pairs comes to {PAIRS:.2f} and counting with four characters of"
    proof(f"end near {end:.2f} nats on the whole text, {counted} context to {FIVES:.2f}")
    within = verdicts.within(*(TRAINING.curves[kind][-1] for kind in ("AEP", "BPTT")), 0.02)
    proof("AEP ends within two hundredths of a nat of BPTT", held=[AS_BPTT], where=within)
    below = every(*(ENDS["AEP"] < ENDS[kind] for kind in ("frozen", "AEP, clipped")))
    proof("and lower than with the limit, in all eight seeds", held=[TAUGHT, LIMIT], where=below)
    above = every(ENDS["naive EP"] > ENDS["frozen"])
    proof("ends higher than the frozen block in all eight", failed=[NAIVE], where=above)
    cosines, apart = TRAINING.cosines["naive EP"], TRAINING.apart
    backwards, lower, higher = (COUNT[int((x < 0).sum())] for x in (cosines, apart, -apart))
    anywhere = every(cosines.abs() < 0.5)
    proof(f"points anywhere, in {backwards} of eight seeds backwards", where=anywhere)
    far = f"ends at most {at_most(apart.abs().max().item())} nats apart"
    proof(far, f"lower in {lower} seeds and higher in {higher}", held=[AS_BPTT])
    exact = (ENDS["exact"] - ENDS["BPTT"]).abs().max()
    proof(f"parts from it as well, in one seed by {exact:.3f} nats")
    gap = (TRAINING.curves["AEP"] - TRAINING.curves["BPTT"]).abs().amax(1)
    last = int((gap < 1e-3).nonzero().max())
    some = every(gap[: last + 1] < 1e-3, gap[last + 1 :].max() > 0.005, gap.max() < 0.016)
    part = f"Why some seeds part from BPTT after step {TRAINING.steps[last]}"
    proof(f"{part}, by a hundredth of a nat or so", where=some)
    three = verdicts.within(ENDS["AEP"], ENDS["exact"], 0.03)
    teaching("and with the exact gradient, within three", held=[AS_BPTT], where=three)
    as_well = "the point is that AEP gets where BPTT does"
    teaching("AEP with BPTT, within two hundredths", as_well, held=[AS_BPTT])
    teaching("The naive method is worse than a frozen block", failed=[NAIVE])
    level_of = f"{end:.2f} nats against {PAIRS:.2f}, where counting with four characters"
    teaching(f"{level_of} of context gives {FIVES:.1f}")


def of_rest(lesson: Says, proof: Says, teaching: Says) -> None:
    scaled = evidence.scaled()
    held = [sum(left < 1e-3 for left in values) for values in scaled.left.values()]  # NaN is not
    room = held == sorted(held) and max(held) < len(scaled.scales)
    proof("Damping buys room, and no certainty", failed=[DAMPED], where=room)
    teaching("It settles while damping is stronger than attention", failed=[DAMPED])
    proof("But a step is short if only $\\varepsilon$ is", failed=[DAMPED, TESTED])
    starts = torch.cat([curve[0] for curve in FREE.curves.values()])
    lost = f"its loss, {span(starts, 1)} at the start, ever exceeded {recipe.RUN_AWAY}"
    proof(lost, where=every(starts < recipe.RUN_AWAY))
    away = [sum(FREE.ran_away(k, c) for c in recipe.DAMPINGS) for k in recipe.UNGOVERNED]
    sooner = all(right < wrong for right, wrong in pairwise(away))
    proof("A wrong gradient gets there sooner", where=sooner)
    bptt, free = FREE.ends("BPTT", 1), FREE.ends("AEP", 3)
    kept = TRAINING.curves["AEP"][-1, : FREE.seeds]
    dearer = every(bptt < free, free < kept)
    proof(f"damping 3, end at {span(kept, 3)} under the governor", held=[AS_FREE], where=dearer)
    proof(f"and at {span(free, 3)} where nothing holds them")
    proof(f"damping and nothing held, at {span(bptt, 3)}", where=not FREE.ran_away("BPTT", 1))
    proof(f"with less damping and nothing held, end at {span(bptt, 3)}", failed=[AS_PUBLISHED])


def of_costs(lesson: Says, proof: Says, teaching: Says) -> None:
    aep, bptt, adjoint = (f"{1000 * COSTS.seconds[way]:.0f} ms" for way in (QUICKEST, *NOT_AEP))
    takes = f"with longer steps and one side it takes {aep}, BPTT through twelve steps {bptt} and"
    beside = f"and the adjoint relaxation, $\\dot a = J^{{\\top}}a + g$, {adjoint}"
    proof(takes, beside, held=[QUICK], failed=[QUICKEST_IS_AEP])
    few = MEMORY.peaks["adjoint"][-1] < 1.1 * MEMORY.peaks["adjoint"][0]
    quicker = few and COSTS.seconds[NOT_AEP[1]] < COSTS.seconds[QUICKEST]
    proof("On a computer AEP is not the quickest way", failed=[QUICKEST_IS_AEP], where=quicker)
    proof("adjoint relaxation keep a few states, whatever the steps", held=[FLAT], where=few)
    proof("BPTT's memory grows with the steps, AEP's does not", held=[FLAT])
    times = evidence.settling().needed("ε = 0.1") / evidence.settling().needed("ε = 0.5")
    proof("comes to rest nearly four times as soon", where=3.5 < times < 4)


def of_settings(lesson: Says, proof: Says, teaching: Says) -> None:
    free, nudged = MODEL.relaxation.steps, AEP.relaxation.steps
    lesson(f"each letter in it has a state of {MODEL.width} numbers",
           f"It reads {READS} letters of Shakespeare",
           f"One layer, {READS} letters, {STEPS} steps",
           f"own settings take {free + 2 * nudged} and err")
    left = f"where the force that is left exceeds {HOLDS.tolerance:g} of the state"
    kinds = len(evidence.trained()[1])
    proof(f"the published {SOURCE.beta:g} is spread over {PIECES * LENGTH:,}",
          f"(an untrained block, {PIECES} pieces of {LENGTH} characters)",
          f"{TRAINING.parameters:,} trained parameters on the whole text, which has {kinds} kinds",
          f"pieces of {READS} characters instead of {LENGTH}",
          f"{STEPS} steps of {recipe.BATCH} pieces", f"Judged on up to {recipe.JUDGED:,} pieces",
          f"are on up to {recipe.JUDGED:,} pieces, in the figure on up to {recipe.PROBED}",
          f"after each step, {left}, the block's weights are multiplied by {HOLDS.factor}",
          f"multiplies the block's weights by {HOLDS.factor} after a step {left}",
          f"{TRAINING.seeds} for each kind under the governor, {FREE.seeds} where nothing holds",
          f"{GRADIENTS.seeds} untrained blocks for the recorded gradients",
          f"Ungoverned runs were left at {FREE.seeds} seeds")
    proof("the read-out at fifteen times the block's rate", where=measure.READ_OUT == 15)
